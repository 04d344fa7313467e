//! What belongs to another principal is as if it did not exist (I12).

use std::sync::Arc;

use colloquy::ports::{
    ConversationPatch, EngineKind, NewConversation, NewLlm, Page, Store, StoreError, Take,
};

use super::{
    Chat, NOW, answer_to, artifacts::artifact, fences::assert_every_write_is_stale, fresh_uid, heads::head,
    principal, settings,
};

fn llm(name: &str) -> NewLlm {
    NewLlm {
        name: name.into(),
        engine: EngineKind::Llama { path: "/m".into() },
        context_window: None,
        param_size: None,
        size_bytes: None,
        generation_config: None,
        make_default: true,
        created_at: NOW,
    }
}

/// Not by its id, not in a list.
pub async fn i12_nothing_of_another_principal_can_be_seen(store: &Arc<dyn Store>) {
    let chat = Chat::of(store, principal("anne")).await;
    let own = store.insert_llm(&chat.who, llm("hers")).await.unwrap();
    let mut question = chat.question(None, "secret");
    question.artifacts = vec![artifact("note", "secret", r#"{"text":"secret"}"#)];
    question.head = Some(head("secret"));
    let turn_uid = question.turn_uid;
    let asked = chat.append(question).await.unwrap();
    let bob = principal("bob");
    assert_eq!(store.find_llm(&bob, own.id).await.unwrap(), None);
    assert_eq!(store.list_llms(&bob, Page::default()).await.unwrap(), []);
    assert_eq!(store.find_conversation(&bob, chat.id).await.unwrap(), None);
    assert_eq!(store.list_conversations(&bob, Page::default()).await.unwrap(), []);
    assert_eq!(store.list_messages(&bob, chat.id, Page::default()).await.unwrap(), None);
    assert_eq!(store.list_branch(&bob, chat.id).await.unwrap(), None);
    assert_eq!(store.find_message(&bob, asked.message.id).await.unwrap(), None);
    assert_eq!(store.load_view(&bob, chat.id).await.unwrap(), None);
    assert_eq!(store.find_turn(&bob, chat.id, turn_uid).await.unwrap(), None);
    assert_eq!(store.load_head(&bob, chat.id).await.unwrap(), None);
    assert_eq!(store.load_artifacts(&bob, chat.id).await.unwrap(), []);
    // Nor through a conversation of one's own.
    let other = Chat::of(store, bob.clone()).await;
    assert_eq!(store.find_turn(&bob, other.id, turn_uid).await.unwrap(), None);
}

/// Not even with a lease that is valid.
pub async fn i12_nothing_of_another_principal_can_be_changed(store: &Arc<dyn Store>) {
    let chat = Chat::of(store, principal("anne")).await;
    let own = store.insert_llm(&chat.who, llm("hers")).await.unwrap();
    let asked = chat.ask("1").await;
    let before = chat.row().await;
    let bob = principal("bob");
    let his = store.insert_llm(&bob, llm("his")).await.unwrap();
    assert!(his.is_default);
    assert!(!store.delete_llm(&bob, own.id).await.unwrap());
    assert!(!store.set_default_llm(&bob, own.id).await.unwrap());
    assert_eq!(store.find_llm(&chat.who, own.id).await.unwrap(), Some(own.clone()));
    let patch = ConversationPatch { name: Some("mine".into()), ..Default::default() };
    assert_eq!(store.update_conversation(&bob, chat.id, patch).await.unwrap(), None);
    assert!(!store.delete_conversation(&bob, chat.id).await.unwrap());
    assert_eq!(store.set_star(&bob, asked.message.id, Some(NOW)).await.unwrap(), None);
    assert_eq!(store.take_lease(&bob, chat.id, Take::ByForce, fresh_uid(), NOW).await.unwrap(), None);
    let question = store.append_question(&bob, chat.id, chat.question(None, "?")).await;
    assert!(matches!(question, Err(StoreError::NoSuchConversation)), "{question:?}");
    let as_bob = Chat { who: bob.clone(), ..Chat::of(store, bob.clone()).await };
    let other = as_bob.ask("own").await;
    assert_eq!(chat.row().await, before);
    let stolen = store.commit_turn(&bob, &asked.lease, answer_to(&asked, "stolen")).await;
    assert!(matches!(stolen, Err(StoreError::StaleOwner)), "{stolen:?}");
    let mixed = colloquy::ports::Lease { conversation_id: chat.id, ..other.lease };
    assert_every_write_is_stale(&as_bob, &asked, &mixed).await;
    // A conversation is not bound to a model that its owner cannot see.
    let new = NewConversation {
        uid: fresh_uid(),
        llm_id: Some(own.id),
        name: "x".into(),
        settings: settings(),
        created_at: NOW,
    };
    assert_eq!(store.create_conversation(&bob, new).await.unwrap().llm_id, None);
    chat.answer(&asked, "one").await;
    assert_eq!(chat.texts().await, ["1", "one"]);
    assert!(!chat.list(Page::default()).await.iter().any(|stored| stored.starred));
}
