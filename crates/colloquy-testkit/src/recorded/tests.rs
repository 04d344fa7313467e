use std::sync::Arc;

use colloquy_core::{
    block::{Block, File, Image, Reasoning, Skill, ToolCall, ToolResult, ValueBlock},
    message::Role,
    prepare::{PreparedConversation, PreparedTurn},
    tool::ToolDefinition,
};

use super::Recorded;

fn conversation(system: &str, turns: Vec<PreparedTurn>) -> PreparedConversation {
    let turns = turns.into_iter().map(Arc::new).collect();
    PreparedConversation { system: system.into(), turns, ..PreparedConversation::default() }
}

fn turn(role: Role, blocks: Vec<Block>) -> PreparedTurn {
    PreparedTurn { role, n_stable: blocks.len(), blocks }
}

fn talk() -> Vec<PreparedTurn> {
    let text = |text: &str| vec![Block::Text(text.into())];
    vec![turn(Role::User, text("two\nlines")), turn(Role::Assistant, text(r"a \n of its own"))]
}

#[test]
fn each_message_is_one_line_and_line_breaks_are_told_from_backslashes() {
    insta::assert_snapshot!(Recorded(&conversation("Be brief.", talk())).to_string(), @r"
    01 system Be brief.
    02 user two\nlines
    03 assistant a \\n of its own
    ");
}

#[test]
fn an_empty_system_text_has_no_line() {
    insta::assert_snapshot!(Recorded(&conversation("", talk())).to_string(), @r"
    01 user two\nlines
    02 assistant a \\n of its own
    ");
}

#[test]
fn each_block_has_a_line_under_the_number_of_its_message() {
    let search = ToolDefinition { name: "search".into(), description: "Finds.".into(), schema: None };
    let skill = Skill { name: "sums".into(), description: String::new(), body: "Add up.".into() };
    let call = ToolCall { id: "c1".into(), name: "search".into(), input: r#"{"for":"x"}"#.into() };
    let result = |is_error| ToolResult { call_id: "c1".into(), text: "none".into(), is_error };
    let asked = vec![
        Block::Image(Image {
            media_type: "image/png".into(),
            bytes: Arc::from(*b"png"),
            description: Some("a cat".into()),
        }),
        Block::File(File {
            media_type: "application/pdf".into(),
            bytes: Arc::from(*b"pdf!"),
            name: "a.pdf".into(),
        }),
        Block::Json("[1]".into()),
        Block::Value(ValueBlock { type_name: "Sum".into(), json: "2".into(), shown: "two".into() }),
    ];
    let thought = vec![
        Block::Reasoning(Reasoning { text: "hm".into(), signature: Some("proof".into()) }),
        Block::reasoning("aha"),
        Block::RedactedReasoning("c2Vj".into()),
        Block::ToolCall(call),
    ];
    let results = vec![
        Block::ToolResult(result(false)),
        Block::ToolResult(result(true)),
        Block::ToolDefinition(ToolDefinition { name: "late".into(), ..search.clone() }),
        Block::Skill(skill.clone()),
        Block::Text("Answer as JSON.".into()),
    ];
    let turns = vec![
        turn(Role::User, asked),
        turn(Role::Assistant, thought),
        PreparedTurn { n_stable: 4, ..turn(Role::User, results) },
    ];
    let seen = PreparedConversation {
        skills: vec![skill],
        palette: vec![search],
        ..conversation("Be brief.", turns)
    };
    insta::assert_snapshot!(Recorded(&seen).to_string(), @r#"
       skill sums Add up.
       tool search: Finds.
    01 system Be brief.
    02 user image image/png 3 bytes a cat
    02 user file application/pdf 4 bytes a.pdf
    02 user json [1]
    02 user value Sum two
    03 assistant reasoning (proof) hm
    03 assistant reasoning (unsigned) aha
    03 assistant redacted reasoning c2Vj
    03 assistant call c1 search {"for":"x"}
    04 user result c1 none
    04 user error c1 none
    04 user tool late: Finds.
    04 user skill sums Add up.
    04 user ~ Answer as JSON.
    "#);
}
