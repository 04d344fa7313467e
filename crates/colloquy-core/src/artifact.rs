//! Artifacts: data that travels by reference. The model reads what they hold, but what it hands
//! on is the reference; the bytes are the registry's own (I11; reference § 10).
//!
//! In JSON an artifact is *marked*: `{"$artifact":{"alias":…,"ref":…|null,"value":{…}}}` is its
//! full form, and an object of any other shape is data. Everything a model reads is made from
//! marked JSON here and holds no marks.

mod find_text;
mod gate;
mod lookup;
mod mark;
mod reference;
mod registry;
mod scope;
mod view;

use std::{borrow::Borrow, collections::BTreeMap, sync::Arc};

pub use gate::Violation;
pub use lookup::{FieldPiece, LookupError, Match, Search};
pub use mark::Mark;
pub use reference::{ArtifactRef, is_a, is_alias, references};
pub use registry::Registry;
pub use view::LongText;

use crate::schema::Descriptor;

/// The key of a marked artifact.
pub const MARK: &str = "$artifact";
/// Characters in the id of a reference, from `[a-z0-9]`.
pub const ID_CHARS: usize = 6;
/// The alias of lists of artifacts, which are shown as digests.
pub const LIST_ALIAS: &str = "list";
/// The two tools that read the registry, in the order they are declared.
pub const REGISTRY_TOOLS: [&str; 2] = ["get_artifact_field", "search_artifact_content"];

/// Fresh ids; the core draws no randomness itself. It is asked again while what it gave is taken.
pub trait IdDraw {
    /// An id of [`ID_CHARS`] characters from `[a-z0-9]`.
    fn draw(&mut self) -> String;
}

/// One artifact.
#[derive(Debug, Clone, PartialEq)]
pub struct Artifact {
    /// Its reference.
    pub reference: ArtifactRef,
    /// The alias of its type, colons from the general to the particular.
    pub alias: String,
    /// Its value as JSON text, each artifact inside it replaced by its reference: the bytes that
    /// never change. Only [`Registry::marked`] knows how to read it.
    pub json: Arc<str>,
    /// What a model wrote to shorten its fields, by JSON pointer.
    pub summaries: BTreeMap<String, String>,
    /// Whether it is listed, or only found by reference and search.
    pub top_level: bool,
}

/// What of a type the registry must know to show it, by alias.
pub type Types = BTreeMap<String, Arc<Descriptor>>;

/// The description of an alias, or of the nearest alias it is a kind of.
pub fn nearest<'a, K, T>(alias: &str, known: &'a BTreeMap<K, T>) -> Option<&'a T>
where
    K: Ord + Borrow<str>,
{
    let mut alias = alias;
    loop {
        if let Some(found) = known.get(alias) {
            return Some(found);
        }
        alias = alias.rsplit_once(':')?.0;
    }
}

#[cfg(test)]
mod tests;
