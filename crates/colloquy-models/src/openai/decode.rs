//! The events of a chat-completions stream.
//!
//! The end is given once, at `[DONE]`, because usage may come in a chunk of its own behind the
//! finish reason. Events are read where they lie: what is not used of a chunk is skipped, what is
//! used is copied once, into the piece of the answer.

mod chunk;

use colloquy::ports::ModelChunk;
use colloquy_core::{message::FinishReason, turn::Failure};
use serde_json::Value;

use self::chunk::{CallPiece, Delta, WireChunk};
use crate::{
    error::{self, Secret},
    wire::{self, CallKey, Event, ReadEvents, Reading},
};

/// More of a refusal is not kept; people are told its first sentences.
const REFUSAL_BYTES_MAX: usize = 4_096;

/// Reads one answer.
#[derive(Debug, Default)]
pub(crate) struct ChatReader {
    /// Echoed by some servers in an error, so it is taken out of every message.
    secret: Option<String>,
    /// What the model said instead of an answer.
    refusal: String,
}

impl ReadEvents for ChatReader {
    fn read(&mut self, event: Event<'_>, reading: &mut Reading) -> Result<(), Failure> {
        let data = event.data.trim_ascii();
        if data == "[DONE]" {
            if !reading.has_finished() {
                return Err(error::closed_early());
            }
            reading.complete();
            return Ok(());
        }
        match serde_json::from_str::<WireChunk<'_>>(data) {
            Ok(chunk) if chunk.reports_error() => Err(self.failure(data)),
            Ok(chunk) => self.take(chunk, reading),
            Err(_) => Err(self.failure(data)),
        }
    }
}

impl ChatReader {
    pub(super) fn new(secret: Option<String>) -> Self {
        Self { secret, refusal: String::new() }
    }

    fn secret(&self) -> Secret<'_> {
        Secret(self.secret.as_deref())
    }

    /// An event that is an error or no chunk at all.
    fn failure(&self, data: &str) -> Failure {
        match serde_json::from_str::<Value>(data) {
            Ok(event) if error::is_error(&event) => error::of_event(&event, self.secret()),
            Ok(_) => error::unreadable("not a chat completion chunk"),
            Err(_) => error::unreadable("not JSON"),
        }
    }

    fn take(&mut self, chunk: WireChunk<'_>, reading: &mut Reading) -> Result<(), Failure> {
        if let Some(progress) = chunk.prompt_progress {
            reading.progress(progress.processed, progress.total);
        }
        if let Some(usage) = chunk.usage {
            let reused = usage.prompt_tokens_details.and_then(|details| details.cached_tokens);
            let known = &mut reading.usage;
            known.prompt_tokens = usage.prompt_tokens.or(known.prompt_tokens);
            known.output_tokens = usage.completion_tokens.or(known.output_tokens);
            known.reused_tokens = reused.or(known.reused_tokens);
        }
        if let Some(timings) = chunk.timings {
            reading.usage.reused_tokens = reading.usage.reused_tokens.or(timings.cache_n);
        }
        // Only one answer is asked for; a server that gives more shows the first.
        let choice = chunk.choices.unwrap_or_default().into_iter().find(|choice| choice.index == 0);
        let Some(choice) = choice else { return Ok(()) };
        if let Some(delta) = choice.delta {
            self.take_delta(delta, reading);
        }
        match choice.finish_reason {
            Some(reason) => self.finish(&reason.0, reading),
            None => Ok(()),
        }
    }

    fn take_delta(&mut self, delta: Delta<'_>, reading: &mut Reading) {
        // Some servers send the same reasoning under both names.
        if let Some(reasoning) = delta.reasoning_content.or(delta.reasoning) {
            reading.push(ModelChunk::Reasoning(reasoning.0.into_owned()));
        }
        if let Some(content) = delta.content {
            reading.push(ModelChunk::Text(content.0.into_owned()));
        }
        if let Some(refusal) = delta.refusal.filter(|_| self.refusal.len() < REFUSAL_BYTES_MAX) {
            self.refusal.push_str(&refusal.0);
        }
        for call in delta.tool_calls.unwrap_or_default() {
            take_call(&call, reading);
        }
    }

    fn finish(&self, word: &str, reading: &mut Reading) -> Result<(), Failure> {
        let finish_reason = wire::finish_reason(word);
        match finish_reason {
            FinishReason::Stop | FinishReason::Refusal if !self.refusal.is_empty() => {
                return Err(error::content_refused(&format!("{word}: {}", self.refusal), self.secret()));
            }
            FinishReason::Stop | FinishReason::Length | FinishReason::ToolCalls | FinishReason::Refusal => {
                reading.finish_with(finish_reason);
            }
        }
        Ok(())
    }
}

fn take_call(piece: &CallPiece<'_>, reading: &mut Reading) {
    let id = piece.id.as_ref().map(|id| id.0.as_ref()).filter(|id| !id.is_empty());
    let function = piece.function.as_ref();
    let name = function.and_then(|function| function.name.as_ref()).map(|name| name.0.as_ref());
    let name = name.filter(|name| !name.is_empty());
    let arguments = function.map(|function| function.arguments()).unwrap_or_default();
    let key = match (piece.index, id, name) {
        (Some(index), _, _) => CallKey::Index(index),
        (None, Some(id), _) => CallKey::Id(id.to_owned()),
        (None, None, Some(_)) => CallKey::New,
        (None, None, None) => CallKey::Last,
    };
    reading.call_piece(key, id, name, &arguments);
}

#[cfg(test)]
mod tests;
