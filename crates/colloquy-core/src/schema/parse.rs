//! Reads what `schemars` generates into a description.
//!
//! Types are told apart by the definition they come from, so a walk that meets a definition that
//! it is inside of leaves a reference there. What a description cannot hold is refused by place:
//! a model must never be told less than what its answer is checked against.

mod bounds;
mod keywords;
mod names;

use serde_json::{Map, Value};

use super::{Descriptor, Field, KEYWORD_PREFIX, NODES_MAX, Node, Object, SchemaError, Shape};
use names::Names;

/// The reference of the root to itself.
const ROOT: &str = "#";

struct Reader<'a> {
    root: &'a Value,
    names: Names<'a>,
    /// The definitions that the walk is in, as they are referred to.
    inside: Vec<&'a str>,
    n_nodes: usize,
}

/// A schema without the alternative `null`.
struct Stripped<'a> {
    schema: &'a Map<String, Value>,
    /// Its one type, if it names one.
    type_name: Option<&'a str>,
    nullable: bool,
}

pub(super) fn descriptor(schema: &Value) -> Result<Descriptor, SchemaError> {
    let mut reader = Reader { root: schema, names: Names::of(schema)?, inside: vec![ROOT], n_nodes: 0 };
    let title = schema.get("title").and_then(Value::as_str).unwrap_or_default();
    let place = if title.is_empty() { "the type" } else { title };
    Ok(Descriptor { root: reader.node(schema, title, place)? })
}

impl<'a> Reader<'a> {
    /// The node of a schema. `name` is the simple name of its type, `place` where it stands.
    fn node(&mut self, schema: &'a Value, name: &'a str, place: &str) -> Result<Node, SchemaError> {
        self.n_nodes += 1;
        if self.n_nodes > NODES_MAX {
            return Err(unsupported(place, format!("makes the type larger than {NODES_MAX} places")));
        }
        let schema = match schema {
            Value::Object(schema) => schema,
            Value::Bool(true) => return Ok(Node::default()),
            Value::Bool(false) | Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(unsupported(place, "allows no value at all"));
            }
        };
        let mut node = if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            self.referred(reference, place)?
        } else if let Some(alternatives) = alternatives(schema) {
            self.chosen(alternatives, name, place)?
        } else {
            self.plain(schema, name, place)?
        };
        keywords::annotate(&mut node, schema, place)?;
        Ok(node)
    }

    fn referred(&mut self, reference: &'a str, place: &str) -> Result<Node, SchemaError> {
        let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        let target =
            target.ok_or_else(|| unsupported(place, "refers to a type that is not in the schema"))?;
        let name = names::of_reference(reference, self.root);
        if self.inside.contains(&reference) {
            if target.get("properties").is_none() {
                return Err(unsupported(place, "is a list or a map of itself; put it into a struct"));
            }
            return Ok(Node { shape: Shape::Reference(name.to_owned()), ..Node::default() });
        }
        self.inside.push(reference);
        let node = self.node(target, name, place);
        self.inside.pop();
        node
    }

    /// One of several: something or `null`, or the variants of an enum that were described each.
    fn chosen(&mut self, alternatives: &'a [Value], name: &'a str, place: &str) -> Result<Node, SchemaError> {
        let is_null = |schema: &&Value| schema.get("type").is_some_and(|kind| kind == "null");
        let others: Vec<&Value> = alternatives.iter().filter(|schema| !is_null(schema)).collect();
        let nullable = others.len() < alternatives.len();
        if let [only] = others[..] {
            let node = self.node(only, name, place)?;
            return Ok(Node { nullable: nullable || node.nullable, ..node });
        }
        let node = keywords::variants(&others).ok_or_else(|| {
            unsupported(
                place,
                "may be one of several kinds, which a model cannot be told of; use an enum of plain names, or \
                 a struct with optional fields",
            )
        })?;
        Ok(Node { nullable, ..node })
    }

    fn plain(
        &mut self,
        schema: &'a Map<String, Value>,
        name: &'a str,
        place: &str,
    ) -> Result<Node, SchemaError> {
        let Stripped { schema, type_name, nullable } = stripped(schema, place)?;
        let mut node = Node { nullable, ..Node::default() };
        match type_name {
            Some("string") | None if schema.contains_key("enum") || schema.contains_key("const") => {
                let values = keywords::values(schema);
                let values =
                    values.ok_or_else(|| unsupported(place, "must be one of values that are no texts"))?;
                node.nullable |= values.nullable;
                node.shape = Shape::Enum(values.texts);
            }
            Some("string") => node.shape = bounds::text(schema),
            Some("integer") => node.shape = bounds::integer(schema),
            Some("number") => node.shape = Shape::Number,
            Some("boolean") => node.shape = Shape::Boolean,
            Some("null") => node.nullable = true,
            Some("array") => self.array(&mut node, schema, place)?,
            Some("object") => node.shape = self.object(schema, name, place)?,
            None if schema.contains_key("properties") => node.shape = self.object(schema, name, place)?,
            None if ["not", "if", "$dynamicRef"].iter().any(|key| schema.contains_key(*key)) => {
                return Err(unsupported(place, "is described by a condition"));
            }
            None => {}
            Some(_) => return Err(unsupported(place, "is of a type that JSON Schema does not have")),
        }
        Ok(node)
    }

    fn array(
        &mut self,
        node: &mut Node,
        schema: &'a Map<String, Value>,
        place: &str,
    ) -> Result<(), SchemaError> {
        let place = format!("{place}[]");
        let items = if let Some(Value::Array(positions)) = schema.get("prefixItems") {
            let mut kinds = Vec::new();
            for position in positions {
                kinds.push(self.node(position, "", &place)?);
            }
            let (item, kinds) = bounds::tuple(kinds);
            node.description = Some(kinds);
            item
        } else {
            node.description = bounds::length(schema);
            match schema.get("items") {
                Some(items) => self.node(items, "", &place)?,
                None => Node::default(),
            }
        };
        node.shape = Shape::Array(Box::new(items));
        Ok(())
    }

    fn object(
        &mut self,
        schema: &'a Map<String, Value>,
        name: &'a str,
        place: &str,
    ) -> Result<Shape, SchemaError> {
        let properties = schema.get("properties").and_then(Value::as_object);
        if let Some(values) = free_members(schema) {
            if properties.is_some() {
                return Err(unsupported(place, "has both named fields and free ones"));
            }
            return Ok(Shape::Map(Box::new(self.node(values, "", &format!("{place}.*"))?)));
        }
        // An object in the middle of another may have no name but this.
        let name = if name.is_empty() { title(schema) } else { name };
        let required: Vec<&str> = texts(schema.get("required")).collect();
        let mut fields = Vec::new();
        for (key, schema) in in_order(properties, &required) {
            if key.starts_with(KEYWORD_PREFIX) {
                // What is stripped of a schema by that name would take the field with it.
                return Err(unsupported(
                    place,
                    format!("has a field named {key}; names that begin so are keywords"),
                ));
            }
            let node = self.node(schema, "", &format!("{place}.{key}"))?;
            fields.push(Field { name: key.to_owned(), required: required.contains(&key), node });
        }
        self.names.note(name, schema)?;
        Ok(Shape::Object(Object { name: name.to_owned(), fields }))
    }
}

/// The alternatives of a schema that is nothing else.
fn alternatives(schema: &Map<String, Value>) -> Option<&[Value]> {
    let found =
        ["anyOf", "oneOf", "allOf"].into_iter().find_map(|key| Some((key, schema.get(key)?.as_array()?)));
    let (key, alternatives) = found?;
    // All of several is no choice; all of one is a wrapper.
    let is_wrapper = key != "allOf" || alternatives.len() == 1;
    (is_wrapper && !schema.contains_key("properties")).then_some(alternatives)
}

/// Takes `null` out of a list of types.
fn stripped<'a>(schema: &'a Map<String, Value>, place: &str) -> Result<Stripped<'a>, SchemaError> {
    if ["anyOf", "oneOf", "allOf"].iter().any(|key| schema.contains_key(*key)) {
        return Err(unsupported(
            place,
            "has parts that depend on each other; use a struct with optional fields, or an enum of plain names",
        ));
    }
    let kinds = schema.get("type");
    if let Some(Value::Array(_)) = kinds {
        let (null, others): (Vec<&str>, Vec<&str>) = texts(kinds).partition(|kind| *kind == "null");
        let [only] = others[..] else {
            return Err(unsupported(place, "may be of several types; use one of them"));
        };
        return Ok(Stripped { schema, type_name: Some(only), nullable: !null.is_empty() });
    }
    Ok(Stripped { schema, type_name: kinds.and_then(Value::as_str), nullable: false })
}

/// What the members of a map are.
fn free_members(schema: &Map<String, Value>) -> Option<&Value> {
    // Keys that are numbers have a pattern instead.
    let by_pattern = schema.get("patternProperties").and_then(Value::as_object);
    let by_pattern = by_pattern.and_then(|patterns| patterns.values().next());
    by_pattern.or_else(|| schema.get("additionalProperties").filter(|values| **values != Value::Bool(false)))
}

/// The required properties in the order in which they are required, which is that of the type, and
/// then the others.
fn in_order<'a>(properties: Option<&'a Map<String, Value>>, required: &[&str]) -> Vec<(&'a str, &'a Value)> {
    let Some(properties) = properties else { return Vec::new() };
    let entry = |key: &&str| properties.get_key_value(*key).map(|(key, schema)| (key.as_str(), schema));
    let first = required.iter().filter_map(entry);
    let others = properties.iter().map(|(key, schema)| (key.as_str(), schema));
    first.chain(others.filter(|(key, _)| !required.contains(key))).collect()
}

fn title(schema: &Map<String, Value>) -> &str {
    schema.get("title").and_then(Value::as_str).unwrap_or_default()
}

fn texts(value: Option<&Value>) -> impl Iterator<Item = &str> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn unsupported(place: &str, why: impl Into<String>) -> SchemaError {
    SchemaError::Unsupported { place: place.to_owned(), why: why.into() }
}
