use proptest::prelude::*;

use super::*;
use crate::{
    block::{Block, ToolCall},
    fixtures::message,
};

fn question() -> Message {
    message(Kind::Question, vec![Block::Text("q".into())])
}

fn answer() -> Message {
    message(Kind::Answer, vec![Block::Text("a".into())])
}

fn calls(ids: &[&str]) -> Message {
    let call =
        |id: &&str| Block::ToolCall(ToolCall { id: (*id).into(), name: "clock".into(), input: "{}".into() });
    message(Kind::Call, ids.iter().map(call).collect())
}

fn result(id: &str) -> ToolResult {
    ToolResult { call_id: id.into(), text: format!("result of {id}"), is_error: false }
}

fn results(ids: &[&str]) -> Message {
    message(Kind::Results, ids.iter().map(|id| Block::ToolResult(result(id))).collect())
}

fn text(text: &str) -> Option<Closing> {
    Some(Closing { results: Vec::new(), text: text.into() })
}

#[test]
fn a_closed_history_is_left_alone() {
    assert_eq!(closing(&[], &[], "x"), None);
    assert_eq!(closing(&[question(), answer()], &[], "x"), None);
    assert_eq!(closing(&[question(), message(Kind::Closing, Vec::new())], &[], "x"), None);
}

#[test]
fn a_question_is_closed_by_what_was_streamed() {
    assert_eq!(closing(&[question()], &[], "Half an ans"), text("Half an ans"));
}

#[test]
fn a_blank_stream_becomes_the_interrupted_line() {
    for blank in ["", " \n\u{2003}"] {
        assert_eq!(closing(&[question()], &[], blank), text("[The answer was interrupted.]"));
    }
}

#[test]
fn each_open_call_gets_one_result_in_the_order_of_the_calls() {
    let committed = [question(), calls(&["c1", "c2", "c3"]), results(&["c3"])];
    let closed = closing(&committed, &[], "").unwrap();
    assert_eq!(closed.results, [ToolResult::interrupted("c1"), ToolResult::interrupted("c2")]);
}

#[test]
fn a_run_that_finished_gives_its_own_result() {
    let committed = [question(), calls(&["c1", "c2"])];
    let closed = closing(&committed, &[result("c2"), result("other")], "").unwrap();
    assert_eq!(closed.results, [ToolResult::interrupted("c1"), result("c2")]);
}

#[test]
fn a_steering_message_behind_the_results_leaves_the_calls_answered() {
    let committed = [question(), calls(&["c1"]), results(&["c1"]), message(Kind::Steer, Vec::new())];
    assert_eq!(closing(&committed, &[], "t"), text("t"));
}

#[test]
fn a_call_before_a_later_question_gets_no_result_out_of_place() {
    assert_eq!(closing(&[question(), calls(&["c1"]), question()], &[], "t"), text("t"));
}

fn any_message() -> impl Strategy<Value = Message> {
    let ids = prop::collection::vec(prop::sample::select(&["c1", "c2", "c3"][..]), 1..3);
    prop_oneof![
        Just(question()),
        Just(answer()),
        ids.clone().prop_map(|ids| calls(&ids)),
        ids.prop_map(|ids| results(&ids)),
        Just(message(Kind::Steer, Vec::new())),
    ]
}

proptest! {
    #[test]
    fn closing_twice_is_closing_once(
        mut committed in prop::collection::vec(any_message(), 0..8),
        streamed in any::<String>(),
    ) {
        if let Some(closed) = closing(&committed, &[], &streamed) {
            prop_assert!(!closed.text.trim().is_empty());
            if !closed.results.is_empty() {
                let blocks = closed.results.into_iter().map(Block::ToolResult).collect();
                committed.push(message(Kind::Results, blocks));
            }
            committed.push(message(Kind::Closing, vec![Block::Text(closed.text)]));
        }
        prop_assert_eq!(closing(&committed, &[], &streamed), None);
    }

    #[test]
    fn a_closed_step_has_a_result_for_each_call(
        ids in prop::collection::hash_set("c[0-9]", 1..6),
        n_answered in 0_usize..6,
        n_finished in 0_usize..6,
    ) {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let answered = &ids[..n_answered.min(ids.len())];
        let finished: Vec<ToolResult> = ids.iter().rev().take(n_finished).map(|id| result(id)).collect();
        let mut committed = vec![question(), calls(&ids)];
        if !answered.is_empty() {
            committed.push(results(answered));
        }
        let closed = closing(&committed, &finished, "").unwrap();
        let paired: Vec<&str> =
            answered.iter().copied().chain(closed.results.iter().map(|result| result.call_id.as_str())).collect();
        prop_assert_eq!(paired, ids);
        for found in &closed.results {
            let has_finished = finished.iter().any(|result| result.call_id == found.call_id);
            prop_assert_eq!(found.is_error, !has_finished);
        }
    }
}
