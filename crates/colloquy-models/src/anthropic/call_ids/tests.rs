use std::collections::HashSet;

use proptest::prelude::*;

use super::CallIds;

#[test]
fn an_identifier_that_the_api_takes_goes_back_as_it_came() {
    let mut ids = CallIds::default();
    for id in ["toolu_01A-b", "call_1", "x"] {
        assert_eq!((ids.of_call(id), ids.of_result(id)), (id.to_owned(), id.to_owned()));
    }
}

#[test]
fn an_identifier_of_another_provider_is_made_fit() {
    let mut ids = CallIds::default();
    assert_eq!(ids.of_call("functions.search:0"), "functions_search_0");
    assert_eq!(ids.of_result("functions.search:0"), "functions_search_0");
    assert_eq!(ids.of_call(""), "call");
}

#[test]
fn calls_of_two_messages_with_one_identifier_are_told_apart_and_answered_each() {
    let mut ids = CallIds::default();
    assert_eq!((ids.of_call("call_0"), ids.of_result("call_0")), ("call_0".into(), "call_0".into()));
    assert_eq!((ids.of_call("call_0"), ids.of_result("call_0")), ("call_0_2".into(), "call_0_2".into()));
    // What the second became is somebody else's own.
    assert_eq!(ids.of_call("call_0_2"), "call_0_2_2");
    assert_eq!(ids.of_call("call_0"), "call_0_3");
}

#[test]
fn a_result_without_its_call_still_has_a_fit_identifier() {
    assert_eq!(CallIds::default().of_result("a.b"), "a_b");
}

proptest! {
    #[test]
    fn what_is_sent_is_unique_and_fit(ids in prop::collection::vec("[ab.:_2]{0,3}", 0..40)) {
        let mut held = CallIds::default();
        let sent: Vec<String> = ids.iter().map(|id| held.of_call(id)).collect();
        let fit = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        prop_assert!(sent.iter().all(|id| !id.is_empty() && id.chars().all(fit)), "{sent:?}");
        prop_assert_eq!(sent.iter().collect::<HashSet<_>>().len(), sent.len(), "{:?}", sent);
    }
}
