//! A deleted conversation leaves no word in the file or its log.

use colloquy::{
    ports::{ConversationPatch, EventChunk, NewMessage, Principal, Question, Store, StoredHead},
    stream::StreamEvent,
};
use colloquy_core::{artifact::Artifact, block::Block, message::Kind};
use colloquy_store_sqlite::SqliteStore;

use sqlx::Connection;

use super::said::{
    answer_to, artifact, bytes_on_disk, conversation, message, outsider, question, texts, turn, uid,
};

const N_TURNS: usize = 42;

fn secret(number: u64, json: &str) -> Artifact {
    let summaries = [("/text".into(), "SECRETsummary".into())].into();
    Artifact { summaries, ..artifact(&format!("byte{number:02}"), json) }
}

fn head(task: &str) -> StoredHead {
    let mut head = StoredHead::default();
    head.objective.put("SECRETkey", Block::Text(task.into()));
    head
}

fn count(haystack: &[u8], needle: &str) -> usize {
    haystack.windows(needle.len()).filter(|window| *window == needle.as_bytes()).count()
}

#[tokio::test]
async fn deleted_text_is_not_in_the_raw_bytes_of_the_file_or_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("colloquy.db");
    let store = SqliteStore::open(&path).await.unwrap();
    let (gone, kept) = (conversation(&store, 1).await, conversation(&store, 2).await);
    // Of every size: rows that share a page, rows that fill one, rows that overflow into many.
    let sizes = [1, 3, 30, 200, 250, 400, 5_000, 1, 2, 9, 100, 6_000, 1, 1].into_iter();
    for (number, n_times) in (1..).zip(sizes.cycle().take(N_TURNS)) {
        let question = question(&store, gone, number, &"SECRETword ".repeat(n_times)).await;
        let question = Question {
            artifacts: vec![secret(number, &"SECRETbytes ".repeat(n_times))],
            head: Some(head(&"SECRETtask ".repeat(n_times))),
            ..question
        };
        let asked = store.append_question(&Principal::local(), gone, question).await.unwrap();
        let steer = vec![Block::Text("SECRETsteer ".repeat(n_times))];
        store.accept_steer(&Principal::local(), &asked.lease, asked.turn_id, steer).await.unwrap();
        let events = vec![StreamEvent::Answer("SECRETpiece ".repeat(n_times))];
        let chunk = EventChunk { lease: asked.lease, turn_id: asked.turn_id, first_seq: 1, events };
        store.append_events(vec![chunk]).await.unwrap();
        let mut answer = answer_to(&asked, &"SECRETanswer ".repeat(n_times));
        let steer = message(uid(1 << 62 | number), Kind::Steer, Block::Text("SECRETsteer".into()));
        answer.messages.insert(0, NewMessage { inbox_ordinal: Some(0), ..steer });
        store.commit_turn(&Principal::local(), &asked.lease, answer).await.unwrap();
        turn(&store, kept, number, &"kept ".repeat(n_times), "KEPTanswer").await;
    }
    let name = ConversationPatch { name: Some("SECRETname".into()), ..Default::default() };
    store.update_conversation(&Principal::local(), gone, name).await.unwrap();
    assert!(count(&bytes_on_disk(&path), "SECRET") > 0);
    assert!(store.delete_conversation(&Principal::local(), gone).await.unwrap());
    let bytes = bytes_on_disk(&path);
    assert_eq!(count(&bytes, "SECRET"), 0);
    assert!(count(&bytes, "KEPTanswer") > 0);
    assert_eq!(texts(&store, kept).await.len(), 2 * N_TURNS);
    assert_eq!(store.check().await.unwrap(), []);
}

#[tokio::test]
async fn bytes_that_two_conversations_share_go_with_the_second() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("colloquy.db");
    let store = SqliteStore::open(&path).await.unwrap();
    let who = Principal::local();
    let ids = [conversation(&store, 1).await, conversation(&store, 2).await];
    for id in ids {
        let question = question(&store, id, 1, "?").await;
        let artifacts = vec![artifact("byte01", "SHAREDbytes"), artifact("byte02", "SHAREDbytes")];
        store.append_question(&who, id, Question { artifacts, ..question }).await.unwrap();
    }
    assert_eq!(store.load_artifacts(&who, ids[0]).await.unwrap().len(), 2);
    for n_left in [1, 0] {
        assert!(store.delete_conversation(&who, ids[1 - n_left]).await.unwrap());
        let mut outsider = outsider(&path).await;
        let n_blobs: i64 =
            sqlx::query_scalar("SELECT count(*) FROM blobs").fetch_one(&mut outsider).await.unwrap();
        outsider.close().await.unwrap();
        assert_eq!(n_blobs, n_left as i64);
        assert_eq!(count(&bytes_on_disk(&path), "SHAREDbytes") > 0, n_left > 0);
        assert_eq!(store.check().await.unwrap(), []);
    }
}
