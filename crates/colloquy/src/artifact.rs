//! Artifacts with their types: what a program hands to a model by reference, and gets back as it
//! was (runtime page, "Artifact Integration").
//!
//! A [`Held`] is written in marked JSON, which only a conversation's registry turns into what a
//! model reads; nothing that a model writes is ever decoded as an artifact (I11).
//!
//! ```
//! use colloquy::artifact::{Artifact, Held};
//! use colloquy::schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//!
//! /// A paper that can be cited.
//! #[derive(Serialize, Deserialize, JsonSchema, Artifact)]
//! #[schemars(crate = "colloquy::schemars")]
//! #[artifact(alias = "link:cite")]
//! struct Cite {
//!     title: String,
//!     #[artifact(summarize(size = "brief", hint = "what was found"))]
//!     text: String,
//!     #[artifact(ignore)]
//!     row_id: u64,
//! }
//!
//! let cite = Held::new(Cite { title: "On Levers".into(), text: "Give me a place.".into(), row_id: 7 });
//! assert_eq!(cite.title, "On Levers");
//! ```

mod held;
mod list;
mod types;

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

pub use colloquy_core::{
    artifact::{ArtifactRef, is_a},
    summarize::SummarySize,
};
/// Implements [`Artifact`](trait@Artifact) for a struct with named fields.
pub use colloquy_derive::Artifact;
pub use held::Held;
pub use list::ListArtifact;
pub use types::{ArtifactTypes, RegisterError};

/// A type whose values travel by reference. Implemented with `#[derive(Artifact)]`.
pub trait Artifact: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static {
    /// The alias of the type: words of `[a-z0-9_]` joined by colons, from the general to the
    /// particular.
    const ALIAS: &'static str;

    /// What its fields say about how a model reads them.
    fn markers() -> &'static [Marker] {
        &[]
    }
}

/// What one field says about how a model reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marker {
    /// The field, by its name on the wire.
    pub field: &'static str,
    /// What is said.
    pub meaning: Meaning,
}

/// What a field may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// A model never reads it.
    Ignored,
    /// A model reads a summary where the text is long.
    Summarizable {
        /// How long the summary is.
        size: SummarySize,
        /// Longest text that is shown whole, in characters; 8,000 when not said.
        threshold: Option<usize>,
        /// What matters in the text.
        hint: Option<&'static str>,
        /// Whether a model may be asked for the summary.
        llm_safe: bool,
        /// The summary, where it is always the same.
        static_summary: Option<&'static str>,
    },
}

#[cfg(test)]
mod tests;
