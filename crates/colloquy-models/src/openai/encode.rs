//! A call as the bytes of a chat-completions request.
//!
//! `messages` is the first member and its bytes depend on nothing but the prepared conversation,
//! so request *n* up to the end of its messages is a prefix of request *n + 1* (I3).

use colloquy::ports::ModelCall;
use colloquy_core::message::Role;
use serde::Serialize;

use super::{Endpoint, Flavor};

/// The name under which a server takes the token limit of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LimitField {
    MaxTokens,
    MaxCompletionTokens,
}

/// The members in the order they are sent.
#[derive(Serialize)]
struct Body<'a> {
    messages: Vec<WireMessage<'a>>,
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    temperature: f64,
    top_p: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    presence_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat_last_n: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_prompt: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    return_progress: Option<bool>,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// The body of the request that makes `call` at `endpoint`.
pub(super) fn body(call: &ModelCall, endpoint: &Endpoint, limit_field: LimitField) -> Vec<u8> {
    let sampling = &call.sampling;
    let limit = call.options.max_tokens;
    let is_llama = match endpoint.flavor {
        Flavor::Llama => true,
        Flavor::Unknown => false,
    };
    let body = Body {
        messages: messages(call),
        model: &endpoint.model,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        temperature: sampling.temperature,
        top_p: sampling.top_p,
        max_tokens: limit.filter(|_| limit_field == LimitField::MaxTokens),
        max_completion_tokens: limit.filter(|_| limit_field == LimitField::MaxCompletionTokens),
        presence_penalty: sampling.presence_penalty,
        top_k: sampling.top_k.filter(|_| is_llama),
        min_p: sampling.min_p.filter(|_| is_llama),
        repeat_penalty: is_llama.then_some(sampling.repetition_penalty),
        repeat_last_n: is_llama.then_some(sampling.repetition_context_size),
        cache_prompt: is_llama.then_some(true),
        return_progress: is_llama.then_some(true),
    };
    serde_json::to_vec(&body).expect("BUG: strings and numbers always serialize")
}

fn messages(call: &ModelCall) -> Vec<WireMessage<'_>> {
    // An empty system message is not the same as none: some templates put a default in its place.
    let system = Some(call.prepared.system.as_str()).filter(|text| !text.is_empty());
    let system = system.map(|content| WireMessage { role: "system", content });
    let turns = call.prepared.turns.iter().map(|turn| WireMessage {
        role: match turn.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        },
        content: &turn.text,
    });
    system.into_iter().chain(turns).collect()
}

#[cfg(test)]
mod tests;
