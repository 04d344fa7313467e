//! Numbered turn events. A running turn writes them to one log; any number of readers follow it
//! from any number on, each at its own pace.

use std::sync::{Arc, Mutex};

use colloquy_core::{
    block::Block,
    message::{MessageId, Uid, Usage},
    turn::Outcome,
};
use tokio::sync::watch;

/// What a reader of a turn is told. Numbered from 1 by its place in the log.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// A piece of the answer.
    Answer(String),
    /// A piece of the reasoning.
    Thinking(String),
    /// Answer text that was told from that event on is taken back.
    Withdraw {
        /// The number of the first event it covers; reasoning after it stays.
        from_seq: u64,
        /// What it turned out to be.
        to: Withdrawn,
    },
    /// The model asked for a tool; the call is durable and the tool starts.
    ToolCall {
        /// The call.
        id: String,
        /// The tool.
        name: String,
        /// The arguments as the model wrote them.
        input: String,
    },
    /// A tool returned.
    ToolResult {
        /// The call it answers.
        id: String,
        /// The tool.
        name: String,
        /// What the model reads.
        text: String,
        /// Whether it failed.
        is_error: bool,
    },
    /// A message that arrived while the turn ran is delivered. What was told before it is durable.
    Steer {
        /// Its text.
        text: String,
    },
    /// The turn waits for, loads or reads into an engine. Never stored.
    Progress(Progress),
    /// The engine had been unloaded because nobody used it and is loaded again. Never stored.
    Reload,
    /// The turn failed.
    Error(StreamError),
    /// The last event, once, after the commit.
    Done(Done),
}

/// What withdrawn answer text turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withdrawn {
    /// Narration on the way to a tool call: shown with the reasoning.
    Thinking,
    /// A try that is made again: shown no more.
    Nothing,
}

/// How far a turn is before its first word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Other turns are before this one.
    Waiting,
    /// The engine is starting.
    Loading,
    /// The engine reads the prompt.
    Reading {
        /// Tokens read.
        done: u32,
        /// Tokens in all.
        total: u32,
    },
}

/// A failure as it is told and stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamError {
    /// One of the failure codes of design § 3a.
    pub code: String,
    /// The text for people, sentinel included where the page has one.
    pub text: String,
    /// The engine's own last words, if there are any.
    pub raw: Option<String>,
}

/// What `done` tells.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    /// The turn.
    pub turn_uid: Uid,
    /// How it ended.
    pub outcome: Outcome,
    /// The question's message.
    pub question_id: MessageId,
    /// The answer's message; `None` when nothing could be committed.
    pub message_id: Option<MessageId>,
    /// What the last step cost.
    pub usage: Usage,
}

/// The events of one turn in this process: one writer, any number of readers.
#[derive(Debug)]
pub(crate) struct TurnLog {
    state: Mutex<LogState>,
    /// The number of events written; woken on each.
    written: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct LogState {
    events: Vec<StreamEvent>,
    /// How many events, counted from the first, the store is known to have.
    stored: usize,
    /// The number of the first piece of answer text since the step at hand began.
    first_answer: Option<u64>,
    closed: bool,
}

impl TurnLog {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), written: watch::Sender::new(0) })
    }

    /// Appends an event; `done` closes the log. Nothing follows `done`.
    pub(crate) fn push(&self, event: StreamEvent) {
        let n_events = {
            let mut state = self.lock();
            if state.closed {
                return;
            }
            state.closed = matches!(event, StreamEvent::Done(_));
            if matches!(event, StreamEvent::Answer(_)) && state.first_answer.is_none() {
                state.first_answer = Some(state.events.len() as u64 + 1);
            }
            state.events.push(event);
            state.events.len()
        };
        self.written.send_replace(n_events);
    }

    /// A model call begins: what it says may be withdrawn, what was said before it stays.
    pub(crate) fn begin_step(&self) {
        self.lock().first_answer = None;
    }

    /// The number of the first piece of answer text of the step at hand.
    pub(crate) fn first_answer_of_step(&self) -> Option<u64> {
        self.lock().first_answer
    }

    /// Closes the log without `done`: its writer is gone.
    pub(crate) fn abandon(&self) {
        self.lock().closed = true;
        self.written.send_modify(|_| {});
    }

    /// The events the store is not known to have, with the number of the first.
    pub(crate) fn unstored(&self) -> (u64, Vec<StreamEvent>) {
        let state = self.lock();
        (state.stored as u64 + 1, state.events[state.stored..].to_vec())
    }

    /// Notes that the store has every event up to `last_seq`.
    pub(crate) fn mark_stored(&self, last_seq: u64) {
        let mut state = self.lock();
        let n_events = usize::try_from(last_seq).unwrap_or(usize::MAX).min(state.events.len());
        state.stored = state.stored.max(n_events);
    }

    /// How many events there are.
    pub(crate) fn last_seq(&self) -> u64 {
        self.lock().events.len() as u64
    }

    pub(crate) fn reader(self: &Arc<Self>) -> EventReader {
        EventReader { written: self.written.subscribe(), log: Arc::clone(self), next: 0 }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, LogState> {
        self.state.lock().expect("BUG: a writer of a turn log panicked")
    }
}

/// Follows one turn's events from the first one on, at its own pace. Reading is cancel safe.
#[derive(Debug)]
pub struct EventReader {
    log: Arc<TurnLog>,
    written: watch::Receiver<usize>,
    next: usize,
}

impl EventReader {
    /// The next event with its number; `None` after `done`.
    pub async fn next(&mut self) -> Option<(u64, StreamEvent)> {
        loop {
            self.written.borrow_and_update();
            let (event, closed) = {
                let state = self.log.lock();
                (state.events.get(self.next).cloned(), state.closed)
            };
            if let Some(event) = event {
                self.next += 1;
                return Some((self.next as u64, event));
            }
            if closed || self.written.changed().await.is_err() {
                return None;
            }
        }
    }
}

/// The answer and the reasoning in `events` that no committed step holds, consecutive pieces of a
/// kind joined.
pub(crate) fn blocks_of<'a>(events: impl IntoIterator<Item = &'a StreamEvent>) -> Vec<Block> {
    let mut told: Vec<Told> = Vec::new();
    for event in events {
        match event {
            StreamEvent::Answer(text) => match told.last_mut() {
                Some(Told::Answer(last)) => last.push_str(text),
                _ => told.push(Told::Answer(text.clone())),
            },
            StreamEvent::Thinking(text) => match told.last_mut() {
                Some(Told::Thinking(last)) => last.push_str(text),
                _ => told.push(Told::Thinking(text.clone())),
            },
            // It covers all answer text of its step, and a step's text begins after what is durable.
            StreamEvent::Withdraw { to: Withdrawn::Nothing, .. } => {
                told.retain(|piece| matches!(piece, Told::Thinking(_)));
            }
            StreamEvent::Withdraw { to: Withdrawn::Thinking, .. } => {
                for piece in &mut told {
                    if let Told::Answer(text) = piece {
                        *piece = Told::Thinking(std::mem::take(text));
                    }
                }
            }
            StreamEvent::ToolCall { .. } | StreamEvent::Steer { .. } => told.clear(),
            StreamEvent::ToolResult { .. }
            | StreamEvent::Progress(_)
            | StreamEvent::Reload
            | StreamEvent::Error(_)
            | StreamEvent::Done(_) => {}
        }
    }
    told.into_iter()
        .map(|piece| match piece {
            Told::Answer(text) => Block::Text(text),
            Told::Thinking(text) => Block::reasoning(text),
        })
        .collect()
}

enum Told {
    Answer(String),
    Thinking(String),
}

#[cfg(test)]
mod tests;
