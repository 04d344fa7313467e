//! Conversations: what a client sends to create and change one, and what it gets back.

use colloquy::{
    Create,
    ports::{ConversationPatch, ConversationRow},
};
use colloquy_core::{
    conversation::{Effort, Settings},
    message::LlmId,
};
use serde::Serialize;

use super::{message::MessageResponse, timestamp};
use crate::{fields::Fields, problem::Problem};

/// Longest name, in code points.
const NAME_CHARS_MAX: usize = 200;

/// The settings a request may carry. Ranges are not checked yet.
struct SettingFields {
    temperature: Option<f64>,
    top_p: Option<f64>,
    max_tokens: Option<u32>,
    custom_prompt: Option<String>,
    web_search_enabled: Option<bool>,
    reasoning_effort: Option<Effort>,
    compaction_threshold: Option<u32>,
}

fn setting_fields(fields: &mut Fields) -> SettingFields {
    SettingFields {
        temperature: fields.number("temperature"),
        top_p: fields.number("top_p"),
        max_tokens: fields.count("max_tokens"),
        custom_prompt: fields.string("custom_prompt"),
        web_search_enabled: fields.boolean("web_search_enabled"),
        reasoning_effort: effort(fields),
        compaction_threshold: fields.count("compaction_threshold"),
    }
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

impl SettingFields {
    /// The settings with these changes, their ranges checked into `fields`.
    fn over(&self, current: &Settings, fields: &mut Fields) -> Settings {
        let settings = Settings {
            temperature: self.temperature.unwrap_or(current.temperature),
            top_p: self.top_p.unwrap_or(current.top_p),
            max_tokens: self.max_tokens.unwrap_or(current.max_tokens),
            custom_prompt: self.custom_prompt.clone().unwrap_or_else(|| current.custom_prompt.clone()),
            web_search_enabled: self.web_search_enabled.unwrap_or(current.web_search_enabled),
            reasoning_effort: self.reasoning_effort.unwrap_or(current.reasoning_effort),
            compaction_threshold: self.compaction_threshold.unwrap_or(current.compaction_threshold),
        };
        for broken in settings.check() {
            fields.reject(broken.field, broken.rule, "value_error");
        }
        settings
    }
}

/// Settings in range, to check those that a new conversation is given before the model's own
/// defaults are known.
fn in_range() -> Settings {
    Settings {
        temperature: 0.0,
        top_p: 1.0,
        max_tokens: 1,
        custom_prompt: String::new(),
        web_search_enabled: false,
        reasoning_effort: Effort::default(),
        compaction_threshold: 50,
    }
}

/// Reads the body that creates a conversation.
pub(crate) fn create(mut fields: Fields) -> Result<Create, Problem> {
    let llm_id = fields.integer("llm_id").map(LlmId);
    let settings = setting_fields(&mut fields);
    settings.over(&in_range(), &mut fields);
    fields.finish()?;
    Ok(Create {
        llm_id,
        temperature: settings.temperature,
        top_p: settings.top_p,
        max_tokens: settings.max_tokens,
        custom_prompt: settings.custom_prompt,
        web_search_enabled: settings.web_search_enabled,
        reasoning_effort: settings.reasoning_effort,
        compaction_threshold: settings.compaction_threshold,
    })
}

/// Reads the body that changes a conversation whose settings are `current`.
pub(crate) fn update(mut fields: Fields, current: &Settings) -> Result<ConversationPatch, Problem> {
    let name = name(&mut fields);
    let llm_id = fields.integer("llm_id").map(LlmId);
    let settings = setting_fields(&mut fields).over(current, &mut fields);
    fields.finish()?;
    Ok(ConversationPatch { name, llm_id, settings: (settings != *current).then_some(settings) })
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
