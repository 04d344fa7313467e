//! Content blocks: the pieces a message is made of.
//!
//! The set is closed. A stored tag that is not in it is refused by the record layer, never skipped.

use serde_json::Value;

/// One piece of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Text in the channel of the message's role.
    Text(String),
    /// What the model thought before it answered. Shown, stored, never sent to another model.
    Reasoning(String),
    /// A tool the model asked for.
    ToolCall(ToolCall),
    /// What a tool returned, or why it did not.
    ToolResult(ToolResult),
}

/// A model's request to run a tool. Answered by exactly one [`ToolResult`] with the same id.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The identifier the provider or the runtime minted, unique in its message.
    pub id: String,
    /// The declared name of the tool.
    pub name: String,
    /// The arguments as JSON.
    pub input: Value,
}

/// The result of one tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// The call this answers.
    pub call_id: String,
    /// What the model reads.
    pub text: String,
    /// Whether the tool failed.
    pub is_error: bool,
}
