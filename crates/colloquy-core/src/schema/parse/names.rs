//! The names of types: found in references, and refused where two types have one.

use std::{collections::BTreeMap, ptr};

use serde_json::{Map, Value};

use super::SchemaError;

/// What each name was given to.
pub(super) struct Names<'a> {
    given: BTreeMap<&'a str, &'a Map<String, Value>>,
}

impl<'a> Names<'a> {
    /// Refuses definitions that `schemars` had to number because their simple names are the same.
    pub(super) fn of(root: &'a Value) -> Result<Self, SchemaError> {
        let definitions = ["$defs", "definitions"].into_iter().find_map(|key| root.get(key)?.as_object());
        let title = root.get("title").and_then(Value::as_str);
        let find = |name: &str| {
            let defined = definitions.and_then(|definitions| definitions.get(name));
            defined.or_else(|| (title == Some(name)).then_some(root))
        };
        for (name, second) in definitions.into_iter().flatten() {
            let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
            if let (true, Some(first)) = (stem.len() < name.len(), find(stem)) {
                return Err(duplicate(stem, first, second));
            }
        }
        Ok(Self { given: BTreeMap::new() })
    }

    /// Notes that an object has that name.
    pub(super) fn note(&mut self, name: &'a str, schema: &'a Map<String, Value>) -> Result<(), SchemaError> {
        if name.is_empty() {
            return Ok(());
        }
        let first = *self.given.entry(name).or_insert(schema);
        let is_same = ptr::eq(first, schema) || first.get("properties") == schema.get("properties");
        if is_same { Ok(()) } else { Err(duplicate(name, &first.clone().into(), &schema.clone().into())) }
    }
}

/// The name of the type that a reference leads to: that of the definition, the title of the root.
pub(super) fn of_reference<'a>(reference: &'a str, root: &'a Value) -> &'a str {
    match reference.rsplit_once('/') {
        Some((_, name)) => name,
        None => root.get("title").and_then(Value::as_str).unwrap_or_default(),
    }
}

fn duplicate(name: &str, first: &Value, second: &Value) -> SchemaError {
    SchemaError::DuplicateName { name: name.to_owned(), first: outline(first), second: outline(second) }
}

/// A type in few words: its fields or its values.
fn outline(schema: &Value) -> String {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        return format!("the fields {}", properties.keys().cloned().collect::<Vec<_>>().join(", "));
    }
    match schema.get("enum").and_then(Value::as_array) {
        Some(values) => {
            format!("the values {}", values.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "))
        }
        None => format!("a value of type {}", schema.get("type").and_then(Value::as_str).unwrap_or("any")),
    }
}
