use proptest::prelude::*;

use super::*;

#[test]
fn a_text_that_fits_is_one_piece_and_nothing_is_none() {
    assert_eq!(pieces("abc", 3), ["abc"]);
    assert_eq!(pieces("", 3), [""; 0]);
}

#[test]
fn paragraphs_come_before_sentences_before_words_before_anything() {
    assert_eq!(pieces("One. Two.\n\nThree four.", 16), ["One. Two.\n\n", "Three four."]);
    assert_eq!(pieces("One two. Three four five", 14), ["One two. ", "Three four ", "five"]);
    assert_eq!(pieces("Was it? Yes! No", 10), ["Was it? ", "Yes! No"]);
    assert_eq!(pieces("one two three", 9), ["one two ", "three"]);
    assert_eq!(pieces("überlänge", 4), ["über", "läng", "e"]);
}

#[test]
fn a_size_of_none_is_taken_as_one() {
    assert_eq!(pieces("ab", 0), ["a", "b"]);
}

proptest! {
    #[test]
    fn the_pieces_are_the_text_and_each_is_of_the_size(text in "(?s)([a-zü.! \n]{0,9}){0,20}", chars_max in 1..30_usize) {
        let pieces = pieces(&text, chars_max);
        prop_assert_eq!(pieces.concat(), &*text);
        prop_assert!(pieces.iter().all(|piece| (1..=chars_max).contains(&piece.chars().count())));
    }
}
