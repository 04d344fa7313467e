//! What a turn costs on disk: at most twice its text and 1 KB, however long the conversation is.

use colloquy_store_sqlite::SqliteStore;

use super::said::{bytes_on_disk, conversation, turn};

/// Enough that a page more or less does not count.
const N_TURNS: usize = 200;

async fn bytes_per_turn(text_bytes: usize) -> [usize; 2] {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("colloquy.db");
    let mut sizes = vec![];
    let mut store = SqliteStore::open(&path).await.unwrap();
    let id = conversation(&store, 1).await;
    let text = "words ".repeat(text_bytes / 12);
    for number in 0..=3 * N_TURNS {
        if number % N_TURNS == 0 {
            store.close().await;
            sizes.push(bytes_on_disk(&path).len());
            store = SqliteStore::open(&path).await.unwrap();
        }
        turn(&store, id, number as u64 + 1, &text, &text).await;
    }
    // The first ones also fill the pages that every table begins with.
    [(sizes[2] - sizes[1]) / N_TURNS, (sizes[3] - sizes[2]) / N_TURNS]
}

#[tokio::test]
async fn a_turn_stores_at_most_twice_its_text_and_a_kilobyte_and_the_next_as_much() {
    for text_bytes in [60, 1_200, 12_000] {
        let [early, late] = bytes_per_turn(text_bytes).await;
        let most = 2 * text_bytes + 1_024;
        assert!(early <= most, "{early} bytes for {text_bytes} of text");
        assert!(late <= most, "{late} bytes for {text_bytes} of text");
        assert!(late <= early + early / 5, "{late} bytes after {early} before");
    }
}
