//! Every form against literal strings of every version that was ever written, against newer
//! versions and tags, and there and back again for any value ([`properties`]).

use colloquy_core::{
    conversation::{Effort, Settings},
    message::{FinishReason, Kind, LlmId, Origin, Role, Usage},
    turn::{FailureCode, Outcome},
};

use super::*;
use crate::{
    Ask,
    ports::{ToolRunState, TurnState},
    stream::StreamError,
};

mod blocks;
mod events;
mod head;
mod properties;

const FINISH_REASONS: [FinishReason; 4] =
    [FinishReason::Stop, FinishReason::Length, FinishReason::ToolCalls, FinishReason::Refusal];

const OUTCOMES: [(Outcome, &str); 12] = [
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
    (Outcome::Failed(FailureCode::ToolLimit), "failed/tool_limit"),
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
        cache_write_tokens: None,
        output_tokens: Some(5),
    };
    let stored = r#"{"v":1,"usage":{"prompt":12,"reused":0,"output":5},"finish":"stop"}"#;
    assert_eq!(encode_usage(Some(usage), Some(FinishReason::Stop)).as_deref(), Some(stored));
    assert_eq!(decode_usage(stored).unwrap(), (Some(usage), Some(FinishReason::Stop)));
    let cached = Usage { cache_write_tokens: Some(7), ..usage };
    let stored = r#"{"v":1,"usage":{"prompt":12,"reused":0,"written":7,"output":5}}"#;
    assert_eq!(encode_usage(Some(cached), None).as_deref(), Some(stored));
    assert_eq!(decode_usage(stored).unwrap(), (Some(cached), None));
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

// behaviours: 39
#[test]
fn a_message_of_the_system_or_of_another_role_than_its_kind_is_refused_and_never_relabelled() {
    for kind in [Kind::Question, Kind::Steer, Kind::Results, Kind::Announcement] {
        assert_eq!(role_name(kind.role()), "user");
        check_role(kind, "user").unwrap();
        damaged(check_role(kind, "assistant"));
        damaged(check_role(kind, "system"));
    }
    for kind in [Kind::Call, Kind::Answer, Kind::Closing] {
        assert_eq!(kind.role(), Role::Assistant);
        check_role(kind, "assistant").unwrap();
        damaged(check_role(kind, "user"));
        damaged(check_role(kind, "system"));
    }
    // Names are exact: what differs in case is no name of ours, and a role is no kind.
    for name in ["developer", "USER", "System", "user ", ""] {
        newer(check_role(Kind::Question, name));
    }
    for name in ["system", "user", "USER", "Question", "question ", ""] {
        newer(kind_from_name(name));
    }
}

#[test]
fn summaries_of_version_1_are_written_and_read_as_they_always_were() {
    let summaries = [("/body".to_owned(), "Kurz.\u{0}".to_owned()), (String::new(), String::new())].into();
    let stored = r#"{"v":1,"summaries":{"":"","/body":"Kurz.\u0000"}}"#;
    assert_eq!(encode_summaries(&summaries), stored);
    assert_eq!(decode_summaries(stored).unwrap(), summaries);
    newer(decode_summaries(r#"{"v":2}"#));
    damaged(decode_summaries(r#"{"v":1,"summaries":["my secret"]}"#));
}
