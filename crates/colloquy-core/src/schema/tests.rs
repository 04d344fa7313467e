use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::*;

mod notation;
mod offered;
mod properties;
mod refused;

/// The description of a type, as the library reads it.
fn describe<T: JsonSchema>() -> Result<Descriptor, SchemaError> {
    let settings = schemars::generate::SchemaSettings::draft2020_12();
    Descriptor::from_schema(settings.into_generator().into_root_schema_for::<T>().as_value())
}

fn described<T: JsonSchema>() -> Descriptor {
    describe::<T>().unwrap()
}

/// The schema a model is offered, read back.
fn offered<T: JsonSchema>() -> Value {
    serde_json::from_str(&described::<T>().offered()).unwrap()
}

/// The whole schema, read back.
fn whole<T: JsonSchema>() -> Value {
    serde_json::from_str(&described::<T>().json_schema()).unwrap()
}

/// The same properties that a derive gives, under an alias.
struct Cite;

impl JsonSchema for Cite {
    fn schema_name() -> Cow<'static, str> {
        "Cite".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "title": "Cite",
            "description": "A cited page",
            "type": "object",
            "properties": {
                "url": { "type": "string" },
                "text": {
                    "type": "string",
                    "x-colloquy-summarize": {
                        "size": "brief", "hint": "claims", "threshold": 100, "llm_safe": true,
                    },
                },
                "raw": { "type": "string", "x-colloquy-ignore": true },
            },
            "required": ["url"],
            "x-colloquy-artifact": "link:cite",
        })
    }
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only described")]
enum Mood {
    #[serde(rename = "GOOD")]
    Good,
    #[serde(rename = "BAD")]
    Bad,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only described")]
struct Tree {
    value: i32,
    child: Option<Box<Tree>>,
    others: Vec<Tree>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only described")]
struct Address {
    street: String,
}

#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only described")]
struct Search {
    /// The search query
    query: String,
    /// Most results to return
    max_results: Option<u8>,
    #[serde(rename = "lang")]
    language: Option<String>,
    #[serde(skip)]
    secret: String,
}

// behaviours: 95, 96
#[test]
fn a_field_has_its_wire_name_its_type_and_whether_it_is_required() {
    let expected = concat!(
        r#"{"title":"Search","type":"object","properties":{"#,
        r#""query":{"type":"string","description":"The search query"},"#,
        r#""lang":{"type":"string"},"#,
        r#""max_results":{"type":"integer","minimum":0,"maximum":255,"description":"Most results to return"}"#,
        r#"},"required":["query"]}"#,
    );
    assert_eq!(described::<Search>().offered(), expected);
}

#[test]
fn required_fields_stand_in_the_order_of_the_type() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Verdict {
        weighing: String,
        decision: String,
        another: Option<bool>,
        confidence: f64,
    }
    let text = described::<Verdict>().offered();
    let place = |name: &str| text.find(&format!("\"{name}\":{{")).unwrap();
    let mut places = ["weighing", "decision", "confidence", "another"].map(place);
    assert!(places.is_sorted(), "{text}");
    places.sort_unstable();
    assert_eq!(text, described::<Verdict>().offered(), "the bytes are the same each time");
}

// behaviours: 97
#[test]
fn an_enum_lists_the_serializers_forms_and_a_list_of_them_constrains_its_items() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Survey {
        mood: Mood,
        moods: Vec<Mood>,
        maybe: Option<Mood>,
        nullable_items: Vec<Option<Mood>>,
    }
    let properties = &offered::<Survey>()["properties"];
    let mood = json!({ "type": "string", "enum": ["GOOD", "BAD"] });
    assert_eq!(properties["mood"], mood);
    assert_eq!(properties["moods"], json!({ "type": "array", "items": mood }));
    assert_eq!(properties["maybe"], mood);
    let nullable = json!({ "type": ["string", "null"], "enum": ["GOOD", "BAD", null] });
    assert_eq!(properties["nullable_items"]["items"], nullable);
}

#[test]
fn what_is_said_about_single_variants_is_said_about_the_enum() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    enum Depth {
        /// A look
        Quick,
        Thorough,
    }
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Order {
        /// How deep to go
        depth: Option<Depth>,
    }
    let node = &offered::<Order>()["properties"]["depth"];
    assert_eq!(node["description"], "How deep to go\nQuick: A look");
    let values: BTreeSet<&str> = node["enum"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(values, BTreeSet::from(["Quick", "Thorough"]));
}

// behaviours: 99
#[test]
fn an_example_of_a_number_is_published_as_a_number() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Page {
        #[schemars(example = &"3", example = 4)]
        number: u32,
        #[schemars(example = &"10115")]
        postcode: String,
    }
    let properties = &offered::<Page>()["properties"];
    assert_eq!(properties["number"]["examples"], json!([3, 4]));
    assert_eq!(properties["postcode"]["examples"], json!(["10115"]), "a text stays a text");
}

// behaviours: 100, 104
#[test]
fn every_use_of_a_type_is_described_in_full_under_its_name() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Person {
        home: Address,
        work: Option<Address>,
        past: Vec<Address>,
    }
    let schema = offered::<Person>();
    let address = json!({
        "title": "Address",
        "type": "object",
        "properties": { "street": { "type": "string" } },
        "required": ["street"],
    });
    assert_eq!(schema["title"], "Person");
    assert_eq!(schema["properties"]["home"], address);
    assert_eq!(schema["properties"]["work"], address);
    assert_eq!(schema["properties"]["past"]["items"], address);
    assert_eq!(schema.get("$defs"), None);
}

// behaviours: 101
#[test]
fn days_and_moments_are_texts_of_a_format() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Event {
        #[schemars(extend("format" = "date"))]
        day: String,
        #[schemars(extend("format" = "date-time"))]
        at: String,
        #[schemars(extend("format" = "uuid"))]
        id: String,
    }
    let properties = &offered::<Event>()["properties"];
    assert_eq!(properties["day"], json!({ "type": "string", "format": "date" }));
    assert_eq!(properties["at"], json!({ "type": "string", "format": "date-time" }));
    assert_eq!(properties["id"], json!({ "type": "string" }));
}

// behaviours: 103
#[test]
fn a_type_that_holds_itself_is_a_reference_into_the_outermost_definitions() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Forest {
        trees: Vec<Tree>,
    }
    let schema = offered::<Forest>();
    let tree = &schema["properties"]["trees"]["items"];
    assert_eq!(tree["title"], "Tree");
    assert_eq!(tree["properties"]["child"], json!({ "$ref": "#/$defs/Tree" }));
    assert_eq!(tree["properties"]["others"]["items"], json!({ "$ref": "#/$defs/Tree" }));
    assert_eq!(tree.get("$defs"), None);
    assert_eq!(&schema["$defs"]["Tree"], tree);

    let root = offered::<Tree>();
    assert_eq!(root["properties"]["child"], json!({ "$ref": "#/$defs/Tree" }));
    assert_eq!(root["$defs"]["Tree"]["properties"], root["properties"]);
}

#[test]
fn types_that_hold_each_other_are_all_defined() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Author {
        books: Vec<Book>,
    }
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Book {
        author: Option<Box<Author>>,
        sequel: Option<Box<Book>>,
    }
    let schema = offered::<Author>();
    let defined: Vec<&String> = schema["$defs"].as_object().unwrap().keys().collect();
    assert_eq!(defined, ["Author", "Book"]);
    let book = &schema["properties"]["books"]["items"]["properties"];
    assert_eq!(book["author"], json!({ "$ref": "#/$defs/Author" }));
    assert_eq!(book["sequel"], json!({ "$ref": "#/$defs/Book" }));
}

// behaviours: 107
#[test]
fn an_untyped_field_has_no_type() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Open {
        /// Whatever it is
        payload: Value,
    }
    assert_eq!(offered::<Open>()["properties"]["payload"], json!({ "description": "Whatever it is" }));
}

#[test]
fn integers_have_the_range_of_their_machine_type_or_the_narrower_one_given() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Numbers {
        a: i32,
        b: i64,
        c: u32,
        d: u64,
        #[schemars(range(min = 1, max = 100))]
        e: u32,
        f: f32,
        g: u128,
    }
    let properties = &offered::<Numbers>()["properties"];
    let integer = |min: i64, max: u64| json!({ "type": "integer", "minimum": min, "maximum": max });
    assert_eq!(properties["a"], integer(i32::MIN.into(), 2_147_483_647));
    assert_eq!(properties["b"], integer(i64::MIN, 9_223_372_036_854_775_807));
    assert_eq!(properties["c"], integer(0, u32::MAX.into()));
    assert_eq!(properties["d"], integer(0, u64::MAX));
    assert_eq!(properties["e"], integer(1, 100));
    assert_eq!(properties["f"], json!({ "type": "number" }));
    assert_eq!(properties["g"], integer(0, u64::MAX));
}

#[test]
fn lists_and_maps_say_what_they_hold() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Holders {
        by_name: BTreeMap<String, Vec<bool>>,
        by_number: BTreeMap<u32, bool>,
        free: serde_json::Map<String, Value>,
        tags: BTreeSet<String>,
        triple: [u8; 3],
        pair: (i32, String),
        sparse: Vec<Option<bool>>,
    }
    let properties = &offered::<Holders>()["properties"];
    let boolean = json!({ "type": "boolean" });
    assert_eq!(properties["by_name"]["additionalProperties"], json!({ "type": "array", "items": boolean }));
    assert_eq!(properties["by_number"], json!({ "type": "object", "additionalProperties": boolean }));
    assert_eq!(properties["free"], json!({ "type": "object", "additionalProperties": true }));
    assert_eq!(properties["tags"], json!({ "type": "array", "items": { "type": "string" } }));
    assert_eq!(properties["triple"]["description"], "Exactly 3 values.");
    assert_eq!(properties["pair"]["items"], json!({}));
    assert_eq!(properties["pair"]["description"], "Exactly 2 values, in this order: integer, text.");
    assert_eq!(properties["sparse"]["items"], json!({ "type": ["boolean", "null"] }));
}
