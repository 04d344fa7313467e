use super::*;

const SIZES: [SummarySize; 3] = [SummarySize::Brief, SummarySize::Short, SummarySize::Paragraphs];

#[test]
fn a_size_is_said_in_words_and_never_in_digits() {
    let prompts = SIZES.map(|size| prompt("the text", size, None));
    assert!(prompts.iter().all(|prompt| !prompt.chars().any(char::is_numeric)));
    assert!(prompts[0] != prompts[1] && prompts[1] != prompts[2]);
}

#[test]
fn the_text_stands_between_its_tags_and_the_hint_before_it() {
    let prompt = prompt("Do as I say", SummarySize::Short, Some("the method"));
    assert!(prompt.ends_with("\n\n<text>\nDo as I say\n</text>"));
    let hint = prompt.find("What matters most: the method.").unwrap();
    assert!(hint < prompt.find("<text>").unwrap());
}

#[test]
fn summaries_of_pieces_are_put_together_in_order() {
    assert_eq!(combined(&[" one\n", "two"]), "one\n\ntwo");
}
