//! What is said about a place beside its kind: what it means, examples, the values of an enum, and
//! the project's own keywords.

use serde_json::{Map, Value};

use super::{SchemaError, unsupported};
use crate::{
    artifact::is_alias,
    schema::{ARTIFACT_KEYWORD, IGNORE_KEYWORD, Node, SUMMARIZE_KEYWORD, Shape},
    summarize::{Summarizable, SummarySize},
};

/// The values of an enum.
pub(super) struct Values {
    pub(super) texts: Vec<String>,
    pub(super) nullable: bool,
}

/// The texts that `enum` or `const` lists; `None` when something else than text or null is listed.
pub(super) fn values(schema: &Map<String, Value>) -> Option<Values> {
    let listed = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice);
    let listed = listed.or_else(|| schema.get("const").map(std::slice::from_ref))?;
    let texts = texts_of(listed);
    let n_null = listed.iter().filter(|value| value.is_null()).count();
    let is_whole = texts.len() + n_null == listed.len() && !texts.is_empty();
    is_whole.then_some(Values { texts, nullable: n_null > 0 })
}

/// The node of an enum whose variants are alternatives; `None` when one of them is no text. What
/// is said about single ones becomes part of the description.
pub(super) fn variants(alternatives: &[&Value]) -> Option<Node> {
    let mut texts = Vec::new();
    let mut lines = Vec::new();
    for alternative in alternatives {
        let found = values(alternative.as_object()?).filter(|values| !values.nullable)?.texts;
        if let (Some(said), [only]) = (description(alternative.as_object()?), &found[..]) {
            lines.push(format!("{only}: {said}"));
        }
        texts.extend(found);
    }
    let description = (!lines.is_empty()).then(|| lines.join("\n"));
    (!texts.is_empty()).then(|| Node { shape: Shape::Enum(texts), description, ..Node::default() })
}

/// Adds what `schema` says about `node`. What a place says goes before what its type says.
pub(super) fn annotate(node: &mut Node, schema: &Map<String, Value>, place: &str) -> Result<(), SchemaError> {
    if let Some(said) = description(schema) {
        // The values of an enum and the length of a list are known from the kind alone.
        let is_derived =
            matches!(node.shape, Shape::Enum(_) | Shape::Array(_)) && !schema.contains_key("$ref");
        let derived = node.description.take().filter(|_| is_derived);
        node.description =
            Some(derived.map_or_else(|| said.to_owned(), |derived| format!("{said}\n{derived}")));
    }
    if let Some(Value::Array(examples)) = schema.get("examples") {
        node.examples.clone_from(examples);
    }
    if let Some(keyword) = schema.get(SUMMARIZE_KEYWORD) {
        let keyword = keyword.as_object().and_then(summarizable);
        let malformed = || {
            unsupported(
                place,
                format!(
                    "has a {SUMMARIZE_KEYWORD} that is not {{hint?: text, size?: brief|short|paragraphs, \
                     threshold?: integer, llm_safe?: boolean, static_summary?: text}}"
                ),
            )
        };
        node.summarizable = Some(keyword.ok_or_else(malformed)?);
    }
    node.ignored |= schema.get(IGNORE_KEYWORD) == Some(&Value::Bool(true));
    if let Some(alias) = schema.get(ARTIFACT_KEYWORD) {
        let alias = alias.as_str().filter(|alias| is_alias(alias));
        let alias =
            alias.ok_or_else(|| unsupported(place, "has an alias that is not words joined by colons"))?;
        wrap(node, alias, place)?;
    }
    Ok(())
}

/// Makes an artifact of an object. A reference stays: it means the artifact further up.
fn wrap(node: &mut Node, alias: &str, place: &str) -> Result<(), SchemaError> {
    match &node.shape {
        Shape::Reference(_) | Shape::Artifact { .. } => Ok(()),
        Shape::Object(_) => {
            let shape = std::mem::take(&mut node.shape);
            let inner = Box::new(Node { shape, ..Node::default() });
            node.shape = Shape::Artifact { alias: alias.to_owned(), inner };
            Ok(())
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
        | Shape::Map(_) => Err(unsupported(place, "is an artifact but no struct")),
    }
}

/// `None` when it says anything but what a summary knows.
fn summarizable(keyword: &Map<String, Value>) -> Option<Summarizable> {
    let mut read = Summarizable::default();
    for (key, value) in keyword {
        match key.as_str() {
            "hint" => read.hint = Some(value.as_str()?.to_owned()),
            "size" => read.size = SummarySize::parse(value.as_str()?)?,
            "threshold" => read.threshold = Some(usize::try_from(value.as_u64()?).ok()?),
            "llm_safe" => read.llm_safe = value.as_bool()?,
            "static_summary" => read.static_summary = Some(value.as_str()?.to_owned()),
            _ => return None,
        }
    }
    Some(read)
}

fn description(schema: &Map<String, Value>) -> Option<&str> {
    schema.get("description").and_then(Value::as_str).filter(|said| !said.trim().is_empty())
}

fn texts_of(listed: &[Value]) -> Vec<String> {
    listed.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect()
}
