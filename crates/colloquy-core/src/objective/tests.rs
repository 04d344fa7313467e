use proptest::prelude::*;

use super::*;
use crate::block::{Reasoning, ValueBlock};

fn text(text: &str) -> Block {
    Block::Text(text.to_owned())
}

fn keys(objective: &Objective) -> Vec<&str> {
    objective.iter().map(|(key, _)| key).collect()
}

// behaviours: 1
#[test]
fn a_slot_that_is_put_again_keeps_its_place() {
    let mut objective = Objective::default();
    objective.put("a", text("one"));
    objective.put("b", text("two"));
    objective.put("a", text("three"));
    assert_eq!(objective.text(), "three\n\ntwo");
    assert_eq!(keys(&objective), ["a", "b"]);
}

// behaviours: 11
#[test]
fn a_blank_value_makes_no_slot_and_leaves_one_as_it_is() {
    let mut objective = Objective::default();
    for blank in [text(""), text(" \n\t"), Block::Json(String::new())] {
        objective.put("task", blank);
    }
    assert!(objective.is_empty() && objective.find("task").is_none());
    objective.put("task", text("do"));
    objective.put("task", text(""));
    assert_eq!(objective.find("task"), Some(&text("do")));
}

// behaviours: 13
#[test]
fn no_key_is_in_the_text() {
    let mut objective = Objective::default();
    objective.put("task", text("Do this."));
    objective.put("context", Block::Json("{}".into()));
    assert_eq!(objective.text(), "Do this.\n\n{}");
}

#[test]
fn a_value_shows_its_short_form_and_tools_and_skills_stand_apart() {
    let tool = ToolDefinition { name: "t".into(), description: "d".into(), schema: None };
    let skill = Skill { name: "s".into(), description: String::new(), body: "b".into() };
    let value =
        ValueBlock { type_name: "T".into(), json: r#"{"long":1}"#.into(), shown: r#"{"short":1}"#.into() };
    let mut objective = Objective::default();
    objective.put("tool:t", Block::ToolDefinition(tool.clone()));
    objective.put("value", Block::Value(value));
    objective.put("skill:s", Block::Skill(skill.clone()));
    objective.put("thought", Block::Reasoning(Reasoning::default()));
    assert_eq!(objective.text(), r#"{"short":1}"#);
    assert_eq!(objective.tools().collect::<Vec<_>>(), [&tool]);
    assert_eq!(objective.skills().collect::<Vec<_>>(), [&skill]);
}

#[test]
fn values_are_alike_when_the_model_could_not_tell_them_apart() {
    let value =
        |json: &str| Block::Value(ValueBlock { type_name: "T".into(), json: json.into(), shown: "x".into() });
    assert!(renders_alike(&value("1"), &value("2")));
    assert!(renders_alike(&value("1"), &text("x")));
    assert!(!renders_alike(&text("y"), &text("x")));
    let tool =
        Block::ToolDefinition(ToolDefinition { name: "x".into(), description: "d".into(), schema: None });
    assert!(renders_alike(&tool, &tool.clone()));
    assert!(!renders_alike(&tool, &text("x: d")), "one is offered as a tool, the other is read");
}

proptest! {
    #[test]
    fn keys_are_unique_and_stand_in_the_order_of_their_first_put(
        puts in prop::collection::vec(("[abc]", "[a-z ]{0,3}"), 0..12),
    ) {
        let mut objective = Objective::default();
        let mut expected: Vec<(String, String)> = Vec::new();
        for (key, value) in puts {
            objective.put(&key, text(&value));
            if value.trim().is_empty() {
                continue;
            }
            match expected.iter_mut().find(|(known, _)| *known == key) {
                Some((_, held)) => *held = value,
                None => expected.push((key, value)),
            }
        }
        let found = objective.iter().map(|(key, value)| (key.to_owned(), value.as_text().unwrap_or_default().to_owned()));
        prop_assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}
