//! Brings a value into the form of a type, along its description.
//!
//! What has one meaning in its place is taken as that; what has none, or several, is refused by
//! path. Properties that the type does not have are dropped, and where the model wrote the notation
//! back, what it describes.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{ERRORS_MAX, ReadError, kind, scalar};
use crate::schema::{ARTIFACT_REF, Descriptor, Node, Object, Shape};

/// The notation's key for the members of an object.
const FIELDS: &str = "@fields";
/// How artifacts are shown to a model.
const SHOWN_REF: &str = "@ref";

struct Coercion<'a> {
    named: BTreeMap<&'a str, &'a Node>,
    /// Where the walk is, such as `cited[1].date`.
    path: String,
    errors: Vec<ReadError>,
}

/// The value in the form of the type, or everything that is wrong with it.
pub(super) fn along(value: Value, descriptor: &Descriptor) -> Result<Value, Vec<ReadError>> {
    let mut coercion = Coercion { named: descriptor.named(), path: String::new(), errors: Vec::new() };
    let value = unwrapped(value, descriptor);
    let value = coercion.value(value, &descriptor.root);
    if coercion.errors.is_empty() { Ok(value) } else { Err(coercion.errors) }
}

/// Takes away the name of the type around a value, and the notation around that.
fn unwrapped(mut value: Value, descriptor: &Descriptor) -> Value {
    let name = descriptor.name();
    let object = if let Shape::Object(object) = &descriptor.root.shape { Some(object) } else { None };
    let has_field =
        |key: &str| object.is_some_and(|object| object.fields.iter().any(|field| field.name == key));
    if name.is_empty() || has_field(name) {
        return value;
    }
    loop {
        match value {
            Value::Object(mut members) if !has_field(FIELDS) && is_echo(&members) => {
                value = members.remove(FIELDS).unwrap_or_default();
            }
            Value::Object(mut members)
                if members.len() == 1 && members.get(name).is_some_and(Value::is_object) =>
            {
                value = members.remove(name).unwrap_or_default();
            }
            Value::Object(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => return value,
        }
    }
}

/// Whether an object is the notation with the members inside.
fn is_echo(members: &Map<String, Value>) -> bool {
    members.get(FIELDS).is_some_and(Value::is_object)
}

impl<'a> Coercion<'a> {
    fn value(&mut self, value: Value, node: &'a Node) -> Value {
        if self.errors.len() >= ERRORS_MAX {
            return Value::Null;
        }
        if scalar::is_absent(&value, &node.shape) {
            if !node.nullable && node.shape != Shape::Any {
                self.missing(node);
            }
            return Value::Null;
        }
        match (&node.shape, value) {
            (Shape::Any, value) => value,
            (Shape::Array(inner), Value::Array(items)) => self.items(items, inner),
            (Shape::Map(inner), Value::Object(members)) => self.entries(members, inner),
            (Shape::Object(object), Value::Object(members)) => self.members(members, object),
            (Shape::Artifact { .. }, Value::Object(members)) => reference(members),
            // The gate reads a bare reference, and judges it.
            (Shape::Artifact { .. }, Value::String(reference)) => Value::String(reference),
            (Shape::Reference(name), value) => match self.named.get(name.as_str()).copied() {
                Some(named) => self.value(value, named),
                None => value,
            },
            (_, value) => match scalar::coerce(&value, &node.shape) {
                Some(value) => value,
                None => self.mistyped(&value, node),
            },
        }
    }

    fn items(&mut self, items: Vec<Value>, inner: &'a Node) -> Value {
        let coerce = |(index, item): (usize, Value)| self.below(&format!("[{index}]"), item, inner);
        items.into_iter().enumerate().map(coerce).collect()
    }

    /// The keys of a map are the model's words, so that a path does not hold them.
    fn entries(&mut self, members: Map<String, Value>, inner: &'a Node) -> Value {
        let coerce = |(key, member): (String, Value)| (key, self.below(".*", member, inner));
        Value::Object(members.into_iter().map(coerce).collect())
    }

    fn members(&mut self, mut members: Map<String, Value>, object: &'a Object) -> Value {
        let has_fields = object.fields.iter().any(|field| field.name == FIELDS);
        while !has_fields && is_echo(&members) {
            let Some(Value::Object(inside)) = members.remove(FIELDS) else { break };
            members = inside;
        }
        let mut kept = Map::new();
        for field in &object.fields {
            let member = members.remove(&field.name);
            let is_absent = member.as_ref().is_none_or(|member| scalar::is_absent(member, &field.node.shape));
            // The decoder has a default for a field that is not there, and none for `null`.
            if !field.required && is_absent && (member.is_none() || !field.node.nullable) {
                continue;
            }
            let place = format!(".{}", field.name);
            let member = match member {
                Some(member) => self.below(&place, member, &field.node),
                None => self.absent(&place, &field.node),
            };
            kept.insert(field.name.clone(), member);
        }
        Value::Object(kept)
    }

    fn below(&mut self, place: &str, value: Value, node: &'a Node) -> Value {
        self.at(place, |coercion| coercion.value(value, node))
    }

    fn at<T>(&mut self, place: &str, go: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        self.path.push_str(if length == 0 { place.trim_start_matches('.') } else { place });
        let result = go(self);
        self.path.truncate(length);
        result
    }

    /// What stands for a required field that is not there.
    fn absent(&mut self, place: &str, node: &'a Node) -> Value {
        if node.shape == Shape::Any && !node.nullable {
            self.at(place, |coercion| coercion.missing(node));
            return Value::Null;
        }
        self.below(place, Value::Null, node)
    }

    fn missing(&mut self, node: &Node) {
        self.errors.push(ReadError::Missing { path: self.place(), accepted: kind::accepted(node) });
    }

    fn mistyped(&mut self, value: &Value, node: &Node) -> Value {
        let (accepted, found) = (kind::accepted(node), kind::found(value, node));
        self.errors.push(ReadError::Mistyped { path: self.place(), accepted, found });
        Value::Null
    }

    fn place(&self) -> String {
        if self.path.is_empty() { "answer".into() } else { self.path.clone() }
    }
}

/// Of an artifact only its reference is read; what the model wrote beside it is not its to write.
fn reference(mut members: Map<String, Value>) -> Value {
    if let Some(Value::Object(inside)) = members.remove(FIELDS) {
        members = inside;
    }
    let reference = [ARTIFACT_REF, SHOWN_REF].into_iter().find_map(|key| members.remove(key));
    let kept = reference.map(|reference| (ARTIFACT_REF.to_owned(), reference));
    Value::Object(kept.into_iter().collect())
}
