//! Content blocks: the pieces a message is made of.
//!
//! The set of eleven is closed (runtime page, "Content Blocks"). A stored tag that is not in it is
//! refused by the record layer, never skipped. Every byte a block holds is kept: signatures,
//! redacted data and tool identifiers go back to their provider as they came.

use std::sync::Arc;

use crate::{curated::INTERRUPTED_TOOL, tool::ToolDefinition};

/// One piece of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Text in the channel of the message's role.
    Text(String),
    /// A typed value of the program, shown to the model as JSON with its artifacts as references.
    Value(ValueBlock),
    /// JSON text as it is.
    Json(String),
    /// A tool that became known in the middle of the conversation.
    ToolDefinition(ToolDefinition),
    /// A picture.
    Image(Image),
    /// A document.
    File(File),
    /// A tool the model asked for.
    ToolCall(ToolCall),
    /// What a tool returned, or why it did not.
    ToolResult(ToolResult),
    /// What the model thought before it answered. Shown, stored, replayed only to the model that
    /// signed it.
    Reasoning(Reasoning),
    /// Reasoning that the provider keeps to itself: opaque, replayed byte for byte.
    RedactedReasoning(String),
    /// A skill: instructions under a name that the program admitted.
    Skill(Skill),
}

/// A typed value and what the model reads of it, both fixed when it was appended (I3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueBlock {
    /// The name of its type, for readers that know it.
    pub type_name: String,
    /// The whole value as JSON, artifacts in full.
    pub json: String,
    /// The same, long fields summarised and artifacts as `{"@ref": …}`.
    pub shown: String,
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Such as `image/png`.
    pub media_type: String,
    /// The file's bytes.
    pub bytes: Arc<[u8]>,
    /// What it shows, for wires and readers without pictures.
    pub description: Option<String>,
}

/// A document that is not plain text; text files travel as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Such as `application/pdf`.
    pub media_type: String,
    /// The file's bytes.
    pub bytes: Arc<[u8]>,
    /// Its name, without a path.
    pub name: String,
}

/// A model's request to run a tool. Answered by exactly one [`ToolResult`] with the same id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The identifier the provider or the runtime minted, unique in its message.
    pub id: String,
    /// The declared name of the tool.
    pub name: String,
    /// The arguments as the model wrote them; JSON where it wrote JSON.
    pub input: String,
}

/// The result of one tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// The call this answers.
    pub call_id: String,
    /// What the model reads.
    pub text: String,
    /// Whether the tool failed.
    pub is_error: bool,
}

/// A stretch of reasoning.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reasoning {
    /// What was thought; may be empty when only its signature was given.
    pub text: String,
    /// The provider's proof that it wrote this text.
    pub signature: Option<String>,
}

/// Instructions under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Unique in a conversation.
    pub name: String,
    /// One line on when it applies; may be empty.
    pub description: String,
    /// The instructions.
    pub body: String,
}

impl Image {
    /// What stands for a picture where none can be sent.
    pub fn placeholder(&self) -> String {
        let Self { media_type, description, bytes: _ } = self;
        match description {
            Some(description) => format!("[image {media_type}: {description}]"),
            None => format!("[image {media_type}]"),
        }
    }
}

impl ToolResult {
    /// The result of a call whose tool did not come to its end.
    pub fn interrupted(call_id: &str) -> Self {
        Self { call_id: call_id.to_owned(), text: INTERRUPTED_TOOL.to_owned(), is_error: true }
    }
}

impl Skill {
    /// The text that stands for a skill inside a message, on every wire.
    pub fn mention(&self) -> String {
        format!("[Skill: {}]\n{}", self.name, self.body)
    }

    /// The text that stands for an admitted skill in front of a system text, on every wire.
    pub fn text(&self) -> String {
        let Self { name, description, body } = self;
        if description.is_empty() {
            self.mention()
        } else {
            format!("[Skill: {name}]\n{description}\n\n{body}")
        }
    }
}

impl Block {
    /// A text block; `None` for blank text, which is never a block of ours.
    pub fn text(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        (!text.trim().is_empty()).then_some(Self::Text(text))
    }

    /// Unsigned reasoning.
    pub fn reasoning(text: impl Into<String>) -> Self {
        Self::Reasoning(Reasoning { text: text.into(), signature: None })
    }

    /// Its text, if it is a text block.
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The call, if it is one.
    pub fn as_call(&self) -> Option<&ToolCall> {
        if let Self::ToolCall(call) = self { Some(call) } else { None }
    }

    /// The result, if it is one.
    pub fn as_result(&self) -> Option<&ToolResult> {
        if let Self::ToolResult(result) = self { Some(result) } else { None }
    }

    /// Bytes of content it holds in memory, for limits on what is kept.
    pub fn n_bytes(&self) -> usize {
        match self {
            Self::Text(text) | Self::Json(text) | Self::RedactedReasoning(text) => text.len(),
            Self::Value(value) => value.json.len() + value.shown.len(),
            Self::ToolDefinition(tool) => tool.description.len() + tool.schema.as_deref().map_or(0, str::len),
            Self::Image(image) => image.bytes.len(),
            Self::File(file) => file.bytes.len(),
            Self::ToolCall(call) => call.input.len(),
            Self::ToolResult(result) => result.text.len(),
            Self::Reasoning(reasoning) => {
                reasoning.text.len() + reasoning.signature.as_deref().map_or(0, str::len)
            }
            Self::Skill(skill) => skill.description.len() + skill.body.len(),
        }
    }
}
