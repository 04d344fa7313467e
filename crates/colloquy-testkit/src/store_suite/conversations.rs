//! Conversations without their messages.

use std::sync::Arc;

use colloquy::ports::{ConversationPatch, NewConversation, Page, Store, StoreError, Take};
use colloquy_core::{
    conversation::{Settings, SettingsChange},
    message::{ConversationId, MessageId},
};

use super::{Chat, NOW, fresh_uid, principal, settings};

/// At version 0, without a tip.
pub async fn a_new_conversation_is_found_as_it_was_created(store: &Arc<dyn Store>) {
    let who = principal("local");
    let new = NewConversation {
        uid: fresh_uid(),
        llm_id: None,
        name: "Ü\u{0}\n\"'; DROP TABLE conversations".into(),
        settings: settings(),
        created_at: NOW,
    };
    let row = store.create_conversation(&who, new.clone()).await.unwrap();
    assert_eq!((row.uid, &row.name, &row.settings), (new.uid, &new.name, &new.settings));
    assert_eq!((row.llm_id, row.tip_id, row.version), (None, None, 0));
    assert_eq!((row.created_at, row.last_message_at), (NOW, NOW));
    assert_eq!(store.find_conversation(&who, row.id).await.unwrap(), Some(row.clone()));
    assert_eq!(store.list_messages(&who, row.id, Page::default()).await.unwrap(), Some(Vec::new()));
    let view = store.load_view(&who, row.id).await.unwrap().unwrap();
    assert!(view.messages.is_empty() && view.starred.is_empty());
}

/// A change is no new version: the branch that is shown is the same.
pub async fn a_patch_changes_only_what_it_names(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let before = chat.row().await;
    let change = async |patch| store.update_conversation(&chat.who, chat.id, patch).await.unwrap().unwrap();
    assert_eq!(change(ConversationPatch::default()).await, before);
    let named = change(ConversationPatch { name: Some("new".into()), ..Default::default() }).await;
    assert_eq!(named.name, "new");
    assert_eq!(named.settings, before.settings);
    let warmer = SettingsChange { temperature: Some(0.1 + 0.2), ..Default::default() };
    change(ConversationPatch { settings: warmer, ..Default::default() }).await;
    let prompted = SettingsChange { custom_prompt: Some("é".repeat(4096)), ..Default::default() };
    let changed = change(ConversationPatch { settings: prompted, ..Default::default() }).await;
    let both = Settings { temperature: 0.1 + 0.2, custom_prompt: "é".repeat(4096), ..settings() };
    assert_eq!((changed.name.as_str(), &changed.settings), ("new", &both));
    assert_eq!(changed.version, 0);
    assert_eq!(chat.row().await, changed);
}

/// By identifier, at every size of page.
pub async fn conversations_are_listed_newest_first_in_pages(store: &Arc<dyn Store>) {
    let mut all = Vec::new();
    for _ in 0..5 {
        all.insert(0, Chat::new(store).await.id);
    }
    let list = async |limit, before: Option<ConversationId>| {
        let page = Page { limit, before: before.map(|id| id.0) };
        let rows = store.list_conversations(&principal("local"), page).await.unwrap();
        rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    assert_eq!(list(None, None).await, all);
    assert_eq!(list(Some(0), None).await, []);
    assert_eq!(list(Some(2), None).await, all[..2]);
    assert_eq!(list(Some(2), Some(all[1])).await, all[2..4]);
    assert_eq!(list(Some(u32::MAX), Some(all[3])).await, all[4..]);
    assert_eq!(list(None, Some(all[4])).await, []);
}

/// Absence is no error, except where somebody asks a question.
pub async fn an_unknown_conversation_is_absent_everywhere(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let (who, id) = (&chat.who, ConversationId(i64::MAX));
    assert_eq!(store.find_conversation(who, id).await.unwrap(), None);
    assert_eq!(store.update_conversation(who, id, ConversationPatch::default()).await.unwrap(), None);
    assert!(!store.delete_conversation(who, id).await.unwrap());
    assert_eq!(store.list_messages(who, id, Page::default()).await.unwrap(), None);
    assert_eq!(store.load_view(who, id).await.unwrap(), None);
    assert_eq!(store.load_head(who, id).await.unwrap(), None);
    assert_eq!(store.load_artifacts(who, id).await.unwrap(), []);
    assert_eq!(store.find_message(who, MessageId(i64::MAX)).await.unwrap(), None);
    assert_eq!(store.set_star(who, MessageId(i64::MAX), Some(NOW)).await.unwrap(), None);
    assert_eq!(store.take_lease(who, id, Take::ByForce, chat.holder, NOW).await.unwrap(), None);
    assert_eq!(store.find_turn(who, id, fresh_uid()).await.unwrap(), None);
    let asked = store.append_question(who, id, chat.question(None, "hello?")).await;
    assert!(matches!(asked, Err(StoreError::NoSuchConversation)), "{asked:?}");
}
