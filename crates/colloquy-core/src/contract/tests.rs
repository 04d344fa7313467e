use schemars::JsonSchema;
use serde_json::json;

use super::*;
use crate::{
    fixtures::call,
    lenient::{self, ERRORS_MAX},
};

mod asking;
mod enveloped;
mod reading;

const NATIVE: Signals = Signals { tools: ToolWire::Native, has_tools: true, thinking_active: false };
const NO_TOOLS: Signals = Signals { has_tools: false, ..NATIVE };
const TEXT: Signals = Signals { tools: ToolWire::Text, ..NATIVE };

/// The signals with a reasoning block that is sure to come.
const fn thinking(signals: Signals) -> Signals {
    Signals { thinking_active: true, ..signals }
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only described")]
enum Mark {
    #[serde(rename = "CONFIRMED")]
    Confirmed,
    #[serde(rename = "REFUTED")]
    Refuted,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only described")]
struct Verdict {
    /// What it comes to
    verdict: String,
    mark: Mark,
    sources: Vec<String>,
    reasoning: String,
    note: Option<String>,
}

fn typed<T: JsonSchema>() -> Contract {
    let settings = schemars::generate::SchemaSettings::draft2020_12();
    let schema = settings.into_generator().into_root_schema_for::<T>();
    Contract::Typed(Arc::new(Descriptor::from_schema(schema.as_value()).unwrap()))
}

fn text(text: &str) -> Block {
    Block::Text(text.to_owned())
}

/// Reads a reply under tools named `search` and `fetch`.
fn read(contract: &Contract, signals: Signals, reply: &[Block]) -> Result<Reading, Vec<String>> {
    let is_known = |name: &str| matches!(name, "search" | "fetch");
    contract.read(reply, signals, &is_known).map_err(|refused| refused.violations)
}

/// A final reading without calls.
fn answered(answer: Value, reasoning: &str) -> Reading {
    Reading { answer: Some(answer), calls: Vec::new(), reasoning: reasoning.to_owned(), is_final: true }
}
