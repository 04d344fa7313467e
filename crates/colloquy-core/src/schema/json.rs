//! A description as JSON Schema 2020-12 (reference § 8.3).
//!
//! Every use of a type is written out in full; only where a type holds itself is there a `$ref`,
//! into the `$defs` of the outermost object. A model sees less than everyone: artifacts as their
//! reference, and none of the project's keywords.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Number, Value, json};

use super::{
    ARTIFACT_KEYWORD, ARTIFACT_REF, Descriptor, IGNORE_KEYWORD, Node, Object, SUMMARIZE_KEYWORD, Shape,
    object_name, text::ObjectText,
};
use crate::summarize::Summarizable;

/// For whom a schema is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    Everyone,
    Model,
}

/// Whether a place says that `null` may stand there. Where a field may be left out, it need not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Null {
    Said,
    Implied,
}

struct Writer {
    audience: Audience,
    /// Types that were referred to.
    referred: BTreeSet<String>,
}

/// The schema of a whole type.
pub(super) fn schema(descriptor: &Descriptor, audience: Audience) -> String {
    let mut writer = Writer { audience, referred: BTreeSet::new() };
    let mut root = writer.node(&descriptor.root, Null::Said);
    let definitions = writer.definitions(&descriptor.named());
    if let Some(definitions) = definitions {
        root.raw("$defs", &definitions);
    }
    root.finish()
}

/// What a model is offered in the place of an artifact of the type `alias`.
pub(super) fn reference_schema(alias: &str) -> Value {
    json!({ "type": "string", "description": reference_description(alias) })
}

/// How a model is told to select an artifact.
pub(super) fn reference_description(alias: &str) -> String {
    format!("Reference of an artifact of the type {alias}, copied as it was shown: «artifact:{alias}~…»")
}

impl Writer {
    /// The definitions of the types that were referred to, and of those that they refer to.
    fn definitions(&mut self, named: &BTreeMap<&str, &Node>) -> Option<String> {
        let mut written: BTreeMap<String, String> = BTreeMap::new();
        while let Some(name) = self.referred.iter().find(|name| !written.contains_key(*name)).cloned() {
            // A description that was cut out of a larger one may refer to what is not in it.
            let node = named.get(name.as_str());
            let definition = node.map_or_else(|| "{}".into(), |node| self.node(node, Null::Implied).finish());
            written.insert(name, definition);
        }
        let mut definitions = ObjectText::new();
        written.iter().for_each(|(name, definition)| definitions.raw(name, definition));
        (!written.is_empty()).then(|| definitions.finish())
    }

    fn node(&mut self, node: &Node, null: Null) -> ObjectText {
        let says_null = null == Null::Said && node.nullable;
        let mut schema = ObjectText::new();
        match &node.shape {
            Shape::Any => {}
            Shape::String => put_type(&mut schema, "string", says_null),
            Shape::Date => {
                put_type(&mut schema, "string", says_null);
                schema.put("format", "date");
            }
            Shape::DateTime => {
                put_type(&mut schema, "string", says_null);
                schema.put("format", "date-time");
            }
            Shape::Integer { min, max } => {
                put_type(&mut schema, "integer", says_null);
                schema.put("minimum", number(*min));
                schema.put("maximum", number(*max));
            }
            Shape::Number => put_type(&mut schema, "number", says_null),
            Shape::Boolean => put_type(&mut schema, "boolean", says_null),
            Shape::Enum(values) => {
                put_type(&mut schema, "string", says_null);
                let mut values: Vec<Value> = values.iter().map(|value| value.as_str().into()).collect();
                values.extend(says_null.then_some(Value::Null));
                schema.put("enum", values);
            }
            Shape::Array(items) => {
                put_type(&mut schema, "array", says_null);
                schema.raw("items", &self.node(items, Null::Said).finish());
            }
            Shape::Map(values) => {
                put_type(&mut schema, "object", says_null);
                let is_any = **values == Node::default();
                let values = if is_any { "true".into() } else { self.node(values, Null::Said).finish() };
                schema.raw("additionalProperties", &values);
            }
            Shape::Object(object) => self.object(&mut schema, object, says_null),
            Shape::Reference(name) => {
                let pointer = format!("#/$defs/{}", name.replace('~', "~0").replace('/', "~1"));
                self.referred.insert(name.clone());
                if says_null {
                    schema.put("anyOf", vec![json!({ "$ref": pointer }), json!({ "type": "null" })]);
                } else {
                    schema.put("$ref", pointer);
                }
            }
            Shape::Artifact { alias, inner } => self.artifact(&mut schema, alias, inner, says_null),
        }
        self.annotate(&mut schema, node);
        schema
    }

    fn object(&mut self, schema: &mut ObjectText, object: &Object, says_null: bool) {
        if !object.name.is_empty() {
            schema.put("title", object.name.as_str());
        }
        put_type(schema, "object", says_null);
        let mut properties = ObjectText::new();
        for field in &object.fields {
            let null = if field.required { Null::Said } else { Null::Implied };
            properties.raw(&field.name, &self.node(&field.node, null).finish());
        }
        schema.raw("properties", &properties.finish());
        let required = object.fields.iter().filter(|field| field.required);
        schema.put("required", required.map(|field| field.name.as_str().into()).collect::<Vec<Value>>());
    }

    fn artifact(&mut self, schema: &mut ObjectText, alias: &str, inner: &Node, says_null: bool) {
        if self.audience == Audience::Everyone {
            if let Shape::Object(object) = &inner.shape {
                self.object(schema, object, says_null);
            }
            schema.put(ARTIFACT_KEYWORD, alias);
            return;
        }
        if let Some(name) = object_name(inner).filter(|name| !name.is_empty()) {
            schema.put("title", name);
        }
        put_type(schema, "object", says_null);
        let mut properties = ObjectText::new();
        properties.put(ARTIFACT_REF, reference_schema(alias));
        schema.raw("properties", &properties.finish());
        schema.put("required", vec![Value::from(ARTIFACT_REF)]);
    }

    fn annotate(&self, schema: &mut ObjectText, node: &Node) {
        if let Some(description) = &node.description {
            schema.put("description", description.as_str());
        }
        if !node.examples.is_empty() {
            schema.put("examples", published(node));
        }
        if self.audience == Audience::Everyone {
            if let Some(summarizable) = &node.summarizable {
                schema.put(SUMMARIZE_KEYWORD, keyword(summarizable));
            }
            if node.ignored {
                schema.put(IGNORE_KEYWORD, true);
            }
        }
    }
}

/// The examples of a place, a number for each that stands for one.
pub(super) fn published(node: &Node) -> Vec<Value> {
    let is_numeric = matches!(node.shape, Shape::Integer { .. } | Shape::Number);
    let publish = |example: &Value| {
        let parsed = example.as_str().filter(|_| is_numeric).and_then(|text| text.trim().parse::<i64>().ok());
        parsed.map_or_else(|| example.clone(), Value::from)
    };
    node.examples.iter().map(publish).collect()
}

fn put_type(schema: &mut ObjectText, name: &str, says_null: bool) {
    if says_null { schema.put("type", vec![name, "null"]) } else { schema.put("type", name) }
}

fn number(integer: i128) -> Number {
    Number::from_i128(integer).expect("BUG: ranges are cut to what JSON decoders hold")
}

fn keyword(field: &Summarizable) -> Value {
    let mut keyword = json!({ "size": field.size.name(), "llm_safe": field.llm_safe });
    let optional = [
        ("hint", field.hint.as_deref().map(Value::from)),
        ("threshold", field.threshold.map(Value::from)),
        ("static_summary", field.static_summary.as_deref().map(Value::from)),
    ];
    for (key, value) in optional {
        if let Some(value) = value {
            keyword[key] = value;
        }
    }
    keyword
}
