use proptest::prelude::*;

use super::*;

fn check(query: &str, text: &str, expect: &[(usize, usize)]) {
    assert_eq!(Needle::new(query).unwrap().places(text), expect, "{query:?} in {text:?}");
}

#[test]
fn a_text_is_found_in_either_case_with_its_place_in_characters() {
    check("needle", "a NeEdLe", &[(2, 8)]);
    check("ÄÖ", "xxäöxx", &[(2, 4)]);
    check("x", "", &[]);
    check("longer", "long", &[]);
}

#[test]
fn overlapping_places_are_all_found() {
    check("aa", "aaaa", &[(0, 2), (1, 3), (2, 4)]);
    check("abab", "abababab", &[(0, 4), (2, 6), (4, 8)]);
    check("aab", "aaab", &[(1, 4)]);
}

#[test]
fn places_count_characters_of_the_text_where_lower_case_is_longer() {
    // The lower case of "İ" is two characters.
    check("x", "İİx", &[(2, 3)]);
    check("İ", "aİb", &[(1, 2)]);
}

#[test]
fn nothing_cannot_be_looked_for() {
    assert!(Needle::new("").is_none());
}

proptest! {
    #[test]
    fn every_place_that_a_plain_search_finds_is_found(query in "[abA]{1,4}", text in "[abAB ]{0,40}") {
        let (folded, lower): (Vec<char>, Vec<char>) =
            (text.to_lowercase().chars().collect(), query.to_lowercase().chars().collect());
        let plain: Vec<(usize, usize)> = (0..folded.len())
            .filter(|start| folded[*start..].starts_with(&lower))
            .map(|start| (start, start + lower.len()))
            .collect();
        prop_assert_eq!(Needle::new(&query).unwrap().places(&text), plain);
    }
}
