use std::sync::Arc;

use colloquy::ports::{
    CallOptions, EngineKind, LlmRow, LoadNotice, Model, ModelCall, ModelChunk, ModelError, Models,
    NotAdmitted, Sampling,
};
use colloquy_core::{
    block::{Block, ToolCall, ToolResult},
    message::{FinishReason, LlmId, Role},
    prepare::{PreparedConversation, PreparedTurn},
    seat::{ModelSpec, ThinkingMode, ToolWire},
    turn::{Failure, Locality},
};
use futures::{FutureExt, StreamExt};
use tokio::sync::mpsc;

use super::{CallEnd, Opening, Script, ScriptedModels, Step, split_words};
use crate::gate::Gate;

fn llm() -> LlmRow {
    LlmRow {
        id: LlmId(1),
        name: "scripted".into(),
        engine: EngineKind::Llama { path: "/nowhere".into() },
        context_window: Some(8_192),
        param_size: None,
        size_bytes: None,
        generation_config: None,
        is_default: true,
        created_at: 0,
    }
}

fn call(text: &str) -> ModelCall {
    asking(vec![(Role::User, Block::Text(text.into()))])
}

fn asking(turns: Vec<(Role, Block)>) -> ModelCall {
    let turn = |(role, block)| Arc::new(PreparedTurn { role, blocks: vec![block], n_stable: 1 });
    ModelCall {
        prepared: PreparedConversation {
            turns: turns.into_iter().map(turn).collect(),
            ..PreparedConversation::default()
        },
        sampling: Sampling {
            temperature: 0.7,
            top_p: 0.9,
            top_k: None,
            min_p: None,
            presence_penalty: None,
            repetition_penalty: 1.0,
            repetition_context_size: 64,
        },
        options: CallOptions::default(),
    }
}

async fn model(models: &ScriptedModels) -> Arc<dyn Model> {
    let (notices, _) = mpsc::channel(8);
    models.admit(Some(&llm())).unwrap().open(notices).await.unwrap().model
}

async fn chunks(models: &ScriptedModels, question: &str) -> Vec<ModelChunk> {
    let stream = model(models).await.call(call(question)).await.unwrap();
    stream.map(Result::unwrap).collect().await
}

#[tokio::test]
async fn an_answer_comes_word_by_word_and_ends_once() {
    let models = ScriptedModels::new([Script::answer("Paris is it.")]);
    let chunks = chunks(&models, "The capital?").await;
    let words = ["Paris", " is", " it."].map(|word| ModelChunk::Text(word.into()));
    assert_eq!(chunks[..3], words);
    assert!(matches!(chunks[3..], [ModelChunk::End { finish_reason: FinishReason::Stop, .. }]));
    assert_eq!(models.calls()[0].end, CallEnd::Ended);
    assert_eq!(models.calls()[0].call, call("The capital?"));
}

#[tokio::test]
async fn calls_and_reasoning_come_as_they_are_scripted_cut_ones_too() {
    let models = ScriptedModels::new([Script::new()
        .signed_reasoning("hm", "proof")
        .redacted("c2VjcmV0")
        .call("c1", "search", r#"{"for":"#)
        .finish(FinishReason::Length)]);
    let chunks = chunks(&models, "Look it up.").await;
    let call = ToolCall { id: "c1".into(), name: "search".into(), input: r#"{"for":"#.into() };
    let said = [
        ModelChunk::Reasoning("hm".into()),
        ModelChunk::ReasoningSignature("proof".into()),
        ModelChunk::RedactedReasoning("c2VjcmV0".into()),
        ModelChunk::ToolCall(call),
    ];
    assert_eq!(chunks[..4], said);
    assert!(matches!(chunks[4..], [ModelChunk::End { finish_reason: FinishReason::Length, .. }]));
}

#[tokio::test]
async fn a_script_may_be_chosen_by_what_the_model_was_asked() {
    let echo = Script::from_call(|call| {
        let asked = call.prepared.turns.last().and_then(|turn| turn.blocks[0].as_text()).unwrap();
        Script::new().text(&asked.to_uppercase())
    });
    let models = ScriptedModels::new([echo.clone(), echo.stop()]);
    assert_eq!(chunks(&models, "moin").await, [ModelChunk::Text("MOIN".into())]);
    let last = chunks(&models, "bye").await;
    assert_eq!(last[0], ModelChunk::Text("BYE".into()));
    assert!(matches!(last[1..], [ModelChunk::End { .. }]));
}

#[tokio::test]
async fn each_call_takes_the_next_script_and_one_too_many_is_refused() {
    let models = ScriptedModels::new([Script::answer("one")]);
    models.push(Script::answer("two"));
    assert_eq!(chunks(&models, "a").await[0], ModelChunk::Text("one".into()));
    assert_eq!(chunks(&models, "b").await[0], ModelChunk::Text("two".into()));
    let refused = model(&models).await.call(call("c")).await.map(|_| ()).unwrap_err();
    assert!(matches!(refused, ModelError(Failure::Refused { .. })));
}

#[tokio::test]
async fn a_failure_before_the_first_chunk_is_the_calls_own_and_a_later_one_ends_the_stream() {
    let gone = Failure::Transient { detail: "gone".into() };
    let late = Script::new().text("half").then(Step::Fail(gone.clone())).text("never said");
    let models = ScriptedModels::new([Script::fail(gone.clone()), late]);
    let model = model(&models).await;
    assert_eq!(model.call(call("a")).await.map(|_| ()).unwrap_err(), ModelError(gone.clone()));
    let items: Vec<_> = model.call(call("b")).await.unwrap().collect().await;
    assert_eq!(items, [Ok(ModelChunk::Text("half".into())), Err(ModelError(gone))]);
    assert_eq!(models.calls().iter().map(|call| call.end).collect::<Vec<_>>(), [CallEnd::Failed; 2]);
}

#[tokio::test]
async fn a_stream_that_is_dropped_at_a_gate_is_recorded_as_dropped() {
    let gate = Gate::new();
    let models = ScriptedModels::new([Script::new().text("half").pause(&gate).stop()]);
    let mut stream = model(&models).await.call(call("a")).await.unwrap();
    assert_eq!(stream.next().await, Some(Ok(ModelChunk::Text("half".into()))));
    assert!(stream.next().now_or_never().is_none());
    gate.reached().await;
    assert_eq!(models.calls()[0].end, CallEnd::Running);
    drop(stream);
    models.wait_until(|calls| calls[0].end == CallEnd::Dropped).await;
}

#[tokio::test]
async fn a_call_that_hangs_before_its_first_chunk_can_be_dropped_too() {
    let models = ScriptedModels::new([Script::new().then(Step::Hang)]);
    let model = model(&models).await;
    assert!(model.call(call("a")).now_or_never().is_none());
    assert_eq!(models.calls()[0].end, CallEnd::Dropped);
}

#[tokio::test]
async fn an_opened_gate_lets_the_answer_go_on() {
    let gate = Gate::new();
    let models = ScriptedModels::new([Script::new().pause(&gate).text("on").stop()]);
    let reader = {
        let models = models.clone();
        tokio::spawn(async move { chunks(&models, "a").await })
    };
    gate.reached().await;
    gate.open();
    assert_eq!(reader.await.unwrap()[0], ModelChunk::Text("on".into()));
}

#[tokio::test]
async fn places_and_holds_are_counted_until_they_are_dropped() {
    let models = ScriptedModels::new([]);
    let ticket = models.admit(Some(&llm())).unwrap();
    assert_eq!((models.n_tickets(), models.n_holds()), (1, 0));
    let opened = ticket.open(mpsc::channel(1).0).await.unwrap();
    assert_eq!((models.n_tickets(), models.n_holds()), (0, 1));
    drop(opened);
    assert_eq!(models.n_holds(), 0);
    drop(models.admit(Some(&llm())).unwrap());
    assert_eq!(models.n_tickets(), 0);
}

#[tokio::test]
async fn an_opening_tells_its_notices_and_fails_as_planned() {
    let models = ScriptedModels::new([]);
    let failure = Failure::Engine { detail: "no such file".into() };
    models.push_opening(Opening {
        notices: vec![LoadNotice::Waiting, LoadNotice::Loading],
        gate: None,
        failure: Some(failure.clone()),
    });
    let (sender, mut notices) = mpsc::channel(4);
    let refused = models.admit(Some(&llm())).unwrap().open(sender).await.unwrap_err();
    assert_eq!(refused, ModelError(failure));
    assert_eq!(notices.recv().await, Some(LoadNotice::Waiting));
    assert_eq!(notices.recv().await, Some(LoadNotice::Loading));
}

#[tokio::test]
async fn a_full_queue_refuses_until_it_is_emptied() {
    let models = ScriptedModels::new([]);
    models.set_overloaded(Some(64));
    assert_eq!(models.admit(Some(&llm())).map(|_| ()).unwrap_err(), NotAdmitted::Overloaded { waiting: 64 });
    models.set_overloaded(None);
    assert!(models.admit(Some(&llm())).is_ok());
}

#[tokio::test]
async fn a_turn_that_names_no_model_gets_the_same_one() {
    let models = ScriptedModels::new([Script::answer("ok")]);
    let opened = models.admit(None).unwrap().open(mpsc::channel(1).0).await.unwrap();
    let chunks: Vec<_> = opened.model.call(call("a")).await.unwrap().collect().await;
    assert_eq!(chunks[0], Ok(ModelChunk::Text("ok".into())));
}

#[tokio::test]
async fn what_the_model_can_do_is_told_before_and_after_it_is_opened() {
    let models = ScriptedModels::with(Locality::Remote, Some(1_000), []);
    assert_eq!(models.admit(None).unwrap().spec().context_window, Some(1_000));
    let spec = ModelSpec {
        context_window: Some(2_000),
        max_output: Some(500),
        thinking: ThinkingMode::Adaptive,
        tools: ToolWire::Text,
        ..ModelSpec::default()
    };
    models.set_spec(spec.clone());
    assert_eq!(models.allocated_window(&llm()), Some(2_000));
    let ticket = models.admit(None).unwrap();
    assert_eq!(*ticket.spec(), spec);
    assert_eq!(*ticket.open(mpsc::channel(1).0).await.unwrap().spec, spec);
}

#[tokio::test]
#[should_panic(expected = "a scripted model was shown what no model takes: turn 2 has the result of c1")]
async fn what_no_model_takes_is_refused_and_fails_the_test_even_if_nobody_looks() {
    let models = ScriptedModels::new([Script::answer("never")]);
    let result = ToolResult { call_id: "c1".into(), text: "found".into(), is_error: false };
    let orphan = asking(vec![(Role::User, Block::Text("q".into())), (Role::User, Block::ToolResult(result))]);
    let refused = model(&models).await.call(orphan).await.map(|_| ());
    // A wrong refusal must not fail the test, for that is what is expected of it.
    let is_refused = matches!(refused, Err(ModelError(Failure::Refused { .. })));
    if is_refused && models.calls()[0].end == CallEnd::Failed {
        drop(models);
    } else {
        std::mem::forget(models);
    }
}

#[tokio::test]
async fn a_shut_down_is_seen() {
    let models = ScriptedModels::new([]);
    assert!(!models.is_shut_down());
    models.shut_down().await;
    assert!(models.is_shut_down());
}

#[test]
fn words_joined_are_the_text() {
    for text in ["", " ", "one", " lead and  trail \n", "naïve 日本 語"] {
        assert_eq!(split_words(text).concat(), text);
    }
    assert_eq!(split_words("a  b\nc "), ["a", "  b", "\nc", " "]);
}
