use serde_json::json;

use super::*;
use crate::artifact::tests::{artifact, list, long_text, marked, node, object, reference, registry, types};
use crate::schema::Node;

/// The entries of a dump: reference and JSON.
fn entries(dump: &str) -> Vec<(String, Value)> {
    let entries = dump.split("\n--- ").skip(1).map(|entry| {
        let (reference, json) = entry.split_once(" ---\n").unwrap();
        (reference.to_owned(), serde_json::from_str(json).unwrap())
    });
    entries.collect()
}

fn dump(registry: &mut Registry, types: &Types) -> Vec<(String, Value)> {
    entries(&registry.dump(types).unwrap())
}

/// Counts the texts that it shortens.
fn counting(n_texts: &mut usize) -> impl FnMut(LongText<'_>) -> Option<String> {
    |_| {
        *n_texts += 1;
        Some("short".into())
    }
}

fn cite_types() -> Types {
    let text = long_text(Summarizable { threshold: Some(10), ..Summarizable::default() });
    let ignored = Node { ignored: true, ..node(Shape::String) };
    types([("cite", object("Cite", [("text", text), ("internal", ignored), ("page", node(Shape::Number))]))])
}

// behaviours: 115
#[test]
fn an_artifact_in_a_result_is_shown_by_its_reference_and_held() {
    let mut registry = Registry::default();
    let mut result =
        json!({ "best": marked("cite", json!({ "title": "T" })), "n": 1, "all": [marked("cite", json!(2))] });
    registry.register(&mut result, &mut crate::artifact::tests::InARow::default());
    let shown: Value = serde_json::from_str(&registry.shown(&result, None)).unwrap();
    let (first, second) = (result["best"][crate::artifact::MARK]["ref"].clone(), &result["all"][0]);
    assert_eq!(
        shown,
        json!({ "best": { "@ref": first }, "n": 1, "all": [{ "@ref": second["$artifact"]["ref"] }] })
    );
    assert_eq!(&*registry.find(first.as_str().unwrap()).unwrap().json, r#"{"title":"T"}"#);
}

#[test]
fn a_value_that_is_an_artifact_is_shown_as_its_reference_alone() {
    let mut value = marked("cite", json!({ "title": "T" }));
    let mut registry = Registry::default();
    registry.register(&mut value, &mut crate::artifact::tests::InARow::default());
    assert_eq!(registry.shown(&value, None), r#"{"@ref":"«artifact:cite~000000»"}"#);
}

#[test]
fn a_value_is_shown_without_ignored_and_absent_fields_and_with_its_nulls_where_they_mean_something() {
    let root = object(
        "T",
        [
            ("gone", Node { nullable: true, ..node(Shape::String) }),
            ("internal", Node { ignored: true, ..node(Shape::String) }),
            ("map", node(Shape::Map(Box::new(node(Shape::Any))))),
            ("data", node(Shape::Any)),
        ],
    );
    let value =
        json!({ "gone": null, "internal": "x", "map": { "k": null }, "data": { "k": null, "l": [null] } });
    let shown = Registry::default().shown(&value, Some(&Descriptor { root }));
    assert_eq!(
        serde_json::from_str::<Value>(&shown).unwrap(),
        json!({ "map": { "k": null }, "data": { "k": null, "l": [null] } })
    );
}

// behaviours: 116
#[test]
fn the_dump_begins_with_its_header_and_names_both_tools() {
    let dump = registry([marked("cite", json!({ "title": "T" }))]).dump(&Types::new()).unwrap();
    let mut lines = dump.lines();
    assert_eq!(lines.next(), Some("=== ARTIFACT REGISTRY ==="));
    let told = lines.next().unwrap();
    assert!(crate::artifact::REGISTRY_TOOLS.iter().all(|tool| told.contains(tool)), "{told}");
    assert_eq!(lines.next(), Some("--- «artifact:cite~000000» ---"));
    let shown: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert_eq!(shown, json!({ "artifact_ref": "«artifact:cite~000000»", "title": "T" }));
    assert_eq!(lines.next(), None);
    assert_eq!(Registry::default().dump(&Types::new()), None, "an empty registry is not shown");
}

// behaviours: 117
#[test]
fn a_list_of_two_hundred_is_one_digest_with_a_sample_of_three() {
    let items = (0..200).map(|number| marked("cite", json!({ "number": number })));
    let mut registry = registry([list(items)]);
    let dump = dump(&mut registry, &Types::new());
    assert_eq!(dump.len(), 1);
    let digest = &dump[0].1;
    assert_eq!(digest["artifact_ref"], "«artifact:list~000200»");
    assert_eq!((&digest["iterand_type"], &digest["count"]), (&json!("cite"), &json!(200)));
    let sample = [0, 1, 2].map(|n| json!({ "artifact_ref": format!("«artifact:cite~{n:06}»"), "number": n }));
    assert_eq!(digest["sample"], json!(sample));
    assert_eq!(digest.as_object().unwrap().len(), 4);
}

#[test]
fn a_list_inside_a_list_or_an_artifact_is_a_digest_too() {
    let inner = || list((0..5).map(|number| marked("cite", json!(number))));
    let mut registry =
        registry([list([inner()]), marked("box", json!({ "found": inner(), "plain": [1, 2, 3, 4, 5] }))]);
    let dump = dump(&mut registry, &Types::new());
    assert_eq!(dump[0].1["sample"][0]["count"], 5);
    assert_eq!(dump[0].1["sample"][0]["sample"].as_array().unwrap().len(), 3);
    assert_eq!(dump[1].1["found"]["count"], 5);
    assert_eq!(dump[1].1["plain"], json!([1, 2, 3, 4, 5]));
}

#[test]
fn an_artifact_inside_a_listed_one_is_shown_with_its_content_and_its_reference() {
    let mut registry = registry([marked(
        "box",
        json!({ "cite": marked("cite", json!({ "text": "a long text", "internal": "x" })) }),
    )]);
    let dump = dump(&mut registry, &cite_types());
    let summary = "[SUMMARY: 11 chars] a long text";
    assert_eq!(dump[0].1["cite"], json!({ "artifact_ref": "«artifact:cite~000000»", "text": summary }));
}

/// § 29.12: what is shown does not depend on a hash.
#[test]
fn the_dump_is_in_the_order_of_registration_and_the_same_every_time() {
    let mut registry =
        registry((0..30).map(|number| marked(if number % 2 == 0 { "z" } else { "a" }, json!(number))));
    let first = registry.dump(&Types::new());
    let order: Vec<Value> =
        entries(first.as_ref().unwrap()).into_iter().map(|(_, json)| json["value"].clone()).collect();
    assert_eq!(order, (0..30).map(Value::from).collect::<Vec<_>>());
    assert_eq!(registry.dump(&Types::new()), first);
    assert_eq!(Registry::restored(registry.artifacts().cloned().collect()).dump(&Types::new()), first);
}

#[test]
fn nothing_that_a_model_reads_holds_a_mark() {
    let mut value = json!({ "x": marked("box", json!({ "y": [marked("cite", json!({ "z": 1 }))] })) });
    let mut registry = Registry::default();
    registry.register(&mut value, &mut crate::artifact::tests::InARow::default());
    assert!(!registry.shown(&value, None).contains("$artifact"));
    assert!(!registry.dump(&Types::new()).unwrap().contains("$artifact"));
}

// behaviours: 131
#[test]
fn a_text_of_eight_thousand_characters_is_shown_whole_and_one_more_is_summarised() {
    let root = object("T", [("text", long_text(Summarizable::default()))]);
    let descriptor = Descriptor { root: root.clone() };
    let shown = |n_chars: usize| {
        let value = json!({ "text": "ü".repeat(n_chars) });
        let shown: Value =
            serde_json::from_str(&Registry::default().shown(&value, Some(&descriptor))).unwrap();
        let dump = dump(&mut registry([marked("t", value)]), &types([("t", root.clone())]));
        assert_eq!(dump[0].1["text"], shown["text"]);
        shown["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(shown(8_000), "ü".repeat(8_000));
    assert_eq!(shown(8_001), format!("[SUMMARY: 8001 chars] {}...", "ü".repeat(500)));
}

#[test]
fn a_text_that_nobody_marked_is_shortened_in_an_artifact_and_nowhere_else() {
    let value = json!({ "text": "x".repeat(8_001) });
    assert!(Registry::default().shown(&value, None).len() > 8_001, "a tool could not read the rest of it");
    let dump = dump(&mut registry([marked("t", value)]), &Types::new());
    assert!(dump[0].1["text"].as_str().unwrap().starts_with("[SUMMARY: 8001 chars] "));
}

// behaviours: 136
#[test]
fn an_artifact_is_summarised_once_for_three_dumps_and_another_value_each_time() {
    let types = cite_types();
    let value = json!({ "text": "longer than ten", "page": 1 });
    let (mut registry, mut n_texts) = (registry([marked("cite", value.clone())]), 0);
    let mut shorten = counting(&mut n_texts);
    let first = registry.dump_with(&types, &mut shorten).unwrap();
    for _ in 0..2 {
        assert_eq!(registry.dump_with(&types, &mut shorten).unwrap(), first);
    }
    drop(shorten);
    assert_eq!(n_texts, 1);
    let mut n_texts = 0;
    for _ in 0..3 {
        registry.shown_with(&value, Some(&types["cite"]), &mut counting(&mut n_texts));
    }
    assert_eq!(n_texts, 3);
}

#[test]
fn a_dump_renders_only_what_is_new() {
    let types = cite_types();
    let (mut registry, mut ids) = (Registry::default(), crate::artifact::tests::InARow::default());
    let mut n_texts = 0;
    for number in 0..20 {
        registry
            .register(&mut marked("cite", json!({ "text": format!("longer than ten {number}") })), &mut ids);
        registry.dump_with(&types, &mut counting(&mut n_texts));
    }
    assert_eq!(n_texts, 20);
}

#[test]
fn a_type_that_is_learned_later_changes_what_is_shown() {
    let mut registry = registry([marked("cite", json!({ "text": "longer than ten", "internal": "secret" }))]);
    assert_eq!(dump(&mut registry, &Types::new())[0].1["internal"], "secret");
    let types = cite_types();
    let first = registry.dump(&types).unwrap();
    assert!(!first.contains("secret") && first.contains("[SUMMARY: 15 chars]"));
    assert_eq!(registry.dump(&types.clone()), Some(first));
}

#[test]
fn a_summary_that_a_model_made_is_asked_for_once_and_shown_with_the_length() {
    let text = long_text(Summarizable { llm_safe: true, threshold: Some(10), ..Summarizable::default() });
    let constant = Summarizable {
        static_summary: Some("always".into()),
        llm_safe: true,
        threshold: Some(3),
        ..Summarizable::default()
    };
    let types = types([("cite", object("Cite", [("text", text), ("fixed", long_text(constant))]))]);
    let content = json!({ "text": "longer than ten", "fixed": "four" });
    let mut registry = registry([marked("box", json!({ "a/b": marked("cite", content) }))]);
    let asked = |registry: &Registry| {
        let mut asked = Vec::new();
        registry.wanting_summaries(&types, &mut |long| {
            asked.push((long.holder.cloned(), long.pointer.to_owned(), long.text.to_owned()));
        });
        asked
    };
    let cite = reference("cite", 0);
    assert_eq!(asked(&registry), [(Some(cite.clone()), "/text".into(), "longer than ten".into())]);
    assert_eq!(dump(&mut registry, &types)[0].1["a/b"]["fixed"], "[SUMMARY: 4 chars] always");
    registry.note_summary(&cite, "/text", "in short".into());
    assert_eq!(asked(&registry), []);
    // The one that holds it is shown anew.
    assert_eq!(dump(&mut registry, &types)[0].1["a/b"]["text"], "[SUMMARY: 15 chars] in short");
    assert_eq!(registry.find("cite~000000").unwrap().summaries["/text"], "in short");
    assert_eq!(asked(&registry), []);
}

#[test]
fn pointers_are_those_of_the_json_pointer_syntax() {
    let root = object(
        "T",
        [(
            "a/b~c",
            node(Shape::Array(Box::new(long_text(Summarizable {
                threshold: Some(1),
                llm_safe: true,
                ..Summarizable::default()
            })))),
        )],
    );
    let value = json!({ "a/b~c": ["x", "yy"] });
    let registry = registry([marked("t", value.clone())]);
    let mut asked = Vec::new();
    registry.wanting_summaries(&types([("t", root)]), &mut |long| asked.push(long.pointer.to_owned()));
    assert_eq!(asked, ["/a~1b~0c/1"]);
    assert_eq!(value.pointer(&asked[0]), Some(&json!("yy")));
}

#[test]
fn an_artifact_of_an_unknown_type_is_shown_as_the_nearest_one_that_is_known() {
    let mut registry = registry([marked("cite:pubmed", json!({ "text": "longer than ten", "pmid": 7 }))]);
    let dump = dump(&mut registry, &cite_types());
    assert_eq!(dump[0].1["text"], "[SUMMARY: 15 chars] longer than ten");
    assert_eq!(dump[0].1["pmid"], 7);
}

#[test]
fn an_artifact_without_its_own_type_is_shown_as_the_place_it_stands_in_says() {
    let inner = object("Inner", [("internal", Node { ignored: true, ..node(Shape::String) })]);
    let types = types([("box", object("Box", [("held", artifact("other", inner))]))]);
    let mut registry =
        registry([marked("box", json!({ "held": marked("other", json!({ "internal": "secret" })) }))]);
    assert_eq!(
        dump(&mut registry, &types)[0].1["held"],
        json!({ "artifact_ref": "«artifact:other~000000»" })
    );
}

#[test]
fn what_nests_too_deep_to_be_read_as_json_is_shown_as_its_text() {
    let deep = (0..200).fold(json!("needle"), |inner, _| json!([inner]));
    let mut registry = registry([marked("deep", deep)]);
    let dump = dump(&mut registry, &Types::new());
    assert!(dump[0].1["value"].as_str().unwrap().contains("needle"));
}

#[test]
fn a_list_that_lost_an_element_is_still_shown_and_by_references() {
    let whole = registry([list((0..4).map(|number| marked("cite", json!(number))))]);
    let rest = whole.artifacts().filter(|artifact| artifact.reference != reference("cite", 3)).cloned();
    let dump = dump(&mut Registry::restored(rest.collect()), &Types::new());
    assert_eq!(
        (&dump[0].1["count"], &dump[0].1["sample"][0]),
        (&json!(4), &json!({ "@ref": "«artifact:cite~000000»" }))
    );
}
