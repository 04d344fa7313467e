//! Reading what a model wrote where JSON was asked for: as much is forgiven as can be without a
//! guess (reference § 9).
//!
//! The JSON is found in the text, read by a permissive reader, and brought into the form of a type
//! along its description. Every step takes time in proportion to the text. No error quotes what
//! the model wrote, because errors are shown to it and to others again.

mod coerce;
mod date;
mod extract;
mod kind;
mod parse;
mod scalar;

use serde_json::Value;

use crate::schema::Descriptor;

pub(crate) use extract::{Wanted, find};

/// Deepest nesting that is read.
pub const DEPTH_MAX: usize = 64;
/// Most errors that are collected from one text.
pub const ERRORS_MAX: usize = 20;

/// Why a text cannot be read as a type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// There is no object or list in it.
    #[error("the reply holds no JSON object or list")]
    NoJson,
    /// What is there is not JSON even with all that is forgiven.
    #[error("the JSON of the reply cannot be read: {why}")]
    Malformed {
        /// What is wrong, without the text.
        why: String,
    },
    /// A value is of another kind than its place. Never quotes the value.
    #[error("{path} must be {accepted}, not {found}")]
    Mistyped {
        /// Where, such as `cited[1].date`; `answer` for the whole.
        path: String,
        /// What may stand there.
        accepted: String,
        /// The kind of what was found, such as `a number`.
        found: &'static str,
    },
    /// A value that must be there is not.
    #[error("{path} is missing: it must be {accepted}")]
    Missing {
        /// Where.
        path: String,
        /// What may stand there.
        accepted: String,
    },
}

/// The last balanced top-level `{…}` or `[…]` of a text, and what stands around it, trimmed.
pub fn split_json_and_prose(text: &str) -> (Option<&str>, String) {
    let found = find(text, Wanted::Either);
    (found.json, found.around)
}

/// Reads the JSON in `text` as `descriptor` says, in the form that the type's decoder accepts.
pub fn read(text: &str, descriptor: &Descriptor) -> Result<Value, ReadError> {
    let json = find(text, Wanted::by(descriptor)).json.ok_or(ReadError::NoJson)?;
    coerce(parse_json(json)?, descriptor)
}

/// Brings a value that was read already into the form that the type's decoder accepts. Fails with
/// the first thing that is wrong.
pub fn coerce(value: Value, descriptor: &Descriptor) -> Result<Value, ReadError> {
    coerce_all(value, descriptor).map_err(|mut errors| errors.swap_remove(0))
}

/// The same with everything that is wrong, at least one and at most [`ERRORS_MAX`].
pub(crate) fn coerce_all(value: Value, descriptor: &Descriptor) -> Result<Value, Vec<ReadError>> {
    coerce::along(value, descriptor)
}

/// Reads a text that is nothing but JSON, permissively.
pub(crate) fn parse_json(text: &str) -> Result<Value, ReadError> {
    parse::parse(text).map_err(|why| ReadError::Malformed { why })
}

#[cfg(test)]
mod tests;
