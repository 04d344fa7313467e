//! Artifacts in conversations: out of a tool, across agents, through a restart, summed up.

use async_trait::async_trait;
use colloquy::{
    Ask, Conversation,
    artifact::{Artifact, ArtifactTypes, Held},
    core::{block::Block, message::FinishReason, turn::Failure},
    ports::ModelCall,
    schemars::{self, JsonSchema},
    tool::{Tool, ToolContext, ToolError},
};
use colloquy_testkit::scripted::{Script, ScriptedModels};
use serde::{Deserialize, Serialize};

use crate::program::Program;

/// A paper that can be cited.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema, Artifact)]
#[artifact(alias = "link:cite")]
struct Cite {
    title: String,
    doi: String,
    #[artifact(summarize(size = "brief", threshold = 100, llm_safe))]
    text: String,
}

fn paper() -> Cite {
    Cite {
        title: "On «Levers»".into(),
        doi: "10.1/x\u{0}\u{2060}".into(),
        text: "Give me a place to stand. ".repeat(40),
    }
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

struct FindPaper;

#[async_trait]
impl Tool for FindPaper {
    type Input = Nothing;
    type Output = Held<Cite>;

    fn name(&self) -> &str {
        "find_paper"
    }

    fn description(&self) -> String {
        "Finds the paper".into()
    }

    async fn call(&self, _input: Nothing, _context: ToolContext) -> Result<Held<Cite>, ToolError> {
        Ok(Held::new(paper()))
    }
}

#[derive(Deserialize, JsonSchema)]
struct Chosen {
    paper: Held<Cite>,
}

/// Says the DOI of the paper that the model chose.
struct ReadDoi;

#[async_trait]
impl Tool for ReadDoi {
    type Input = Chosen;
    type Output = String;

    fn name(&self) -> &str {
        "read_doi"
    }

    fn description(&self) -> String {
        "Reads the DOI of a paper".into()
    }

    async fn call(&self, input: Chosen, _context: ToolContext) -> Result<String, ToolError> {
        Ok(input.paper.doi.clone())
    }
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Best {
    best: Held<Cite>,
}

/// A model that finds the paper and then says what `then` makes of its reference.
fn finds_then(then: impl Fn(&str) -> Script + Send + Sync + 'static) -> ScriptedModels {
    ScriptedModels::new([
        Script::new().call("c1", "find_paper", "{}").finish(FinishReason::ToolCalls),
        // The summary of the paper's text.
        Script::answer("It asks for a place."),
        Script::from_call(move |call| then(&reference_in(call))),
    ])
}

/// The reference in the result of the last tool.
fn reference_in(call: &ModelCall) -> String {
    let turns = call.prepared.turns.iter().rev();
    let mut results = turns.flat_map(|turn| turn.blocks.iter().filter_map(Block::as_result));
    let result: serde_json::Value = serde_json::from_str(&results.next().unwrap().text).unwrap();
    result["@ref"].as_str().unwrap().to_owned()
}

async fn reader(models: ScriptedModels) -> Program {
    let program = Program::new(models).await;
    program.conversation.declare(FindPaper).unwrap();
    program
}

fn registry_of(call: &ModelCall) -> String {
    let last = call.prepared.turns.last().unwrap();
    last.blocks.iter().filter_map(Block::as_text).collect()
}

// behaviours: 115, 116
#[tokio::test]
async fn the_model_reads_a_reference_in_the_result_and_the_content_in_the_registry() {
    let program = reader(finds_then(|_| Script::answer("Found."))).await;
    program.conversation.ask("Find it.").await.unwrap();
    let calls = program.calls();
    let reference = reference_in(&calls[2]);
    let registry = registry_of(&calls[2]);
    assert!(registry.contains("=== ARTIFACT REGISTRY ===") && registry.contains(&reference), "{registry}");
    assert!(registry.contains("[SUMMARY: 1040 chars] It asks for a place."), "{registry}");
    assert_eq!(calls[2].prepared.turns.last().unwrap().n_stable, 0);
    let tools: Vec<&str> = calls[0].prepared.palette.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["find_paper", "get_artifact_field", "search_artifact_content"]);
}

#[tokio::test]
async fn a_summary_is_made_once() {
    let models = finds_then(|_| Script::answer("Found."));
    models.push(Script::answer("Still here."));
    let program = reader(models).await;
    program.conversation.ask("Find it.").await.unwrap();
    program.conversation.ask("And now?").await.unwrap();
    assert_eq!(program.calls().len(), 4);
    assert!(registry_of(&program.calls()[3]).contains("It asks for a place."));
}

// behaviours: 135
#[tokio::test]
async fn a_summary_that_fails_is_the_beginning_of_the_text_and_no_error() {
    let models = ScriptedModels::new([
        Script::new().call("c1", "find_paper", "{}").finish(FinishReason::ToolCalls),
        Script::fail(Failure::Refused { detail: "no".into() }),
        Script::answer("Found."),
    ]);
    let program = reader(models).await;
    assert_eq!(program.conversation.ask("Find it.").await.unwrap().value, "Found.");
    let registry = registry_of(&program.calls()[2]);
    assert!(registry.contains("[SUMMARY: 1040 chars] Give me a place to stand."), "{registry}");
}

// behaviours: 79
#[tokio::test]
async fn i11_what_a_model_writes_beside_a_reference_is_dropped() {
    let then = |reference: &str| {
        let invented =
            format!("{{\"best\": {{\"artifact_ref\": \"{reference}\", \"doi\": \"10.9/INVENTED\"}}}}");
        Script::answer(&invented)
    };
    let program = reader(finds_then(then)).await;
    let best = program.conversation.ask_as::<Best>("Which is best?").await.unwrap().value;
    assert_eq!(*best.best, paper());
}

// behaviours: 80
#[tokio::test]
async fn a_reference_that_is_not_held_is_refused_by_path() {
    let unknown = "{\"best\": {\"artifact_ref\": \"«artifact:link:cite~zzzzzz»\"}}";
    let models =
        finds_then(|_| Script::answer("{\"best\": {\"artifact_ref\": \"«artifact:link:cite~zzzzzz»\"}}"));
    models.push(Script::answer(unknown));
    models.push(Script::answer(unknown));
    let program = reader(models).await;
    let failed = program.conversation.ask_as::<Best>("Which is best?").await.unwrap_err();
    let colloquy::ConversationError::Failed(error) = failed else { panic!("{failed:?}") };
    let told = error.raw.unwrap();
    assert!(told.contains("best") && !told.contains("zzzzzz"), "{told}");
}

#[tokio::test]
async fn a_tool_gets_the_registrys_own_object_for_the_reference_a_model_passes() {
    let models = finds_then(|reference| {
        let input = format!("{{\"paper\": {{\"@ref\": \"{reference}\", \"doi\": \"10.9/INVENTED\"}}}}");
        Script::new().call("c2", "read_doi", &input).finish(FinishReason::ToolCalls)
    });
    models.push(Script::answer("Read."));
    let program = reader(models).await;
    program.conversation.declare(ReadDoi).unwrap();
    program.conversation.ask("Read its DOI.").await.unwrap();
    let results: Vec<String> = program
        .branch()
        .await
        .iter()
        .flat_map(|stored| stored.message.results().map(|r| r.text.clone()).collect::<Vec<_>>())
        .collect();
    let doi: String = serde_json::from_str(&results[1]).unwrap();
    assert_eq!(doi, paper().doi);
}

// behaviours: 125, 127
#[tokio::test]
async fn the_registry_tools_read_what_the_summary_leaves_out() {
    let models = finds_then(|reference| {
        let field =
            format!("{{\"artifact_ref\": \"{reference}\", \"field_name\": \"text\", \"offset\": 1020}}");
        Script::new()
            .call("c2", "get_artifact_field", &field)
            .call("c3", "search_artifact_content", "{\"query\": \"PLACE to\", \"max_results\": 1}")
            .finish(FinishReason::ToolCalls)
    });
    models.push(Script::answer("Read."));
    let program = reader(models).await;
    program.conversation.ask("Read it.").await.unwrap();
    let branch = program.branch().await;
    let results: Vec<serde_json::Value> =
        branch[4].message.results().map(|result| serde_json::from_str(&result.text).unwrap()).collect();
    assert_eq!(results[0]["length"], 1040);
    assert_eq!(results[0]["truncated"], false);
    assert_eq!(results[0]["content"].as_str().unwrap().chars().count(), 20);
    assert_eq!(results[1]["total_matches"], 40);
    assert_eq!(results[1]["matches"].as_array().unwrap().len(), 1);
}

fn held(conversation: &Conversation) -> Held<Cite> {
    let references = conversation.artifacts();
    assert_eq!(references.len(), 1);
    conversation.artifact(references[0].as_str()).unwrap()
}

#[tokio::test]
async fn i11_an_artifact_crosses_two_agents_and_a_restart_byte_for_byte() {
    let models = finds_then(|_| Script::answer("Found."));
    models.push(Script::answer("Summed up."));
    models.push(Script::answer("Thanks."));
    models.push(Script::answer("Still there."));
    let program = reader(models).await;
    program.conversation.ask("Find it.").await.unwrap();
    let found = held(&program.conversation);
    assert_eq!(*found, paper());
    // To another conversation, by the same reference.
    let other = program.colloquy.mint(&program.principal);
    other.ask(Ask::text("Here is a paper.").value(&found).unwrap()).await.unwrap();
    assert_eq!(other.artifacts(), program.conversation.artifacts());
    assert_eq!(*held(&other), paper());
    // And out of the store.
    let mut types = ArtifactTypes::default();
    types.register::<Cite>().unwrap();
    let adopted = program.colloquy.adopt(&program.principal, other.id().unwrap()).await.unwrap();
    assert_eq!(*held(&adopted), paper());
    adopted.ask("Still there?").await.unwrap();
}
