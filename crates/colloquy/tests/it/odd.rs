//! What programs do that nobody plans for.

use std::collections::BTreeMap;

use async_trait::async_trait;
use colloquy::{
    AskError, ConversationError,
    core::message::FinishReason,
    schemars::{self, JsonSchema},
    tool::{Tool, ToolContext, ToolError},
};
use colloquy_testkit::{
    gate::Gate,
    scripted::{Script, ScriptedModels},
};
use serde::{Deserialize, Serialize};

use crate::program::{Echo, Program, echo};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// Declares another tool in the middle of its turn.
struct Opens;

#[async_trait]
impl Tool for Opens {
    type Input = Nothing;
    type Output = String;

    fn name(&self) -> &str {
        "open_toolbox"
    }

    fn description(&self) -> String {
        "Opens the toolbox".into()
    }

    async fn call(&self, _input: Nothing, context: ToolContext) -> Result<String, ToolError> {
        context.declare(Echo::default()).map_err(|error| ToolError::Failed(error.to_string()))?;
        Ok("open".into())
    }
}

#[tokio::test]
async fn a_tool_may_declare_another_and_the_model_is_told_before_its_next_call() {
    let models = ScriptedModels::new([
        Script::new().call("c1", "open_toolbox", "").finish(FinishReason::ToolCalls),
        Script::new().call("c2", "echo", &echo("hi")).finish(FinishReason::ToolCalls),
        Script::answer("done"),
    ]);
    let program = Program::new(models).await;
    program.conversation.declare(Opens).unwrap();
    program.conversation.ask("Go.").await.unwrap();
    let lines = program.lines().await;
    assert_eq!(lines[2], "Results: result c1 \"open\"");
    assert!(lines[3].starts_with("Announcement: ") && lines[3].ends_with("tool echo"), "{lines:#?}");
    assert_eq!(lines[5], "Results: result c2 \"hi\"");
    let calls = program.calls();
    assert_eq!(calls[0].prepared.palette, calls[2].prepared.palette);
    assert_eq!(calls[2].prepared.all_tools().len(), 2);
}

#[tokio::test]
async fn a_stop_ends_tools_that_never_return_and_keeps_what_was_accepted() {
    let gate = Gate::new();
    let models = ScriptedModels::new([
        Script::new().call("c1", "echo", &echo("a")).finish(FinishReason::ToolCalls),
        Script::answer("next"),
    ]);
    let program = Program::new(models).await;
    program.conversation.declare(Echo { gate: Some(gate.clone()), ..Echo::default() }).unwrap();
    let asked = tokio::spawn({
        let conversation = program.conversation.clone();
        async move { conversation.ask("Go.").await }
    });
    gate.reached().await;
    program.conversation.steer("One more thing.").await.unwrap();
    program.conversation.stop().await.unwrap();
    assert!(matches!(asked.await.unwrap(), Err(ConversationError::Stopped)));
    let lines = program.lines().await;
    assert_eq!(lines[2], "Results: error c1 [The tool call was interrupted.]");
    assert_eq!(lines[3], "Steer: One more thing.");
    assert_eq!(lines[4], "Closing: [The answer was interrupted.]");
    assert_eq!(program.conversation.ask("Go on.").await.unwrap().value, "next");
}

#[tokio::test]
async fn an_answer_that_nobody_waits_for_stops_and_leaves_room() {
    let gate = Gate::new();
    let models = ScriptedModels::new([Script::new().text("Half").pause(&gate), Script::answer("whole")]);
    let program = Program::new(models).await;
    let answering = program.conversation.stream("Go.").await.unwrap();
    gate.reached().await;
    drop(answering);
    program.conversation.stop().await.unwrap();
    assert_eq!(program.conversation.ask("Again.").await.unwrap().value, "whole");
    assert_eq!(program.lines().await[1], "Answer: Half");
}

#[tokio::test]
async fn of_two_questions_at_once_one_is_refused_and_stores_nothing() {
    let gate = Gate::new();
    let models = ScriptedModels::new([Script::new().pause(&gate).text("one").stop()]);
    let program = Program::new(models).await;
    let first = program.conversation.stream("First.").await.unwrap();
    let second = program.conversation.clone().ask("Second.").await.unwrap_err();
    assert!(matches!(second, ConversationError::NotStarted(AskError::TurnInProgress { .. })), "{second:?}");
    gate.open();
    assert_eq!(first.answer().await.unwrap().value, "one");
    assert_eq!(program.lines().await, ["Question: First.", "Answer: one"]);
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mood {
    Good,
    Bad,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Tree {
    value: u64,
    children: Vec<Tree>,
}

#[tokio::test]
async fn answers_of_any_type_come_back_as_their_type() {
    let models = ScriptedModels::new([
        Script::answer("{\"answer\": \"GOOD\"}"),
        Script::answer("{\"answer\": 18446744073709551615}"),
        Script::answer("{\"answer\": null}"),
        Script::answer("{\"größe\": 3}"),
        Script::answer("{\"value\": 1, \"children\": [{\"value\": 2, \"children\": []}]}"),
        Script::answer("[\"a\", \"b\"]"),
    ]);
    let program = Program::new(models).await;
    let conversation = &program.conversation;
    assert_eq!(conversation.ask_as::<Mood>("?").await.unwrap().value, Mood::Good);
    assert_eq!(conversation.ask_as::<u64>("?").await.unwrap().value, u64::MAX);
    assert_eq!(conversation.ask_as::<Option<u32>>("?").await.unwrap().value, None);
    let map = conversation.ask_as::<BTreeMap<String, u8>>("?").await.unwrap().value;
    assert_eq!(map, BTreeMap::from([("größe".to_owned(), 3)]));
    let tree = conversation.ask_as::<Tree>("?").await.unwrap().value;
    assert_eq!(tree.children, [Tree { value: 2, children: vec![] }]);
    assert_eq!(conversation.ask_as::<Vec<String>>("?").await.unwrap().value, ["a", "b"]);
}

#[tokio::test]
async fn a_question_may_be_asked_while_the_objective_is_in_hand() {
    let program = Program::new(ScriptedModels::new([Script::answer("fine")])).await;
    let objective = program.conversation.objective();
    let _ = objective.put("task", "Be brief.");
    assert_eq!(program.conversation.ask("Well?").await.unwrap().value, "fine");
    assert!(objective.has("task"));
}
