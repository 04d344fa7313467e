//! The local engine: its queue, its exchange, its end.

use std::{
    env, fs,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use colloquy::ports::{LoadNotice, ModelError, Models, NotAdmitted, Opened};
use colloquy_core::{
    seat::ToolWire,
    turn::{Failure, Locality},
};
use colloquy_models::engines::{Engines, EnginesConfig, ServeError, WAITING_MAX};
use futures::StreamExt;
use tokio::sync::mpsc;

use crate::{
    fake::WINDOW_TOKENS,
    stage::{Stage, ask, call, llama, open, soon},
};

fn engine_detail(result: Result<impl Sized, ModelError>) -> String {
    match result.err().expect("a failure").0 {
        Failure::Engine { detail } => detail,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_turn_starts_the_engine_and_the_next_one_finds_it_running() {
    let stage = Stage::new().await;
    let (engines, model) = (stage.engines(), stage.model("one"));
    assert_eq!(engines.allocated_window(&model), None);
    assert_eq!(engines.admit(Some(&model)).unwrap().locality(), Locality::Local);

    let (opened, notices) = open(&engines, &model).await;
    let opened = opened.unwrap();
    assert_eq!(notices, [LoadNotice::Loading]);
    assert_eq!(opened.spec.context_window, Some(WINDOW_TOKENS));
    assert_eq!(engines.allocated_window(&model), Some(WINDOW_TOKENS));
    assert_eq!(ask(&opened, "hello").await.unwrap(), "an answer");
    drop(opened);

    let (again, notices) = open(&engines, &model).await;
    assert_eq!(notices, []);
    assert_eq!(ask(&again.unwrap(), "hello").await.unwrap(), "an answer");

    let process = stage.next_start().await;
    assert!(process.arguments.contains("-np 1 -b 128 -ub 128"), "{}", process.arguments);
    assert!(process.arguments.contains("--host 127.0.0.1"), "{}", process.arguments);
    assert!(!process.arguments.contains("key"), "{}", process.arguments);
    engines.shut_down().await;
    process.gone().await;
}

#[tokio::test]
async fn what_a_model_can_do_is_known_before_it_is_opened_and_better_after() {
    let stage = Stage::new().await;
    let (engines, plain, tools) = (stage.engines(), stage.model("plain"), stage.model("tools"));
    let before = engines.admit(Some(&plain)).unwrap().spec();
    assert_eq!((before.id.as_str(), before.context_window), ("a model", Some(2_048)));
    assert!(before.json_schema);
    let opened = open(&engines, &plain).await.0.unwrap();
    // The template of this one has no tools, and the engine would drop them without a word.
    assert_eq!((opened.spec.context_window, opened.spec.tools), (Some(WINDOW_TOKENS), ToolWire::Text));
    assert_eq!((opened.spec.id.as_str(), opened.spec.param_size), ("a model", Some(0.0)));
    drop(opened);
    assert_eq!(open(&engines, &tools).await.0.unwrap().spec.tools, ToolWire::Native);
}

#[tokio::test]
async fn a_served_file_answers_whoever_names_no_model() {
    let stage = Stage::new().await;
    assert_eq!(stage.engines().admit(None).err(), Some(NotAdmitted::Unbound));

    stage.model("one");
    let engines = Engines::serving(stage.config(), stage.folder.path().join("one.gguf")).unwrap();
    assert_eq!(engines.admit(None).unwrap().spec().id, "one");
    let opened = open(&engines, None).await.0.unwrap();
    assert_eq!(opened.spec.context_window, Some(WINDOW_TOKENS));
    assert_eq!(ask(&opened, "hello").await.unwrap(), "an answer");
    drop(opened);
    // Another model can still be named.
    drop(open(&engines, &stage.model("two")).await.0.unwrap());
    stage.next_start().await.gone().await;
    assert!(stage.next_start().await.arguments.contains("two.gguf"));
}

#[tokio::test]
async fn a_file_that_is_no_model_is_not_served() {
    let stage = Stage::new().await;
    let path = stage.folder.path().join("text.gguf");
    fs::write(&path, "once upon a time").unwrap();
    let refused = Engines::serving(stage.config(), &path).err().unwrap();
    assert!(matches!(&refused, ServeError::Model { path: named, .. } if *named == path));
    assert!(refused.to_string().contains("text.gguf"), "{refused}");
}

#[tokio::test]
async fn turns_get_the_engine_in_the_order_in_which_they_came() {
    let stage = Stage::new().await;
    let (engines, model) = (Arc::new(stage.engines()), stage.model("one"));
    let first = open(&engines, &model).await.0.unwrap();
    let (entered, mut order) = mpsc::unbounded_channel();
    let mut turns = Vec::new();
    for n in 0..3 {
        let (notices, mut told) = mpsc::channel(1);
        let ticket = engines.admit(Some(&model)).unwrap();
        let entered = entered.clone();
        turns.push(tokio::spawn(async move {
            let opened = ticket.open(notices).await.unwrap();
            entered.send(n).unwrap();
            drop(opened);
        }));
        // The place in the queue is taken before the notice is sent to the reader's channel.
        assert_eq!(soon(told.recv()).await, Some(LoadNotice::Waiting));
    }
    assert!(order.try_recv().is_err());
    drop(first);
    for n in 0..3 {
        assert_eq!(soon(order.recv()).await, Some(n));
    }
    for turn in turns {
        turn.await.unwrap();
    }
}

#[tokio::test]
async fn another_model_takes_the_place_of_the_one_that_runs() {
    let stage = Stage::new().await;
    let (engines, one, two) = (stage.engines(), stage.model("one"), stage.model("two"));
    drop(open(&engines, &one).await.0.unwrap());
    let first = stage.next_start().await;
    drop(open(&engines, &two).await.0.unwrap());
    first.gone().await;
    assert!(stage.next_start().await.arguments.contains("two.gguf"));
    assert_eq!(engines.allocated_window(&one), None);
    assert_eq!(engines.allocated_window(&two), Some(WINDOW_TOKENS));
}

#[tokio::test]
async fn a_model_file_that_was_replaced_is_loaded_again() {
    let stage = Stage::new().await;
    let (engines, model) = (stage.engines(), stage.model("one"));
    drop(open(&engines, &model).await.0.unwrap());
    let first = stage.next_start().await;
    let path = stage.folder.path().join("one.gguf");
    fs::write(&path, [&b"GGUF\x03\0\0\0"[..], &[0; 17]].concat()).unwrap();
    drop(open(&engines, &model).await.0.unwrap());
    first.gone().await;
}

#[tokio::test]
async fn an_idle_model_is_unloaded_and_never_during_a_turn() {
    let stage = Stage::new().await;
    let model = stage.model("one");
    let config =
        EnginesConfig { idle_unload: Duration::ZERO, idle_tick: Duration::from_millis(1), ..stage.config() };
    let engines = Engines::new(config).unwrap();
    let opened = open(&engines, &model).await.0.unwrap();
    let process = stage.next_start().await;
    // Many ticks pass while these are answered.
    for _ in 0..50 {
        assert_eq!(ask(&opened, "hello").await.unwrap(), "an answer");
    }
    drop(opened);
    process.gone().await;

    let (again, notices) = open(&engines, &model).await;
    assert!(again.is_ok());
    // The unloading itself may be waited for.
    assert_eq!(notices.last(), Some(&LoadNotice::Reload));
}

#[tokio::test]
async fn a_dead_engine_ends_the_call_with_its_last_words_and_is_started_anew() {
    let stage = Stage::new().await;
    let (engines, model) = (stage.engines(), stage.model("one"));
    let opened = open(&engines, &model).await.0.unwrap();
    let detail = engine_detail(ask(&opened, "now die").await);
    assert!(detail.contains("exit status: 3") && detail.contains("GGML_ASSERT(false) failed"), "{detail}");
    assert_eq!(engines.allocated_window(&model), None);
    drop(opened);
    stage.next_start().await.gone().await;

    let (again, notices) = open(&engines, &model).await;
    assert_eq!(notices, [LoadNotice::Loading]);
    assert_eq!(ask(&again.unwrap(), "hello").await.unwrap(), "an answer");
}

#[tokio::test]
async fn an_engine_that_died_between_two_calls_of_a_turn_is_named_too() {
    let stage = Stage::new().await;
    let (engines, model) = (stage.engines(), stage.model("one"));
    let opened = open(&engines, &model).await.0.unwrap();
    ask(&opened, "now die").await.unwrap_err();
    assert!(engine_detail(ask(&opened, "hello").await).contains("exit status: 3"));
}

#[tokio::test]
async fn a_model_that_does_not_load_is_told_with_the_reason_and_blocks_nobody() {
    let stage = Stage::new().await;
    let engines = stage.engines();
    let detail = engine_detail(open(&engines, &stage.model("broken")).await.0);
    assert!(detail.contains("exit status: 1") && detail.contains("the tensors do not add up"), "{detail}");
    assert!(open(&engines, &stage.model("one")).await.0.is_ok());
}

#[tokio::test]
async fn a_model_that_never_gets_ready_is_ended() {
    let stage = Stage::new().await;
    let config = EnginesConfig { load_timeout: Duration::from_millis(300), ..stage.config() };
    let engines = Engines::new(config).unwrap();
    let detail = engine_detail(open(&engines, &stage.model("slow")).await.0);
    assert!(detail.contains("not ready within"), "{detail}");
    stage.next_start().await.gone().await;
}

#[tokio::test]
async fn a_load_goes_on_when_its_turn_is_dropped_and_the_next_turn_finds_it() {
    let stage = Stage::new().await;
    let (engines, model) = (stage.engines(), stage.model("slow"));
    let (notices, _told) = mpsc::channel(8);
    let dropped = tokio::spawn(engines.admit(Some(&model)).unwrap().open(notices));
    let mut process = stage.next_start().await;
    dropped.abort();
    assert!(dropped.await.unwrap_err().is_cancelled());

    // Answered by the process that the dropped turn started: only that one is told to be ready.
    process.finish_loading().await;
    assert!(open(&engines, &model).await.0.is_ok());
    engines.shut_down().await;
    process.gone().await;
}

#[tokio::test]
async fn an_engine_whose_end_was_begun_by_a_dropped_turn_is_given_to_nobody() {
    let stage = Stage::new().await;
    let (engines, lingering, two) = (stage.engines(), stage.model("lingering"), stage.model("two"));
    drop(open(&engines, &lingering).await.0.unwrap());
    let first = stage.next_start().await;
    let (notices, _told) = mpsc::channel(8);
    let exchanging = tokio::spawn(engines.admit(Some(&two)).unwrap().open(notices));
    first.gone().await;
    exchanging.abort();
    assert!(exchanging.await.unwrap_err().is_cancelled());

    assert_eq!(engines.allocated_window(&lingering), None);
    let (again, notices) = open(&engines, &lingering).await;
    assert_eq!(notices, [LoadNotice::Loading]);
    assert_eq!(ask(&again.unwrap(), "hello").await.unwrap(), "an answer");
}

#[tokio::test]
async fn the_queue_has_an_end_and_a_dropped_ticket_gives_its_place_back() {
    let stage = Stage::new().await;
    let (engines, model) = (stage.engines(), stage.model("one"));
    let mut tickets: Vec<_> = (0..=WAITING_MAX).map(|_| engines.admit(Some(&model)).unwrap()).collect();
    assert_eq!(engines.admit(Some(&model)).err(), Some(NotAdmitted::Overloaded { waiting: WAITING_MAX }));
    tickets.pop();
    assert!(engines.admit(Some(&model)).is_ok());
}

#[tokio::test]
async fn a_dropped_wait_loses_no_place_and_no_turn() {
    let stage = Stage::new().await;
    let (engines, model) = (stage.engines(), stage.model("one"));
    let first = open(&engines, &model).await.0.unwrap();
    for _ in 0..2 * WAITING_MAX {
        let (notices, mut told) = mpsc::channel(1);
        let waiting = tokio::spawn(engines.admit(Some(&model)).unwrap().open(notices));
        assert_eq!(soon(told.recv()).await, Some(LoadNotice::Waiting));
        waiting.abort();
        assert!(waiting.await.unwrap_err().is_cancelled());
    }
    drop(first);
    assert!(open(&engines, &model).await.0.is_ok());
}

#[tokio::test]
async fn a_shut_down_ends_the_engine_under_a_turn_and_lets_nobody_in() {
    let stage = Stage::new().await;
    let (engines, model) = (stage.engines(), stage.model("one"));
    let opened = open(&engines, &model).await.0.unwrap();
    let (notices, mut told) = mpsc::channel(1);
    let waiting = tokio::spawn(engines.admit(Some(&model)).unwrap().open(notices));
    assert_eq!(soon(told.recv()).await, Some(LoadNotice::Waiting));

    soon(engines.shut_down()).await;
    soon(engines.shut_down()).await;
    stage.next_start().await.gone().await;
    assert!(engine_detail(waiting.await.unwrap()).contains("shutting down"));
    drop(opened);
    assert!(engine_detail(open(&engines, &model).await.0).contains("shutting down"));
}

#[tokio::test]
async fn dropping_everything_ends_the_engine() {
    let stage = Stage::new().await;
    let engines = stage.engines();
    let opened: Opened = open(&engines, &stage.model("one")).await.0.unwrap();
    let process = stage.next_start().await;
    let mut chunks = opened.model.call(call("hello")).await.unwrap();
    assert!(chunks.next().await.is_some());
    drop((engines, opened, chunks));
    process.gone().await;
}

#[tokio::test]
async fn a_file_that_is_no_model_and_a_missing_engine_are_told_before_anything_starts() {
    let stage = Stage::new().await;
    let engines = stage.engines();
    let path = stage.folder.path().join("text.gguf");
    fs::write(&path, "once upon a time").unwrap();
    assert!(engine_detail(open(&engines, &llama(path)).await.0).contains("not a GGUF file"));

    let config = EnginesConfig { llama_server: Some("/no/such/llama-server".into()), ..stage.config() };
    let engines = Engines::new(config).unwrap();
    assert!(engine_detail(open(&engines, &stage.model("one")).await.0).contains("--llama-server"));
}

const DOOMED_FOLDER: &str = "DOOMED_PROGRAM_FOLDER";

/// Not a test of its own: a program that holds an engine until it is killed.
#[tokio::test]
async fn doomed_program() {
    let Ok(folder) = env::var(DOOMED_FOLDER) else { return };
    let engines = Engines::new(EnginesConfig {
        llama_server: Some(format!("{folder}/engine/llama-server").into()),
        ..EnginesConfig::new(folder.clone().into())
    });
    let opened = open(&engines.unwrap(), &llama(format!("{folder}/one.gguf").into())).await;
    std::future::pending::<()>().await;
    drop(opened);
}

#[tokio::test]
async fn the_engine_is_gone_when_the_program_is_killed() {
    let stage = Stage::new().await;
    stage.model("one");
    let mut program = Command::new(env::current_exe().unwrap())
        .args(["--exact", "engines::doomed_program", "--nocapture"])
        .env(DOOMED_FOLDER, stage.folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let process = stage.next_start().await;
    // SIGKILL: the program has no chance to end its engine.
    program.kill().unwrap();
    program.wait().unwrap();
    process.gone().await;
}
