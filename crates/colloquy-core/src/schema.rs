//! One description of a type, rendered in two ways: as JSON Schema (2020-12) for tools and for
//! publication, and in the `@` notation for response contracts (reference § 8).
//!
//! A description is read off the JSON Schema that `schemars` generates for a Rust type, with this
//! project's own keywords (`x-colloquy-…`) for what that schema does not say. What is rendered is
//! text, because its bytes are part of a cached prefix and its order is the order of the type.

mod json;
mod notation;
mod offered;
mod parse;
mod text;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::summarize::Summarizable;

pub use offered::offered_text;

/// Before the project's own keywords; all of them are stripped from what a model is offered.
pub const KEYWORD_PREFIX: &str = "x-colloquy-";
/// Marks an artifact's place: its alias.
pub const ARTIFACT_KEYWORD: &str = "x-colloquy-artifact";
/// Marks a text that may be summarised: `{hint?, size?, threshold?, llm_safe?, static_summary?}`.
pub const SUMMARIZE_KEYWORD: &str = "x-colloquy-summarize";
/// Marks a field that is left out of what a model reads.
pub const IGNORE_KEYWORD: &str = "x-colloquy-ignore";
/// The member by which a model selects an artifact.
pub const ARTIFACT_REF: &str = "artifact_ref";
/// Most places in one description. Every use of a type is described in full, so that a few types
/// that hold each other twice can grow without bound.
pub const NODES_MAX: usize = 10_000;

/// The description of a type.
#[derive(Debug, Clone, PartialEq)]
pub struct Descriptor {
    /// Its node.
    pub root: Node,
}

/// One place in a type.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Node {
    /// What stands there.
    pub shape: Shape,
    /// What it means.
    pub description: Option<String>,
    /// Values that may stand there.
    pub examples: Vec<Value>,
    /// Whether a text may be summarised.
    pub summarizable: Option<Summarizable>,
    /// Whether a model is not to read it.
    pub ignored: bool,
    /// Whether `null` is accepted.
    pub nullable: bool,
}

/// The kinds of places.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Shape {
    /// Anything.
    #[default]
    Any,
    /// Text.
    String,
    /// A calendar day.
    Date,
    /// A moment.
    DateTime,
    /// A whole number in a range, never wider than what JSON decoders hold: `i64::MIN..=u64::MAX`.
    Integer {
        /// Smallest.
        min: i128,
        /// Largest.
        max: i128,
    },
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// One of these texts.
    Enum(Vec<String>),
    /// A list of one kind.
    Array(Box<Node>),
    /// A map from text to one kind.
    Map(Box<Node>),
    /// Named fields.
    Object(Object),
    /// A type that is being described further up: its name.
    Reference(String),
    /// An artifact of that alias; its content as `inner`.
    Artifact {
        /// Its alias.
        alias: String,
        /// What it holds.
        inner: Box<Node>,
    },
}

/// Named fields.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Object {
    /// The type's simple name; empty for what has none.
    pub name: String,
    /// The required ones in the order of the type, then the others in the order of the schema
    /// (`schemars` sorts properties, so that theirs in the type is not known).
    pub fields: Vec<Field>,
}

/// One field.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name on the wire.
    pub name: String,
    /// Whether it must be there.
    pub required: bool,
    /// What stands there.
    pub node: Node,
}

/// Why a type cannot be described.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// Two different types of one name.
    #[error(
        "two different types are both named {name}: one holds {first}, the other {second}; give one of them \
         another name, such as by #[schemars(rename = \"…\")]"
    )]
    DuplicateName {
        /// The name.
        name: String,
        /// One of them, told apart by what it holds.
        first: String,
        /// The other.
        second: String,
    },
    /// The schema says something that no description can hold.
    #[error("{place} {why}")]
    Unsupported {
        /// Where.
        place: String,
        /// What.
        why: String,
    },
}

impl Descriptor {
    /// Reads the schema that `schemars` generated. Fails for what a model could not be told of
    /// without loss: a choice between several kinds, two types of one name.
    pub fn from_schema(schema: &Value) -> Result<Self, SchemaError> {
        parse::descriptor(schema)
    }

    /// The whole JSON Schema as text, artifacts in full and the project's keywords kept.
    pub fn json_schema(&self) -> String {
        json::schema(self, json::Audience::Everyone)
    }

    /// The JSON Schema a model is offered for a tool's input, as text: artifacts reduced to their
    /// required reference, the project's keywords stripped.
    pub fn offered(&self) -> String {
        json::schema(self, json::Audience::Model)
    }

    /// The `@` notation of a response contract, as text. Artifacts are reduced to their reference.
    pub fn notation(&self) -> String {
        notation::of(&self.root)
    }

    /// The same without the fields of those names at the top.
    #[must_use]
    pub fn without(mut self, left_out: &[&str]) -> Self {
        if let Shape::Object(object) = &mut self.root.shape {
            object.fields.retain(|field| !left_out.contains(&field.name.as_str()));
        }
        self
    }

    /// The simple name of the root type; empty for what has none.
    pub fn name(&self) -> &str {
        match &self.root.shape {
            Shape::Object(object) => &object.name,
            Shape::Artifact { inner, .. } => object_name(inner).unwrap_or_default(),
            Shape::Reference(name) => name,
            Shape::Any
            | Shape::String
            | Shape::Date
            | Shape::DateTime
            | Shape::Integer { .. }
            | Shape::Number
            | Shape::Boolean
            | Shape::Enum(_)
            | Shape::Array(_)
            | Shape::Map(_) => "",
        }
    }

    /// What a [`Shape::Reference`] of each name stands for. The name of what an artifact holds
    /// means the artifact.
    pub fn named(&self) -> BTreeMap<&str, &Node> {
        let mut named = BTreeMap::new();
        note_names(&self.root, &mut named);
        named
    }
}

impl Node {
    /// A place of that shape and meaning.
    pub(crate) fn of(shape: Shape, description: &str) -> Self {
        Self { shape, description: Some(description.to_owned()), ..Self::default() }
    }
}

fn note_names<'a>(node: &'a Node, named: &mut BTreeMap<&'a str, &'a Node>) {
    match &node.shape {
        Shape::Object(object) => {
            named.entry(&object.name).or_insert(node);
            object.fields.iter().for_each(|field| note_names(&field.node, named));
        }
        Shape::Artifact { inner, .. } => {
            if let Some(name) = object_name(inner) {
                named.insert(name, node);
            }
            note_names(inner, named);
        }
        Shape::Array(inner) | Shape::Map(inner) => note_names(inner, named),
        Shape::Any
        | Shape::String
        | Shape::Date
        | Shape::DateTime
        | Shape::Integer { .. }
        | Shape::Number
        | Shape::Boolean
        | Shape::Enum(_)
        | Shape::Reference(_) => {}
    }
}

fn object_name(node: &Node) -> Option<&str> {
    if let Shape::Object(object) = &node.shape { Some(&object.name) } else { None }
}

#[cfg(test)]
mod tests;
