//! What goes over the wire, and the conversions to it, written out by hand.
//!
//! Nothing of the core is `Serialize`: a renamed field in there must not rename one out here.

pub(crate) mod conversation;
pub(crate) mod event;
pub(crate) mod llm;
pub(crate) mod message;
pub(crate) mod query;
pub(crate) mod turn;

use colloquy::stream::StreamError;
pub(crate) use event::arguments;

use colloquy_core::message::{TimeMs, Uid, Usage};
use serde::Serialize;
use time::{OffsetDateTime, format_description::FormatItem, macros::format_description};

const RFC_3339_MS: &[FormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");

/// A time as RFC 3339 in UTC with milliseconds.
pub(crate) fn timestamp(at: TimeMs) -> String {
    let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(at) * 1_000_000)
        .unwrap_or(OffsetDateTime::UNIX_EPOCH);
    at.format(RFC_3339_MS).expect("BUG: a time that its own format cannot show")
}

/// An identity as 32 hex digits.
pub(crate) fn uid(uid: Uid) -> String {
    hex::encode(uid.0)
}

/// Tokens of a step.
#[derive(Debug, Serialize)]
pub(crate) struct UsageJson {
    predicted_tokens: Option<u32>,
    prompt_tokens: Option<u32>,
    reused_tokens: Option<u32>,
    output_tokens: Option<u32>,
}

impl From<Usage> for UsageJson {
    fn from(usage: Usage) -> Self {
        // What a cache bills is for programs that pay for one.
        let Usage { predicted_tokens, prompt_tokens, reused_tokens, output_tokens, cache_write_tokens: _ } =
            usage;
        Self { predicted_tokens, prompt_tokens, reused_tokens, output_tokens }
    }
}

/// A failure of a turn, as it is kept with its answer.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorJson {
    code: String,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<String>,
}

impl From<StreamError> for ErrorJson {
    fn from(error: StreamError) -> Self {
        let StreamError { code, text, raw } = error;
        Self { code, text, raw }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_milliseconds_and_end_in_z() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(timestamp(1_700_000_000_007), "2023-11-14T22:13:20.007Z");
        assert_eq!(timestamp(i64::MAX), "1970-01-01T00:00:00.000Z");
    }
}
