use super::*;

fn notation<T: JsonSchema>() -> Value {
    serde_json::from_str(&described::<T>().notation()).unwrap()
}

// behaviours: 108
#[test]
fn an_enum_is_an_enum_with_its_values() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Answer {
        mood: Mood,
    }
    let expected = json!({ "@type": "enum", "@required": true, "@values": ["GOOD", "BAD"] });
    assert_eq!(notation::<Answer>()["@fields"]["mood"], expected);
}

// behaviours: 109
#[test]
fn a_list_of_enums_has_the_values_and_no_word_of_json_schema() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Answer {
        /// All of them
        moods: Vec<Mood>,
        #[schemars(example = 3)]
        count: Option<u8>,
        cited: Vec<Cite>,
        trees: Vec<Tree>,
    }
    let notation = notation::<Answer>();
    let moods = &notation["@fields"]["moods"];
    assert_eq!(moods["@type"], "array of enum");
    assert_eq!(moods["@values"], json!(["GOOD", "BAD"]));
    let text = notation.to_string();
    for keyword in
        ["\"type\"", "\"properties\"", "\"items\"", "\"enum\"", "\"required\"", "$ref", "$defs", "title"]
    {
        assert!(!text.contains(keyword), "{keyword} in {text}");
    }
    assert!(!text.contains(KEYWORD_PREFIX));
}

#[test]
fn the_notation_is_in_the_order_of_the_type() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Answer {
        /// What speaks for it
        weighing: String,
        #[schemars(example = 3)]
        stars: u8,
        by_day: BTreeMap<String, Address>,
        anything: Option<Value>,
    }
    let expected = concat!(
        r#"{"@type":"Answer","@fields":{"#,
        r#""weighing":{"@type":"string","@description":"What speaks for it","@required":true},"#,
        r#""stars":{"@type":"integer from 0 to 255","@required":true,"@examples":[3]},"#,
        r#""by_day":{"@type":"map from string to Address","@required":true,"#,
        r#""@fields":{"street":{"@type":"string","@required":true}}},"#,
        r#""anything":{"@type":"any"}"#,
        r#"}}"#,
    );
    assert_eq!(described::<Answer>().notation(), expected);
}

#[test]
fn a_type_that_holds_itself_is_named_again() {
    let notation = notation::<Tree>();
    assert_eq!(notation["@type"], "Tree");
    assert_eq!(notation["@fields"]["child"], json!({ "@type": "Tree" }));
    assert_eq!(notation["@fields"]["others"], json!({ "@type": "array of Tree", "@required": true }));
}

#[test]
fn an_artifact_shows_only_its_reference() {
    let notation = notation::<Cite>();
    let fields = notation["@fields"].as_object().unwrap();
    assert_eq!(fields.keys().collect::<Vec<_>>(), ["artifact_ref"]);
    assert_eq!(fields["artifact_ref"]["@required"], true);
}

#[test]
fn fields_are_left_out_at_the_top_only() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Inner {
        reasoning: String,
    }
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Outer {
        reasoning: String,
        inner: Inner,
    }
    let text = described::<Outer>().without(&["reasoning"]).notation();
    let notation: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(notation["@fields"].as_object().unwrap().len(), 1);
    assert_eq!(notation["@fields"]["inner"]["@fields"]["reasoning"]["@type"], "string");
}
