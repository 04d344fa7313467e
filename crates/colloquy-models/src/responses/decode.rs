//! The typed events of an answer, read one by one.
//!
//! Text, reasoning and arguments come as deltas; a whole item is read only where its deltas did not
//! come, so nothing is told twice. A reasoning item is kept as the bytes that came. Events of an
//! unknown type are passed over: the API adds new ones.

use std::borrow::Cow;

use colloquy::ports::ModelChunk;
use colloquy_core::{message::FinishReason, turn::Failure};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    error,
    wire::{CallKey, Event, ReadEvents, Reading},
};

/// Reads one answer.
#[derive(Debug)]
pub(crate) struct ResponsesReader {
    /// Echoed by some servers in an error.
    secret: Option<String>,
    /// The items of which a delta has come.
    streamed: Vec<String>,
    /// What the model said instead of an answer.
    refusal: String,
}

/// Any event; what is not its own is `None`.
#[derive(Deserialize)]
struct WireEvent<'a> {
    #[serde(borrow)]
    r#type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    item_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    summary_index: Option<u64>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    call_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    arguments: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: Option<Vec<Part<'a>>>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    refusal: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    output: Option<Vec<&'a RawValue>>,
    usage: Option<WireUsage>,
    #[serde(borrow)]
    incomplete_details: Option<IncompleteDetails<'a>>,
}

#[derive(Deserialize)]
struct IncompleteDetails<'a> {
    #[serde(borrow)]
    reason: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct WireUsage {
    input_tokens: Option<u32>,
    output_tokens: Option<u32>,
    input_tokens_details: Option<InputTokensDetails>,
}

#[derive(Deserialize)]
struct InputTokensDetails {
    cached_tokens: Option<u32>,
}

impl ReadEvents for ResponsesReader {
    fn read(&mut self, event: Event<'_>, reading: &mut Reading) -> Result<(), Failure> {
        // The API ends its stream without it; some servers that imitate it do not.
        if reading.is_over() || event.data.trim() == "[DONE]" {
            return Ok(());
        }
        let unreadable = |_| error::unreadable("not an event of the Responses API");
        let wire: WireEvent<'_> = serde_json::from_str(event.data).map_err(unreadable)?;
        match wire.r#type.as_deref().or(event.name).unwrap_or_default() {
            "response.output_text.delta" => {
                self.mark_streamed(wire.item_id);
                reading.push(ModelChunk::Text(text(wire.delta).map_err(unreadable)?));
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                reading.push(ModelChunk::Reasoning(text(wire.delta).map_err(unreadable)?));
            }
            // A summary has parts; a reader sees paragraphs.
            "response.reasoning_summary_part.added" if wire.summary_index.is_some_and(|index| index > 0) => {
                reading.push(ModelChunk::Reasoning("\n\n".to_owned()));
            }
            "response.refusal.delta" => self.refusal.push_str(&text(wire.delta).map_err(unreadable)?),
            "response.function_call_arguments.delta" => {
                let arguments = text(wire.delta).map_err(unreadable)?;
                let key = wire.item_id.as_deref().map_or(CallKey::Last, |id| CallKey::Id(id.to_owned()));
                self.mark_streamed(wire.item_id);
                reading.call_piece(key, None, None, &arguments);
            }
            "response.output_item.added" => {
                let item = wire.item.map(parsed::<Item<'_>>).transpose().map_err(unreadable)?;
                if let Some(item) = item.filter(|item| item.r#type == "function_call") {
                    begin_call(&item, reading);
                }
            }
            "response.output_item.done" => {
                if let Some(item) = wire.item {
                    self.end_item(item, reading).map_err(unreadable)?;
                }
            }
            "response.completed" | "response.incomplete" => {
                let response =
                    wire.response.map_or_else(|| Ok(None), |raw| parsed::<Response<'_>>(raw).map(Some));
                self.end(response.map_err(unreadable)?, reading)?;
            }
            "response.failed" => return Err(self.failed(wire.response.map_or(event.data, RawValue::get))),
            "error" => return Err(self.failed(event.data)),
            _ => {}
        }
        Ok(())
    }
}

impl ResponsesReader {
    pub(super) fn new(secret: Option<String>) -> Self {
        Self { secret, streamed: Vec::new(), refusal: String::new() }
    }

    fn mark_streamed(&mut self, item_id: Option<Cow<'_, str>>) {
        // The deltas of an item mostly follow each other, so the last one is looked at first.
        if let Some(id) = item_id
            && !self.streamed.iter().rev().any(|known| *known == id)
        {
            self.streamed.push(id.into_owned());
        }
    }

    /// Takes a whole item, as far as its deltas have not told it.
    fn end_item(&mut self, raw: &RawValue, reading: &mut Reading) -> Result<(), serde_json::Error> {
        let item: Item<'_> = parsed(raw)?;
        let is_streamed = item.id.as_ref().is_some_and(|id| self.streamed.iter().any(|known| known == id));
        match item.r#type.as_ref() {
            "reasoning" => reading.push(ModelChunk::RedactedReasoning(raw.get().to_owned())),
            "function_call" => {
                begin_call(&item, reading);
                if let Some(arguments) = item.arguments.as_deref().filter(|_| !is_streamed) {
                    reading.call_piece(key(&item), None, None, arguments);
                }
            }
            "message" => {
                for part in item.content.into_iter().flatten() {
                    match part.r#type.as_ref() {
                        "output_text" if !is_streamed => {
                            reading.push(ModelChunk::Text(part.text.unwrap_or_default().into_owned()));
                        }
                        // The whole refusal takes the place of its deltas.
                        "refusal" => self.refusal = part.refusal.unwrap_or_default().into_owned(),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes the final state of the response.
    fn end(&mut self, response: Option<Response<'_>>, reading: &mut Reading) -> Result<(), Failure> {
        let Response { output, usage, incomplete_details } = response.ok_or_else(no_output)?;
        if let Some(usage) = usage {
            reading.usage.prompt_tokens = usage.input_tokens;
            reading.usage.output_tokens = usage.output_tokens;
            reading.usage.reused_tokens =
                usage.input_tokens_details.and_then(|details| details.cached_tokens);
        }
        if !reading.has_begun() && self.refusal.is_empty() {
            for item in output.iter().flatten() {
                self.end_item(item, reading).map_err(|_| error::unreadable("not an output item"))?;
            }
        }
        if !self.refusal.is_empty() {
            let words = std::mem::take(&mut self.refusal);
            return Err(error::content_refused(&words, self.secret()));
        }
        let reason = incomplete_details.and_then(|details| details.reason);
        match reason.as_deref() {
            None if !reading.has_begun() && output.is_none_or(|output| output.is_empty()) => {
                return Err(no_output());
            }
            None => reading.finish_with(FinishReason::Stop),
            Some("content_filter") => {
                return Err(error::content_refused("content_filter: the answer was cut off", self.secret()));
            }
            // `max_output_tokens`, and whatever else leaves an answer incomplete.
            Some(_) => reading.finish_with(FinishReason::Length),
        }
        reading.complete();
        Ok(())
    }

    /// An error in the stream: inside the response, inside `error`, or the event itself.
    fn failed(&self, document: &str) -> Failure {
        #[derive(Deserialize)]
        struct Failed<'a> {
            #[serde(borrow)]
            error: Option<Coded<'a>>,
            #[serde(borrow)]
            code: Option<&'a RawValue>,
        }
        #[derive(Deserialize)]
        struct Coded<'a> {
            #[serde(borrow)]
            code: Option<&'a RawValue>,
        }
        let failed = serde_json::from_str(document).unwrap_or(Failed { error: None, code: None });
        // The shared tables look for a code inside `error`, where every other API has it.
        let document: Cow<'_, str> = match &failed.error {
            Some(_) => document.into(),
            None => format!(r#"{{"error":{document}}}"#).into(),
        };
        let code = failed.error.and_then(|error| error.code).or(failed.code);
        let code = code.map_or("", RawValue::get).trim_matches('"');
        error::classify(status_of(code), document.as_bytes(), self.secret())
    }

    fn secret(&self) -> error::Secret<'_> {
        error::Secret(self.secret.as_deref())
    }
}

/// The status that a code of the API stands for; the codes that name no fault of the server mean a
/// request that will not be taken another time either.
fn status_of(code: &str) -> u16 {
    match code {
        // Nothing says that the request was at fault.
        "" | "null" | "server_error" | "vector_store_timeout" => 500,
        "rate_limit_exceeded" => 429,
        code => code.parse().ok().filter(|status| *status >= 400).unwrap_or(400),
    }
}

fn begin_call(item: &Item<'_>, reading: &mut Reading) {
    reading.call_piece(key(item), item.call_id.as_deref().or(item.id.as_deref()), item.name.as_deref(), "");
}

/// The deltas of an item name it by its own identifier, which is not that of the call.
fn key(item: &Item<'_>) -> CallKey {
    item.id
        .as_ref()
        .or(item.call_id.as_ref())
        .map_or(CallKey::Last, |id| CallKey::Id(id.clone().into_owned()))
}

fn no_output() -> Failure {
    Failure::Refused { detail: "the model's server ended the answer without any output".to_owned() }
}

fn text(delta: Option<&RawValue>) -> Result<String, serde_json::Error> {
    delta.map_or_else(|| Ok(String::new()), parsed)
}

fn parsed<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Result<T, serde_json::Error> {
    serde_json::from_str(raw.get())
}

#[cfg(test)]
mod tests;
