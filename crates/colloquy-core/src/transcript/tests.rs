use super::*;
use crate::{
    block::{File, Image, Reasoning, Skill, ToolResult, ValueBlock},
    fixtures::{call, message, said},
    tool::ToolDefinition,
};

fn image() -> Block {
    Block::Image(Image { media_type: "image/png".into(), bytes: vec![1].into(), description: None })
}

// behaviours: 268
#[test]
fn everything_that_was_said_stands_under_its_role_in_order() {
    let failed = ToolResult { call_id: "c1".into(), text: "no such page".into(), is_error: true };
    let skill = Skill { name: "charts".into(), description: "when".into(), body: "how".into() };
    let value =
        ValueBlock { type_name: "T".into(), json: r#"{"whole":1}"#.into(), shown: r#"{"short":1}"#.into() };
    let file = File { media_type: "application/pdf".into(), bytes: vec![].into(), name: "a.pdf".into() };
    let branch = [
        message(Kind::Question, vec![Block::Text("look".into()), image(), Block::File(file)]),
        message(Kind::Call, vec![Block::Text("I will".into()), call("c1", "fetch", r#"{"u":1}"#)]),
        message(Kind::Results, vec![Block::ToolResult(failed), Block::Skill(skill)]),
        message(Kind::Answer, vec![Block::Value(value), Block::Json("[2]".into())]),
    ];
    let expected = "[user]\nlook\n<image image/png>\n<file a.pdf>\n\n\
                    [assistant]\nI will\n<tool call fetch id=c1> {\"u\":1}\n\n\
                    [user]\n<tool result id=c1 error> no such page\n<skill charts>\n\n\
                    [assistant]\n{\"whole\":1}\n[2]";
    assert_eq!(render(&branch), expected);
}

// behaviours: 269
#[test]
fn neither_reasoning_nor_tool_schemas_are_shown() {
    let tool = ToolDefinition { name: "t".into(), description: "d".into(), schema: Some("{}".into()) };
    let reasoning = Reasoning { text: "hm".into(), signature: Some("sig".into()) };
    let branch = [
        message(Kind::Announcement, vec![Block::Text("more".into()), Block::ToolDefinition(tool)]),
        message(
            Kind::Answer,
            vec![
                Block::Reasoning(reasoning),
                Block::RedactedReasoning("opaque".into()),
                Block::Text("yes".into()),
            ],
        ),
    ];
    assert_eq!(render(&branch), "[user]\nmore\n\n[assistant]\nyes");
}

// behaviours: 241
#[test]
fn the_first_utterance_is_a_persons_and_not_the_programs() {
    let preamble = Message { app_authored: true, ..said(Kind::Question, "Be kind.") };
    let branch = [
        preamble.clone(),
        said(Kind::Answer, "Gladly."),
        said(Kind::Announcement, "a tool"),
        said(Kind::Steer, "How tall is it?"),
        said(Kind::Question, "And now?"),
    ];
    let first = first_utterance(&branch);
    assert_eq!(first.map(Message::text).as_deref(), Some("How tall is it?"));
    assert_eq!(first_utterance(&[preamble]), None);
}
