use colloquy::ports::ModelChunk;
use colloquy_core::{
    block::ToolCall,
    message::{FinishReason, Usage},
    turn::Failure,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::ResponsesReader;
use crate::{
    sse::SseDecoder,
    wire::{Event, ReadEvents, Reading},
};

/// What llama-server sent, as it came.
const LLAMA_TEXT: &str = include_str!("../../../tests/fixtures/responses_text.sse.txt");
const LLAMA_CALL: &str = include_str!("../../../tests/fixtures/responses_call.sse.txt");

#[derive(Debug, PartialEq)]
struct Answer {
    chunks: Vec<ModelChunk>,
    failure: Option<Failure>,
    is_over: bool,
}

impl Answer {
    /// The chunks of an answer that ended by itself.
    fn whole(self) -> Vec<ModelChunk> {
        assert_eq!((self.failure, self.is_over), (None, true));
        self.chunks
    }
}

fn answer(mut reading: Reading, failure: Option<Failure>) -> Answer {
    let chunks = std::iter::from_fn(|| reading.pop()).collect();
    Answer { chunks, failure, is_over: reading.is_over() }
}

fn read(events: &[Value]) -> Answer {
    let (mut reader, mut reading) = (ResponsesReader::new(Some("sk-secret".into())), Reading::new(None));
    for event in events {
        let data = event.to_string();
        if let Err(failure) = reader.read(Event { name: event["type"].as_str(), data: &data }, &mut reading) {
            return answer(reading, Some(failure));
        }
    }
    answer(reading, None)
}

/// Reads the bytes of a stream in pieces of these sizes, then the rest.
fn read_bytes(mut bytes: &[u8], cuts: &[usize], limit: Option<u32>) -> Answer {
    let (mut sse, mut reader, mut reading) =
        (SseDecoder::default(), ResponsesReader::new(None), Reading::new(limit));
    for cut in cuts.iter().copied().chain([usize::MAX]) {
        let (piece, rest) = bytes.split_at(cut.min(bytes.len()));
        if let Err(failure) = sse.push(piece, |event| reader.read(event, &mut reading)) {
            return answer(reading, Some(failure));
        }
        bytes = rest;
    }
    answer(reading, None)
}

fn text(text: &str) -> ModelChunk {
    ModelChunk::Text(text.into())
}

fn call(id: &str, name: &str, input: &str) -> ModelChunk {
    ModelChunk::ToolCall(ToolCall { id: id.into(), name: name.into(), input: input.into() })
}

fn end(finish_reason: FinishReason) -> ModelChunk {
    ModelChunk::End { finish_reason, usage: Usage::default() }
}

fn completed(output: Value) -> Value {
    json!({"type": "response.completed", "response": {"status": "completed", "output": output}})
}

fn incomplete(reason: &str) -> Value {
    let details = json!({ "reason": reason });
    json!({"type": "response.incomplete",
           "response": {"status": "incomplete", "output": [], "incomplete_details": details}})
}

fn text_delta(delta: &str) -> Value {
    json!({"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "delta": delta})
}

fn begun(output_index: u32, id: &str) -> Value {
    json!({"type": "response.output_item.added", "output_index": output_index,
           "item": {"type": "function_call", "id": format!("fc_{id}"), "call_id": format!("call_{id}"),
                    "name": "search", "arguments": "", "status": "in_progress"}})
}

fn arguments(id: &str, delta: &str) -> Value {
    json!({"type": "response.function_call_arguments.delta", "item_id": format!("fc_{id}"), "delta": delta})
}

fn done(id: &str, arguments: &str) -> Value {
    json!({"type": "response.output_item.done",
           "item": {"type": "function_call", "id": format!("fc_{id}"), "call_id": format!("call_{id}"),
                    "name": "search", "arguments": arguments, "status": "completed"}})
}

#[test]
fn text_comes_as_its_deltas_and_is_not_told_again_by_the_whole_item() {
    let item = json!({"type": "message", "id": "msg_1", "role": "assistant",
                      "content": [{"type": "output_text", "text": "Hello", "annotations": []}]});
    let events = [
        json!({"type": "response.created", "response": {"status": "in_progress"}}),
        text_delta("Hel"),
        text_delta(""),
        text_delta("lo"),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.invented_tomorrow", "delta": {"any": "shape"}}),
        completed(json!([item])),
    ];
    assert_eq!(read(&events).whole(), [text("Hel"), text("lo"), end(FinishReason::Stop)]);
}

#[test]
fn an_answer_that_comes_without_deltas_is_read_from_its_items() {
    let message =
        json!({"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "Hi"}]});
    let call_item = done("1", "{\"q\":1}")["item"].clone();
    let expected = [text("Hi"), call("call_1", "search", "{\"q\":1}"), end(FinishReason::ToolCalls)];
    assert_eq!(read(&[completed(json!([message, call_item]))]).whole(), expected);
    let items = [
        json!({"type": "response.output_item.done", "item": message}),
        json!({"type": "response.output_item.done", "item": call_item}),
        completed(json!([message, call_item])),
    ];
    assert_eq!(read(&items).whole(), expected);
}

#[test]
fn interleaved_calls_are_joined_by_their_item() {
    let events = [
        begun(0, "1"),
        begun(1, "2"),
        arguments("2", "{\"q\""),
        arguments("1", "{"),
        arguments("1", "}"),
        arguments("2", ":2}"),
        done("2", "{\"q\":2}"),
        done("1", "{}"),
        completed(json!([{"type": "function_call"}])),
    ];
    assert_eq!(
        read(&events).whole(),
        [call("call_1", "search", "{}"), call("call_2", "search", "{\"q\":2}"), end(FinishReason::ToolCalls)]
    );
}

#[test]
fn malformed_arguments_are_kept_as_they_were_written() {
    let events =
        [begun(0, "1"), arguments("1", "{\"q\": tru"), completed(json!([{"type": "function_call"}]))];
    assert_eq!(
        read(&events).whole(),
        [call("call_1", "search", "{\"q\": tru"), end(FinishReason::ToolCalls)]
    );
}

#[test]
fn a_reasoning_item_is_kept_byte_for_byte_and_its_summary_is_shown() {
    let item = r#"{ "summary":[{"type":"summary_text","text":"Think"}], "type":"reasoning","id":"rs_1","encrypted_content":"gAAA\u002b=", "status":null }"#;
    let done = format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#);
    let summary = |index: u32, delta: &str| {
        json!({"type": "response.reasoning_summary_text.delta", "summary_index": index, "delta": delta})
            .to_string()
    };
    let part = |index: u32| {
        json!({"type": "response.reasoning_summary_part.added", "summary_index": index}).to_string()
    };
    let completed = completed(json!([{"type": "reasoning"}])).to_string();
    let events = [
        part(0),
        summary(0, "Thi"),
        summary(0, "nk"),
        part(1),
        summary(1, "more"),
        done,
        text_delta("x").to_string(),
        completed,
    ];
    let stream: String = events.iter().map(|data| format!("data: {data}\n\n")).collect();
    let reasoning = |text: &str| ModelChunk::Reasoning(text.into());
    assert_eq!(
        read_bytes(stream.as_bytes(), &[], None).whole(),
        [
            reasoning("Thi"),
            reasoning("nk"),
            reasoning("\n\n"),
            reasoning("more"),
            ModelChunk::RedactedReasoning(item.into()),
            text("x"),
            end(FinishReason::Stop),
        ]
    );
}

#[test]
fn open_models_stream_their_reasoning_as_text() {
    let delta = json!({"type": "response.reasoning_text.delta", "item_id": "rs_1", "delta": "hm"});
    let chunks = read(&[delta, text_delta("x"), completed(json!([{}]))]).whole();
    assert_eq!(chunks, [ModelChunk::Reasoning("hm".into()), text("x"), end(FinishReason::Stop)]);
}

#[test]
fn the_input_of_the_usage_already_holds_what_was_cached() {
    let mut last = completed(json!([]));
    last["response"]["usage"] = json!({"input_tokens": 120, "output_tokens": 30, "total_tokens": 150,
        "input_tokens_details": {"cached_tokens": 100}, "output_tokens_details": {"reasoning_tokens": 7}});
    let usage = Usage {
        prompt_tokens: Some(120),
        reused_tokens: Some(100),
        output_tokens: Some(30),
        ..Usage::default()
    };
    let expected = ModelChunk::End { finish_reason: FinishReason::Stop, usage };
    assert_eq!(read(&[text_delta("x"), last]).whole(), [text("x"), expected]);
}

// behaviours: 197
#[test]
fn an_incomplete_answer_was_cut_and_a_failed_or_empty_one_is_refused() {
    assert_eq!(
        read(&[text_delta("Once"), incomplete("max_output_tokens")]).whole(),
        [text("Once"), end(FinishReason::Length)]
    );
    assert_eq!(read(&[incomplete("max_output_tokens")]).whole(), [end(FinishReason::Length)]);

    let failed = json!({"type": "response.failed", "response": {"status": "failed", "output": [],
        "error": {"code": "invalid_prompt", "message": "cannot take it"}}});
    let detail = "the model's server answered 400: cannot take it".to_owned();
    assert_eq!(read(&[failed]).failure, Some(Failure::Refused { detail }));

    let without_output = json!({"type": "response.completed", "response": {"status": "completed"}});
    for last in [without_output, completed(json!([])), json!({"type": "response.completed"})] {
        let refused = read(&[last]);
        let Some(Failure::Refused { detail }) = refused.failure else { panic!("{refused:?}") };
        assert!(detail.contains("without any output"), "{detail}");
    }
}

#[test]
fn a_refusal_is_told_in_the_providers_words_and_ends_the_answer() {
    let delta = |delta: &str| json!({"type": "response.refusal.delta", "item_id": "msg_1", "delta": delta});
    let refused = read(&[text_delta("I "), delta("I cannot "), delta("help."), completed(json!([{}]))]);
    assert_eq!(refused.chunks, [text("I ")]);
    assert_eq!(refused.failure, Some(Failure::ContentRefused { detail: "I cannot help.".into() }));

    let part = json!({"type": "refusal", "refusal": "No."});
    let item = json!({"type": "message", "id": "msg_1", "content": [part]});
    let whole = read(&[completed(json!([item]))]);
    assert_eq!(whole.failure, Some(Failure::ContentRefused { detail: "No.".into() }));

    let filtered = read(&[text_delta("So"), incomplete("content_filter")]);
    let Some(Failure::ContentRefused { detail }) = filtered.failure else { panic!("{:?}", filtered.failure) };
    assert!(detail.contains("content_filter"), "{detail}");
}

#[test]
fn errors_in_the_stream_are_classified_by_their_code() {
    fn check(event: Value, expected: &str) {
        let failure = read(&[event]).failure.expect("it is an error");
        let kind = match failure {
            Failure::Overflow { .. } => "overflow",
            Failure::Transient { .. } => "transient",
            Failure::Busy { .. } => "busy",
            Failure::Refused { .. } => "refused",
            Failure::Engine { .. }
            | Failure::ContentRefused { .. }
            | Failure::Silent { .. }
            | Failure::OffContract { .. }
            | Failure::ToolLimit { .. }
            | Failure::Internal => "another",
        };
        assert_eq!(kind, expected);
    }
    let error = |code: &str| json!({"type": "error", "code": code, "message": "words", "param": null});
    let failed = |code: &str| json!({"type": "response.failed", "response": {"error": {"code": code, "message": "words"}}});
    check(error("server_error"), "transient");
    check(error("rate_limit_exceeded"), "busy");
    check(error("invalid_image"), "refused");
    check(error("context_length_exceeded"), "overflow");
    check(failed("server_error"), "transient");
    check(failed("context_length_exceeded"), "overflow");
    check(
        json!({"type": "error", "error": {"code": "context_length_exceeded", "message": "words"}}),
        "overflow",
    );
    check(json!({"type": "error", "error": {"code": 503, "message": "loading"}}), "transient");
    check(json!({"type": "error", "error": {"code": 400, "message": "no"}}), "refused");
    check(json!({"type": "error"}), "transient");
}

#[test]
fn the_key_is_taken_out_of_what_the_server_echoes() {
    let error = json!({"type": "error", "code": "invalid_request", "message": "bad key sk-secret"});
    let Some(Failure::Refused { detail }) = read(&[error]).failure else { panic!("not refused") };
    assert!(!detail.contains("sk-secret") && detail.contains("bad key"), "{detail}");
}

#[test]
fn what_is_no_event_is_refused_and_the_mark_of_other_apis_is_passed_over() {
    let broken = read_bytes(b"data: {\"type\":\n\n", &[], None);
    assert!(matches!(broken.failure, Some(Failure::Refused { .. })), "{broken:?}");
    let marked = read_bytes(b"data: [DONE]\n\n", &[], None);
    assert_eq!(marked, Answer { chunks: vec![], failure: None, is_over: false });
}

#[test]
fn a_real_answer_is_read() {
    let chunks = read_bytes(LLAMA_TEXT.as_bytes(), &[], None).whole();
    let told: String = chunks
        .iter()
        .filter_map(|chunk| if let ModelChunk::Text(text) = chunk { Some(text.as_str()) } else { None })
        .collect();
    assert_eq!(told, "The capital of France is Paris.");
    let usage =
        Usage { prompt_tokens: Some(24), reused_tokens: Some(0), output_tokens: Some(8), ..Usage::default() };
    assert_eq!(chunks.last(), Some(&ModelChunk::End { finish_reason: FinishReason::Stop, usage }));
}

#[test]
fn a_limit_that_was_reached_counts_though_the_server_calls_the_answer_complete() {
    let chunks = read_bytes(LLAMA_TEXT.as_bytes(), &[], Some(8)).whole();
    assert!(matches!(chunks.last(), Some(ModelChunk::End { finish_reason: FinishReason::Length, .. })));
}

#[test]
fn a_real_call_is_read() {
    let chunks = read_bytes(LLAMA_CALL.as_bytes(), &[], None).whole();
    let [ModelChunk::ToolCall(call), ModelChunk::End { finish_reason, .. }] = &chunks[..] else {
        panic!("{chunks:?}");
    };
    assert_eq!(call.id, "call_EBsSLPBxZulBBLcNCW975LGJKy3YZsPO");
    assert_eq!((call.name.as_str(), *finish_reason), ("get_weather", FinishReason::ToolCalls));
    assert_eq!(serde_json::from_str::<Value>(&call.input).unwrap(), json!({"city": "Paris"}));
}

proptest! {
    #[test]
    fn any_cut_of_a_real_stream_gives_the_same_answer(cuts in prop::collection::vec(0_usize..500, 0..40)) {
        for stream in [LLAMA_TEXT, LLAMA_CALL] {
            let whole = read_bytes(stream.as_bytes(), &[], None);
            prop_assert_eq!(read_bytes(stream.as_bytes(), &cuts, None), whole);
        }
    }
}
