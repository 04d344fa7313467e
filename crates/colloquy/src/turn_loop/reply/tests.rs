use super::*;

fn call(id: &str, name: &str) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), input: "{}".into() }
}

fn signed(text: &str, signature: &str) -> Block {
    Block::Reasoning(Reasoning { text: text.into(), signature: Some(signature.into()) })
}

#[test]
fn pieces_of_a_kind_become_one_block_and_calls_stand_last() {
    let mut reply = Reply::new(Telling::Live);
    reply.reasoning("let me ".into());
    reply.reasoning("see".into());
    reply.call(call("c1", "search"));
    assert_eq!(reply.text("Wait"), [StreamEvent::Answer("Wait".into())]);
    reply.text(" a bit.");
    reply.flush();
    let expected = [
        Block::reasoning("let me see"),
        Block::Text("Wait a bit.".into()),
        Block::ToolCall(call("c1", "search")),
    ];
    assert_eq!(reply.blocks(), expected);
    assert_eq!(reply.shown(), expected[..2]);
}

#[test]
fn a_signature_ends_its_reasoning_and_may_come_without_any() {
    let mut reply = Reply::new(Telling::Live);
    reply.reasoning("first".into());
    reply.signature("s1".into());
    reply.reasoning("second".into());
    reply.signature("s2".into());
    reply.signature("s3".into());
    reply.redacted("blob".into());
    let expected = [
        signed("first", "s1"),
        signed("second", "s2"),
        signed("", "s3"),
        Block::RedactedReasoning("blob".into()),
    ];
    assert_eq!(reply.blocks(), expected);
    assert!(reply.has_reasoning() && !reply.has_text());
}

#[test]
fn i4_a_call_without_an_identifier_of_its_own_gets_one_from_its_name_and_place() {
    let mut reply = Reply::new(Telling::Live);
    reply.call(call("c1", "search"));
    reply.call(call("", "search"));
    reply.call(call("c1", "search"));
    reply.call(call("search#3", "search"));
    let ids: Vec<String> =
        reply.blocks().iter().filter_map(Block::as_call).map(|call| call.id.clone()).collect();
    assert_eq!(ids, ["c1", "search#2", "search#3", "search#4"]);
}

#[test]
fn text_that_is_read_as_a_whole_is_told_to_nobody_while_it_comes() {
    let mut reply = Reply::new(Telling::AtTheEnd);
    assert_eq!(reply.text("{\"answer\":"), []);
    assert_eq!(reply.text("<think>hm</think>1}"), [StreamEvent::Thinking("hm".into())]);
    assert_eq!(reply.flush(), []);
    assert_eq!(reply.shown(), [Block::reasoning("hm")]);
    assert!(reply.has_text());
}
