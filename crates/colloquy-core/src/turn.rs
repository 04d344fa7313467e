//! One turn, as a value: event in, effect out (design § 3a). The only way a turn moves is
//! [`Turn::handle`]. It decides; the turn loop of the `colloquy` crate does.
//!
//! Counting and compaction join the machine with the issue that builds them.

mod outcome;

pub use outcome::{Failure, FailureCode, Outcome};

use crate::{
    message::{FinishReason, Usage},
    retry::Passing,
};

/// Most attempts at one model call that fails before its first chunk, on a remote model.
pub const TRIES_MAX: u32 = 3;

/// Most corrections of an answer that does not follow its contract, in one turn (reference § 7.6).
pub const CORRECTIONS_MAX: u32 = 2;

/// Where a turn stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Accepted; nothing is durable yet.
    Queued,
    /// The question is durable, the engine is on its way.
    Preparing,
    /// The model is being asked, for the `attempt`-th time (from 1) in this step.
    Sampling {
        /// Counts from 1.
        attempt: u32,
    },
    /// The calls of a step are durable and run.
    CallingTools,
    /// Messages of a finished step are being committed.
    Storing,
    /// There is an answer; the inbox is looked at before the turn ends with it.
    Polling {
        /// The call that gave it.
        sampled: Sampled,
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
    EngineReady {
        /// Whether an answer that is cut may be asked for again with a larger budget.
        can_escalate: bool,
    },
    /// The model call ended by itself.
    Sampled(Sampled),
    /// As [`TurnEvent::Sampled`] with an answer, which does not follow its contract.
    OffContract {
        /// The call.
        sampled: Sampled,
        /// What is wrong with it, by path; not what it says.
        detail: String,
    },
    /// An effect failed.
    Failed {
        /// How.
        failure: Failure,
        /// Whether anything of the answer had arrived before.
        after_first_chunk: bool,
    },
    /// Every call of the step has its result.
    ToolsReturned,
    /// The messages of the step are durable.
    Stored,
    /// The inbox was empty and is closed for good.
    InboxClosed,
    /// The inbox holds messages.
    InboxHeld,
    /// A person, a closed connection or a deletion asked for the end.
    StopAsked,
    /// The store says that somebody else owns the conversation now.
    LeaseLost,
}

/// A model call that ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampled {
    /// What it said.
    pub said: Said,
    /// Whether any text (beyond white space) came, narration beside calls included.
    pub has_text: bool,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// What it cost.
    pub usage: Usage,
}

/// What a model call came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// Nothing, not even to itself.
    Nothing,
    /// Only reasoning.
    Reasoning,
    /// Text that is an answer.
    Answer,
    /// Tool calls, whatever else.
    Calls,
}

/// What is to be done next. Imperative; done by the turn loop, in one place each.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEffect {
    /// Commit (a) has the question; wait for the engine and load it.
    LoadEngine,
    /// Ask the model and stream what it says.
    Sample(SamplePlan),
    /// Commit (b) the calls, then run all of them; what was told of the step is narration.
    CallTools,
    /// Commit (c) the results in call order.
    AppendResults {
        /// With what the inbox holds; not before the closing step.
        deliver_inbox: bool,
    },
    /// Append the answer that does not follow its contract and the message that says why.
    AppendCorrection,
    /// Append the message that asks for the answer that did not come.
    AppendNudge,
    /// Look into the inbox: what is in it keeps the turn going, otherwise it closes for good.
    PollInbox,
    /// Append the answer and what the inbox held.
    AppendFollowUp,
    /// Commit (d): store the answer under this ending, then `done`.
    Close(Ending),
    /// Write nothing; tell local readers that the turn is over. The new owner closes it.
    Abandon,
    /// Nothing: the turn was over already.
    Rest,
}

/// How the model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SamplePlan {
    /// Counts from 1.
    pub attempt: u32,
    /// Why the one before failed: a pause comes first.
    pub after: Option<Passing>,
    /// Takes the place of a call that ended: what that one told is withdrawn.
    pub anew: bool,
    /// With the model's ceiling as the token limit.
    pub escalated: bool,
    /// Without reasoning, which spent the budget before.
    pub thinking_off: bool,
    /// Without the right to call tools: the limit is reached and an answer is due.
    pub closing_step: bool,
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

/// What a turn may do before it must end (design § 9, "Limits on a loop").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Where the model runs.
    pub locality: Locality,
    /// Most steps that run tools.
    pub steps_max: u32,
    /// What the step after the last one is.
    pub at_limit: AtLimit,
    /// Whether a model that says nothing is asked once more in words.
    pub nudges: bool,
}

/// What happens when tools have run as often as they may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtLimit {
    /// One more call, which must answer.
    ClosingStep,
    /// The turn fails.
    Fail,
}

impl Rules {
    /// A turn of a chat in a program: 25 steps and a closing one, one nudge.
    pub fn chat(locality: Locality) -> Self {
        Self { locality, steps_max: 25, at_limit: AtLimit::ClosingStep, nudges: true }
    }

    /// A single objective with a typed answer: 50 steps, then failure.
    pub fn objective(locality: Locality) -> Self {
        Self { locality, steps_max: 50, at_limit: AtLimit::Fail, nudges: true }
    }

    /// A turn of the server: 8 steps and a closing one; a curated line says when nothing came.
    pub fn server(locality: Locality) -> Self {
        Self { locality, steps_max: 8, at_limit: AtLimit::ClosingStep, nudges: false }
    }
}

/// One turn from its question to its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Moves only in [`Turn::handle`].
    state: State,
    rules: Rules,
    can_escalate: bool,
    /// Corrections so far; they are counted over the whole turn.
    n_corrections: u32,
    exchange: Exchange,
}

/// What has been done to answer the message at hand; begins anew with each follow-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Exchange {
    /// Steps that ran tools.
    n_steps: u32,
    escalated: bool,
    nudged: bool,
    thinking_off: bool,
    closing_step: bool,
    /// Why the last try is made again.
    passing: Option<Passing>,
}

type Move = (State, TurnEffect);

impl Turn {
    /// A turn that has been accepted.
    pub fn new(rules: Rules) -> Self {
        Self {
            state: State::Queued,
            rules,
            can_escalate: false,
            n_corrections: 0,
            exchange: Exchange::default(),
        }
    }

    /// Where it stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// Takes what happened and says what to do. The turn is unchanged when the event is refused.
    pub fn handle(&mut self, event: TurnEvent) -> Result<TurnEffect, OutOfOrder> {
        let (next, effect) = match (self.state, event) {
            (State::Over(outcome), TurnEvent::StopAsked | TurnEvent::LeaseLost) => {
                (State::Over(outcome), TurnEffect::Rest)
            }
            (State::Over(_), event) => return Err(self.out_of_order(&event)),
            (_, TurnEvent::LeaseLost) => (State::Over(Outcome::Interrupted), TurnEffect::Abandon),
            (_, TurnEvent::StopAsked) => {
                over(Ending { outcome: Outcome::Stopped, failure: None, sampled: None })
            }
            (State::Queued, TurnEvent::Started) => (State::Preparing, TurnEffect::LoadEngine),
            (State::Preparing, TurnEvent::EngineReady { can_escalate }) => {
                self.can_escalate = can_escalate;
                self.sample(1, false)
            }
            (State::Sampling { .. }, TurnEvent::Sampled(sampled)) => self.sampled(sampled),
            (State::Sampling { .. }, TurnEvent::OffContract { sampled, detail }) => {
                self.off_contract(sampled, detail)
            }
            (
                State::Sampling { attempt },
                TurnEvent::Failed {
                    failure: failure @ (Failure::Transient { .. } | Failure::Busy { .. }),
                    after_first_chunk: false,
                },
            ) if self.rules.locality == Locality::Remote && attempt < TRIES_MAX => {
                self.exchange.passing = failure.passing();
                self.sample(attempt + 1, false)
            }
            (_, TurnEvent::Failed { failure, .. }) => over(failed(failure)),
            (State::CallingTools, TurnEvent::ToolsReturned) => {
                let deliver_inbox = !self.is_at_limit();
                (State::Storing, TurnEffect::AppendResults { deliver_inbox })
            }
            (State::Storing, TurnEvent::Stored) => self.stored(),
            (State::Polling { sampled }, TurnEvent::InboxClosed) => over(answered(sampled)),
            (State::Polling { .. }, TurnEvent::InboxHeld) => {
                self.exchange = Exchange::default();
                (State::Storing, TurnEffect::AppendFollowUp)
            }
            (
                State::Queued
                | State::Preparing
                | State::Sampling { .. }
                | State::CallingTools
                | State::Storing
                | State::Polling { .. },
                event @ (TurnEvent::Started
                | TurnEvent::EngineReady { .. }
                | TurnEvent::Sampled(_)
                | TurnEvent::OffContract { .. }
                | TurnEvent::ToolsReturned
                | TurnEvent::Stored
                | TurnEvent::InboxClosed
                | TurnEvent::InboxHeld),
            ) => return Err(self.out_of_order(&event)),
        };
        self.state = next;
        Ok(effect)
    }

    /// What a call that ended by itself leads to.
    fn sampled(&mut self, sampled: Sampled) -> Move {
        match (sampled.finish_reason, sampled.said) {
            (FinishReason::Refusal, _) => {
                let failure = Failure::ContentRefused { detail: "the provider withheld the answer".into() };
                over(Ending { sampled: Some(sampled), ..failed(failure) })
            }
            (FinishReason::Length, _) if self.can_escalate && !self.exchange.escalated => {
                self.exchange.escalated = true;
                self.sample(1, true)
            }
            // The arguments of a call that was cut cannot be trusted, so no tool runs.
            (FinishReason::Length, _) if sampled.has_text => over(ended(Outcome::Truncated, sampled)),
            (FinishReason::Length, Said::Reasoning) if !self.exchange.nudged => {
                self.exchange.nudged = true;
                self.exchange.thinking_off = true;
                self.sample(1, true)
            }
            (FinishReason::Length, _) => over(ended(Outcome::NoAnswer, sampled)),
            (FinishReason::Stop | FinishReason::ToolCalls, Said::Calls) => self.called(sampled),
            (FinishReason::Stop | FinishReason::ToolCalls, Said::Answer) => {
                (State::Polling { sampled }, TurnEffect::PollInbox)
            }
            (FinishReason::Stop | FinishReason::ToolCalls, Said::Nothing | Said::Reasoning) => {
                if !self.rules.nudges || self.exchange.nudged {
                    return over(ended(Outcome::NoAnswer, sampled));
                }
                self.exchange.nudged = true;
                (State::Storing, TurnEffect::AppendNudge)
            }
        }
    }

    /// An answer that was cut or withheld is not worth a correction.
    fn off_contract(&mut self, sampled: Sampled, detail: String) -> Move {
        match sampled.finish_reason {
            FinishReason::Length | FinishReason::Refusal => self.sampled(sampled),
            FinishReason::Stop | FinishReason::ToolCalls if self.n_corrections < CORRECTIONS_MAX => {
                self.n_corrections += 1;
                (State::Storing, TurnEffect::AppendCorrection)
            }
            FinishReason::Stop | FinishReason::ToolCalls => {
                over(Ending { sampled: Some(sampled), ..failed(Failure::OffContract { detail }) })
            }
        }
    }

    fn called(&mut self, sampled: Sampled) -> Move {
        if self.exchange.closing_step {
            // What it wanted to call is dropped; what it said is the answer, if it said anything.
            return if sampled.has_text {
                (State::Polling { sampled }, TurnEffect::PollInbox)
            } else {
                over(Ending { sampled: Some(sampled), ..failed(self.tool_limit()) })
            };
        }
        self.exchange.n_steps += 1;
        (State::CallingTools, TurnEffect::CallTools)
    }

    /// A step is durable, so the next one may begin.
    fn stored(&mut self) -> Move {
        if self.is_at_limit() {
            match self.rules.at_limit {
                AtLimit::Fail => return over(failed(self.tool_limit())),
                AtLimit::ClosingStep => self.exchange.closing_step = true,
            }
        }
        self.sample(1, false)
    }

    fn sample(&self, attempt: u32, anew: bool) -> Move {
        let Exchange { escalated, thinking_off, closing_step, passing, n_steps: _, nudged: _ } =
            self.exchange;
        let after = passing.filter(|_| attempt > 1);
        let plan = SamplePlan { attempt, after, anew, escalated, thinking_off, closing_step };
        (State::Sampling { attempt }, TurnEffect::Sample(plan))
    }

    fn is_at_limit(&self) -> bool {
        self.exchange.n_steps >= self.rules.steps_max && !self.exchange.closing_step
    }

    fn tool_limit(&self) -> Failure {
        Failure::ToolLimit { n_steps: self.exchange.n_steps }
    }

    fn out_of_order(&self, event: &TurnEvent) -> OutOfOrder {
        OutOfOrder { state: self.state, event: event.name() }
    }
}

impl TurnEvent {
    fn name(&self) -> &'static str {
        match self {
            Self::Started => "Started",
            Self::EngineReady { .. } => "EngineReady",
            Self::Sampled(_) => "Sampled",
            Self::OffContract { .. } => "OffContract",
            Self::Failed { .. } => "Failed",
            Self::ToolsReturned => "ToolsReturned",
            Self::Stored => "Stored",
            Self::InboxClosed => "InboxClosed",
            Self::InboxHeld => "InboxHeld",
            Self::StopAsked => "StopAsked",
            Self::LeaseLost => "LeaseLost",
        }
    }
}

fn over(ending: Ending) -> Move {
    (State::Over(ending.outcome), TurnEffect::Close(ending))
}

fn answered(sampled: Sampled) -> Ending {
    ended(Outcome::Answered, sampled)
}

fn ended(outcome: Outcome, sampled: Sampled) -> Ending {
    Ending { outcome, failure: None, sampled: Some(sampled) }
}

fn failed(failure: Failure) -> Ending {
    Ending { outcome: Outcome::Failed(failure.code()), failure: Some(failure), sampled: None }
}

#[cfg(test)]
mod tests;
