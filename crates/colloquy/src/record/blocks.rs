//! Content blocks of a message: `{"v":1,"blocks":[{"t":"text","text":"…"}]}`.

use colloquy_core::block::{Block, ToolCall, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{RecordError, VERSION, read, write};

const WHAT: &str = "a message";

#[derive(Serialize)]
struct Written<'a> {
    v: u32,
    blocks: Vec<WrittenBlock<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "t", rename_all = "snake_case")]
enum WrittenBlock<'a> {
    Text { text: &'a str },
    Reasoning { text: &'a str },
    ToolCall { id: &'a str, name: &'a str, input: &'a Value },
    ToolResult { id: &'a str, text: &'a str, is_error: bool },
}

#[derive(Deserialize)]
struct Stored {
    blocks: Vec<StoredBlock>,
}

/// Every member that any tag has: the tag is judged before the members are, so that an unknown
/// one is told from a damaged one.
#[derive(Deserialize)]
struct StoredBlock {
    t: String,
    text: Option<String>,
    id: Option<String>,
    name: Option<String>,
    #[serde(default, deserialize_with = "present")]
    input: Option<Value>,
    is_error: Option<bool>,
}

/// Keeps a stored `null` apart from an absent member.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// The stored form of a message's blocks.
pub fn encode_blocks(blocks: &[Block]) -> String {
    let blocks = blocks
        .iter()
        .map(|block| match block {
            Block::Text(text) => WrittenBlock::Text { text },
            Block::Reasoning(text) => WrittenBlock::Reasoning { text },
            Block::ToolCall(ToolCall { id, name, input }) => WrittenBlock::ToolCall { id, name, input },
            Block::ToolResult(ToolResult { call_id, text, is_error }) => {
                WrittenBlock::ToolResult { id: call_id, text, is_error: *is_error }
            }
        })
        .collect();
    write(&Written { v: VERSION, blocks })
}

/// The blocks of a stored message.
pub fn decode_blocks(json: &str) -> Result<Vec<Block>, RecordError> {
    read::<Stored>(WHAT, json)?.blocks.into_iter().map(block).collect()
}

fn block(stored: StoredBlock) -> Result<Block, RecordError> {
    fn need<T>(member: Option<T>, name: &str) -> Result<T, RecordError> {
        member.ok_or_else(|| RecordError::damaged(WHAT, format!("a block has no {name}")))
    }
    let StoredBlock { t, text, id, name, input, is_error } = stored;
    Ok(match t.as_str() {
        "text" => Block::Text(need(text, "text")?),
        "reasoning" => Block::Reasoning(need(text, "text")?),
        "tool_call" => Block::ToolCall(ToolCall {
            id: need(id, "id")?,
            name: need(name, "name")?,
            input: need(input, "input")?,
        }),
        "tool_result" => Block::ToolResult(ToolResult {
            call_id: need(id, "id")?,
            text: need(text, "text")?,
            is_error: need(is_error, "is_error")?,
        }),
        unknown => return Err(RecordError::tag(WHAT, unknown)),
    })
}
