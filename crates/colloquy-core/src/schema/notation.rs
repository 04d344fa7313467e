//! A description in the `@` notation, the form in which answers are asked for (reference § 8.2).
//!
//! It has no word of JSON Schema and none of the project's keywords. What it means is explained to
//! the model by [`crate::contract::LEGEND`].

use super::{
    ARTIFACT_REF, Node, Shape,
    json::{published, reference_description},
    text::ObjectText,
};

/// Widest range of a whole number that is spelt out: any wider one is a machine's.
const RANGE_MAX: i128 = u32::MAX as i128;

/// The notation of one place.
pub(super) fn of(node: &Node) -> String {
    place(node, false)
}

fn place(node: &Node, is_required: bool) -> String {
    let mut text = ObjectText::new();
    text.put("@type", type_of(node));
    if let Some(description) = &node.description {
        text.put("@description", description.as_str());
    }
    if is_required {
        text.put("@required", true);
    }
    if !node.examples.is_empty() {
        text.put("@examples", published(node));
    }
    let element = element(node);
    if let Shape::Enum(values) = &element.shape {
        text.put("@values", values.clone());
    }
    if let Some(fields) = fields(element) {
        text.raw("@fields", &fields);
    }
    text.finish()
}

/// What lists and maps hold at last; the place itself for anything else.
fn element(node: &Node) -> &Node {
    let mut node = node;
    while let Shape::Array(inner) | Shape::Map(inner) = &node.shape {
        node = inner;
    }
    node
}

fn type_of(node: &Node) -> String {
    match &node.shape {
        Shape::Any => "any".into(),
        Shape::String => "string".into(),
        Shape::Date => "date".into(),
        Shape::DateTime => "date-time".into(),
        Shape::Integer { min, max } if max - min < RANGE_MAX => format!("integer from {min} to {max}"),
        Shape::Integer { .. } => "integer".into(),
        Shape::Number => "number".into(),
        Shape::Boolean => "boolean".into(),
        Shape::Enum(_) => "enum".into(),
        Shape::Array(inner) => format!("array of {}", type_of(inner)),
        Shape::Map(inner) => format!("map from string to {}", type_of(inner)),
        Shape::Object(object) if object.name.is_empty() => "object".into(),
        Shape::Object(object) => object.name.clone(),
        Shape::Reference(name) => name.clone(),
        Shape::Artifact { inner, .. } => type_of(inner),
    }
}

fn fields(node: &Node) -> Option<String> {
    let mut fields = ObjectText::new();
    match &node.shape {
        Shape::Object(object) => {
            object
                .fields
                .iter()
                .for_each(|field| fields.raw(&field.name, &place(&field.node, field.required)));
        }
        Shape::Artifact { alias, .. } => {
            let reference = Node::of(Shape::String, &reference_description(alias));
            fields.raw(ARTIFACT_REF, &place(&reference, true));
        }
        Shape::Any
        | Shape::String
        | Shape::Date
        | Shape::DateTime
        | Shape::Integer { .. }
        | Shape::Number
        | Shape::Boolean
        | Shape::Enum(_)
        | Shape::Array(_)
        | Shape::Map(_)
        | Shape::Reference(_) => return None,
    }
    Some(fields.finish())
}
