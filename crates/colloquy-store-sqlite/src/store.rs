//! The port, operation by operation: each is one function of the module that owns its rows.

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

use crate::{
    SqliteStore, artifacts, conversations, events, heads, inbox, leases, llms,
    messages::{self, Rows},
    open_turns, tool_runs, turns,
};

#[async_trait]
impl Store for SqliteStore {
    async fn insert_llm(&self, principal: &Principal, llm: NewLlm) -> Result<LlmRow, StoreError> {
        Ok(llms::insert(self, principal, llm).await?)
    }

    async fn find_llm(&self, principal: &Principal, id: LlmId) -> Result<Option<LlmRow>, StoreError> {
        Ok(llms::find(self, principal, id).await?)
    }

    async fn list_llms(&self, principal: &Principal, page: Page) -> Result<Vec<LlmRow>, StoreError> {
        Ok(llms::list(self, principal, page).await?)
    }

    async fn delete_llm(&self, principal: &Principal, id: LlmId) -> Result<bool, StoreError> {
        Ok(llms::delete(self, principal, id).await?)
    }

    async fn set_default_llm(&self, principal: &Principal, id: LlmId) -> Result<bool, StoreError> {
        Ok(llms::set_default(self, principal, id).await?)
    }

    async fn create_conversation(
        &self,
        principal: &Principal,
        conversation: NewConversation,
    ) -> Result<ConversationRow, StoreError> {
        Ok(conversations::create(self, principal, conversation).await?)
    }

    async fn find_conversation(
        &self,
        principal: &Principal,
        id: ConversationId,
    ) -> Result<Option<ConversationRow>, StoreError> {
        Ok(conversations::find(self, principal, id).await?)
    }

    async fn list_conversations(
        &self,
        principal: &Principal,
        page: Page,
    ) -> Result<Vec<ConversationRow>, StoreError> {
        Ok(conversations::list(self, principal, page).await?)
    }

    async fn update_conversation(
        &self,
        principal: &Principal,
        id: ConversationId,
        patch: ConversationPatch,
    ) -> Result<Option<ConversationRow>, StoreError> {
        Ok(conversations::update(self, principal, id, patch).await?)
    }

    async fn delete_conversation(
        &self,
        principal: &Principal,
        id: ConversationId,
    ) -> Result<bool, StoreError> {
        Ok(conversations::delete(self, principal, id).await?)
    }

    async fn list_messages(
        &self,
        principal: &Principal,
        id: ConversationId,
        page: Page,
    ) -> Result<Option<Vec<StoredMessage>>, StoreError> {
        Ok(messages::list(self, principal, id, page, Rows::Shown).await?)
    }

    async fn list_branch(
        &self,
        principal: &Principal,
        id: ConversationId,
    ) -> Result<Option<Vec<StoredMessage>>, StoreError> {
        Ok(messages::list(self, principal, id, Page::default(), Rows::All).await?)
    }

    async fn find_message(
        &self,
        principal: &Principal,
        id: MessageId,
    ) -> Result<Option<(ConversationId, StoredMessage)>, StoreError> {
        Ok(messages::find(self, principal, id).await?)
    }

    async fn load_view(&self, principal: &Principal, id: ConversationId) -> Result<Option<View>, StoreError> {
        Ok(messages::view(self, principal, id).await?)
    }

    async fn set_star(
        &self,
        principal: &Principal,
        id: MessageId,
        starred_at: Option<TimeMs>,
    ) -> Result<Option<ConversationId>, StoreError> {
        Ok(messages::set_star(self, principal, id, starred_at).await?)
    }

    async fn append_question(
        &self,
        principal: &Principal,
        id: ConversationId,
        question: Question,
    ) -> Result<AppendedQuestion, StoreError> {
        Ok(turns::append_question(self, principal, id, question).await?)
    }

    async fn append_step(
        &self,
        principal: &Principal,
        lease: &Lease,
        step: StepCommit,
    ) -> Result<Vec<Message>, StoreError> {
        Ok(turns::append_step(self, principal, lease, step).await?)
    }

    async fn accept_steer(
        &self,
        principal: &Principal,
        lease: &Lease,
        turn_id: TurnId,
        blocks: Vec<Block>,
    ) -> Result<u32, StoreError> {
        Ok(inbox::accept(self, principal, lease, turn_id, &blocks).await?)
    }

    async fn load_head(
        &self,
        principal: &Principal,
        id: ConversationId,
    ) -> Result<Option<StoredHead>, StoreError> {
        Ok(heads::load(self, principal, id).await?)
    }

    async fn load_artifacts(
        &self,
        principal: &Principal,
        id: ConversationId,
    ) -> Result<Vec<Artifact>, StoreError> {
        Ok(artifacts::load(self, principal, id).await?)
    }

    async fn commit_turn(
        &self,
        principal: &Principal,
        lease: &Lease,
        commit: Commit,
    ) -> Result<Committed, StoreError> {
        Ok(turns::commit(self, principal, lease, commit).await?)
    }

    async fn append_events(&self, chunks: Vec<EventChunk>) -> Result<Vec<TurnId>, StoreError> {
        Ok(events::append_chunks(self, chunks).await?)
    }

    async fn start_tool_runs(
        &self,
        principal: &Principal,
        lease: &Lease,
        runs: Vec<ToolRun>,
    ) -> Result<(), StoreError> {
        Ok(tool_runs::start(self, principal, lease, runs).await?)
    }

    async fn finish_tool_run(
        &self,
        principal: &Principal,
        lease: &Lease,
        run: ToolRun,
        artifacts: Vec<Artifact>,
    ) -> Result<(), StoreError> {
        Ok(tool_runs::finish(self, principal, lease, run, artifacts).await?)
    }

    async fn renew_leases(&self, leases: Vec<Lease>, expires_at: TimeMs) -> Result<Vec<Lease>, StoreError> {
        Ok(leases::renew(self, leases, expires_at).await?)
    }

    async fn take_lease(
        &self,
        principal: &Principal,
        id: ConversationId,
        take: Take,
        holder: Uid,
        expires_at: TimeMs,
    ) -> Result<Option<Lease>, StoreError> {
        Ok(leases::take_over(self, principal, id, take, holder, expires_at).await?)
    }

    async fn find_turn(
        &self,
        principal: &Principal,
        id: ConversationId,
        turn_uid: Uid,
    ) -> Result<Option<TurnRow>, StoreError> {
        Ok(open_turns::find(self, principal, id, turn_uid).await?)
    }

    async fn open_turns(&self, now: TimeMs) -> Result<Vec<OpenTurn>, StoreError> {
        Ok(open_turns::list(self, now).await?)
    }

    async fn sweep_events(&self, before: TimeMs) -> Result<u64, StoreError> {
        Ok(events::sweep(self, before).await?)
    }
}
