//! The head of a conversation.

use std::num::NonZeroU32;

use colloquy_core::{
    block::{Block, Skill},
    objective::Objective,
    seat::{Depth, Grade, OutputSize, Seat},
    tool::ToolDefinition,
};

use super::{damaged, newer};
use crate::{
    ports::StoredHead,
    record::{HeadColumns, decode_head, encode_head},
};

const GRADES: [(Grade, &str); 7] = [
    (Grade::Micro, "micro"),
    (Grade::Small, "small"),
    (Grade::Medium, "medium"),
    (Grade::Large, "large"),
    (Grade::Xl, "xl"),
    (Grade::Mega, "mega"),
    (Grade::Ceiling, "ceiling"),
];

const DEPTHS: [(Depth, &str); 5] = [
    (Depth::Immediate, "immediate"),
    (Depth::Quick, "quick"),
    (Depth::Standard, "standard"),
    (Depth::Thorough, "thorough"),
    (Depth::UltraThorough, "ultra_thorough"),
];

const SIZES: [(OutputSize, &str); 6] = [
    (OutputSize::Verdict, r#""verdict""#),
    (OutputSize::Compact, r#""compact""#),
    (OutputSize::Standard, r#""standard""#),
    (OutputSize::Extended, r#""extended""#),
    (OutputSize::Max, r#""max""#),
    (OutputSize::Tokens(NonZeroU32::MAX), r#""tokens","tokens":4294967295"#),
];

fn head() -> StoredHead {
    let mut objective = Objective::default();
    objective.put("task", Block::Text("Sum up.".into()));
    let skill = Skill { name: "sums".into(), description: String::new(), body: "Carry.".into() };
    objective.put("skill:sums", Block::Skill(skill));
    objective.put("a", Block::Text("last".into()));
    let tool = |name: &str, schema: Option<&str>| ToolDefinition {
        name: name.into(),
        description: "Asks.".into(),
        schema: schema.map(str::to_owned),
    };
    StoredHead {
        objective,
        palette: vec![tool("web", Some("{}")), tool("clock", None)],
        seat: Seat {
            grade: Some(Grade::Small),
            depth: Some(Depth::UltraThorough),
            output: Some(OutputSize::Verdict),
            interactive: true,
        },
        prior_model: Some("big".into()),
        cache_system: true,
    }
}

fn columns() -> HeadColumns {
    HeadColumns {
        objective: concat!(
            r#"{"v":1,"slots":[{"key":"task","value":{"t":"text","text":"Sum up."}},"#,
            r#"{"key":"skill:sums","value":{"t":"skill","name":"sums","description":"","body":"Carry."}},"#,
            r#"{"key":"a","value":{"t":"text","text":"last"}}]}"#,
        )
        .into(),
        palette: concat!(
            r#"{"v":1,"tools":[{"name":"web","description":"Asks.","schema":"{}"},"#,
            r#"{"name":"clock","description":"Asks."}]}"#,
        )
        .into(),
        seat: concat!(
            r#"{"v":1,"grade":"small","depth":"ultra_thorough","output":"verdict","interactive":true,"#,
            r#""prior_model":"big","cache_system":true}"#,
        )
        .into(),
    }
}

#[test]
fn heads_of_version_1_are_written_and_read_as_they_always_were() {
    assert_eq!(encode_head(&head()), columns());
    assert_eq!(decode_head(&columns()).unwrap(), head());
    let empty = HeadColumns {
        objective: r#"{"v":1,"slots":[]}"#.into(),
        palette: r#"{"v":1,"tools":[]}"#.into(),
        seat: r#"{"v":1,"interactive":false,"cache_system":false}"#.into(),
    };
    assert_eq!(encode_head(&StoredHead::default()), empty);
    assert_eq!(decode_head(&empty).unwrap(), StoredHead::default());
}

#[test]
fn every_word_of_a_seat_is_written_and_read_as_it_always_was() {
    #[track_caller]
    fn check(seat: Seat, members: &str) {
        let head = StoredHead { seat, ..StoredHead::default() };
        let columns = encode_head(&head);
        let stored = format!(r#"{{"v":1,{members},"interactive":false,"cache_system":false}}"#);
        assert_eq!(columns.seat, stored);
        assert_eq!(decode_head(&columns).unwrap(), head);
    }
    for (grade, name) in GRADES {
        check(Seat { grade: Some(grade), ..Seat::default() }, &format!(r#""grade":"{name}""#));
    }
    for (depth, name) in DEPTHS {
        check(Seat { depth: Some(depth), ..Seat::default() }, &format!(r#""depth":"{name}""#));
    }
    for (size, members) in SIZES {
        check(Seat { output: Some(size), ..Seat::default() }, &format!(r#""output":{members}"#));
    }
}

#[test]
fn a_head_of_a_newer_version_or_with_unknown_words_is_refused_as_such() {
    let with_seat = |seat: String| HeadColumns { seat, ..columns() };
    let with_objective = |objective: String| HeadColumns { objective, ..columns() };
    newer(decode_head(&with_objective(columns().objective.replace("\"v\":1", "\"v\":2"))));
    newer(decode_head(&with_objective(columns().objective.replace("\"skill\",", "\"hologram\","))));
    newer(decode_head(&HeadColumns { palette: r#"{"v":2}"#.into(), ..columns() }));
    for word in ["small", "ultra_thorough", "verdict"] {
        newer(decode_head(&with_seat(columns().seat.replace(word, "telepathic"))));
    }
}

#[test]
fn a_damaged_head_is_never_rendered_as_another_one() {
    let with_slots =
        |slots: &str| HeadColumns { objective: format!(r#"{{"v":1,"slots":[{slots}]}}"#), ..columns() };
    let slot = |key: &str, text: &str| format!(r#"{{"key":"{key}","value":{{"t":"text","text":"{text}"}}}}"#);
    let twice = [slot("task", "one"), slot("task", "two")].join(",");
    let blank = [slot("task", "one"), slot("extra", "  ")].join(",");
    for slots in [twice.as_str(), &blank, r#"{"key":"task"}"#, r#"{"key":"task","value":{"t":"text"}}"#] {
        damaged(decode_head(&with_slots(slots)));
    }
    for seat in [
        r#"{"v":1,"output":"tokens","interactive":false,"cache_system":false}"#,
        r#"{"v":1,"output":"tokens","tokens":0,"interactive":false,"cache_system":false}"#,
        r#"{"v":1,"interactive":"my secret","cache_system":false}"#,
        r#"{"v":1}"#,
    ] {
        let error = decode_head(&HeadColumns { seat: seat.into(), ..columns() }).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
        damaged::<StoredHead>(Err(error));
    }
}
