//! The commits of a turn, its events and its tool runs. Whatever can be refused is refused before
//! the first change.

use colloquy_core::{
    artifact::Artifact,
    block::Block,
    message::{ConversationId, Kind, Message, MessageId, TimeMs, TurnId},
};

use super::tables::{Kept, Tables, Turn, Waiting};
use crate::{
    ports::{
        AppendedQuestion, Commit, Committed, EventChunk, Lease, NewMessage, Principal, Question, StepCommit,
        StoreError, ToolRun, ToolRunState, TurnRow, TurnState,
    },
    stream::StreamEvent,
};

impl Tables {
    pub(super) fn append_question(
        &mut self,
        principal: &Principal,
        id: ConversationId,
        question: Question,
    ) -> Result<AppendedQuestion, StoreError> {
        let kept = self.conversation(principal, id).ok_or(StoreError::NoSuchConversation)?;
        let running = kept.running().map(|turn| turn.row.uid);
        if running.is_some() || !kept.is_free_for(question.holder, question.at) {
            return Err(StoreError::TurnInProgress { turn_uid: running });
        }
        kept.check_tip(question.base_id)?;
        kept.check_artifacts(&question.artifacts)?;

        let turn_id = TurnId(self.next_id());
        let n_messages = question.before.len() + 1;
        let ids = self.next_message_ids(n_messages);
        let kept = self.conversation_mut(principal, id).expect("BUG: it was there a moment ago");
        let lease = kept.take(question.holder, question.at.saturating_add(question.lease_ms));
        kept.save_artifacts(&question.artifacts);
        if let Some(head) = &question.head {
            kept.head = Some(head.clone());
        }
        kept.turns.insert(turn_id, Turn::begun(turn_id, id, &question));
        let asked = NewMessage {
            app_authored: question.app_authored,
            ..NewMessage::new(question.message_uid, 0, Kind::Question, question.blocks)
        };
        let new = question.before.into_iter().chain([asked]).collect();
        let mut before = kept.append(turn_id, ids, new, question.at);
        let message = before.pop().expect("BUG: the question itself was appended");
        if let Some(turn) = kept.turns.get_mut(&turn_id) {
            turn.row.question_id = Some(message.id);
        }
        Ok(AppendedQuestion { lease, turn_id, before, message, version: kept.row.version })
    }

    pub(super) fn append_step(
        &mut self,
        principal: &Principal,
        lease: &Lease,
        step: StepCommit,
    ) -> Result<Vec<Message>, StoreError> {
        let StepCommit { turn_id, parent_id, messages, at } = step;
        self.owned(principal, lease)?.check_append(turn_id, parent_id, &messages)?;
        let ids = self.next_message_ids(messages.len());
        Ok(self.owned(principal, lease)?.append(turn_id, ids, messages, at))
    }

    pub(super) fn accept_steer(
        &mut self,
        principal: &Principal,
        lease: &Lease,
        turn_id: TurnId,
        blocks: Vec<Block>,
    ) -> Result<u32, StoreError> {
        let inbox = &mut self.owned(principal, lease)?.running_mut(turn_id)?.inbox;
        let ordinal = u32::try_from(inbox.len()).expect("BUG: an inbox has a limit");
        inbox.push(Waiting { blocks, is_delivered: false });
        Ok(ordinal)
    }

    pub(super) fn commit_turn(
        &mut self,
        principal: &Principal,
        lease: &Lease,
        commit: Commit,
    ) -> Result<Committed, StoreError> {
        let Commit { turn_id, parent_id, messages, outcome, error, tail, first_seq, last_seq, at } = commit;
        self.owned(principal, lease)?.check_append(turn_id, parent_id, &messages)?;
        let ids = self.next_message_ids(messages.len());
        let kept = self.owned(principal, lease)?;
        let messages = kept.append(turn_id, ids, messages, at);
        let turn = kept.running_mut(turn_id)?;
        turn.flush(first_seq, tail);
        for run in turn.tool_runs.values_mut().filter(|run| run.state == ToolRunState::Started) {
            // What was started and never finished will not be: its process is done with it.
            (run.state, run.finished_at) = (ToolRunState::Interrupted, Some(at));
        }
        let row = turn.row.clone();
        turn.row = TurnRow {
            state: TurnState::Over,
            outcome: Some(outcome),
            error,
            last_seq,
            ended_at: Some(at),
            ..row
        };
        kept.release();
        Ok(Committed { messages, version: kept.row.version })
    }

    /// A turn that is over still takes the events that its owner has left to flush.
    pub(super) fn append_events(&mut self, chunks: Vec<EventChunk>) -> Vec<TurnId> {
        let mut stale = Vec::new();
        for EventChunk { lease, turn_id, first_seq, events } in chunks {
            let kept = self.conversations.get_mut(&lease.conversation_id);
            let held = kept.filter(|kept| kept.is_held_by(&lease));
            match held.and_then(|kept| kept.turns.get_mut(&turn_id)) {
                Some(turn) => turn.flush(first_seq, events),
                None => stale.push(turn_id),
            }
        }
        stale
    }

    pub(super) fn sweep_events(&mut self, before: TimeMs) -> u64 {
        let mut n_swept = 0;
        for turn in self.conversations.values_mut().flat_map(|kept| kept.turns.values_mut()) {
            if turn.row.ended_at.is_some_and(|ended_at| ended_at < before) && !turn.events.is_empty() {
                turn.events.clear();
                n_swept += 1;
            }
        }
        n_swept
    }

    /// A run that has ended stays as it ended.
    pub(super) fn write_tool_runs(
        &mut self,
        principal: &Principal,
        lease: &Lease,
        runs: Vec<ToolRun>,
        artifacts: &[Artifact],
    ) -> Result<(), StoreError> {
        let kept = self.owned(principal, lease)?;
        for run in &runs {
            kept.running_mut(run.turn_id)?;
        }
        kept.check_artifacts(artifacts)?;
        kept.save_artifacts(artifacts);
        for run in runs {
            let written = &mut kept.running_mut(run.turn_id)?.tool_runs;
            let place = written.entry((run.step, run.call_id.clone())).or_insert_with(|| run.clone());
            if place.state == ToolRunState::Started {
                let ToolRun { state, result, is_error, finished_at, .. } = run;
                *place = ToolRun { state, result, is_error, finished_at, ..place.clone() };
            }
        }
        Ok(())
    }

    fn next_message_ids(&mut self, n_messages: usize) -> Vec<MessageId> {
        (0..n_messages).map(|_| MessageId(self.next_id())).collect()
    }
}

impl Kept {
    fn check_append(
        &mut self,
        turn_id: TurnId,
        parent_id: MessageId,
        new: &[NewMessage],
    ) -> Result<(), StoreError> {
        let inbox = &self.running_mut(turn_id)?.inbox;
        let mut waiting: Vec<bool> = inbox.iter().map(|waiting| !waiting.is_delivered).collect();
        for ordinal in new.iter().filter_map(|message| message.inbox_ordinal) {
            // Each is delivered once, also within one commit.
            let place = usize::try_from(ordinal).ok().and_then(|place| waiting.get_mut(place));
            if !place.is_some_and(std::mem::take) {
                let name = format!("message {ordinal} of the inbox of turn {}", turn_id.0);
                return Err(StoreError::Corrupt(format!("{name} does not wait to be delivered").into()));
            }
        }
        self.check_tip(Some(parent_id))
    }

    fn check_tip(&self, base_id: Option<MessageId>) -> Result<(), StoreError> {
        let tip_id = self.row.tip_id;
        if tip_id == base_id { Ok(()) } else { Err(StoreError::StaleParent { tip_id }) }
    }

    /// What stands behind a reference never changes (I11).
    fn check_artifacts(&self, artifacts: &[Artifact]) -> Result<(), StoreError> {
        let known = |new: &Artifact, known: &Artifact| {
            known.reference == new.reference && (known.alias != new.alias || known.json != new.json)
        };
        for (place, new) in artifacts.iter().enumerate() {
            if self.artifacts.iter().chain(&artifacts[..place]).any(|held| known(new, held)) {
                let name = new.reference.as_str();
                return Err(StoreError::Corrupt(
                    format!("{name} is stored with another value already").into(),
                ));
            }
        }
        Ok(())
    }

    fn save_artifacts(&mut self, artifacts: &[Artifact]) {
        for new in artifacts {
            match self.artifacts.iter_mut().find(|held| held.reference == new.reference) {
                Some(held) => held.clone_from(new),
                None => self.artifacts.push(new.clone()),
            }
        }
    }

    /// Appends messages one below the other, moves the tip and counts the version.
    fn append(
        &mut self,
        turn_id: TurnId,
        ids: Vec<MessageId>,
        new: Vec<NewMessage>,
        at: TimeMs,
    ) -> Vec<Message> {
        let mut appended = Vec::with_capacity(new.len());
        for (id, new) in ids.into_iter().zip(new) {
            let parent_id = self.row.tip_id;
            let depth = parent_id.and_then(|id| self.messages.get(&id)).map_or(0, |above| above.depth + 1);
            if let Some((turn, ordinal)) = self.turns.get_mut(&turn_id).zip(new.inbox_ordinal) {
                turn.inbox[ordinal as usize].is_delivered = true;
            }
            let message = committed(new, id, parent_id, depth, turn_id, at);
            self.messages.insert(id, message.clone());
            self.below.entry(parent_id).or_default().push(id);
            self.row.tip_id = Some(id);
            self.row.last_message_at = at;
            appended.push(message);
        }
        self.row.version += 1;
        appended
    }
}

impl Turn {
    fn begun(id: TurnId, conversation_id: ConversationId, question: &Question) -> Self {
        let row = TurnRow {
            id,
            uid: question.turn_uid,
            conversation_id,
            question_id: None,
            state: TurnState::Running,
            outcome: None,
            error: None,
            last_seq: 0,
            created_at: question.at,
            ended_at: None,
        };
        Self {
            row,
            llm_id: question.llm_id,
            tool_runs: Default::default(),
            inbox: Vec::new(),
            events: Default::default(),
        }
    }

    /// Of two chunks with one first number the longer one has all of both.
    fn flush(&mut self, first_seq: u64, events: Vec<StreamEvent>) {
        if events.is_empty() {
            return;
        }
        let place = self.events.entry(first_seq).or_default();
        if events.len() > place.len() {
            *place = events;
        }
    }
}

fn committed(
    new: NewMessage,
    id: MessageId,
    parent_id: Option<MessageId>,
    depth: u32,
    turn_id: TurnId,
    created_at: TimeMs,
) -> Message {
    let NewMessage {
        uid,
        step,
        kind,
        app_authored,
        blocks,
        origin,
        usage,
        finish_reason,
        compactable,
        inbox_ordinal: _,
    } = new;
    Message {
        id,
        uid,
        parent_id,
        depth,
        turn_id,
        step,
        kind,
        app_authored,
        compactable,
        blocks,
        origin,
        usage,
        finish_reason,
        created_at,
        redacted_at: None,
    }
}
