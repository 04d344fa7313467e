//! The process is killed at every call it makes of the store, before and after it takes effect,
//! while a long answer streams. At the next start the turn is closed, nothing that was told is
//! lost, and the next question is answered (I6).

use std::{path::Path, sync::Arc};

use colloquy::{Ask, ports::Principal, stream::StreamEvent};
use colloquy_core::message::{ConversationId, Role};
use colloquy_testkit::{
    crash::{Crash, CrashingStore},
    gate::Gate,
    scripted::{Script, ScriptedModels},
};

use crate::harness::{install_and_create, lines, messages, open_store, service};

const ANSWER: &str = "One two three four five six seven eight nine ten";

/// What the killed process had told its reader.
#[derive(Debug, Default)]
struct Told {
    started: bool,
    text: String,
    done: bool,
}

/// A process that asks one question and is killed at `crash`. `None` when it got to its end.
fn run_until(folder: &Path, id: ConversationId, crash: Crash) -> (Told, bool) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let result = runtime.block_on(async {
        let store = Arc::new(CrashingStore::new(open_store(folder).await, crash));
        let flushed = Gate::new();
        let script = Script::new().words(ANSWER).pause(&flushed).text(" eleven").stop();
        let models = ScriptedModels::new([script]);
        let colloquy = service(store.clone(), &models);
        let mut told = Told::default();
        let talking = async {
            let ask = Ask { text: "Count.".into(), ..Ask::default() };
            let mut handle = colloquy.start_turn(&Principal::local(), id, ask).await.unwrap();
            told.started = true;
            // Let the flusher see the answer before it ends: several calls of it, then the rest.
            flushed.reached().await;
            let seen = store.n_calls();
            while store.n_calls() < seen + 3 {
                tokio::task::yield_now().await;
            }
            flushed.open();
            while let Some((_, event)) = handle.reader.next().await {
                match event {
                    StreamEvent::Answer(text) => told.text.push_str(&text),
                    StreamEvent::Done(_) => told.done = true,
                    StreamEvent::Thinking(_)
                    | StreamEvent::Progress(_)
                    | StreamEvent::Reload
                    | StreamEvent::Error(_) => {}
                }
            }
        };
        tokio::select! {
            biased;
            () = store.died() => {}
            () = talking => {}
        }
        (told, store.is_dead())
    });
    runtime.shutdown_background();
    result
}

/// The next process: recovers, checks, asks again.
fn check_after(folder: &Path, id: ConversationId, told: &Told, crash: Crash) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let principal = Principal::local();
        let models = ScriptedModels::new([Script::answer("next")]);
        let colloquy = service(open_store(folder).await, &models);
        colloquy.recover().await.unwrap();
        assert_eq!(colloquy.recover().await.unwrap(), 0, "{crash:?}: closing twice closes nothing");
        let stored = messages(&colloquy, &principal, id).await;
        let shown = lines(&stored);
        assert!(stored.len().is_multiple_of(2), "{crash:?}: {shown:?}");
        if told.started {
            assert_eq!(shown[0], "Question: Count.", "{crash:?}");
        }
        if told.done {
            assert_eq!(shown[1], format!("Answer (answered): {ANSWER} eleven"), "{crash:?}");
        }
        if let Some(answer) = stored.get(1) {
            let text = answer.message.text();
            let whole = format!("{ANSWER} eleven");
            assert!(whole.starts_with(&text) || text == "[The answer was interrupted.]", "{crash:?}: {text}");
        }
        let ask = Ask { text: "Go on.".into(), ..Ask::default() };
        let mut handle = colloquy.start_turn(&principal, id, ask).await.unwrap();
        while handle.reader.next().await.is_some() {}
        let roles: Vec<Role> = models.calls()[0].call.prepared.turns.iter().map(|turn| turn.role).collect();
        for (n, role) in roles.iter().enumerate() {
            assert_eq!(*role, if n % 2 == 0 { Role::User } else { Role::Assistant }, "{crash:?}");
        }
        let shown = lines(&messages(&colloquy, &principal, id).await);
        assert_eq!(shown.last().unwrap(), "Answer (answered): next", "{crash:?}: {shown:?}");
        colloquy.shut_down().await;
    });
}

fn prepare_folder() -> (tempfile::TempDir, ConversationId) {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let id = runtime.block_on(async {
        let colloquy = service(open_store(folder.path()).await, &ScriptedModels::new([]));
        let id = install_and_create(&colloquy, &Principal::local()).await;
        colloquy.shut_down().await;
        id
    });
    (folder, id)
}

#[test]
fn i6_a_process_killed_at_any_call_of_the_store_loses_nothing_it_told() {
    let mut n_crashes = 0;
    for n in 0.. {
        let mut all_dead = true;
        for crash in [Crash::Before(n), Crash::After(n)] {
            let (folder, id) = prepare_folder();
            let (told, dead) = run_until(folder.path(), id, crash);
            check_after(folder.path(), id, &told, crash);
            all_dead &= dead;
            n_crashes += usize::from(dead);
        }
        if !all_dead {
            break;
        }
    }
    // Reads, the question, at least one flush of events and the closing commit.
    assert!(n_crashes >= 10, "only {n_crashes} crashes");
}

#[test]
fn what_was_flushed_before_the_kill_is_the_answer() {
    let (folder, id) = prepare_folder();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let hang = Gate::new();
        let models = ScriptedModels::new([Script::new().words(ANSWER).pause(&hang)]);
        let store = Arc::new(CrashingStore::new(open_store(folder.path()).await, Crash::Never));
        let colloquy = service(store.clone(), &models);
        let ask = Ask { text: "Count.".into(), ..Ask::default() };
        let _handle = colloquy.start_turn(&Principal::local(), id, ask).await.unwrap();
        hang.reached().await;
        // A flush that began after the last word has ended when two more calls have begun.
        let seen = store.n_calls();
        while store.n_calls() < seen + 2 {
            tokio::task::yield_now().await;
        }
    });
    runtime.shutdown_background();

    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let colloquy = service(open_store(folder.path()).await, &ScriptedModels::new([]));
        assert_eq!(colloquy.recover().await.unwrap(), 1);
        let shown = lines(&messages(&colloquy, &Principal::local(), id).await);
        assert_eq!(shown, ["Question: Count.".to_owned(), format!("Answer (interrupted): {ANSWER}")]);
        colloquy.shut_down().await;
    });
}
