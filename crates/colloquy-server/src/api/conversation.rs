//! Conversations: what a client sends to create and change one, and what it gets back.

use colloquy::{
    Create,
    ports::{ConversationPatch, ConversationRow},
};
use colloquy_core::{
    conversation::{Effort, SettingsChange},
    message::LlmId,
};
use serde::Serialize;

use super::{message::MessageResponse, timestamp};
use crate::{fields::Fields, problem::Problem};

/// Longest name, in code points.
const NAME_CHARS_MAX: usize = 200;

/// The settings that a request names, their ranges checked into `fields`.
fn settings(fields: &mut Fields) -> SettingsChange {
    let settings = SettingsChange {
        temperature: fields.number("temperature"),
        top_p: fields.number("top_p"),
        max_tokens: fields.count("max_tokens"),
        custom_prompt: fields.string("custom_prompt"),
        web_search_enabled: fields.boolean("web_search_enabled"),
        reasoning_effort: effort(fields),
        compaction_threshold: fields.count("compaction_threshold"),
    };
    for broken in settings.check() {
        fields.reject(broken.field, broken.rule, "value_error");
    }
    settings
}

fn effort(fields: &mut Fields) -> Option<Effort> {
    let name = fields.string("reasoning_effort")?;
    let effort = Effort::from_name(&name);
    if effort.is_none() {
        let names = Effort::ALL.map(Effort::name).join(", ");
        fields.reject("reasoning_effort", format!("must be one of {names}"), "enum");
    }
    effort
}

/// Reads the body that creates a conversation.
pub(crate) fn create(mut fields: Fields) -> Result<Create, Problem> {
    let llm_id = fields.integer("llm_id").map(LlmId);
    let settings = settings(&mut fields);
    fields.finish()?;
    Ok(Create { llm_id, settings })
}

/// Reads the body that changes a conversation.
pub(crate) fn update(mut fields: Fields) -> Result<ConversationPatch, Problem> {
    let name = name(&mut fields);
    let llm_id = fields.integer("llm_id").map(LlmId);
    let settings = settings(&mut fields);
    fields.finish()?;
    Ok(ConversationPatch { name, llm_id, settings })
}

fn name(fields: &mut Fields) -> Option<String> {
    let name = fields.string("name")?.trim().to_owned();
    if name.is_empty() {
        fields.reject("name", "must not be blank", "value_error");
    } else if name.chars().count() > NAME_CHARS_MAX {
        fields.reject("name", format!("must be at most {NAME_CHARS_MAX} characters long"), "value_error");
    }
    Some(name)
}

/// A conversation as lists show it.
#[derive(Debug, Serialize)]
pub(crate) struct ConversationResponse {
    id: i64,
    llm_id: Option<i64>,
    name: String,
    created_at: String,
    last_message_time: String,
    temperature: f64,
    top_p: f64,
    max_tokens: u32,
    custom_prompt: String,
    web_search_enabled: bool,
    reasoning_effort: &'static str,
    compaction_threshold: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<Vec<MessageResponse>>,
}

impl ConversationResponse {
    /// The conversation with the messages of its shown branch.
    pub(crate) fn with_messages(row: ConversationRow, messages: Vec<MessageResponse>) -> Self {
        Self { messages: Some(messages), ..row.into() }
    }
}

impl From<ConversationRow> for ConversationResponse {
    fn from(row: ConversationRow) -> Self {
        let settings = row.settings;
        Self {
            id: row.id.0,
            llm_id: row.llm_id.map(|id| id.0),
            name: row.name,
            created_at: timestamp(row.created_at),
            last_message_time: timestamp(row.last_message_at),
            temperature: settings.temperature,
            top_p: settings.top_p,
            max_tokens: settings.max_tokens,
            custom_prompt: settings.custom_prompt,
            web_search_enabled: settings.web_search_enabled,
            reasoning_effort: settings.reasoning_effort.name(),
            compaction_threshold: settings.compaction_threshold,
            messages: None,
        }
    }
}
