//! Who owns which conversation in this process: starting, stopping and closing turns.
//!
//! A turn is started in a task of its own, so that a caller who goes away in the middle leaves
//! either nothing or a turn that is closed like any other.

mod begin;
mod builder;
mod conversation;
mod instance;
mod kept;
mod report;
mod running;
mod types;
mod upkeep;

use std::sync::{Arc, Mutex, OnceLock};

use colloquy_core::{
    conversation::{DEFAULT_NAME, Effort, Settings, SettingsChange},
    message::{ConversationId, LlmId, Message, MessageId, Uid},
    repair::repair,
    sampling::SamplingDefaults,
    seat::Seat,
};
use tokio::sync::oneshot;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    MemoryStore,
    artifact::ArtifactTypes,
    ports::{
        Clock, ConversationPatch, ConversationRow, IdSource, LlmRow, Models, NewConversation, Page,
        Principal, Question, Store, StoreError,
    },
    record, recovery,
    turn_loop::defaults_of,
};

pub(crate) use begin::Asker;
pub use builder::{BuildError, Builder};
pub use conversation::{Answer, Answering, Conversation, ConversationError, Objective};
pub(crate) use instance::{Instance, SharedInstance, lock_instance};
pub(crate) use kept::Kept;
use kept::KeptViews;
pub(crate) use running::{Accepted, Running};
use running::{Place, RunningTurns};
pub use types::{Ask, AskError, AskPart, Create, ServiceError, SteerError, Stopped, Timing, TurnHandle};

/// Percent of the window at which a conversation is compacted, unless it says otherwise.
const COMPACTION_THRESHOLD: u32 = 80;

/// Conversations, and the turns that run on them in this process. Cheap to clone.
#[derive(Clone)]
pub struct Colloquy {
    shared: Arc<Shared>,
}

/// What turns share.
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn IdSource>,
    pub(crate) timing: Timing,
    /// Pins the token limit of every call of the server's turns.
    pub(crate) max_tokens: Option<u32>,
    /// The types of artifacts the program knows; without it, every stored artifact is taken as it is.
    pub(crate) artifacts: Option<ArtifactTypes>,
    /// What a program's conversations get that declare nothing themselves.
    pub(crate) seat: Seat,
    /// This process, as the holder of leases.
    pub(crate) holder: Uid,
    running: Arc<RunningTurns>,
    kept: Mutex<KeptViews>,
    tasks: TaskTracker,
    closing: CancellationToken,
    /// Where temporary conversations live: a service of its own, on memory alone.
    beside: OnceLock<Colloquy>,
}

impl Colloquy {
    /// Starts assembling one.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The store, for plain lookups and lists.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    /// The models.
    pub fn models(&self) -> &Arc<dyn Models> {
        &self.shared.models
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared.clock
    }

    /// Closes every turn whose process died (I6). Call once before serving, by the process that
    /// holds the store for itself: it takes every lease for dead. Gives how many it closed.
    pub async fn recover(&self) -> Result<usize, StoreError> {
        recovery::close_dead_turns(&self.shared, i64::MAX).await
    }

    /// Creates a conversation with resolved settings.
    pub async fn create(
        &self,
        principal: &Principal,
        create: Create,
    ) -> Result<ConversationRow, ServiceError> {
        let llm = self.llm_for(principal, create.llm_id).await?;
        let defaults = defaults_of(llm.generation_config.as_deref(), llm.context_window);
        let resolved = settings_of(&defaults);
        check(&create.settings)?;
        let settings = create.settings.over(resolved);
        let conversation = NewConversation {
            uid: self.shared.ids.uid(),
            llm_id: Some(llm.id),
            name: DEFAULT_NAME.into(),
            settings,
            created_at: self.shared.clock.now(),
        };
        Ok(self.shared.store.create_conversation(principal, conversation).await?)
    }

    /// Creates a conversation that names no installed model, for the program that holds it.
    pub(crate) async fn create_for_program(
        &self,
        principal: &Principal,
    ) -> Result<ConversationRow, StoreError> {
        let defaults = defaults_of(None, None);
        let settings = settings_of(&defaults);
        let conversation = NewConversation {
            uid: self.shared.ids.uid(),
            llm_id: None,
            name: DEFAULT_NAME.into(),
            settings,
            created_at: self.shared.clock.now(),
        };
        self.shared.store.create_conversation(principal, conversation).await
    }

    /// The service of the temporary conversations.
    pub(crate) fn beside(&self) -> &Self {
        self.shared.beside.get_or_init(|| {
            let shared = Arc::new(Shared {
                store: Arc::new(MemoryStore::new()),
                models: Arc::clone(&self.shared.models),
                clock: Arc::clone(&self.shared.clock),
                ids: Arc::clone(&self.shared.ids),
                timing: self.shared.timing,
                max_tokens: self.shared.max_tokens,
                artifacts: self.shared.artifacts.clone(),
                seat: self.shared.seat,
                holder: self.shared.holder,
                running: Arc::default(),
                kept: Mutex::default(),
                tasks: TaskTracker::new(),
                closing: self.shared.closing.child_token(),
                beside: OnceLock::new(),
            });
            upkeep::start(&shared);
            Self { shared }
        })
    }

    /// Changes a conversation. A running turn keeps the settings it began with.
    pub async fn update(
        &self,
        principal: &Principal,
        id: ConversationId,
        patch: ConversationPatch,
    ) -> Result<ConversationRow, ServiceError> {
        check(&patch.settings)?;
        if let Some(llm_id) = patch.llm_id {
            self.llm_for(principal, Some(llm_id)).await?;
        }
        let row = self.shared.store.update_conversation(principal, id, patch).await?;
        row.ok_or(ServiceError::NoSuchConversation)
    }

    /// Stops the running turn, if any, and deletes the conversation for good.
    pub async fn delete(&self, principal: &Principal, id: ConversationId) -> Result<(), ServiceError> {
        self.stop(principal, id).await?;
        let deleted = self.shared.store.delete_conversation(principal, id).await?;
        self.shared.kept().forget(id);
        if let Some(running) = self.shared.running.find(id) {
            running.lost.cancel();
        }
        if deleted { Ok(()) } else { Err(ServiceError::NoSuchConversation) }
    }

    /// Stars or unstars a message. `false` when there is no such message. The next turn's head
    /// shows it.
    pub async fn set_star(
        &self,
        principal: &Principal,
        id: MessageId,
        starred: bool,
    ) -> Result<bool, StoreError> {
        let starred_at = starred.then(|| self.shared.clock.now());
        let Some(conversation_id) = self.shared.store.set_star(principal, id, starred_at).await? else {
            return Ok(false);
        };
        if let Some(running) = self.shared.running.find(conversation_id) {
            running.outdate();
        }
        self.shared.kept().forget(conversation_id);
        Ok(true)
    }

    /// Stores the generic error text as the answer of an app-authored question, so that roles keep
    /// alternating. Gives the id of the error's message.
    pub async fn store_error(
        &self,
        principal: &Principal,
        id: ConversationId,
    ) -> Result<MessageId, ServiceError> {
        let (shared, principal) = (Arc::clone(&self.shared), principal.clone());
        let storing =
            self.shared.tasks.spawn(async move { report::store_error(&shared, &principal, id).await });
        storing.await.map_err(|panicked| StoreError::Unavailable(Box::new(panicked)))?
    }

    /// Makes the question durable and starts the turn.
    pub async fn start_turn(
        &self,
        principal: &Principal,
        id: ConversationId,
        ask: Ask,
    ) -> Result<TurnHandle, AskError> {
        self.start(principal, id, ask, Asker::Server).await
    }

    /// Makes the question durable and starts the turn, for whoever asks.
    pub(crate) async fn start(
        &self,
        principal: &Principal,
        id: ConversationId,
        ask: Ask,
        asker: Asker,
    ) -> Result<TurnHandle, AskError> {
        let (begun, answer) = oneshot::channel();
        let (shared, principal) = (Arc::clone(&self.shared), principal.clone());
        self.shared.tasks.spawn(async move {
            let (turn, handle) = match begin::begin_turn(&shared, &principal, id, ask, asker).await {
                Ok(turn) => turn,
                Err(error) => {
                    // A caller who is gone needs no reason.
                    let _ = begun.send(Err(error));
                    return;
                }
            };
            // A caller who is gone drops the handle, and that stops the turn.
            let _ = begun.send(Ok(handle));
            turn.drive().await;
        });
        answer.await.unwrap_or(Err(AskError::ShuttingDown))
    }

    /// Stops the running turn of a conversation and waits for its closing commit. Idempotent.
    pub async fn stop(&self, principal: &Principal, id: ConversationId) -> Result<Stopped, ServiceError> {
        if self.shared.store.find_conversation(principal, id).await?.is_none() {
            return Err(ServiceError::NoSuchConversation);
        }
        let Some(running) = self.shared.running.find(id) else {
            return Ok(Stopped { turn_uid: None });
        };
        running.stop.cancel();
        running.over.cancelled().await;
        // A turn that was refused before its question was durable is none.
        Ok(Stopped { turn_uid: running.is_durable().then_some(running.turn_uid) })
    }

    /// The turn running on a conversation in this process.
    pub fn running_turn(&self, id: ConversationId) -> Option<Uid> {
        self.shared.running.find(id).map(|running| running.turn_uid)
    }

    /// Accepts no more turns, stops and closes the running ones, ends the engines. Idempotent.
    pub async fn shut_down(&self) {
        if let Some(beside) = self.shared.beside.get() {
            beside.shared.closing.cancel();
            beside.shared.tasks.close();
            beside.shared.tasks.wait().await;
        }
        self.shared.closing.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
        self.shared.models.shut_down().await;
    }

    /// The model named, or the default one.
    async fn llm_for(&self, principal: &Principal, llm_id: Option<LlmId>) -> Result<LlmRow, ServiceError> {
        let llm = match llm_id {
            Some(id) => self.shared.store.find_llm(principal, id).await?,
            None => {
                let llms = self.shared.store.list_llms(principal, Page::default()).await?;
                llms.into_iter().find(|llm| llm.is_default)
            }
        };
        llm.ok_or(ServiceError::NoSuchLlm { llm_id })
    }
}

impl Shared {
    /// The views kept between turns.
    fn kept(&self) -> std::sync::MutexGuard<'_, KeptViews> {
        self.kept.lock().expect("BUG: the kept views were left half changed")
    }

    /// Whether a turn of that identity runs in this process.
    pub(crate) fn is_running(&self, turn_uid: Uid) -> bool {
        self.running.find_turn(turn_uid).is_some()
    }

    /// A question without content yet; `None` for one that nobody asked but the program.
    fn question(&self, row: &ConversationRow, running: &Running, ask: Option<&Ask>) -> Question {
        Question {
            holder: self.holder,
            lease_ms: i64::try_from(self.timing.lease_ms).unwrap_or(i64::MAX),
            turn_uid: running.turn_uid,
            base_id: row.tip_id,
            message_uid: self.ids.uid(),
            blocks: Vec::new(),
            app_authored: false,
            artifacts: Vec::new(),
            before: Vec::new(),
            head: None,
            request: record::encode_request(ask),
            llm_id: row.llm_id,
            at: self.clock.now(),
        }
    }
}

/// The view of a stored conversation, in repair; what was damaged is logged.
fn mended(id: ConversationId, messages: Vec<Message>) -> Vec<Message> {
    let (messages, repairs) = repair(messages);
    for repair in &repairs {
        tracing::warn!(conversation = id.0, ?repair, "repaired the view of a stored conversation");
    }
    messages
}

/// What a conversation starts with on a model with these defaults.
fn settings_of(defaults: &SamplingDefaults) -> Settings {
    Settings {
        temperature: defaults.temperature,
        top_p: defaults.top_p,
        max_tokens: defaults.max_tokens,
        custom_prompt: String::new(),
        web_search_enabled: false,
        reasoning_effort: Effort::Medium,
        compaction_threshold: COMPACTION_THRESHOLD,
    }
}

fn check(settings: &SettingsChange) -> Result<(), ServiceError> {
    let broken = settings.check();
    if broken.is_empty() { Ok(()) } else { Err(ServiceError::OutOfRange(broken)) }
}
