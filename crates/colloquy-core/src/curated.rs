//! The texts that Colloquy itself puts into a conversation where a model's answer should be.
//!
//! Clients match on several of them, so a wording is an interface. Texts of failures begin with
//! [`ERROR_SENTINEL`]; the lines for an empty answer do not, for they are replayed to the model.

use crate::{message::FinishReason, turn::Failure};

/// What the text of a failed turn begins with.
pub const ERROR_SENTINEL: &str = "[ERROR_MESSAGE_SYSTEM]";

/// A failure that says nothing of itself.
pub const GENERIC_ERROR: &str = "[ERROR_MESSAGE_SYSTEM] I apologize, but I encountered an error while \
     generating a response. Please try asking your question again.";

/// Stands in for an answer of which nothing had been sent.
pub const INTERRUPTED_ANSWER: &str = "[The answer was interrupted.]";

/// Stands in for the result of a tool that never ended.
pub const INTERRUPTED_TOOL: &str = "[The tool call was interrupted.]";

/// What of an engine's first line is repeated in the text for people.
const ENGINE_LINE_CHARS_MAX: usize = 200;

/// What of a server's message is repeated in the text for people.
const SERVER_MESSAGE_CHARS_MAX: usize = 500;

/// The line that stands in for an answer when the model ended without one.
pub fn no_answer_text(finish_reason: FinishReason) -> &'static str {
    match finish_reason {
        FinishReason::Length => {
            "Generation stopped during reasoning, before an answer was written. Send a follow-up asking \
             for the final answer directly, or lower the reasoning effort."
        }
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Refusal => {
            "The model finished its turn without writing an answer. Send a follow-up asking it to continue."
        }
    }
}

/// Asks a model that said nothing for its answer, once.
pub const NUDGE: &str = "[No answer came. Answer the last message now.]";

/// What a person reads, and the history keeps, when a turn failed.
pub fn failure_text(failure: &Failure) -> String {
    let text = match failure {
        Failure::Overflow { prompt_tokens, window_tokens } => overflow_text(*prompt_tokens, *window_tokens),
        // The rest of its lines is for whoever mends it, and travels beside the text.
        Failure::Engine { detail } => with_detail(
            "The engine that runs the model stopped or could not be started. Ask again to start it anew",
            detail.trim().lines().next().unwrap_or_default(),
            ENGINE_LINE_CHARS_MAX,
        ),
        Failure::Transient { detail } | Failure::Busy { detail, .. } => with_detail(
            "The model's server could not be reached or is overloaded. Ask again in a moment",
            detail,
            SERVER_MESSAGE_CHARS_MAX,
        ),
        Failure::Refused { detail } => with_detail(
            "The model's server refused the request. Check the model's settings, or choose another model",
            detail,
            SERVER_MESSAGE_CHARS_MAX,
        ),
        Failure::ContentRefused { detail } => with_detail(
            "The model's provider withheld the answer. Put the question differently",
            detail,
            SERVER_MESSAGE_CHARS_MAX,
        ),
        Failure::Silent { waited_s } => format!(
            "The model said nothing for {waited_s} seconds, so the turn was given up. Ask again, send less \
             at once, or choose a smaller model."
        ),
        Failure::OffContract { detail } => with_detail(
            "The model's answer does not have the form that was asked for, also after corrections. \
             Ask again, or choose a stronger model",
            detail,
            SERVER_MESSAGE_CHARS_MAX,
        ),
        Failure::ToolLimit { n_steps } => {
            format!("The model used tools {n_steps} times without coming to an answer. Ask for less at once.")
        }
        Failure::Internal => return GENERIC_ERROR.to_owned(),
    };
    format!("{ERROR_SENTINEL} {text}")
}

fn overflow_text(prompt_tokens: Option<u32>, window_tokens: Option<u32>) -> String {
    let numbers = match (prompt_tokens, window_tokens) {
        (Some(prompt), Some(window)) => {
            format!(" (the request needs about {prompt} tokens; the window holds {window})")
        }
        (Some(prompt), None) => format!(" (the request needs about {prompt} tokens)"),
        (None, Some(window)) => format!(" (the window holds {window} tokens)"),
        (None, None) => String::new(),
    };
    format!(
        "This conversation no longer fits the model's context window{numbers}. Start a new conversation or \
         send less at once."
    )
}

/// The advice, and behind it what the other side said, if it said anything; a long detail is cut.
fn with_detail(advice: &str, detail: &str, chars_max: usize) -> String {
    let detail = detail.trim();
    if detail.is_empty() {
        return format!("{advice}.");
    }
    match detail.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{advice}. It said: {}…", &detail[..end]),
        None => format!("{advice}. It said: {detail}"),
    }
}

#[cfg(test)]
mod tests;
