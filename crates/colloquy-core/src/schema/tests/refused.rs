use super::*;

fn refusal<T: JsonSchema>() -> String {
    describe::<T>().unwrap_err().to_string()
}

mod other {
    use schemars::JsonSchema;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    pub(super) struct Address {
        pub(super) ip: String,
    }
}

// behaviours: 105
#[test]
fn two_types_of_one_name_are_refused_and_both_named() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Host {
        place: Address,
        network: other::Address,
    }
    let error = describe::<Host>().unwrap_err();
    let SchemaError::DuplicateName { name, first, second } = &error else { panic!("{error}") };
    assert_eq!(name, "Address");
    assert_eq!((first.as_str(), second.as_str()), ("the fields street", "the fields ip"));
}

#[test]
fn two_objects_of_one_title_are_refused() {
    let object = |field: &str| json!({ "title": "Item", "type": "object", "properties": { field: {} } });
    let schema = json!({ "type": "object", "properties": { "a": object("x"), "b": object("x") } });
    assert!(Descriptor::from_schema(&schema).is_ok(), "one type twice is fine");
    let schema = json!({ "type": "object", "properties": { "a": object("x"), "b": object("y") } });
    assert!(matches!(Descriptor::from_schema(&schema), Err(SchemaError::DuplicateName { .. })));
}

#[test]
fn a_choice_between_kinds_is_refused_with_its_place() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    enum Shape {
        Point,
        Circle { radius: f64 },
    }
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Drawing {
        shapes: Vec<Shape>,
    }
    let refusal = refusal::<Drawing>();
    assert!(refusal.starts_with("Drawing.shapes[] may be one of several kinds"), "{refusal}");
    assert!(refusal.contains("use an enum of plain names"), "{refusal}");
}

#[test]
fn named_fields_beside_free_ones_are_refused() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Mixed {
        a: i32,
        #[serde(flatten)]
        rest: BTreeMap<String, i32>,
    }
    assert!(refusal::<Mixed>().starts_with("Mixed has both named fields and free ones"));
}

#[test]
fn a_list_of_itself_is_refused() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Nest(Vec<Nest>);
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Holder {
        nest: Nest,
    }
    assert!(refusal::<Holder>().contains("list or a map of itself"));
}

#[test]
fn what_a_description_cannot_hold_is_refused() {
    let cases = [
        (json!(false), "allows no value"),
        (json!({ "$ref": "#/$defs/Gone" }), "refers to a type that is not in the schema"),
        (json!({ "enum": [1, 2] }), "must be one of values that are no texts"),
        (json!({ "type": ["string", "integer"] }), "may be of several types"),
        (json!({ "not": {} }), "is described by a condition"),
        (json!({ "type": "decimal" }), "is of a type that JSON Schema does not have"),
        (
            json!({ "type": "string", "x-colloquy-summarize": { "size": "huge" } }),
            "size?: brief|short|paragraphs",
        ),
        (
            json!({ "type": "string", "x-colloquy-summarize": { "length": 1 } }),
            "size?: brief|short|paragraphs",
        ),
        (json!({ "type": "string", "x-colloquy-artifact": "link" }), "is an artifact but no struct"),
        (json!({ "type": "object", "x-colloquy-artifact": "Link!" }), "has an alias"),
        (json!({ "properties": {}, "allOf": [{}, {}] }), "has parts that depend on each other"),
    ];
    for (schema, expected) in cases {
        let refusal = Descriptor::from_schema(&schema).unwrap_err().to_string();
        assert!(refusal.starts_with("the type ") && refusal.contains(expected), "{schema}: {refusal}");
    }
}

/// A type in which every level holds the next twice.
fn doubling(levels: usize) -> Value {
    let mut definitions = serde_json::Map::new();
    definitions.insert(format!("L{levels}x"), json!({ "type": "string" }));
    for level in 0..levels {
        let next = json!({ "$ref": format!("#/$defs/L{}x", level + 1) });
        let object = json!({ "type": "object", "properties": { "a": next, "b": next } });
        definitions.insert(format!("L{level}x"), object);
    }
    json!({ "$ref": "#/$defs/L0x", "$defs": definitions })
}

#[test]
fn a_type_that_grows_without_bound_is_refused_at_the_limit() {
    // Each place is a reference and what it leads to: 2 × (2^(n+1) − 1) nodes.
    assert!(Descriptor::from_schema(&doubling(11)).is_ok());
    let refusal = Descriptor::from_schema(&doubling(40)).unwrap_err().to_string();
    assert!(refusal.contains(&format!("larger than {NODES_MAX} places")), "{refusal}");

    let wide = |n: usize| {
        let properties: serde_json::Map<_, _> = (0..n).map(|i| (format!("f{i}"), json!({}))).collect();
        json!({ "type": "object", "properties": properties })
    };
    assert!(Descriptor::from_schema(&wide(NODES_MAX - 1)).is_ok());
    assert!(Descriptor::from_schema(&wide(NODES_MAX)).is_err());
}

#[test]
fn a_field_that_is_named_like_a_keyword_of_ours_is_refused() {
    let schema = json!({ "type": "object", "properties": { "x-colloquy-artifact": { "type": "string" } } });
    let error = Descriptor::from_schema(&schema).unwrap_err().to_string();
    assert!(error.contains("x-colloquy-artifact") && error.contains("keywords"), "{error}");
}
