//! What a killed process and a power cut leave behind.

use std::path::Path;

use colloquy::{
    ports::{ConversationPatch, EventChunk, Principal, Store},
    stream::StreamEvent,
};
use colloquy_store_sqlite::SqliteStore;

use super::said::{answer_to, ask, conversation, texts, turn};

/// The file and its log as they are now, without the shared memory: what a new process finds.
fn copy(from: &Path, to: &Path) {
    for name in ["colloquy.db", "colloquy.db-wal"] {
        if from.join(name).exists() {
            std::fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
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

        copy(live.path(), dead.path());
        let reopened = SqliteStore::open(&dead.path().join("colloquy.db")).await.unwrap();
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
