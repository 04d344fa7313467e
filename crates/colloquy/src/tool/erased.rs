//! A tool without its types: text in, a marked value out.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use colloquy_core::{
    artifact::Violation,
    lenient,
    schema::{Descriptor, SchemaError},
    tool::ToolDefinition,
};
use schemars::JsonSchema;
use serde_json::Value;

use super::{Tool, ToolContext, ToolError, suffix};

/// Longest name of a tool, in characters; providers take no longer one.
const NAME_CHARS_MAX: usize = 64;

/// Why a type or a tool cannot be described to a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DescribeError {
    /// Its schema cannot be described.
    #[error("{what} cannot be described to a model")]
    Schema {
        /// Which type.
        what: String,
        /// Why.
        #[source]
        why: SchemaError,
    },
    /// Its value cannot be serialised.
    #[error("a value of {what} cannot be serialised")]
    Value {
        /// Which type.
        what: String,
    },
    /// Its name is none that every provider takes.
    #[error("a tool cannot be named {name:?}: use 1 to {NAME_CHARS_MAX} letters, digits, _ and -")]
    Name {
        /// The name.
        name: String,
    },
}

/// What a tool returned.
pub(crate) struct ToolOutput {
    /// The whole value, artifacts marked.
    pub(crate) value: Value,
    /// What it is.
    pub(crate) descriptor: Arc<Descriptor>,
}

/// A tool as a conversation runs it.
#[async_trait]
pub(crate) trait ErasedTool: Send + Sync {
    fn name(&self) -> &str;
    fn definition(&self) -> ToolDefinition;
    fn timeout(&self) -> Option<Duration>;
    /// What it returns.
    fn output(&self) -> &Arc<Descriptor>;
    /// Reads, gates and checks what the model wrote, and does it.
    async fn run(&self, input: &str, context: ToolContext) -> Result<ToolOutput, ToolError>;
}

/// A [`Tool`] with what its types say about themselves.
pub(crate) struct Erased<T> {
    tool: T,
    input: Arc<Descriptor>,
    output: Arc<Descriptor>,
}

impl<T: Tool> Erased<T> {
    pub(crate) fn new(tool: T) -> Result<Self, DescribeError> {
        let name = tool.name();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if name.is_empty() || name.chars().count() > NAME_CHARS_MAX || !name.chars().all(is_plain) {
            return Err(DescribeError::Name { name: name.to_owned() });
        }
        let (input, output) = (describe::<T::Input>()?, describe::<T::Output>()?);
        Ok(Self { tool, input, output })
    }
}

/// The description of a type.
pub(crate) fn describe<T: JsonSchema>() -> Result<Arc<Descriptor>, DescribeError> {
    let schema =
        schemars::generate::SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
    let descriptor = Descriptor::from_schema(schema.as_value());
    descriptor.map(Arc::new).map_err(|why| DescribeError::Schema { what: T::schema_name().into_owned(), why })
}

#[async_trait]
impl<T: Tool> ErasedTool for Erased<T> {
    fn name(&self) -> &str {
        self.tool.name()
    }

    fn definition(&self) -> ToolDefinition {
        let suffix = suffix(self.tool.kind(), self.tool.weight(), self.tool.is_read_only());
        ToolDefinition {
            name: self.tool.name().to_owned(),
            description: self.tool.description() + &suffix,
            schema: Some(self.input.offered()),
        }
    }

    fn timeout(&self) -> Option<Duration> {
        self.tool.timeout()
    }

    fn output(&self) -> &Arc<Descriptor> {
        &self.output
    }

    async fn run(&self, input: &str, context: ToolContext) -> Result<ToolOutput, ToolError> {
        // A model that has nothing to say calls with no text at all.
        let input = if input.trim().is_empty() { "{}" } else { input };
        let mut value =
            lenient::read(input, &self.input).map_err(|error| ToolError::InvalidInput(error.to_string()))?;
        let gated = context.lock().registry.gate(&mut value, &self.input);
        gated.map_err(|violations| ToolError::InvalidInput(listed(&violations)))?;
        let input =
            serde_json::from_value(value).map_err(|error| ToolError::InvalidInput(kind_of(&error)))?;
        let output = self.tool.call(input, context).await?;
        let value = serde_json::to_value(output).map_err(|error| {
            tracing::error!(tool = self.name(), %error, "a tool returned what cannot be serialised");
            ToolError::Failed("the tool's result cannot be shown".into())
        })?;
        Ok(ToolOutput { value, descriptor: Arc::clone(&self.output) })
    }
}

fn listed(violations: &[Violation]) -> String {
    violations.iter().map(Violation::to_string).collect::<Vec<_>>().join("; ")
}

/// What is wrong without the value, which serde quotes in every message but this one.
pub(crate) fn kind_of(error: &serde_json::Error) -> String {
    let text = error.to_string();
    if text.starts_with("missing field") { text } else { "a value does not fit its field".into() }
}
