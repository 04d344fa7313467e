//! The two tools that read the artifact registry (reference § 10.7).

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use colloquy_core::artifact::{LookupError, REGISTRY_TOOLS, Search};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DescribeError, Erased, ErasedTool, Tool, ToolContext, ToolError};

const TIMEOUT: Duration = Duration::from_secs(5);
const MAX_CHARS: i64 = 10_000;
const MAX_RESULTS: i64 = 10;
const CONTEXT_CHARS: i64 = 200;

/// Both of them, in the order they are declared.
pub(crate) fn registry_tools() -> Result<[Arc<dyn ErasedTool>; 2], DescribeError> {
    Ok([Arc::new(Erased::new(GetArtifactField)?), Arc::new(Erased::new(SearchArtifactContent)?)])
}

struct GetArtifactField;

#[derive(Deserialize, JsonSchema)]
struct FieldInput {
    /// The reference of the artifact.
    artifact_ref: String,
    /// The field to read.
    field_name: String,
    /// Characters to skip, 0 when left out.
    offset: Option<i64>,
    /// The most characters to read, 10000 when left out.
    max_chars: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
struct FieldOutput {
    content: Option<String>,
    field_name: String,
    /// Characters of the whole field.
    length: usize,
    truncated: bool,
}

#[async_trait]
impl Tool for GetArtifactField {
    type Input = FieldInput;
    type Output = FieldOutput;

    fn name(&self) -> &str {
        REGISTRY_TOOLS[0]
    }

    fn description(&self) -> String {
        "Reads a field of an artifact in full, piece by piece where it is long".into()
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn timeout(&self) -> Option<Duration> {
        Some(TIMEOUT)
    }

    async fn call(&self, input: FieldInput, context: ToolContext) -> Result<FieldOutput, ToolError> {
        let FieldInput { artifact_ref, field_name, offset, max_chars } = input;
        let (offset, max_chars) = (offset.unwrap_or(0), max_chars.unwrap_or(MAX_CHARS));
        let instance = context.lock();
        let piece =
            instance.registry.field(&instance.types, &artifact_ref, &field_name, offset, max_chars)?;
        Ok(FieldOutput {
            content: piece.content,
            field_name: piece.field_name,
            length: piece.length,
            truncated: piece.truncated,
        })
    }
}

struct SearchArtifactContent;

#[derive(Deserialize, JsonSchema)]
struct SearchInput {
    /// The words to look for, as they stand in the text; upper and lower case are the same.
    query: String,
    /// Only artifacts of a type whose name contains this.
    artifact_type: Option<String>,
    /// Only the artifact of this reference.
    artifact_ref: Option<String>,
    /// The most matches to give, 10 when left out.
    max_results: Option<i64>,
    /// Characters to show on either side of a match, 200 when left out.
    context_chars: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
struct SearchOutput {
    matches: Vec<SearchMatch>,
    /// How many there are in all.
    total_matches: usize,
}

#[derive(Serialize, JsonSchema)]
struct SearchMatch {
    artifact_ref: String,
    field_name: String,
    /// Characters before the match in its field.
    position: usize,
    snippet: String,
}

#[async_trait]
impl Tool for SearchArtifactContent {
    type Input = SearchInput;
    type Output = SearchOutput;

    fn name(&self) -> &str {
        REGISTRY_TOOLS[1]
    }

    fn description(&self) -> String {
        "Finds words in the text of all artifacts".into()
    }

    fn is_read_only(&self) -> bool {
        true
    }

    async fn call(&self, input: SearchInput, context: ToolContext) -> Result<SearchOutput, ToolError> {
        let search = Search {
            query: &input.query,
            artifact_type: input.artifact_type.as_deref(),
            artifact_ref: input.artifact_ref.as_deref(),
            max_results: input.max_results.unwrap_or(MAX_RESULTS),
            context_chars: input.context_chars.unwrap_or(CONTEXT_CHARS),
        };
        let instance = context.lock();
        let (matches, total_matches) = instance.registry.search(&instance.types, &search)?;
        let matches = matches.into_iter().map(|found| SearchMatch {
            artifact_ref: found.artifact_ref.as_str().to_owned(),
            field_name: found.field_name,
            position: found.position,
            snippet: found.snippet,
        });
        Ok(SearchOutput { matches: matches.collect(), total_matches })
    }
}

impl From<LookupError> for ToolError {
    fn from(error: LookupError) -> Self {
        match error {
            LookupError::NotFound => Self::NotFound(error.to_string()),
            LookupError::NoSuchField { .. } | LookupError::OutOfRange(_) => {
                Self::InvalidInput(error.to_string())
            }
        }
    }
}
