//! The versioned stored form of everything a store keeps as JSON, the same in every store.
//!
//! Each form is an object with its version in `v`. A version or a tag that this program does not
//! know is [`RecordError::Newer`], never an empty or a partial value; a member that it does not
//! know is ignored, so whatever changes the meaning of a form has to raise its version.
//! Conversion is by hand through private structs: renaming a field of a core type changes no byte.

mod artifact;
mod blocks;
mod events;
mod head;
mod names;
mod settings;
mod step;
mod turn;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

pub use artifact::{decode_summaries, encode_summaries};
pub use blocks::{decode_blocks, encode_blocks};
pub use events::{decode_events, encode_events};
pub use head::{HeadColumns, decode_head, encode_head};
pub use names::{
    check_role, kind_from_name, kind_name, role_name, tool_run_state_from_name, tool_run_state_name,
    turn_state_from_name, turn_state_name,
};
pub use settings::{decode_settings, encode_settings};
pub use step::{decode_origin, decode_usage, encode_origin, encode_usage};
pub use turn::{
    TurnRequest, decode_error, decode_outcome, decode_request, encode_error, encode_outcome, encode_request,
};

/// The version that this program writes, for every form.
const VERSION: u32 = 1;

/// Why a stored form cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Its version, or a tag in it, is unknown here.
    #[error("{what} was written by a newer version of Colloquy ({found} is not known here)")]
    Newer {
        /// The form.
        what: &'static str,
        /// The version or tag that was found.
        found: String,
    },
    /// It is not what any version writes.
    #[error("{what} is damaged: {why}")]
    Damaged {
        /// The form.
        what: &'static str,
        /// What is wrong with it; holds no stored text.
        why: String,
    },
}

impl RecordError {
    fn tag(what: &'static str, found: &str) -> Self {
        Self::Newer { what, found: format!("{found:?}") }
    }

    fn damaged(what: &'static str, why: impl Into<String>) -> Self {
        Self::Damaged { what, why: why.into() }
    }
}

/// Reads the version alone, whatever else the form holds.
#[derive(Deserialize)]
struct Versioned {
    v: u32,
}

fn write(form: &impl Serialize) -> String {
    serde_json::to_string(form).expect("BUG: a stored form has string keys and finite numbers")
}

/// Reads the version first, so that a newer form is named as such even where its shape differs.
fn read<T: DeserializeOwned>(what: &'static str, json: &str) -> Result<T, RecordError> {
    let damaged = |error: serde_json::Error| RecordError::damaged(what, place_of(&error));
    let Versioned { v } = serde_json::from_str(json).map_err(damaged)?;
    if v != VERSION {
        return Err(RecordError::Newer { what, found: format!("version {v}") });
    }
    serde_json::from_str(json).map_err(damaged)
}

/// Where JSON went wrong, without the parser's message: that can quote what a person wrote.
fn place_of(error: &serde_json::Error) -> String {
    let kind = match error.classify() {
        serde_json::error::Category::Io => "unreadable",
        serde_json::error::Category::Syntax => "not JSON",
        serde_json::error::Category::Data => "not the expected shape",
        serde_json::error::Category::Eof => "cut short",
    };
    format!("{kind} at line {} column {}", error.line(), error.column())
}

#[cfg(test)]
mod tests;
