//! A whole store in memory, for conversations that leave no trace and for tests.
//!
//! It keeps every rule of [`Store`]: fences, principals, identifiers that are never used again. A
//! call checks everything it needs before it changes anything, under one lock that is never held
//! across an await, so each is one transaction. Nothing survives the process.

mod conversations;
mod llms;
mod ownership;
mod tables;
mod turns;

use std::sync::{Mutex, MutexGuard};

use async_trait::async_trait;
use colloquy_core::{
    artifact::Artifact,
    block::Block,
    message::{ConversationId, LlmId, Message, MessageId, TimeMs, TurnId, Uid},
};

use crate::ports::{
    AppendedQuestion, Commit, Committed, ConversationPatch, ConversationRow, EventChunk, Lease, LlmRow,
    NewConversation, NewLlm, OpenTurn, Page, Principal, Question, StepCommit, Store, StoreError, StoredHead,
    StoredMessage, Take, ToolRun, TurnRow, View,
};
use tables::Tables;

/// A store in memory. Empty at first, and gone with its last owner.
#[derive(Debug, Default)]
pub struct MemoryStore {
    tables: Mutex<Tables>,
}

impl MemoryStore {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().expect("BUG: a call of the store was left half done")
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn insert_llm(&self, principal: &Principal, llm: NewLlm) -> Result<LlmRow, StoreError> {
        self.lock().insert_llm(principal, llm)
    }

    async fn find_llm(&self, principal: &Principal, id: LlmId) -> Result<Option<LlmRow>, StoreError> {
        Ok(self.lock().llm(principal, id).cloned())
    }

    async fn list_llms(&self, principal: &Principal, page: Page) -> Result<Vec<LlmRow>, StoreError> {
        Ok(self.lock().list_llms(principal, page))
    }

    async fn delete_llm(&self, principal: &Principal, id: LlmId) -> Result<bool, StoreError> {
        Ok(self.lock().delete_llm(principal, id))
    }

    async fn set_default_llm(&self, principal: &Principal, id: LlmId) -> Result<bool, StoreError> {
        Ok(self.lock().set_default_llm(principal, id))
    }

    async fn create_conversation(
        &self,
        principal: &Principal,
        conversation: NewConversation,
    ) -> Result<ConversationRow, StoreError> {
        Ok(self.lock().create_conversation(principal, conversation))
    }

    async fn find_conversation(
        &self,
        principal: &Principal,
        id: ConversationId,
    ) -> Result<Option<ConversationRow>, StoreError> {
        Ok(self.lock().conversation(principal, id).map(|kept| kept.row.clone()))
    }

    async fn list_conversations(
        &self,
        principal: &Principal,
        page: Page,
    ) -> Result<Vec<ConversationRow>, StoreError> {
        Ok(self.lock().list_conversations(principal, page))
    }

    async fn update_conversation(
        &self,
        principal: &Principal,
        id: ConversationId,
        patch: ConversationPatch,
    ) -> Result<Option<ConversationRow>, StoreError> {
        Ok(self.lock().update_conversation(principal, id, patch))
    }

    async fn delete_conversation(
        &self,
        principal: &Principal,
        id: ConversationId,
    ) -> Result<bool, StoreError> {
        Ok(self.lock().delete_conversation(principal, id))
    }

    async fn list_messages(
        &self,
        principal: &Principal,
        id: ConversationId,
        page: Page,
    ) -> Result<Option<Vec<StoredMessage>>, StoreError> {
        Ok(self.lock().conversation(principal, id).map(|kept| kept.list_shown(page)))
    }

    async fn list_branch(
        &self,
        principal: &Principal,
        id: ConversationId,
    ) -> Result<Option<Vec<StoredMessage>>, StoreError> {
        Ok(self.lock().conversation(principal, id).map(|kept| kept.list_all()))
    }

    async fn find_message(
        &self,
        principal: &Principal,
        id: MessageId,
    ) -> Result<Option<(ConversationId, StoredMessage)>, StoreError> {
        Ok(self.lock().find_message(principal, id))
    }

    async fn load_view(&self, principal: &Principal, id: ConversationId) -> Result<Option<View>, StoreError> {
        Ok(self.lock().conversation(principal, id).map(|kept| kept.view()))
    }

    async fn set_star(
        &self,
        principal: &Principal,
        id: MessageId,
        starred_at: Option<TimeMs>,
    ) -> Result<Option<ConversationId>, StoreError> {
        Ok(self.lock().set_star(principal, id, starred_at.is_some()))
    }

    async fn append_question(
        &self,
        principal: &Principal,
        id: ConversationId,
        question: Question,
    ) -> Result<AppendedQuestion, StoreError> {
        self.lock().append_question(principal, id, question)
    }

    async fn append_step(
        &self,
        principal: &Principal,
        lease: &Lease,
        step: StepCommit,
    ) -> Result<Vec<Message>, StoreError> {
        self.lock().append_step(principal, lease, step)
    }

    async fn accept_steer(
        &self,
        principal: &Principal,
        lease: &Lease,
        turn_id: TurnId,
        blocks: Vec<Block>,
    ) -> Result<u32, StoreError> {
        self.lock().accept_steer(principal, lease, turn_id, blocks)
    }

    async fn load_head(
        &self,
        principal: &Principal,
        id: ConversationId,
    ) -> Result<Option<StoredHead>, StoreError> {
        Ok(self.lock().conversation(principal, id).and_then(|kept| kept.head.clone()))
    }

    async fn load_artifacts(
        &self,
        principal: &Principal,
        id: ConversationId,
    ) -> Result<Vec<Artifact>, StoreError> {
        Ok(self.lock().conversation(principal, id).map(|kept| kept.artifacts.clone()).unwrap_or_default())
    }

    async fn commit_turn(
        &self,
        principal: &Principal,
        lease: &Lease,
        commit: Commit,
    ) -> Result<Committed, StoreError> {
        self.lock().commit_turn(principal, lease, commit)
    }

    async fn append_events(&self, chunks: Vec<EventChunk>) -> Result<Vec<TurnId>, StoreError> {
        Ok(self.lock().append_events(chunks))
    }

    async fn start_tool_runs(
        &self,
        principal: &Principal,
        lease: &Lease,
        runs: Vec<ToolRun>,
    ) -> Result<(), StoreError> {
        self.lock().write_tool_runs(principal, lease, runs, &[])
    }

    async fn finish_tool_run(
        &self,
        principal: &Principal,
        lease: &Lease,
        run: ToolRun,
        artifacts: Vec<Artifact>,
    ) -> Result<(), StoreError> {
        self.lock().write_tool_runs(principal, lease, vec![run], &artifacts)
    }

    async fn renew_leases(&self, leases: Vec<Lease>, expires_at: TimeMs) -> Result<Vec<Lease>, StoreError> {
        Ok(self.lock().renew_leases(leases, expires_at))
    }

    async fn take_lease(
        &self,
        principal: &Principal,
        id: ConversationId,
        take: Take,
        holder: Uid,
        expires_at: TimeMs,
    ) -> Result<Option<Lease>, StoreError> {
        Ok(self.lock().take_lease(principal, id, take, holder, expires_at))
    }

    async fn find_turn(
        &self,
        principal: &Principal,
        id: ConversationId,
        turn_uid: Uid,
    ) -> Result<Option<TurnRow>, StoreError> {
        Ok(self.lock().find_turn(principal, id, turn_uid))
    }

    async fn open_turns(&self, now: TimeMs) -> Result<Vec<OpenTurn>, StoreError> {
        Ok(self.lock().open_turns(now))
    }

    async fn sweep_events(&self, before: TimeMs) -> Result<u64, StoreError> {
        Ok(self.lock().sweep_events(before))
    }
}
