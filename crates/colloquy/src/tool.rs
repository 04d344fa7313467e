//! Tools that a program declares: typed input, typed output, called by a model by name (runtime
//! page, "Tool System").
//!
//! What a model writes is read leniently, gated and checked before a tool sees it; what a tool
//! returns is serialised once, with every artifact in it registered and shown by reference.

mod erased;
mod registry_tools;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use colloquy_core::{
    artifact::ArtifactRef,
    tool::{DeclaredTool, ToolDefinition},
};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use tokio_util::sync::CancellationToken;

use crate::{
    artifact::{Artifact, Held},
    ports::Principal,
    service::SharedInstance,
};

pub use erased::DescribeError;
pub(crate) use erased::{Erased, ErasedTool, ToolOutput, describe, kind_of};
pub(crate) use registry_tools::registry_tools;

/// A tool with its types.
///
/// ```
/// use colloquy::tool::{Tool, ToolContext, ToolError};
/// use colloquy::schemars::{self, JsonSchema};
///
/// #[derive(serde::Deserialize, JsonSchema)]
/// struct City {
///     /// Its name in English.
///     name: String,
/// }
///
/// struct Population;
///
/// #[async_trait::async_trait]
/// impl Tool for Population {
///     type Input = City;
///     type Output = u64;
///
///     fn name(&self) -> &str {
///         "population"
///     }
///
///     fn description(&self) -> String {
///         "How many people live in a city".into()
///     }
///
///     async fn call(&self, city: City, _context: ToolContext) -> Result<u64, ToolError> {
///         match city.name.as_str() {
///             "Vaduz" => Ok(5_774),
///             other => Err(ToolError::NotFound(format!("there is no city named {other}"))),
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// What a model fills in. Described to it by its schema.
    type Input: DeserializeOwned + JsonSchema + Send + 'static;
    /// What it reads. Artifacts in it ([`Held`]) are shown by reference.
    type Output: Serialize + JsonSchema + Send + 'static;

    /// Unique in a conversation: letters, digits, `_` and `-`, at most 64.
    fn name(&self) -> &str;

    /// What it does, for the model.
    fn description(&self) -> String;

    /// What kind of work a call is, told to the model beside the description.
    fn kind(&self) -> ToolKind {
        ToolKind::InMemory
    }

    /// What a call costs, told to the model beside the description.
    fn weight(&self) -> Weight {
        Weight::of(1)
    }

    /// Whether it changes nothing, told to the model beside the description.
    fn is_read_only(&self) -> bool {
        false
    }

    /// After how long a call is given up; `None` waits for as long as the turn runs.
    fn timeout(&self) -> Option<Duration> {
        None
    }

    /// Does it. Dropped in the middle when the turn is stopped; never run twice for one call.
    async fn call(&self, input: Self::Input, context: ToolContext) -> Result<Self::Output, ToolError>;
}

/// What kind of work a call of a tool is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    /// Done in this process, at once.
    InMemory,
    /// One call of an external service.
    ApiCall,
    /// A conversation of its own, with that many levels of agents below it.
    Thinker {
        /// The depth of the hierarchy below it.
        level: u32,
    },
}

/// The relative cost of a call, 0 to 100: up to 5 is a quick lookup, from 30 a deep investigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weight {
    min: u8,
    max: u8,
}

impl Weight {
    /// Always the same cost; above 100 counts as 100.
    pub fn of(weight: u8) -> Self {
        Self::between(weight, weight)
    }

    /// A cost that depends on the input.
    pub fn between(min: u8, max: u8) -> Self {
        Self { min: min.min(max).min(100), max: max.max(min).min(100) }
    }
}

/// What a running tool may use.
#[derive(Clone)]
pub struct ToolContext {
    /// On whose behalf it runs.
    pub principal: Principal,
    /// The call it answers.
    pub call_id: String,
    /// Cancelled when the turn is stopped. The call is dropped then; this is for what it started.
    pub stop: CancellationToken,
    pub(crate) instance: SharedInstance,
}

impl ToolContext {
    /// The conversation's artifact behind a reference in any form, in its own bytes.
    pub fn artifact<T: Artifact>(&self, reference: &str) -> Option<Held<T>> {
        self.lock().artifact(reference)
    }

    /// The references of everything the conversation lists, in the order of registration.
    pub fn artifacts(&self) -> Vec<ArtifactRef> {
        self.lock().registry.listed().map(|artifact| artifact.reference.clone()).collect()
    }

    /// Declares a tool in the middle of the turn: the model is told of it after this step.
    pub fn declare(&self, tool: impl Tool) -> Result<(), DescribeError> {
        let tool = Erased::new(tool)?;
        self.lock().declare(Arc::new(tool));
        Ok(())
    }

    pub(crate) fn lock(&self) -> std::sync::MutexGuard<'_, crate::service::Instance> {
        crate::service::lock_instance(&self.instance)
    }
}

/// Why a tool did not do what it was asked; the model reads it and may try otherwise.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// The input makes no sense; says what would.
    #[error("invalid input: {0}. Correct the input and call the tool again")]
    InvalidInput(String),
    /// There is no such thing.
    #[error("not found: {0}. Use a name or a reference that exists")]
    NotFound(String),
    /// It may not be done.
    #[error("not permitted: {0}. Do not try again")]
    NotPermitted(String),
    /// It failed for a reason that is not the input's.
    #[error("failed: {0}. Go on without it, or say that it could not be done")]
    Failed(String),
}

/// The suffix of a description: what a call costs.
fn suffix(kind: ToolKind, weight: Weight, is_read_only: bool) -> String {
    let kind = match kind {
        ToolKind::InMemory => "in memory".to_owned(),
        ToolKind::ApiCall => "api call".to_owned(),
        ToolKind::Thinker { level } => format!("thinker L{level}"),
    };
    let weight = if weight.min == weight.max {
        weight.min.to_string()
    } else {
        format!("{}-{}", weight.min, weight.max)
    };
    let read_only = if is_read_only { ", read-only" } else { "" };
    format!(" [{kind}, weight: {weight}{read_only}]")
}

/// A declared tool that a conversation can also run.
pub(crate) struct Runnable(pub(crate) Arc<dyn ErasedTool>);

impl DeclaredTool for Runnable {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn definition(&self) -> ToolDefinition {
        self.0.definition()
    }
}

#[cfg(test)]
mod tests;
