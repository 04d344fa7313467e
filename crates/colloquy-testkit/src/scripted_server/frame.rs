//! What happens in an answer, in words that belong to no wire.

use crate::gate::Gate;

/// One thing that happens in an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    /// Opens the answer, before there is anything to say. Wires other than chat completions open
    /// by themselves with what comes first.
    Role,
    /// Progress with the prompt; chat completions only, as llama-server tells it.
    Reading {
        /// Tokens read.
        done: u32,
        /// Tokens in all.
        total: u32,
    },
    /// A piece of the reasoning.
    Reasoning(String),
    /// The proof of the reasoning that came before, which it ends; not on chat completions.
    Signature(String),
    /// Reasoning that only the provider can read, in base64; not on chat completions.
    Redacted(String),
    /// A piece of the answer.
    Text(String),
    /// Begins a tool call. See [`Frame::call`].
    Call {
        /// The number of the call in this answer, from 0.
        index: usize,
        /// Its identifier.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// A piece of the input of a call that has begun. See [`Frame::input`].
    CallInput {
        /// The number of the call.
        index: usize,
        /// The piece, which may end within a string and within an escape.
        piece: String,
    },
    /// Ends the answer: why, in the words of chat completions, and what it cost. `stop`, `length`,
    /// `tool_calls` and `content_filter` are translated; any other word is sent as it is.
    Finish(&'static str, WireUsage),
    /// An error in the wire's own shape, after which a real server says nothing more.
    Error(WireError),
    /// Bytes as they are.
    Raw(Vec<u8>),
    /// Waits until the test opens the gate.
    Pause(Gate),
    /// Breaks the connection off.
    Cut,
    /// Says nothing more and does not end.
    Hang,
}

/// The usage of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WireUsage {
    /// Tokens of the whole prompt.
    pub prompt_tokens: u32,
    /// Tokens of the prompt that were in the cache.
    pub cached_tokens: u32,
    /// Tokens of the prompt that were written to a cache that bills for it; not told on the wires
    /// of OpenAI, which bill none.
    pub written_tokens: u32,
    /// Tokens generated.
    pub completion_tokens: u32,
}

/// An error as a service reports one: each wire says it in its own shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireError {
    /// The HTTP status that goes with it, also where it comes within a stream.
    pub status: u16,
    /// What the service says.
    pub message: String,
}

impl Frame {
    /// Begins the call with the number `index`, from 0.
    pub fn call(index: usize, id: &str, name: &str) -> Self {
        Self::Call { index, id: id.into(), name: name.into() }
    }

    /// A piece of the input of the call with that number. Calls may come piece by piece in turns.
    pub fn input(index: usize, piece: &str) -> Self {
        Self::CallInput { index, piece: piece.into() }
    }

    /// An error within the stream.
    pub fn error(status: u16, message: &str) -> Self {
        Self::Error(WireError { status, message: message.into() })
    }
}

impl WireUsage {
    /// Tokens of the prompt that were in no cache, which some wires count alone.
    pub(super) fn uncached_tokens(self) -> u32 {
        self.prompt_tokens.saturating_sub(self.cached_tokens).saturating_sub(self.written_tokens)
    }
}
