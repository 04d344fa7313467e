//! Leases and fences (I7), and the turns that are found dead.

use colloquy_core::message::{ConversationId, TimeMs, TurnId, Uid};

use super::tables::{HeldLease, Kept, Tables, Turn};
use crate::{
    ports::{InboxMessage, Lease, OpenTurn, Principal, StoreError, Take, TurnRow, TurnState},
    stream::StreamEvent,
};

impl Tables {
    /// The conversation that a lease covers, if it is the newest one of it and that principal's.
    pub(super) fn owned(&mut self, principal: &Principal, lease: &Lease) -> Result<&mut Kept, StoreError> {
        let kept = self.conversation_mut(principal, lease.conversation_id);
        kept.filter(|kept| kept.is_held_by(lease)).ok_or(StoreError::StaleOwner)
    }

    pub(super) fn renew_leases(&mut self, leases: Vec<Lease>, expires_at: TimeMs) -> Vec<Lease> {
        let mut renew = |lease: &Lease| {
            let kept = self.conversations.get_mut(&lease.conversation_id)?;
            let held = kept.lease.as_mut().filter(|held| held.lease == *lease && held.expires_at > 0)?;
            held.expires_at = held.expires_at.max(expires_at);
            Some(())
        };
        leases.into_iter().filter(|lease| renew(lease).is_none()).collect()
    }

    pub(super) fn take_lease(
        &mut self,
        principal: &Principal,
        id: ConversationId,
        take: Take,
        holder: Uid,
        expires_at: TimeMs,
    ) -> Option<Lease> {
        let kept = self.conversation_mut(principal, id)?;
        kept.is_as_seen(take).then(|| kept.take(holder, expires_at))
    }

    pub(super) fn find_turn(
        &self,
        principal: &Principal,
        id: ConversationId,
        turn_uid: Uid,
    ) -> Option<TurnRow> {
        let turns = &self.conversation(principal, id)?.turns;
        turns.values().find(|turn| turn.row.uid == turn_uid).map(Turn::as_read)
    }

    pub(super) fn open_turns(&self, now: TimeMs) -> Vec<OpenTurn> {
        let dead = self
            .conversations
            .values()
            .filter(|kept| kept.lease.is_none_or(|held| held.expires_at <= now))
            .flat_map(|kept| kept.running().map(|turn| kept.open_turn(turn)));
        let mut dead: Vec<OpenTurn> = dead.collect();
        dead.sort_unstable_by_key(|open| open.turn.id);
        dead
    }
}

impl Kept {
    pub(super) fn is_held_by(&self, lease: &Lease) -> bool {
        self.lease.is_some_and(|held| held.lease == *lease)
    }

    /// Whether `holder` may take the lease for a new turn at `at`.
    pub(super) fn is_free_for(&self, holder: Uid, at: TimeMs) -> bool {
        self.lease.is_none_or(|held| held.lease.holder == holder || held.expires_at <= at)
    }

    /// Takes the lease. The fence grows even where the holder stays, so that a late write of an
    /// earlier turn is stale.
    pub(super) fn take(&mut self, holder: Uid, expires_at: TimeMs) -> Lease {
        let fence = self.lease.map_or(0, |held| held.lease.fence) + 1;
        let lease = Lease { conversation_id: self.row.id, holder, fence };
        self.lease = Some(HeldLease { lease, expires_at });
        lease
    }

    pub(super) fn release(&mut self) {
        if let Some(held) = &mut self.lease {
            held.expires_at = 0;
        }
    }

    /// The turn that runs, or ran when its process died.
    pub(super) fn running(&self) -> Option<&Turn> {
        self.turns.values().find(|turn| turn.row.state != TurnState::Over)
    }

    /// The running turn of that identifier; a write for any other is stale.
    pub(super) fn running_mut(&mut self, turn_id: TurnId) -> Result<&mut Turn, StoreError> {
        let turn = self.turns.get_mut(&turn_id).filter(|turn| turn.row.state != TurnState::Over);
        turn.ok_or(StoreError::StaleOwner)
    }

    fn is_as_seen(&self, take: Take) -> bool {
        match take {
            Take::ByForce => true,
            Take::IfStill { turn_id, fence, expires_at } => {
                let (held_fence, held_until) = self.lease_as_seen();
                self.running().is_some_and(|turn| turn.row.id == turn_id)
                    && held_fence == fence
                    && held_until == expires_at
            }
        }
    }

    fn lease_as_seen(&self) -> (i64, TimeMs) {
        self.lease.map_or((0, 0), |held| (held.lease.fence, held.expires_at))
    }

    fn open_turn(&self, turn: &Turn) -> OpenTurn {
        let (fence, expires_at) = self.lease_as_seen();
        let waiting = (0..).zip(&turn.inbox).filter(|(_, waiting)| !waiting.is_delivered);
        let inbox =
            waiting.map(|(ordinal, waiting)| InboxMessage { ordinal, blocks: waiting.blocks.clone() });
        let is_stored =
            |event: &&StreamEvent| !matches!(event, StreamEvent::Progress(_) | StreamEvent::Reload);
        OpenTurn {
            principal: self.principal.clone(),
            turn: turn.as_read(),
            take: Take::IfStill { turn_id: turn.row.id, fence, expires_at },
            llm_id: turn.llm_id,
            messages: self.branch(),
            tool_runs: turn.tool_runs.values().cloned().collect(),
            inbox: inbox.collect(),
            events: turn.events.values().flatten().filter(is_stored).cloned().collect(),
        }
    }
}

impl Turn {
    /// Until the commit counts them, the last event is the last one that was flushed.
    fn as_read(&self) -> TurnRow {
        let flushed = self.events.iter().map(|(first_seq, events)| first_seq + events.len() as u64 - 1);
        TurnRow { last_seq: flushed.max().unwrap_or(0).max(self.row.last_seq), ..self.row.clone() }
    }
}
