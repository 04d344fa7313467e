//! The turns that run in this process, one place per conversation (I7).

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use colloquy_core::{
    inbox::{Inbox, NotAccepted},
    message::{ConversationId, TurnId, Uid},
};
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{
    ports::{EventChunk, InboxMessage, Lease},
    stream::{StreamEvent, TurnLog},
};

/// A turn from the moment its conversation is taken to its `done`.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) turn_uid: Uid,
    /// Somebody asked for the end.
    pub(crate) stop: CancellationToken,
    /// The store says that somebody else owns the conversation.
    pub(crate) lost: CancellationToken,
    /// The turn is closed and stored, or given up.
    pub(crate) over: CancellationToken,
    pub(crate) log: Arc<TurnLog>,
    /// Set by commit (a).
    owned: OnceLock<(Lease, TurnId)>,
    /// The view must not be kept for the next turn: a star changed meanwhile.
    outdated: AtomicBool,
    inbox: Mutex<Inbox<InboxMessage>>,
    /// Told whenever a place of the inbox is filled or given back.
    pub(crate) inbox_filled: Notify,
    /// The answer, once it is committed.
    accepted: OnceLock<Accepted>,
}

/// An answer as its contract reads it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Accepted {
    /// A JSON string for prose.
    pub(crate) answer: Value,
    /// Why, in the model's words.
    pub(crate) reasoning: String,
}

/// A reserved place in the inbox of a running turn; given back on drop unless it was filled.
pub(crate) struct InboxPlace {
    running: Arc<Running>,
    is_filled: bool,
}

impl InboxPlace {
    /// Reserves a place.
    pub(crate) fn reserve(running: &Arc<Running>) -> Result<Self, NotAccepted> {
        running.inbox().reserve()?;
        Ok(Self { running: Arc::clone(running), is_filled: false })
    }

    /// Fills it: the message will be delivered.
    pub(crate) fn fill(mut self, message: InboxMessage) {
        self.is_filled = true;
        self.running.inbox().fill(message);
        self.running.inbox_filled.notify_waiters();
    }
}

impl Drop for InboxPlace {
    fn drop(&mut self) {
        if !self.is_filled {
            self.running.inbox().give_back();
            self.running.inbox_filled.notify_waiters();
        }
    }
}

impl Running {
    /// A turn that ends when the service closes, also if it only begins then.
    pub(crate) fn new(turn_uid: Uid, closing: &CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            turn_uid,
            stop: closing.child_token(),
            lost: CancellationToken::new(),
            over: CancellationToken::new(),
            log: TurnLog::new(),
            owned: OnceLock::new(),
            outdated: AtomicBool::new(false),
            inbox: Mutex::default(),
            inbox_filled: Notify::new(),
            accepted: OnceLock::new(),
        })
    }

    pub(crate) fn own(&self, lease: Lease, turn_id: TurnId) {
        self.owned.set((lease, turn_id)).expect("BUG: a turn is started once");
    }

    /// Whether commit (a) has been.
    pub(crate) fn is_durable(&self) -> bool {
        self.owned.get().is_some()
    }

    /// The lease and the turn's row. Only after commit (a).
    pub(crate) fn owned(&self) -> (Lease, TurnId) {
        *self.owned.get().expect("BUG: a turn runs after its first commit")
    }

    /// Its inbox, locked for a moment.
    pub(crate) fn inbox(&self) -> std::sync::MutexGuard<'_, Inbox<InboxMessage>> {
        self.inbox.lock().expect("BUG: an inbox was left half changed")
    }

    /// Notes the answer of a turn that is committed.
    pub(crate) fn accept(&self, accepted: Accepted) {
        // A turn is committed once, so there is none yet.
        let _ = self.accepted.set(accepted);
    }

    /// The answer, once the turn is over and has one.
    pub(crate) fn accepted(&self) -> Option<&Accepted> {
        self.accepted.get()
    }

    pub(crate) fn outdate(&self) {
        self.outdated.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_outdated(&self) -> bool {
        self.outdated.load(Ordering::Relaxed)
    }
}

/// All running turns of this process.
#[derive(Debug, Default)]
pub(crate) struct RunningTurns(Mutex<HashMap<ConversationId, Arc<Running>>>);

impl RunningTurns {
    /// Takes the conversation's one place, or gives the turn that has it.
    pub(crate) fn take(&self, id: ConversationId, running: &Arc<Running>) -> Result<(), Arc<Running>> {
        match self.lock().entry(id) {
            std::collections::hash_map::Entry::Occupied(taken) => Err(Arc::clone(taken.get())),
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(Arc::clone(running));
                Ok(())
            }
        }
    }

    /// Makes the place of `running` free. Whoever has taken it since keeps it.
    pub(crate) fn leave(&self, id: ConversationId, running: &Arc<Running>) {
        let mut turns = self.lock();
        if turns.get(&id).is_some_and(|taken| Arc::ptr_eq(taken, running)) {
            turns.remove(&id);
        }
    }

    pub(crate) fn find(&self, id: ConversationId) -> Option<Arc<Running>> {
        self.lock().get(&id).cloned()
    }

    pub(crate) fn find_turn(&self, turn_uid: Uid) -> Option<Arc<Running>> {
        self.lock().values().find(|running| running.turn_uid == turn_uid).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Running>> {
        self.lock().values().cloned().collect()
    }

    /// The leases of all turns that have one.
    pub(crate) fn leases(&self) -> Vec<Lease> {
        self.lock().values().filter_map(|running| running.owned.get()).map(|(lease, _)| *lease).collect()
    }

    /// What the store is not known to have of each turn; turns without news are left out.
    pub(crate) fn unstored(&self) -> Vec<EventChunk> {
        let chunk = |running: &Arc<Running>| {
            let (lease, turn_id) = *running.owned.get()?;
            let (first_seq, events) = running.log.unstored();
            (!events.is_empty()).then_some(EventChunk { lease, turn_id, first_seq, events })
        };
        self.all().iter().filter_map(chunk).collect()
    }

    /// Notes what a flush of `chunks` came to; the turns in `stale` have lost their lease.
    pub(crate) fn flushed(&self, chunks: &[(TurnId, u64)], stale: &[TurnId]) {
        for running in self.all() {
            let Some((_, turn_id)) = running.owned.get() else { continue };
            if stale.contains(turn_id) {
                running.lost.cancel();
            } else if let Some((_, last_seq)) = chunks.iter().find(|(id, _)| id == turn_id) {
                running.log.mark_stored(*last_seq);
            }
        }
    }

    /// Tells the turns whose lease is in `lost` that it is.
    pub(crate) fn lose(&self, lost: &[Lease]) {
        for running in self.all() {
            if running.owned.get().is_some_and(|(lease, _)| lost.contains(lease)) {
                running.lost.cancel();
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ConversationId, Arc<Running>>> {
        self.0.lock().expect("BUG: the table of running turns was left half changed")
    }
}

/// One turn's place in the table. Leaving it is what makes the next question possible; a turn that
/// panics leaves it too, so that no conversation is blocked and no reader waits for ever.
pub(crate) struct Place {
    turns: Arc<RunningTurns>,
    id: ConversationId,
    running: Arc<Running>,
}

impl Place {
    /// Takes the place of `running` in `turns`.
    pub(crate) fn take(
        turns: &Arc<RunningTurns>,
        id: ConversationId,
        running: &Arc<Running>,
    ) -> Result<Self, Arc<Running>> {
        turns.take(id, running)?;
        Ok(Self { turns: Arc::clone(turns), id, running: Arc::clone(running) })
    }

    /// Leaves the place, then tells the reader: who asks again on `done` is never refused.
    pub(crate) fn leave(self, last: StreamEvent) {
        self.turns.leave(self.id, &self.running);
        self.running.log.push(last);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.turns.leave(self.id, &self.running);
        self.running.log.abandon();
        self.running.over.cancel();
    }
}

/// Stops the turn when its reader goes before it has seen `done`.
#[derive(Debug)]
pub(crate) struct StopOnDrop(pub(crate) Arc<Running>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop.cancel();
    }
}

#[cfg(test)]
mod tests;
