//! The response contract: how an answer is asked for, read and checked (reference § 7).
//!
//! Where the wire carries tools, an answer is the text of the reply. Where tools are text, the
//! reply is an envelope that holds the answer or the calls. Calls make a reply never final, and
//! nothing that is wrong with an answer keeps the calls beside it from being run and answered.

mod envelope;
mod held;
mod instructions;
mod legend;
mod read;
mod required;

use std::sync::Arc;

use serde_json::Value;

use crate::{
    block::{Block, ToolCall},
    schema::{Descriptor, Field, Shape},
    seat::ToolWire,
    tool::{ToolChoice, ToolDefinition},
};

pub use legend::LEGEND;

/// The field of an envelope and of an answer's type that asks why. It is left out where a reasoning
/// block comes back anyway.
pub const REASONING: &str = "reasoning";
/// Where an answer stands in an envelope, and where one that is no object stands in an object.
const ANSWER: &str = "answer";

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Contract {
    /// Prose.
    Text,
    /// A value of a type.
    Typed(Arc<Descriptor>),
}

/// What decides the form of a contract, the same when it is asked and when it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signals {
    /// How the model is told of tools.
    pub tools: ToolWire,
    /// Whether any tool is declared.
    pub has_tools: bool,
    /// Whether a reasoning block is sure to come back.
    pub thinking_active: bool,
}

/// What a reply comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The answer as the type's decoder takes it; a JSON string for prose. `None` when there is
    /// none yet.
    pub answer: Option<Value>,
    /// The calls, in order; each has an id.
    pub calls: Vec<ToolCall>,
    /// Why, in the model's words; never JSON.
    pub reasoning: String,
    /// Whether the reply ends the question. Never with calls.
    pub is_final: bool,
}

/// What is wrong with a reply, for the model to mend. Never quotes what the model wrote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", violations.join("; "))]
pub struct Refused {
    /// Each one, by path.
    pub violations: Vec<String>,
}

impl Contract {
    /// Whether the reply is an envelope.
    pub fn is_enveloped(&self, signals: Signals) -> bool {
        signals.tools == ToolWire::Text && signals.has_tools
    }

    /// Whether the instructions use the schema notation, so that the legend must be known.
    pub fn uses_notation(&self, signals: Signals) -> bool {
        matches!(self, Self::Typed(_)) || self.is_enveloped(signals)
    }

    /// Whether the reply's text is the answer as it comes, fit to be shown while it is written.
    pub fn streams(&self, signals: Signals) -> bool {
        !self.uses_notation(signals)
    }

    /// What the model is told on the message it answers; `None` for plain prose.
    pub fn instructions(&self, signals: Signals) -> Option<String> {
        instructions::of(self, signals)
    }

    /// What a reply is held to under these signals, for a server that can be held to a schema;
    /// `None` where the reply is prose, or calls travel beside it.
    pub fn reply_schema(
        &self,
        signals: Signals,
        tools: &[&ToolDefinition],
        choice: ToolChoice,
    ) -> Option<Value> {
        held::of(self, signals, tools, choice)
    }

    /// Reads a reply. `is_known` says which tool names are declared: on a text wire a call of an
    /// unknown or missing name is refused, on a native one it is kept and answered by an error.
    pub fn read(
        &self,
        reply: &[Block],
        signals: Signals,
        is_known: &dyn Fn(&str) -> bool,
    ) -> Result<Reading, Refused> {
        read::of(self, reply, signals, is_known)
    }

    /// The text of the turn that asks the model to mend its reply.
    pub fn correction(refused: &Refused) -> String {
        instructions::correction(refused)
    }
}

/// The type as it is asked for: without its own `reasoning` where a reasoning block comes back.
fn asked(descriptor: &Descriptor, signals: Signals) -> Descriptor {
    let is_left_out = left_out_reasoning(descriptor, signals).is_some();
    descriptor.clone().without(if is_left_out { &[REASONING] } else { &[] })
}

/// The type as it is asked for where the reply is nothing else. A reply is an object or a list, so
/// that any other value stands in one.
fn bare_form(descriptor: &Descriptor, signals: Signals) -> Descriptor {
    let asked = asked(descriptor, signals);
    if is_wrapped(&asked) { envelope::wrapper(asked) } else { asked }
}

/// The type's own `reasoning`, if it is left out: only what can be filled in by us.
fn left_out_reasoning(descriptor: &Descriptor, signals: Signals) -> Option<&Field> {
    let Shape::Object(object) = &descriptor.root.shape else { return None };
    let reasoning = object.fields.iter().find(|field| field.name == REASONING)?;
    let can_be_filled =
        !reasoning.required || reasoning.node.nullable || reasoning.node.shape == Shape::String;
    (signals.thinking_active && can_be_filled).then_some(reasoning)
}

/// Whether a type is asked for inside an object.
fn is_wrapped(descriptor: &Descriptor) -> bool {
    match &descriptor.root.shape {
        Shape::String
        | Shape::Date
        | Shape::DateTime
        | Shape::Integer { .. }
        | Shape::Number
        | Shape::Boolean
        | Shape::Enum(_) => true,
        Shape::Any
        | Shape::Array(_)
        | Shape::Map(_)
        | Shape::Object(_)
        | Shape::Reference(_)
        | Shape::Artifact { .. } => descriptor.root.nullable,
    }
}

#[cfg(test)]
mod tests;
