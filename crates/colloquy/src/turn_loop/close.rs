//! The end of a turn: commit (d), bounded, and what its reader is told of it.

use std::time::Duration;

use colloquy_core::{
    block::{Block, ToolResult},
    closing::{Closing, closing},
    curated,
    message::{FinishReason, Kind, Message, text_of},
    turn::{Ending, Failure, Outcome},
};

use super::{Work, append::Step};
use crate::{
    ports::{Commit, Committed, IdSource, InboxMessage, Lease, NewMessage, Principal, Store, StoreError},
    service::{Accepted, Kept, lock_instance},
    stream::{Done, StreamError, StreamEvent, Withdrawn},
};

/// Longest a commit may take before the turn is given up (server reference § 8).
pub(super) const COMMIT_LIMIT: Duration = Duration::from_secs(10);

/// What ends a branch.
pub(crate) struct ToClose<'a> {
    /// The branch, oldest first.
    pub(crate) committed: &'a [Message],
    /// Results of calls that are open, as far as they are there.
    pub(crate) finished: &'a [ToolResult],
    /// What the inbox gave and no commit holds.
    pub(crate) held: &'a [InboxMessage],
    /// What the reader saw, or what the model said.
    pub(crate) shown: Vec<Block>,
    /// Stands for an answer that is blank.
    pub(crate) line: Option<String>,
}

impl Work {
    /// Commits the ending, if there is one to commit, and says what `done` tells.
    pub(super) async fn close(mut self, ending: Option<Ending>) -> (Option<Kept>, Done) {
        self.flush();
        let question_id = self.question().id;
        let mut done = Done {
            turn_uid: self.running.turn_uid,
            outcome: Outcome::Interrupted,
            question_id,
            message_id: None,
            usage: ending
                .as_ref()
                .and_then(|ending| ending.sampled)
                .map(|sampled| sampled.usage)
                .unwrap_or_default(),
        };
        let Some(ending) = ending else {
            self.tell([StreamEvent::Error(error_of(&Failure::Internal))]);
            return (None, done);
        };
        self.empty_inbox().await;
        let error = ending.failure.as_ref().map(error_of);
        let accepted = self.accepted(&ending);
        let commit = self.commit(&ending, error.clone());
        let (lease, _) = self.running.owned();
        match commit_within_limit(self.shared.store.as_ref(), &self.principal, &lease, commit).await {
            Ok(Committed { messages: answers, version }) => {
                if let Some(error) = error {
                    self.tell([StreamEvent::Error(error)]);
                }
                done.outcome = ending.outcome;
                done.message_id = answers.last().map(|message| message.id);
                if let Some(accepted) = accepted {
                    self.running.accept(accepted);
                }
                self.branch.extend(answers);
                let preparer = std::mem::take(&mut lock_instance(&self.instance).preparer);
                (Some(Kept { messages: self.branch, starred: self.starred, version, preparer }), done)
            }
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "failed to commit a turn");
                self.tell([StreamEvent::Error(error_of(&Failure::Internal))]);
                (None, done)
            }
        }
    }

    /// The question of this turn, which the branch begins its last part with.
    fn question(&self) -> &Message {
        let (_, turn_id) = self.running.owned();
        let question = self
            .branch
            .iter()
            .rev()
            .find(|message| message.turn_id == turn_id && message.kind == Kind::Question);
        question.expect("BUG: a turn has a question")
    }

    /// Nothing more is accepted; what is being accepted is waited for, so that it is not lost.
    async fn empty_inbox(&mut self) {
        loop {
            let filled = self.running.inbox_filled.notified();
            let (held, is_pending) = {
                let mut inbox = self.running.inbox();
                (inbox.close(), inbox.is_pending())
            };
            self.held.extend(held);
            if !is_pending {
                return;
            }
            filled.await;
        }
    }

    /// The answer for whoever asked, when there is one.
    fn accepted(&mut self, ending: &Ending) -> Option<Accepted> {
        if ending.outcome != Outcome::Answered {
            return None;
        }
        let (answer, reasoning) = self.said.as_mut()?.answer.take()?;
        Some(Accepted { answer, reasoning })
    }

    fn commit(&mut self, ending: &Ending, error: Option<StreamError>) -> Commit {
        let line = self.line_of(ending);
        let said = self.said.take();
        let untold = said.as_ref().and_then(|step| step.untold.clone());
        if ending.outcome == Outcome::Answered {
            self.tell(untold.map(StreamEvent::Answer));
        }
        let mut shown = match said {
            Some(Step { blocks, .. }) if ending.sampled.is_some() => blocks,
            Some(_) | None => self.reply.shown(),
        };
        if let Some(Failure::ContentRefused { .. }) = ending.failure {
            // What a provider withheld must not stand in front of the next question.
            self.withdraw(Withdrawn::Nothing);
            shown.clear();
        }
        let finished: Vec<ToolResult> = std::mem::take(&mut self.results).into_iter().flatten().collect();
        let mut messages = closing_messages(
            self.shared.ids.as_ref(),
            ToClose { committed: &self.branch, finished: &finished, held: &self.held, shown, line },
        );
        if let Some(answer) = messages.last_mut() {
            answer.step = self.step;
            answer.origin = self.origin();
            answer.usage = ending.sampled.map(|sampled| sampled.usage);
            answer.finish_reason = ending.sampled.map(|sampled| sampled.finish_reason);
        }
        let (first_seq, tail) = self.running.log.unstored();
        Commit {
            turn_id: self.running.owned().1,
            parent_id: self.branch.last().expect("BUG: a turn has a question").id,
            messages,
            outcome: ending.outcome,
            // The error, if any, and `done` are still to be told.
            last_seq: self.running.log.last_seq() + 1 + u64::from(error.is_some()),
            error,
            tail,
            first_seq,
            at: self.shared.clock.now(),
        }
    }

    /// The line that stands for an answer that never came: the last result that a tool of this turn
    /// gave, else a curated line. An answer that was never begun is told to the reader as well.
    fn line_of(&self, ending: &Ending) -> Option<String> {
        if let Some(failure) = &ending.failure {
            return Some(curated::failure_text(failure));
        }
        if ending.outcome != Outcome::NoAnswer {
            return None;
        }
        let (_, turn_id) = self.running.owned();
        let of_turn = self.branch.iter().rev().take_while(|message| message.turn_id == turn_id);
        let mut results = of_turn.flat_map(|message| message.results().collect::<Vec<_>>().into_iter().rev());
        let reason = ending.sampled.map_or(FinishReason::Stop, |sampled| sampled.finish_reason);
        let line = results
            .find(|result| !result.is_error && !result.text.trim().is_empty())
            .map_or_else(|| curated::no_answer_text(reason).to_owned(), |result| result.text.clone());
        self.tell([StreamEvent::Answer(line.clone())]);
        Some(line)
    }
}

/// The messages that end a committed branch: results for open calls, what the inbox still held,
/// then what the reader saw or, where that is blank, a line. Empty when the branch is closed
/// already.
pub(crate) fn closing_messages(ids: &dyn IdSource, to_close: ToClose<'_>) -> Vec<NewMessage> {
    let ToClose { committed, finished, held, mut shown, line } = to_close;
    let shown_text = text_of(&shown);
    let answered = !shown_text.trim().is_empty();
    let text = if answered { shown_text } else { line.unwrap_or_default() };
    let Some(Closing { results, text }) = closing(committed, finished, &text) else {
        return Vec::new();
    };
    if !answered {
        shown.retain(|block| block.as_text().is_none());
        shown.push(Block::Text(text));
    }
    let step = committed.last().map_or(0, |message| message.step);
    let new = |kind, app_authored, blocks| NewMessage {
        app_authored,
        ..NewMessage::new(ids.uid(), step, kind, blocks)
    };
    let mut messages = Vec::new();
    if !results.is_empty() {
        messages.push(new(Kind::Results, true, results.into_iter().map(Block::ToolResult).collect()));
    }
    messages.extend(held.iter().map(|steer| NewMessage {
        inbox_ordinal: Some(steer.ordinal),
        ..new(Kind::Steer, false, steer.blocks.clone())
    }));
    messages.push(new(if answered { Kind::Answer } else { Kind::Closing }, !answered, shown));
    messages
}

/// One bounded closing commit; past the limit the turn is given up and recovery closes it.
pub(crate) async fn commit_within_limit(
    store: &dyn Store,
    principal: &Principal,
    lease: &Lease,
    commit: Commit,
) -> Result<Committed, StoreError> {
    match tokio::time::timeout(COMMIT_LIMIT, store.commit_turn(principal, lease, commit)).await {
        Ok(result) => result,
        Err(elapsed) => Err(StoreError::Unavailable(Box::new(elapsed))),
    }
}

/// A failure as it is told and stored: our text for people, the engine's own words beside it.
pub(crate) fn error_of(failure: &Failure) -> StreamError {
    let raw = match failure {
        Failure::Engine { detail }
        | Failure::Transient { detail }
        | Failure::Busy { detail, .. }
        | Failure::Refused { detail }
        | Failure::OffContract { detail }
        | Failure::ContentRefused { detail } => Some(detail.clone()),
        Failure::Overflow { .. } | Failure::Silent { .. } | Failure::ToolLimit { .. } | Failure::Internal => {
            None
        }
    };
    StreamError { code: failure.code().name().into(), text: curated::failure_text(failure), raw }
}
