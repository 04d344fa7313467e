//! The events of one script in each wire, in order. What they mean is proved by the official
//! clients, in `tests/clients.rs`.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::{Form, Wire};
use crate::scripted_server::{Frame, WireUsage};

const USAGE: WireUsage =
    WireUsage { prompt_tokens: 30, cached_tokens: 20, written_tokens: 4, completion_tokens: 9 };

fn rendered(wire: Wire, form: Form, frames: impl IntoIterator<Item = Frame>) -> Vec<u8> {
    let mut rest: VecDeque<Frame> = frames.into_iter().collect();
    let mut renderer = wire.renderer(form);
    let mut bytes = Vec::new();
    while let Some(frame) = rest.pop_front() {
        bytes.extend(renderer.render(&frame, &rest));
    }
    bytes
}

/// The data of each server-sent event, with what tells the shapes apart.
fn events(wire: Wire, frames: impl IntoIterator<Item = Frame>) -> Vec<Value> {
    let text = String::from_utf8(rendered(wire, Form::Stream, frames)).unwrap();
    text.split_terminator("\n\n")
        .map(|event| {
            let (name, data) = event.split_once("\ndata: ").unwrap();
            let data: Value = serde_json::from_str(data).unwrap();
            assert_eq!(name, format!("event: {}", data["type"].as_str().unwrap()));
            data
        })
        .collect()
}

fn outline(events: &[Value]) -> Vec<String> {
    let place = |event: &Value| {
        let at = event.get("index").or_else(|| event.get("output_index"));
        at.map(|at| format!(" {at}")).unwrap_or_default()
    };
    events.iter().map(|event| format!("{}{}", event["type"].as_str().unwrap(), place(event))).collect()
}

/// Two calls whose inputs come in turns, behind everything else that a block can be.
fn everything() -> Vec<Frame> {
    vec![
        Frame::Role,
        Frame::Reasoning("h".into()),
        Frame::Reasoning("m".into()),
        Frame::Signature("cHJvb2Y=".into()),
        Frame::Redacted("c2VjcmV0".into()),
        Frame::Text("Let ".into()),
        Frame::Text("me see.".into()),
        Frame::call(0, "c1", "search"),
        Frame::input(0, r#"{"for":"#),
        Frame::call(1, "c2", "clock"),
        Frame::input(1, "{"),
        Frame::input(0, r#""x"}"#),
        Frame::input(1, "}"),
        Frame::Finish("tool_calls", USAGE),
    ]
}

#[test]
fn messages_tell_blocks_from_their_beginning_to_their_end() {
    let events = events(Wire::Messages, everything());
    assert_eq!(
        outline(&events),
        [
            "message_start",
            "content_block_start 0",
            "ping",
            "content_block_delta 0",
            "content_block_delta 0",
            "content_block_delta 0",
            "content_block_stop 0",
            "content_block_start 1",
            "content_block_stop 1",
            "content_block_start 2",
            "content_block_delta 2",
            "content_block_delta 2",
            "content_block_stop 2",
            "content_block_start 3",
            "content_block_delta 3",
            "content_block_delta 3",
            "content_block_start 4",
            "content_block_delta 4",
            "content_block_delta 4",
            "content_block_delta 3",
            "content_block_stop 3",
            "content_block_delta 4",
            "content_block_stop 4",
            "message_delta",
            "message_stop",
        ]
    );
    let usage = json!({
        "input_tokens": 6, "cache_creation_input_tokens": 4, "cache_read_input_tokens": 20, "output_tokens": 1,
    });
    assert_eq!(events[0]["message"]["usage"], usage);
    assert_eq!(events[5]["delta"], json!({"type": "signature_delta", "signature": "cHJvb2Y="}));
    assert_eq!(events[7]["content_block"], json!({"type": "redacted_thinking", "data": "c2VjcmV0"}));
    assert_eq!(events[14]["delta"], json!({"type": "input_json_delta", "partial_json": ""}));
    assert_eq!(events[15]["delta"], json!({"type": "input_json_delta", "partial_json": r#"{"for":"#}));
    assert_eq!(events[23]["delta"]["stop_reason"], "tool_use");
    assert_eq!(events[23]["usage"]["output_tokens"], 9);
}

#[test]
fn responses_are_numbered_and_end_with_the_whole() {
    let events = events(Wire::Responses, everything());
    assert_eq!(
        outline(&events),
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added 0",
            "response.reasoning_summary_part.added 0",
            "response.reasoning_summary_text.delta 0",
            "response.reasoning_summary_text.delta 0",
            "response.reasoning_summary_text.done 0",
            "response.reasoning_summary_part.done 0",
            "response.output_item.done 0",
            "response.output_item.added 1",
            "response.output_item.done 1",
            "response.output_item.added 2",
            "response.content_part.added 2",
            "response.output_text.delta 2",
            "response.output_text.delta 2",
            "response.output_text.done 2",
            "response.content_part.done 2",
            "response.output_item.done 2",
            "response.output_item.added 3",
            "response.function_call_arguments.delta 3",
            "response.output_item.added 4",
            "response.function_call_arguments.delta 4",
            "response.function_call_arguments.delta 3",
            "response.function_call_arguments.done 3",
            "response.output_item.done 3",
            "response.function_call_arguments.delta 4",
            "response.function_call_arguments.done 4",
            "response.output_item.done 4",
            "response.completed",
        ]
    );
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number);
    }
    let whole = &events[28]["response"];
    let told: Vec<&Value> = [8, 10, 17, 24, 27].map(|at| &events[at]["item"]).into();
    assert_eq!(whole["output"].as_array().unwrap().iter().collect::<Vec<_>>(), told);
    assert_eq!(told[0]["encrypted_content"], "cHJvb2Y=");
    assert_eq!(told[1]["summary"], json!([]));
    assert_eq!(told[3]["arguments"], r#"{"for":"x"}"#);
    assert_eq!(whole["usage"]["input_tokens"], 30);
    assert_eq!(whole["usage"]["input_tokens_details"]["cached_tokens"], 20);
}

#[test]
fn an_answer_that_was_cut_or_withheld_is_an_incomplete_response() {
    for (reason, expected) in [("length", "max_output_tokens"), ("content_filter", "content_filter")] {
        let events = events(Wire::Responses, [Frame::Text("half".into()), Frame::Finish(reason, USAGE)]);
        let last = events.last().unwrap();
        assert_eq!(last["type"], "response.incomplete");
        assert_eq!(last["response"]["incomplete_details"]["reason"], expected);
        assert_eq!(last["response"]["output"][0]["status"], "incomplete");
    }
}

#[test]
fn an_error_in_a_stream_has_the_shape_of_its_wire_whether_or_not_the_answer_began() {
    let begun = || [Frame::Text("half".into()), Frame::error(529, "busy")];
    let last = |wire, frames: Vec<Frame>| events(wire, frames).pop().unwrap();
    let overloaded = json!({"type": "overloaded_error", "message": "busy"});
    assert_eq!(last(Wire::Messages, begun().into())["error"], overloaded);
    assert_eq!(last(Wire::Messages, vec![Frame::error(529, "busy")])["error"], overloaded);
    let failed = last(Wire::Responses, begun().into());
    assert_eq!(failed["type"], "response.failed");
    assert_eq!(failed["response"]["error"], json!({"code": "server_error", "message": "busy"}));
    let refused = last(Wire::Responses, vec![Frame::error(429, "busy")]);
    assert_eq!((&refused["type"], &refused["code"]), (&json!("error"), &json!("rate_limit_exceeded")));
    let chat = String::from_utf8(rendered(Wire::Chat, Form::Stream, begun())).unwrap();
    let (_, error) = chat.trim_end().rsplit_once("data: ").unwrap();
    assert_eq!(serde_json::from_str::<Value>(error).unwrap()["error"]["type"], "server_error");
}

#[test]
fn a_call_without_input_is_over_when_it_begins() {
    let frames = [Frame::call(0, "c1", "now"), Frame::Text("So.".into())];
    assert_eq!(
        outline(&events(Wire::Messages, frames))[1..5],
        ["content_block_start 0", "ping", "content_block_delta 0", "content_block_stop 0",]
    );
}

#[test]
fn a_document_of_each_wire_holds_the_same_answer() {
    let whole = |wire| serde_json::from_slice::<Value>(&rendered(wire, Form::Whole, everything())).unwrap();
    let chat = whole(Wire::Chat);
    let message = &chat["choices"][0]["message"];
    assert_eq!((&message["content"], &message["reasoning_content"]), (&json!("Let me see."), &json!("hm")));
    assert_eq!(
        message["tool_calls"][0]["function"],
        json!({"name": "search", "arguments": r#"{"for":"x"}"#})
    );
    assert_eq!(message["tool_calls"][1]["id"], "c2");

    let anthropic = whole(Wire::Messages);
    assert_eq!(
        anthropic["content"],
        json!([
            {"type": "thinking", "thinking": "hm", "signature": "cHJvb2Y="},
            {"type": "redacted_thinking", "data": "c2VjcmV0"},
            {"type": "text", "text": "Let me see."},
            {"type": "tool_use", "id": "c1", "name": "search", "input": {"for": "x"}},
            {"type": "tool_use", "id": "c2", "name": "clock", "input": {}},
        ])
    );
    assert_eq!(anthropic["usage"]["output_tokens"], 9);

    let converse = whole(Wire::Converse);
    assert_eq!(
        converse["output"]["message"]["content"],
        json!([
            {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "cHJvb2Y="}}},
            {"reasoningContent": {"redactedContent": "c2VjcmV0"}},
            {"text": "Let me see."},
            {"toolUse": {"toolUseId": "c1", "name": "search", "input": {"for": "x"}}},
            {"toolUse": {"toolUseId": "c2", "name": "clock", "input": {}}},
        ])
    );
    assert_eq!(converse["usage"]["totalTokens"], 39);
    assert_eq!(converse["stopReason"], "tool_use");

    let responses = whole(Wire::Responses);
    assert_eq!(responses["status"], "completed");
    assert_eq!(responses["output"][2]["content"][0]["text"], "Let me see.");
}

#[test]
fn input_that_is_no_json_stays_visible_where_a_wire_takes_a_document() {
    let cut = [Frame::call(0, "c1", "search"), Frame::input(0, "{\"for"), Frame::Finish("length", USAGE)];
    let whole: Value = serde_json::from_slice(&rendered(Wire::Messages, Form::Whole, cut)).unwrap();
    assert_eq!(whole["content"][0]["input"], "{\"for");
}

#[test]
fn a_word_of_no_wire_is_sent_as_it_is() {
    let frames = [Frame::Text("a".into()), Frame::Finish("pause_turn", USAGE)];
    let events = events(Wire::Messages, frames);
    assert_eq!(events[events.len() - 2]["delta"]["stop_reason"], "pause_turn");
}

#[test]
#[should_panic(expected = "the script gives input to call 0 before it begins")]
fn a_script_that_gives_input_to_no_call_is_told_so() {
    rendered(Wire::Messages, Form::Stream, [Frame::input(0, "{}")]);
}

#[test]
fn a_path_tells_the_wire_and_the_body_the_form() {
    let streamed = br#"{"stream":true}"#;
    assert_eq!(Wire::of("/v1/chat/completions", streamed), Some((Wire::Chat, Form::Stream)));
    assert_eq!(Wire::of("/openai/v1/responses", b"{}"), Some((Wire::Responses, Form::Whole)));
    assert_eq!(Wire::of("/v1/messages", b"not JSON"), Some((Wire::Messages, Form::Whole)));
    assert_eq!(Wire::of("/model/a%3A0/converse-stream", b"{}"), Some((Wire::Converse, Form::Stream)));
    assert_eq!(Wire::of("/model/a%3A0/converse", streamed), Some((Wire::Converse, Form::Whole)));
    assert_eq!(Wire::of("/v1/completions", streamed), None);
    assert_eq!(Wire::of("/", streamed), None);
}
