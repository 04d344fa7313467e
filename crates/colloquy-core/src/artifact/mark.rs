//! Marked JSON and the compact form in which the registry keeps a value.
//!
//! In the compact form an artifact inside is `{"$artifact":{"ref":…}}`, so that its bytes exist
//! once. Data that only looks like a mark is kept apart as `{"$artifact":{"data":…}}` and comes
//! back as it was: no data can become an artifact by being stored.

use serde_json::{Map, Value, json};

use super::{ArtifactRef, MARK, is_alias};

const REF: &str = "ref";
const VALUE: &str = "value";
const DATA: &str = "data";

/// An artifact in marked JSON, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark<'a> {
    /// The alias of its type.
    pub alias: &'a str,
    /// Its reference, of the same alias; `None` before it is registered.
    pub reference: Option<ArtifactRef>,
    /// What it holds, marked as well.
    pub value: &'a Value,
}

impl<'a> Mark<'a> {
    /// The mark that `value` is; `None` for data, and for what only looks like a mark.
    pub fn of(value: &'a Value) -> Option<Self> {
        let body = body_of(value)?.as_object()?;
        let (alias, value) = (body.get("alias")?.as_str()?, body.get(VALUE)?);
        let reference = match body.get(REF)? {
            Value::Null => None,
            Value::String(written) => {
                Some(ArtifactRef::parse(written).filter(|reference| reference.alias() == alias)?)
            }
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => return None,
        };
        (body.len() == 3 && is_alias(alias)).then_some(Self { alias, reference, value })
    }
}

/// What stands under the key of a mark, if that is the only one.
fn body_of(value: &Value) -> Option<&Value> {
    let members = value.as_object()?;
    if members.len() == 1 { members.get(MARK) } else { None }
}

/// The full form.
pub(super) fn full(reference: &ArtifactRef, value: Value) -> Value {
    // Moved into its place: the macro copies what it is given.
    let mut body = json!({ "alias": reference.alias(), REF: reference.as_str() });
    body[VALUE] = value;
    under(MARK, body)
}

/// The value inside a mark, to be changed.
pub(super) fn value_mut(marked: &mut Value) -> &mut Value {
    &mut marked[MARK][VALUE]
}

/// Writes the reference into a mark.
pub(super) fn set_reference(marked: &mut Value, reference: &ArtifactRef) {
    marked[MARK][REF] = reference.as_str().into();
}

/// The compact form of marked JSON in which every artifact has a reference.
pub(super) fn compact(value: &Value) -> Value {
    if let Some(Mark { reference: Some(reference), .. }) = Mark::of(value) {
        return json!({ MARK: { REF: reference.as_str() } });
    }
    if let Some(data) = body_of(value) {
        return under(MARK, under(DATA, compact(data)));
    }
    map(value, &mut |inner| Some(compact(inner))).expect("BUG: every value has a compact form")
}

/// Undoes [`compact`], with `nested` in the place of each artifact inside. `None` when that gives
/// `None`, or for what [`compact`] did not write.
pub(super) fn expand(value: &Value, nested: &mut dyn FnMut(&ArtifactRef) -> Option<Value>) -> Option<Value> {
    let Some(body) = body_of(value) else {
        return map(value, &mut |inner| expand(inner, nested));
    };
    if let Some(data) = body.get(DATA) {
        return Some(under(MARK, expand(data, nested)?));
    }
    nested(&ArtifactRef::parse(body.get(REF)?.as_str()?)?)
}

/// An object of one member.
fn under(key: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), value)]))
}

/// The value with every direct member replaced.
fn map(value: &Value, replace: &mut dyn FnMut(&Value) -> Option<Value>) -> Option<Value> {
    Some(match value {
        Value::Array(items) => Value::Array(items.iter().map(replace).collect::<Option<_>>()?),
        Value::Object(members) => {
            let replaced = members.iter().map(|(key, member)| Some((key.clone(), replace(member)?)));
            Value::Object(replaced.collect::<Option<Map<_, _>>>()?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    })
}

#[cfg(test)]
mod tests;
