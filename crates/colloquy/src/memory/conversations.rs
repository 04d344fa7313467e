//! Conversations and their messages, as they are read and changed outside of a turn.

use colloquy_core::message::{ConversationId, Kind, Message, MessageId};

use super::tables::{Kept, Tables, paged};
use crate::ports::{
    ConversationPatch, ConversationRow, NewConversation, Page, Principal, StoredMessage, View,
};

impl Tables {
    pub(super) fn create_conversation(
        &mut self,
        principal: &Principal,
        new: NewConversation,
    ) -> ConversationRow {
        let NewConversation { uid, llm_id, name, settings, created_at } = new;
        let id = ConversationId(self.next_id());
        let row = ConversationRow {
            id,
            uid,
            llm_id: llm_id.filter(|llm_id| self.llm(principal, *llm_id).is_some()),
            name,
            settings,
            tip_id: None,
            version: 0,
            created_at,
            last_message_at: created_at,
        };
        let kept = Kept {
            principal: principal.clone(),
            row: row.clone(),
            head: None,
            artifacts: Vec::new(),
            messages: Default::default(),
            below: Default::default(),
            starred: Default::default(),
            turns: Default::default(),
            lease: None,
        };
        self.conversations.insert(id, kept);
        row
    }

    pub(super) fn list_conversations(&self, principal: &Principal, page: Page) -> Vec<ConversationRow> {
        let own = self.conversations.values().rev().filter(|kept| kept.principal == *principal);
        paged(page, own.map(|kept| (kept.row.id.0, kept.row.clone())))
    }

    pub(super) fn update_conversation(
        &mut self,
        principal: &Principal,
        id: ConversationId,
        patch: ConversationPatch,
    ) -> Option<ConversationRow> {
        let ConversationPatch { name, llm_id, settings } = patch;
        let bound = llm_id.map(|llm_id| self.llm(principal, llm_id).map(|llm| llm.id));
        let row = &mut self.conversation_mut(principal, id)?.row;
        row.name = name.unwrap_or_else(|| std::mem::take(&mut row.name));
        row.llm_id = bound.unwrap_or(row.llm_id);
        row.settings = settings.over(row.settings.clone());
        Some(row.clone())
    }

    pub(super) fn delete_conversation(&mut self, principal: &Principal, id: ConversationId) -> bool {
        let is_own = self.conversation(principal, id).is_some();
        is_own && self.conversations.remove(&id).is_some()
    }

    pub(super) fn find_message(
        &self,
        principal: &Principal,
        id: MessageId,
    ) -> Option<(ConversationId, StoredMessage)> {
        let own = self.conversations.values().filter(|kept| kept.principal == *principal);
        own.filter_map(|kept| Some((kept.row.id, kept.stored(kept.messages.get(&id)?)))).next()
    }

    pub(super) fn set_star(
        &mut self,
        principal: &Principal,
        id: MessageId,
        starred: bool,
    ) -> Option<ConversationId> {
        let mut own = self.conversations.values_mut().filter(|kept| kept.principal == *principal);
        let kept = own.find(|kept| kept.messages.contains_key(&id))?;
        if starred {
            kept.starred.insert(id);
        } else {
            kept.starred.remove(&id);
        }
        Some(kept.row.id)
    }
}

impl Kept {
    /// What people are shown of the branch: not what the program asked or told the model itself.
    pub(super) fn list_shown(&self, page: Page) -> Vec<StoredMessage> {
        let shown = self.upwards().filter(|message| is_shown(message));
        let page = paged(page, shown.map(|message| (message.id.0, message)));
        page.into_iter().rev().map(|message| self.stored(message)).collect()
    }

    pub(super) fn list_all(&self) -> Vec<StoredMessage> {
        let mut listed: Vec<StoredMessage> = self.upwards().map(|message| self.stored(message)).collect();
        listed.reverse();
        listed
    }

    pub(super) fn view(&self) -> View {
        let messages = self.branch();
        let starred = messages.iter().filter(|message| self.starred.contains(&message.id));
        View { starred: starred.map(Message::text).collect(), messages }
    }

    fn stored(&self, message: &Message) -> StoredMessage {
        let turn = &self.turns.get(&message.turn_id).expect("BUG: a message has its turn").row;
        StoredMessage {
            starred: self.starred.contains(&message.id),
            turn_uid: turn.uid,
            outcome: turn.outcome,
            error: turn.error.clone(),
            siblings: self.below[&message.parent_id].clone(),
            message: message.clone(),
        }
    }
}

fn is_shown(message: &Message) -> bool {
    match message.kind {
        Kind::Announcement => false,
        Kind::Question | Kind::Steer => !message.app_authored,
        Kind::Results | Kind::Call | Kind::Answer | Kind::Closing => true,
    }
}
