//! What a killed process and a power cut leave behind.

use std::path::Path;

use colloquy::{
    ports::{
        ConversationPatch, EventChunk, InboxMessage, NewMessage, Principal, Question, StepCommit, Store,
        StoredHead, ToolRun, ToolRunState,
    },
    stream::StreamEvent,
};
use colloquy_core::{
    block::{Block, ToolCall, ToolResult},
    message::Kind,
};
use colloquy_store_sqlite::SqliteStore;

use super::said::{NOW, answer_to, artifact, ask, conversation, message, question, texts, turn, uid};

/// The file and its log as they are now, without the shared memory: what a new process finds.
fn copy(from: &Path, to: &Path) {
    for name in ["colloquy.db", "colloquy.db-wal"] {
        if from.join(name).exists() {
            std::fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
}

/// The store that a new process finds if this one is killed now.
async fn killed(live: &Path, dead: &Path) -> SqliteStore {
    copy(live, dead);
    SqliteStore::open(&dead.join("colloquy.db")).await.unwrap()
}

#[tokio::test]
async fn everything_committed_survives_a_kill_at_any_commit() {
    let (live, dead) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = SqliteStore::open(&live.path().join("colloquy.db")).await.unwrap();
    let id = conversation(&store, 1).await;
    let mut said = Vec::new();
    for number in 1..=20 {
        // Large enough that the log is folded into the file in between.
        let (question, answer) = (format!("q{number}"), format!("a{number} ").repeat(20_000));
        let asked = ask(&store, id, number, &question).await;
        said.push(question);
        let events = vec![StreamEvent::Answer(answer[..4].into())];
        let chunk = EventChunk { lease: asked.lease, turn_id: asked.turn_id, first_seq: 1, events };
        store.append_events(vec![chunk]).await.unwrap();

        let reopened = killed(live.path(), dead.path()).await;
        assert_eq!(texts(&reopened, id).await, said);
        let open = reopened.open_turns(i64::MAX).await.unwrap();
        assert_eq!((open.len(), open[0].turn.last_seq), (1, 1));
        assert_eq!(open[0].events, [StreamEvent::Answer(answer[..4].into())]);
        assert_eq!(reopened.check().await.unwrap(), []);
        reopened.close().await;

        store.commit_turn(&Principal::local(), &asked.lease, answer_to(&asked, &answer)).await.unwrap();
        said.push(answer);
    }
    drop(store);
    let reopened = SqliteStore::open(&live.path().join("colloquy.db")).await.unwrap();
    assert_eq!(texts(&reopened, id).await, said);
}

#[tokio::test]
async fn what_comes_with_a_question_survives_a_kill_as_the_question_does() {
    let (live, dead) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = SqliteStore::open(&live.path().join("colloquy.db")).await.unwrap();
    let (who, id) = (Principal::local(), conversation(&store, 1).await);
    let mut head = StoredHead::default();
    head.objective.put("task", Block::Text("sum up".into()));
    let artifacts = vec![artifact("zzzzzz", "{ \"z\":1.0}"), artifact("aaaaaa", "{}")];
    let before = vec![message(uid(7), Kind::Announcement, Block::Text("a tool".into()))];
    let first = question(&store, id, 1, "?").await;
    let first = Question { before, head: Some(head.clone()), artifacts: artifacts.clone(), ..first };
    let asked = store.append_question(&who, id, first).await.unwrap();
    let found = killed(live.path(), dead.path()).await;
    assert_eq!(found.load_head(&who, id).await.unwrap(), Some(head));
    assert_eq!(found.load_artifacts(&who, id).await.unwrap(), artifacts);
    let view = found.load_view(&who, id).await.unwrap().unwrap();
    assert_eq!(view.messages, [asked.before[0].clone(), asked.message]);
    found.close().await;
}

/// As a provider may mint one.
const CALL_ID: &str = "toolu_01A09q|rs_2\u{0}é";

// behaviours: 232
#[tokio::test]
async fn every_step_of_a_tool_turn_survives_a_kill_the_moment_it_is_committed() {
    let (live, dead) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = SqliteStore::open(&live.path().join("colloquy.db")).await.unwrap();
    let (who, id) = (Principal::local(), conversation(&store, 1).await);
    let asked = ask(&store, id, 1, "?").await;
    let made = artifact("abc123", "{}");
    let call = ToolCall { id: CALL_ID.into(), name: "clock".into(), input: "{\"cut off".into() };
    let result =
        ToolResult { call_id: CALL_ID.into(), text: made.reference.as_str().into(), is_error: false };
    let step = |parent_id, messages| StepCommit { turn_id: asked.turn_id, parent_id, messages, at: NOW };

    let first = vec![message(uid(7), Kind::Call, Block::ToolCall(call.clone()))];
    let first = store.append_step(&who, &asked.lease, step(asked.message.id, first)).await.unwrap();
    let run = ToolRun {
        turn_id: asked.turn_id,
        step: 0,
        call_id: call.id.clone(),
        name: call.name.clone(),
        input: call.input.clone(),
        state: ToolRunState::Finished,
        result: Some(result.text.clone()),
        is_error: false,
        started_at: NOW,
        finished_at: Some(NOW),
    };
    store.finish_tool_run(&who, &asked.lease, run.clone(), vec![made.clone()]).await.unwrap();
    let said = Block::Text("in French".into());
    store.accept_steer(&who, &asked.lease, asked.turn_id, vec![said.clone()]).await.unwrap();
    let found = killed(live.path(), dead.path()).await;
    let open = found.open_turns(i64::MAX).await.unwrap().remove(0);
    assert_eq!(open.messages[1..], first);
    assert_eq!(first[0].calls().collect::<Vec<_>>(), [&call]);
    assert_eq!(open.tool_runs, [run]);
    assert_eq!(open.inbox, [InboxMessage { ordinal: 0, blocks: vec![said.clone()] }]);
    assert_eq!(found.load_artifacts(&who, id).await.unwrap(), [made]);
    found.close().await;

    let steer = NewMessage { inbox_ordinal: Some(0), ..message(uid(9), Kind::Steer, said) };
    let second = vec![message(uid(8), Kind::Results, Block::ToolResult(result.clone())), steer];
    let second = store.append_step(&who, &asked.lease, step(first[0].id, second)).await.unwrap();
    let found = killed(live.path(), dead.path()).await;
    let open = found.open_turns(i64::MAX).await.unwrap().remove(0);
    assert_eq!(open.messages[2..], second);
    assert_eq!(second[0].results().collect::<Vec<_>>(), [&result]);
    assert_eq!(open.inbox, []);
    assert_eq!(found.check().await.unwrap(), []);
    found.close().await;
}

#[tokio::test]
async fn a_log_that_is_cut_short_anywhere_opens_with_a_prefix_of_what_was_said() {
    let (live, dead) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = SqliteStore::open(&live.path().join("colloquy.db")).await.unwrap();
    let id = conversation(&store, 1).await;
    for number in 1..=10 {
        turn(&store, id, number, "question", "answer").await;
    }
    let all = texts(&store, id).await;
    let log = std::fs::read(live.path().join("colloquy.db-wal")).unwrap();
    let cuts = [1, 2, 31, 100, 511, 1_000, 4_095, 4_096, 10_000, log.len() - 40, log.len()];
    for cut in cuts {
        copy(live.path(), dead.path());
        std::fs::write(dead.path().join("colloquy.db-wal"), &log[..log.len() - cut]).unwrap();
        let store = SqliteStore::open(&dead.path().join("colloquy.db")).await.unwrap();
        assert_eq!(store.check().await.unwrap(), []);
        let found = store.find_conversation(&Principal::local(), id).await.unwrap();
        if found.is_some() {
            let left = texts(&store, id).await;
            assert_eq!(left, all[..left.len()], "after a cut of {cut} bytes");
        }
        // It opens for writing as well.
        let other = conversation(&store, 1_000).await;
        turn(&store, other, 1, "still", "here").await;
        store.close().await;
    }
}

#[tokio::test]
async fn a_commit_whose_caller_goes_away_is_whole_or_absent() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("colloquy.db")).await.unwrap();
    let id = conversation(&store, 1).await;
    for n_polls in 0..60 {
        let asked = ask(&store, id, n_polls, "question").await;
        let who = Principal::local();
        let mut commit = store.commit_turn(&who, &asked.lease, answer_to(&asked, "answer"));
        for _ in 0..n_polls {
            if futures::poll!(commit.as_mut()).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(commit);
        // Behind whatever of it had reached the one connection that commits.
        store.update_conversation(&who, id, ConversationPatch::default()).await.unwrap();
        let open = store.open_turns(i64::MAX).await.unwrap();
        if open.is_empty() {
            assert_eq!(texts(&store, id).await.last().unwrap(), "answer");
        } else {
            assert_eq!(texts(&store, id).await.last().unwrap(), "question");
            store.commit_turn(&who, &asked.lease, answer_to(&asked, "answer")).await.unwrap();
        }
    }
    assert_eq!(store.check().await.unwrap(), []);
}
