//! The words for what may stand in a place, and for what was found there instead.

use serde_json::Value;

use crate::schema::{ARTIFACT_REF, Node, Shape};

/// What may stand in a place.
pub(super) fn accepted(node: &Node) -> String {
    match &node.shape {
        Shape::Any => "any value".into(),
        Shape::String => "text".into(),
        Shape::Date => "a date such as 2024-03-01".into(),
        Shape::DateTime => "a date and time such as 2024-03-01T12:00:00Z".into(),
        Shape::Integer { min, max } => format!("a whole number from {min} to {max}"),
        Shape::Number => "a number".into(),
        Shape::Boolean => "true or false".into(),
        Shape::Enum(values) => format!("one of {}", values.join(", ")),
        Shape::Array(_) => "a list".into(),
        Shape::Map(_) => "an object with values of one kind".into(),
        Shape::Object(object) if object.name.is_empty() => "an object".into(),
        Shape::Object(object) => format!("an object of the type {}", object.name),
        Shape::Reference(name) => format!("an object of the type {name}"),
        Shape::Artifact { alias, .. } => {
            format!("an object with the {ARTIFACT_REF} of an artifact of the type {alias}")
        }
    }
}

/// What a value is, without the value.
pub(super) fn found(value: &Value, node: &Node) -> &'static str {
    match (value, &node.shape) {
        (Value::String(_), Shape::Enum(_)) => "another text",
        (Value::String(_), Shape::Date | Shape::DateTime) => "a text that is no such date",
        (Value::String(_), Shape::Integer { .. } | Shape::Number | Shape::Boolean) => {
            "a text of another meaning"
        }
        (Value::Number(_), Shape::Integer { .. }) => "another number",
        (Value::Null, _) => "nothing",
        (Value::Bool(_), _) => "true or false",
        (Value::Number(_), _) => "a number",
        (Value::String(_), _) => "text",
        (Value::Array(_), _) => "a list",
        (Value::Object(_), _) => "an object",
    }
}
