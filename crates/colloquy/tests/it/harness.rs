//! One process of a simulation: the service on the SQLite file of a folder.

use std::{path::Path, sync::Arc};

use colloquy::{
    Ask, AskError, Colloquy, Create, Timing, TurnHandle,
    ports::{EngineKind, NewLlm, Page, Principal, Store, StoredMessage},
    stream::StreamEvent,
};
use colloquy_core::message::{ConversationId, Role};
use colloquy_store_sqlite::SqliteStore;
use colloquy_testkit::scripted::ScriptedModels;

/// The upkeep runs as often as it can, so that no test waits for it.
pub(crate) const TIMING: Timing = Timing {
    flush_ms: 1,
    lease_ms: 10_000,
    lease_heartbeat_ms: 20,
    event_keep_ms: 3_600_000,
    sweep_ms: 50,
    retry_pause_ms: 1,
};

pub(crate) async fn open_store(folder: &Path) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(&folder.join("colloquy.db")).await.unwrap())
}

pub(crate) fn service(store: Arc<dyn Store>, models: &ScriptedModels) -> Colloquy {
    Colloquy::builder().store(store).models(Arc::new(models.clone())).timing(TIMING).build().unwrap()
}

/// A service with one model installed and one conversation bound to it.
pub(crate) struct Fixture {
    pub(crate) colloquy: Colloquy,
    pub(crate) models: ScriptedModels,
    pub(crate) principal: Principal,
    pub(crate) id: ConversationId,
    _folder: tempfile::TempDir,
}

impl Fixture {
    pub(crate) async fn new(models: ScriptedModels) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let colloquy = service(open_store(folder.path()).await, &models);
        let principal = Principal::local();
        let id = install_and_create(&colloquy, &principal).await;
        Self { colloquy, models, principal, id, _folder: folder }
    }

    pub(crate) async fn ask(&self, text: &str) -> Result<TurnHandle, AskError> {
        self.colloquy.start_turn(&self.principal, self.id, Ask { text: text.into(), ..Ask::default() }).await
    }

    /// Asks and reads to the end.
    pub(crate) async fn answer(&self, text: &str) -> Vec<StreamEvent> {
        read(self.ask(text).await.unwrap()).await
    }

    pub(crate) async fn lines(&self) -> Vec<String> {
        lines(&messages(&self.colloquy, &self.principal, self.id).await)
    }
}

pub(crate) async fn install_and_create(colloquy: &Colloquy, principal: &Principal) -> ConversationId {
    let llm = NewLlm {
        name: "scripted".into(),
        engine: EngineKind::Llama { path: "/nowhere.gguf".into() },
        context_window: Some(8192),
        param_size: Some(0.1),
        size_bytes: None,
        generation_config: None,
        make_default: true,
        created_at: 0,
    };
    colloquy.store().insert_llm(principal, llm).await.unwrap();
    colloquy.create(principal, Create::default()).await.unwrap().id
}

/// Every event to the end of the turn; numbers are checked.
pub(crate) async fn read(mut handle: TurnHandle) -> Vec<StreamEvent> {
    let mut events = Vec::new();
    while let Some((seq, event)) = handle.reader.next().await {
        events.push(event);
        assert_eq!(seq, events.len() as u64);
    }
    events
}

pub(crate) async fn messages(
    colloquy: &Colloquy,
    principal: &Principal,
    id: ConversationId,
) -> Vec<StoredMessage> {
    colloquy.store().list_messages(principal, id, Page::default()).await.unwrap().unwrap()
}

/// One line per message: kind, outcome of its turn, text.
pub(crate) fn lines(messages: &[StoredMessage]) -> Vec<String> {
    let line = |stored: &StoredMessage| {
        let outcome = match (stored.message.role(), stored.outcome) {
            (Role::Assistant, Some(outcome)) => format!(" ({})", outcome.name()),
            (Role::Assistant | Role::User, _) => String::new(),
        };
        format!("{:?}{outcome}: {}", stored.message.kind, stored.message.text())
    };
    messages.iter().map(line).collect()
}
