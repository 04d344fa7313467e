//! A whole conversation as one document: `json` keeps everything, `markdown` is for reading.
//!
//! The JSON form is a contract: identities are uids, since ids are local to a store, and a field
//! is only ever added to it. [`FORMAT_VERSION`] grows when a reader would misread the new form.

use std::collections::HashSet;

use base64::{Engine as _, prelude::BASE64_STANDARD as BASE64};
use colloquy::ports::{ConversationRow, LlmRow, StoredMessage};
use colloquy_core::{
    block::Block,
    message::{FinishReason, Kind, Message, MessageId, Role},
};
use serde::Serialize;
use serde_json::Value;

use crate::api::{ErrorJson, UsageJson, arguments, timestamp, uid};

/// Version of the JSON form.
const FORMAT_VERSION: u32 = 1;

/// The lossless form.
pub(crate) fn json(row: &ConversationRow, llm: Option<&LlmRow>, branch: &[StoredMessage]) -> String {
    let document = Document {
        format: "colloquy.conversation",
        version: FORMAT_VERSION,
        conversation: ConversationDocument::new(row, llm),
        tip: row.tip_id.and_then(|id| uid_of(branch, id)),
        turns: turns(branch),
        messages: branch.iter().map(|stored| MessageDocument::new(stored, branch)).collect(),
    };
    let mut text = serde_json::to_string_pretty(&document).expect("BUG: an export that JSON cannot hold");
    text.push('\n');
    text
}

/// The readable form: the questions and answers, reasoning folded away.
pub(crate) fn markdown(row: &ConversationRow, llm: Option<&LlmRow>, branch: &[StoredMessage]) -> String {
    let model = llm.map_or("no model", |llm| llm.name.as_str());
    let title = row.name.replace(['\n', '\r'], " ");
    let mut text = format!("# {title}\n\n*{model}, begun {}*\n", timestamp(row.created_at));
    for stored in branch {
        let message = &stored.message;
        let who = match message.kind {
            Kind::Question | Kind::Steer if message.app_authored => continue,
            Kind::Question | Kind::Steer => "Question",
            Kind::Answer | Kind::Closing => "Answer",
            Kind::Results | Kind::Call | Kind::Announcement => continue,
        };
        let star = if stored.starred { " ★" } else { "" };
        text.push_str(&format!("\n## {who}{star}\n\n"));
        for block in &message.blocks {
            if let Block::Reasoning(reasoning) = block {
                let reasoning = reasoning.text.trim();
                text.push_str(&format!(
                    "<details><summary>Reasoning</summary>\n\n{reasoning}\n\n</details>\n\n"
                ));
            }
        }
        text.push_str(message.text().trim_end());
        text.push('\n');
    }
    text
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    conversation: ConversationDocument<'a>,
    tip: Option<String>,
    turns: Vec<TurnDocument>,
    messages: Vec<MessageDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct ConversationDocument<'a> {
    uid: String,
    name: &'a str,
    llm: Option<&'a str>,
    version: i64,
    created_at: String,
    last_message_at: String,
    settings: SettingsDocument<'a>,
}

#[derive(Debug, Serialize)]
struct SettingsDocument<'a> {
    temperature: f64,
    top_p: f64,
    max_tokens: u32,
    custom_prompt: &'a str,
    web_search_enabled: bool,
    reasoning_effort: &'static str,
    compaction_threshold: u32,
}

impl<'a> ConversationDocument<'a> {
    fn new(row: &'a ConversationRow, llm: Option<&'a LlmRow>) -> Self {
        let settings = &row.settings;
        Self {
            uid: uid(row.uid),
            name: &row.name,
            llm: llm.map(|llm| llm.name.as_str()),
            version: row.version,
            created_at: timestamp(row.created_at),
            last_message_at: timestamp(row.last_message_at),
            settings: SettingsDocument {
                temperature: settings.temperature,
                top_p: settings.top_p,
                max_tokens: settings.max_tokens,
                custom_prompt: &settings.custom_prompt,
                web_search_enabled: settings.web_search_enabled,
                reasoning_effort: settings.reasoning_effort.name(),
                compaction_threshold: settings.compaction_threshold,
            },
        }
    }
}

#[derive(Debug, Serialize)]
struct TurnDocument {
    uid: String,
    outcome: Option<&'static str>,
    error: Option<ErrorJson>,
}

/// Each turn once, in the order of its first message.
fn turns(branch: &[StoredMessage]) -> Vec<TurnDocument> {
    let mut seen = HashSet::new();
    branch
        .iter()
        .filter(|stored| seen.insert(stored.turn_uid))
        .map(|stored| TurnDocument {
            uid: uid(stored.turn_uid),
            outcome: stored.outcome.map(|outcome| outcome.name()),
            error: stored.error.clone().map(ErrorJson::from),
        })
        .collect()
}

#[derive(Debug, Serialize)]
struct MessageDocument<'a> {
    id: i64,
    uid: String,
    parent: Option<String>,
    depth: u32,
    turn: String,
    step: u32,
    role: &'static str,
    kind: &'static str,
    app_authored: bool,
    compactable: bool,
    starred: bool,
    blocks: Vec<BlockDocument<'a>>,
    origin: Option<OriginDocument<'a>>,
    usage: Option<UsageJson>,
    finish_reason: Option<&'static str>,
    created_at: String,
}

#[derive(Debug, Serialize)]
struct OriginDocument<'a> {
    dialect: &'a str,
    model: &'a str,
}

impl<'a> MessageDocument<'a> {
    fn new(stored: &'a StoredMessage, branch: &[StoredMessage]) -> Self {
        let message = &stored.message;
        Self {
            id: message.id.0,
            uid: uid(message.uid),
            parent: message.parent_id.and_then(|id| uid_of(branch, id)),
            depth: message.depth,
            turn: uid(stored.turn_uid),
            step: message.step,
            role: role(message),
            kind: kind(message.kind),
            app_authored: message.app_authored,
            compactable: message.compactable,
            starred: stored.starred,
            blocks: message.blocks.iter().map(BlockDocument::from).collect(),
            origin: message
                .origin
                .as_ref()
                .map(|origin| OriginDocument { dialect: &origin.dialect, model: &origin.model }),
            usage: message.usage.map(UsageJson::from),
            finish_reason: message.finish_reason.map(finish_reason),
            created_at: timestamp(message.created_at),
        }
    }
}

/// A branch holds its messages in order of depth, and their ids grow along it.
fn uid_of(branch: &[StoredMessage], id: MessageId) -> Option<String> {
    let at = branch.binary_search_by_key(&id, |stored| stored.message.id).ok()?;
    Some(uid(branch[at].message.uid))
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockDocument<'a> {
    Text {
        text: &'a str,
    },
    Reasoning {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<&'a str>,
    },
    RedactedReasoning {
        data: &'a str,
    },
    Value {
        type_name: &'a str,
        json: &'a str,
        shown: &'a str,
    },
    Json {
        json: &'a str,
    },
    ToolDefinition {
        name: &'a str,
        description: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        schema: Option<&'a str>,
    },
    Image {
        media_type: &'a str,
        data: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
    },
    File {
        media_type: &'a str,
        data: String,
        name: &'a str,
    },
    /// `input` is for programs, `arguments` what the model wrote.
    ToolCall {
        id: &'a str,
        name: &'a str,
        input: Value,
        arguments: &'a str,
    },
    ToolResult {
        call_id: &'a str,
        text: &'a str,
        is_error: bool,
    },
    Skill {
        name: &'a str,
        description: &'a str,
        body: &'a str,
    },
}

impl<'a> From<&'a Block> for BlockDocument<'a> {
    fn from(block: &'a Block) -> Self {
        match block {
            Block::Text(text) => Self::Text { text },
            Block::Reasoning(reasoning) => {
                Self::Reasoning { text: &reasoning.text, signature: reasoning.signature.as_deref() }
            }
            Block::RedactedReasoning(data) => Self::RedactedReasoning { data },
            Block::Value(value) => {
                Self::Value { type_name: &value.type_name, json: &value.json, shown: &value.shown }
            }
            Block::Json(json) => Self::Json { json },
            Block::ToolDefinition(tool) => Self::ToolDefinition {
                name: &tool.name,
                description: &tool.description,
                schema: tool.schema.as_deref(),
            },
            Block::Image(image) => Self::Image {
                media_type: &image.media_type,
                data: BASE64.encode(&image.bytes),
                description: image.description.as_deref(),
            },
            Block::File(file) => Self::File {
                media_type: &file.media_type,
                data: BASE64.encode(&file.bytes),
                name: &file.name,
            },
            Block::Skill(skill) => {
                Self::Skill { name: &skill.name, description: &skill.description, body: &skill.body }
            }
            Block::ToolCall(call) => Self::ToolCall {
                id: &call.id,
                name: &call.name,
                input: arguments(&call.input),
                arguments: &call.input,
            },
            Block::ToolResult(result) => {
                Self::ToolResult { call_id: &result.call_id, text: &result.text, is_error: result.is_error }
            }
        }
    }
}

fn role(message: &Message) -> &'static str {
    match message.role() {
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Question => "question",
        Kind::Steer => "steer",
        Kind::Results => "results",
        Kind::Call => "call",
        Kind::Answer => "answer",
        Kind::Closing => "closing",
        Kind::Announcement => "announcement",
    }
}

fn finish_reason(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::Refusal => "refusal",
    }
}

#[cfg(test)]
mod tests;
