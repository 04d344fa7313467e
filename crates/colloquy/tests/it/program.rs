//! A conversation as a program holds it: tools, typed answers, corrections, the inbox.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use colloquy::{
    Colloquy, Conversation, ConversationError,
    core::{
        block::Block,
        head::Put,
        message::{FinishReason, Kind},
        seat::{Depth, ModelSpec, OutputSize, Seat, ToolWire},
    },
    ports::{ModelCall, Principal, StoredMessage},
    schemars::{self, JsonSchema},
    stream::StreamEvent,
    tool::{Tool, ToolContext, ToolError},
};
use colloquy_testkit::{
    gate::Gate,
    scripted::{Script, ScriptedModels},
};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::harness::{TIMING, open_store};

pub(crate) const SEAT: Seat =
    Seat { grade: None, depth: Some(Depth::Immediate), output: Some(OutputSize::Compact), interactive: true };

/// A program with one durable conversation.
pub(crate) struct Program {
    pub(crate) colloquy: Colloquy,
    pub(crate) models: ScriptedModels,
    pub(crate) conversation: Conversation,
    pub(crate) principal: Principal,
    _folder: TempDir,
}

impl Program {
    pub(crate) async fn new(models: ScriptedModels) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = open_store(folder.path()).await;
        let built = Colloquy::builder().store(store).model(models.clone()).seat(SEAT).timing(TIMING).build();
        let (colloquy, principal) = (built.unwrap(), Principal::local());
        let conversation = colloquy.mint(&principal);
        Self { colloquy, models, conversation, principal, _folder: folder }
    }

    pub(crate) async fn branch(&self) -> Vec<StoredMessage> {
        let id = self.conversation.id().unwrap();
        self.colloquy.store().list_branch(&self.principal, id).await.unwrap().unwrap()
    }

    /// One line per message of the branch: its kind and what is in it.
    pub(crate) async fn lines(&self) -> Vec<String> {
        self.branch().await.iter().map(|stored| line(stored.message.kind, &stored.message.blocks)).collect()
    }

    pub(crate) fn calls(&self) -> Vec<ModelCall> {
        self.models.calls().into_iter().map(|recorded| recorded.call).collect()
    }
}

fn line(kind: Kind, blocks: &[Block]) -> String {
    let block = |block: &Block| match block {
        Block::Text(text) => text.clone(),
        Block::ToolCall(call) => format!("call {} {} {}", call.id, call.name, call.input),
        Block::ToolResult(result) if result.is_error => format!("error {} {}", result.call_id, result.text),
        Block::ToolResult(result) => format!("result {} {}", result.call_id, result.text),
        Block::ToolDefinition(tool) => format!("tool {}", tool.name),
        Block::Reasoning(reasoning) => format!("({})", reasoning.text),
        other => format!("{other:?}"),
    };
    format!("{kind:?}: {}", blocks.iter().map(block).collect::<Vec<_>>().join(" | "))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Word {
    /// The word to say back.
    word: String,
}

/// Says a word back, and counts how often it was run.
#[derive(Clone, Default)]
pub(crate) struct Echo {
    pub(crate) n_runs: Arc<AtomicUsize>,
    /// Waited for before it answers.
    pub(crate) gate: Option<Gate>,
}

#[async_trait]
impl Tool for Echo {
    type Input = Word;
    type Output = String;

    fn name(&self) -> &str {
        "echo"
    }

    fn description(&self) -> String {
        "Says a word back".into()
    }

    async fn call(&self, input: Word, _context: ToolContext) -> Result<String, ToolError> {
        self.n_runs.fetch_add(1, Ordering::SeqCst);
        if let Some(gate) = &self.gate {
            gate.pass().await;
        }
        match input.word.as_str() {
            "panic" => panic!("asked to"),
            "fail" => Err(ToolError::Failed("the word was taken".into())),
            word => Ok(word.to_owned()),
        }
    }
}

pub(crate) fn echo(word: &str) -> String {
    format!("{{\"word\":\"{word}\"}}")
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Verdict {
    /// Whether it holds.
    verdict: String,
    /// How sure, from 0 to 100.
    sure: Option<u32>,
}

#[tokio::test]
async fn a_tool_is_called_answered_and_the_model_goes_on() {
    let models = ScriptedModels::new([
        Script::new().text("I will ask.").call("c1", "echo", &echo("moin")).finish(FinishReason::ToolCalls),
        Script::answer("It said moin."),
    ]);
    let program = Program::new(models).await;
    let tool = Echo::default();
    assert!(program.conversation.declare(tool.clone()).unwrap());
    let mut answering = program.conversation.stream("Ask it.").await.unwrap();
    let mut events = Vec::new();
    while let Some((_, event)) = answering.next().await {
        events.push(event);
    }
    assert_eq!(answering.answer().await.unwrap().value, "It said moin.");
    assert_eq!(tool.n_runs.load(Ordering::SeqCst), 1);
    let kinds: Vec<&str> = events.iter().map(kind_of).collect();
    assert_eq!(kinds, ["answer", "withdraw", "call", "result", "answer", "answer", "answer", "done"]);
    assert_eq!(
        program.lines().await,
        [
            "Question: Ask it.",
            "Call: I will ask. | call c1 echo {\"word\":\"moin\"}",
            "Results: result c1 \"moin\"",
            "Answer: It said moin.",
        ]
    );
    program.colloquy.shut_down().await;
}

fn kind_of(event: &StreamEvent) -> &'static str {
    match event {
        StreamEvent::Answer(_) => "answer",
        StreamEvent::Thinking(_) => "thinking",
        StreamEvent::Withdraw { .. } => "withdraw",
        StreamEvent::ToolCall { .. } => "call",
        StreamEvent::ToolResult { .. } => "result",
        StreamEvent::Steer { .. } => "steer",
        StreamEvent::Progress(_) => "progress",
        StreamEvent::Reload => "reload",
        StreamEvent::Error(_) => "error",
        StreamEvent::Done(_) => "done",
    }
}

// behaviours: 271, 273
#[tokio::test]
async fn i4_each_call_of_a_step_has_its_result_in_call_order_whatever_becomes_of_it() {
    let models = ScriptedModels::new([
        Script::new()
            .call("c1", "echo", &echo("fail"))
            .call("c2", "unknown", "{}")
            .call("c3", "echo", &echo("panic"))
            .call("c4", "echo", "{\"word\":7")
            .call("", "echo", &echo("last"))
            .finish(FinishReason::ToolCalls),
        Script::answer("done"),
    ]);
    let program = Program::new(models).await;
    program.conversation.declare(Echo::default()).unwrap();
    program.conversation.ask("Try.").await.unwrap();
    let branch = program.branch().await;
    let results: Vec<(&str, bool)> =
        branch[2].message.results().map(|result| (result.call_id.as_str(), result.is_error)).collect();
    assert_eq!(results, [("c1", true), ("c2", true), ("c3", true), ("c4", true), ("echo#5", false)]);
    let texts: Vec<&str> = branch[2].message.results().map(|result| result.text.as_str()).collect();
    assert!(texts[0].contains("the word was taken"), "{texts:?}");
    assert!(texts[1].starts_with("Unknown tool") && texts[1].contains("echo"), "{texts:?}");
    assert!(texts[2].contains("broke down"), "{texts:?}");
    assert!(texts[3].starts_with("invalid input") && !texts[3].contains('7'), "{texts:?}");
}

#[tokio::test]
async fn all_calls_of_a_step_run_at_once() {
    let gate = Gate::new();
    let models = ScriptedModels::new([
        Script::new()
            .call("c1", "echo", &echo("a"))
            .call("c2", "echo", &echo("b"))
            .finish(FinishReason::ToolCalls),
        Script::answer("both"),
    ]);
    let program = Program::new(models).await;
    let tool = Echo { gate: Some(gate.clone()), ..Echo::default() };
    program.conversation.declare(tool.clone()).unwrap();
    let asked = tokio::spawn({
        let conversation = program.conversation.clone();
        async move { conversation.ask("Both.").await }
    });
    gate.reached().await;
    while tool.n_runs.load(Ordering::SeqCst) < 2 {
        tokio::task::yield_now().await;
    }
    gate.open();
    asked.await.unwrap().unwrap();
    assert_eq!(program.lines().await[2], "Results: result c1 \"a\" | result c2 \"b\"");
}

// behaviours: 272
#[tokio::test]
async fn a_reply_with_a_call_and_an_answer_of_a_refused_shape_has_its_call_answered() {
    let models = ScriptedModels::new([
        Script::new().text("{\"verdict\": 7}").call("c1", "echo", &echo("x")).finish(FinishReason::ToolCalls),
        Script::answer("{\"verdict\": \"yes\"}"),
    ]);
    let program = Program::new(models).await;
    program.conversation.declare(Echo::default()).unwrap();
    let answer = program.conversation.ask_as::<Verdict>("Is it?").await.unwrap();
    assert_eq!(answer.value, Verdict { verdict: "yes".into(), sure: None });
    assert_eq!(program.lines().await[2], "Results: result c1 \"x\"");
}

// behaviours: 76
#[tokio::test]
async fn an_answer_off_its_contract_is_corrected_and_the_good_one_is_given() {
    let models = ScriptedModels::new([
        Script::answer("I think so."),
        Script::answer("{\"sure\": 3}"),
        Script::answer("Here: {\"verdict\": \"yes\", \"sure\": \"90\"}"),
    ]);
    let program = Program::new(models).await;
    let answer = program.conversation.ask_as::<Verdict>("Is it?").await.unwrap();
    assert_eq!(answer.value, Verdict { verdict: "yes".into(), sure: Some(90) });
    assert_eq!(program.calls().len(), 3);
    let lines = program.lines().await;
    assert_eq!(lines.len(), 6);
    assert!(lines[2].starts_with("Steer: ") && lines[4].contains("verdict"), "{lines:#?}");
    // The correction is the program's, and lists show only what people and models said.
    assert!(program.branch().await[2].message.app_authored);
}

#[tokio::test]
async fn corrections_end_and_the_failure_never_quotes_the_model() {
    let models = ScriptedModels::new((0..3).map(|_| Script::answer("{\"verdict\": {\"x\": \"SECRET\"}}")));
    let program = Program::new(models).await;
    let failed = program.conversation.ask_as::<Verdict>("Is it?").await.unwrap_err();
    let ConversationError::Failed(error) = failed else { panic!("{failed:?}") };
    assert_eq!(error.code, "model");
    let told = format!("{} {}", error.text, error.raw.unwrap());
    assert!(told.contains("verdict") && !told.contains("SECRET"), "{told}");
}

#[tokio::test]
async fn a_cut_answer_is_asked_for_at_the_ceiling_and_replaces_the_first() {
    let models = ScriptedModels::new([
        Script::new().text("Half of").finish(FinishReason::Length),
        Script::answer("The whole."),
    ]);
    models.set_spec(ModelSpec { max_output: Some(9_000), ..ModelSpec::default() });
    let program = Program::new(models).await;
    assert_eq!(program.conversation.ask("Tell all.").await.unwrap().value, "The whole.");
    let limits: Vec<Option<u32>> = program.calls().iter().map(|call| call.options.max_tokens).collect();
    assert_eq!(limits, [Some(4_096), Some(9_000)]);
    assert_eq!(program.lines().await, ["Question: Tell all.", "Answer: The whole."]);
}

// behaviours: 163
#[tokio::test]
async fn a_refused_answer_is_told_and_never_shown_to_the_model_again() {
    let models = ScriptedModels::new([
        Script::new().text("No").finish(FinishReason::Refusal),
        Script::answer("Fine."),
    ]);
    let program = Program::new(models).await;
    let failed = program.conversation.ask("Harm.").await.unwrap_err();
    assert!(matches!(&failed, ConversationError::Failed(error) if error.code == "refusal"), "{failed:?}");
    program.conversation.ask("Help.").await.unwrap();
    let shown = format!("{:?}", program.calls()[1].prepared.turns);
    assert!(!shown.contains("\"No\""), "{shown}");
}

// behaviours: 279
#[tokio::test]
async fn a_message_that_arrives_is_delivered_even_when_the_turn_then_fails() {
    let gate = Gate::new();
    let models = ScriptedModels::new([
        Script::new().call("c1", "echo", &echo("a")).finish(FinishReason::ToolCalls),
        Script::fail(colloquy_core::turn::Failure::Refused { detail: "no".into() }),
    ]);
    let program = Program::new(models).await;
    program.conversation.declare(Echo { gate: Some(gate.clone()), ..Echo::default() }).unwrap();
    let asked = tokio::spawn({
        let conversation = program.conversation.clone();
        async move { conversation.ask("Go.").await }
    });
    gate.reached().await;
    program.conversation.steer("And hurry.").await.unwrap();
    gate.open();
    asked.await.unwrap().unwrap_err();
    let lines = program.lines().await;
    assert_eq!(lines[3], "Steer: And hurry.");
    assert!(lines[4].starts_with("Closing: "), "{lines:?}");
    assert!(program.conversation.steer("Too late.").await.is_err());
}

#[tokio::test]
async fn a_message_that_arrives_while_the_answer_is_given_keeps_the_turn_going() {
    let gate = Gate::new();
    let models =
        ScriptedModels::new([Script::new().text("First").pause(&gate).stop(), Script::answer("Second.")]);
    let program = Program::new(models).await;
    let asked = tokio::spawn({
        let conversation = program.conversation.clone();
        async move { conversation.ask("One.").await }
    });
    gate.reached().await;
    program.conversation.steer("Two.").await.unwrap();
    gate.open();
    assert_eq!(asked.await.unwrap().unwrap().value, "Second.");
    assert_eq!(program.lines().await, ["Question: One.", "Answer: First", "Steer: Two.", "Answer: Second."]);
}

#[tokio::test]
async fn a_late_tool_is_announced_before_the_question_and_the_head_stays() {
    let models = ScriptedModels::new([Script::answer("a"), Script::answer("b")]);
    let program = Program::new(models).await;
    assert_eq!(program.conversation.objective().put("task", "Be brief."), Put::Placed);
    program.conversation.ask("One.").await.unwrap();
    program.conversation.declare(Echo::default()).unwrap();
    assert_eq!(program.conversation.objective().put("task", "Be long."), Put::Refused);
    program.conversation.ask("Two.").await.unwrap();
    let lines = program.lines().await;
    assert!(lines[2].starts_with("Announcement: ") && lines[2].ends_with("tool echo"), "{lines:?}");
    assert_eq!(lines[3], "Question: Two.");
    let calls = program.calls();
    assert_eq!(calls[0].prepared.system, calls[1].prepared.system);
    assert_eq!(calls[0].prepared.turns[..], calls[1].prepared.turns[..1]);
}

// behaviours: 8, 9, 32
#[tokio::test]
async fn an_adopted_conversation_composes_freely_and_announces_only_what_is_new() {
    let models = ScriptedModels::new([Script::answer("a"), Script::answer("b")]);
    let program = Program::new(models).await;
    assert_eq!(program.conversation.objective().put("task", "Be brief."), Put::Placed);
    program.conversation.declare(Echo::default()).unwrap();
    program.conversation.ask("One.").await.unwrap();
    let id = program.conversation.id().unwrap();
    let adopted = program.colloquy.adopt(&program.principal, id).await.unwrap();
    assert_eq!(adopted.objective().put("task", "Be kind."), Put::Placed);
    adopted.declare(Echo::default()).unwrap();
    assert_eq!(adopted.ask("Two.").await.unwrap().value, "b");
    let calls = program.calls();
    assert!(calls[1].prepared.system.starts_with("Be kind."));
    assert_eq!(calls[1].prepared.palette, calls[0].prepared.palette);
    assert_eq!(program.lines().await.len(), 4);
    assert_eq!(adopted.transcript().await.unwrap(), program.conversation.transcript().await.unwrap());
}

#[tokio::test]
async fn a_temporary_conversation_never_reaches_the_store() {
    let models = ScriptedModels::new([Script::answer("a"), Script::answer("b")]);
    let program = Program::new(models).await;
    let temporary = program.colloquy.temporary(&program.principal);
    assert_eq!(temporary.ask("One.").await.unwrap().value, "a");
    assert_eq!(temporary.ask("Two.").await.unwrap().value, "b");
    assert_eq!(program.calls()[1].prepared.turns.len(), 3);
    let page = colloquy::ports::Page::default();
    let stored = program.colloquy.store().list_conversations(&program.principal, page).await.unwrap();
    assert_eq!(stored, []);
}

#[tokio::test]
async fn nothing_declared_is_refused_before_anything_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let models = ScriptedModels::new([]);
    let store = open_store(folder.path()).await;
    let colloquy = Colloquy::builder().store(store).model(models.clone()).timing(TIMING).build().unwrap();
    let refused = colloquy.mint(&Principal::local()).ask("One.").await.unwrap_err();
    assert!(
        matches!(refused, ConversationError::NotStarted(colloquy::AskError::Undeclared(_))),
        "{refused:?}"
    );
    assert_eq!(models.calls().len(), 0);
}

// behaviours: 61, 63
#[tokio::test]
async fn a_model_without_tools_calls_them_in_an_envelope() {
    let models = ScriptedModels::new([
        Script::answer(
            "{\"final_answer\": false, \"tool_calls\": [{\"name\": \"echo\", \"input\": {\"word\": \"hi\"}}]}",
        ),
        Script::answer("{\"final_answer\": true, \"answer\": \"It said hi.\"}"),
    ]);
    models.set_spec(ModelSpec { tools: ToolWire::Text, ..ModelSpec::default() });
    let program = Program::new(models).await;
    program.conversation.declare(Echo::default()).unwrap();
    assert_eq!(program.conversation.ask("Ask it.").await.unwrap().value, "It said hi.");
    assert_eq!(
        program.lines().await,
        [
            "Question: Ask it.",
            "Call: call echo#1 echo {\"word\":\"hi\"}",
            "Results: result echo#1 \"hi\"",
            "Answer: It said hi.",
        ]
    );
}
