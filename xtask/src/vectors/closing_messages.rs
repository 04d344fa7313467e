//! `colloquy_core::closing`: what is appended to close a history.

use anyhow::Result;
use colloquy_core::{
    block::{Block, ToolCall, ToolResult},
    closing::{Closing, closing},
    message::{Kind, Message, MessageId, TurnId, Uid},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Verdict;

#[derive(Deserialize)]
struct Case {
    committed: Vec<Row>,
    streamed_text: String,
}

#[derive(Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Row {
    System,
    User {
        text: String,
    },
    Assistant {
        text: String,
        #[serde(default)]
        tool_calls: Vec<Call>,
    },
    Tool {
        text: String,
        tool_call_id: String,
    },
}

#[derive(Deserialize)]
struct Call {
    id: String,
    name: String,
    args: Value,
}

pub(super) fn check(case: &Value) -> Result<Verdict> {
    let Case { committed, streamed_text } = super::input(case)?;
    let messages: Vec<_> = committed.iter().filter_map(Row::message).collect();
    let appended =
        closing(&messages, &[], &streamed_text).map_or_else(Vec::new, |closing| rows(&messages, closing));
    Ok(Verdict { expected: case["appended"].clone(), got: Value::Array(appended) })
}

impl Row {
    /// What is stored of it: a system text is a setting of the conversation and no message of it.
    fn message(&self) -> Option<Message> {
        let (kind, blocks) = match self {
            Self::System => return None,
            Self::User { text } => (Kind::Question, vec![Block::Text(text.clone())]),
            Self::Assistant { text, tool_calls } if tool_calls.is_empty() => {
                (Kind::Answer, vec![Block::Text(text.clone())])
            }
            Self::Assistant { text, tool_calls } => {
                let calls = tool_calls.iter().map(|Call { id, name, args }| {
                    Block::ToolCall(ToolCall { id: id.clone(), name: name.clone(), input: args.to_string() })
                });
                (Kind::Call, std::iter::once(Block::Text(text.clone())).chain(calls).collect())
            }
            Self::Tool { text, tool_call_id } => {
                let result =
                    ToolResult { call_id: tool_call_id.clone(), text: text.clone(), is_error: false };
                (Kind::Results, vec![Block::ToolResult(result)])
            }
        };
        Some(message(kind, blocks))
    }
}

/// A message of which only kind and content matter.
fn message(kind: Kind, blocks: Vec<Block>) -> Message {
    Message {
        id: MessageId(0),
        uid: Uid([0; 16]),
        parent_id: None,
        depth: 0,
        turn_id: TurnId(0),
        step: 0,
        kind,
        app_authored: false,
        compactable: true,
        blocks,
        origin: None,
        usage: None,
        finish_reason: None,
        created_at: 0,
        redacted_at: None,
    }
}

/// The closing in the form of the file: one row per result, with the name of its tool.
fn rows(committed: &[Message], closing: Closing) -> Vec<Value> {
    let tool_name = |call_id: &str| {
        committed
            .iter()
            .flat_map(Message::calls)
            .find(|call| call.id == call_id)
            .map(|call| call.name.as_str())
    };
    let mut rows: Vec<Value> = closing
        .results
        .iter()
        .map(|result| {
            json!({
                "role": "tool",
                "text": result.text,
                "tool_call_id": result.call_id,
                "name": tool_name(&result.call_id),
            })
        })
        .collect();
    rows.push(json!({"role": "assistant", "text": closing.text}));
    rows
}
