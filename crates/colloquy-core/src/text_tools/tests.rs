use super::*;
use crate::{
    block::{Image, Reasoning, Skill, ValueBlock},
    fixtures::{call, result},
    message::Role,
    tool::ToolDefinition,
};

fn turn(role: Role, blocks: Vec<Block>) -> Arc<PreparedTurn> {
    let n_stable = blocks.len();
    Arc::new(PreparedTurn { role, blocks, n_stable })
}

fn text(text: &str) -> Block {
    Block::Text(text.to_owned())
}

fn tool(name: &str) -> ToolDefinition {
    ToolDefinition { name: name.into(), description: "d".into(), schema: Some("{}".into()) }
}

#[test]
fn the_tools_of_the_head_stand_under_one_heading_behind_the_system_text() {
    let prepared = PreparedConversation {
        system: "Be brief.".into(),
        palette: vec![tool("a"), tool("b")],
        cache_system: true,
        ..PreparedConversation::default()
    };
    let flat = flatten(&prepared);
    let expected =
        "Be brief.\n\nAvailable tools:\n\na: d\n  Input parameters: {}\n\nb: d\n  Input parameters: {}";
    assert_eq!(flat.system, expected);
    assert!(flat.palette.is_empty() && flat.cache_system);

    let without_text = flatten(&PreparedConversation { system: String::new(), ..prepared });
    assert!(without_text.system.starts_with("Available tools:\n\na: d"), "{}", without_text.system);
}

#[test]
fn a_conversation_without_tools_has_no_heading() {
    let prepared = PreparedConversation { system: "Be brief.".into(), ..PreparedConversation::default() };
    assert_eq!(flatten(&prepared), prepared);
}

#[test]
fn every_tool_block_becomes_one_text_where_it_stood() {
    let skill = Skill { name: "charts".into(), description: "when".into(), body: "how".into() };
    let value = ValueBlock { type_name: "T".into(), json: "1".into(), shown: "2".into() };
    let blocks = vec![
        text("so"),
        call("c1", "search", r#"{"q":1}"#),
        result("c1", "[3]"),
        Block::ToolDefinition(tool("late")),
        Block::Json("{}".into()),
        Block::Value(value),
        Block::Skill(skill),
        text("then"),
    ];
    let mixed = Arc::new(PreparedTurn { role: Role::User, blocks, n_stable: 7 });
    let flat = flatten(&PreparedConversation { turns: vec![mixed], ..PreparedConversation::default() });
    let texts: Vec<&str> = flat.turns[0].blocks.iter().filter_map(Block::as_text).collect();
    let expected = [
        "so",
        r#"[Tool Use search] {"q":1}"#,
        "[Tool Result c1] [3]",
        "late: d\n  Input parameters: {}",
        "{}",
        "2",
        "[Skill: charts]\nhow",
        "then",
    ];
    assert_eq!(texts, expected);
    assert_eq!(flat.turns[0].n_stable, 7, "the volatile tail begins where it did");
}

#[test]
fn a_turn_that_needs_no_text_form_is_shared() {
    let image = Image { media_type: "image/png".into(), bytes: vec![1].into(), description: None };
    let signed = Reasoning { text: "hm".into(), signature: Some("s".into()) };
    let blocks = vec![text("look"), Block::Image(image), Block::Reasoning(signed)];
    let turns = vec![turn(Role::User, blocks), turn(Role::Assistant, vec![call("c", "t", "{}")])];
    let prepared = PreparedConversation { turns, ..PreparedConversation::default() };
    let flat = flatten(&prepared);
    assert!(Arc::ptr_eq(&flat.turns[0], &prepared.turns[0]));
    assert!(!Arc::ptr_eq(&flat.turns[1], &prepared.turns[1]));
}
