//! Schemas that nobody wrote. `PROPTEST_CASES` says how many are tried.

use proptest::{collection::btree_map, prelude::*, sample::select};

use super::*;

/// Anything made of the words of a schema, right or wrong.
fn schema() -> impl Strategy<Value = Value> {
    const KEYWORDS: &[&str] = &[
        "type",
        "title",
        "properties",
        "required",
        "items",
        "prefixItems",
        "additionalProperties",
        "anyOf",
        "oneOf",
        "allOf",
        "enum",
        "const",
        "$ref",
        "$defs",
        "description",
        "examples",
        "format",
        "minimum",
        "maximum",
        "a",
        "A",
        "A2",
        ARTIFACT_KEYWORD,
        SUMMARIZE_KEYWORD,
        IGNORE_KEYWORD,
    ];
    const TEXTS: &[&str] = &[
        "object",
        "string",
        "integer",
        "array",
        "null",
        "a",
        "A",
        "#",
        "#/$defs/A",
        "#/$defs/a",
        "#/properties/a",
        "int32",
        "date",
        "link",
    ];
    let leaf = prop_oneof![
        4 => select(TEXTS).prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        let members = btree_map(select(KEYWORDS), inner.clone(), 0..6);
        prop_oneof![
            4 => members.prop_map(|members| Value::Object(members.into_iter().map(owned).collect())),
            1 => proptest::collection::vec(inner, 0..4).prop_map(Value::from),
        ]
    })
}

fn owned((key, value): (&str, Value)) -> (String, Value) {
    (key.to_owned(), value)
}

/// Examples are data, whatever their keys are called.
fn without_examples(schema: Value) -> Value {
    match schema {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(key, _)| key != "examples");
            Value::Object(kept.map(|(key, value)| (key, without_examples(value))).collect())
        }
        Value::Array(items) => items.into_iter().map(without_examples).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema,
    }
}

proptest! {
    #[test]
    fn every_schema_is_described_or_refused_and_a_description_is_written_in_json(schema in schema()) {
        if let Ok(descriptor) = Descriptor::from_schema(&schema) {
            for text in [descriptor.offered(), descriptor.json_schema(), descriptor.notation()] {
                prop_assert!(serde_json::from_str::<Value>(&text).is_ok(), "{}", text);
            }
            let offered = serde_json::from_str(&descriptor.offered()).unwrap();
            prop_assert!(!without_examples(offered).to_string().contains(KEYWORD_PREFIX));
        }
        let (text, is_understood) = offered_text(&schema.to_string());
        prop_assert_eq!(is_understood, schema.is_object());
        prop_assert_eq!(offered_text(&text).0, text, "cut once is cut");
    }
}
