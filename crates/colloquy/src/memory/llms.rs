//! Installed models: one default per principal as long as there is any.

use colloquy_core::message::LlmId;

use super::tables::{Tables, paged};
use crate::ports::{LlmRow, NewLlm, Page, Principal, StoreError};

impl Tables {
    pub(super) fn insert_llm(&mut self, principal: &Principal, new: NewLlm) -> Result<LlmRow, StoreError> {
        if self.of(principal).any(|llm| llm.name == new.name) {
            return Err(StoreError::NameTaken);
        }
        let id = LlmId(self.next_id());
        let is_default = new.make_default || !self.of(principal).any(|llm| llm.is_default);
        let NewLlm {
            name,
            engine,
            context_window,
            param_size,
            size_bytes,
            generation_config,
            make_default: _,
            created_at,
        } = new;
        let row = LlmRow {
            id,
            name,
            engine,
            context_window,
            param_size,
            size_bytes,
            generation_config,
            is_default: false,
            created_at,
        };
        self.llms.insert(id, (principal.clone(), row.clone()));
        if is_default {
            self.set_default_llm(principal, id);
        }
        Ok(LlmRow { is_default, ..row })
    }

    pub(super) fn list_llms(&self, principal: &Principal, page: Page) -> Vec<LlmRow> {
        paged(page, self.of(principal).rev().map(|llm| (llm.id.0, llm.clone())))
    }

    /// Unbinds its conversations; the newest one left takes its place where it was the default.
    pub(super) fn delete_llm(&mut self, principal: &Principal, id: LlmId) -> bool {
        let Some(was_default) = self.llm(principal, id).map(|llm| llm.is_default) else { return false };
        self.llms.remove(&id);
        for kept in self.conversations.values_mut() {
            kept.row.llm_id = kept.row.llm_id.filter(|bound| *bound != id);
        }
        let newest = self.of(principal).next_back().map(|llm| llm.id);
        if let Some(newest) = newest.filter(|_| was_default) {
            self.set_default_llm(principal, newest);
        }
        true
    }

    pub(super) fn set_default_llm(&mut self, principal: &Principal, id: LlmId) -> bool {
        if self.llm(principal, id).is_none() {
            return false;
        }
        for (owner, llm) in self.llms.values_mut() {
            if owner == principal {
                llm.is_default = llm.id == id;
            }
        }
        true
    }

    fn of(&self, principal: &Principal) -> impl DoubleEndedIterator<Item = &LlmRow> {
        self.llms.values().filter(move |(owner, _)| owner == principal).map(|(_, llm)| llm)
    }
}
