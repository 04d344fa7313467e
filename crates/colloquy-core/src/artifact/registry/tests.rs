use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::artifact::{
    MARK,
    tests::{InARow, list, marked, reference, registry},
};

fn references<'a>(artifacts: impl Iterator<Item = &'a Artifact>) -> Vec<&'a str> {
    artifacts.map(|artifact| artifact.reference.as_str()).collect()
}

/// Gives the same id a few times before each new one.
struct Stuttering(u32);

impl IdDraw for Stuttering {
    fn draw(&mut self) -> String {
        self.0 += 1;
        format!("{:06}", self.0 / 4)
    }
}

// behaviours: 111
#[test]
fn a_minted_id_is_six_characters_from_a_to_z_and_0_to_9() {
    let mut value = marked("link:cite", json!({ "x": 1 }));
    let new = Registry::default().register(&mut value, &mut InARow(41));
    assert_eq!(new[0].reference.as_str(), "«artifact:link:cite~000041»");
    assert_eq!(value[MARK]["ref"], "«artifact:link:cite~000041»");
    let id = new[0].reference.as_str().trim_end_matches('»').rsplit_once('~').unwrap().1;
    assert!(id.len() == 6 && id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()));
}

/// § 29.12: six characters collide sooner or later.
#[test]
fn an_id_that_is_taken_is_drawn_again() {
    let (mut registry, mut ids) = (Registry::default(), Stuttering(0));
    for number in 0..50 {
        registry.register(&mut marked("a", json!(number)), &mut ids);
    }
    let distinct: BTreeSet<&str> = references(registry.all()).into_iter().collect();
    assert_eq!(distinct.len(), 50);
    assert!((0..50).all(|number| registry.artifacts().any(|artifact| *artifact.json == *number.to_string())));
}

/// § 29.12: the order is a promise.
#[test]
fn artifacts_stay_in_the_order_of_their_registration() {
    let registry =
        registry((0..40).map(|number| marked(if number % 2 == 0 { "z" } else { "a" }, json!(number))));
    let order: Vec<&str> = registry.listed().map(|artifact| &*artifact.json).collect();
    assert_eq!(order, (0..40).map(|number| number.to_string()).collect::<Vec<_>>());
}

// behaviours: 119
#[test]
fn a_list_of_three_counts_as_one_and_holds_three_more() {
    let mut registry = registry([list((0..3).map(|number| marked("cite", json!(number))))]);
    assert_eq!((registry.n_listed(), registry.all().count()), (1, 4));
    registry.clear();
    assert_eq!((registry.n_listed(), registry.all().count()), (0, 0));
    assert_eq!(registry, Registry::default());
}

// behaviours: 120
#[test]
fn an_artifact_inside_a_registered_one_is_found_though_it_is_not_listed() {
    let registry =
        registry([marked("report", json!({ "deep": [{ "cite": marked("cite", json!({ "x": 1 })) }] }))]);
    assert_eq!(references(registry.listed()), ["«artifact:report~000001»"]);
    let inner = registry.find("cite~000000").unwrap();
    assert_eq!((&*inner.json, inner.top_level), (r#"{"x":1}"#, false));
    assert_eq!(references(registry.all()), ["«artifact:report~000001»", "«artifact:cite~000000»"]);
}

#[test]
fn every_outermost_artifact_of_a_value_is_listed() {
    let mut value = json!({ "one": marked("a", json!(1)), "more": [marked("a", json!(2)), { "x": marked("b", json!(3)) }] });
    let mut registry = Registry::default();
    let new = registry.register(&mut value, &mut InARow::default());
    assert_eq!(new.len(), 3);
    assert!(new.iter().all(|artifact| artifact.top_level));
    assert_eq!(registry.n_listed(), 3);
}

#[test]
fn registering_again_changes_nothing_and_gives_nothing_to_store() {
    let (mut registry, mut ids) = (Registry::default(), InARow::default());
    let fresh = list([marked("cite", json!({ "x": 1 }))]);
    let mut value = fresh.clone();
    assert_eq!(registry.register(&mut value, &mut ids).len(), 2);
    let before = registry.clone();
    // With its references, and by a program that made the same thing anew.
    assert_eq!(registry.register(&mut value.clone(), &mut ids), []);
    let mut again = fresh;
    assert_eq!(registry.register(&mut again, &mut ids), []);
    assert_eq!((registry, again), (before, value));
}

#[test]
fn equal_artifacts_inside_one_value_are_one_artifact() {
    let mut value = json!([marked("a", json!(1)), marked("a", json!(1)), marked("b", json!(1))]);
    let mut registry = Registry::default();
    assert_eq!(registry.register(&mut value, &mut InARow::default()).len(), 2);
    assert_eq!(value[0], value[1]);
    assert_ne!(value[0][MARK]["ref"], value[2][MARK]["ref"], "of another type it is another one");
}

#[test]
fn an_artifact_that_was_only_found_is_listed_once_it_comes_up_by_itself() {
    let mut registry = registry([list((0..3).map(|number| marked("cite", json!(number))))]);
    let mut one = registry.marked(&reference("cite", 1)).unwrap();
    let changed = registry.register(&mut one, &mut InARow(50));
    assert_eq!(references(changed.iter()), ["«artifact:cite~000001»"]);
    assert!(changed[0].top_level && registry.find("cite~000001").unwrap().top_level);
    assert_eq!(registry.n_listed(), 2);
    // Coming up inside something later does not hide it again.
    registry.register(&mut marked("box", json!([one])), &mut InARow(60));
    assert!(registry.find("cite~000001").unwrap().top_level);
}

#[test]
fn a_reference_is_kept_on_the_way_to_another_conversation_with_every_byte() {
    let first = registry([list([marked("cite", json!({ "n": 0.1 + 0.2, "t": "ü\u{0}\u{2028}\"" }))])]);
    let mut second = Registry::default();
    let mut conveyed = first.marked(&reference("list", 1)).unwrap();
    second.register(&mut conveyed, &mut InARow(70));
    assert_eq!(second, first);
}

#[test]
fn a_reference_that_stands_for_other_bytes_is_not_taken_over() {
    let mut registry = registry([marked("cite", json!({ "doi": "10.1/true" }))]);
    let mut other = mark::full(&reference("cite", 0), json!({ "doi": "10.1/invented" }));
    let new = registry.register(&mut other, &mut InARow(0));
    assert_eq!(references(new.iter()), ["«artifact:cite~000001»"]);
    assert_eq!(other[MARK]["ref"], "«artifact:cite~000001»");
    assert_eq!(&*registry.find("cite~000000").unwrap().json, r#"{"doi":"10.1/true"}"#);
}

// behaviours: 121
#[test]
fn an_element_that_is_chosen_is_listed_in_the_new_registry() {
    let registry =
        registry([list((0..3).map(|number| marked("cite", json!(number)))), marked("x", json!(9))]);
    let chosen = registry.only(&[reference("cite", 1)]);
    assert_eq!(references(chosen.listed()), ["«artifact:cite~000001»"]);
    assert_eq!(chosen.all().count(), 1);
    assert_eq!(chosen.marked(&reference("cite", 1)), registry.marked(&reference("cite", 1)));
}

#[test]
fn a_chosen_artifact_brings_what_is_inside_it_and_nothing_else() {
    let inner = marked("cite", json!(1));
    let registry = registry([marked("box", json!([marked("bag", json!([inner]))])), marked("x", json!(9))]);
    let chosen = registry.only(&[reference("box", 2), reference("x", 3), reference("gone", 4)]);
    assert_eq!(references(chosen.listed()), ["«artifact:box~000002»", "«artifact:x~000003»"]);
    assert_eq!(chosen.all().count(), 4);
    assert_eq!(chosen.marked(&reference("box", 2)), registry.marked(&reference("box", 2)));
}

#[test]
fn a_list_with_an_element_that_is_gone_is_not_shortened_but_cannot_be_read() {
    let whole = registry([list((0..3).map(|number| marked("cite", json!(number))))]);
    let rest = whole.artifacts().filter(|artifact| artifact.reference != reference("cite", 1)).cloned();
    let damaged = Registry::restored(rest.collect());
    assert_eq!(damaged.marked(&reference("list", 3)), None);
    assert!(damaged.marked(&reference("cite", 2)).is_some());
}

#[test]
fn a_store_that_was_tampered_with_cannot_make_an_artifact_hold_itself() {
    let json = r#"{"$artifact":{"ref":"«artifact:a~000000»"}}"#;
    let artifact = Artifact {
        reference: reference("a", 0),
        alias: "a".into(),
        json: json.into(),
        summaries: Default::default(),
        top_level: true,
    };
    let registry = Registry::restored(vec![artifact.clone(), artifact]);
    assert_eq!((registry.all().count(), registry.marked(&reference("a", 0))), (1, None));
    assert_eq!(registry.only(&[reference("a", 0)]), registry);
}

/// One artifact that each of the others holds twice, through the one before it.
fn doubling(n_artifacts: u32) -> Registry {
    let artifact = |number: u32| {
        let inner = || json!({ MARK: { "ref": reference("pair", number - 1).as_str() } });
        let value = if number == 0 { json!("x") } else { json!([inner(), inner()]) };
        Artifact {
            reference: reference("pair", number),
            alias: "pair".into(),
            json: value.to_string().into(),
            summaries: Default::default(),
            top_level: number + 1 == n_artifacts,
        }
    };
    Registry::restored((0..n_artifacts).map(artifact).collect())
}

#[test]
fn artifacts_that_hold_each_other_twice_cannot_fill_the_memory() {
    let mut registry = doubling(64);
    assert!(registry.marked(&reference("pair", 12)).is_some());
    assert_eq!(registry.marked(&reference("pair", 63)), None);
    assert_eq!(registry.only(&[reference("pair", 63)]), registry);
    let dump = registry.dump(&Types::new()).unwrap();
    assert!(dump.contains("«artifact:pair~000063»") && dump.len() < 1_000);
}

#[test]
fn only_what_is_repeated_counts_against_the_limit_of_a_full_form() {
    let inner = || marked("a", json!("four"));
    let is_read = |value: Value, limit: usize| {
        let registry = registry([marked("b", value)]);
        let position = registry.position(&reference("b", 1)).unwrap();
        registry.expanded(position, &mut Expansion::within(limit)).is_some()
    };
    let one_more = OVERHEAD_BYTES + r#""four""#.len();
    assert!(is_read(json!([inner(), inner()]), one_more));
    assert!(!is_read(json!([inner(), inner()]), one_more - 1));
    assert!(!is_read(json!([inner(), inner(), inner()]), one_more));
    assert!(is_read(json!([inner()]), 0));
}

proptest! {
    #[test]
    fn numbers_keep_every_bit(number in any::<f64>(), signed in any::<i64>(), unsigned in any::<u64>()) {
        let value = json!([number, signed, unsigned]);
        let registry = registry([marked("a", value.clone())]);
        prop_assert_eq!(&registry.marked(&reference("a", 0)).unwrap()[MARK]["value"], &value);
    }
}
