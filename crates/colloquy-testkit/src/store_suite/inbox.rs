//! Messages that a running turn accepted: none is lost, none is told the model twice.

use std::sync::Arc;

use colloquy::ports::{InboxMessage, NewMessage, Store, StoreError};
use colloquy_core::message::Kind;

use super::{Chat, answer_to, assert_stale, call, end, message, results, text};

fn delivery(ordinal: u32, said: &str) -> NewMessage {
    NewMessage { inbox_ordinal: Some(ordinal), ..message(Kind::Steer, text(said)) }
}

async fn waiting(chat: &Chat<'_>) -> Vec<(u32, String)> {
    let said = |blocks: &[_]| colloquy_core::message::text_of(blocks);
    let waiting = |message: &InboxMessage| (message.ordinal, said(&message.blocks));
    chat.open_turn().await.inbox.iter().map(waiting).collect()
}

/// Whoever finds the turn dead finds what it still had to say.
pub async fn what_was_accepted_waits_in_order_until_a_message_delivers_it(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let asked = chat.ask("1").await;
    assert_eq!(waiting(&chat).await, []);
    for (ordinal, said) in [(0, "in French"), (1, ""), (2, "and \u{0} short")] {
        assert_eq!(chat.steer(&asked, said).await.unwrap(), ordinal);
    }
    // What was accepted is no message yet: it moves no tip and counts no version.
    assert_eq!(chat.row().await.version, asked.version);
    assert_eq!(chat.texts().await, ["1"]);
    let all = [(0, "in French".into()), (1, String::new()), (2, "and \u{0} short".into())];
    assert_eq!(waiting(&chat).await, all);

    let step = vec![call(), results(), delivery(1, ""), delivery(0, "in French")];
    let step = chat.step(&asked, asked.message.id, step).await.unwrap();
    assert_eq!(waiting(&chat).await, all[2..]);
    // A place is never given twice.
    assert_eq!(chat.steer(&asked, "thanks").await.unwrap(), 3);
    let closing =
        vec![delivery(2, "and \u{0} short"), delivery(3, "thanks"), message(Kind::Answer, text("un"))];
    chat.commit(&asked.lease, end(asked.turn_id, step[3].id, closing)).await.unwrap();
    assert_eq!(chat.texts().await[3..], ["", "in French", "and \u{0} short", "thanks", "un"]);
    // Each turn has places of its own.
    let next = chat.ask("2").await;
    assert_eq!(chat.steer(&next, "again").await.unwrap(), 0);
    assert_eq!(waiting(&chat).await, [(0, "again".into())]);
}

/// Where one is refused, so is the other.
pub async fn a_delivery_and_its_message_are_one_transaction(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let (_, answer) = chat.turn("1", "one").await;
    let asked = chat.ask("2").await;
    chat.steer(&asked, "in French").await.unwrap();
    let before = waiting(&chat).await;
    let step = chat.step(&asked, answer, vec![delivery(0, "in French")]).await;
    assert!(matches!(step, Err(StoreError::StaleParent { .. })), "{step:?}");
    let step = vec![delivery(0, "in French"), delivery(1, "nobody said this")];
    let step = chat.step(&asked, asked.message.id, step).await;
    assert!(matches!(step, Err(StoreError::Corrupt(_))), "{step:?}");
    assert_eq!(waiting(&chat).await, before);
    assert_eq!(chat.texts().await, ["1", "one", "2"]);
}

/// Also within one commit.
pub async fn a_message_is_delivered_once(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let asked = chat.ask("1").await;
    chat.steer(&asked, "in French").await.unwrap();
    let twice = vec![delivery(0, "in French"), delivery(0, "in French")];
    let step = chat.step(&asked, asked.message.id, twice).await;
    assert!(matches!(step, Err(StoreError::Corrupt(_))), "{step:?}");
    let step = chat.step(&asked, asked.message.id, vec![delivery(0, "in French")]).await.unwrap();
    let again = vec![delivery(0, "in French"), message(Kind::Answer, text("un"))];
    let again = chat.commit(&asked.lease, end(asked.turn_id, step[0].id, again)).await;
    assert!(matches!(again, Err(StoreError::Corrupt(_))), "{again:?}");
    assert_eq!(chat.texts().await, ["1", "in French"]);
    assert_eq!(waiting(&chat).await, []);
}

/// Nor does one that is another conversation's.
pub async fn an_ended_turn_accepts_nothing(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let asked = chat.ask("1").await;
    chat.commit(&asked.lease, answer_to(&asked, "one")).await.unwrap();
    assert_stale(chat.steer(&asked, "too late").await);
    let next = chat.ask("2").await;
    assert_stale(store.accept_steer(&chat.who, &next.lease, asked.turn_id, text("to the old turn")).await);
    assert_eq!(waiting(&chat).await, []);
}
