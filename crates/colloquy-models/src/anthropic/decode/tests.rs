use colloquy::ports::ModelChunk;
use colloquy_core::{
    block::ToolCall,
    message::{FinishReason, Usage},
    turn::Failure,
};
use proptest::prelude::*;

use super::MessagesReader;
use crate::{http::decode::AnswerDecoder, wire::Framing};

const KEY: &str = "sk-ant-secret";

/// An answer that thinks, speaks and calls two tools, as the API streams it.
const WHOLE: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[],"stop_reason":null,"usage":{"input_tokens":40,"cache_creation_input_tokens":20,"cache_read_input_tokens":60,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Zwei Städte:\n"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"\u201eParis\u201c"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"bmVk"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"d2l0aA=="}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Let me "}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"look."}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{}}}

event: content_block_start
data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_2","name":"list_cities","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"city\": \"M\\u00f"}}

event: content_block_delta
data: {"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"cnchen\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":4}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}

event: message_stop
data: {"type":"message_stop"}

"#;

#[derive(Debug, PartialEq)]
struct Answer {
    chunks: Vec<ModelChunk>,
    failure: Option<Failure>,
}

/// Reads a stream in pieces of these sizes, then the rest, to its end.
fn read_cut(stream: &str, cuts: &[usize]) -> Answer {
    let mut rest = stream.as_bytes();
    let reader = MessagesReader::new(Some(KEY.into()));
    let mut decoder = AnswerDecoder::new(Framing::Sse, reader, Some(1_000));
    let mut read = Ok(());
    for cut in cuts.iter().copied().chain([usize::MAX]) {
        let (piece, after) = rest.split_at(cut.min(rest.len()));
        rest = after;
        read = read.and_then(|()| decoder.push(piece));
    }
    let failure = read.and_then(|()| decoder.end(None)).err();
    Answer { chunks: std::iter::from_fn(|| decoder.pop()).collect(), failure }
}

/// Reads events with these data.
fn read(events: &[&str]) -> Answer {
    let stream: String = events.iter().map(|data| format!("data: {data}\n\n")).collect();
    read_cut(&stream, &[])
}

/// The chunks of an answer that ended by itself.
fn whole(events: &[&str]) -> Vec<ModelChunk> {
    let Answer { chunks, failure } = read(events);
    assert_eq!(failure, None);
    chunks
}

fn failure(events: &[&str]) -> Failure {
    read(events).failure.expect("the answer must fail")
}

fn text(text: &str) -> ModelChunk {
    ModelChunk::Text(text.into())
}

fn call(id: &str, name: &str, input: &str) -> ModelChunk {
    ModelChunk::ToolCall(ToolCall { id: id.into(), name: name.into(), input: input.into() })
}

/// How the message ended, with `output` tokens.
fn stop(reason: &str, output: u32) -> String {
    format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},"usage":{{"output_tokens":{output}}}}}"#
    )
}

fn end(chunks: &[ModelChunk]) -> (FinishReason, Usage) {
    match chunks.last() {
        Some(ModelChunk::End { finish_reason, usage }) => (*finish_reason, *usage),
        other => panic!("no end but {other:?}"),
    }
}

const STOP: &str = r#"{"type":"message_stop"}"#;
const HELLO: &str =
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}"#;

// behaviours: 207
#[test]
fn a_whole_answer_is_read_with_everything_that_its_provider_signed_and_counted() {
    let usage = Usage {
        prompt_tokens: Some(120),
        reused_tokens: Some(60),
        cache_write_tokens: Some(20),
        output_tokens: Some(89),
        ..Usage::default()
    };
    let expected = vec![
        ModelChunk::Reasoning("Zwei Städte:\n".into()),
        ModelChunk::Reasoning("„Paris“".into()),
        ModelChunk::ReasoningSignature("c2lnbmVk".into()),
        ModelChunk::RedactedReasoning("d2l0aA==".into()),
        text("Let me "),
        text("look."),
        call("toolu_1", "get_weather", r#"{"city": "M\u00fcnchen"}"#),
        call("toolu_2", "list_cities", "{}"),
        ModelChunk::End { finish_reason: FinishReason::ToolCalls, usage },
    ];
    assert_eq!(read_cut(WHOLE, &[]), Answer { chunks: expected, failure: None });
}

proptest! {
    #[test]
    fn an_answer_reads_alike_however_its_bytes_are_cut(cuts in prop::collection::vec(0_usize..90, 0..60)) {
        prop_assert_eq!(read_cut(WHOLE, &cuts), read_cut(WHOLE, &[]));
    }

    #[test]
    fn nonsense_is_never_taken_for_an_answer(stream in "(data: (\\{\"type\":\"[a-z_]{1,20}\"[^\n]{0,20}|[^\n]{0,30})\n\n){0,4}") {
        let answer = read_cut(&stream, &[]);
        prop_assert!(answer.failure.is_some(), "{:?}", answer);
    }
}

// behaviours: 203, 205
#[test]
fn the_hit_rate_is_reads_over_reads_and_writes() {
    let (_, usage) = end(&read_cut(WHOLE, &[]).chunks);
    assert_eq!((usage.cache_read(), usage.cache_creation(), usage.hit_rate()), (60, 20, 0.75));
    let (_, usage) = end(&whole(&[HELLO, &stop("end_turn", 2), STOP]));
    assert_eq!((usage.prompt_tokens, usage.hit_rate()), (None, 0.0));
}

#[test]
fn counts_may_come_with_the_end_and_zero_takes_none_back() {
    let start = r#"{"type":"message_start","message":{"usage":{"input_tokens":0,"output_tokens":0}}}"#;
    let usage = r#"{"input_tokens":7,"cache_read_input_tokens":3,"output_tokens":2}"#;
    let late = format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"end_turn"}},"usage":{usage}}}"#);
    let (_, read) = end(&whole(&[start, HELLO, &late, STOP]));
    assert_eq!((read.prompt_tokens, read.reused_tokens, read.output_tokens), (Some(10), Some(3), Some(2)));
    let start = format!(r#"{{"type":"message_start","message":{{"usage":{usage}}}}}"#);
    let zero = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":0}}"#;
    let (_, read) = end(&whole(&[&start, HELLO, zero, STOP]));
    assert_eq!((read.prompt_tokens, read.reused_tokens, read.output_tokens), (Some(10), Some(3), Some(2)));
}

#[test]
fn the_reason_of_the_end_is_one_of_ours() {
    for (word, expected) in [
        ("end_turn", FinishReason::Stop),
        ("stop_sequence", FinishReason::Stop),
        ("pause_turn", FinishReason::Stop),
        ("max_tokens", FinishReason::Length),
        ("model_context_window_exceeded", FinishReason::Length),
        ("tool_use", FinishReason::ToolCalls),
    ] {
        assert_eq!(end(&whole(&[HELLO, &stop(word, 2), STOP])).0, expected, "{word}");
    }
    // A limit that was reached is one, whatever the server calls it.
    assert_eq!(end(&whole(&[HELLO, &stop("end_turn", 1_000), STOP])).0, FinishReason::Length);
}

#[test]
fn a_call_that_the_limit_cut_is_given_with_what_there_is_of_it() {
    let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}}"#;
    let piece = r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"city\": \"Par"}}"#;
    let stopped = r#"{"type":"content_block_stop","index":0}"#;
    let chunks = whole(&[start, piece, stopped, &stop("max_tokens", 1_000), STOP]);
    assert_eq!(chunks[0], call("toolu_1", "f", r#"{"city": "Par"#));
    assert_eq!(end(&chunks).0, FinishReason::Length);
}

#[test]
fn a_call_whose_start_says_all_is_whole() {
    let start = r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"f","input":{"n": 1.50}}}"#;
    let chunks = whole(&[start, r#"{"type":"content_block_stop","index":1}"#, &stop("tool_use", 2), STOP]);
    assert_eq!(chunks[0], call("a", "f", r#"{"n": 1.50}"#));
    // The start of llama-server has no input at all.
    let start =
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"f"}}"#;
    let chunks = whole(&[start, r#"{"type":"content_block_stop","index":1}"#, &stop("tool_use", 2), STOP]);
    assert_eq!(chunks[0], call("a", "f", "{}"));
}

#[test]
fn reasoning_without_a_signature_stays_unsigned() {
    let start =
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"Hm."}}"#;
    let empty =
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":""}}"#;
    let chunks =
        whole(&[start, empty, r#"{"type":"content_block_stop","index":0}"#, &stop("end_turn", 2), STOP]);
    assert_eq!(chunks[..chunks.len() - 1], [ModelChunk::Reasoning("Hm.".into())]);
}

#[test]
fn what_the_api_adds_later_is_passed_over() {
    let unknown = [
        r#"{"type":"content_block_start","index":7,"content_block":{"type":"server_tool_use","id":"a","input":{"q":"x"}}}"#,
        r#"{"type":"content_block_delta","index":7,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
        r#"{"type":"content_block_delta","index":7,"delta":{"type":"citations_delta","citation":{"url":"x"}}}"#,
        r#"{"type":"content_block_stop","index":7}"#,
        r#"{"type":"something_new","delta":null}"#,
        r#"{"no":"type"}"#,
    ];
    let chunks = whole(&[&unknown[..], &[HELLO, &stop("end_turn", 2), STOP]].concat());
    assert_eq!((&chunks[0], chunks.len()), (&text("Hello"), 2));
}

#[test]
fn a_stream_that_ends_behind_its_reason_is_whole_and_one_before_it_is_not() {
    assert_eq!(end(&whole(&[HELLO, &stop("end_turn", 2)])).0, FinishReason::Stop);
    let Answer { chunks, failure } = read(&[HELLO]);
    assert_eq!(chunks, [text("Hello")]);
    assert!(matches!(failure, Some(Failure::Transient { .. })), "{failure:?}");
}

#[test]
fn a_refusal_says_which_and_why() {
    let refusal = |details: &str| {
        let delta = format!(r#"{{"stop_reason":"refusal","stop_details":{details}}}"#);
        failure(&[HELLO, &format!(r#"{{"type":"message_delta","delta":{delta}}}"#)])
    };
    let detail = |detail: &str| Failure::ContentRefused { detail: detail.into() };
    let told = r#"{"type":"refusal","category":"cyber","explanation":"This could harm."}"#;
    assert_eq!(refusal(told), detail("cyber: This could harm."));
    assert_eq!(refusal("null"), detail("refusal: the answer was withheld"));
    assert_eq!(refusal(r#"{"category":"bio","explanation":null}"#), detail("bio: the answer was withheld"));
}

#[test]
fn errors_of_a_stream_are_classified_as_the_status_they_stand_for() {
    let error = |kind: &str| {
        let error = format!(r#"{{"type":"{kind}","message":"No, {KEY}."}}"#);
        failure(&[HELLO, &format!(r#"{{"type":"error","error":{error}}}"#)])
    };
    for kind in ["rate_limit_error", "timeout_error", "api_error", "overloaded_error", "of_tomorrow"] {
        assert!(error(kind).passing().is_some(), "{kind}: {:?}", error(kind));
    }
    let lasting = [
        ("invalid_request_error", 400),
        ("authentication_error", 401),
        ("billing_error", 402),
        ("permission_error", 403),
        ("not_found_error", 404),
        ("request_too_large", 413),
    ];
    for (kind, status) in lasting {
        let detail = format!("the model's server answered {status}: No, [key].");
        assert_eq!(error(kind), Failure::Refused { detail }, "{kind}");
    }
}

#[test]
fn an_overflow_carries_both_numbers() {
    let message = "prompt is too long: 210000 tokens > 200000 maximum";
    let error =
        format!(r#"{{"type":"error","error":{{"type":"invalid_request_error","message":"{message}"}}}}"#);
    let expected = Failure::Overflow { prompt_tokens: Some(210_000), window_tokens: Some(200_000) };
    assert_eq!(failure(&[&error]), expected);
}

#[test]
fn an_error_that_only_the_events_name_tells_of_is_one() {
    let answer = read_cut("event: error\ndata: out of memory\n\n", &[]);
    let Some(Failure::Transient { detail }) = answer.failure else { panic!("{answer:?}") };
    assert!(detail.ends_with("out of memory"), "{detail}");
}

#[test]
fn what_is_no_event_of_this_wire_is_refused() {
    for data in ["[DONE]", "[1]", "{", r#"{"type":7}"#] {
        assert!(matches!(failure(&[data]), Failure::Refused { .. }), "{data}");
    }
}
