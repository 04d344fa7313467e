//! A store in front of another that dies at a chosen call, as a killed process does: from then on
//! nothing it was asked for ever returns, and nothing more reaches the store behind it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use colloquy::ports::{
    AppendedQuestion, Commit, Committed, ConversationPatch, ConversationRow, EventChunk, Lease, LlmRow,
    NewConversation, NewLlm, OpenTurn, Page, Principal, Question, StepCommit, Store, StoreError, StoredHead,
    StoredMessage, Take, ToolRun, TurnRow, View,
};
use colloquy_core::{
    artifact::Artifact,
    block::Block,
    message::{ConversationId, LlmId, Message, MessageId, TimeMs, TurnId, Uid},
};

use crate::gate::Gate;

/// Where the process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crash {
    /// Before the `n`-th call (from 0) reaches the store.
    Before(usize),
    /// After the `n`-th call has been carried out, before its caller hears of it.
    After(usize),
    /// Never.
    Never,
}

/// Forwards to `inner` until the crash. Counts every call.
pub struct CrashingStore {
    inner: Arc<dyn Store>,
    crash: Crash,
    n_calls: AtomicUsize,
    dead: AtomicBool,
    died: Gate,
}

impl CrashingStore {
    /// A store that crashes there.
    pub fn new(inner: Arc<dyn Store>, crash: Crash) -> Self {
        Self { inner, crash, n_calls: AtomicUsize::new(0), dead: AtomicBool::new(false), died: Gate::new() }
    }

    /// Waits until the crash.
    pub async fn died(&self) {
        self.died.pass().await;
    }

    /// Whether the crash has been.
    pub fn is_dead(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    /// How many calls there were.
    pub fn n_calls(&self) -> usize {
        self.n_calls.load(Ordering::SeqCst)
    }

    async fn around<T>(&self, call: impl Future<Output = T> + Send) -> T {
        let n = self.n_calls.fetch_add(1, Ordering::SeqCst);
        if self.is_dead() || self.crash == Crash::Before(n) {
            self.die().await;
        }
        let result = call.await;
        if self.is_dead() || self.crash == Crash::After(n) {
            self.die().await;
        }
        result
    }

    async fn die(&self) {
        self.dead.store(true, Ordering::SeqCst);
        self.died.open();
        std::future::pending().await
    }
}

/// Forwards each listed method of the trait through [`CrashingStore::around`].
macro_rules! forward {
    ($($name:ident($($arg:ident: $type:ty),*) -> $output:ty;)*) => {
        #[async_trait]
        impl Store for CrashingStore {
            $(async fn $name(&self, $($arg: $type),*) -> Result<$output, StoreError> {
                self.around(self.inner.$name($($arg),*)).await
            })*
        }
    };
}

forward! {
    insert_llm(principal: &Principal, llm: NewLlm) -> LlmRow;
    find_llm(principal: &Principal, id: LlmId) -> Option<LlmRow>;
    list_llms(principal: &Principal, page: Page) -> Vec<LlmRow>;
    delete_llm(principal: &Principal, id: LlmId) -> bool;
    set_default_llm(principal: &Principal, id: LlmId) -> bool;
    create_conversation(principal: &Principal, conversation: NewConversation) -> ConversationRow;
    find_conversation(principal: &Principal, id: ConversationId) -> Option<ConversationRow>;
    list_conversations(principal: &Principal, page: Page) -> Vec<ConversationRow>;
    update_conversation(principal: &Principal, id: ConversationId, patch: ConversationPatch)
        -> Option<ConversationRow>;
    delete_conversation(principal: &Principal, id: ConversationId) -> bool;
    list_messages(principal: &Principal, id: ConversationId, page: Page) -> Option<Vec<StoredMessage>>;
    list_branch(principal: &Principal, id: ConversationId) -> Option<Vec<StoredMessage>>;
    find_message(principal: &Principal, id: MessageId) -> Option<(ConversationId, StoredMessage)>;
    load_view(principal: &Principal, id: ConversationId) -> Option<View>;
    set_star(principal: &Principal, id: MessageId, starred_at: Option<TimeMs>) -> Option<ConversationId>;
    append_question(principal: &Principal, id: ConversationId, question: Question) -> AppendedQuestion;
    append_step(principal: &Principal, lease: &Lease, step: StepCommit) -> Vec<Message>;
    accept_steer(principal: &Principal, lease: &Lease, turn_id: TurnId, blocks: Vec<Block>) -> u32;
    load_head(principal: &Principal, id: ConversationId) -> Option<StoredHead>;
    load_artifacts(principal: &Principal, id: ConversationId) -> Vec<Artifact>;
    commit_turn(principal: &Principal, lease: &Lease, commit: Commit) -> Committed;
    append_events(chunks: Vec<EventChunk>) -> Vec<TurnId>;
    start_tool_runs(principal: &Principal, lease: &Lease, runs: Vec<ToolRun>) -> ();
    finish_tool_run(principal: &Principal, lease: &Lease, run: ToolRun, artifacts: Vec<Artifact>) -> ();
    renew_leases(leases: Vec<Lease>, expires_at: TimeMs) -> Vec<Lease>;
    take_lease(principal: &Principal, id: ConversationId, take: Take, holder: Uid, expires_at: TimeMs) -> Option<Lease>;
    find_turn(principal: &Principal, id: ConversationId, turn_uid: Uid) -> Option<TurnRow>;
    open_turns(now: TimeMs) -> Vec<OpenTurn>;
    sweep_events(before: TimeMs) -> u64;
}
