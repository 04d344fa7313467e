//! The events of a turn's stream (server reference § 3, design § 9).

use colloquy::stream::{Progress, StreamEvent, Withdrawn};
use serde::Serialize;
use serde_json::{Value, json};

use super::{UsageJson, uid};

/// One event with its number.
#[derive(Debug, Serialize)]
#[serde(tag = "t", rename_all = "snake_case")]
pub(crate) enum EventJson<'a> {
    Answer {
        seq: u64,
        text: &'a str,
    },
    Thinking {
        seq: u64,
        text: &'a str,
    },
    Withdraw {
        seq: u64,
        from_seq: u64,
        to: &'static str,
    },
    ToolCall {
        seq: u64,
        id: &'a str,
        name: &'a str,
        args: Value,
    },
    ToolResult {
        seq: u64,
        id: &'a str,
        name: &'a str,
        text: &'a str,
        is_error: bool,
    },
    Steer {
        seq: u64,
        text: &'a str,
    },
    Progress {
        seq: u64,
        phase: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        done: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        total: Option<u32>,
    },
    MemoryReload {
        seq: u64,
        reason: &'static str,
    },
    Error {
        seq: u64,
        text: &'a str,
        code: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        raw: Option<&'a str>,
    },
    Done {
        seq: u64,
        turn_id: String,
        outcome: &'static str,
        question_id: i64,
        message_id: Option<i64>,
        usage: UsageJson,
    },
}

impl<'a> EventJson<'a> {
    pub(crate) fn new(seq: u64, event: &'a StreamEvent) -> Self {
        match event {
            StreamEvent::Answer(text) => Self::Answer { seq, text },
            StreamEvent::Thinking(text) => Self::Thinking { seq, text },
            StreamEvent::Withdraw { from_seq, to } => {
                let to = match to {
                    Withdrawn::Thinking => "thinking",
                    Withdrawn::Nothing => "nothing",
                };
                Self::Withdraw { seq, from_seq: *from_seq, to }
            }
            StreamEvent::ToolCall { id, name, input } => {
                Self::ToolCall { seq, id, name, args: arguments(input) }
            }
            StreamEvent::ToolResult { id, name, text, is_error } => {
                Self::ToolResult { seq, id, name, text, is_error: *is_error }
            }
            StreamEvent::Steer { text } => Self::Steer { seq, text },
            StreamEvent::Progress(progress) => {
                let (phase, done, total) = match *progress {
                    Progress::Waiting => ("waiting", None, None),
                    Progress::Loading => ("loading", None, None),
                    Progress::Reading { done, total } => ("reading", Some(done), Some(total)),
                };
                Self::Progress { seq, phase, done, total }
            }
            StreamEvent::Reload => Self::MemoryReload { seq, reason: "idle" },
            StreamEvent::Error(error) => {
                Self::Error { seq, text: &error.text, code: &error.code, raw: error.raw.as_deref() }
            }
            StreamEvent::Done(done) => Self::Done {
                seq,
                turn_id: uid(done.turn_uid),
                outcome: done.outcome.name(),
                question_id: done.question_id.0,
                message_id: done.message_id.map(|id| id.0),
                usage: done.usage.into(),
            },
        }
    }
}

/// The arguments of a call as an object: none are an empty one, unreadable ones stand under `raw`.
pub(crate) fn arguments(input: &str) -> Value {
    if input.trim().is_empty() {
        return json!({});
    }
    match serde_json::from_str(input) {
        Ok(arguments @ Value::Object(_)) => arguments,
        Ok(_) | Err(_) => json!({"raw": input}),
    }
}

#[cfg(test)]
mod tests {
    use colloquy::stream::{Done, StreamError};
    use colloquy_core::{
        message::{MessageId, Uid, Usage},
        turn::{FailureCode, Outcome},
    };

    use super::*;
    use crate::ndjson::line;

    fn check(event: StreamEvent, expected: &str) {
        let line = line(&EventJson::new(1, &event));
        let value: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(value, serde_json::from_str::<Value>(expected).unwrap());
    }

    #[test]
    fn progress_tells_its_phase_and_how_far_reading_is() {
        check(StreamEvent::Progress(Progress::Waiting), r#"{"t":"progress","seq":1,"phase":"waiting"}"#);
        check(StreamEvent::Progress(Progress::Loading), r#"{"t":"progress","seq":1,"phase":"loading"}"#);
        check(
            StreamEvent::Progress(Progress::Reading { done: 128, total: 300 }),
            r#"{"t":"progress","seq":1,"phase":"reading","done":128,"total":300}"#,
        );
        check(StreamEvent::Reload, r#"{"t":"memory_reload","seq":1,"reason":"idle"}"#);
    }

    #[test]
    fn a_call_carries_its_arguments_as_an_object_whatever_the_model_wrote() {
        let call = |input: &str| StreamEvent::ToolCall {
            id: "c1".into(),
            name: "search".into(),
            input: input.into(),
        };
        for (input, args) in [
            (r#"{"q":"x"}"#, r#"{"q":"x"}"#),
            (" ", "{}"),
            (r#"{"q":"#, r#"{"raw":"{\"q\":"}"#),
            ("[1]", r#"{"raw":"[1]"}"#),
        ] {
            let expected = format!(r#"{{"t":"tool_call","seq":1,"id":"c1","name":"search","args":{args}}}"#);
            check(call(input), &expected);
        }
        let result = StreamEvent::ToolResult {
            id: "c1".into(),
            name: "search".into(),
            text: "none".into(),
            is_error: true,
        };
        check(
            result,
            r#"{"t":"tool_result","seq":1,"id":"c1","name":"search","text":"none","is_error":true}"#,
        );
    }

    #[test]
    fn withdrawn_text_says_from_where_and_what_it_was() {
        let withdraw = |to| StreamEvent::Withdraw { from_seq: 3, to };
        check(withdraw(Withdrawn::Thinking), r#"{"t":"withdraw","seq":1,"from_seq":3,"to":"thinking"}"#);
        check(withdraw(Withdrawn::Nothing), r#"{"t":"withdraw","seq":1,"from_seq":3,"to":"nothing"}"#);
        check(StreamEvent::Steer { text: "also".into() }, r#"{"t":"steer","seq":1,"text":"also"}"#);
    }

    #[test]
    fn an_error_carries_the_engines_words_only_when_there_are_any() {
        let error = StreamError { code: "engine".into(), text: "gone".into(), raw: None };
        check(StreamEvent::Error(error.clone()), r#"{"t":"error","seq":1,"text":"gone","code":"engine"}"#);
        let error = StreamError { raw: Some("abort".into()), ..error };
        check(
            StreamEvent::Error(error),
            r#"{"t":"error","seq":1,"text":"gone","code":"engine","raw":"abort"}"#,
        );
    }

    #[test]
    fn done_says_so_when_nothing_could_be_committed() {
        let done = Done {
            turn_uid: Uid([0xab; 16]),
            outcome: Outcome::Failed(FailureCode::Internal),
            question_id: MessageId(3),
            message_id: None,
            usage: Usage { prompt_tokens: Some(7), ..Usage::default() },
        };
        check(
            StreamEvent::Done(done),
            r#"{"t":"done","seq":1,"turn_id":"abababababababababababababababab","outcome":"failed",
                "question_id":3,"message_id":null,"usage":{"predicted_tokens":null,"prompt_tokens":7,
                "reused_tokens":null,"output_tokens":null}}"#,
        );
    }
}
