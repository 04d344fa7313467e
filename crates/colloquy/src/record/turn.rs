//! What a turn keeps besides its messages: the request, the outcome, the error.

use colloquy_core::turn::{FailureCode, Outcome};
use serde::{Deserialize, Serialize};

use super::{RecordError, VERSION, read, write};
use crate::{Ask, stream::StreamError};

const REQUEST: &str = "the request of a turn";
const OUTCOME: &str = "the outcome of a turn";
const ERROR: &str = "the error of a turn";

/// What a turn was asked with, beyond the question itself, which is a message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TurnRequest {
    /// Overrides the conversation's for this turn.
    pub temperature: Option<f64>,
    /// Overrides the conversation's for this turn.
    pub top_p: Option<f64>,
    /// Overrides the conversation's for this turn, also when empty.
    pub custom_prompt: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct RequestForm {
    v: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    custom_prompt: Option<String>,
}

/// The stored form of a turn's request; `None` when nobody asked but the program.
pub fn encode_request(ask: Option<&Ask>) -> String {
    write(&RequestForm {
        v: VERSION,
        temperature: ask.and_then(|ask| ask.temperature),
        top_p: ask.and_then(|ask| ask.top_p),
        custom_prompt: ask.and_then(|ask| ask.custom_prompt.clone()),
    })
}

/// The request that was stored.
pub fn decode_request(json: &str) -> Result<TurnRequest, RecordError> {
    let RequestForm { v: _, temperature, top_p, custom_prompt } = read(REQUEST, json)?;
    Ok(TurnRequest { temperature, top_p, custom_prompt })
}

/// The stored form of an outcome: a word, with the code of a failure after a slash.
pub fn encode_outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Answered => "answered",
        Outcome::Truncated => "truncated",
        Outcome::NoAnswer => "no_answer",
        Outcome::Stopped => "stopped",
        Outcome::Interrupted => "interrupted",
        Outcome::Failed(FailureCode::Overflow) => "failed/overflow",
        Outcome::Failed(FailureCode::Engine) => "failed/engine",
        Outcome::Failed(FailureCode::Model) => "failed/model",
        Outcome::Failed(FailureCode::Refusal) => "failed/refusal",
        Outcome::Failed(FailureCode::Silence) => "failed/silence",
        Outcome::Failed(FailureCode::ToolLimit) => "failed/tool_limit",
        Outcome::Failed(FailureCode::Internal) => "failed/internal",
    }
}

/// The outcome that was stored.
pub fn decode_outcome(name: &str) -> Result<Outcome, RecordError> {
    Ok(match name {
        "answered" => Outcome::Answered,
        "truncated" => Outcome::Truncated,
        "no_answer" => Outcome::NoAnswer,
        "stopped" => Outcome::Stopped,
        "interrupted" => Outcome::Interrupted,
        "failed/overflow" => Outcome::Failed(FailureCode::Overflow),
        "failed/engine" => Outcome::Failed(FailureCode::Engine),
        "failed/model" => Outcome::Failed(FailureCode::Model),
        "failed/refusal" => Outcome::Failed(FailureCode::Refusal),
        "failed/silence" => Outcome::Failed(FailureCode::Silence),
        "failed/tool_limit" => Outcome::Failed(FailureCode::ToolLimit),
        "failed/internal" => Outcome::Failed(FailureCode::Internal),
        unknown => return Err(RecordError::tag(OUTCOME, unknown)),
    })
}

#[derive(Serialize, Deserialize)]
struct ErrorForm {
    v: u32,
    code: String,
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    raw: Option<String>,
}

/// The stored form of a turn's error.
pub fn encode_error(error: &StreamError) -> String {
    let StreamError { code, text, raw } = error;
    write(&ErrorForm { v: VERSION, code: code.clone(), text: text.clone(), raw: raw.clone() })
}

/// The error that was stored.
pub fn decode_error(json: &str) -> Result<StreamError, RecordError> {
    let ErrorForm { v: _, code, text, raw } = read(ERROR, json)?;
    Ok(StreamError { code, text, raw })
}
