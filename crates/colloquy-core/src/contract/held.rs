//! What a reply is held to by a server that can hold it to a JSON Schema.
//!
//! An envelope is then one of two: an answer, or calls of declared tools with the input that each
//! tool takes. A model that would get the form wrong cannot; what it means is still read as ever.

use serde_json::{Value, json};

use super::{ANSWER, Contract, Signals, asked, bare_form, envelope};
use crate::tool::{ToolChoice, ToolDefinition};

/// The schema of a whole reply; `None` where the reply is prose, or calls travel beside it.
pub(super) fn of(
    contract: &Contract,
    signals: Signals,
    tools: &[&ToolDefinition],
    choice: ToolChoice,
) -> Option<Value> {
    if contract.is_enveloped(signals) {
        let answer = match contract {
            Contract::Text => json!({"type": "string"}),
            Contract::Typed(descriptor) => inner(&asked(descriptor, signals).offered()),
        };
        let reply = object(json!({(envelope::FINAL_ANSWER): {"const": true}, (ANSWER): answer}));
        if tools.is_empty() {
            return Some(reply);
        }
        let calls: Vec<Value> = tools.iter().map(|tool| call(tool)).collect();
        let calls = json!({"type": "array", "minItems": 1, "items": {"anyOf": calls}});
        let calls =
            object(json!({(envelope::FINAL_ANSWER): {"const": false}, (envelope::TOOL_CALLS): calls}));
        return Some(match choice {
            ToolChoice::Auto => json!({"anyOf": [reply, calls]}),
            ToolChoice::None => reply,
            ToolChoice::Required => calls,
        });
    }
    match contract {
        Contract::Typed(descriptor) if !signals.has_tools => {
            serde_json::from_str(&bare_form(descriptor, signals).offered()).ok()
        }
        Contract::Typed(_) | Contract::Text => None,
    }
}

fn call(tool: &ToolDefinition) -> Value {
    let input = tool.schema.as_deref().map_or_else(|| json!({"type": "object"}), inner);
    object(json!({(envelope::NAME): {"const": tool.name}, (envelope::INPUT): input}))
}

/// A schema inside another one. One with definitions of its own points at the root, where they
/// would not be: there the shape is left open, and the reading of the reply says what is wrong.
fn inner(schema: &str) -> Value {
    match serde_json::from_str::<Value>(schema) {
        Ok(schema) if schema.get("$defs").is_none() => schema,
        Ok(_) | Err(_) => json!({}),
    }
}

/// An object that must have each of these properties and no other.
fn object(properties: Value) -> Value {
    let required: Vec<&String> = properties.as_object().into_iter().flatten().map(|(name, _)| name).collect();
    json!({"type": "object", "required": required, "properties": properties, "additionalProperties": false})
}

#[cfg(test)]
mod tests;
