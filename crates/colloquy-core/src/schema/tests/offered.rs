use super::{offered as offered_schema, *};
use crate::summarize::SummarySize;

// behaviours: 36
#[test]
fn a_model_is_offered_the_reference_of_an_artifact_and_everyone_its_content() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Compare {
        best: Cite,
        others: Vec<Cite>,
        maybe: Option<Cite>,
    }
    let offered = offered_schema::<Compare>();
    let reference =
        "Reference of an artifact of the type link:cite, copied as it was shown: «artifact:link:cite~…»";
    let cut = json!({
        "title": "Cite",
        "type": "object",
        "properties": { "artifact_ref": { "type": "string", "description": reference } },
        "required": ["artifact_ref"],
        "description": "A cited page",
    });
    assert_eq!(offered["properties"]["best"], cut);
    assert_eq!(offered["properties"]["others"]["items"], cut);
    assert_eq!(offered["properties"]["maybe"], cut);
    assert!(!offered.to_string().contains(KEYWORD_PREFIX));

    let whole = &whole::<Compare>()["properties"]["best"];
    assert_eq!(whole["x-colloquy-artifact"], "link:cite");
    assert_eq!(whole["properties"]["url"], json!({ "type": "string" }));
    assert_eq!(whole["properties"]["raw"]["x-colloquy-ignore"], true);
    let summarize = json!({ "size": "brief", "hint": "claims", "threshold": 100, "llm_safe": true });
    assert_eq!(whole["properties"]["text"]["x-colloquy-summarize"], summarize);
}

#[test]
fn the_projects_keywords_are_part_of_the_description() {
    let Shape::Artifact { alias, inner } = described::<Cite>().root.shape else { panic!("no artifact") };
    assert_eq!(alias, "link:cite");
    let Shape::Object(object) = inner.shape else { panic!("no object") };
    let field = |name: &str| &object.fields.iter().find(|field| field.name == name).unwrap().node;
    let summarizable = field("text").summarizable.as_ref().unwrap();
    assert_eq!((summarizable.size, summarizable.threshold), (SummarySize::Brief, Some(100)));
    assert!(field("raw").ignored && !field("url").ignored);
}

#[test]
fn a_schema_that_was_written_out_reads_back_the_same() {
    let descriptor = described::<Search>();
    let again = Descriptor::from_schema(&serde_json::from_str(&descriptor.json_schema()).unwrap()).unwrap();
    assert_eq!(again.offered(), descriptor.offered());
    let cite = described::<Cite>();
    assert_eq!(Descriptor::from_schema(&serde_json::from_str(&cite.json_schema()).unwrap()).unwrap(), cite);
}

#[test]
fn an_artifact_that_holds_itself_ends_in_a_reference() {
    let schema = json!({
        "title": "Root",
        "type": "object",
        "properties": { "first": { "$ref": "#/$defs/Paper" } },
        "required": ["first"],
        "$defs": { "Paper": {
            "type": "object",
            "properties": { "cites": { "type": "array", "items": { "$ref": "#/$defs/Paper" } } },
            "required": ["cites"],
            "x-colloquy-artifact": "paper",
        } },
    });
    let descriptor = Descriptor::from_schema(&schema).unwrap();
    assert!(matches!(descriptor.named()["Paper"].shape, Shape::Artifact { .. }));
    assert!(!descriptor.offered().contains("$defs"), "{}", descriptor.offered());
    let whole: Value = serde_json::from_str(&descriptor.json_schema()).unwrap();
    assert_eq!(whole["$defs"]["Paper"]["x-colloquy-artifact"], "paper");
}

// behaviours: 36
#[test]
fn artifacts_and_keywords_are_cut_from_a_schema_that_was_written_by_hand() {
    let schema = json!({
        "type": "object",
        "properties": {
            "best": {
                "type": "object", "title": "Cite", "properties": { "url": {} }, "x-colloquy-artifact": "link",
            },
            "all": { "type": "array", "items": { "type": "object" }, "x-colloquy-artifact": "link" },
            "choice": { "oneOf": [{ "type": "string", "x-colloquy-ignore": true }, { "type": "integer" }] },
        },
    });
    let (text, is_understood) = offered_text(&schema.to_string());
    let offered: Value = serde_json::from_str(&text).unwrap();
    assert!(is_understood);
    assert_eq!(offered["properties"]["best"]["required"], json!(["artifact_ref"]));
    assert_eq!(offered["properties"]["best"]["properties"].as_object().unwrap().len(), 1);
    assert_eq!(offered["properties"]["all"]["items"]["required"], json!(["artifact_ref"]));
    assert_eq!(
        offered["properties"]["choice"],
        json!({ "oneOf": [{ "type": "string" }, { "type": "integer" }] })
    );
    assert!(!text.contains(KEYWORD_PREFIX));
}

#[test]
fn a_schema_with_nothing_to_cut_keeps_its_bytes() {
    let schema = "{ \"type\": \"object\",\n  \"properties\": {\"b\": {}, \"a\": {}} }";
    assert_eq!(offered_text(schema), (schema.to_owned(), true));
}

// behaviours: 37
#[test]
fn a_schema_that_is_not_understood_is_offered_unchanged() {
    for schema in ["", "{\"type\": ", "no schema", "[1]", "3"] {
        assert_eq!(offered_text(schema), (schema.to_owned(), false));
    }
}
