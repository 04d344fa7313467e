use proptest::prelude::*;
use serde_json::json;

use super::*;

const CITE: &str = "«artifact:link:cite~a1b2c3»";

// behaviours: 112
#[test]
fn every_form_that_models_write_is_normalised() {
    for written in [
        CITE,
        "artifact:link:cite~a1b2c3",
        "link:cite~a1b2c3",
        "«link:cite~a1b2c3»",
        "  « artifact:link:cite~a1b2c3 »\n",
    ] {
        let reference = ArtifactRef::parse(written).unwrap();
        assert_eq!((reference.as_str(), reference.alias()), (CITE, "link:cite"), "{written:?}");
    }
}

#[test]
fn what_has_no_alias_or_no_id_is_no_reference() {
    for written in [
        "",
        "a1b2c3",
        "~a1b2c3",
        "link:cite~",
        "link:cite~a1b2c",
        "link:cite~a1b2c3d",
        "link:cite~A1B2C3",
        "link::cite~a1b2c3",
        "link cite~a1b2c3",
        "artifact:artifact:x~a1b2c3",
        "link:cite~a1b2c3~a1b2c3",
    ] {
        assert_eq!(ArtifactRef::parse(written), None, "{written:?}");
    }
}

#[test]
fn an_alias_is_words_joined_by_colons_and_does_not_begin_like_a_reference() {
    assert!(["a", "link:cite", "x_1:2"].into_iter().all(is_alias));
    assert!(
        !["", ":", "a:", ":a", "A", "a-b", "a b", "ä", "artifact", "artifact:a"].into_iter().any(is_alias)
    );
    assert!(is_alias("artifacts") && is_alias("a:artifact"));
}

#[test]
fn a_particular_alias_is_a_general_one_and_never_the_other_way_round() {
    assert!(is_a("link:cite:pubmed", "link:cite") && is_a("link:cite", "link:cite"));
    assert!(!is_a("link", "link:cite") && !is_a("link:citex", "link:cite") && !is_a("x:link", "link"));
}

#[test]
fn mentions_are_found_once_each_in_the_order_of_a_text() {
    let text =
        format!("see «artifact:b~000002» and {CITE}, {CITE}; not b~000003, «b~000004», «artifact:B~000005»");
    let found = ArtifactRef::mentioned_in(&text);
    assert_eq!(found.iter().map(ArtifactRef::as_str).collect::<Vec<_>>(), ["«artifact:b~000002»", CITE]);
}

#[test]
fn a_mention_that_was_never_closed_does_not_hide_the_next_one() {
    let found = ArtifactRef::mentioned_in(&format!("«artifact:b~0000 «quoted» «artifact: {CITE}"));
    assert_eq!(found.iter().map(ArtifactRef::as_str).collect::<Vec<_>>(), [CITE]);
}

// behaviours: 113
#[test]
fn declared_references_come_before_mentions_and_each_comes_once() {
    let answer = json!(format!("as in «artifact:b~000002», {CITE} and «artifact:c~000003»"));
    let found = references(&["c~000003", "not one", "link:cite~a1b2c3", CITE], &answer);
    let found: Vec<_> = found.iter().map(ArtifactRef::as_str).collect();
    assert_eq!(found, ["«artifact:c~000003»", CITE, "«artifact:b~000002»"]);
}

/// § 29.13: a typed answer mentions in any of its texts, whatever it prints as.
#[test]
fn mentions_in_the_fields_of_a_typed_answer_are_found() {
    let answer = json!({
        "reason": "because of «artifact:b~000002»",
        "steps": [{ "note": CITE }],
        "best": { "$artifact": { "alias": "d", "ref": "«artifact:d~000004»", "value": { "text": "«artifact:e~000005»" } } },
    });
    let mut found = references::<&str>(&[], &answer);
    found.sort();
    let found: Vec<_> = found.iter().map(ArtifactRef::as_str).collect();
    // What an artifact says inside is not said by the answer.
    assert_eq!(found, ["«artifact:b~000002»", "«artifact:d~000004»", CITE]);
}

proptest! {
    #[test]
    fn a_canonical_reference_is_read_back_and_every_reading_is_canonical(
        alias in "[a-z0-9_]{1,4}(:[a-z0-9_]{1,4}){0,3}",
        id in "[a-z0-9]{6}",
        noise in ".{0,20}",
    ) {
        let reference = ArtifactRef::of(&alias, &id);
        prop_assert_eq!(reference.is_some(), is_alias(&alias));
        if let Some(reference) = reference {
            prop_assert_eq!(ArtifactRef::parse(reference.as_str()), Some(reference.clone()));
            prop_assert_eq!(reference.alias(), alias);
            let text = [&noise, reference.as_str(), &noise].concat();
            let mentioned = ArtifactRef::mentioned_in(&text);
            prop_assert!(mentioned.contains(&reference), "{}", text);
        }
        if let Some(reference) = ArtifactRef::parse(&noise) {
            prop_assert_eq!(ArtifactRef::parse(reference.as_str()), Some(reference));
        }
    }
}
