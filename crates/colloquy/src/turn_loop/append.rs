//! The commits of a running turn before its last: calls (b), results (c), and what else stands
//! between a question and its answer. Each is one bounded, fenced transaction.

use colloquy_core::{
    block::{Block, ToolCall, ToolResult},
    contract::{Contract, Reading, Refused},
    curated::NUDGE,
    inbox::Polled,
    message::Kind,
    turn::{Sampled, TurnEvent},
};
use serde_json::Value;

use super::{Work, close::COMMIT_LIMIT, internal_failure, reply::Reply, text_blocks};
use crate::{
    ports::{InboxMessage, NewMessage, StepCommit, StoreError, ToolRun, ToolRunState},
    service::lock_instance,
    stream::{StreamEvent, Withdrawn},
};

/// What a model call came to, as it will be stored.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) sampled: Sampled,
    /// The blocks of the assistant message, without calls.
    pub(super) blocks: Vec<Block>,
    pub(super) calls: Vec<ToolCall>,
    /// The answer as the contract reads it, and why, in the model's words.
    pub(super) answer: Option<(Value, String)>,
    refused: Option<Refused>,
    /// Text that the reader has not been told while it came.
    pub(super) untold: Option<String>,
}

impl Step {
    /// Nothing but what was shown.
    pub(super) fn of_reply(reply: &Reply, sampled: Sampled) -> Self {
        let blocks = reply.shown();
        Self { sampled, blocks, calls: Vec::new(), answer: None, refused: None, untold: None }
    }

    /// Calls. In an envelope the words around them are reasoning, not text.
    pub(super) fn of_calls(reply: &Reply, reading: &Reading, sampled: Sampled) -> Self {
        let mut step = Self::of_reply(reply, sampled);
        if reply.n_calls() == 0 {
            step.blocks.retain(|block| block.as_text().is_none());
            if !reading.reasoning.trim().is_empty() && !reply.has_reasoning() {
                step.blocks.push(Block::reasoning(reading.reasoning.clone()));
            }
        }
        step.calls.clone_from(&reading.calls);
        step
    }

    /// An answer. Prose out of an envelope is stored as the prose; a typed answer as it was said.
    pub(super) fn of_answer(reply: &Reply, reading: Reading, sampled: Sampled) -> Self {
        let said = reply.blocks().into_iter().filter(|block| block.as_call().is_none()).collect::<Vec<_>>();
        let mut step = Self::of_reply(reply, sampled);
        if step.blocks.len() != said.len() {
            match &reading.answer {
                Some(Value::String(prose)) => {
                    step.blocks.push(Block::Text(prose.clone()));
                    step.untold = Some(prose.clone());
                }
                Some(answer) => {
                    step.blocks = said;
                    step.untold = Some(answer.to_string());
                }
                None => {}
            }
        }
        step.answer = reading.answer.map(|answer| (answer, reading.reasoning));
        step
    }

    /// An answer that does not follow its contract, as it was said: the model is to mend it.
    pub(super) fn refused(reply: &Reply, refused: Refused, sampled: Sampled) -> Self {
        let blocks = reply.blocks().into_iter().filter(|block| block.as_call().is_none()).collect();
        Self { sampled, blocks, calls: Vec::new(), answer: None, refused: Some(refused), untold: None }
    }
}

impl Work {
    /// Announces what the model has not been told of since the last call: late tools and legends.
    pub(super) async fn announce(&mut self) -> Result<(), TurnEvent> {
        let blocks = {
            let Some(opened) = &self.opened else { return Err(internal_failure()) };
            let mut instance = lock_instance(&self.instance);
            let notation = self.request.notation(&opened.spec, instance.has_tools());
            instance.head.reconcile(&self.branch, notation)
        };
        if blocks.is_empty() {
            return Ok(());
        }
        let announcement = self.message(Kind::Announcement, blocks);
        self.commit_step(vec![NewMessage { app_authored: true, ..announcement }]).await
    }

    /// Commit (b), and the mark of each run before it begins.
    pub(super) async fn append_calls(&mut self) -> Result<(), TurnEvent> {
        let step = self.said.take().ok_or_else(internal_failure)?;
        self.withdraw(Withdrawn::Thinking);
        let mut blocks = step.blocks.clone();
        blocks.extend(step.calls.iter().cloned().map(Block::ToolCall));
        let call = self.assistant(Kind::Call, blocks, step.sampled);
        self.commit_step(vec![call]).await?;
        self.reply = Reply::default();
        self.results = vec![None; step.calls.len()];
        let runs = self.runs(&step.calls);
        let (lease, _) = self.running.owned();
        let started = self.shared.store.start_tool_runs(&self.principal, &lease, runs).await;
        started.map_err(store_failed)?;
        self.tell(step.calls.into_iter().map(|call| StreamEvent::ToolCall {
            id: call.id,
            name: call.name,
            input: call.input,
        }));
        Ok(())
    }

    /// Commit (c): one result per call, in call order, then what the inbox holds.
    pub(super) async fn append_results(&mut self, deliver_inbox: bool) -> TurnEvent {
        let calls: Vec<ToolCall> = self.open_calls();
        let results = calls.iter().zip(&self.results).map(|(call, result)| {
            Block::ToolResult(result.clone().unwrap_or_else(|| ToolResult::interrupted(&call.id)))
        });
        let results = results.collect();
        if deliver_inbox {
            let held = self.running.inbox().drain();
            self.held.extend(held);
        }
        let mut messages = vec![NewMessage { app_authored: true, ..self.message(Kind::Results, results) }];
        let steers = if deliver_inbox { std::mem::take(&mut self.held) } else { Vec::new() };
        messages.extend(steers.iter().map(|steer| self.steer(steer)));
        match self.commit_step(messages).await {
            Ok(()) => {
                self.step += 1;
                self.results.clear();
                self.tell_steers(&steers);
                TurnEvent::Stored
            }
            Err(event) => {
                self.held = steers;
                event
            }
        }
    }

    /// The answer that does not follow its contract, and the message that says what is wrong.
    pub(super) async fn append_correction(&mut self) -> TurnEvent {
        let Some(step) = self.said.take() else { return internal_failure() };
        let Some(refused) = step.refused else { return internal_failure() };
        let answer = self.assistant(Kind::Answer, step.blocks, step.sampled);
        let correction = self.message(Kind::Steer, text_blocks(Contract::correction(&refused)));
        let correction = NewMessage { app_authored: true, ..correction };
        self.stored(vec![answer, correction]).await
    }

    /// The message that asks for the answer that did not come.
    pub(super) async fn append_nudge(&mut self) -> TurnEvent {
        let nudge = NewMessage { app_authored: true, ..self.message(Kind::Steer, text_blocks(NUDGE)) };
        self.stored(vec![nudge]).await
    }

    /// Looks into the inbox until it gives something or is closed for good.
    pub(super) async fn poll_inbox(&mut self) -> TurnEvent {
        loop {
            let filled = self.running.inbox_filled.notified();
            let polled = self.running.inbox().poll_or_close();
            match polled {
                Polled::Held(messages) => {
                    self.held.extend(messages);
                    return TurnEvent::InboxHeld;
                }
                Polled::Closed => return TurnEvent::InboxClosed,
                Polled::Pending => filled.await,
            }
        }
    }

    /// The answer, and the messages that keep the turn going.
    pub(super) async fn append_follow_up(&mut self) -> TurnEvent {
        let Some(step) = self.said.take() else { return internal_failure() };
        self.tell(step.untold.map(StreamEvent::Answer));
        let steers = std::mem::take(&mut self.held);
        let mut messages = vec![self.assistant(Kind::Answer, step.blocks, step.sampled)];
        messages.extend(steers.iter().map(|steer| self.steer(steer)));
        let event = self.stored(messages).await;
        if event == TurnEvent::Stored {
            self.tell_steers(&steers);
        } else {
            self.held = steers;
        }
        event
    }

    async fn stored(&mut self, messages: Vec<NewMessage>) -> TurnEvent {
        match self.commit_step(messages).await {
            Ok(()) => {
                self.step += 1;
                self.reply = Reply::default();
                TurnEvent::Stored
            }
            Err(event) => event,
        }
    }

    /// One bounded transaction; the branch grows by what it stored.
    async fn commit_step(&mut self, messages: Vec<NewMessage>) -> Result<(), TurnEvent> {
        let (lease, turn_id) = self.running.owned();
        let parent_id = self.branch.last().expect("BUG: a turn has a question").id;
        let step = StepCommit { turn_id, parent_id, messages, at: self.shared.clock.now() };
        let appending = self.shared.store.append_step(&self.principal, &lease, step);
        let appended = match tokio::time::timeout(COMMIT_LIMIT, appending).await {
            Ok(appended) => appended.map_err(store_failed)?,
            Err(elapsed) => return Err(store_failed(StoreError::Unavailable(Box::new(elapsed)))),
        };
        self.branch.extend(appended);
        Ok(())
    }

    /// The calls of the last message, in order.
    pub(super) fn open_calls(&self) -> Vec<ToolCall> {
        self.branch.last().into_iter().flat_map(|message| message.calls()).cloned().collect()
    }

    /// Runs of the calls whose tool this process has.
    fn runs(&self, calls: &[ToolCall]) -> Vec<ToolRun> {
        let (_, turn_id) = self.running.owned();
        let instance = lock_instance(&self.instance);
        let known = calls.iter().filter(|call| instance.tool(&call.name).is_some());
        known.map(|call| self.run_of(turn_id, call)).collect()
    }

    pub(super) fn run_of(&self, turn_id: colloquy_core::message::TurnId, call: &ToolCall) -> ToolRun {
        ToolRun {
            turn_id,
            step: self.step,
            call_id: call.id.clone(),
            name: call.name.clone(),
            input: call.input.clone(),
            state: ToolRunState::Started,
            result: None,
            is_error: false,
            started_at: self.shared.clock.now(),
            finished_at: None,
        }
    }

    fn tell_steers(&self, steers: &[InboxMessage]) {
        self.tell(
            steers
                .iter()
                .map(|steer| StreamEvent::Steer { text: colloquy_core::message::text_of(&steer.blocks) }),
        );
    }

    fn steer(&self, steer: &InboxMessage) -> NewMessage {
        let message = self.message(Kind::Steer, steer.blocks.clone());
        NewMessage { inbox_ordinal: Some(steer.ordinal), compactable: false, ..message }
    }

    fn assistant(&self, kind: Kind, blocks: Vec<Block>, sampled: Sampled) -> NewMessage {
        NewMessage {
            origin: self.origin(),
            usage: Some(sampled.usage),
            finish_reason: Some(sampled.finish_reason),
            ..self.message(kind, blocks)
        }
    }

    fn message(&self, kind: Kind, blocks: Vec<Block>) -> NewMessage {
        NewMessage::new(self.shared.ids.uid(), self.step, kind, blocks)
    }
}

/// A store that fails ends the turn; one that knows another owner ends it without a write.
pub(super) fn store_failed(error: StoreError) -> TurnEvent {
    match error {
        StoreError::StaleOwner => TurnEvent::LeaseLost,
        StoreError::TurnInProgress { .. }
        | StoreError::StaleParent { .. }
        | StoreError::NoSuchConversation
        | StoreError::NameTaken
        | StoreError::Newer { .. }
        | StoreError::DiskFull
        | StoreError::Unavailable(_)
        | StoreError::Corrupt(_) => {
            tracing::error!(error = &error as &dyn std::error::Error, "failed to commit a step of a turn");
            internal_failure()
        }
    }
}
