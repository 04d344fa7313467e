//! Lists of artifacts, of which a model reads a digest: what they hold, how many, and the first
//! few. Each element is an artifact of its own and can be selected by its reference.

use colloquy_core::artifact::LIST_ALIAS;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Artifact, ArtifactRef, Held};

/// A list of artifacts as an artifact: `Held<ListArtifact<T>>`. Reading one fails when an element
/// is not held any more or is no `T`; it is never shortened.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(bound = "T: Artifact")]
#[schemars(bound = "T: Artifact")]
pub struct ListArtifact<T> {
    /// The elements, in order.
    pub iterands: Vec<Held<T>>,
    /// The alias of their type.
    pub iterand_type: String,
    /// The reference of the artifact that it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derived_from_ref: Option<String>,
    /// The tool whose calls, one for each element of that artifact, made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_tool_name: Option<String>,
    /// What each of those calls was asked to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instruction: Option<String>,
}

impl<T: Artifact> ListArtifact<T> {
    /// A list of these.
    pub fn new(iterands: impl IntoIterator<Item = Held<T>>) -> Self {
        Self {
            iterands: iterands.into_iter().collect(),
            iterand_type: T::ALIAS.to_owned(),
            derived_from_ref: None,
            worker_tool_name: None,
            instruction: None,
        }
    }

    /// Says what it was made from.
    #[must_use]
    pub fn derived_from(mut self, source: &ArtifactRef) -> Self {
        self.derived_from_ref = Some(source.as_str().to_owned());
        self
    }

    /// Says which tool made it, and what it was asked to do.
    #[must_use]
    pub fn made_by(mut self, tool: impl Into<String>, instruction: impl Into<String>) -> Self {
        self.worker_tool_name = Some(tool.into());
        self.instruction = Some(instruction.into());
        self
    }
}

impl<T: Artifact> Artifact for ListArtifact<T> {
    const ALIAS: &'static str = LIST_ALIAS;
}
