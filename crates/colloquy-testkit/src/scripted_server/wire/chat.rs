//! OpenAI chat completions as llama-server streams them: chunks without names, usage in a chunk of
//! its own, `[DONE]` at the end.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::{
    super::frame::{Frame, WireUsage},
    Render,
    blocks::{Blocks, Content},
    error,
};

/// A stream of chunks; no chunk depends on those before it.
pub(super) struct Chat;

impl Render for Chat {
    fn render(&mut self, frame: &Frame, _rest: &VecDeque<Frame>) -> Vec<u8> {
        let opening = json!({"role": "assistant", "content": null});
        match frame {
            Frame::Role => event(choice(None, opening), json!({})),
            Frame::Reading { done, total } => {
                let progress = json!({"total": total, "cache": 0, "processed": done, "time_ms": 0});
                event(choice(None, opening), json!({"prompt_progress": progress}))
            }
            Frame::Reasoning(text) => event(choice(None, json!({"reasoning_content": text})), json!({})),
            Frame::Text(text) => event(choice(None, json!({"content": text})), json!({})),
            Frame::Call { index, id, name } => {
                let function = json!({"name": name, "arguments": ""});
                call_piece(json!({"index": index, "id": id, "type": "function", "function": function}))
            }
            Frame::CallInput { index, piece } => {
                call_piece(json!({"index": index, "function": {"arguments": piece}}))
            }
            Frame::Finish(reason, usage) => {
                let mut bytes = event(choice(Some(reason), json!({})), json!({}));
                bytes.extend(event(json!([]), usage_members(*usage)));
                bytes.extend(b"data: [DONE]\n\n");
                bytes
            }
            Frame::Error(failure) => format!("data: {}\n\n", error::openai(failure)).into_bytes(),
            // The wire has no place for the first two; bytes and time are the player's.
            Frame::Signature(_)
            | Frame::Redacted(_)
            | Frame::Raw(_)
            | Frame::Pause(_)
            | Frame::Cut
            | Frame::Hang => Vec::new(),
        }
    }
}

/// The same in one document.
pub(super) fn document(blocks: &Blocks, reason: &str, usage: WireUsage) -> Value {
    let (mut text, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
    for content in blocks.contents() {
        match content {
            Content::Text(piece) => text.push_str(piece),
            Content::Reasoning { text: piece, .. } => reasoning.push_str(piece),
            Content::Redacted(_) => {}
            Content::Call { id, name, input, .. } => {
                let function = json!({"name": name, "arguments": input});
                calls.push(json!({"id": id, "type": "function", "function": function}));
            }
        }
    }
    let content = Some(text).filter(|text| calls.is_empty() || !text.is_empty());
    let mut message = json!({"role": "assistant", "content": content});
    if !reasoning.is_empty() {
        message["reasoning_content"] = reasoning.into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    let choices = json!([{"finish_reason": reason, "index": 0, "message": message}]);
    with_members(completion("chat.completion", choices), usage_members(usage))
}

fn call_piece(call: Value) -> Vec<u8> {
    event(choice(None, json!({"tool_calls": [call]})), json!({}))
}

fn choice(finish_reason: Option<&str>, delta: Value) -> Value {
    json!([{"finish_reason": finish_reason, "index": 0, "delta": delta}])
}

fn usage_members(usage: WireUsage) -> Value {
    let WireUsage { prompt_tokens, cached_tokens, completion_tokens, written_tokens: _ } = usage;
    json!({
        "usage": {
            "completion_tokens": completion_tokens,
            "prompt_tokens": prompt_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
            "prompt_tokens_details": {"cached_tokens": cached_tokens},
        },
        "timings": {"cache_n": cached_tokens, "prompt_n": prompt_tokens.saturating_sub(cached_tokens)},
    })
}

fn event(choices: Value, more: Value) -> Vec<u8> {
    let chunk = with_members(completion("chat.completion.chunk", choices), more);
    format!("data: {chunk}\n\n").into_bytes()
}

fn completion(object: &str, choices: Value) -> Value {
    json!({
        "choices": choices,
        "created": 1_796_070_427,
        "id": "chatcmpl-scripted",
        "model": "scripted-model",
        "system_fingerprint": "b0-unknown",
        "object": object,
    })
}

fn with_members(mut document: Value, more: Value) -> Value {
    if let (Value::Object(document), Value::Object(more)) = (&mut document, more) {
        document.extend(more);
    }
    document
}
