//! How a turn ends, and how it fails: the words that are stored and sent.

use crate::retry::Passing;

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
    /// The model went on calling tools past the limit.
    ToolLimit,
    /// A fault of ours.
    Internal,
}

impl FailureCode {
    /// All codes.
    pub const ALL: [Self; 7] = [
        Self::Overflow,
        Self::Engine,
        Self::Model,
        Self::Refusal,
        Self::Silence,
        Self::ToolLimit,
        Self::Internal,
    ];

    /// The code's name on the wire and on disk.
    pub fn name(self) -> &'static str {
        match self {
            Self::Overflow => "overflow",
            Self::Engine => "engine",
            Self::Model => "model",
            Self::Refusal => "refusal",
            Self::Silence => "silence",
            Self::ToolLimit => "tool_limit",
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
    /// Whether, and why, the same call may work in a moment.
    pub fn passing(&self) -> Option<Passing> {
        match self {
            Self::Transient { .. } => Some(Passing::Fault),
            Self::Busy { passing, .. } => Some(*passing),
            Self::Overflow { .. }
            | Self::Engine { .. }
            | Self::Refused { .. }
            | Self::ContentRefused { .. }
            | Self::Silent { .. }
            | Self::OffContract { .. }
            | Self::ToolLimit { .. }
            | Self::Internal => None,
        }
    }

    /// Where a turn that failed this way failed.
    pub fn code(&self) -> FailureCode {
        match self {
            Self::Overflow { .. } => FailureCode::Overflow,
            Self::Engine { .. } => FailureCode::Engine,
            Self::Transient { .. } | Self::Busy { .. } | Self::Refused { .. } | Self::OffContract { .. } => {
                FailureCode::Model
            }
            Self::ContentRefused { .. } => FailureCode::Refusal,
            Self::Silent { .. } => FailureCode::Silence,
            Self::ToolLimit { .. } => FailureCode::ToolLimit,
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
    /// The server said that it has too much to do, or gets too much; the same call may work when it
    /// has had time.
    Busy {
        /// Which of the two, for the length of the pause.
        passing: Passing,
        /// What the server said.
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
    /// The answer does not follow its contract and no correction is left. The answer's own words
    /// are not repeated.
    OffContract {
        /// What is wrong with it, by path.
        detail: String,
    },
    /// The model went on calling tools.
    ToolLimit {
        /// Steps that ran tools.
        n_steps: u32,
    },
    /// A fault of ours, already logged.
    Internal,
}
