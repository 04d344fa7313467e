use std::sync::Arc;

use colloquy_core::{
    block::{Block, Reasoning, ToolCall, ToolResult, ValueBlock},
    message::Role::{self, Assistant, User},
    prepare::{PreparedConversation, PreparedTurn},
};

use super::fault;

/// A turn: who speaks, and what is said.
type Turn<'a> = (Role, &'a [Block]);

fn text(text: &str) -> Block {
    Block::Text(text.into())
}

fn call(id: &str) -> Block {
    Block::ToolCall(ToolCall { id: id.into(), name: "search".into(), input: "{}".into() })
}

fn result(call_id: &str) -> Block {
    Block::ToolResult(ToolResult { call_id: call_id.into(), text: "found".into(), is_error: false })
}

fn check(turns: &[Turn<'_>]) -> Option<String> {
    let turn = |(role, blocks): &Turn<'_>| {
        Arc::new(PreparedTurn { role: *role, blocks: blocks.to_vec(), n_stable: blocks.len() })
    };
    fault(&PreparedConversation {
        turns: turns.iter().map(turn).collect(),
        ..PreparedConversation::default()
    })
}

#[test]
fn what_real_servers_take_is_taken() {
    let signed = Block::Reasoning(Reasoning { text: "hm".into(), signature: Some("proof".into()) });
    let turns: &[Turn<'_>] = &[
        (User, &[text("announcement")]),
        (User, &[text("question")]),
        (Assistant, &[signed, text("let me see"), call("c1"), call("c2")]),
        (User, &[result("c2"), result("c1"), text("instructions")]),
        (User, &[text("registry")]),
        (Assistant, &[call("c1")]),
        (User, &[result("c1")]),
    ];
    assert_eq!(check(turns), None);
}

#[test]
fn each_broken_rule_is_named_with_its_turn() {
    let asked: Turn<'_> = (User, &[text("q")]);
    let called: Turn<'_> = (Assistant, &[call("c1"), call("c2")]);
    let nameless = Block::ToolCall(ToolCall { id: "c1".into(), name: String::new(), input: "{}".into() });
    let value = Block::Value(ValueBlock { type_name: "T".into(), json: "1".into(), shown: "1".into() });
    let cases: [(&[Turn<'_>], &str); 16] = [
        (&[], "there is no turn in it"),
        (&[(Assistant, &[text("a")]), asked], "it starts with an assistant turn"),
        (&[asked, (Assistant, &[text("a")])], "it ends with an assistant turn"),
        (
            &[asked, (Assistant, &[text("a")]), (Assistant, &[text("b")]), asked],
            "turn 3 follows another assistant turn",
        ),
        (&[asked, (User, &[])], "turn 2 is empty"),
        (&[(User, &[text(" \n")])], "turn 1 holds blank text"),
        (&[(User, &[value])], "turn 1 holds a typed value"),
        (&[(User, &[call("c1")])], "turn 1 is a user's and calls a tool"),
        (&[(User, &[Block::reasoning("hm")])], "turn 1 is a user's and reasons"),
        (&[asked, (Assistant, &[result("c1")]), asked], "turn 2 is an assistant's and holds a result"),
        (&[asked, (Assistant, &[nameless]), asked], "turn 2 has a call without an identifier or a name"),
        (&[asked, (Assistant, &[call("c1"), call("c1")]), asked], "turn 2 has two calls c1"),
        (&[asked, called, (User, &[result("c1")])], "turn 3 lacks the result of c2"),
        (&[(User, &[result("c9")])], "turn 1 has the result of c9, which the turn before it does not call"),
        (
            &[asked, called, (User, &[result("c1"), result("c2"), result("c1")])],
            "turn 3 has two results of c1",
        ),
        (
            &[asked, called, (User, &[result("c1"), text("between"), result("c2")])],
            "turn 3 has something before its results",
        ),
    ];
    for (turns, expected) in cases {
        let found = check(turns).unwrap_or_else(|| panic!("not found: {expected}"));
        assert!(found.starts_with(expected), "{found} is not {expected}");
    }
}

#[test]
fn a_result_that_comes_a_turn_too_late_is_missed_where_it_belongs() {
    let turns: &[Turn<'_>] =
        &[(User, &[text("q")]), (Assistant, &[call("c1")]), (User, &[text("wait")]), (User, &[result("c1")])];
    let found = check(turns).unwrap();
    assert!(found.starts_with("turn 3 lacks the result of c1"), "{found}");
}
