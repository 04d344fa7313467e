//! What is stored of an artifact beside its bytes: `{"v":1,"summaries":{"/body":"…"}}`.
//!
//! The bytes themselves are stored as they are, under their hash, and have no form to version.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{RecordError, VERSION, read, write};

const WHAT: &str = "the summaries of an artifact";

#[derive(Serialize)]
struct Written<'a> {
    v: u32,
    summaries: &'a BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Stored {
    summaries: BTreeMap<String, String>,
}

/// The stored form of an artifact's summaries, by JSON pointer.
pub fn encode_summaries(summaries: &BTreeMap<String, String>) -> String {
    write(&Written { v: VERSION, summaries })
}

/// The summaries that were stored.
pub fn decode_summaries(json: &str) -> Result<BTreeMap<String, String>, RecordError> {
    Ok(read::<Stored>(WHAT, json)?.summaries)
}
