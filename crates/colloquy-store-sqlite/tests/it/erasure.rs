//! A deleted conversation leaves no word in the file or its log.

use colloquy::{
    ports::{ConversationPatch, EventChunk, Principal, Store},
    stream::StreamEvent,
};
use colloquy_store_sqlite::SqliteStore;

use super::said::{answer_to, ask, bytes_on_disk, conversation, texts, turn};

const N_TURNS: usize = 42;

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
        let asked = ask(&store, gone, number, &"SECRETword ".repeat(n_times)).await;
        let events = vec![StreamEvent::Answer("SECRETpiece ".repeat(n_times))];
        let chunk = EventChunk { lease: asked.lease, turn_id: asked.turn_id, first_seq: 1, events };
        store.append_events(vec![chunk]).await.unwrap();
        let answer = answer_to(&asked, &"SECRETanswer ".repeat(n_times));
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
