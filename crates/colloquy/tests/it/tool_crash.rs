//! The process is killed at every call it makes of the store, before and after it takes effect,
//! while a turn runs two tools, takes in a message and answers. No tool runs twice, what finished
//! is kept, and each call has its one result (I4, I6).

use std::{
    path::Path,
    sync::{Arc, atomic::Ordering},
};

use colloquy::{
    Colloquy, Conversation,
    core::{
        message::{ConversationId, FinishReason, Kind, Message},
        repair::repair,
    },
    ports::Principal,
};
use colloquy_store_sqlite::SqliteStore;
use colloquy_testkit::{
    crash::{Crash, CrashingStore},
    gate::Gate,
    scripted::{Script, ScriptedModels},
};

use crate::{
    harness::{TIMING, open_store},
    program::{Echo, SEAT, echo},
};

/// What the killed process had come to.
struct Left {
    is_dead: bool,
    id: Option<ConversationId>,
    n_runs: usize,
    answered: bool,
    steered: bool,
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

fn program(store: Arc<dyn colloquy::ports::Store>, models: &ScriptedModels) -> Colloquy {
    Colloquy::builder().store(store).model(models.clone()).seat(SEAT).timing(TIMING).build().unwrap()
}

fn run_until(folder: &Path, crash: Crash) -> Left {
    let runtime = runtime();
    let left = runtime.block_on(async {
        let store = Arc::new(CrashingStore::new(open_store(folder).await, crash));
        let models = ScriptedModels::new([
            Script::new()
                .text("Let me ask.")
                .call("c1", "echo", &echo("one"))
                .call("c2", "echo", &echo("two"))
                .finish(FinishReason::ToolCalls),
            Script::answer("Both said it."),
        ]);
        let colloquy = program(store.clone(), &models);
        let conversation = colloquy.mint(&Principal::local());
        let gate = Gate::new();
        let tool = Echo { gate: Some(gate.clone()), ..Echo::default() };
        conversation.declare(tool.clone()).unwrap();
        let (mut answered, mut steered) = (false, false);
        let talking = async {
            let steering = async {
                gate.reached().await;
                steered = conversation.steer("And quickly.").await.is_ok();
                gate.open();
            };
            let (answer, ()) = tokio::join!(conversation.ask("Ask twice."), steering);
            answered = answer.is_ok();
        };
        tokio::select! {
            biased;
            () = store.died() => {}
            () = talking => {}
        }
        let n_runs = tool.n_runs.load(Ordering::SeqCst);
        Left { is_dead: store.is_dead(), id: conversation.id(), n_runs, answered, steered }
    });
    runtime.shutdown_background();
    left
}

async fn branch(colloquy: &Colloquy, conversation: &Conversation) -> Vec<Message> {
    let id = conversation.id().unwrap();
    let stored = colloquy.store().list_branch(&Principal::local(), id).await.unwrap().unwrap();
    stored.into_iter().map(|stored| stored.message).collect()
}

fn check_after(folder: &Path, left: &Left, crash: Crash) {
    runtime().block_on(async {
        let models = ScriptedModels::new([Script::answer("next")]);
        let colloquy = program(open_store(folder).await, &models);
        colloquy.recover().await.unwrap();
        assert_eq!(colloquy.recover().await.unwrap(), 0, "{crash:?}: closing twice closes nothing");
        let Some(id) = left.id else { return };
        let conversation = colloquy.adopt(&Principal::local(), id).await.unwrap();
        conversation.declare(Echo::default()).unwrap();
        let before = branch(&colloquy, &conversation).await;
        let (_, repairs) = repair(before.clone());
        assert_eq!(repairs, [], "{crash:?}: {before:#?}");
        assert!(left.n_runs <= 2, "{crash:?}");
        if left.answered {
            assert_eq!(before.last().unwrap().text(), "Both said it.", "{crash:?}");
        }
        if left.steered {
            let steers = before.iter().filter(|message| message.kind == Kind::Steer).count();
            assert_eq!(steers, 1, "{crash:?}: what was accepted is delivered, once");
        }
        for result in before.iter().flat_map(Message::results) {
            let is_own = ["\"one\"", "\"two\""].contains(&result.text.as_str());
            assert!(is_own || result.text.contains("interrupted"), "{crash:?}: {result:?}");
        }
        let next = conversation.ask("Go on.").await.unwrap();
        assert_eq!(next.value, "next", "{crash:?}");
        colloquy.shut_down().await;
        let store = SqliteStore::open(&folder.join("colloquy.db")).await.unwrap();
        assert_eq!(store.check().await.unwrap(), [], "{crash:?}");
    });
}

#[test]
fn i6_a_process_killed_among_its_tools_loses_no_step_and_runs_no_tool_twice() {
    for at in 0.. {
        let mut reached_the_end = true;
        for crash in [Crash::Before(at), Crash::After(at)] {
            let folder = tempfile::tempdir().unwrap();
            let left = run_until(folder.path(), crash);
            check_after(folder.path(), &left, crash);
            reached_the_end &= !left.is_dead;
        }
        if reached_the_end {
            assert!(at > 8, "the whole turn was simulated");
            return;
        }
    }
}
