use serde_json::json;

use super::*;
use crate::{
    artifact::tests::{array, list, marked, node, object, reference, registry, types},
    schema::{Node, Shape},
};

fn field(registry: &Registry, name: &str, offset: i64, max_chars: i64) -> Result<FieldPiece, LookupError> {
    registry.field(&Types::new(), "cite~000000", name, offset, max_chars)
}

fn piece(content: &str, field_name: &str, length: usize, truncated: bool) -> Result<FieldPiece, LookupError> {
    Ok(FieldPiece { content: Some(content.into()), field_name: field_name.into(), length, truncated })
}

fn search<'a>(query: &'a str) -> Search<'a> {
    Search { query, artifact_type: None, artifact_ref: None, max_results: 10, context_chars: 200 }
}

// behaviours: 125
#[test]
fn a_long_field_is_read_piece_by_piece() {
    let text = format!("{}{}", "ü".repeat(30_000), "x".repeat(7));
    let registry = registry([marked("cite", json!({ "text": text }))]);
    assert_eq!(field(&registry, "text", 0, 10_000), piece(&"ü".repeat(10_000), "text", 30_007, true));
    assert_eq!(field(&registry, "text", 30_000, 10_000), piece("xxxxxxx", "text", 30_007, false));
    // At the very end there is nothing left, and nothing behind it.
    assert!(!field(&registry, "text", 20_007, 10_000).unwrap().truncated);
    assert!(field(&registry, "text", 20_006, 10_000).unwrap().truncated);
    assert_eq!(field(&registry, "text", 30_008, 1), piece("", "text", 30_007, false));
    assert_eq!(field(&registry, "text", i64::MAX, i64::MAX), piece("", "text", 30_007, false));
}

#[test]
fn a_field_is_found_in_either_case_style_and_by_its_path() {
    let value = json!({ "abstract_text": "a", "pageCount": 3, "authors": [{ "full_name": "Ada" }] });
    let registry = registry([marked("cite", value)]);
    assert_eq!(field(&registry, "abstractText", 0, 9), piece("a", "abstract_text", 1, false));
    assert_eq!(field(&registry, "page_count", 0, 9), piece("3", "pageCount", 1, false));
    assert_eq!(field(&registry, "authors[0].fullName", 0, 9), piece("Ada", "authors[0].full_name", 3, false));
    assert_eq!(field(&registry, "authors", 0, 99), piece(r#"[{"full_name":"Ada"}]"#, "authors", 21, false));
    for missing in ["authors[1].full_name", "authors[x]", "authors[0", "pageCount.x", "", ".", "[0]"] {
        assert!(
            matches!(field(&registry, missing, 0, 9), Err(LookupError::NoSuchField { .. })),
            "{missing:?}"
        );
    }
}

#[test]
fn a_null_field_has_no_content_and_an_artifact_inside_is_shown_by_its_reference() {
    let registry =
        registry([marked("box", json!({ "gone": null, "cite": marked("cite", json!({ "secret": 1 })) }))]);
    let read = |name| registry.field(&Types::new(), "«artifact:box~000001»", name, 0, 99).unwrap();
    assert_eq!(
        read("gone"),
        FieldPiece { content: None, field_name: "gone".into(), length: 0, truncated: false }
    );
    assert_eq!(read("cite").content.unwrap(), r#"{"@ref":"«artifact:cite~000000»"}"#);
}

#[test]
fn an_unknown_field_is_refused_with_those_there_are_and_never_quoted() {
    let registry = registry([marked("cite", json!({ "a": 1, "b": 2 }))]);
    let refused = field(&registry, "hallucinated", 0, 9).unwrap_err();
    assert_eq!(refused.to_string(), "the artifact has no such field; it has a, b");
    let unknown = registry.field(&Types::new(), "cite~zzzzzz", "a", 0, 9).unwrap_err();
    assert_eq!(unknown.to_string(), "no artifact has that reference");
}

#[test]
fn numbers_out_of_range_are_refused_right_at_the_limit() {
    let registry = registry([marked("cite", json!({ "a": "x" }))]);
    assert_eq!(field(&registry, "a", -1, 9), Err(LookupError::OutOfRange("offset must be 0 or more")));
    assert_eq!(field(&registry, "a", 0, 0), Err(LookupError::OutOfRange("max_chars must be 1 or more")));
    assert_eq!(field(&registry, "a", 0, 1), piece("x", "a", 1, false));
}

// behaviours: 127
#[test]
fn a_needle_in_an_artifact_inside_another_one_is_found_in_other_case() {
    let text = format!("{}Needle{}", "ä".repeat(300), "z".repeat(300));
    let registry = registry([list([marked("cite", json!({ "text": text, "other": "hay" }))])]);
    let (matches, total) = registry.search(&Types::new(), &search("nEEDLE")).unwrap();
    let snippet = format!("...{}Needle{}...", "ä".repeat(200), "z".repeat(200));
    let expect =
        Match { artifact_ref: reference("cite", 0), field_name: "text".into(), position: 300, snippet };
    assert_eq!((matches, total), (vec![expect], 1));
}

#[test]
fn a_snippet_says_on_which_side_it_is_cut() {
    let registry = registry([marked("cite", json!({ "a": "12345x6789" }))]);
    let snippet = |context_chars| {
        let search = Search { context_chars, ..search("x") };
        registry.search(&Types::new(), &search).unwrap().0.remove(0).snippet
    };
    assert_eq!(snippet(0), "...x...");
    assert_eq!(snippet(4), "...2345x6789");
    assert_eq!(snippet(5), "12345x6789");
    assert_eq!(snippet(i64::MAX), "12345x6789");
}

// behaviours: 128
#[test]
fn no_hit_is_an_empty_result_and_numbers_out_of_range_are_refused() {
    let registry = registry([marked("cite", json!({ "a": "x" }))]);
    let found = |search: Search<'_>| registry.search(&Types::new(), &search);
    assert_eq!(found(search("y")), Ok((vec![], 0)));
    let too_few = found(Search { max_results: 0, ..search("x") });
    assert_eq!(too_few, Err(LookupError::OutOfRange("max_results must be 1 or more")));
    let negative = found(Search { context_chars: -1, ..search("x") });
    assert_eq!(negative, Err(LookupError::OutOfRange("context_chars must be 0 or more")));
    assert_eq!(found(search("")), Err(LookupError::OutOfRange("query must not be empty")));
    let nobody = found(Search { artifact_ref: Some("cite~zzzzzz"), ..search("x") });
    assert_eq!(nobody, Err(LookupError::NotFound));
}

/// § 29.14: the total counts what was found, not what was given, and nested texts are searched.
#[test]
fn the_total_counts_every_place_in_every_text_whatever_is_given() {
    let value = json!({ "a": "aaaa", "n": 7, "deep": { "list": ["xaa", { "b": "AA" }], "cite": marked("cite", json!("aa")) } });
    let registry = registry([marked("box", value)]);
    let (matches, total) =
        registry.search(&Types::new(), &Search { max_results: 4, context_chars: 0, ..search("aa") }).unwrap();
    let places: Vec<_> = matches.iter().map(|found| (found.field_name.as_str(), found.position)).collect();
    assert_eq!(places, [("a", 0), ("a", 1), ("a", 2), ("deep.list[0]", 1)]);
    // Three, one, one, and one in the artifact inside, which has no field of its own.
    assert_eq!(total, 6);
}

#[test]
fn a_field_that_a_search_names_can_be_read() {
    let registry = registry([marked("cite", json!({ "deep": { "list": ["x", { "b": "needle" }] } }))]);
    let found = registry.search(&Types::new(), &search("needle")).unwrap().0.remove(0);
    assert_eq!(field(&registry, &found.field_name, 0, 9), piece("needle", &found.field_name, 6, false));
}

#[test]
fn a_search_is_narrowed_by_type_and_by_reference() {
    let registry = registry([
        marked("link:cite", json!("x")),
        marked("link:web", json!("x")),
        marked("note", json!("x")),
    ]);
    let found = |artifact_type, artifact_ref| {
        let search = Search { artifact_type, artifact_ref, ..search("x") };
        registry.search(&Types::new(), &search).unwrap().1
    };
    assert_eq!(found(None, None), 3);
    assert_eq!(found(Some("link"), None), 2);
    assert_eq!(found(Some("cite"), None), 1);
    assert_eq!(found(None, Some("artifact:note~000002")), 1);
    assert_eq!(found(Some("link"), Some("note~000002")), 0);
}

#[test]
fn no_search_gives_more_than_its_snippets_may_hold() {
    let registry = registry([marked("cite", json!({ "text": "a".repeat(150_000) }))]);
    let greedy = Search { max_results: i64::MAX, context_chars: i64::MAX, ..search("a") };
    let (matches, total) = registry.search(&Types::new(), &greedy).unwrap();
    let given: usize = matches.iter().map(|found| found.snippet.trim_matches('.').len()).sum();
    // The last one may begin right below the limit.
    assert!((SNIPPETS_CHARS_MAX..SNIPPETS_CHARS_MAX + 2 * CONTEXT_CHARS_MAX + 1).contains(&given), "{given}");
    assert_eq!(total, 150_000);
}

#[test]
fn a_field_that_a_model_is_not_to_read_does_not_exist_for_it() {
    let ignored = Node { ignored: true, ..node(Shape::String) };
    let inner = object("Inner", [("secret", ignored.clone()), ("open", node(Shape::String))]);
    let types = types([("cite", object("Cite", [("secret", ignored), ("inners", array(inner))]))]);
    let value = json!({ "secret": "needle", "inners": [{ "secret": "needle", "open": "needle" }] });
    let registry = registry([marked("cite:pubmed", value)]);
    let (matches, total) = registry.search(&types, &search("needle")).unwrap();
    assert_eq!((matches[0].field_name.as_str(), total), ("inners[0].open", 1));
    let refused = registry.field(&types, "cite:pubmed~000000", "secret", 0, 9).unwrap_err();
    assert_eq!(refused, LookupError::NoSuchField { known: vec!["inners".into()] });
    let inners = registry.field(&types, "cite:pubmed~000000", "inners", 0, 99).unwrap();
    assert_eq!(inners.content.unwrap(), r#"[{"open":"needle"}]"#);
}
