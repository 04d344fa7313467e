use proptest::prelude::*;

use super::*;
use crate::{block::ToolCall, fixtures};

fn message(id: i64, kind: Kind, blocks: Vec<Block>) -> Message {
    Message { id: MessageId(id), ..fixtures::message(kind, blocks) }
}

fn text(id: i64, kind: Kind, text: &str) -> Message {
    message(id, kind, vec![Block::Text(text.into())])
}

fn calls(id: i64, ids: &[&str]) -> Message {
    let call =
        |id: &&str| Block::ToolCall(ToolCall { id: (*id).into(), name: "t".into(), input: "{}".into() });
    message(id, Kind::Call, ids.iter().map(call).collect())
}

fn results(id: i64, ids: &[&str]) -> Message {
    let result = |id: &&str| {
        Block::ToolResult(ToolResult { call_id: (*id).into(), text: format!("of {id}"), is_error: false })
    };
    message(id, Kind::Results, ids.iter().map(result).collect())
}

/// One line per message of the mended view: kind and what it holds.
fn lines(messages: &[Message]) -> Vec<String> {
    messages
        .iter()
        .map(|message| {
            let held: Vec<String> = message
                .blocks
                .iter()
                .map(|block| match block {
                    Block::Text(text) => text.clone(),
                    Block::Reasoning(reasoning) => format!("({})", reasoning.text),
                    Block::ToolCall(call) => format!("call {}", call.id),
                    Block::ToolResult(result) => format!("{}: {}", result.call_id, result.text),
                    Block::Value(_)
                    | Block::Json(_)
                    | Block::ToolDefinition(_)
                    | Block::Image(_)
                    | Block::File(_)
                    | Block::RedactedReasoning(_)
                    | Block::Skill(_) => panic!("no test here holds {block:?}"),
                })
                .collect();
            format!("{:?} {}", message.kind, held.join(", "))
        })
        .collect()
}

#[test]
fn a_sound_conversation_goes_through_unchanged() {
    let sound = vec![
        text(1, Kind::Question, "q"),
        calls(2, &["a", "b"]),
        results(3, &["a", "b"]),
        text(4, Kind::Answer, "done"),
        text(5, Kind::Announcement, "a new tool"),
        text(6, Kind::Question, "q2"),
    ];
    assert_eq!(repair(sound.clone()), (sound, vec![]));
}

#[test]
fn an_unanswered_question_is_closed_before_the_next() {
    let (mended, repairs) =
        repair(vec![text(1, Kind::Question, "q"), text(2, Kind::Question, "q2"), text(3, Kind::Answer, "a")]);
    assert_eq!(
        lines(&mended),
        ["Question q", "Closing [The answer was interrupted.]", "Question q2", "Answer a"]
    );
    assert_eq!(repairs, [Repair::Unanswered(MessageId(1))]);
}

#[test]
fn each_call_gets_exactly_one_result_in_call_order() {
    let (mended, repairs) = repair(vec![
        text(1, Kind::Question, "q"),
        calls(2, &["a", "b", "c"]),
        results(3, &["c", "x", "a", "a"]),
        text(4, Kind::Answer, "done"),
    ]);
    assert_eq!(
        lines(&mended),
        [
            "Question q",
            "Call call a, call b, call c",
            "Results a: of a, b: [The tool call was interrupted.], c: of c",
            "Answer done",
        ]
    );
    assert_eq!(repairs, [Repair::MissingResult(MessageId(2)), Repair::OrphanResult(MessageId(3))]);
}

#[test]
fn i4_calls_that_share_an_id_keep_a_result_each() {
    let branch = vec![
        text(1, Kind::Question, "q"),
        calls(2, &["c1", "c1"]),
        results(3, &["c1", "c1"]),
        text(4, Kind::Answer, "a"),
    ];
    let (mended, repairs) = repair(branch.clone());
    assert_eq!((mended, repairs), (branch, vec![]));
}

#[test]
fn leading_double_and_empty_assistant_messages_are_mended() {
    let (mended, repairs) = repair(vec![
        text(1, Kind::Answer, "nobody asked"),
        text(2, Kind::Question, "q"),
        text(3, Kind::Answer, "first"),
        text(4, Kind::Answer, " \n"),
        results(5, &["z"]),
    ]);
    assert_eq!(lines(&mended), ["Question q", "Answer  \n, [The answer was interrupted.]"]);
    assert_eq!(
        repairs,
        [
            Repair::LeadingAssistant(MessageId(1)),
            Repair::OrphanResult(MessageId(5)),
            Repair::Empty(MessageId(4)),
            Repair::DoubleAnswer(MessageId(3)),
        ]
    );
}

fn any_message() -> impl Strategy<Value = Message> {
    let ids = prop::sample::subsequence(vec!["a", "b", "c"], 0..=3);
    prop_oneof![
        "[a-c ]{0,3}".prop_map(|t| text(1, Kind::Question, &t)),
        "[a-c ]{0,3}".prop_map(|t| text(2, Kind::Answer, &t)),
        "[a-c ]{0,3}".prop_map(|t| text(3, Kind::Closing, &t)),
        "[a-c]{1,3}".prop_map(|t| text(4, Kind::Steer, &t)),
        "[a-c]{1,3}".prop_map(|t| text(5, Kind::Announcement, &t)),
        ids.clone().prop_map(|ids| calls(6, &ids)),
        ids.prop_map(|ids| results(7, &ids)),
        Just(message(8, Kind::Answer, vec![Block::reasoning("r")])),
    ]
}

proptest! {
    #[test]
    fn i4_i5_whatever_was_stored_comes_out_paired_alternating_and_stable(
        stored in prop::collection::vec(any_message(), 0..14)
    ) {
        let (mended, _) = repair(stored);
        prop_assert!(mended.first().is_none_or(|first| first.role() == Role::User));
        for pair in mended.windows(2) {
            let together = pair[0].role() == Role::User && may_stand_together(&pair[0], &pair[1]);
            prop_assert!(pair[0].role() != pair[1].role() || together, "{:?}", lines(&mended));
            let wanted: Vec<_> = pair[0].calls().map(|call| call.id.clone()).collect();
            let given: Vec<_> = pair[1].results().map(|result| result.call_id.clone()).collect();
            prop_assert_eq!(wanted, given);
        }
        let (again, repairs) = repair(mended.clone());
        prop_assert_eq!(again, mended);
        prop_assert_eq!(repairs, vec![]);
    }
}
