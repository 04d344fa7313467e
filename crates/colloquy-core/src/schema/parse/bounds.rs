//! What a schema says about texts, numbers and the lengths of lists.

use serde_json::{Map, Value};

use crate::schema::{Node, Shape};

/// What JSON decoders hold.
const WIDEST: (i128, i128) = (i64::MIN as i128, u64::MAX as i128);

/// A text, or a day or a moment written as one.
pub(super) fn text(schema: &Map<String, Value>) -> Shape {
    match schema.get("format").and_then(Value::as_str) {
        Some("date") => Shape::Date,
        Some("date-time") => Shape::DateTime,
        Some(_) | None => Shape::String,
    }
}

/// A whole number in the range of its machine type, or the narrower one that its author gave.
pub(super) fn integer(schema: &Map<String, Value>) -> Shape {
    let format = schema.get("format").and_then(Value::as_str);
    let (least, most) = match format {
        Some("int8") => (i8::MIN.into(), i8::MAX.into()),
        Some("uint8") => (0, u8::MAX.into()),
        Some("int16") => (i16::MIN.into(), i16::MAX.into()),
        Some("uint16") => (0, u16::MAX.into()),
        Some("int32") => (i32::MIN.into(), i32::MAX.into()),
        Some("uint32") => (0, u32::MAX.into()),
        Some("uint64" | "uint" | "uint128") => (0, WIDEST.1),
        Some(_) | None => (WIDEST.0, i64::MAX.into()),
    };
    let bound = |key: &str, otherwise: i128| {
        let said = schema.get(key).and_then(Value::as_number).and_then(serde_json::Number::as_i128);
        said.map_or(otherwise, |said| said.clamp(WIDEST.0, WIDEST.1))
    };
    Shape::Integer { min: bound("minimum", least), max: bound("maximum", most) }
}

/// What the items of a tuple have in common, and the sentence that says what stands where.
pub(super) fn tuple(mut kinds: Vec<Node>) -> (Node, String) {
    let words: Vec<&str> = kinds.iter().map(|node| word(&node.shape)).collect();
    let sentence = format!("Exactly {} values, in this order: {}.", words.len(), words.join(", "));
    let is_uniform = kinds.windows(2).all(|pair| pair[0] == pair[1]);
    let item = if is_uniform { kinds.pop() } else { None };
    (item.unwrap_or_default(), sentence)
}

/// The sentence that says how long a list must be, if it must.
pub(super) fn length(schema: &Map<String, Value>) -> Option<String> {
    let bound = |key: &str| schema.get(key).and_then(Value::as_u64);
    match (bound("minItems"), bound("maxItems")) {
        (Some(least), Some(most)) if least == most => Some(format!("Exactly {least} values.")),
        (Some(least), Some(most)) => Some(format!("{least} to {most} values.")),
        (Some(least), None) => Some(format!("At least {least} values.")),
        (None, Some(most)) => Some(format!("At most {most} values.")),
        (None, None) => None,
    }
}

fn word(shape: &Shape) -> &str {
    match shape {
        Shape::Any => "any value",
        Shape::String | Shape::Enum(_) => "text",
        Shape::Date => "date",
        Shape::DateTime => "date-time",
        Shape::Integer { .. } => "integer",
        Shape::Number => "number",
        Shape::Boolean => "boolean",
        Shape::Array(_) => "list",
        Shape::Map(_) | Shape::Artifact { .. } => "object",
        Shape::Object(object) if object.name.is_empty() => "object",
        Shape::Object(object) => &object.name,
        Shape::Reference(name) => name,
    }
}
