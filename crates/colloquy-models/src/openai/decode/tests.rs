use colloquy::ports::ModelChunk;
use colloquy_core::{
    block::ToolCall,
    message::{FinishReason, Usage},
    turn::Failure,
};
use proptest::prelude::*;

use super::ChatReader;
use crate::{
    http::decode::AnswerDecoder,
    openai::read_recorded,
    wire::{CALL_BYTES_MAX, CALLS_MAX, Framing},
};

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../../../tests/fixtures/", $name, ".sse.txt")).as_slice()
    };
}

fn decoder() -> AnswerDecoder<ChatReader> {
    AnswerDecoder::new(Framing::Sse, ChatReader::default(), None)
}

/// What the pieces decode to: the chunks, and the failure if there was one.
fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<ModelChunk>, Option<Failure>) {
    let mut decoder = decoder();
    let mut failure = None;
    for piece in pieces {
        failure = failure.or_else(|| decoder.push(piece).err());
    }
    failure = failure.or_else(|| decoder.end(None).err());
    (std::iter::from_fn(|| decoder.pop()).collect(), failure)
}

fn whole(stream: &[u8]) -> Vec<ModelChunk> {
    let (chunks, failure) = decode([stream]);
    assert_eq!(failure, None);
    chunks
}

fn data(events: &[&str]) -> Vec<u8> {
    events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>().into_bytes()
}

fn delta(members: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"finish_reason":null,"delta":{{{members}}}}}]}}"#)
}

fn call(id: &str, name: &str, input: &str) -> ModelChunk {
    ModelChunk::ToolCall(ToolCall { id: id.into(), name: name.into(), input: input.into() })
}

fn finish(reason: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"finish_reason":"{reason}","delta":{{}}}}]}}"#)
}

fn joined(chunks: &[ModelChunk]) -> (String, String) {
    let mut text = String::new();
    let mut reasoning = String::new();
    for chunk in chunks {
        match chunk {
            ModelChunk::Text(piece) => text.push_str(piece),
            ModelChunk::Reasoning(piece) => reasoning.push_str(piece),
            ModelChunk::Reading { .. }
            | ModelChunk::ReasoningSignature(_)
            | ModelChunk::RedactedReasoning(_)
            | ModelChunk::ToolCall(_)
            | ModelChunk::End { .. } => {}
        }
    }
    (text, reasoning)
}

fn end(finish_reason: FinishReason, prompt: u32, reused: u32, output: u32) -> ModelChunk {
    let usage = Usage {
        prompt_tokens: Some(prompt),
        reused_tokens: Some(reused),
        output_tokens: Some(output),
        ..Usage::default()
    };
    ModelChunk::End { finish_reason, usage }
}

#[test]
fn a_real_answer_is_read() {
    let chunks = whole(fixture!("chat_stream"));
    assert_eq!(joined(&chunks), ("The capital of France is Paris.".into(), String::new()));
    assert_eq!(chunks.last(), Some(&end(FinishReason::Stop, 27, 26, 8)));
}

#[test]
fn real_progress_with_a_prompt_comes_before_the_answer() {
    let chunks = whole(fixture!("chat_stream_cached"));
    let reading = [27, 44].map(|done| ModelChunk::Reading { done, total: 44 });
    assert_eq!(chunks[..2], reading);
    assert_eq!(joined(&chunks).0, "Spain.");
    assert_eq!(chunks.last(), Some(&end(FinishReason::Stop, 44, 27, 3)));
}

#[test]
fn a_real_answer_that_was_cut_by_its_limit_says_so() {
    let chunks = whole(fixture!("chat_stream_length"));
    assert_eq!(joined(&chunks).0, "The capital of France");
    assert_eq!(chunks.last(), Some(&end(FinishReason::Length, 27, 26, 4)));
}

#[test]
fn real_reasoning_is_told_from_the_answer() {
    let chunks = whole(fixture!("qwen3tmpl_think_stream"));
    let (text, reasoning) = joined(&chunks);
    assert!(reasoning.starts_with("The weather in Paris"), "{reasoning}");
    assert!(text.ends_with("Celsius."), "{text}");
    assert_eq!(chunks.last(), Some(&end(FinishReason::Stop, 19, 18, 39)));
}

#[test]
fn real_reasoning_that_used_up_the_limit_leaves_an_empty_answer() {
    assert_eq!(whole(fixture!("qwen3tmpl_think_cut_stream")), [end(FinishReason::Length, 19, 18, 6)]);
}

#[test]
fn a_real_tool_call_comes_whole_before_the_end() {
    let expected = call(
        "NLwTHtfBnYd14j8fLOF00mIlSStJuwGL",
        "get_weather",
        "{\n    \"city\": \"Paris\",\n    \"unit\": \"c\"\n  }",
    );
    let chunks = whole(fixture!("forced_tool_call_stream"));
    assert_eq!(chunks, [expected, end(FinishReason::ToolCalls, 222, 221, 50)]);
}

#[test]
fn a_real_call_that_was_cut_by_the_limit_is_given_as_far_as_it_came() {
    let chunks = whole(fixture!("forced_tool_call_cut_stream"));
    let cut = call("tl4Jqo1VJQ3qElIY8oWtGxHCdWLYdrDN", "get_weather", "{");
    assert_eq!(chunks, [cut, end(FinishReason::Length, 222, 221, 14)]);
}

fn pieces(pieces: &[&str]) -> Vec<u8> {
    let calls = pieces.iter().map(|piece| delta(&format!(r#""tool_calls":[{piece}]"#)));
    let events: Vec<String> = calls.chain([finish("tool_calls")]).collect();
    data(&events.iter().map(String::as_str).collect::<Vec<_>>())
}

fn calls(stream: &[u8]) -> Vec<ModelChunk> {
    let mut chunks = whole(stream);
    assert!(matches!(chunks.pop(), Some(ModelChunk::End { finish_reason: FinishReason::ToolCalls, .. })));
    chunks
}

#[test]
fn the_pieces_of_two_calls_may_be_interleaved() {
    let stream = pieces(&[
        r#"{"index":0,"id":"a","function":{"name":"one","arguments":""}}"#,
        r#"{"index":1,"id":"b","function":{"name":"two","arguments":"{\"x"}}"#,
        r#"{"index":0,"function":{"arguments":"{}"}},{"index":1,"function":{"arguments":"\":1}"}}"#,
    ]);
    assert_eq!(calls(&stream), [call("a", "one", "{}"), call("b", "two", r#"{"x":1}"#)]);
}

#[test]
fn calls_without_an_index_are_told_apart_by_their_id_or_where_they_begin() {
    let by_id = pieces(&[
        r#"{"id":"a","function":{"name":"one","arguments":"{"}}"#,
        r#"{"id":"b","function":{"name":"two","arguments":"{}"}}"#,
        r#"{"id":"a","function":{"arguments":"}"}}"#,
    ]);
    assert_eq!(calls(&by_id), [call("a", "one", "{}"), call("b", "two", "{}")]);
    let by_begin = pieces(&[
        r#"{"function":{"name":"one","arguments":"{"}},{"function":{"arguments":"}"}}"#,
        r#"{"function":{"name":"one"}},{"function":{"arguments":"[]"}}"#,
    ]);
    assert_eq!(calls(&by_begin), [call("", "one", "{}"), call("", "one", "[]")]);
}

#[test]
fn one_index_for_all_calls_and_a_new_id_for_every_piece_are_both_understood() {
    let one_index = pieces(&[
        r#"{"index":0,"id":"a","function":{"name":"one","arguments":"{}"}}"#,
        r#"{"index":0,"id":"b","function":{"name":"one","arguments":"[]"}}"#,
    ]);
    assert_eq!(calls(&one_index), [call("a", "one", "{}"), call("b", "one", "[]")]);
    let new_ids = pieces(&[
        r#"{"index":0,"id":"a","function":{"name":"one","arguments":"{"}}"#,
        r#"{"index":0,"id":"b","function":{"arguments":"}"}}"#,
        r#"{"index":0,"id":"c","function":{"name":"","arguments":""}}"#,
    ]);
    assert_eq!(calls(&new_ids), [call("a", "one", "{}")]);
}

#[test]
fn calls_are_held_up_to_their_limits_and_not_beyond() {
    let many = |n: usize| {
        let calls = (0..n)
            .map(|n| format!(r#"{{"index":{n},"id":"{n}","function":{{"name":"one","arguments":"{{}}"}}}}"#));
        pieces(&calls.collect::<Vec<_>>().iter().map(String::as_str).collect::<Vec<_>>())
    };
    let large = |n_bytes: usize| {
        let half = |n_bytes| format!(r#"{{"index":0,"function":{{"arguments":"{}"}}}}"#, "x".repeat(n_bytes));
        let (first, rest) = (half(n_bytes / 2), half(n_bytes - n_bytes / 2));
        pieces(&[&first, &rest])
    };
    assert_eq!(calls(&many(CALLS_MAX)).len(), CALLS_MAX);
    assert_eq!(calls(&large(CALL_BYTES_MAX)).len(), 1);
    let detail = "the model's tool calls are too many or too large";
    for stream in [many(CALLS_MAX + 1), large(CALL_BYTES_MAX + 1)] {
        let (chunks, failure) = decode([stream.as_slice()]);
        assert_eq!((chunks, failure), (vec![], Some(Failure::Refused { detail: detail.into() })));
    }
}

#[test]
fn a_long_refusal_is_cut() {
    let words = delta(&format!(r#""refusal":"{}""#, "no ".repeat(3_000)));
    let (_, failure) = decode([data(&[&words, &words, &finish("content_filter")]).as_slice()]);
    let Some(Failure::ContentRefused { detail }) = failure else { panic!("{failure:?}") };
    assert!(detail.starts_with("content_filter: no no") && detail.ends_with('…'), "{detail}");
}

// behaviours: 195
#[test]
fn a_call_without_id_or_name_and_malformed_arguments_are_kept_as_written() {
    let stream = pieces(&[
        r#"{"index":0,"id":null,"function":{"name":"one","arguments":"{\"x\": \"hal"}}"#,
        r#"{"index":1,"id":"b","function":{"name":null,"arguments":null}}"#,
        r#"{"index":2}"#,
        r#"{"index":3,"id":"d","function":{"name":"two","arguments":{"y": 1}}}"#,
    ]);
    let kept = [
        call("", "one", r#"{"x": "hal"#),
        call("b", "", ""),
        call("", "", ""),
        call("d", "two", r#"{"y": 1}"#),
    ];
    assert_eq!(calls(&stream), kept);
}

#[test]
fn a_server_that_says_stop_after_a_call_is_not_believed() {
    let call = delta(r#""tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":"{}"}}]"#);
    let chunks = whole(&data(&[&call, &finish("stop")]));
    assert!(matches!(chunks.last(), Some(ModelChunk::End { finish_reason: FinishReason::ToolCalls, .. })));
}

// behaviours: 193
#[test]
fn cached_tokens_are_a_part_of_the_prompt_and_not_added_to_it() {
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":120,"completion_tokens":30,"prompt_tokens_details":{"cached_tokens":100}}}"#;
    let chunks = whole(&data(&[&finish("stop"), usage, "[DONE]"]));
    assert_eq!(chunks, [end(FinishReason::Stop, 120, 100, 30)]);
    let ModelChunk::End { usage, .. } = &chunks[0] else { panic!() };
    assert_eq!((usage.cache_read(), usage.cache_creation()), (100, 0));
}

#[test]
fn a_refusal_of_the_model_is_told_with_its_words() {
    let events = [delta(r#""refusal":"I cannot""#), delta(r#""refusal":" help.""#), finish("stop")];
    let (chunks, failure) = decode([data(&events.each_ref().map(String::as_str)).as_slice()]);
    assert_eq!(chunks, []);
    assert_eq!(failure, Some(Failure::ContentRefused { detail: "stop: I cannot help.".into() }));
}

#[test]
fn both_names_of_the_reasoning_field_are_read_once() {
    let events = [
        delta(r#""reasoning":"a""#),
        delta(r#""reasoning":"b","reasoning_content":"b""#),
        delta(r#""reasoning":"c","reasoning_content":null,"content":"d""#),
        finish("stop"),
    ];
    let chunks = whole(&data(&events.each_ref().map(String::as_str)));
    assert_eq!(joined(&chunks), ("d".into(), "abc".into()));
}

#[test]
fn content_may_be_a_list_of_parts() {
    let parts = r#""content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]"#;
    assert_eq!(joined(&whole(&data(&[&delta(parts), &finish("stop")]))).0, "ab");
}

#[test]
fn each_finish_reason_has_its_meaning() {
    let cases = [
        ("stop", FinishReason::Stop),
        ("length", FinishReason::Length),
        ("tool_calls", FinishReason::ToolCalls),
        ("function_call", FinishReason::ToolCalls),
        ("content_filter", FinishReason::Refusal),
        ("eos", FinishReason::Stop),
    ];
    for (word, finish_reason) in cases {
        let end = ModelChunk::End { finish_reason, usage: Usage::default() };
        assert_eq!(whole(&data(&[&finish(word)])), [end], "{word}");
    }
}

#[test]
fn only_the_first_of_several_answers_is_read() {
    let two = r#"{"choices":[{"index":1,"delta":{"content":"b"}},{"index":0,"delta":{"content":"a"}}]}"#;
    assert_eq!(joined(&whole(&data(&[two, &finish("stop")]))).0, "a");
}

#[test]
fn usage_is_read_from_any_chunk_and_reuse_from_the_timings_where_it_is_not_in_the_usage() {
    let first = r#"{"usage":{"prompt_tokens":9,"completion_tokens":1},"choices":[]}"#;
    let last = r#"{"usage":null,"timings":{"cache_n":7},"choices":[]}"#;
    let chunks = whole(&data(&[first, &finish("stop"), last, "[DONE]"]));
    assert_eq!(chunks, [end(FinishReason::Stop, 9, 7, 1)]);
}

#[test]
fn a_stream_that_closes_after_its_finish_reason_is_whole_without_a_done_mark() {
    let chunks = whole(&data(&[&delta(r#""content":"a""#), &finish("stop")]));
    assert!(matches!(chunks.last(), Some(ModelChunk::End { .. })));
}

#[test]
fn a_stream_that_ends_before_its_finish_reason_fails_and_keeps_what_was_read() {
    let closed = Failure::Transient { detail: "connection closed before the answer ended".into() };
    let half = delta(r#""content":"a""#);
    for events in [vec![half.as_str()], vec![&half, "[DONE]"]] {
        let (chunks, failure) = decode([data(&events).as_slice()]);
        assert_eq!(chunks, [ModelChunk::Text("a".into())]);
        assert_eq!(failure, Some(closed.clone()));
    }
}

#[test]
fn nothing_is_read_behind_the_end() {
    let late = delta(r#""content":"late""#);
    let chunks = whole(&data(&[&finish("stop"), "[DONE]", &late, "{\"error\":{\"message\":\"late\"}}"]));
    assert_eq!(chunks.len(), 1);
}

#[test]
fn an_error_inside_the_stream_is_classified_by_its_code() {
    let cases = [
        (r#"{"error":{"message":"busy","code":503}}"#, "transient"),
        (r#"{"error":{"message":"busy","type":"server_error"}}"#, "transient"),
        (r#"{"object":"error","message":"no","code":"400"}"#, "refused"),
        (r#"{"error":"plain words"}"#, "transient"),
        (r#"{"error":{"type":"exceed_context_size_error","n_prompt_tokens":9,"n_ctx":8}}"#, "overflow"),
        (r#"{"error":{"message":"no","code":"content_filter"}}"#, "content"),
    ];
    for (event, kind) in cases {
        let (chunks, failure) = decode([data(&[&delta(r#""content":"a""#), event]).as_slice()]);
        assert_eq!(chunks.len(), 1);
        let found = match failure.unwrap() {
            Failure::Transient { .. } => "transient",
            Failure::Refused { .. } => "refused",
            Failure::Overflow { prompt_tokens: Some(9), window_tokens: Some(8) } => "overflow",
            Failure::ContentRefused { .. } => "content",
            other => panic!("{other:?}"),
        };
        assert_eq!(found, kind, "{event}");
    }
}

#[test]
fn what_is_no_chunk_is_refused_with_a_clear_word() {
    for (event, word) in [("<html>", "not JSON"), (r#"{"choices":7}"#, "not a chat completion chunk")] {
        let (_, failure) = decode([data(&[event]).as_slice()]);
        let Some(Failure::Refused { detail }) = failure else { panic!("{failure:?}") };
        assert!(detail.ends_with(word), "{detail}");
    }
}

#[test]
fn invalid_bytes_are_never_replaced() {
    let (chunks, failure) = decode([b"data: {\"choices\":[]}\n\ndata: \"\xc3\"\n\n".as_slice()]);
    assert!(chunks.is_empty());
    let detail = "the server sent bytes that are not UTF-8 text".into();
    assert_eq!(failure, Some(Failure::Refused { detail }));
}

#[test]
fn an_answer_begins_with_its_first_words_and_not_with_its_role() {
    let mut decoder = decoder();
    decoder.push(&data(&[&delta(r#""role":"assistant","content":null"#)])).unwrap();
    assert!(!decoder.has_begun() && decoder.n_events() == 1);
    decoder.push(b": ping\n\n").unwrap();
    assert_eq!(decoder.n_events(), 1);
    decoder.push(&data(&[&delta(r#""tool_calls":[{}]"#)])).unwrap();
    assert!(decoder.has_begun());
}

#[test]
fn a_recorded_answer_is_read_as_a_streamed_one() {
    let stream = fixture!("forced_tool_call_stream");
    assert_eq!(read_recorded(stream.chunks(7)).unwrap(), whole(stream));
    let cut = read_recorded([&stream[..stream.len() / 2]]).unwrap_err();
    assert!(matches!(cut.0, Failure::Transient { .. }), "{cut:?}");
}

proptest! {
    #[test]
    fn any_split_of_real_calls_gives_the_same_calls(n_bytes in 1_usize..600, escaped in "[a-é😀\"\\\\{}]{0,12}") {
        let mut stream = fixture!("forced_tool_call_stream").to_vec();
        let arguments = serde_json::to_string(&escaped).unwrap();
        let piece = format!(r#""tool_calls":[{{"index":0,"function":{{"arguments":{arguments}}}}}]"#);
        // Behind the first event, in front of the call itself.
        let at = stream.windows(2).position(|bytes| bytes == b"\n\n").unwrap() + 2;
        stream.splice(at..at, data(&[&delta(&piece)]));
        let expected = decode([stream.as_slice()]);
        let ModelChunk::ToolCall(call) = &expected.0[0] else { panic!("{expected:?}") };
        prop_assert!(call.input.starts_with(&escaped) && call.name == "get_weather");
        prop_assert_eq!(decode(stream.chunks(n_bytes)), expected);
    }

    #[test]
    fn any_split_of_a_real_stream_gives_the_same_chunks(
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let mut stream = fixture!("qwen3tmpl_think_stream").to_vec();
        let text = data(&[&delta(r#""content":"naïve 日本語 😀""#)]);
        stream.splice(0..0, text);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len())).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|cut| &stream[cut[0]..cut[1]]);
        prop_assert_eq!(decode(pieces), decode([stream.as_slice()]));
        prop_assert_eq!(decode(stream.chunks(1)), decode([stream.as_slice()]));
    }
}
