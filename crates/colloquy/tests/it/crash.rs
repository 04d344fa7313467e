//! The process is killed at every call it makes of the store, before and after it takes effect,
//! while a long answer streams. At the next start the turn is closed, nothing that was told is
//! lost, and the next question is answered (I6).

use std::{path::Path, sync::Arc};

use colloquy::{
    Ask,
    ports::{ConversationRow, Principal, Question, Take},
    stream::StreamEvent,
};
use colloquy_core::{
    block::Block,
    message::{ConversationId, Role, Uid},
    turn::Outcome,
};
use colloquy_testkit::{
    crash::{Crash, CrashingStore},
    gate::Gate,
    scripted::{Opening, Script, ScriptedModels},
};

use crate::harness::{Fixture, install_and_create, lines, messages, open_store, read, service};

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
                    | StreamEvent::Withdraw { .. }
                    | StreamEvent::ToolCall { .. }
                    | StreamEvent::ToolResult { .. }
                    | StreamEvent::Steer { .. }
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

/// A moment between two calls of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// The engine is loading.
    Loading,
    /// The model has said that many words, and nothing since.
    Words(usize),
}

fn moments() -> impl Iterator<Item = Moment> {
    std::iter::once(Moment::Loading).chain((0..=4).map(Moment::Words))
}

/// Models that wait at `moment`, and answer the next question.
fn waiting_at(moment: Moment) -> (ScriptedModels, Gate) {
    let gate = Gate::new();
    let words: Vec<&str> = ANSWER.split_inclusive(' ').collect();
    let script = match moment {
        Moment::Loading => Script::answer(ANSWER),
        Moment::Words(n) => {
            let said = words[..n].iter().fold(Script::new(), |script, word| script.text(word));
            words[n..].iter().fold(said.pause(&gate), |script, word| script.text(word)).stop()
        }
    };
    let models = ScriptedModels::new([script, Script::answer("next"), Script::answer("next")]);
    if moment == Moment::Loading {
        models.push_opening(Opening { gate: Some(gate.clone()), ..Opening::default() });
    }
    (models, gate)
}

fn said_at(moment: Moment) -> String {
    match moment {
        Moment::Loading | Moment::Words(0) => "[The answer was interrupted.]".into(),
        Moment::Words(n) => ANSWER.split_inclusive(' ').take(n).collect(),
    }
}

#[test]
fn a_process_killed_between_two_calls_of_the_store_is_closed_like_any_other() {
    for moment in moments() {
        let (folder, id) = prepare_folder();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(async {
            let (models, gate) = waiting_at(moment);
            let colloquy = service(open_store(folder.path()).await, &models);
            let ask = Ask { text: "Count.".into(), ..Ask::default() };
            let _handle = colloquy.start_turn(&Principal::local(), id, ask).await.unwrap();
            gate.reached().await;
        });
        runtime.shutdown_background();
        let told = Told { started: true, ..Told::default() };
        check_after(folder.path(), id, &told, Crash::Never);
    }
}

#[tokio::test]
async fn a_turn_stopped_at_any_moment_keeps_what_was_said_and_the_next_is_answered() {
    for moment in moments() {
        let (models, gate) = waiting_at(moment);
        let fixture = Fixture::new(models).await;
        let handle = fixture.ask("Count.").await.unwrap();
        gate.reached().await;
        drop(handle);
        fixture.colloquy.stop(&fixture.principal, fixture.id).await.unwrap();
        let shown = fixture.lines().await;
        assert!(
            shown[1].ends_with(&said_at(moment)) && shown[1].contains("(stopped)"),
            "{moment:?}: {shown:?}"
        );
        fixture.answer("Go on.").await;
        assert_eq!(fixture.lines().await.len(), 4, "{moment:?}");
    }
}

#[tokio::test]
async fn i7_a_turn_whose_lease_is_taken_at_any_moment_writes_nothing_more() {
    for moment in moments() {
        let (models, gate) = waiting_at(moment);
        let fixture = Fixture::new(models).await;
        let handle = fixture.ask("Count.").await.unwrap();
        gate.reached().await;
        let store = fixture.colloquy.store();
        let thief = Uid([9; 16]);
        let taken =
            store.take_lease(&fixture.principal, fixture.id, Take::ByForce, thief, i64::MAX).await.unwrap();
        assert!(taken.is_some());
        // The heartbeat finds out; the script would wait for ever.
        let events = read(handle).await;
        let [.., StreamEvent::Error(_), StreamEvent::Done(done)] = events.as_slice() else {
            panic!("{events:?}")
        };
        assert_eq!((done.outcome, done.message_id), (Outcome::Interrupted, None), "{moment:?}");
        assert_eq!(fixture.lines().await, ["Question: Count."], "{moment:?}");
    }
}

#[tokio::test]
async fn a_start_closes_each_dead_turn_once_also_when_its_lease_has_expired() {
    let (folder, id) = tokio::task::spawn_blocking(prepare_folder).await.unwrap();
    let store = open_store(folder.path()).await;
    let question = |row: &ConversationRow| Question {
        holder: Uid([9; 16]),
        lease_ms: 0,
        turn_uid: Uid([8; 16]),
        base_id: row.tip_id,
        message_uid: Uid([7; 16]),
        blocks: vec![Block::Text("Count.".into())],
        app_authored: false,
        artifacts: Vec::new(),
        before: Vec::new(),
        head: None,
        request: colloquy::record::encode_request(None),
        llm_id: row.llm_id,
        at: 0,
    };
    let principal = Principal::local();
    let row = store.find_conversation(&principal, id).await.unwrap().unwrap();
    store.append_question(&principal, id, question(&row)).await.unwrap();
    let models = ScriptedModels::new([Script::answer("next")]);
    let colloquy = service(store, &models);
    // Asked before anybody recovers: the dead turn is closed on the way.
    let ask = Ask { text: "Go on.".into(), ..Ask::default() };
    read(colloquy.start_turn(&principal, id, ask).await.unwrap()).await;
    assert_eq!(colloquy.recover().await.unwrap(), 0);
    let shown = lines(&messages(&colloquy, &principal, id).await);
    assert_eq!(shown[1], "Closing (interrupted): [The answer was interrupted.]");
    assert_eq!(shown[3], "Answer (answered): next");
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
    // Kept beyond the process: dropping the handle would stop the turn.
    let _handle = runtime.block_on(async {
        let hang = Gate::new();
        let models = ScriptedModels::new([Script::new().words(ANSWER).pause(&hang)]);
        let store = Arc::new(CrashingStore::new(open_store(folder.path()).await, Crash::Never));
        let colloquy = service(store.clone(), &models);
        let ask = Ask { text: "Count.".into(), ..Ask::default() };
        let handle = colloquy.start_turn(&Principal::local(), id, ask).await.unwrap();
        hang.reached().await;
        // A flush that began after the last word has ended when two more calls have begun.
        let seen = store.n_calls();
        while store.n_calls() < seen + 2 {
            tokio::task::yield_now().await;
        }
        handle
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
