//! Messages for the tests of this crate.

use crate::{
    block::{Block, ToolCall, ToolResult},
    message::{Kind, Message, MessageId, TurnId, Uid},
};

/// A message with these blocks and nothing else to it.
pub(crate) fn message(kind: Kind, blocks: Vec<Block>) -> Message {
    Message {
        id: MessageId(1),
        uid: Uid([0; 16]),
        parent_id: None,
        depth: 0,
        turn_id: TurnId(1),
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

/// A message of one text block.
pub(crate) fn said(kind: Kind, text: &str) -> Message {
    message(kind, vec![Block::Text(text.to_owned())])
}

/// A call of a tool.
pub(crate) fn call(id: &str, name: &str, input: &str) -> Block {
    Block::ToolCall(ToolCall { id: id.to_owned(), name: name.to_owned(), input: input.to_owned() })
}

/// A result that is no error.
pub(crate) fn result(call_id: &str, text: &str) -> Block {
    Block::ToolResult(ToolResult { call_id: call_id.to_owned(), text: text.to_owned(), is_error: false })
}
