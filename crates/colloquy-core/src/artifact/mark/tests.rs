use serde_json::json;

use super::*;
use crate::artifact::tests::{marked, reference};

#[test]
fn only_the_exact_full_form_is_a_mark() {
    let check = |value: Value, expect: bool| assert_eq!(Mark::of(&value).is_some(), expect, "{value}");
    check(marked("a:b", json!(1)), true);
    check(full(&reference("a", 1), json!({})), true);
    check(json!({ MARK: { "alias": "a", "ref": "a~000001", "value": null } }), true);
    // Another alias than that of its reference, no alias, no reference, no value, something beside.
    check(json!({ MARK: { "alias": "b", "ref": "a~000001", "value": 1 } }), false);
    check(json!({ MARK: { "alias": "a", "ref": "nonsense", "value": 1 } }), false);
    check(json!({ MARK: { "alias": "a", "ref": 7, "value": 1 } }), false);
    check(json!({ MARK: { "alias": "A", "ref": null, "value": 1 } }), false);
    check(json!({ MARK: { "ref": null, "value": 1 } }), false);
    check(json!({ MARK: { "alias": "a", "value": 1 } }), false);
    check(json!({ MARK: { "alias": "a", "ref": null } }), false);
    check(json!({ MARK: { "alias": "a", "ref": null, "value": 1, "x": 1 } }), false);
    check(json!({ MARK: { "alias": "a", "ref": null, "value": 1 }, "x": 1 }), false);
    check(json!({ MARK: 1 }), false);
}

#[test]
fn an_artifact_inside_is_kept_as_its_reference_and_put_back_in_its_place() {
    let inner = full(&reference("a", 1), json!({ "x": 1 }));
    let value = json!({ "list": [inner, 2], "plain": { "y": null } });
    let kept = compact(&value);
    assert_eq!(
        kept,
        json!({ "list": [{ MARK: { "ref": "«artifact:a~000001»" } }, 2], "plain": { "y": null } })
    );
    let expanded = expand(&kept, &mut |asked| (*asked == reference("a", 1)).then(|| inner.clone()));
    assert_eq!(expanded, Some(value.clone()));
    assert_eq!(expand(&kept, &mut |_| None), None, "one that is missing is not left out in silence");
}

#[test]
fn data_that_looks_like_a_kept_artifact_comes_back_as_data() {
    for data in [
        json!({ MARK: { "ref": "«artifact:a~000001»" } }),
        json!({ MARK: { "data": { "ref": "«artifact:a~000001»" } } }),
        json!({ MARK: { MARK: { "data": 1 } } }),
        json!({ MARK: null }),
        json!({ MARK: 1, "beside": 2 }),
    ] {
        let expanded = expand(&compact(&data), &mut |_| panic!("nothing is an artifact in {data}"));
        assert_eq!(expanded, Some(data.clone()));
    }
}

#[test]
fn what_was_never_written_in_the_compact_form_cannot_be_read() {
    for damaged in [json!({ MARK: {} }), json!({ MARK: 1 }), json!([{ MARK: { "ref": "nonsense" } }])] {
        assert_eq!(expand(&damaged, &mut |_| Some(Value::Null)), None, "{damaged}");
    }
}
