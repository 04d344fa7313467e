//! Chunks of an answer out of the bytes of its stream. Pure: no time and no IO.
//!
//! The end is given once, when the server says `[DONE]` or closes the stream after a finish
//! reason, because usage may come in a chunk of its own behind it. Tool calls are not offered to
//! the model, so their deltas only count as a sign of life.

use std::collections::VecDeque;

use colloquy::ports::ModelChunk;
use colloquy_core::{
    message::{FinishReason, Usage},
    turn::Failure,
};
use serde::Deserialize;
use serde_json::Value;

use super::{
    error::{self, Secret},
    sse::{SseDecoder, SseError},
};

/// Turns the bytes of one answer into chunks.
#[derive(Debug, Default)]
pub(super) struct AnswerDecoder {
    sse: SseDecoder,
    state: State,
    /// Echoed by some servers in an error, so it is taken out of every message.
    secret: Option<String>,
}

/// What of the answer has been read.
#[derive(Debug, Default)]
struct State {
    chunks: VecDeque<ModelChunk>,
    finish_reason: Option<FinishReason>,
    usage: Usage,
    has_begun: bool,
    is_over: bool,
    n_events: u64,
}

impl AnswerDecoder {
    pub(super) fn new(secret: Option<String>) -> Self {
        Self { secret, ..Self::default() }
    }

    /// Takes bytes. Chunks that were read before a failure can still be popped.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let Self { sse, state, secret } = self;
        sse.push(bytes, |data| state.read(data, Secret(secret.as_deref())))
    }

    /// The stream has ended: by itself, or broken off with a reason.
    pub(super) fn end(&mut self, broken: Option<Failure>) -> Result<(), Failure> {
        if self.state.is_over {
            return Ok(());
        }
        // After a finish reason only usage was still to come; the answer itself is whole.
        if self.state.finish_reason.is_some() {
            self.state.finish();
            return Ok(());
        }
        Err(broken.unwrap_or_else(error::closed_early))
    }

    pub(super) fn pop(&mut self) -> Option<ModelChunk> {
        self.state.chunks.pop_front()
    }

    /// Whether anything of the answer itself has come; reading a prompt is not that.
    pub(super) fn has_begun(&self) -> bool {
        self.state.has_begun
    }

    /// Whether the finish reason is known and at most usage is still to come.
    pub(super) fn has_finished(&self) -> bool {
        self.state.finish_reason.is_some()
    }

    /// Whether the end has been read.
    pub(super) fn is_over(&self) -> bool {
        self.state.is_over
    }

    /// Grows with every event; comments that a proxy sends to keep a connection open do not count.
    pub(super) fn n_events(&self) -> u64 {
        self.state.n_events
    }
}

impl State {
    fn read(&mut self, data: &str, secret: Secret<'_>) -> Result<(), Failure> {
        if self.is_over {
            return Ok(());
        }
        self.n_events += 1;
        if data.trim() == "[DONE]" {
            if self.finish_reason.is_none() {
                return Err(error::closed_early());
            }
            self.finish();
            return Ok(());
        }
        let event: Value = serde_json::from_str(data).map_err(|_| error::unreadable("not JSON"))?;
        if error::is_error(&event) {
            return Err(error::of_event(&event, secret));
        }
        let chunk =
            WireChunk::deserialize(event).map_err(|_| error::unreadable("not a chat completion chunk"))?;
        self.take(chunk);
        Ok(())
    }

    fn take(&mut self, chunk: WireChunk) {
        if let Some(progress) = chunk.prompt_progress {
            self.chunks.push_back(ModelChunk::Reading { done: progress.processed, total: progress.total });
        }
        // Only one answer is asked for; a server that gives more shows the first.
        let choice = chunk.choices.unwrap_or_default().into_iter().find(|choice| choice.index == 0);
        if let Some(choice) = choice {
            let finish_reason = choice.finish_reason.as_deref().map(finish_reason);
            self.take_delta(choice.delta.unwrap_or_default());
            self.finish_reason = finish_reason.or(self.finish_reason);
        }
        if let Some(usage) = chunk.usage {
            let details = usage.prompt_tokens_details.and_then(|details| details.cached_tokens);
            self.usage.prompt_tokens = usage.prompt_tokens.or(self.usage.prompt_tokens);
            self.usage.output_tokens = usage.completion_tokens.or(self.usage.output_tokens);
            self.usage.reused_tokens = details.or(self.usage.reused_tokens);
        }
        if let Some(timings) = chunk.timings {
            self.usage.reused_tokens = self.usage.reused_tokens.or(timings.cache_n);
        }
    }

    fn take_delta(&mut self, delta: Delta) {
        // Some servers send the same reasoning under both names.
        let reasoning = delta.reasoning_content.filter(|value| !value.is_null()).or(delta.reasoning);
        let reasoning = reasoning.map(text_of).unwrap_or_default();
        if !reasoning.is_empty() {
            self.chunks.push_back(ModelChunk::Reasoning(reasoning));
            self.has_begun = true;
        }
        let text = delta.content.map(text_of).unwrap_or_default();
        if !text.is_empty() {
            self.chunks.push_back(ModelChunk::Text(text));
            self.has_begun = true;
        }
        self.has_begun |= delta.tool_calls.is_some_and(|calls| !calls.is_null());
    }

    fn finish(&mut self) {
        let finish_reason = self.finish_reason.unwrap_or(FinishReason::Stop);
        self.chunks.push_back(ModelChunk::End { finish_reason, usage: self.usage });
        self.is_over = true;
    }
}

impl From<SseError> for Failure {
    fn from(error: SseError) -> Self {
        Self::Refused { detail: error.to_string() }
    }
}

/// Plain text, or the text parts of a list of parts.
fn text_of(content: Value) -> String {
    match content {
        Value::String(text) => text,
        Value::Array(parts) => parts
            .iter()
            .filter(|part| part["type"] == "text")
            .filter_map(|part| part["text"].as_str())
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

fn finish_reason(word: &str) -> FinishReason {
    match word {
        "length" => FinishReason::Length,
        "tool_calls" | "function_call" => FinishReason::ToolCalls,
        "content_filter" => FinishReason::Refusal,
        // `stop`, and what servers invent: the answer ended and nothing says that it is not whole.
        _ => FinishReason::Stop,
    }
}

#[derive(Deserialize)]
struct WireChunk {
    choices: Option<Vec<Choice>>,
    usage: Option<WireUsage>,
    timings: Option<Timings>,
    prompt_progress: Option<PromptProgress>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: u32,
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize, Default)]
struct Delta {
    content: Option<Value>,
    reasoning_content: Option<Value>,
    reasoning: Option<Value>,
    tool_calls: Option<Value>,
}

#[derive(Deserialize)]
struct WireUsage {
    prompt_tokens: Option<u32>,
    completion_tokens: Option<u32>,
    prompt_tokens_details: Option<PromptTokensDetails>,
}

#[derive(Deserialize)]
struct PromptTokensDetails {
    cached_tokens: Option<u32>,
}

#[derive(Deserialize)]
struct Timings {
    cache_n: Option<u32>,
}

#[derive(Deserialize)]
struct PromptProgress {
    total: u32,
    processed: u32,
}

#[cfg(test)]
mod tests;
