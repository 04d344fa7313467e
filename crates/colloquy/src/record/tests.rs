//! Every form against literal strings of every version that was ever written, against newer
//! versions and tags, and there and back again for any value.

use colloquy_core::{
    block::{Block, ToolCall, ToolResult},
    conversation::{Effort, Settings},
    message::{FinishReason, Kind, LlmId, MessageId, Origin, Uid, Usage},
    turn::{FailureCode, Outcome},
};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    Ask,
    ports::{ToolRunState, TurnState},
    stream::{Done, Progress, StreamError, StreamEvent},
};

const FINISH_REASONS: [FinishReason; 4] =
    [FinishReason::Stop, FinishReason::Length, FinishReason::ToolCalls, FinishReason::Refusal];

const OUTCOMES: [(Outcome, &str); 11] = [
    (Outcome::Answered, "answered"),
    (Outcome::Truncated, "truncated"),
    (Outcome::NoAnswer, "no_answer"),
    (Outcome::Stopped, "stopped"),
    (Outcome::Interrupted, "interrupted"),
    (Outcome::Failed(FailureCode::Overflow), "failed/overflow"),
    (Outcome::Failed(FailureCode::Engine), "failed/engine"),
    (Outcome::Failed(FailureCode::Model), "failed/model"),
    (Outcome::Failed(FailureCode::Refusal), "failed/refusal"),
    (Outcome::Failed(FailureCode::Silence), "failed/silence"),
    (Outcome::Failed(FailureCode::Internal), "failed/internal"),
];

#[track_caller]
fn newer<T: std::fmt::Debug>(read: Result<T, RecordError>) {
    let error = read.expect_err("a newer form was read");
    assert!(matches!(error, RecordError::Newer { .. }), "{error}");
    assert!(error.to_string().contains("newer version"), "{error}");
}

#[track_caller]
fn damaged<T: std::fmt::Debug>(read: Result<T, RecordError>) {
    let error = read.expect_err("a damaged form was read");
    assert!(matches!(error, RecordError::Damaged { .. }), "{error}");
}

fn settings() -> Settings {
    Settings {
        temperature: 0.7,
        top_p: 0.95,
        max_tokens: 4096,
        custom_prompt: "Kurz.".into(),
        web_search_enabled: false,
        reasoning_effort: Effort::Medium,
        compaction_threshold: 75,
    }
}

#[test]
fn blocks_of_version_1_are_written_and_read_as_they_always_were() {
    let blocks = vec![
        Block::Text("Grüße\n\u{0}".into()),
        Block::Reasoning("hm".into()),
        Block::ToolCall(ToolCall { id: "c1".into(), name: "web".into(), input: json!({"q": 1.5}) }),
        Block::ToolCall(ToolCall { id: "c2".into(), name: "now".into(), input: json!(null) }),
        Block::ToolResult(ToolResult { call_id: "c1".into(), text: "rain".into(), is_error: true }),
    ];
    let stored = concat!(
        r#"{"v":1,"blocks":[{"t":"text","text":"Grüße\n\u0000"},{"t":"reasoning","text":"hm"},"#,
        r#"{"t":"tool_call","id":"c1","name":"web","input":{"q":1.5}},"#,
        r#"{"t":"tool_call","id":"c2","name":"now","input":null},"#,
        r#"{"t":"tool_result","id":"c1","text":"rain","is_error":true}]}"#,
    );
    assert_eq!(encode_blocks(&blocks), stored);
    assert_eq!(decode_blocks(stored).unwrap(), blocks);
    assert_eq!(decode_blocks(r#"{"v":1,"blocks":[]}"#).unwrap(), []);
}

#[test]
fn an_unknown_block_or_version_is_never_an_empty_message() {
    newer(decode_blocks(r#"{"v":2,"blocks":"of another shape"}"#));
    newer(decode_blocks(r#"{"v":1,"blocks":[{"t":"text","text":"a"},{"t":"hologram","x":1}]}"#));
}

#[test]
fn damaged_blocks_are_told_from_newer_ones_and_their_text_is_not_quoted() {
    damaged(decode_blocks(""));
    damaged(decode_blocks(r#"{"blocks":[]}"#));
    damaged(decode_blocks(r#"{"v":1,"blocks":[{"t":"text"}]}"#));
    damaged(decode_blocks(r#"{"v":1,"blocks":[{"t":"tool_call","id":"a","name":"b"}]}"#));
    let error = decode_blocks(r#"{"v":1,"blocks":"my secret"}"#).unwrap_err();
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[test]
fn settings_of_version_1_are_written_and_read_as_they_always_were() {
    let stored = concat!(
        r#"{"v":1,"temperature":0.7,"top_p":0.95,"max_tokens":4096,"custom_prompt":"Kurz.","#,
        r#""web_search":false,"effort":"medium","compaction_threshold":75}"#,
    );
    assert_eq!(encode_settings(&settings()), stored);
    assert_eq!(decode_settings(stored).unwrap(), settings());
    newer(decode_settings(&stored.replace("\"v\":1", "\"v\":2")));
    newer(decode_settings(&stored.replace("medium", "telepathic")));
    damaged(decode_settings(&stored.replace("75", "\"75\"")));
}

#[test]
fn origins_of_version_1_are_written_and_read_as_they_always_were() {
    let origin = Origin { llm_id: Some(LlmId(7)), dialect: "openai".into(), model: "m".into() };
    let stored = r#"{"v":1,"llm":7,"dialect":"openai","model":"m"}"#;
    assert_eq!(encode_origin(&origin), stored);
    assert_eq!(decode_origin(stored).unwrap(), origin);
    let nameless = r#"{"v":1,"dialect":"openai","model":"m"}"#;
    assert_eq!(decode_origin(nameless).unwrap(), Origin { llm_id: None, ..origin });
    newer(decode_origin(r#"{"v":3}"#));
}

#[test]
fn usage_of_version_1_is_written_and_read_as_it_always_was() {
    let usage = Usage {
        predicted_tokens: None,
        prompt_tokens: Some(12),
        reused_tokens: Some(0),
        output_tokens: Some(5),
    };
    let stored = r#"{"v":1,"usage":{"prompt":12,"reused":0,"output":5},"finish":"stop"}"#;
    assert_eq!(encode_usage(Some(usage), Some(FinishReason::Stop)).as_deref(), Some(stored));
    assert_eq!(decode_usage(stored).unwrap(), (Some(usage), Some(FinishReason::Stop)));
    assert_eq!(decode_usage(r#"{"v":1,"usage":{}}"#).unwrap(), (Some(Usage::default()), None));
    assert_eq!(encode_usage(None, None), None);
    newer(decode_usage(r#"{"v":1,"finish":"boredom"}"#));
    newer(decode_usage(r#"{"v":2}"#));
}

#[test]
fn requests_of_version_1_are_written_and_read_as_they_always_were() {
    let ask = Ask {
        text: "not repeated: it is the question's message".into(),
        temperature: Some(0.2),
        custom_prompt: Some(String::new()),
        ..Ask::default()
    };
    let stored = r#"{"v":1,"temperature":0.2,"custom_prompt":""}"#;
    assert_eq!(encode_request(Some(&ask)), stored);
    let request = TurnRequest { temperature: Some(0.2), top_p: None, custom_prompt: Some(String::new()) };
    assert_eq!(decode_request(stored).unwrap(), request);
    assert_eq!(encode_request(None), r#"{"v":1}"#);
    newer(decode_request(r#"{"v":2}"#));
}

#[test]
fn errors_of_version_1_are_written_and_read_as_they_always_were() {
    let error = StreamError { code: "engine".into(), text: "gone".into(), raw: Some("segv".into()) };
    let stored = r#"{"v":1,"code":"engine","text":"gone","raw":"segv"}"#;
    assert_eq!(encode_error(&error), stored);
    assert_eq!(decode_error(stored).unwrap(), error);
    assert_eq!(decode_error(r#"{"v":1,"code":"a","text":"b"}"#).unwrap().raw, None);
    newer(decode_error(r#"{"v":2,"code":1}"#));
}

#[test]
fn outcomes_and_names_are_written_and_read_as_they_always_were() {
    for (outcome, name) in OUTCOMES {
        assert_eq!(encode_outcome(outcome), name);
        assert_eq!(decode_outcome(name).unwrap(), outcome);
    }
    for (kind, name) in [
        (Kind::Question, "question"),
        (Kind::Steer, "steer"),
        (Kind::Results, "results"),
        (Kind::Call, "call"),
        (Kind::Answer, "answer"),
        (Kind::Closing, "closing"),
        (Kind::Announcement, "announcement"),
    ] {
        assert_eq!(kind_name(kind), name);
        assert_eq!(kind_from_name(name).unwrap(), kind);
    }
    for (state, name) in
        [(TurnState::Queued, "queued"), (TurnState::Running, "running"), (TurnState::Over, "over")]
    {
        assert_eq!(turn_state_name(state), name);
        assert_eq!(turn_state_from_name(name).unwrap(), state);
    }
    for (state, name) in [
        (ToolRunState::Started, "started"),
        (ToolRunState::Finished, "finished"),
        (ToolRunState::Interrupted, "interrupted"),
    ] {
        assert_eq!(tool_run_state_name(state), name);
        assert_eq!(tool_run_state_from_name(name).unwrap(), state);
    }
    newer(decode_outcome("failed/summary"));
    newer(kind_from_name("dream"));
    newer(turn_state_from_name("paused"));
    newer(tool_run_state_from_name("paused"));
}

#[test]
fn events_of_version_1_are_written_and_read_as_they_always_were() {
    let error = StreamError { code: "model".into(), text: "no".into(), raw: None };
    let done = Done {
        turn_uid: Uid([0xab; 16]),
        outcome: Outcome::Answered,
        question_id: MessageId(3),
        message_id: Some(MessageId(4)),
        usage: Usage { prompt_tokens: Some(9), ..Usage::default() },
    };
    let events = vec![
        StreamEvent::Progress(Progress::Waiting),
        StreamEvent::Reload,
        StreamEvent::Thinking("hm".into()),
        StreamEvent::Answer("Par".into()),
        StreamEvent::Answer(String::new()),
        StreamEvent::Answer("is é".into()),
        StreamEvent::Error(error),
        StreamEvent::Done(done),
    ];
    let stored = concat!(
        r#"{"v":1,"e":[{"t":"gap","count":2},{"t":"thinking","x":"hm"},"#,
        r#"{"t":"answer","x":"Paris é","n":"c0.e"},"#,
        r#"{"t":"error","code":"model","text":"no"},"#,
        r#"{"t":"done","turn":"abababababababababababababababab","outcome":"answered","question":3,"#,
        r#""message":4,"usage":{"prompt":9}}]}"#,
    );
    assert_eq!(encode_events(&events), stored);
    let numbered = (12..).zip(events.into_iter().skip(2)).collect::<Vec<_>>();
    assert_eq!(decode_events(10, stored).unwrap(), numbered);
}

#[test]
fn unknown_or_damaged_events_are_refused() {
    newer(decode_events(1, r#"{"v":2,"e":0}"#));
    newer(decode_events(1, r#"{"v":1,"e":[{"t":"smell"}]}"#));
    newer(decode_events(
        1,
        r#"{"v":1,"e":[{"t":"done","turn":"00000000000000000000000000000000","outcome":"x","question":1,"usage":{}}]}"#,
    ));
    for cuts in ["a", "c", "ab!", "é", "99999999999999999999.", "b0", "1b", "b.", ".", ""] {
        damaged(decode_events(1, &format!(r#"{{"v":1,"e":[{{"t":"answer","x":"ü","n":"{cuts}"}}]}}"#)));
    }
    damaged(decode_events(1, r#"{"v":1,"e":[{"t":"answer"}]}"#));
    damaged(decode_events(1, r#"{"v":1,"e":[{"t":"gap"}]}"#));
}

#[test]
fn a_piece_costs_about_one_byte_more_than_its_text() {
    let events = vec![StreamEvent::Answer("word ".into()); 1_000];
    assert!(encode_events(&events).len() < 5_000 + 1_000 + 64);
}

fn any_usage() -> impl Strategy<Value = Usage> {
    any::<[Option<u32>; 4]>().prop_map(|[predicted_tokens, prompt_tokens, reused_tokens, output_tokens]| {
        Usage { predicted_tokens, prompt_tokens, reused_tokens, output_tokens }
    })
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => any::<String>(),
        1 => "[\u{0}-\u{1f}\u{7f}-\u{9f}\u{2028}\u{fffd}\u{10ffff}👩🏽\u{200d}\"\\\\]{0,8}",
        1 => (0..70_usize).prop_map(|n| "é".repeat(n)),
    ]
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    proptest::sample::select(OUTCOMES.map(|(outcome, _)| outcome).to_vec())
}

fn any_event() -> impl Strategy<Value = StreamEvent> {
    let error = (any_text(), any_text(), proptest::option::of(any_text()))
        .prop_map(|(code, text, raw)| StreamEvent::Error(StreamError { code, text, raw }));
    let done = (any::<[u8; 16]>(), any_outcome(), any::<i64>(), any::<Option<i64>>(), any_usage()).prop_map(
        |(uid, outcome, question, message, usage)| {
            StreamEvent::Done(Done {
                turn_uid: Uid(uid),
                outcome,
                question_id: MessageId(question),
                message_id: message.map(MessageId),
                usage,
            })
        },
    );
    prop_oneof![
        6 => any_text().prop_map(StreamEvent::Answer),
        3 => any_text().prop_map(StreamEvent::Thinking),
        1 => any::<[u32; 2]>().prop_map(|[done, total]| {
            StreamEvent::Progress(Progress::Reading { done, total })
        }),
        1 => Just(StreamEvent::Reload),
        1 => error,
        1 => done,
    ]
}

fn any_block() -> impl Strategy<Value = Block> {
    let input = (any_text(), any::<Option<i64>>(), proptest::num::f64::NORMAL)
        .prop_map(|(text, number, real)| json!({"text": text, "deep": [number, {"real": real}]}));
    prop_oneof![
        any_text().prop_map(Block::Text),
        any_text().prop_map(Block::Reasoning),
        (any_text(), any_text(), input).prop_map(|(id, name, input)| Block::ToolCall(ToolCall {
            id,
            name,
            input
        })),
        (any_text(), any_text(), any::<bool>()).prop_map(|(call_id, text, is_error)| {
            Block::ToolResult(ToolResult { call_id, text, is_error })
        }),
    ]
}

fn is_stored(event: &StreamEvent) -> bool {
    !matches!(event, StreamEvent::Progress(_) | StreamEvent::Reload)
}

proptest! {
    #[test]
    fn events_come_back_piece_by_piece_with_their_numbers(
        first_seq in 1..1_000_000_u64,
        events in prop::collection::vec(any_event(), 0..40),
    ) {
        let read = decode_events(first_seq, &encode_events(&events)).unwrap();
        let expected = (first_seq..).zip(events).filter(|(_, event)| is_stored(event)).collect::<Vec<_>>();
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn blocks_come_back_as_they_were(blocks in prop::collection::vec(any_block(), 0..6)) {
        prop_assert_eq!(decode_blocks(&encode_blocks(&blocks)).unwrap(), blocks);
    }

    #[test]
    fn settings_come_back_as_they_were(
        temperature in 0.0..=2.0_f64,
        top_p in 0.0..=1.0_f64,
        custom_prompt in any_text(),
        level in 0..5_usize,
        max_tokens in any::<u32>(),
        web_search_enabled in any::<bool>(),
    ) {
        let settings = Settings {
            temperature,
            top_p,
            custom_prompt,
            max_tokens,
            web_search_enabled,
            reasoning_effort: Effort::ALL[level],
            ..settings()
        };
        prop_assert_eq!(decode_settings(&encode_settings(&settings)).unwrap(), settings);
    }

    #[test]
    fn usage_comes_back_as_it_was(
        usage in proptest::option::of(any_usage()),
        finish in proptest::option::of(proptest::sample::select(FINISH_REASONS.to_vec())),
    ) {
        let read = encode_usage(usage, finish).map(|json| decode_usage(&json).unwrap());
        prop_assert_eq!(read.unwrap_or_default(), (usage, finish));
    }

    #[test]
    fn no_stored_bytes_make_the_reader_panic(bytes in any_text(), cuts in "[a-zA-Z0-9.]{0,12}") {
        let json = json!({"v": 1, "e": [{"t": "answer", "x": bytes, "n": cuts}], "blocks": [{"t": cuts}]});
        let _ = decode_events(u64::MAX, &json.to_string());
        let _ = decode_blocks(&json.to_string());
        let _ = decode_blocks(&bytes);
    }
}
