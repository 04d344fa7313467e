//! What one provider's wire is made of: a pure encoding of a call as a request, and a pure reading
//! of the events of its answer. Time, connections and silence are [`crate::http`]'s.
//!
//! A dialect implements [`Wire`] and knows nothing of conversations; [`Reading`] holds what every
//! wire has in common, so that a finish reason, usage in any place and calls in pieces are treated
//! alike everywhere.

use std::{collections::VecDeque, sync::Arc};

use colloquy::ports::{ModelCall, ModelChunk};
use colloquy_core::{
    block::ToolCall,
    message::{FinishReason, Usage},
    seat::ModelSpec,
    turn::Failure,
};

/// One provider's wire to one model.
pub(crate) trait Wire: Send + Sync + 'static {
    /// Reads the answer to one call.
    type Reader: ReadEvents;

    /// The wire's name, the same in every stored origin, and the model's name on it.
    fn name(&self) -> (&'static str, &str);

    /// What the model can do.
    fn spec(&self) -> &Arc<ModelSpec>;

    /// How the body of an answer is cut into events.
    fn framing(&self) -> Framing;

    /// The request that makes `call`.
    fn request(&self, call: &ModelCall) -> Result<WireRequest, Failure>;

    /// Whether a refusal is mended by asking the same call again, which [`Self::request`] then puts
    /// differently; asked at most once a call.
    fn learns_from(&self, _status: u16, _message: &str, _call: &ModelCall) -> bool {
        false
    }

    /// The call was refused again: what [`Self::learns_from`] took from its first refusal is to be
    /// forgotten.
    fn unlearns(&self) {}

    /// Reads the answer to `call`.
    fn reader(&self, call: &ModelCall) -> Self::Reader;

    /// What must not stand in a message or a log, because a server may echo it.
    fn secret(&self) -> Option<&str>;
}

/// A request, ready to be sent by `POST`.
pub(crate) struct WireRequest {
    /// The whole address.
    pub(crate) url: String,
    /// Headers beyond content type and accept; values may be secret.
    pub(crate) headers: Vec<(&'static str, String)>,
    /// JSON.
    pub(crate) body: Vec<u8>,
}

/// How bytes are cut into events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    Sse,
    /// The binary frames of AWS (`application/vnd.amazon.eventstream`).
    AwsEventStream,
}

/// One event of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event<'a> {
    /// Its name: the `event` field, or the `:event-type` or `:exception-type` header.
    pub(crate) name: Option<&'a str>,
    /// Its data.
    pub(crate) data: &'a str,
}

/// Reads the events of one answer.
pub(crate) trait ReadEvents: Send + 'static {
    /// Takes an event. An error ends the answer; what was read before it is still given.
    fn read(&mut self, event: Event<'_>, reading: &mut Reading) -> Result<(), Failure>;
}

/// Why an answer ended, by the word of any wire (reference § 15).
pub(crate) fn finish_reason(word: &str) -> FinishReason {
    match word {
        "length" | "max_tokens" | "max_token" | "model_length" => FinishReason::Length,
        "tool_calls" | "tool_use" | "function_call" => FinishReason::ToolCalls,
        "content_filter" | "content_filtered" | "guardrail_intervened" | "refusal" => FinishReason::Refusal,
        // `stop`, and what servers invent: the answer ended and nothing says that it is not whole.
        _ => FinishReason::Stop,
    }
}

/// The most calls of one answer, and the most bytes of all their arguments.
pub(crate) const CALLS_MAX: usize = 256;
pub(crate) const CALL_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What of an answer has been read.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    chunks: VecDeque<ModelChunk>,
    calls: Vec<PartialCall>,
    /// Bytes of all arguments.
    n_call_bytes: usize,
    finish_reason: Option<FinishReason>,
    pub(crate) usage: Usage,
    /// The token limit that was sent, for a server that does not say that it was reached.
    limit: Option<u32>,
    has_begun: bool,
    is_over: bool,
}

/// A call whose pieces are being joined.
#[derive(Debug)]
struct PartialCall {
    key: CallKey,
    call: ToolCall,
}

/// What tells the calls of one answer apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallKey {
    /// The position that the wire gives.
    Index(u64),
    /// Its identifier, on wires that give no position.
    Id(String),
    /// The call that was begun last, on wires that give neither.
    Last,
    /// None before it: it begins a call, on wires that give neither.
    New,
}

impl PartialCall {
    /// Whether a piece with that identifier and name begins another call. Some servers give the same
    /// position to all calls of an answer; others mint an identifier anew for every piece, and only
    /// a name that comes again with another identifier tells the one from the other.
    fn is_before(&self, id: Option<&str>, name: Option<&str>) -> bool {
        let is_other_id =
            id.is_some_and(|id| !id.is_empty() && !self.call.id.is_empty() && id != self.call.id);
        is_other_id && !self.call.name.is_empty() && name.is_some_and(|name| !name.is_empty())
    }
}

impl Reading {
    /// An answer to a call with that token limit.
    pub(crate) fn new(limit: Option<u32>) -> Self {
        Self { limit, ..Self::default() }
    }

    /// The prompt is being read.
    pub(crate) fn progress(&mut self, done: u32, total: u32) {
        self.chunks.push_back(ModelChunk::Reading { done, total });
    }

    /// A piece of the answer itself; empty pieces are dropped.
    pub(crate) fn push(&mut self, chunk: ModelChunk) {
        let is_empty = match &chunk {
            ModelChunk::Text(text) | ModelChunk::Reasoning(text) => text.is_empty(),
            ModelChunk::Reading { .. }
            | ModelChunk::ReasoningSignature(_)
            | ModelChunk::RedactedReasoning(_)
            | ModelChunk::ToolCall(_)
            | ModelChunk::End { .. } => false,
        };
        if !is_empty {
            self.has_begun = true;
            self.chunks.push_back(chunk);
        }
    }

    /// A piece of a call. Identifier and name may come in any piece; arguments are joined as they
    /// come, whatever bytes they were cut at.
    pub(crate) fn call_piece(&mut self, key: CallKey, id: Option<&str>, name: Option<&str>, input: &str) {
        self.has_begun = true;
        let at = match &key {
            CallKey::New => None,
            CallKey::Last => self.calls.len().checked_sub(1),
            CallKey::Index(_) | CallKey::Id(_) => {
                let at = self.calls.iter().rposition(|partial| partial.key == key);
                at.filter(|at| !self.calls[*at].is_before(id, name))
            }
        };
        let at = at.unwrap_or_else(|| {
            let call = ToolCall { id: String::new(), name: String::new(), input: String::new() };
            self.calls.push(PartialCall { key, call });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at].call;
        if let Some(id) = id.filter(|_| call.id.is_empty()) {
            call.id.push_str(id);
        }
        if let Some(name) = name.filter(|_| call.name.is_empty()) {
            call.name.push_str(name);
        }
        call.input.push_str(input);
        self.n_call_bytes += input.len();
    }

    /// The server said why it ended; usage may still come. The first reason stays.
    pub(crate) fn finish_with(&mut self, reason: FinishReason) {
        self.finish_reason.get_or_insert(reason);
    }

    /// The server said that nothing follows: the calls and the end are given, once.
    pub(crate) fn complete(&mut self) {
        if self.is_over {
            return;
        }
        self.is_over = true;
        let calls = std::mem::take(&mut self.calls);
        let has_calls = !calls.is_empty();
        self.chunks.extend(calls.into_iter().map(|partial| ModelChunk::ToolCall(partial.call)));
        let reason = self.finish_reason.unwrap_or(FinishReason::Stop);
        let spent = self
            .usage
            .output_tokens
            .zip(self.limit)
            .is_some_and(|(output, limit)| limit > 0 && output >= limit);
        let finish_reason = match reason {
            FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Length if spent => {
                FinishReason::Length
            }
            // Some servers say `stop` where the answer was a call.
            FinishReason::Stop if has_calls => FinishReason::ToolCalls,
            FinishReason::Stop | FinishReason::Length | FinishReason::ToolCalls | FinishReason::Refusal => {
                reason
            }
        };
        self.chunks.push_back(ModelChunk::End { finish_reason, usage: self.usage });
    }

    /// The next piece that is ready.
    pub(crate) fn pop(&mut self) -> Option<ModelChunk> {
        self.chunks.pop_front()
    }

    /// Whether the calls, which are held until the end, are more than is held.
    pub(crate) fn is_too_large(&self) -> bool {
        self.calls.len() > CALLS_MAX || self.n_call_bytes > CALL_BYTES_MAX
    }

    /// Whether anything of the answer itself has come; reading a prompt is not that.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Whether the reason of the end is known and at most usage is still to come.
    pub(crate) fn has_finished(&self) -> bool {
        self.finish_reason.is_some()
    }

    /// Whether the end has been read.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }
}

#[cfg(test)]
mod tests;
