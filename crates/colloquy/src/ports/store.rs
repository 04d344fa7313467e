//! The store: one trait for the append-only message tree and what surrounds it (design § 3).
//!
//! Every call names the acting principal; what belongs to another is as if it did not exist (I12).
//! Every write to the tree carries a [`Lease`], and a stale one fails with
//! [`StoreError::StaleOwner`] before a row is touched (I7). Absence is `Option` or `false`.

use async_trait::async_trait;
use colloquy_core::{
    artifact::Artifact,
    block::Block,
    message::{ConversationId, LlmId, Message, MessageId, TimeMs, TurnId, Uid},
};

use super::rows::{
    AppendedQuestion, Commit, Committed, ConversationPatch, ConversationRow, EventChunk, Lease, LlmRow,
    NewConversation, NewLlm, OpenTurn, Page, Principal, Question, StepCommit, StoredHead, StoredMessage,
    Take, ToolRun, TurnRow, View,
};

/// Why a store call failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Somebody else owns the conversation, or it is gone. Nothing was written.
    #[error("somebody else owns the conversation now")]
    StaleOwner,
    /// A turn runs on the conversation.
    #[error("a turn is running on the conversation")]
    TurnInProgress {
        /// Its identity, when the store knows it.
        turn_uid: Option<Uid>,
    },
    /// The base of the question is not the tip.
    #[error("the conversation has moved on")]
    StaleParent {
        /// The tip now.
        tip_id: Option<MessageId>,
    },
    /// The conversation does not exist for this principal.
    #[error("no such conversation")]
    NoSuchConversation,
    /// The name is taken.
    #[error("the name is taken")]
    NameTaken,
    /// A file or row was written by a newer version of the program.
    #[error("{what} was written by a newer version of Colloquy")]
    Newer {
        /// What was.
        what: String,
    },
    /// There is no room left to write. Nothing was written.
    #[error("the disk is full; free some space and try again")]
    DiskFull,
    /// The database did not answer; the same call may work in a moment.
    #[error("the store did not answer")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// What is stored cannot be read.
    #[error("the store is damaged")]
    Corrupt(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A durable store of conversations.
#[async_trait]
pub trait Store: Send + Sync {
    /// Installs a model. [`StoreError::NameTaken`] when the name is in use.
    async fn insert_llm(&self, principal: &Principal, llm: NewLlm) -> Result<LlmRow, StoreError>;

    /// The model with that id.
    async fn find_llm(&self, principal: &Principal, id: LlmId) -> Result<Option<LlmRow>, StoreError>;

    /// All models, newest first.
    async fn list_llms(&self, principal: &Principal, page: Page) -> Result<Vec<LlmRow>, StoreError>;

    /// Removes a model and unbinds its conversations; the newest remaining one becomes the
    /// default when the default went. `false` when there is none.
    async fn delete_llm(&self, principal: &Principal, id: LlmId) -> Result<bool, StoreError>;

    /// Makes a model the only default. `false` when there is none.
    async fn set_default_llm(&self, principal: &Principal, id: LlmId) -> Result<bool, StoreError>;

    /// Creates a conversation at version 0, without messages.
    async fn create_conversation(
        &self,
        principal: &Principal,
        conversation: NewConversation,
    ) -> Result<ConversationRow, StoreError>;

    /// The conversation with that id.
    async fn find_conversation(
        &self,
        principal: &Principal,
        id: ConversationId,
    ) -> Result<Option<ConversationRow>, StoreError>;

    /// All conversations, newest first (by id).
    async fn list_conversations(
        &self,
        principal: &Principal,
        page: Page,
    ) -> Result<Vec<ConversationRow>, StoreError>;

    /// Changes name, model or settings, merged in one transaction; unfenced. `None` when there is
    /// no such conversation.
    async fn update_conversation(
        &self,
        principal: &Principal,
        id: ConversationId,
        patch: ConversationPatch,
    ) -> Result<Option<ConversationRow>, StoreError>;

    /// Takes the lease by force and deletes the conversation table by table, then truncates the
    /// write-ahead log so that no word of it stays on disk. `false` when there is none.
    async fn delete_conversation(
        &self,
        principal: &Principal,
        id: ConversationId,
    ) -> Result<bool, StoreError>;

    /// The shown branch, oldest first; `page` counts from the newest. `None` when there is no
    /// such conversation. Redacted turns and app-authored questions are left out.
    async fn list_messages(
        &self,
        principal: &Principal,
        id: ConversationId,
        page: Page,
    ) -> Result<Option<Vec<StoredMessage>>, StoreError>;

    /// Every message of the shown branch, oldest first, also those that lists leave out: for
    /// export. `None` when there is no such conversation.
    async fn list_branch(
        &self,
        principal: &Principal,
        id: ConversationId,
    ) -> Result<Option<Vec<StoredMessage>>, StoreError>;

    /// One message with its surroundings, found by its own id, and its conversation.
    async fn find_message(
        &self,
        principal: &Principal,
        id: MessageId,
    ) -> Result<Option<(ConversationId, StoredMessage)>, StoreError>;

    /// What the next step shows the model for the shown branch. `None` without conversation.
    async fn load_view(&self, principal: &Principal, id: ConversationId) -> Result<Option<View>, StoreError>;

    /// Stars or unstars a message; idempotent, unfenced. Gives its conversation, `None` when
    /// there is no such message.
    async fn set_star(
        &self,
        principal: &Principal,
        id: MessageId,
        starred_at: Option<TimeMs>,
    ) -> Result<Option<ConversationId>, StoreError>;

    /// Commit (a): takes the lease, checks that `base_id` is the tip, appends the question, the
    /// turn (running) and the version. Durable when it returns.
    async fn append_question(
        &self,
        principal: &Principal,
        id: ConversationId,
        question: Question,
    ) -> Result<AppendedQuestion, StoreError>;

    /// Commits (b) and (c): appends messages of a running turn and moves the tip. Gives the messages
    /// with their identifiers.
    async fn append_step(
        &self,
        principal: &Principal,
        lease: &Lease,
        step: StepCommit,
    ) -> Result<Vec<Message>, StoreError>;

    /// Writes a message into the inbox of a running turn; durable when it returns. Gives its place.
    async fn accept_steer(
        &self,
        principal: &Principal,
        lease: &Lease,
        turn_id: TurnId,
        blocks: Vec<Block>,
    ) -> Result<u32, StoreError>;

    /// The head that was stored; `None` before the first one, or without conversation.
    async fn load_head(
        &self,
        principal: &Principal,
        id: ConversationId,
    ) -> Result<Option<StoredHead>, StoreError>;

    /// The artifacts of a conversation, in the order of their registration; empty without one.
    async fn load_artifacts(
        &self,
        principal: &Principal,
        id: ConversationId,
    ) -> Result<Vec<Artifact>, StoreError>;

    /// Commit (d): appends the closing messages, ends the turn, moves the tip, counts the
    /// version and gives the lease back. Durable when it returns.
    async fn commit_turn(
        &self,
        principal: &Principal,
        lease: &Lease,
        commit: Commit,
    ) -> Result<Committed, StoreError>;

    /// Appends events of any number of turns in one transaction. Survives a killed process, not a
    /// power cut. Gives the turns whose lease is stale; theirs are not written.
    ///
    /// A chunk may arrive twice, the second time longer, and in either order (a flush overtaken by
    /// the closing commit): of two chunks with one `first_seq` the longer one stays.
    async fn append_events(&self, chunks: Vec<EventChunk>) -> Result<Vec<TurnId>, StoreError>;

    /// Writes tool runs before they start.
    async fn start_tool_runs(
        &self,
        principal: &Principal,
        lease: &Lease,
        runs: Vec<ToolRun>,
    ) -> Result<(), StoreError>;

    /// Writes the result of a tool run the moment it ends, with the artifacts that came up in it:
    /// a result that survives a crash must not name what does not.
    async fn finish_tool_run(
        &self,
        principal: &Principal,
        lease: &Lease,
        run: ToolRun,
        artifacts: Vec<Artifact>,
    ) -> Result<(), StoreError>;

    /// Extends leases that are still held. Gives those that are not.
    async fn renew_leases(&self, leases: Vec<Lease>, expires_at: TimeMs) -> Result<Vec<Lease>, StoreError>;

    /// Takes the lease, for closing a turn whose process died. `None` when there is no such
    /// conversation, or when somebody was quicker.
    async fn take_lease(
        &self,
        principal: &Principal,
        id: ConversationId,
        take: Take,
        holder: Uid,
        expires_at: TimeMs,
    ) -> Result<Option<Lease>, StoreError>;

    /// The turn of that identity in that conversation.
    async fn find_turn(
        &self,
        principal: &Principal,
        id: ConversationId,
        turn_uid: Uid,
    ) -> Result<Option<TurnRow>, StoreError>;

    /// Every turn that is not over and whose lease has expired at `now`, of every principal.
    async fn open_turns(&self, now: TimeMs) -> Result<Vec<OpenTurn>, StoreError>;

    /// Removes the events of turns that ended before `before`. Gives how many turns.
    async fn sweep_events(&self, before: TimeMs) -> Result<u64, StoreError>;
}
