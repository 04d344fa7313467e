use colloquy::ports::ModelChunk;
use colloquy_core::{
    message::{FinishReason, Usage},
    retry::Passing,
    turn::Failure,
};
use proptest::prelude::*;

use super::ConverseReader;
use crate::{
    event_stream::{
        EventStreamDecoder,
        encode::{event, exception, frame, text_headers},
    },
    wire::{ReadEvents, Reading},
};

#[derive(Debug, PartialEq)]
struct Answer {
    chunks: Vec<ModelChunk>,
    failure: Option<Failure>,
    is_over: bool,
    has_finished: bool,
}

/// Reads frames in pieces of these sizes, then the rest.
fn read_cut(frames: &[Vec<u8>], cuts: &[usize]) -> Answer {
    let bytes = frames.concat();
    let mut rest = bytes.as_slice();
    let (mut decoder, mut reader, mut reading) = (
        EventStreamDecoder::default(),
        ConverseReader::new(Some("session-token".into())),
        Reading::new(Some(100)),
    );
    let mut failure = None;
    for cut in cuts.iter().copied().chain([usize::MAX]) {
        let (piece, after) = rest.split_at(cut.min(rest.len()));
        rest = after;
        failure = decoder.push(piece, |event| reader.read(event, &mut reading)).err();
        if failure.is_some() {
            break;
        }
    }
    let chunks = std::iter::from_fn(|| reading.pop()).collect();
    Answer { chunks, failure, is_over: reading.is_over(), has_finished: reading.has_finished() }
}

fn read(frames: &[Vec<u8>]) -> Answer {
    read_cut(frames, &[])
}

/// The chunks of an answer that ended by itself.
fn whole(frames: &[Vec<u8>]) -> Vec<ModelChunk> {
    let answer = read(frames);
    assert_eq!((answer.failure, answer.is_over), (None, true));
    answer.chunks
}

fn text(text: &str) -> ModelChunk {
    ModelChunk::Text(text.into())
}

fn text_delta(text: &str) -> Vec<u8> {
    // The service pads each event to hide how long its tokens are.
    event(
        "contentBlockDelta",
        &format!(r#"{{"contentBlockIndex":0,"delta":{{"text":"{text}"}},"p":"abcdefgh"}}"#),
    )
}

fn reasoning_delta(member: &str, value: &str) -> Vec<u8> {
    let delta = format!(r#"{{"reasoningContent":{{"{member}":"{value}"}}}}"#);
    event("contentBlockDelta", &format!(r#"{{"contentBlockIndex":0,"delta":{delta}}}"#))
}

fn stop(reason: &str) -> Vec<u8> {
    event("messageStop", &format!(r#"{{"stopReason":"{reason}"}}"#))
}

fn metadata(usage: &str) -> Vec<u8> {
    event("metadata", &format!(r#"{{"usage":{usage},"metrics":{{"latencyMs":9}}}}"#))
}

/// An answer in the order of the service.
fn hello() -> Vec<Vec<u8>> {
    vec![
        event("messageStart", r#"{"role":"assistant"}"#),
        reasoning_delta("text", "hm"),
        reasoning_delta("signature", "c2ln"),
        event("contentBlockStop", r#"{"contentBlockIndex":0}"#),
        text_delta("Hel"),
        text_delta("lo ☃"),
        event("contentBlockStop", r#"{"contentBlockIndex":1}"#),
        stop("end_turn"),
        metadata(
            r#"{"inputTokens":20,"outputTokens":7,"totalTokens":127,"cacheReadInputTokens":60,"cacheWriteInputTokens":40}"#,
        ),
    ]
}

#[test]
fn an_answer_is_read_and_the_parts_of_its_input_add_up() {
    let usage = Usage {
        prompt_tokens: Some(120),
        reused_tokens: Some(60),
        cache_write_tokens: Some(40),
        output_tokens: Some(7),
        ..Usage::default()
    };
    assert_eq!(
        whole(&hello()),
        [
            ModelChunk::Reasoning("hm".into()),
            ModelChunk::ReasoningSignature("c2ln".into()),
            text("Hel"),
            text("lo ☃"),
            ModelChunk::End { finish_reason: FinishReason::Stop, usage },
        ]
    );
}

#[test]
fn redacted_reasoning_is_kept_as_it_came() {
    let chunks = read(&[reasoning_delta("redactedContent", "AAE+/w==")]).chunks;
    assert_eq!(chunks, [ModelChunk::RedactedReasoning("AAE+/w==".into())]);
}

#[test]
fn stop_reasons_are_normalised() {
    fn check(reason: &str, expected: FinishReason) {
        let chunks =
            whole(&[text_delta("x"), stop(reason), metadata(r#"{"inputTokens":1,"outputTokens":1}"#)]);
        let Some(ModelChunk::End { finish_reason, .. }) = chunks.last() else { panic!("{chunks:?}") };
        assert_eq!(*finish_reason, expected, "{reason}");
    }
    check("end_turn", FinishReason::Stop);
    check("stop_sequence", FinishReason::Stop);
    check("invented_tomorrow", FinishReason::Stop);
    check("max_tokens", FinishReason::Length);
    check("model_context_window_exceeded", FinishReason::Length);
    check("tool_use", FinishReason::ToolCalls);
}

#[test]
fn a_limit_that_was_reached_counts_whatever_the_reason_says() {
    let chunks =
        whole(&[text_delta("x"), stop("end_turn"), metadata(r#"{"inputTokens":1,"outputTokens":100}"#)]);
    assert!(matches!(chunks.last(), Some(ModelChunk::End { finish_reason: FinishReason::Length, .. })));
}

#[test]
fn usage_may_come_before_the_reason_or_not_at_all() {
    let usage = metadata(r#"{"inputTokens":1,"outputTokens":2}"#);
    assert!(whole(&[text_delta("x"), usage, stop("end_turn")]).len() == 2);
    // The end of the body ends this one: its reason is known.
    let without = read(&[text_delta("x"), stop("end_turn")]);
    assert!(without.has_finished && !without.is_over && without.failure.is_none());
}

#[test]
fn a_guardrail_withholds_the_answer() {
    for reason in ["guardrail_intervened", "content_filtered"] {
        let answer = read(&[text_delta("So"), stop(reason), metadata("{}")]);
        assert_eq!(answer.chunks, [text("So")]);
        let Some(Failure::ContentRefused { detail }) = answer.failure else { panic!("{:?}", answer.failure) };
        assert!(detail.contains(reason), "{detail}");
    }
}

#[test]
fn exceptions_are_classified_like_the_statuses_they_stand_for() {
    fn check(frame: Vec<u8>, expected: Failure) {
        let answer = read(&[text_delta("So"), frame]);
        assert_eq!((answer.chunks, answer.failure), (vec![text("So")], Some(expected)));
    }
    let transient = |status: u16, words: &str| Failure::Transient {
        detail: format!("the model's server answered {status}: {words}"),
    };
    let words = r#"{"message":"slow down"}"#;
    let detail = "the model's server answered 429: slow down".into();
    check(exception("throttlingException", words), Failure::Busy { passing: Passing::RateLimit, detail });
    check(exception("serviceUnavailableException", words), transient(503, "slow down"));
    check(exception("internalServerException", words), transient(500, "slow down"));
    check(exception("modelTimeoutException", words), transient(408, "slow down"));
    let original = r#"{"message":"slow down","originalStatusCode":400,"originalMessage":"x"}"#;
    check(exception("modelStreamErrorException", original), transient(500, "slow down"));
    let refused = Failure::Refused { detail: "the model's server answered 400: slow down".into() };
    check(exception("validationException", words), refused.clone());
    check(exception("inventedTomorrowException", words), refused);
    let headers = text_headers(&[
        (":message-type", "error"),
        (":error-code", "InternalFailure"),
        (":error-message", "it broke"),
    ]);
    check(frame(&headers, b""), transient(500, "it broke"));
}

#[test]
fn a_prompt_that_is_too_long_is_an_overflow_in_either_wording() {
    let numbers = r#"{"message":"The model returned the following errors: prompt is too long: 204921 tokens > 200000 maximum"}"#;
    let overflow = Failure::Overflow { prompt_tokens: Some(204_921), window_tokens: Some(200_000) };
    assert_eq!(read(&[exception("validationException", numbers)]).failure, Some(overflow));
    let plain = r#"{"message":"Input is too long for requested model."}"#;
    let overflow = Failure::Overflow { prompt_tokens: None, window_tokens: None };
    assert_eq!(read(&[exception("validationException", plain)]).failure, Some(overflow));
}

#[test]
fn the_session_token_is_taken_out_of_what_the_service_echoes() {
    let echo = exception("validationException", r#"{"message":"bad session-token here"}"#);
    let Some(Failure::Refused { detail }) = read(&[echo]).failure else { panic!("not refused") };
    assert!(!detail.contains("session-token") && detail.contains("bad"), "{detail}");
}

#[test]
fn a_damaged_frame_is_a_clear_failure_after_what_came_before() {
    let mut damaged = text_delta("lost");
    let at = damaged.len() - 10;
    damaged[at] ^= 1;
    let answer = read(&[text_delta("kept"), damaged]);
    assert_eq!(answer.chunks, [text("kept")]);
    let Some(Failure::Transient { detail }) = answer.failure else { panic!("{:?}", answer.failure) };
    assert!(detail.contains("checksum"), "{detail}");
}

#[test]
fn an_event_that_is_not_in_its_shape_is_refused() {
    let answer = read(&[event("messageStop", "{}")]);
    assert!(matches!(answer.failure, Some(Failure::Refused { .. })), "{answer:?}");
}

proptest! {
    #[test]
    fn any_cut_of_the_frames_gives_the_same_answer(cuts in prop::collection::vec(0_usize..200, 0..30)) {
        prop_assert_eq!(read_cut(&hello(), &cuts), read(&hello()));
    }
}
