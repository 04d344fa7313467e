//! A deleted conversation stays deleted.

use std::sync::Arc;

use colloquy::ports::{Page, Store, StoreError, Take};

use super::{
    Chat, LEASE_MS, NOW,
    artifacts::artifact,
    fences::{assert_every_write_is_stale, chunk, tool_run},
    fresh_uid,
    heads::head,
};

/// The turn that ran on it fails loudly, and nothing comes back.
pub async fn a_deleted_conversation_takes_no_late_write(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let (question, _) = chat.turn("1", "one").await;
    store.set_star(&chat.who, question, Some(NOW)).await.unwrap();
    let mut second = chat.question(chat.tip().await, "2");
    second.artifacts = vec![artifact("note", "abc123", "{}")];
    second.head = Some(head("in short"));
    let turn_uid = second.turn_uid;
    let asked = chat.append(second).await.unwrap();
    store.start_tool_runs(&chat.who, &asked.lease, vec![tool_run(asked.turn_id)]).await.unwrap();
    store.append_events(vec![chunk(asked.lease, asked.turn_id, 1, &["tw"])]).await.unwrap();
    chat.steer(&asked, "in French").await.unwrap();
    assert!(store.delete_conversation(&chat.who, chat.id).await.unwrap());
    assert!(!store.delete_conversation(&chat.who, chat.id).await.unwrap());

    assert_every_write_is_stale(&chat, &asked, &asked.lease).await;
    let late = chat.append(chat.question(None, "3")).await;
    assert!(matches!(late, Err(StoreError::NoSuchConversation)), "{late:?}");
    assert_eq!(
        store.take_lease(&chat.who, chat.id, Take::ByForce, fresh_uid(), NOW + LEASE_MS).await.unwrap(),
        None
    );
    assert_eq!(store.find_conversation(&chat.who, chat.id).await.unwrap(), None);
    assert_eq!(store.list_conversations(&chat.who, Page::default()).await.unwrap(), []);
    assert_eq!(store.list_messages(&chat.who, chat.id, Page::default()).await.unwrap(), None);
    assert_eq!(store.find_message(&chat.who, question).await.unwrap(), None);
    assert_eq!(store.set_star(&chat.who, question, Some(NOW)).await.unwrap(), None);
    assert_eq!(store.find_turn(&chat.who, chat.id, turn_uid).await.unwrap(), None);
    assert_eq!(store.load_head(&chat.who, chat.id).await.unwrap(), None);
    assert_eq!(store.load_artifacts(&chat.who, chat.id).await.unwrap(), []);
    assert_eq!(store.open_turns(i64::MAX).await.unwrap(), []);
    assert_eq!(store.sweep_events(i64::MAX).await.unwrap(), 0);
}

/// A stale tab that holds one can never reach something new.
pub async fn identifiers_are_never_used_again(store: &Arc<dyn Store>) {
    let old = Chat::new(store).await;
    let asked = old.ask("1").await;
    let answer = old.answer(&asked, "one").await.messages[0].id;
    store.delete_conversation(&old.who, old.id).await.unwrap();
    let new = Chat::new(store).await;
    let next = new.ask("1").await;
    assert!(new.id > old.id && next.message.id > answer && next.turn_id > asked.turn_id);
}

/// Also where their turns run.
pub async fn deleting_one_conversation_leaves_the_others(store: &Arc<dyn Store>) {
    let (gone, kept) = (Chat::new(store).await, Chat::new(store).await);
    gone.turn("1", "one").await;
    kept.turn("2", "two").await;
    let asked = kept.ask("3").await;
    store.append_events(vec![chunk(asked.lease, asked.turn_id, 1, &["th"])]).await.unwrap();
    let before = (kept.row().await, kept.list(Page::default()).await);
    assert!(store.delete_conversation(&gone.who, gone.id).await.unwrap());
    assert_eq!((kept.row().await, kept.list(Page::default()).await), before);
    kept.answer(&asked, "three").await;
    assert_eq!(kept.texts().await, ["2", "two", "3", "three"]);
}
