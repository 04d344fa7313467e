//! What a server or the network said instead of an answer, classified once.
//!
//! Nobody above this module looks at a status or a message again. The server's words are passed
//! on, bounded, with the key taken out.

use std::error::Error;

use colloquy_core::{retry::Passing, turn::Failure};
use reqwest::{StatusCode, header::CONTENT_TYPE};
use serde_json::Value;

use crate::overflow;

/// The most bytes of an error answer that are read.
const BODY_BYTES_MAX: usize = 64 * 1024;
/// The most characters of a server's message that are passed on.
const DETAIL_CHARS_MAX: usize = 600;

/// The key, to be taken out of what a server echoes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Secret<'a>(pub(crate) Option<&'a str>);

/// An answer to the request, told apart by its head.
pub(crate) enum Reply {
    /// Events follow.
    Stream(reqwest::Response),
    /// There will be no answer.
    Refused(Refused),
}

/// A refusal and the server's own words for it.
pub(crate) struct Refused {
    pub(crate) status: u16,
    /// What the server said, for [`crate::wire::Wire::learns_from`]; may hold a key it echoes.
    pub(crate) message: String,
    pub(crate) failure: Failure,
}

/// Tells a stream from a refusal, whose body is read.
pub(crate) async fn sort(response: reqwest::Response, secret: Secret<'_>) -> Reply {
    let status = response.status();
    let media_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_document = media_type.is_some_and(|media_type| {
        ["application/json", "text/html"].iter().any(|t| media_type.starts_with(t))
    });
    if status == StatusCode::OK && !is_document {
        return Reply::Stream(response);
    }
    let location = response.headers().get("location").and_then(|value| value.to_str().ok()).map(String::from);
    let body = read_start(response).await;
    let message = message_of(&body);
    let failure = if status.is_redirection() {
        let location = location.unwrap_or_default();
        refused(&format!("the server moved to {location}; give that address as the base URL"), secret)
    } else if status.is_success() {
        of_document(&body, secret)
    } else {
        classify(status.as_u16(), &body, secret)
    };
    Reply::Refused(Refused { status: status.as_u16(), message, failure })
}

/// A request that got no answer at all.
pub(crate) fn of_transport(error: reqwest::Error, secret: Secret<'_>) -> Failure {
    // Servers may be addressed with a password in the URL, so the URL is not repeated.
    let error = error.without_url();
    if error.is_builder() {
        return refused(&format!("the request cannot be sent: {}", chain(&error)), secret);
    }
    transient(&format!("the model's server cannot be reached: {}", chain(&error)), secret)
}

/// A stream that ended before it was whole.
pub(crate) fn closed_early() -> Failure {
    transient("connection closed before the answer ended", Secret(None))
}

/// As [`closed_early`], with what the network said.
pub(crate) fn broken_off(error: &dyn Error, secret: Secret<'_>) -> Failure {
    transient(&format!("connection closed before the answer ended: {}", chain(error)), secret)
}

/// A stream of something else than chunks.
pub(crate) fn unreadable(what: &str) -> Failure {
    refused(&format!("the server sent a stream event that is {what}"), Secret(None))
}

/// Whether an event of a stream reports an error.
pub(crate) fn is_error(event: &Value) -> bool {
    event.get("error").is_some_and(|error| !error.is_null()) || event["object"] == "error"
}

/// An error inside a stream that began with 200.
pub(crate) fn of_event(event: &Value, secret: Secret<'_>) -> Failure {
    let code = &error_object(event)["code"];
    let status = match code {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    // Without a status nothing says that the request was at fault.
    let status = status.and_then(|status| u16::try_from(status).ok()).filter(|status| *status >= 400);
    classify(status.unwrap_or(500), event.to_string().as_bytes(), secret)
}

/// A provider that withheld the content: `words` are its category and its explanation, as far as it
/// gives them.
pub(crate) fn content_refused(words: &str, secret: Secret<'_>) -> Failure {
    Failure::ContentRefused { detail: presentable(words, secret) }
}

/// A refusal by its status and body.
pub(crate) fn classify(status: u16, body: &[u8], secret: Secret<'_>) -> Failure {
    let document: Option<Value> = serde_json::from_slice(body).ok();
    let message = message_of(body);
    if let Some(overflow) = overflow::parse(&message, document.as_ref()) {
        if let (Some(excess_tokens), Some(ratio)) = (overflow.excess_tokens(), overflow.ratio()) {
            tracing::info!(excess_tokens, ratio, "the prompt does not fit the window");
        }
        return overflow.into();
    }
    let words = if message.is_empty() { "no reason given" } else { &message };
    if document.as_ref().is_some_and(is_content_filter) {
        return content_refused(words, secret);
    }
    let detail = format!("the model's server answered {status}: {words}");
    match status {
        // No pause fills an account.
        429 if document.as_ref().is_some_and(is_quota) => refused(
            &format!("{detail} (the account is out of money or quota: this passes only when it is paid)"),
            secret,
        ),
        429 => busy(Passing::RateLimit, &detail, secret),
        // What Anthropic says when it is overloaded.
        529 => busy(Passing::Overload, &detail, secret),
        408 | 409 | 425 | 500..=599 => transient(&detail, secret),
        _ => refused(&detail, secret),
    }
}

/// A whole document where a stream was asked for.
fn of_document(body: &[u8], secret: Secret<'_>) -> Failure {
    match serde_json::from_slice::<Value>(body) {
        Ok(document) if is_error(&document) => of_event(&document, secret),
        Ok(_) => refused("the model's server does not stream: it answered with one JSON document", secret),
        Err(_) => refused("this is a web page and not a model's server; check the base URL", secret),
    }
}

fn is_content_filter(document: &Value) -> bool {
    let error = error_object(document);
    [&error["code"], &error["type"], &error["innererror"]["code"]]
        .iter()
        .any(|code| matches!(code.as_str(), Some("content_filter" | "ResponsibleAIPolicyViolation")))
}

/// Whether the account, and not the moment, is what stands in the way.
fn is_quota(document: &Value) -> bool {
    let error = error_object(document);
    let words = ["insufficient_quota", "billing_hard_limit_reached", "credit_balance_too_low"];
    [&error["code"], &error["type"]]
        .iter()
        .any(|code| code.as_str().is_some_and(|code| words.contains(&code)))
}

/// The object that carries code and message: inside `error`, else the document itself.
fn error_object(document: &Value) -> &Value {
    document.get("error").filter(|error| error.is_object()).unwrap_or(document)
}

/// The server's own words: the usual places of a JSON error, else the text itself.
fn message_of(body: &[u8]) -> String {
    let Ok(document) = serde_json::from_slice::<Value>(body) else {
        // Only for people to read, in an error: what is not text is shown as such.
        return String::from_utf8_lossy(body).trim().to_owned();
    };
    let error = error_object(&document);
    let places = [&error["message"], &document["error"], &document["detail"], &document["message"]];
    places.iter().find_map(|place| place.as_str()).map_or_else(|| document.to_string(), str::to_owned)
}

/// The first [`BODY_BYTES_MAX`] bytes of an error answer, or as many as came.
async fn read_start(mut response: reqwest::Response) -> Vec<u8> {
    let mut body = Vec::new();
    while body.len() < BODY_BYTES_MAX
        && let Ok(Some(bytes)) = response.chunk().await
    {
        body.extend_from_slice(&bytes);
    }
    body.truncate(BODY_BYTES_MAX);
    body
}

fn busy(passing: Passing, detail: &str, secret: Secret<'_>) -> Failure {
    Failure::Busy { passing, detail: presentable(detail, secret) }
}

fn transient(detail: &str, secret: Secret<'_>) -> Failure {
    Failure::Transient { detail: presentable(detail, secret) }
}

fn refused(detail: &str, secret: Secret<'_>) -> Failure {
    Failure::Refused { detail: presentable(detail, secret) }
}

/// Without the key, in one line, and not longer than people read.
fn presentable(text: &str, secret: Secret<'_>) -> String {
    let text = match secret.0 {
        Some(key) if !key.is_empty() => text.replace(key, "[key]"),
        Some(_) | None => text.to_owned(),
    };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(DETAIL_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// An error and its causes, each once.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests;
