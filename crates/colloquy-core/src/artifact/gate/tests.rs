use serde_json::json;

use super::*;
use crate::{
    artifact::tests::{array, artifact, list, marked, node, object, reference, registry},
    schema::Node,
};

fn held() -> Registry {
    registry([
        marked("link:cite", json!({ "title": "True", "doi": "10.1/true" })),
        marked("link:cite:pubmed", json!({ "title": "Paper", "pmid": 7 })),
        marked("note", json!({ "text": "x" })),
    ])
}

fn cite() -> Node {
    artifact("link:cite", object("Cite", [("title", node(Shape::String)), ("doi", node(Shape::String))]))
}

fn answer(fields: impl IntoIterator<Item = (&'static str, Node)>) -> Descriptor {
    Descriptor { root: object("Answer", fields) }
}

fn violations(registry: &Registry, mut value: Value, descriptor: &Descriptor) -> Vec<(String, String)> {
    let found = registry.gate(&mut value, descriptor).unwrap_err();
    found.into_iter().map(|violation| (violation.path, violation.why)).collect()
}

// behaviours: 79
#[test]
fn what_is_written_beside_a_reference_is_dropped_for_the_registrys_own() {
    let registry = held();
    let own = registry.marked(&reference("link:cite", 0)).unwrap();
    for written in [
        json!({ "artifact_ref": "«artifact:link:cite~000000»", "doi": "10.9/invented", "title": "False" }),
        json!({ "@ref": "«artifact:link:cite~000000»" }),
        json!({ "artifact_ref": "link:cite~000000" }),
        json!("artifact:link:cite~000000"),
    ] {
        let mut value = json!({ "best": written, "why": "it says so" });
        registry.gate(&mut value, &answer([("best", cite()), ("why", node(Shape::String))])).unwrap();
        assert_eq!(value, json!({ "best": own, "why": "it says so" }));
    }
}

#[test]
fn a_more_particular_artifact_is_accepted_whole_and_a_more_general_one_is_not() {
    let registry = held();
    let mut value = json!({ "best": { "@ref": "link:cite:pubmed~000001" } });
    registry.gate(&mut value, &answer([("best", cite())])).unwrap();
    assert_eq!(value["best"][MARK]["value"], json!({ "title": "Paper", "pmid": 7 }));
    let pubmed = answer([("best", artifact("link:cite:pubmed", Node::default()))]);
    let found = violations(&registry, json!({ "best": { "@ref": "link:cite~000000" } }), &pubmed);
    assert_eq!(found[0].1, "must name an artifact of the type link:cite:pubmed, not of another one");
}

// behaviours: 80
#[test]
fn an_unknown_reference_is_named_by_its_path_and_never_by_its_words() {
    let found = violations(
        &held(),
        json!({ "best": { "artifact_ref": "link:cite~zzzzzz" } }),
        &answer([("best", cite())]),
    );
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, "best");
    assert!(found[0].1.starts_with("names no artifact that is held here") && !found[0].1.contains("zzzzzz"));
}

// behaviours: 81
#[test]
fn the_second_of_two_citations_is_the_one_that_is_named() {
    let cited = json!({ "cited": [{ "@ref": "link:cite~000000" }, { "@ref": "link:cite~zzzzzz" }] });
    let found = violations(&held(), cited, &answer([("cited", array(cite()))]));
    assert_eq!(found.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), ["cited[1]"]);
}

#[test]
fn every_violation_is_told_with_its_path() {
    let map = node(Shape::Map(Box::new(cite())));
    let inner = object("Inner", [("best", cite())]);
    let descriptor = answer([
        ("inner", inner),
        ("by_name", map),
        ("first", cite()),
        ("second", cite()),
        ("third", cite()),
    ]);
    let value = json!({
        "inner": { "best": { "title": "no reference at all" } },
        "by_name": { "secret": { "@ref": "note~000002" } },
        "first": null,
        "second": { "@ref": 7 },
        "third": marked("link:cite", json!({ "title": "forged" })),
    });
    let mut found: Vec<String> =
        violations(&held(), value, &descriptor).into_iter().map(|found| found.0).collect();
    found.sort();
    assert_eq!(found, ["by_name.*", "first", "inner.best", "second", "third"]);
}

#[test]
fn an_artifact_that_may_be_absent_may_be_null() {
    let optional = Node { nullable: true, ..cite() };
    let mut value = json!({ "best": null });
    held().gate(&mut value, &answer([("best", optional)])).unwrap();
    assert_eq!(value, json!({ "best": null }));
}

#[test]
fn an_answer_that_is_an_artifact_is_gated_as_a_whole() {
    let (registry, whole) = (held(), Descriptor { root: cite() });
    let mut value = json!({ "@ref": "link:cite~000000" });
    registry.gate(&mut value, &whole).unwrap();
    assert_eq!(Some(value), registry.marked(&reference("link:cite", 0)));
    assert_eq!(violations(&registry, json!({}), &whole)[0].0, "answer");
}

#[test]
fn an_artifact_below_a_type_that_holds_itself_is_gated_too() {
    let inner = object(
        "Step",
        [("cite", cite()), ("next", Node { nullable: true, ..node(Shape::Reference("Step".into())) })],
    );
    let descriptor = answer([("steps", array(inner))]);
    let step = |id: &str, next: Value| json!({ "cite": { "@ref": format!("link:cite~{id}") }, "next": next });
    let value = json!({ "steps": [step("000000", step("000000", step("zzzzzz", Value::Null)))] });
    assert_eq!(violations(&held(), value, &descriptor)[0].0, "steps[0].next.next.cite");
}

#[test]
fn a_type_that_is_an_artifact_of_itself_is_gated_at_every_level() {
    // The reference to an artifact further up means the artifact, not the type it holds.
    let root = artifact("link:cite", object("Cite", [("next", node(Shape::Reference("Cite".into())))]));
    let scope = Scope::root(None);
    let (whole, registry) = (scope.enter(Some(&root)), held());
    let content = whole.content();
    let next = content.enter(content.member("next"));
    assert!(matches!(next.shape(), Shape::Artifact { alias, .. } if alias == "link:cite"));
    assert!(matches!(next.content().shape(), Shape::Object(_)));
    let mut value = json!({ "@ref": "link:cite~000000" });
    let mut gate = Gate { registry: &registry, violations: Vec::new() };
    gate.pass(&mut value, &next, "next");
    assert_eq!(Some(value), registry.marked(&reference("link:cite", 0)));
}

#[test]
fn a_model_cannot_write_a_mark_where_a_type_takes_anything() {
    let forged = marked("link:cite", json!({ "title": "forged" }));
    let descriptor = answer([("data", Node::default()), ("text", node(Shape::String))]);
    for data in [forged.clone(), json!([{ "x": forged }]), json!({ MARK: 1, "beside": 2 })] {
        let found = violations(&held(), json!({ "data": data }), &descriptor);
        assert_eq!(found, [("data".into(), "must not hold the key $artifact".into())]);
    }
    assert_eq!(violations(&held(), json!({ "undeclared": forged }), &descriptor)[0].0, "answer");
    assert_eq!(violations(&held(), json!({ "text": forged }), &descriptor)[0].0, "text");
    held().gate(&mut json!({ "data": { "artifact": "$artifact" } }), &descriptor).unwrap();
}

#[test]
fn an_artifact_that_cannot_be_read_in_full_cannot_be_chosen() {
    let whole = registry([list([marked("cite", json!(1)), marked("cite", json!(2))])]);
    let rest = whole.all().filter(|artifact| artifact.reference != reference("cite", 0)).cloned();
    let damaged = Registry::restored(rest.collect());
    let descriptor = answer([("from", artifact("list", Node::default()))]);
    let found = violations(&damaged, json!({ "from": { "@ref": "list~000002" } }), &descriptor);
    assert_eq!(found[0].1, "names an artifact that cannot be read in full");
}
