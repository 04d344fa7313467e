//! Events of turns, chunk by chunk.

use std::sync::Arc;

use colloquy::{
    ports::{Commit, EventChunk, Store, Take},
    stream::{Progress, StreamEvent},
};

use super::{Chat, NOW, answer_to, fences::chunk};

async fn pieces(store: &Arc<dyn Store>) -> Vec<String> {
    let open = store.open_turns(i64::MAX).await.unwrap();
    let events = open.into_iter().flat_map(|turn| turn.events);
    events
        .filter_map(|event| match event {
            StreamEvent::Answer(piece) => Some(piece),
            StreamEvent::Thinking(_)
            | StreamEvent::Withdraw { .. }
            | StreamEvent::ToolCall { .. }
            | StreamEvent::ToolResult { .. }
            | StreamEvent::Steer { .. }
            | StreamEvent::Progress(_)
            | StreamEvent::Reload
            | StreamEvent::Error(_)
            | StreamEvent::Done(_) => None,
        })
        .collect()
}

/// So that a flush whose answer was lost may be repeated with more in it.
pub async fn the_longer_of_two_chunks_with_the_same_number_stays(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let question = chat.question(None, "1");
    let turn_uid = question.turn_uid;
    let asked = chat.append(question).await.unwrap();
    let flush = async |first_seq, pieces: &[&str]| {
        let chunk = chunk(asked.lease, asked.turn_id, first_seq, pieces);
        assert_eq!(store.append_events(vec![chunk]).await.unwrap(), []);
    };
    flush(1, &["a", "b"]).await;
    flush(1, &["a", "b", "c"]).await;
    flush(1, &["a"]).await;
    flush(4, &["\u{0}é", ""]).await;
    flush(6, &[]).await;
    assert_eq!(pieces(store).await, ["a", "b", "c", "\u{0}é", ""]);
    let turn = store.find_turn(&chat.who, chat.id, turn_uid).await.unwrap().unwrap();
    assert_eq!(turn.last_seq, 5);
    assert_eq!(store.append_events(Vec::new()).await.unwrap(), []);
}

/// The commit's own number of events counts, whether the tail was long or empty.
pub async fn the_tail_of_a_commit_is_stored_with_it(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let question = chat.question(None, "1");
    let turn_uid = question.turn_uid;
    let asked = chat.append(question).await.unwrap();
    let first = chunk(asked.lease, asked.turn_id, 1, &["a"]);
    store.append_events(vec![first]).await.unwrap();
    let tail = vec![StreamEvent::Answer("b".into())];
    let commit = Commit { tail, first_seq: 2, last_seq: 3, ..answer_to(&asked, "ab") };
    chat.commit(&asked.lease, commit).await.unwrap();
    // `done` follows the commit and may be flushed as long as nobody else has the conversation.
    let done = chunk(asked.lease, asked.turn_id, 3, &["c"]);
    assert_eq!(store.append_events(vec![done]).await.unwrap(), []);
    let turn = store.find_turn(&chat.who, chat.id, turn_uid).await.unwrap().unwrap();
    assert_eq!(turn.last_seq, 3);
    assert_eq!(store.sweep_events(i64::MAX).await.unwrap(), 1);
}

/// Many turns are flushed in one transaction.
pub async fn a_stale_chunk_does_not_keep_the_others_out(store: &Arc<dyn Store>) {
    let (one, two) = (Chat::new(store).await, Chat::new(store).await);
    let (stale, live) = (one.ask("1").await, two.ask("1").await);
    store.take_lease(&one.who, one.id, Take::ByForce, super::fresh_uid(), NOW).await.unwrap();
    let chunks = vec![
        chunk(stale.lease, stale.turn_id, 1, &["lost"]),
        EventChunk {
            events: vec![
                StreamEvent::Progress(Progress::Loading),
                StreamEvent::Thinking("hm".into()),
                StreamEvent::Answer("kept".into()),
            ],
            ..chunk(live.lease, live.turn_id, 1, &[])
        },
    ];
    assert_eq!(store.append_events(chunks).await.unwrap(), [stale.turn_id]);
    assert_eq!(pieces(store).await, ["kept"]);
}

/// Those of running turns stay, however old.
pub async fn events_of_ended_turns_are_swept_after_their_time(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let first = chat.ask("1").await;
    store.append_events(vec![chunk(first.lease, first.turn_id, 1, &["o", "n"])]).await.unwrap();
    store.append_events(vec![chunk(first.lease, first.turn_id, 3, &["e"])]).await.unwrap();
    let ended_at = answer_to(&first, "").at;
    chat.answer(&first, "one").await;
    let second = chat.ask("2").await;
    store.append_events(vec![chunk(second.lease, second.turn_id, 1, &["t"])]).await.unwrap();
    assert_eq!(store.sweep_events(ended_at).await.unwrap(), 0);
    assert_eq!(store.sweep_events(ended_at + 1).await.unwrap(), 1);
    assert_eq!(store.sweep_events(i64::MAX).await.unwrap(), 0);
    assert_eq!(pieces(store).await, ["t"]);
    assert_eq!(chat.texts().await, ["1", "one", "2"]);
}
