//! Installed models.

use std::sync::Arc;

use colloquy::ports::{EngineKind, LlmRow, NewLlm, Page, Store, StoreError};
use colloquy_core::message::LlmId;

use super::{Chat, NOW, principal};

fn llama(name: &str) -> NewLlm {
    NewLlm {
        name: name.into(),
        engine: EngineKind::Llama { path: "/models/é.gguf".into() },
        context_window: None,
        param_size: None,
        size_bytes: None,
        generation_config: None,
        make_default: false,
        created_at: NOW,
    }
}

async fn install(store: &Arc<dyn Store>, llm: NewLlm) -> LlmRow {
    store.insert_llm(&principal("local"), llm).await.unwrap()
}

async fn default_of(store: &Arc<dyn Store>) -> Vec<LlmId> {
    let all = store.list_llms(&principal("local"), Page::default()).await.unwrap();
    all.into_iter().filter(|llm| llm.is_default).map(|llm| llm.id).collect()
}

/// Every field, also at its limits.
pub async fn a_model_is_found_as_it_was_installed(store: &Arc<dyn Store>) {
    let remote = NewLlm {
        name: "名前 \u{0} 👩🏽‍🚀".into(),
        engine: EngineKind::OpenAi {
            base_url: "https://example.invalid/v1".into(),
            model: "big".into(),
            api_key_env: Some("KEY".into()),
        },
        context_window: Some(u32::MAX),
        param_size: Some(0.135),
        size_bytes: Some(i64::MAX as u64),
        generation_config: Some(r#"{"temperature":0.2}"#.into()),
        make_default: true,
        created_at: NOW,
    };
    for new in [llama("small"), remote] {
        let row = install(store, new.clone()).await;
        assert_eq!((&row.name, &row.engine), (&new.name, &new.engine));
        assert_eq!((row.context_window, row.param_size), (new.context_window, new.param_size));
        assert_eq!((row.size_bytes, &row.generation_config), (new.size_bytes, &new.generation_config));
        assert_eq!((row.created_at, row.is_default), (NOW, true));
        assert_eq!(store.find_llm(&principal("local"), row.id).await.unwrap(), Some(row));
    }
    assert_eq!(store.find_llm(&principal("local"), LlmId(99)).await.unwrap(), None);
}

/// Also the default, which the refused model wanted to become.
pub async fn a_taken_name_is_refused_and_changes_nothing(store: &Arc<dyn Store>) {
    let first = install(store, llama("a")).await;
    let again = NewLlm { make_default: true, ..llama("a") };
    let refused = store.insert_llm(&principal("local"), again).await;
    assert!(matches!(refused, Err(StoreError::NameTaken)), "{refused:?}");
    assert_eq!(store.list_llms(&principal("local"), Page::default()).await.unwrap(), [first]);
    // Another principal has names of its own.
    store.insert_llm(&principal("other"), llama("a")).await.unwrap();
}

/// There is at most one.
pub async fn the_first_model_is_the_default_and_a_later_one_only_when_asked(store: &Arc<dyn Store>) {
    let first = install(store, llama("a")).await;
    let second = install(store, llama("b")).await;
    assert_eq!(default_of(store).await, [first.id]);
    let third = install(store, NewLlm { make_default: true, ..llama("c") }).await;
    assert_eq!(default_of(store).await, [third.id]);
    assert!(store.set_default_llm(&principal("local"), second.id).await.unwrap());
    assert!(store.set_default_llm(&principal("local"), second.id).await.unwrap());
    assert_eq!(default_of(store).await, [second.id]);
    assert!(!store.set_default_llm(&principal("local"), LlmId(99)).await.unwrap());
    assert_eq!(default_of(store).await, [second.id]);
}

/// The conversations stay.
pub async fn deleting_the_default_promotes_the_newest_and_unbinds_conversations(store: &Arc<dyn Store>) {
    let who = principal("local");
    let first = install(store, llama("a")).await;
    install(store, llama("b")).await;
    let third = install(store, llama("c")).await;
    let chat = Chat::new(store).await;
    let bind = colloquy::ports::ConversationPatch { llm_id: Some(first.id), ..Default::default() };
    let bound = store.update_conversation(&who, chat.id, bind).await.unwrap().unwrap();
    assert_eq!(bound.llm_id, Some(first.id));
    assert!(store.delete_llm(&who, first.id).await.unwrap());
    assert!(!store.delete_llm(&who, first.id).await.unwrap());
    assert_eq!(default_of(store).await, [third.id]);
    assert_eq!(chat.row().await.llm_id, None);
    let after = install(store, llama("a")).await;
    assert!(after.id > third.id, "an id was used again");
}

/// As conversations are.
pub async fn models_are_listed_newest_first_in_pages(store: &Arc<dyn Store>) {
    let mut all = Vec::new();
    for name in ["a", "b", "c"] {
        all.insert(0, install(store, llama(name)).await.id);
    }
    let list = async |limit, before| {
        let page = store.list_llms(&principal("local"), Page { limit, before }).await.unwrap();
        page.into_iter().map(|llm| llm.id).collect::<Vec<_>>()
    };
    assert_eq!(list(None, None).await, all);
    assert_eq!(list(Some(2), None).await, all[..2]);
    assert_eq!(list(Some(2), Some(all[1].0)).await, all[2..]);
    assert_eq!(list(Some(0), None).await, []);
}
