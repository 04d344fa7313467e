use std::sync::Arc;

use colloquy_core::{
    block::{Block, File, Image, Reasoning, Skill},
    message::Role,
    prepare::PreparedTurn,
    tool::ToolDefinition,
};
use serde_json::{Value, json};

use super::{CacheControl, Contents};
use crate::golden::{failed_result, text, tool_call, tool_result};

fn turn(role: Role, blocks: Vec<Block>) -> PreparedTurn {
    PreparedTurn { role, n_stable: blocks.len(), blocks }
}

/// The content of a turn, and the types of the files that were left out.
fn encode(role: Role, blocks: Vec<Block>) -> (Value, Vec<String>) {
    let turn = turn(role, blocks);
    let mut contents = Contents::default();
    let content = serde_json::to_value(contents.of_turn(&turn).content).unwrap();
    (content, contents.dropped)
}

fn content(role: Role, blocks: Vec<Block>) -> Value {
    encode(role, blocks).0
}

fn file(media_type: &str, name: &str) -> Block {
    Block::File(File { media_type: media_type.into(), bytes: Arc::from(*b"bytes"), name: name.into() })
}

fn image(media_type: &str, description: Option<&str>) -> Block {
    let description = description.map(str::to_owned);
    Block::Image(Image { media_type: media_type.into(), bytes: Arc::from(*b"bytes"), description })
}

fn said(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn source(media_type: &str) -> Value {
    json!({"type": "base64", "media_type": media_type, "data": "Ynl0ZXM="})
}

// behaviours: 183
#[test]
fn an_archive_is_left_out_with_a_warning_and_a_pdf_is_a_document() {
    let blocks =
        vec![text("Read."), file("application/zip", "all.zip"), file("application/pdf", "report.pdf")];
    let document = json!({"type": "document", "source": source("application/pdf"), "title": "report.pdf"});
    let expected = (json!([said("Read."), document]), vec!["application/zip".to_owned()]);
    assert_eq!(encode(Role::User, blocks), expected);
}

#[test]
fn a_question_that_is_nothing_but_a_file_of_another_type_is_not_lost() {
    let (content, dropped) = encode(Role::User, vec![file("application/zip", "all.zip")]);
    assert_eq!((content, dropped.len()), (json!([said("[file all.zip]")]), 1));
}

#[test]
fn pictures_go_as_such_and_those_of_a_type_that_the_api_refuses_in_words() {
    for media_type in ["image/png", "image/jpeg", "image/gif", "image/webp"] {
        let picture = json!([{"type": "image", "source": source(media_type)}]);
        assert_eq!(content(Role::User, vec![image(media_type, None)]), picture);
        assert_eq!(content(Role::User, vec![file(media_type, "a")]), picture);
    }
    for media_type in ["", "application/octet-stream"] {
        let expected = json!([{"type": "image", "source": source("image/png")}]);
        assert_eq!(content(Role::User, vec![image(media_type, None)]), expected, "{media_type:?}");
    }
    let tiff = vec![image("image/tiff", Some("a zebra")), image("image/tiff", None)];
    assert_eq!(
        content(Role::User, tiff),
        json!([said("[image image/tiff: a zebra]"), said("[image image/tiff]")])
    );
}

#[test]
fn a_model_sends_neither_pictures_nor_files() {
    let blocks = vec![image("image/png", None), file("application/pdf", "a.pdf")];
    assert_eq!(content(Role::Assistant, blocks), json!([said("[image image/png]"), said("[file a.pdf]")]));
}

#[test]
fn json_and_skills_are_text_blank_text_and_late_tools_are_nothing() {
    let skill = Skill { name: "a".into(), description: "When.".into(), body: "Do so.".into() };
    let tool = ToolDefinition { name: "late".into(), description: "Does it.".into(), schema: None };
    let blocks = vec![
        Block::Json("{\"a\": 1}".into()),
        Block::Skill(skill),
        text(""),
        text(" \n"),
        Block::ToolDefinition(tool),
    ];
    assert_eq!(content(Role::User, blocks), json!([said("{\"a\": 1}"), said("[Skill: a]\nDo so.")]));
}

#[test]
fn reasoning_goes_back_with_its_signature_byte_for_byte_and_without_one_not_at_all() {
    let signed = |text: &str, signature: Option<&str>| {
        Block::Reasoning(Reasoning { text: text.into(), signature: signature.map(str::to_owned) })
    };
    let blocks = vec![
        signed(" Hm.\n", Some("c2ln+/=")),
        signed("", Some("b25seQ==")),
        signed("unsigned", None),
        Block::RedactedReasoning("d2l0aA==".into()),
    ];
    let expected = json!([
        {"type": "thinking", "thinking": " Hm.\n", "signature": "c2ln+/="},
        {"type": "thinking", "thinking": "", "signature": "b25seQ=="},
        {"type": "redacted_thinking", "data": "d2l0aA=="},
    ]);
    assert_eq!(content(Role::Assistant, blocks), expected);
}

#[test]
fn the_input_of_a_call_keeps_the_bytes_that_the_model_wrote() {
    let turn =
        turn(Role::Assistant, vec![tool_call("id", "f", "\n {\"b\" :1,\"a\":1.50,\"a\":\"\\u00e4\"} ")]);
    let mut contents = Contents::default();
    let sent = serde_json::to_string(&contents.of_turn(&turn).content).unwrap();
    let expected = r#"[{"type":"tool_use","id":"id","name":"f","input":{"b" :1,"a":1.50,"a":"\u00e4"}}]"#;
    assert_eq!(sent, expected);
}

#[test]
fn an_input_that_is_no_object_is_sent_as_one_that_shows_it() {
    for blank in ["", " \n"] {
        assert_eq!(content(Role::Assistant, vec![tool_call("id", "f", blank)])[0]["input"], json!({}));
    }
    // Cut by a limit, not an object, two of them, half of a surrogate pair, deeper than anyone reads.
    let deep = format!("{{\"a\":{}", "[".repeat(200));
    for text in ["{\"city\": \"Par", "[1]", "7", "{} {}", r#"{"a":"\ud800"}"#, &deep] {
        let input = content(Role::Assistant, vec![tool_call("id", "f", text)])[0]["input"].clone();
        assert_eq!(input, json!({"unparsed": text}));
    }
}

#[test]
fn results_come_before_what_a_person_said_beside_them() {
    let mut contents = Contents::default();
    let calls = turn(Role::Assistant, vec![tool_call("a.1", "f", "{}"), tool_call("b", "f", "{}")]);
    let answers = turn(Role::User, vec![text("Wait."), tool_result("a.1", "18"), failed_result("b", " ")]);
    let (calls, answers) = (contents.of_turn(&calls), contents.of_turn(&answers));
    let expected = json!([
        {"type": "tool_result", "tool_use_id": "a_1", "content": "18", "is_error": false},
        {"type": "tool_result", "tool_use_id": "b", "is_error": true},
        said("Wait."),
    ]);
    assert_eq!(serde_json::to_value(&answers.content).unwrap(), expected);
    assert_eq!(serde_json::to_value(&calls.content).unwrap()[0]["id"], "a_1");
    assert_eq!((answers.outline().has_results, calls.outline().has_results), (true, false));
}

// behaviours: 175
#[test]
fn a_turn_anchors_on_the_last_block_that_the_next_request_holds_again() {
    fn check(role: Role, blocks: Vec<Block>, n_stable: usize, anchor: Option<usize>) {
        let turn = PreparedTurn { role, blocks, n_stable };
        assert_eq!(Contents::default().of_turn(&turn).outline().anchor, anchor, "{turn:?}");
    }
    let signed = Block::Reasoning(Reasoning { text: "Hm.".into(), signature: Some("c2ln".into()) });
    check(Role::User, vec![image("image/png", None), text("one"), text("two")], 3, Some(2));
    check(Role::User, vec![image("image/png", None), text("one"), text("how to answer")], 2, Some(1));
    check(Role::User, vec![text("registry")], 0, None);
    check(Role::User, vec![tool_result("a", "18"), tool_result("b", "")], 2, Some(0));
    check(Role::Assistant, vec![signed.clone(), tool_call("a", "f", "{}")], 2, Some(1));
    check(Role::Assistant, vec![signed, Block::RedactedReasoning("d2l0aA==".into())], 2, None);
    // A block that is not sent is not counted.
    check(Role::User, vec![text(" "), text("one"), text("how to answer")], 2, Some(0));
    check(Role::User, vec![text("how to answer"), tool_result("a", "18")], 0, None);
}

#[test]
fn a_mark_is_the_last_member_of_its_block() {
    let turn = turn(Role::User, vec![text("one")]);
    let mut contents = Contents::default();
    let mut encoded = contents.of_turn(&turn);
    encoded.content[0].cache_control = Some(CacheControl::Ephemeral);
    let sent = serde_json::to_string(&encoded.content).unwrap();
    assert_eq!(sent, r#"[{"type":"text","text":"one","cache_control":{"type":"ephemeral"}}]"#);
}
