use colloquy_core::{
    block::{ToolCall, ToolResult},
    message::{MessageId, TurnId, Uid},
    turn::FailureCode,
};
use serde_json::json;

use super::*;

fn stored(id: i64, kind: Kind, blocks: Vec<Block>) -> StoredMessage {
    StoredMessage {
        message: Message {
            id: MessageId(id),
            uid: Uid([0; 16]),
            parent_id: (id > 1).then_some(MessageId(id - 1)),
            depth: 0,
            turn_id: TurnId(1),
            step: 0,
            kind,
            app_authored: false,
            compactable: true,
            blocks,
            origin: None,
            usage: None,
            finish_reason: None,
            created_at: 0,
            redacted_at: None,
        },
        starred: false,
        turn_uid: Uid([1; 16]),
        outcome: Some(Outcome::Answered),
        error: None,
        siblings: vec![MessageId(id)],
    }
}

fn text(text: &str) -> Block {
    Block::Text(text.into())
}

fn thought(text: &str) -> Block {
    Block::reasoning(text)
}

fn turn_with_a_tool() -> Vec<StoredMessage> {
    let call = ToolCall { id: "c1".into(), name: "clock".into(), input: r#"{"zone":"UTC"}"#.into() };
    let result = ToolResult { call_id: "c1".into(), text: "noon".into(), is_error: false };
    vec![
        stored(1, Kind::Question, vec![text("What time is it?")]),
        stored(2, Kind::Call, vec![thought("A clock."), text("Let me look."), Block::ToolCall(call)]),
        stored(3, Kind::Results, vec![Block::ToolResult(result)]),
        stored(4, Kind::Answer, vec![thought("Noon."), text("It is noon.")]),
    ]
}

#[test]
fn steps_become_the_trace_of_their_answer() {
    let shown = shown(ConversationId(9), turn_with_a_tool());
    let rows: Vec<_> = shown.iter().map(|row| (row.id, row.sender, row.content.as_str())).collect();
    assert_eq!(rows, [(1, "user", "What time is it?"), (4, "llm", "It is noon.")]);
    let trace = json!([
        { "t": "thinking", "text": "A clock." },
        { "t": "thinking", "text": "Let me look." },
        { "t": "tool_call", "name": "clock", "args": { "zone": "UTC" } },
        { "t": "tool_result", "name": "clock", "text": "noon" },
        { "t": "thinking", "text": "Noon." },
    ]);
    assert_eq!((shown[0].trace.as_ref(), shown[1].trace.as_ref()), (None, Some(&trace)));
}

#[test]
fn a_trace_never_reaches_into_the_next_turn() {
    let mut branch = turn_with_a_tool();
    branch.push(stored(5, Kind::Question, vec![text("Sure?")]));
    branch.push(stored(6, Kind::Answer, vec![text("Yes.")]));
    assert_eq!(shown(ConversationId(9), branch)[3].trace, None);
}

#[test]
fn a_failed_turn_has_no_trace() {
    let mut branch = turn_with_a_tool();
    branch[3].outcome = Some(Outcome::Failed(FailureCode::Model));
    let shown = shown(ConversationId(9), branch);
    assert_eq!((shown[1].trace.as_ref(), shown[1].outcome), (None, Some("failed")));
}

#[test]
fn what_the_program_asked_is_nobodys_message() {
    let mut asked = stored(1, Kind::Question, vec![text("go on")]);
    asked.message.app_authored = true;
    let branch = vec![asked, stored(2, Kind::Closing, vec![text("[ERROR_MESSAGE_SYSTEM] sorry")])];
    let shown = shown(ConversationId(9), branch);
    assert_eq!((shown.len(), shown[0].id, shown[0].sender), (1, 2, "llm"));
}

#[test]
fn a_long_trace_is_capped_and_says_so() {
    let branch = vec![
        stored(1, Kind::Question, vec![text("Why?")]),
        stored(
            2,
            Kind::Answer,
            vec![thought(&"a".repeat(20_000)), thought(&"b".repeat(20_000)), text("So.")],
        ),
    ];
    let shown = shown(ConversationId(9), branch);
    let trace = shown[1].trace.as_ref().unwrap().as_array().unwrap();
    assert_eq!((trace.len(), &trace[0]), (2, &json!({ "t": "truncated" })));
}
