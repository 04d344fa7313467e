//! Stream events.

use colloquy_core::{
    message::{MessageId, Uid, Usage},
    turn::Outcome,
};

use super::{damaged, newer};
use crate::{
    record::{decode_events, encode_events},
    stream::{Done, Progress, StreamError, StreamEvent, Withdrawn},
};

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
fn events_of_tools_are_written_and_read_as_they_always_were() {
    let events = vec![
        StreamEvent::Withdraw { from_seq: 7, to: Withdrawn::Thinking },
        StreamEvent::Withdraw { from_seq: u64::MAX, to: Withdrawn::Nothing },
        StreamEvent::ToolCall { id: "c1".into(), name: "web".into(), input: "{\"q\": 1.50".into() },
        StreamEvent::Reload,
        StreamEvent::ToolResult { id: "c1".into(), name: "web".into(), text: "rain".into(), is_error: true },
        StreamEvent::Steer { text: "and Rome?".into() },
        StreamEvent::Answer("Rain".into()),
    ];
    let stored = concat!(
        r#"{"v":1,"e":[{"t":"withdraw","from":7,"to":"thinking"},"#,
        r#"{"t":"withdraw","from":18446744073709551615,"to":"nothing"},"#,
        r#"{"t":"call","id":"c1","name":"web","arguments":"{\"q\": 1.50"},{"t":"gap","count":1},"#,
        r#"{"t":"tool_result","id":"c1","name":"web","text":"rain","is_error":true},"#,
        r#"{"t":"steer","text":"and Rome?"},{"t":"answer","x":"Rain"}]}"#,
    );
    assert_eq!(encode_events(&events), stored);
    let mut numbered = (1..).zip(events).collect::<Vec<_>>();
    numbered.remove(3);
    assert_eq!(decode_events(1, stored).unwrap(), numbered);
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
    newer(decode_events(1, r#"{"v":1,"e":[{"t":"withdraw","from":1,"to":"elsewhere"}]}"#));
    for (lacking, what) in [
        (r#""t":"withdraw","to":"nothing""#, "from"),
        (r#""t":"withdraw","from":1"#, "to"),
        (r#""t":"call","id":"c","name":"n""#, "arguments"),
        (r#""t":"tool_result","id":"c","name":"n","text":"secret""#, "is_error"),
        (r#""t":"steer""#, "text"),
    ] {
        let error = decode_events(1, &format!(r#"{{"v":1,"e":[{{{lacking}}}]}}"#)).unwrap_err();
        assert!(error.to_string().ends_with(&format!("an event has no {what}")), "{error}");
    }
}

#[test]
fn a_piece_costs_about_one_byte_more_than_its_text() {
    let events = vec![StreamEvent::Answer("word ".into()); 1_000];
    assert!(encode_events(&events).len() < 5_000 + 1_000 + 64);
}
