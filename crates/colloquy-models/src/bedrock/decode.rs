//! The events of a Converse stream.
//!
//! Usage comes behind the stop reason, in `metadata`, and its parts add up: what was read from a
//! cache and written to one is not in `inputTokens`. An exception ends the answer and is classified
//! as the status that the service answers with outside of a stream.

use std::borrow::Cow;

use colloquy::ports::ModelChunk;
use colloquy_core::{message::FinishReason, turn::Failure};
use serde::Deserialize;

use crate::{
    error,
    wire::{self, Event, ReadEvents, Reading},
};

/// Reads one answer.
#[derive(Debug)]
pub(crate) struct ConverseReader {
    /// Taken out of every message that a server may echo it in.
    secret: Option<String>,
    has_usage: bool,
}

#[derive(Deserialize)]
struct ContentBlockDelta<'a> {
    #[serde(borrow)]
    delta: Delta<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Delta<'a> {
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    reasoning_content: Option<ReasoningDelta<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReasoningDelta<'a> {
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    signature: Option<Cow<'a, str>>,
    #[serde(borrow)]
    redacted_content: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MessageStop {
    stop_reason: String,
}

#[derive(Deserialize)]
struct Metadata {
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireUsage {
    input_tokens: Option<u32>,
    output_tokens: Option<u32>,
    cache_read_input_tokens: Option<u32>,
    cache_write_input_tokens: Option<u32>,
}

impl ReadEvents for ConverseReader {
    fn read(&mut self, event: Event<'_>, reading: &mut Reading) -> Result<(), Failure> {
        if reading.is_over() {
            return Ok(());
        }
        match event.name.unwrap_or_default() {
            "contentBlockDelta" => {
                let ContentBlockDelta { delta } = parsed(event.data)?;
                read_delta(delta, reading);
            }
            "messageStop" => {
                let MessageStop { stop_reason } = parsed(event.data)?;
                reading.finish_with(self.finish_reason(&stop_reason)?);
                if self.has_usage {
                    reading.complete();
                }
            }
            "metadata" => {
                let Metadata { usage } = parsed(event.data)?;
                self.has_usage = true;
                read_usage(usage, reading);
                if reading.has_finished() {
                    reading.complete();
                }
            }
            name if name == "error" || name.ends_with("Exception") => {
                return Err(self.failed(name, event.data));
            }
            // `messageStart`, the bounds of blocks, and what the service adds later.
            _ => {}
        }
        Ok(())
    }
}

impl ConverseReader {
    pub(super) fn new(secret: Option<String>) -> Self {
        Self { secret, has_usage: false }
    }

    fn finish_reason(&self, stop_reason: &str) -> Result<FinishReason, Failure> {
        // The wire's own word, beside those that all wires share.
        if stop_reason == "model_context_window_exceeded" {
            return Ok(FinishReason::Length);
        }
        match wire::finish_reason(stop_reason) {
            FinishReason::Refusal => {
                let words = format!("{stop_reason}: the answer was withheld");
                Err(error::content_refused(&words, self.secret()))
            }
            reason @ (FinishReason::Stop | FinishReason::Length | FinishReason::ToolCalls) => Ok(reason),
        }
    }

    fn failed(&self, name: &str, data: &str) -> Failure {
        let status = match name {
            "throttlingException" => 429,
            "serviceUnavailableException" => 503,
            "modelTimeoutException" => 408,
            // The service says of the second that the request is to be tried again. Of an error that
            // it has not declared nothing says that the request was at fault.
            "internalServerException" | "modelStreamErrorException" | "error" => 500,
            _ => 400,
        };
        error::classify(status, data.as_bytes(), self.secret())
    }

    fn secret(&self) -> error::Secret<'_> {
        error::Secret(self.secret.as_deref())
    }
}

fn read_delta(delta: Delta<'_>, reading: &mut Reading) {
    let Delta { text, reasoning_content } = delta;
    reading.push(ModelChunk::Text(text.unwrap_or_default().into_owned()));
    let Some(ReasoningDelta { text, signature, redacted_content }) = reasoning_content else { return };
    reading.push(ModelChunk::Reasoning(text.unwrap_or_default().into_owned()));
    if let Some(signature) = signature {
        reading.push(ModelChunk::ReasoningSignature(signature.into_owned()));
    }
    if let Some(data) = redacted_content {
        reading.push(ModelChunk::RedactedReasoning(data.into_owned()));
    }
}

fn read_usage(usage: Option<WireUsage>, reading: &mut Reading) {
    let Some(usage) = usage else { return };
    let WireUsage { input_tokens, output_tokens, cache_read_input_tokens, cache_write_input_tokens } = usage;
    let cached = [cache_read_input_tokens, cache_write_input_tokens].into_iter().flatten();
    reading.usage.prompt_tokens = input_tokens.map(|input| cached.fold(input, u32::saturating_add));
    reading.usage.reused_tokens = cache_read_input_tokens;
    reading.usage.cache_write_tokens = cache_write_input_tokens;
    reading.usage.output_tokens = output_tokens;
}

fn parsed<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, Failure> {
    serde_json::from_str(data).map_err(|_| error::unreadable("not an event of a Converse stream"))
}

#[cfg(test)]
mod tests;
