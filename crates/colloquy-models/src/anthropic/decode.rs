//! The events of a Messages stream.
//!
//! Its usage adds up: what was read from a cache and written to one is not in `input_tokens`. An
//! error inside a stream is classified as the status that the API answers with outside of one.
//! Events and blocks of unknown kinds are passed over, since the API adds some over time.

use std::{borrow::Cow, collections::HashMap};

use colloquy::ports::ModelChunk;
use colloquy_core::{message::FinishReason, turn::Failure};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::{
    error,
    wire::{self, CallKey, Event, ReadEvents, Reading},
};

/// Reads one answer.
#[derive(Debug)]
pub(crate) struct MessagesReader {
    /// Taken out of every message that a server may echo it in.
    secret: Option<String>,
    /// The blocks that have begun and not ended, by their index.
    open: HashMap<u64, Open>,
    /// Tokens read anew, which the total is made from.
    input_tokens: Option<u32>,
}

/// What is kept of a block until it ends.
#[derive(Debug)]
enum Open {
    /// The signature, as far as it has come.
    Thinking { signature: String },
    /// The input that the start of the block gave, until a piece of it comes.
    ToolUse { input: Option<String> },
}

/// Every member that any event may have.
#[derive(Deserialize)]
struct StreamEvent<'a> {
    #[serde(borrow, default)]
    r#type: Cow<'a, str>,
    #[serde(default)]
    index: u64,
    message: Option<MessageStart>,
    #[serde(borrow)]
    content_block: Option<BlockStart<'a>>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct MessageStart {
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct WireUsage {
    input_tokens: Option<u32>,
    output_tokens: Option<u32>,
    cache_read_input_tokens: Option<u32>,
    cache_creation_input_tokens: Option<u32>,
}

#[derive(Deserialize)]
struct BlockStart<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Cow<'a, str>,
    #[serde(borrow, default)]
    thinking: Cow<'a, str>,
    #[serde(borrow, default)]
    signature: Cow<'a, str>,
    #[serde(borrow)]
    data: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    id: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

/// A piece of a block, or how the message ended.
#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    text: Cow<'a, str>,
    #[serde(borrow, default)]
    thinking: Cow<'a, str>,
    #[serde(borrow, default)]
    signature: Cow<'a, str>,
    #[serde(borrow, default)]
    partial_json: Cow<'a, str>,
    stop_reason: Option<String>,
    stop_details: Option<StopDetails>,
}

/// Why a provider withheld an answer, as far as it says.
#[derive(Deserialize)]
struct StopDetails {
    category: Option<String>,
    explanation: Option<String>,
}

impl ReadEvents for MessagesReader {
    fn read(&mut self, event: Event<'_>, reading: &mut Reading) -> Result<(), Failure> {
        if event.name == Some("error") {
            return Err(self.failed(event.data));
        }
        let parsed: StreamEvent<'_> = serde_json::from_str(event.data)
            .map_err(|_| error::unreadable("not an event of a Messages stream"))?;
        match parsed.r#type.as_ref() {
            "message_start" => {
                self.read_usage(parsed.message.and_then(|message| message.usage), reading);
            }
            "content_block_start" => {
                if let Some(block) = parsed.content_block {
                    self.begin(parsed.index, block, reading);
                }
            }
            "content_block_delta" => {
                if let Some(delta) = parsed.delta {
                    self.go_on(parsed.index, delta, reading);
                }
            }
            "content_block_stop" => self.end(parsed.index, reading),
            "message_delta" => {
                self.read_usage(parsed.usage, reading);
                if let Some(delta) = parsed.delta {
                    self.finish(delta, reading)?;
                }
            }
            "message_stop" => reading.complete(),
            "error" => return Err(self.failed(event.data)),
            // `ping`, and what the API adds later.
            _ => {}
        }
        Ok(())
    }
}

impl MessagesReader {
    pub(super) fn new(secret: Option<String>) -> Self {
        Self { secret, open: HashMap::new(), input_tokens: None }
    }

    fn begin(&mut self, index: u64, block: BlockStart<'_>, reading: &mut Reading) {
        match block.r#type.as_ref() {
            "text" => reading.push(ModelChunk::Text(block.text.into_owned())),
            "thinking" => {
                reading.push(ModelChunk::Reasoning(block.thinking.into_owned()));
                self.open.insert(index, Open::Thinking { signature: block.signature.into_owned() });
            }
            "redacted_thinking" => {
                if let Some(data) = block.data {
                    reading.push(ModelChunk::RedactedReasoning(data.into_owned()));
                }
            }
            "tool_use" => {
                reading.call_piece(CallKey::Index(index), Some(&block.id), Some(&block.name), "");
                let input = block.input.map_or("{}", RawValue::get).to_owned();
                self.open.insert(index, Open::ToolUse { input: Some(input) });
            }
            kind => tracing::debug!(kind, "a block of an unknown kind was passed over"),
        }
    }

    fn go_on(&mut self, index: u64, delta: Delta<'_>, reading: &mut Reading) {
        let Delta { text, thinking, signature: proof, partial_json, .. } = delta;
        reading.push(ModelChunk::Text(text.into_owned()));
        reading.push(ModelChunk::Reasoning(thinking.into_owned()));
        match self.open.get_mut(&index) {
            Some(Open::Thinking { signature }) => signature.push_str(&proof),
            Some(Open::ToolUse { input }) if !partial_json.is_empty() => {
                *input = None;
                reading.call_piece(CallKey::Index(index), None, None, &partial_json);
            }
            Some(Open::ToolUse { .. }) | None => {}
        }
    }

    fn end(&mut self, index: u64, reading: &mut Reading) {
        match self.open.remove(&index) {
            Some(Open::Thinking { signature }) if !signature.is_empty() => {
                reading.push(ModelChunk::ReasoningSignature(signature));
            }
            // No piece of it came, so the start of the block said all: `{}`, for a tool without input.
            Some(Open::ToolUse { input: Some(input) }) => {
                reading.call_piece(CallKey::Index(index), None, None, &input);
            }
            Some(Open::Thinking { .. } | Open::ToolUse { input: None }) | None => {}
        }
    }

    fn finish(&self, delta: Delta<'_>, reading: &mut Reading) -> Result<(), Failure> {
        let Some(stop_reason) = delta.stop_reason else { return Ok(()) };
        let reason = match stop_reason.as_str() {
            // The wire's own word, beside those that all wires share.
            "model_context_window_exceeded" => FinishReason::Length,
            word => wire::finish_reason(word),
        };
        match reason {
            FinishReason::Refusal => Err(self.refused(&stop_reason, delta.stop_details)),
            FinishReason::Stop | FinishReason::Length | FinishReason::ToolCalls => {
                reading.finish_with(reason);
                Ok(())
            }
        }
    }

    fn refused(&self, stop_reason: &str, details: Option<StopDetails>) -> Failure {
        let (category, explanation) =
            details.map_or((None, None), |details| (details.category, details.explanation));
        let category = category.unwrap_or_else(|| stop_reason.to_owned());
        let explanation = explanation.unwrap_or_else(|| "the answer was withheld".to_owned());
        error::content_refused(&format!("{category}: {explanation}"), self.secret())
    }

    /// Counts only grow over a stream, and a server that does not know one yet reports zero.
    fn read_usage(&mut self, usage: Option<WireUsage>, reading: &mut Reading) {
        let Some(usage) = usage else { return };
        let total = &mut reading.usage;
        self.input_tokens = self.input_tokens.max(usage.input_tokens);
        total.output_tokens = total.output_tokens.max(usage.output_tokens);
        total.reused_tokens = total.reused_tokens.max(usage.cache_read_input_tokens);
        total.cache_write_tokens = total.cache_write_tokens.max(usage.cache_creation_input_tokens);
        let cached = [total.reused_tokens, total.cache_write_tokens].into_iter().flatten();
        total.prompt_tokens = self.input_tokens.map(|input| cached.fold(input, u32::saturating_add));
    }

    fn failed(&self, data: &str) -> Failure {
        let kind =
            serde_json::from_str(data).map_or(Value::Null, |event: Value| event["error"]["type"].clone());
        let status = match kind.as_str().unwrap_or_default() {
            "invalid_request_error" => 400,
            "authentication_error" => 401,
            "billing_error" => 402,
            "permission_error" => 403,
            "not_found_error" => 404,
            "request_too_large" => 413,
            "rate_limit_error" => 429,
            "timeout_error" => 504,
            "overloaded_error" => 529,
            // `api_error`; and of an error that is not known nothing says that the request was at
            // fault.
            _ => 500,
        };
        error::classify(status, data.as_bytes(), self.secret())
    }

    fn secret(&self) -> error::Secret<'_> {
        error::Secret(self.secret.as_deref())
    }
}

#[cfg(test)]
mod tests;
