//! Schemas that a program wrote by hand: cut to what a model is offered, and otherwise left as
//! they are, whatever they say (reference § 5).

use serde_json::{Map, Value, json};

use super::{ARTIFACT_KEYWORD, ARTIFACT_REF, KEYWORD_PREFIX, json::reference_schema};

/// The schema text that a model is offered, and whether `schema` was understood: artifacts are cut
/// to their required reference, the project's keywords stripped. One that is not understood is
/// offered unchanged, which is worth a warning; one that has nothing to cut keeps its bytes.
pub fn offered_text(schema: &str) -> (String, bool) {
    let parsed = serde_json::from_str(schema).ok().filter(|value| matches!(value, Value::Object(_)));
    let Some(mut offered) = parsed else { return (schema.to_owned(), false) };
    let whole = offered.clone();
    cut(&mut offered);
    let text = if offered == whole { schema.to_owned() } else { offered.to_string() };
    (text, true)
}

fn cut(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(alias) = members.get(ARTIFACT_KEYWORD).and_then(Value::as_str) {
                let alias = alias.to_owned();
                keep_reference(members, &alias);
            }
            members.retain(|key, _| !key.starts_with(KEYWORD_PREFIX));
            members.values_mut().for_each(cut);
        }
        Value::Array(items) => items.iter_mut().for_each(cut),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Of an artifact's place a model is told its name, what it is for, and how to select one. On a
/// list the keyword is about its items.
fn keep_reference(members: &mut Map<String, Value>, alias: &str) {
    if let Some(Value::Object(items)) = members.get_mut("items") {
        keep_reference(items, alias);
        return;
    }
    members.retain(|key, _| matches!(key.as_str(), "title" | "description"));
    members.insert("type".into(), "object".into());
    members.insert("properties".into(), json!({ ARTIFACT_REF: reference_schema(alias) }));
    members.insert("required".into(), json!([ARTIFACT_REF]));
}
