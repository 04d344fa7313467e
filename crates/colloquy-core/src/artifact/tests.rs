//! What the tests of this module build artifacts, ids and types with, and the property I11.

use std::sync::Arc;

use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use serde_json::{Value, json};

use super::*;
use crate::{
    schema::{Field, Node, Object, Shape},
    summarize::Summarizable,
};

/// Ids in a row: `000000`, `000001`, …
#[derive(Default)]
pub(super) struct InARow(pub(super) u32);

impl IdDraw for InARow {
    fn draw(&mut self) -> String {
        self.0 += 1;
        format!("{:06}", self.0 - 1)
    }
}

/// An artifact that no registry knows.
pub(super) fn marked(alias: &str, value: Value) -> Value {
    json!({ MARK: { "alias": alias, "ref": null, "value": value } })
}

/// A list artifact of these.
pub(super) fn list(items: impl IntoIterator<Item = Value>) -> Value {
    let items: Vec<Value> = items.into_iter().collect();
    marked(LIST_ALIAS, json!({ "iterand_type": "cite", "iterands": items }))
}

/// The reference that an alias gets from [`InARow`].
pub(super) fn reference(alias: &str, id: u32) -> ArtifactRef {
    ArtifactRef::of(alias, &format!("{id:06}")).unwrap()
}

/// A registry in which these were registered one after the other.
pub(super) fn registry(values: impl IntoIterator<Item = Value>) -> Registry {
    let (mut registry, mut ids) = (Registry::default(), InARow::default());
    for mut value in values {
        registry.register(&mut value, &mut ids);
    }
    registry
}

pub(super) fn node(shape: Shape) -> Node {
    Node { shape, ..Node::default() }
}

pub(super) fn object(name: &str, fields: impl IntoIterator<Item = (&'static str, Node)>) -> Node {
    let field = |(name, node): (&str, Node)| Field { name: name.to_owned(), required: true, node };
    let fields = fields.into_iter().map(field).collect();
    node(Shape::Object(Object { name: name.to_owned(), fields }))
}

pub(super) fn artifact(alias: &str, inner: Node) -> Node {
    node(Shape::Artifact { alias: alias.to_owned(), inner: Box::new(inner) })
}

pub(super) fn array(inner: Node) -> Node {
    node(Shape::Array(Box::new(inner)))
}

/// A text that may be summarised.
pub(super) fn long_text(field: Summarizable) -> Node {
    Node { summarizable: Some(field), ..node(Shape::String) }
}

pub(super) fn types(known: impl IntoIterator<Item = (&'static str, Node)>) -> Types {
    known.into_iter().map(|(alias, root)| (alias.to_owned(), Arc::new(Descriptor { root }))).collect()
}

#[test]
fn the_nearest_known_alias_is_found_by_climbing() {
    let known = BTreeMap::from([("link:cite", 1), ("list", 2)]);
    let check = |alias, expect| assert_eq!(nearest(alias, &known), expect, "{alias}");
    check("link:cite", Some(&1));
    check("link:cite:pubmed:open", Some(&1));
    check("link", None);
    check("link:citex", None);
    check("list:x", Some(&2));
}

/// One thing that happens to a registry.
#[derive(Debug, Clone)]
enum Operation {
    /// A program registers something.
    Register(Value),
    /// It registers what it got out, as it was.
    RegisterAgain(usize),
    /// It registers other content under a reference that is held.
    RegisterUnder(usize, Value),
    /// A model answers with a reference and writes this beside it.
    Answer(usize, Value),
    /// A summary is noted.
    Summarize(usize, String),
    /// The registry is read by a model.
    Read,
    /// It is stored and restored.
    Restore,
}

/// What a model or a program may write: also what looks like a mark.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(Value::from("«artifact:a~000000»")),
    ];
    let key = prop_oneof![3 => "[a-z]{1,3}", 1 => Just(MARK.to_owned()), 1 => Just("ref".to_owned())];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let mark = |(alias, value): (&str, Value)| marked(alias, value);
        prop_oneof![
            2 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            3 => prop::collection::hash_map(key.clone(), inner.clone(), 0..4)
                .prop_map(|members| members.into_iter().collect::<Value>()),
            3 => (prop_oneof![Just("a"), Just("a:b"), Just("list"), Just("No")], inner).prop_map(mark),
        ]
    })
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        5 => anything().prop_map(Operation::Register),
        2 => any::<usize>().prop_map(Operation::RegisterAgain),
        2 => (any::<usize>(), anything()).prop_map(|(which, value)| Operation::RegisterUnder(which, value)),
        4 => (any::<usize>(), anything()).prop_map(|(which, value)| Operation::Answer(which, value)),
        1 => (any::<usize>(), ".{0,9}").prop_map(|(which, text)| Operation::Summarize(which, text)),
        1 => Just(Operation::Read),
        1 => Just(Operation::Restore),
    ]
}

/// Runs one operation; what it does depends on what is held.
fn run(registry: &mut Registry, ids: &mut InARow, operation: Operation) {
    let held: Vec<ArtifactRef> = registry.all().map(|artifact| artifact.reference.clone()).collect();
    let chosen = |which: usize| held.get(which % held.len().max(1)).cloned();
    match operation {
        Operation::Register(mut value) => drop(registry.register(&mut value, ids)),
        Operation::RegisterAgain(which) => {
            if let Some(mut value) = chosen(which).and_then(|reference| registry.marked(&reference)) {
                let before = value.clone();
                registry.register(&mut value, ids);
                assert_eq!(value, before, "what is held keeps its reference and its bytes");
            }
        }
        Operation::RegisterUnder(which, value) => {
            if let Some(reference) = chosen(which) {
                let mut forged = mark::full(&reference, value);
                registry.register(&mut forged, ids);
            }
        }
        Operation::Answer(which, beside) => {
            if let Some(reference) = chosen(which) {
                let own = registry.marked(&reference).unwrap();
                let mut answer = json!({ "best": { "artifact_ref": reference.as_str(), "title": beside } });
                let descriptor =
                    Descriptor { root: object("Answer", [("best", artifact("a", Node::default()))]) };
                let gated = registry.gate(&mut answer, &descriptor);
                assert_eq!(gated.is_ok(), is_a(reference.alias(), "a"));
                if gated.is_ok() {
                    assert_eq!(answer, json!({ "best": own }));
                }
            }
        }
        Operation::Summarize(which, text) => {
            if let Some(reference) = chosen(which) {
                registry.note_summary(&reference, "/a", text);
            }
        }
        Operation::Read => drop(registry.dump(&Types::new())),
        Operation::Restore => {
            let mut stored: Vec<(usize, Artifact)> = registry
                .all()
                .map(|artifact| (registry.position(&artifact.reference).unwrap(), artifact.clone()))
                .collect();
            stored.sort_by_key(|(position, _)| *position);
            let restored = Registry::restored(stored.into_iter().map(|(_, artifact)| artifact).collect());
            assert_eq!(&restored, registry);
            *registry = restored;
        }
    }
}

/// I11: whatever is registered, written by a model, shown, stored and restored, the bytes under a
/// reference and the value they stand for stay what they were.
#[test]
fn bytes_in_are_bytes_out_whatever_a_model_writes_beside_them() {
    let programs = prop::collection::vec(operation(), 1..14);
    TestRunner::new(Config::default())
        .run(&programs, |program| {
            let (mut registry, mut ids) = (Registry::default(), InARow::default());
            let mut first: BTreeMap<ArtifactRef, (Arc<str>, Value)> = BTreeMap::new();
            for operation in program {
                run(&mut registry, &mut ids, operation);
                for artifact in registry.all() {
                    let value = registry.marked(&artifact.reference).unwrap();
                    let now = (Arc::clone(&artifact.json), value);
                    let then = first.entry(artifact.reference.clone()).or_insert_with(|| now.clone());
                    prop_assert_eq!(&*then, &now);
                }
                prop_assert_eq!(first.len(), registry.all().count(), "none is lost");
            }
            Ok(())
        })
        .unwrap();
}

/// What a program registers comes out as it went in, but for the references in its marks.
#[test]
fn a_value_that_was_registered_is_the_value_that_comes_out() {
    TestRunner::new(Config::default())
        .run(&anything(), |value| {
            let mut registered = marked("a", value);
            let mut registry = Registry::default();
            registry.register(&mut registered, &mut InARow::default());
            let reference = Mark::of(&registered).unwrap().reference.unwrap();
            prop_assert_eq!(registry.marked(&reference).unwrap(), registered);
            Ok(())
        })
        .unwrap();
}
