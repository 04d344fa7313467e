//! Content blocks of a message: `{"v":1,"blocks":[{"t":"text","text":"…"}]}`.
//!
//! Every byte is kept: signatures, redacted data and a call's arguments go back to their provider
//! as they came. The set of tags is closed: an unknown one is [`RecordError::Newer`]. One tag is
//! only read: a `tool_call` holds its input as a JSON value, as it was written before `call` was.

use base64::{Engine as _, prelude::BASE64_STANDARD as BASE64};
use colloquy_core::{
    block::{Block, File, Image, Reasoning, Skill, ToolCall, ToolResult, ValueBlock},
    tool::ToolDefinition,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{RecordError, VERSION, read, write};

const WHAT: &str = "a message";

#[derive(Serialize)]
struct Written<'a> {
    v: u32,
    blocks: Vec<WrittenBlock<'a>>,
}

/// A block on its way to disk; bytes are base64.
#[derive(Serialize)]
#[serde(tag = "t", rename_all = "snake_case")]
pub(super) enum WrittenBlock<'a> {
    Text {
        text: &'a str,
    },
    Value {
        #[serde(rename = "type")]
        type_name: &'a str,
        json: &'a str,
        shown: &'a str,
    },
    Json {
        text: &'a str,
    },
    Tool {
        name: &'a str,
        description: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        schema: Option<&'a str>,
    },
    Image {
        media: &'a str,
        bytes: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
    },
    File {
        media: &'a str,
        name: &'a str,
        bytes: String,
    },
    Call {
        id: &'a str,
        name: &'a str,
        arguments: &'a str,
    },
    ToolResult {
        id: &'a str,
        text: &'a str,
        is_error: bool,
    },
    Reasoning {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<&'a str>,
    },
    Redacted {
        data: &'a str,
    },
    Skill {
        name: &'a str,
        description: &'a str,
        body: &'a str,
    },
}

#[derive(Deserialize)]
struct Stored {
    blocks: Vec<StoredBlock>,
}

/// Every member that any tag has: the tag is judged before the members are, so that an unknown
/// one is told from a damaged one.
#[derive(Deserialize)]
pub(super) struct StoredBlock {
    t: String,
    text: Option<String>,
    #[serde(rename = "type")]
    type_name: Option<String>,
    json: Option<String>,
    shown: Option<String>,
    id: Option<String>,
    name: Option<String>,
    description: Option<String>,
    schema: Option<String>,
    media: Option<String>,
    bytes: Option<String>,
    arguments: Option<String>,
    #[serde(default, deserialize_with = "present")]
    input: Option<Value>,
    is_error: Option<bool>,
    signature: Option<String>,
    data: Option<String>,
    body: Option<String>,
}

/// Keeps a stored `null` apart from an absent member.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// The stored form of a message's blocks.
pub fn encode_blocks(blocks: &[Block]) -> String {
    write(&Written { v: VERSION, blocks: blocks.iter().map(WrittenBlock::of).collect() })
}

/// The blocks of a stored message.
pub fn decode_blocks(json: &str) -> Result<Vec<Block>, RecordError> {
    read::<Stored>(WHAT, json)?.blocks.into_iter().map(|block| block.block(WHAT)).collect()
}

impl<'a> WrittenBlock<'a> {
    pub(super) fn of(block: &'a Block) -> Self {
        match block {
            Block::Text(text) => Self::Text { text },
            Block::Value(ValueBlock { type_name, json, shown }) => Self::Value { type_name, json, shown },
            Block::Json(text) => Self::Json { text },
            Block::ToolDefinition(ToolDefinition { name, description, schema }) => {
                Self::Tool { name, description, schema: schema.as_deref() }
            }
            Block::Image(Image { media_type, bytes, description }) => Self::Image {
                media: media_type,
                bytes: BASE64.encode(bytes),
                description: description.as_deref(),
            },
            Block::File(File { media_type, bytes, name }) => {
                Self::File { media: media_type, name, bytes: BASE64.encode(bytes) }
            }
            Block::ToolCall(ToolCall { id, name, input }) => Self::Call { id, name, arguments: input },
            Block::ToolResult(ToolResult { call_id, text, is_error }) => {
                Self::ToolResult { id: call_id, text, is_error: *is_error }
            }
            Block::Reasoning(Reasoning { text, signature }) => {
                Self::Reasoning { text, signature: signature.as_deref() }
            }
            Block::RedactedReasoning(data) => Self::Redacted { data },
            Block::Skill(Skill { name, description, body }) => Self::Skill { name, description, body },
        }
    }
}

impl StoredBlock {
    /// The block; `what` names the form it stands in.
    pub(super) fn block(self, what: &'static str) -> Result<Block, RecordError> {
        let need = |member: Option<String>, name: &str| {
            member.ok_or_else(|| RecordError::damaged(what, format!("a block has no {name}")))
        };
        let bytes = |member: Option<String>| {
            let bytes = BASE64.decode(need(member, "bytes")?);
            bytes.map_err(|_| RecordError::damaged(what, "the bytes of a block are not base64"))
        };
        Ok(match self.t.as_str() {
            "text" => Block::Text(need(self.text, "text")?),
            "value" => Block::Value(ValueBlock {
                type_name: need(self.type_name, "type")?,
                json: need(self.json, "json")?,
                shown: need(self.shown, "shown")?,
            }),
            "json" => Block::Json(need(self.text, "text")?),
            "tool" => Block::ToolDefinition(ToolDefinition {
                name: need(self.name, "name")?,
                description: need(self.description, "description")?,
                schema: self.schema,
            }),
            "image" => Block::Image(Image {
                media_type: need(self.media, "media")?,
                bytes: bytes(self.bytes)?.into(),
                description: self.description,
            }),
            "file" => Block::File(File {
                media_type: need(self.media, "media")?,
                bytes: bytes(self.bytes)?.into(),
                name: need(self.name, "name")?,
            }),
            "call" => Block::ToolCall(ToolCall {
                id: need(self.id, "id")?,
                name: need(self.name, "name")?,
                input: need(self.arguments, "arguments")?,
            }),
            "tool_call" => Block::ToolCall(ToolCall {
                id: need(self.id, "id")?,
                name: need(self.name, "name")?,
                input: need(self.input.map(|input| input.to_string()), "input")?,
            }),
            "tool_result" => Block::ToolResult(ToolResult {
                call_id: need(self.id, "id")?,
                text: need(self.text, "text")?,
                is_error: self
                    .is_error
                    .ok_or_else(|| RecordError::damaged(what, "a block has no is_error"))?,
            }),
            "reasoning" => {
                Block::Reasoning(Reasoning { text: need(self.text, "text")?, signature: self.signature })
            }
            "redacted" => Block::RedactedReasoning(need(self.data, "data")?),
            "skill" => Block::Skill(Skill {
                name: need(self.name, "name")?,
                description: need(self.description, "description")?,
                body: need(self.body, "body")?,
            }),
            unknown => return Err(RecordError::tag(what, unknown)),
        })
    }
}
