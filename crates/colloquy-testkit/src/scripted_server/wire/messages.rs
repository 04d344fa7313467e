//! Anthropic Messages: named events, blocks with a position, usage of the prompt at the start.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::{
    super::frame::{Frame, WireUsage},
    Render,
    blocks::{Blocks, Change, Content},
    error, named_event,
};

/// A stream of events.
#[derive(Default)]
pub(super) struct Messages {
    blocks: Blocks,
    has_pinged: bool,
}

impl Render for Messages {
    fn render(&mut self, frame: &Frame, rest: &VecDeque<Frame>) -> Vec<u8> {
        let Self { blocks, has_pinged } = self;
        let mut bytes = Vec::new();
        blocks.take(frame, rest, |blocks, change| {
            // The service pings once the answer has begun, and whenever it likes.
            let pings = matches!(change, Change::Begin(_)) && !std::mem::replace(has_pinged, true);
            for event in events(blocks, change, pings) {
                let name = event["type"].as_str().expect("BUG: every event has a type");
                bytes.extend(named_event(name, &event));
            }
        });
        bytes
    }
}

/// The same in one document.
pub(super) fn document(blocks: &Blocks, reason: &str, usage: WireUsage) -> Value {
    let content: Vec<Value> = blocks.contents().map(whole_block).collect();
    message(content, Some(stop_reason(reason)), usage, usage.completion_tokens)
}

fn events(blocks: &Blocks, change: Change<'_>, pings: bool) -> Vec<Value> {
    match change {
        // The service has generated a token or so by then.
        Change::Start(usage) => {
            vec![json!({"type": "message_start", "message": message(Vec::new(), None, usage, 1)})]
        }
        Change::Begin(at) => {
            let block = empty_block(blocks.content(at));
            let mut events =
                vec![json!({"type": "content_block_start", "index": at, "content_block": block})];
            if pings {
                events.push(json!({"type": "ping"}));
            }
            // The service begins the input of a call with an empty piece.
            if matches!(blocks.content(at), Content::Call { .. }) {
                events.push(delta(at, json!({"type": "input_json_delta", "partial_json": ""})));
            }
            events
        }
        Change::Piece(at, piece) => vec![delta(at, piece_of(blocks.content(at), piece))],
        Change::Sign(at, signature) => {
            vec![delta(at, json!({"type": "signature_delta", "signature": signature}))]
        }
        Change::End(at) => vec![json!({"type": "content_block_stop", "index": at})],
        Change::Finish(reason, usage) => vec![
            json!({
                "type": "message_delta",
                "delta": {"stop_reason": stop_reason(reason), "stop_sequence": null},
                "usage": usage_of(usage, usage.completion_tokens),
            }),
            json!({"type": "message_stop"}),
        ],
        Change::Fail(failure) => vec![error::anthropic(failure)],
    }
}

fn delta(at: usize, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": at, "delta": delta})
}

fn piece_of(content: &Content, piece: &str) -> Value {
    match content {
        Content::Text(_) => json!({"type": "text_delta", "text": piece}),
        Content::Reasoning { .. } => json!({"type": "thinking_delta", "thinking": piece}),
        Content::Call { .. } => json!({"type": "input_json_delta", "partial_json": piece}),
        Content::Redacted(_) => panic!("BUG: redacted data does not grow"),
    }
}

fn empty_block(content: &Content) -> Value {
    match content {
        Content::Text(_) => json!({"type": "text", "text": ""}),
        Content::Reasoning { .. } => json!({"type": "thinking", "thinking": "", "signature": ""}),
        Content::Redacted(data) => json!({"type": "redacted_thinking", "data": data}),
        Content::Call { id, name, .. } => {
            json!({"type": "tool_use", "id": id, "name": name, "input": {}})
        }
    }
}

fn whole_block(content: &Content) -> Value {
    let mut block = empty_block(content);
    match content {
        Content::Text(text) => block["text"] = text.as_str().into(),
        Content::Reasoning { text, signature } => {
            block["thinking"] = text.as_str().into();
            block["signature"] = signature.as_deref().unwrap_or_default().into();
        }
        Content::Redacted(_) => {}
        Content::Call { input, .. } => block["input"] = super::whole::input_of(input),
    }
    block
}

fn message(content: Vec<Value>, stop_reason: Option<&str>, usage: WireUsage, output_tokens: u32) -> Value {
    json!({
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": "scripted-model",
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": usage_of(usage, output_tokens),
    })
}

/// What was in a cache is not among the input tokens.
fn usage_of(usage: WireUsage, output_tokens: u32) -> Value {
    json!({
        "input_tokens": usage.uncached_tokens(),
        "cache_creation_input_tokens": usage.written_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": output_tokens,
    })
}

fn stop_reason(reason: &str) -> &str {
    match reason {
        "stop" => "end_turn",
        "length" => "max_tokens",
        "tool_calls" => "tool_use",
        "content_filter" => "refusal",
        other => other,
    }
}
