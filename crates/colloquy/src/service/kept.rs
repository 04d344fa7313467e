//! Views kept in memory between turns, so that a turn in a long conversation reads only what is
//! new. A view is used when its version is the store's; it is dropped when a star changes it.

use std::collections::HashMap;

use colloquy_core::{
    block::Block,
    message::{ConversationId, Message},
    prepare::Preparer,
};

/// Most bytes of text kept. One view may be larger; then it is kept alone.
const BYTES_MAX: usize = 32 << 20;

/// A view that is known to be what the store holds at that version.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kept {
    pub(crate) messages: Vec<Message>,
    pub(crate) starred: Vec<String>,
    pub(crate) version: i64,
    /// What was prepared of it for the last call.
    pub(crate) preparer: Preparer,
}

#[derive(Debug, Default)]
pub(crate) struct KeptViews {
    views: HashMap<ConversationId, Entry>,
    /// Grows with every use; the smallest is the one that waited longest.
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    view: Kept,
    n_bytes: usize,
    used_at: u64,
}

impl KeptViews {
    /// Takes the view out if it is of that version; any other is dropped.
    pub(crate) fn take(&mut self, id: ConversationId, version: i64) -> Option<Kept> {
        self.views.remove(&id).map(|entry| entry.view).filter(|view| view.version == version)
    }

    /// Keeps a view, and forgets those that waited longest when there is too much.
    pub(crate) fn keep(&mut self, id: ConversationId, view: Kept) {
        self.clock += 1;
        let n_bytes = view.messages.iter().map(n_bytes_of).sum();
        self.views.insert(id, Entry { view, n_bytes, used_at: self.clock });
        while self.views.len() > 1
            && self.views.values().map(|entry| entry.n_bytes).sum::<usize>() > BYTES_MAX
        {
            let oldest = self.views.iter().min_by_key(|(_, entry)| entry.used_at).map(|(id, _)| *id);
            self.views.remove(&oldest.expect("BUG: more than one view is kept"));
        }
    }

    /// Forgets the view of a conversation.
    pub(crate) fn forget(&mut self, id: ConversationId) {
        self.views.remove(&id);
    }
}

fn n_bytes_of(message: &Message) -> usize {
    // Once as it is stored and once as it was prepared.
    size_of::<Message>() + 2 * message.blocks.iter().map(Block::n_bytes).sum::<usize>()
}

#[cfg(test)]
mod tests;
