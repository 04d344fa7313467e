//! One turn, as a value: event in, effect out (design § 3a). The only way a turn moves is
//! [`Turn::handle`]. It decides; the turn loop of the `colloquy` crate does.
//!
//! Counting, compaction and tools join the machine with the issues that build them; the pairs
//! below are the path of a plain answer, whole.

use crate::message::{FinishReason, Usage};

/// Most attempts at one model call that fails before its first chunk, on a remote model.
pub const TRIES_MAX: u32 = 3;

/// How a turn ended, as it is stored and sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The model finished its answer.
    Answered,
    /// The answer was cut by the token limit or the end of the window.
    Truncated,
    /// The model ended without an answer; a curated line stands in for it.
    NoAnswer,
    /// A person stopped it.
    Stopped,
    /// Its process died, or its lease was lost.
    Interrupted,
    /// It failed; the code says where.
    Failed(FailureCode),
}

/// Where a failed turn failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureCode {
    /// The prompt does not fit the window.
    Overflow,
    /// The engine could not be started, or died.
    Engine,
    /// The model's server answered with an error.
    Model,
    /// The provider refused the content.
    Refusal,
    /// Nothing came for too long.
    Silence,
    /// A fault of ours.
    Internal,
}

impl FailureCode {
    /// All codes.
    pub const ALL: [Self; 6] =
        [Self::Overflow, Self::Engine, Self::Model, Self::Refusal, Self::Silence, Self::Internal];

    /// The code's name on the wire and on disk.
    pub fn name(self) -> &'static str {
        match self {
            Self::Overflow => "overflow",
            Self::Engine => "engine",
            Self::Model => "model",
            Self::Refusal => "refusal",
            Self::Silence => "silence",
            Self::Internal => "internal",
        }
    }
}

impl Outcome {
    /// The outcome's name on the wire and on disk; a failure's code is told beside it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Truncated => "truncated",
            Self::NoAnswer => "no_answer",
            Self::Stopped => "stopped",
            Self::Interrupted => "interrupted",
            Self::Failed(_) => "failed",
        }
    }
}

impl Failure {
    /// Where a turn that failed this way failed.
    pub fn code(&self) -> FailureCode {
        match self {
            Self::Overflow { .. } => FailureCode::Overflow,
            Self::Engine { .. } => FailureCode::Engine,
            Self::Transient { .. } | Self::Refused { .. } => FailureCode::Model,
            Self::ContentRefused { .. } => FailureCode::Refusal,
            Self::Silent { .. } => FailureCode::Silence,
            Self::Internal => FailureCode::Internal,
        }
    }
}

/// What a model call came to, when it did not simply answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The prompt is larger than the window, with the numbers that are known.
    Overflow {
        /// Tokens the request needs.
        prompt_tokens: Option<u32>,
        /// Tokens the window holds.
        window_tokens: Option<u32>,
    },
    /// The child process ended or could not be started; its last lines of output.
    Engine {
        /// What the child said last, or why it did not start.
        detail: String,
    },
    /// The server was unreachable, overloaded or gone; the same call may work in a moment.
    Transient {
        /// What the server or the network said.
        detail: String,
    },
    /// The server refused the request for a reason that will not pass.
    Refused {
        /// What the server said.
        detail: String,
    },
    /// The provider withheld the content.
    ContentRefused {
        /// What the provider said.
        detail: String,
    },
    /// Nothing came for that many seconds.
    Silent {
        /// Seconds waited.
        waited_s: u32,
    },
    /// A fault of ours, already logged.
    Internal,
}

/// Where a turn stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Accepted; nothing is durable yet.
    Queued,
    /// The question is durable, the engine is on its way.
    Preparing,
    /// The model is being asked, for the `attempt`-th time (from 1).
    Sampling {
        /// Counts from 1.
        attempt: u32,
    },
    /// Ended.
    Over(Outcome),
}

/// What happened. Past tense; every failure of an effect comes back as one of these.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEvent {
    /// The turn was admitted and holds its lease.
    Started,
    /// The engine is loaded.
    EngineReady,
    /// The model call ended by itself.
    Sampled(Sampled),
    /// The model call, or the start of its engine, failed.
    Failed {
        /// How.
        failure: Failure,
        /// Whether anything of the answer had arrived before.
        after_first_chunk: bool,
    },
    /// A person, a closed connection or a deletion asked for the end.
    StopAsked,
    /// The store says that somebody else owns the conversation now.
    LeaseLost,
}

/// A model call that ended by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampled {
    /// Whether any answer text (beyond white space) came.
    pub has_text: bool,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// What it cost.
    pub usage: Usage,
}

/// What is to be done next. Imperative; done by the turn loop, in one place each.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEffect {
    /// Commit (a) has the question; wait for the engine and load it.
    LoadEngine,
    /// Ask the model and stream what it says.
    Sample {
        /// Counts from 1; a later one pauses first, since the one before failed for a passing reason.
        attempt: u32,
    },
    /// Commit (d): store the answer under this ending, then `done`.
    Close(Ending),
    /// Write nothing; tell local readers that the turn is over. The new owner closes it.
    Abandon,
    /// Nothing: the turn was over already.
    Rest,
}

impl TurnEffect {
    /// The way out when the turn itself is at fault.
    pub fn give_up() -> Self {
        Self::Close(failed(Failure::Internal))
    }
}

/// How an ended turn is written down and told.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// The outcome.
    pub outcome: Outcome,
    /// The error to tell the reader and to store, for failed turns.
    pub failure: Option<Failure>,
    /// The closing step's usage and finish reason, when the call ended by itself.
    pub sampled: Option<Sampled>,
}

/// An event that cannot happen in the state the turn is in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{event} cannot follow in state {state:?}")]
pub struct OutOfOrder {
    /// Where the turn stood.
    pub state: State,
    /// The name of the event.
    pub event: &'static str,
}

/// Whether a failed model call may be tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locality {
    /// A child process of ours: it is started anew at the next turn instead.
    Local,
    /// Somebody's server.
    Remote,
}

/// One turn from its question to its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Moves only in [`Turn::handle`].
    state: State,
    locality: Locality,
}

impl Turn {
    /// A turn that has been accepted.
    pub fn new(locality: Locality) -> Self {
        Self { state: State::Queued, locality }
    }

    /// Where it stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// Takes what happened and says what to do. The turn is unchanged when the event is refused.
    pub fn handle(&mut self, event: TurnEvent) -> Result<TurnEffect, OutOfOrder> {
        let (next, effect) = match (self.state, event) {
            (State::Queued, TurnEvent::Started) => (State::Preparing, TurnEffect::LoadEngine),
            (State::Preparing, TurnEvent::EngineReady) => {
                (State::Sampling { attempt: 1 }, TurnEffect::Sample { attempt: 1 })
            }
            (State::Sampling { .. }, TurnEvent::Sampled(sampled)) => over(ending_of(sampled)),
            (
                State::Sampling { attempt },
                TurnEvent::Failed { failure: Failure::Transient { .. }, after_first_chunk: false },
            ) if self.locality == Locality::Remote && attempt < TRIES_MAX => {
                (State::Sampling { attempt: attempt + 1 }, TurnEffect::Sample { attempt: attempt + 1 })
            }
            (
                State::Queued | State::Preparing | State::Sampling { .. },
                TurnEvent::Failed { failure, .. },
            ) => over(failed(failure)),
            (State::Queued | State::Preparing | State::Sampling { .. }, TurnEvent::StopAsked) => {
                over(Ending { outcome: Outcome::Stopped, failure: None, sampled: None })
            }
            (State::Queued | State::Preparing | State::Sampling { .. }, TurnEvent::LeaseLost) => {
                (State::Over(Outcome::Interrupted), TurnEffect::Abandon)
            }
            (State::Over(outcome), TurnEvent::StopAsked | TurnEvent::LeaseLost) => {
                (State::Over(outcome), TurnEffect::Rest)
            }
            (
                state @ (State::Preparing | State::Sampling { .. } | State::Over(_)),
                event @ TurnEvent::Started,
            )
            | (
                state @ (State::Queued | State::Sampling { .. } | State::Over(_)),
                event @ TurnEvent::EngineReady,
            )
            | (state @ (State::Queued | State::Preparing | State::Over(_)), event @ TurnEvent::Sampled(_))
            | (state @ State::Over(_), event @ TurnEvent::Failed { .. }) => {
                return Err(OutOfOrder { state, event: event.name() });
            }
        };
        self.state = next;
        Ok(effect)
    }
}

impl TurnEvent {
    fn name(&self) -> &'static str {
        match self {
            Self::Started => "Started",
            Self::EngineReady => "EngineReady",
            Self::Sampled(_) => "Sampled",
            Self::Failed { .. } => "Failed",
            Self::StopAsked => "StopAsked",
            Self::LeaseLost => "LeaseLost",
        }
    }
}

fn over(ending: Ending) -> (State, TurnEffect) {
    (State::Over(ending.outcome), TurnEffect::Close(ending))
}

fn ending_of(sampled: Sampled) -> Ending {
    let outcome = match (sampled.has_text, sampled.finish_reason) {
        (_, FinishReason::Refusal) => {
            let failure = Failure::ContentRefused { detail: "the provider withheld the answer".into() };
            return Ending { sampled: Some(sampled), ..failed(failure) };
        }
        (true, FinishReason::Length) => Outcome::Truncated,
        // No tool is declared on a plain turn, so a call in the stream answers nothing.
        (true, FinishReason::Stop | FinishReason::ToolCalls) => Outcome::Answered,
        (false, FinishReason::Stop | FinishReason::Length | FinishReason::ToolCalls) => Outcome::NoAnswer,
    };
    Ending { outcome, failure: None, sampled: Some(sampled) }
}

fn failed(failure: Failure) -> Ending {
    Ending { outcome: Outcome::Failed(failure.code()), failure: Some(failure), sampled: None }
}

#[cfg(test)]
mod tests;
