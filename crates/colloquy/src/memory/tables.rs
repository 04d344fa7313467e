//! What is kept, and how it is found: conversations with everything that goes with them, models,
//! and the last identifier of each kind.

use std::collections::{BTreeMap, BTreeSet};

use colloquy_core::{
    artifact::Artifact,
    block::Block,
    message::{ConversationId, LlmId, Message, MessageId, TimeMs, TurnId},
};

use crate::{
    ports::{ConversationRow, Lease, LlmRow, Page, Principal, StoredHead, ToolRun, TurnRow},
    stream::StreamEvent,
};

#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) llms: BTreeMap<LlmId, (Principal, LlmRow)>,
    pub(super) conversations: BTreeMap<ConversationId, Kept>,
    /// The identifier that was given last, of every kind: none is given twice.
    last_id: i64,
}

/// A conversation. Deleting it leaves nothing behind.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) principal: Principal,
    pub(super) row: ConversationRow,
    pub(super) head: Option<StoredHead>,
    /// In the order of registration.
    pub(super) artifacts: Vec<Artifact>,
    pub(super) messages: BTreeMap<MessageId, Message>,
    /// The messages below each one, oldest first; below `None`, the first ones.
    pub(super) below: BTreeMap<Option<MessageId>, Vec<MessageId>>,
    pub(super) starred: BTreeSet<MessageId>,
    pub(super) turns: BTreeMap<TurnId, Turn>,
    pub(super) lease: Option<HeldLease>,
}

/// A lease and its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeldLease {
    pub(super) lease: Lease,
    /// 0 once it was given back; its fence stays.
    pub(super) expires_at: TimeMs,
}

/// A turn with what only the running one and its recovery read.
#[derive(Debug)]
pub(super) struct Turn {
    /// Its `last_seq` counts once it is over; until then the events do.
    pub(super) row: TurnRow,
    pub(super) llm_id: Option<LlmId>,
    pub(super) tool_runs: BTreeMap<(u32, String), ToolRun>,
    pub(super) inbox: Vec<Waiting>,
    /// Chunks of events by the number of their first.
    pub(super) events: BTreeMap<u64, Vec<StreamEvent>>,
}

/// A message of an inbox.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) blocks: Vec<Block>,
    pub(super) is_delivered: bool,
}

impl Tables {
    pub(super) fn next_id(&mut self) -> i64 {
        self.last_id += 1;
        self.last_id
    }

    /// The conversation, if it is that principal's.
    pub(super) fn conversation(&self, principal: &Principal, id: ConversationId) -> Option<&Kept> {
        self.conversations.get(&id).filter(|kept| kept.principal == *principal)
    }

    /// The conversation, if it is that principal's.
    pub(super) fn conversation_mut(
        &mut self,
        principal: &Principal,
        id: ConversationId,
    ) -> Option<&mut Kept> {
        self.conversations.get_mut(&id).filter(|kept| kept.principal == *principal)
    }

    /// The model, if it is that principal's.
    pub(super) fn llm(&self, principal: &Principal, id: LlmId) -> Option<&LlmRow> {
        self.llms.get(&id).filter(|(owner, _)| owner == principal).map(|(_, llm)| llm)
    }
}

impl Kept {
    /// The shown branch, from the tip to its first message.
    pub(super) fn upwards(&self) -> impl Iterator<Item = &Message> {
        let message = |id: Option<MessageId>| id.and_then(|id| self.messages.get(&id));
        std::iter::successors(message(self.row.tip_id), move |below| message(below.parent_id))
    }

    /// The shown branch, oldest first.
    pub(super) fn branch(&self) -> Vec<Message> {
        let mut branch: Vec<Message> = self.upwards().cloned().collect();
        branch.reverse();
        branch
    }
}

/// The rows of a page, out of all of them newest first.
pub(super) fn paged<T>(page: Page, rows: impl Iterator<Item = (i64, T)>) -> Vec<T> {
    let below = rows.filter(|(id, _)| page.before.is_none_or(|before| *id < before)).map(|(_, row)| row);
    let limit = page.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    below.take(limit).collect()
}
