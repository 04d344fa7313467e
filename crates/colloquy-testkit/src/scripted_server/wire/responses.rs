//! OpenAI Responses: numbered, named events about items with parts, and the whole response once
//! more at the end.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::{
    super::frame::{Frame, WireError, WireUsage},
    Render,
    blocks::{Blocks, Change, Content},
    error, named_event,
};

/// A stream of events.
#[derive(Default)]
pub(super) struct Responses {
    blocks: Blocks,
    n_events: u64,
    has_started: bool,
}

impl Render for Responses {
    fn render(&mut self, frame: &Frame, rest: &VecDeque<Frame>) -> Vec<u8> {
        let Self { blocks, n_events, has_started } = self;
        let mut bytes = Vec::new();
        blocks.take(frame, rest, |blocks, change| {
            *has_started |= matches!(change, Change::Start(_));
            for mut event in events(blocks, change, *has_started) {
                event["sequence_number"] = (*n_events).into();
                *n_events += 1;
                let name = event["type"].as_str().expect("BUG: every event has a type");
                bytes.extend(named_event(name, &event));
            }
        });
        bytes
    }
}

/// The same in one document.
pub(super) fn document(blocks: &Blocks, reason: &str, usage: WireUsage) -> Value {
    let (status, details) = match reason {
        "length" => ("incomplete", json!({"reason": "max_output_tokens"})),
        "content_filter" => ("incomplete", json!({"reason": "content_filter"})),
        _ => ("completed", Value::Null),
    };
    let last = blocks.contents().count().saturating_sub(1);
    let item_status = |at: usize| if at == last { status } else { "completed" };
    let items = blocks.contents().enumerate();
    let mut response = response(status);
    response["output"] = items.map(|(at, content)| whole_item(at, content, item_status(at))).collect();
    response["incomplete_details"] = details;
    response["usage"] = json!({
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    });
    response
}

fn events(blocks: &Blocks, change: Change<'_>, has_started: bool) -> Vec<Value> {
    match change {
        Change::Start(_) => ["response.created", "response.in_progress"]
            .map(|kind| json!({"type": kind, "response": response("in_progress")}))
            .into(),
        Change::Begin(at) => begin(at, blocks.content(at)),
        Change::Piece(at, piece) => piece_of(at, blocks.content(at), piece),
        // It is a member of the item, which is told when the item is complete.
        Change::Sign(..) => Vec::new(),
        Change::End(at) => end(at, blocks.content(at)),
        Change::Finish(reason, usage) => {
            let response = document(blocks, reason, usage);
            let status = response["status"].as_str().expect("BUG: a response has a status");
            vec![json!({"type": format!("response.{status}"), "response": response})]
        }
        Change::Fail(failure) => vec![failed(failure, has_started)],
    }
}

fn begin(at: usize, content: &Content) -> Vec<Value> {
    let item = empty_item(at, content);
    let id = item["id"].clone();
    let added = json!({"type": "response.output_item.added", "output_index": at, "item": item});
    match content {
        Content::Text(_) => {
            let part = text_part("");
            let kind = "response.content_part.added";
            vec![
                added,
                json!({"type": kind, "item_id": id, "output_index": at, "content_index": 0, "part": part}),
            ]
        }
        // A summary has parts only if there is something in it, so the first piece begins it.
        Content::Reasoning { .. } | Content::Redacted(_) | Content::Call { .. } => vec![added],
    }
}

fn piece_of(at: usize, content: &Content, piece: &str) -> Vec<Value> {
    let id = item_id(at, content);
    match content {
        Content::Text(_) => vec![json!({
            "type": "response.output_text.delta",
            "item_id": id, "output_index": at, "content_index": 0, "delta": piece, "logprobs": [],
        })],
        Content::Reasoning { text, .. } => {
            let delta = json!({
                "type": "response.reasoning_summary_text.delta",
                "item_id": id, "output_index": at, "summary_index": 0, "delta": piece,
            });
            let is_first = text.len() == piece.len();
            let added = is_first.then(|| summary_part(at, &id, "response.reasoning_summary_part.added", ""));
            added.into_iter().chain([delta]).collect()
        }
        Content::Call { .. } => vec![json!({
            "type": "response.function_call_arguments.delta",
            "item_id": id, "output_index": at, "delta": piece,
        })],
        Content::Redacted(_) => panic!("BUG: redacted data does not grow"),
    }
}

fn end(at: usize, content: &Content) -> Vec<Value> {
    let id = item_id(at, content);
    let mut events = match content {
        Content::Text(text) => vec![
            json!({
                "type": "response.output_text.done",
                "item_id": id, "output_index": at, "content_index": 0, "text": text, "logprobs": [],
            }),
            json!({
                "type": "response.content_part.done",
                "item_id": id, "output_index": at, "content_index": 0, "part": text_part(text),
            }),
        ],
        Content::Reasoning { text, .. } if text.is_empty() => Vec::new(),
        Content::Reasoning { text, .. } => vec![
            json!({
                "type": "response.reasoning_summary_text.done",
                "item_id": id, "output_index": at, "summary_index": 0, "text": text,
            }),
            summary_part(at, &id, "response.reasoning_summary_part.done", text),
        ],
        Content::Redacted(_) => Vec::new(),
        Content::Call { input, .. } => vec![json!({
            "type": "response.function_call_arguments.done",
            "item_id": id, "output_index": at, "arguments": input,
        })],
    };
    let item = whole_item(at, content, "completed");
    events.push(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
    events
}

/// A response that exists fails as a response; one that does not is only an error.
fn failed(failure: &WireError, has_started: bool) -> Value {
    let WireError { status, message } = failure;
    let code = error::openai_code(*status).unwrap_or("invalid_prompt");
    if has_started {
        let mut response = response("failed");
        response["error"] = json!({"code": code, "message": message});
        json!({"type": "response.failed", "response": response})
    } else {
        json!({"type": "error", "code": code, "message": message, "param": null})
    }
}

fn summary_part(at: usize, id: &str, kind: &str, text: &str) -> Value {
    let part = json!({"type": "summary_text", "text": text});
    json!({"type": kind, "item_id": id, "output_index": at, "summary_index": 0, "part": part})
}

fn text_part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

fn item_id(at: usize, content: &Content) -> String {
    let prefix = match content {
        Content::Text(_) => "msg",
        Content::Reasoning { .. } | Content::Redacted(_) => "rs",
        Content::Call { .. } => "fc",
    };
    format!("{prefix}_scripted_{at}")
}

fn empty_item(at: usize, content: &Content) -> Value {
    let id = item_id(at, content);
    match content {
        Content::Text(_) => {
            json!({"id": id, "type": "message", "status": "in_progress", "role": "assistant", "content": []})
        }
        Content::Reasoning { .. } | Content::Redacted(_) => {
            json!({"id": id, "type": "reasoning", "summary": []})
        }
        Content::Call { id: call_id, name, .. } => json!({
            "id": id, "type": "function_call", "status": "in_progress",
            "call_id": call_id, "name": name, "arguments": "",
        }),
    }
}

fn whole_item(at: usize, content: &Content, status: &str) -> Value {
    let mut item = empty_item(at, content);
    match content {
        Content::Text(text) => item["content"] = json!([text_part(text)]),
        Content::Reasoning { text, signature } => {
            if !text.is_empty() {
                item["summary"] = json!([{"type": "summary_text", "text": text}]);
            }
            if let Some(signature) = signature {
                item["encrypted_content"] = signature.as_str().into();
            }
            return item;
        }
        Content::Redacted(data) => {
            item["encrypted_content"] = data.as_str().into();
            return item;
        }
        Content::Call { input, .. } => item["arguments"] = input.as_str().into(),
    }
    item["status"] = status.into();
    item
}

/// A response without output.
fn response(status: &str) -> Value {
    json!({
        "id": "resp_scripted",
        "object": "response",
        "created_at": 1_796_070_427,
        "status": status,
        "error": null,
        "incomplete_details": null,
        "instructions": null,
        "max_output_tokens": null,
        "metadata": {},
        "model": "scripted-model",
        "output": [],
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "reasoning": {"effort": null, "summary": null},
        "store": false,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": null,
        "user": null,
    })
}
