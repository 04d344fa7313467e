use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::json;

use super::*;
use crate::schema::{Field, Node, Object, Shape};

mod coercions;
mod properties;

fn described<T: JsonSchema>() -> Descriptor {
    let settings = schemars::generate::SchemaSettings::draft2020_12();
    Descriptor::from_schema(settings.into_generator().into_root_schema_for::<T>().as_value()).unwrap()
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only described")]
struct Answer {
    x: i64,
    note: Option<String>,
}

fn answer(text: &str) -> Result<Value, String> {
    read(text, &described::<Answer>()).map_err(|error| error.to_string())
}

/// Anything at all, to see what the reader makes of a text.
fn anything(text: &str) -> Result<Value, ReadError> {
    read(text, &Descriptor { root: Node::default() })
}

// behaviours: 83
#[test]
fn an_object_in_a_code_fence_with_prose_on_both_sides_is_found() {
    let text = "Here it is:\n```json\n{\"x\": 1}\n```\nI hope this helps.";
    let (json, prose) = split_json_and_prose(text);
    assert_eq!(json, Some("{\"x\": 1}"));
    assert_eq!(prose, "Here it is:\nI hope this helps.");
    assert_eq!(answer(text), Ok(json!({ "x": 1 })));
}

// behaviours: 84
#[test]
fn brackets_inside_texts_do_not_cut_the_span() {
    let text = r#"{"x": 1, "note": "a } b ] c { \" } d"} and so on"#;
    assert_eq!(answer(text), Ok(json!({ "x": 1, "note": "a } b ] c { \" } d" })));
}

// behaviours: 85
#[test]
fn a_stray_closer_before_the_object_is_ignored() {
    assert_eq!(answer("} ] well: {\"x\": 1}"), Ok(json!({ "x": 1 })));
}

#[test]
fn the_last_span_is_read_and_a_citation_behind_it_is_none() {
    assert_eq!(split_json_and_prose("{\"x\": 1} or {\"x\": 2} or [3]").0, Some("[3]"));
    assert_eq!(answer("first {\"x\": 1}, then {\"x\": 2}, see [1]"), Ok(json!({ "x": 2 })));
    let list = described::<Vec<i64>>();
    assert_eq!(read("[1, 2] as in {\"x\": 1}", &list), Ok(json!([1, 2])));
}

#[test]
fn a_span_that_the_wrong_bracket_closes_is_none() {
    assert_eq!(split_json_and_prose("{\"x\": 1] {\"x\": 2}").0, Some("{\"x\": 2}"));
    assert_eq!(split_json_and_prose("{\"x\": 1]"), (None, "{\"x\": 1]".into()));
}

#[test]
fn a_text_without_json_and_one_that_was_cut_off_hold_none() {
    for text in ["", "  ", "just prose", "{\"x\": 1", "{\"a\": {\"x\": 1}, \"b\": "] {
        assert_eq!(answer(text), Err("the reply holds no JSON object or list".into()), "{text}");
    }
}

// behaviours: 87
#[test]
fn the_name_of_the_type_around_the_value_is_taken_away() {
    assert_eq!(answer(r#"{"Answer": {"x": 1}}"#), Ok(json!({ "x": 1 })));
    assert!(answer(r#"{"Other": {"x": 1}}"#).is_err());
    assert!(answer(r#"{"Answer": {"x": 1}, "note": "n"}"#).is_err(), "it is not the only key");
}

// behaviours: 88
#[test]
fn a_description_that_was_sent_back_with_values_is_read() {
    for text in [
        r#"{"@fields": {"x": 1}, "@type": "object"}"#,
        r#"{"Answer": {"@type": "Answer", "@fields": {"x": 1}}}"#,
        r#"{"@fields": {"Answer": {"x": 1}}}"#,
        r#"{"@fields": {"@fields": {"x": 1}}}"#,
    ] {
        assert_eq!(answer(text), Ok(json!({ "x": 1 })), "{text}");
    }
}

#[test]
fn keys_with_an_at_sign_are_data_where_a_type_says_so() {
    let map = described::<BTreeMap<String, Value>>();
    let text = r#"{"@context": "https://schema.org", "@fields": {"x": 1}}"#;
    assert_eq!(read(text, &map), Ok(serde_json::from_str(text).unwrap()));
}

#[test]
fn a_field_that_is_named_like_its_type_is_no_wrapper() {
    let inner = Object { name: String::new(), fields: Vec::new() };
    let field = Field {
        name: "Answer".into(),
        required: false,
        node: Node { shape: Shape::Object(inner), ..Node::default() },
    };
    let object = Object { name: "Answer".into(), fields: vec![field] };
    let descriptor = Descriptor { root: Node { shape: Shape::Object(object), ..Node::default() } };
    assert_eq!(read(r#"{"Answer": {}}"#, &descriptor), Ok(json!({ "Answer": {} })));
}

#[test]
fn what_models_write_for_json_is_read() {
    let cases = [
        ("{x: 1}", json!({ "x": 1 })),
        ("{'x': 'it\\'s'}", json!({ "x": "it's" })),
        ("{\"x\": 1, // the first\n \"y\": /* second */ 2,}", json!({ "x": 1, "y": 2 })),
        ("[1, 2, ]", json!([1, 2])),
        ("[True, False, None]", json!([true, false, null])),
        ("[NaN, Infinity, -Infinity]", json!([null, null, null])),
        ("[+1, -2, .5, 5., 1e2, -0.0]", json!([1, -2, 0.5, 5.0, 100.0, -0.0])),
        ("[\"a\nb\tc\u{1}d\"]", json!(["a\nb\tc\u{1}d"])),
        ("{\u{a0}\"x\":\u{3000}1,“y”:2\u{200b}}", json!({ "x": 1, "y": 2 })),
        ("[18446744073709551615, 99999999999999999999]", json!([u64::MAX, 1e20])),
        ("[−5]", json!([-5])),
    ];
    for (text, expected) in cases {
        assert_eq!(anything(text), Ok(expected), "{text}");
    }
}

#[test]
fn escapes_are_read_and_one_that_json_does_not_have_loses_nothing() {
    let text = r#"["\"\\\/\b\f\n\r\t", "\u00e9\ud83d\ude00", "\ud83d", "\d+ \alpha \under \$ \-", "\u12"]"#;
    let expected = json!(["\"\\/\u{8}\u{c}\n\r\t", "é😀", "\u{fffd}", "\\d+ \\alpha \\under $ -", "\\u12"]);
    assert_eq!(anything(text), Ok(expected));
}

// behaviours: 93
#[test]
fn curly_quotes_delimit_and_are_kept_inside_a_value() {
    assert_eq!(anything("{“x”: “he said \"so\"”}"), Ok(json!({ "x": "he said \"so\"" })));
    assert_eq!(anything("{\"x\": \"he said “so” – it’s …\"}"), Ok(json!({ "x": "he said “so” – it’s …" })));
    assert_eq!(anything("{‘x’: ‘y’}"), Ok(json!({ "x": "y" })));
    assert_eq!(anything("{„x“: „y“}"), Ok(json!({ "x": "y" })));
}

#[test]
fn what_has_no_one_meaning_is_refused_without_a_quote() {
    let cases = [
        ("{\"x\" 1}", "a colon is missing after a name, at byte 5 of 7"),
        ("{\"x\": 1 \"y\": 2}", "a comma or } is missing, at byte 8 of 15"),
        ("[1, , 2]", "a text without quotes stands there, at byte 4 of 8"),
        ("[secret]", "a text without quotes stands there, at byte 7 of 8"),
        ("[1.2.3]", "a number cannot be read, at byte 6 of 7"),
        ("[1e999]", "a number cannot be read, at byte 6 of 7"),
        ("['a]", "a text has no end, at byte 1 of 4"),
        ("[/* a]", "a comment has no end, at byte 1 of 6"),
        ("{: 1}", "a name is missing, at byte 1 of 5"),
        ("{[1}}", "a name is missing, at byte 1 of 5"),
    ];
    for (text, why) in cases {
        assert_eq!(anything(text), Err(ReadError::Malformed { why: why.into() }), "{text}");
    }
    assert_eq!(
        parse_json("{} {}"),
        Err(ReadError::Malformed { why: "there is more after the end, at byte 3 of 5".into() })
    );
    assert_eq!(
        parse_json(" "),
        Err(ReadError::Malformed { why: "a value is missing, at byte 1 of 1".into() })
    );
}

#[test]
fn nesting_is_read_to_the_limit_and_refused_beyond() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(anything(&nested(DEPTH_MAX)).is_ok());
    let error = anything(&nested(DEPTH_MAX + 1)).unwrap_err().to_string();
    assert!(error.contains("nested more than 64 deep"), "{error}");
}
