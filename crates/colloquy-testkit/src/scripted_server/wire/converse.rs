//! Bedrock Converse: binary frames, the beginning of a block told only of calls, usage last.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::{
    super::frame::{Frame, WireUsage},
    Render,
    blocks::{Blocks, Change, Content},
    error,
    event_stream::{self, Kind},
    whole,
};

/// A stream of events.
#[derive(Default)]
pub(super) struct Converse {
    blocks: Blocks,
}

impl Render for Converse {
    fn render(&mut self, frame: &Frame, rest: &VecDeque<Frame>) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.blocks.take(frame, rest, |blocks, change| {
            for (kind, mut payload) in events(blocks, change) {
                // The service pads what it sends, so that lengths say nothing of the content.
                if matches!(kind, Kind::Event(_)) {
                    payload["p"] = "abcdefgh".into();
                }
                bytes.extend(event_stream::frame(kind, &payload.to_string()));
            }
        });
        bytes
    }
}

/// The same in one document.
pub(super) fn document(blocks: &Blocks, reason: &str, usage: WireUsage) -> Value {
    let content: Vec<Value> = blocks.contents().map(whole_block).collect();
    json!({
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": stop_reason(reason),
        "usage": usage_of(usage),
        "metrics": {"latencyMs": 1},
    })
}

fn events(blocks: &Blocks, change: Change<'_>) -> Vec<(Kind, Value)> {
    match change {
        Change::Start(_) => vec![(Kind::Event("messageStart"), json!({"role": "assistant"}))],
        Change::Begin(at) => match blocks.content(at) {
            Content::Call { id, name, .. } => {
                let start = json!({"toolUse": {"toolUseId": id, "name": name}});
                let payload = json!({"contentBlockIndex": at, "start": start});
                vec![(Kind::Event("contentBlockStart"), payload)]
            }
            Content::Redacted(data) => {
                vec![delta(at, json!({"reasoningContent": {"redactedContent": data}}))]
            }
            Content::Text(_) | Content::Reasoning { .. } => Vec::new(),
        },
        Change::Piece(at, piece) => vec![delta(at, piece_of(blocks.content(at), piece))],
        Change::Sign(at, signature) => {
            vec![delta(at, json!({"reasoningContent": {"signature": signature}}))]
        }
        Change::End(at) => vec![(Kind::Event("contentBlockStop"), json!({"contentBlockIndex": at}))],
        Change::Finish(reason, usage) => {
            let metadata = json!({"usage": usage_of(usage), "metrics": {"latencyMs": 1}});
            vec![
                (Kind::Event("messageStop"), json!({"stopReason": stop_reason(reason)})),
                (Kind::Event("metadata"), metadata),
            ]
        }
        Change::Fail(failure) => {
            let payload = json!({"message": failure.message});
            vec![(Kind::Exception(error::exception_in_stream(failure.status)), payload)]
        }
    }
}

fn delta(at: usize, delta: Value) -> (Kind, Value) {
    (Kind::Event("contentBlockDelta"), json!({"contentBlockIndex": at, "delta": delta}))
}

fn piece_of(content: &Content, piece: &str) -> Value {
    match content {
        Content::Text(_) => json!({"text": piece}),
        Content::Reasoning { .. } => json!({"reasoningContent": {"text": piece}}),
        Content::Call { .. } => json!({"toolUse": {"input": piece}}),
        Content::Redacted(_) => panic!("BUG: redacted data does not grow"),
    }
}

fn whole_block(content: &Content) -> Value {
    match content {
        Content::Text(text) => json!({"text": text}),
        Content::Reasoning { text, signature } => {
            let mut reasoning = json!({"text": text});
            if let Some(signature) = signature {
                reasoning["signature"] = signature.as_str().into();
            }
            json!({"reasoningContent": {"reasoningText": reasoning}})
        }
        Content::Redacted(data) => json!({"reasoningContent": {"redactedContent": data}}),
        Content::Call { id, name, input, .. } => {
            json!({"toolUse": {"toolUseId": id, "name": name, "input": whole::input_of(input)}})
        }
    }
}

/// What was in a cache is not among the input tokens, but it is in the total.
fn usage_of(usage: WireUsage) -> Value {
    json!({
        "inputTokens": usage.uncached_tokens(),
        "outputTokens": usage.completion_tokens,
        "totalTokens": usage.prompt_tokens + usage.completion_tokens,
        "cacheReadInputTokens": usage.cached_tokens,
        "cacheWriteInputTokens": usage.written_tokens,
    })
}

fn stop_reason(reason: &str) -> &str {
    match reason {
        "stop" => "end_turn",
        "length" => "max_tokens",
        "tool_calls" => "tool_use",
        "content_filter" => "content_filtered",
        other => other,
    }
}
