use proptest::prelude::*;

use super::*;

fn chatml() -> ControlTokens {
    ControlTokens::vocabulary(["<|im_start|>", "<|im_end|>", "<|im", "</s>"].map(str::to_owned).to_vec())
}

#[test]
fn a_token_gets_a_joiner_behind_its_first_character() {
    assert_eq!(chatml().break_in("a <|im_end|> b</s>"), "a <\u{2060}|im_end|> b<\u{2060}/s>");
}

#[test]
fn a_text_without_tokens_is_borrowed() {
    for control in [chatml(), ControlTokens::KnownMarkers, ControlTokens::vocabulary(Vec::new())] {
        for text in ["", "a < b", "x[0] = <y>", "Größe 文字 🙂"] {
            assert!(matches!(control.break_in(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }
}

#[test]
fn a_token_that_begins_inside_another_is_broken_on_its_own() {
    let control = ControlTokens::vocabulary(["ab<x", "<xyz"].map(str::to_owned).to_vec());
    assert_eq!(control.break_in("ab<xyz"), "a\u{2060}b<\u{2060}xyz");
}

#[test]
fn a_first_character_of_several_bytes_is_kept_whole() {
    let control = ControlTokens::vocabulary(vec!["▁文".into()]);
    assert_eq!(control.break_in("x▁文"), "x▁\u{2060}文");
}

#[test]
fn what_cannot_be_broken_is_left_out_of_a_vocabulary() {
    let control =
        ControlTokens::vocabulary(["", "a", "é", "\n\n", "  ", "\u{2060}x"].map(str::to_owned).to_vec());
    assert_eq!(control, ControlTokens::vocabulary(Vec::new()));
}

#[test]
fn the_order_and_the_repetition_of_tokens_make_no_difference() {
    let other = ["</s>", "<|im", "<|im", "<|im_end|>"].map(str::to_owned).to_vec();
    assert_eq!(ControlTokens::vocabulary(other), chatml());
}

#[test]
fn known_markers_of_every_family_are_broken() {
    let markers = [
        "<|im_start|>",
        "<|eot_id|>",
        "<｜begin▁of▁sentence｜>",
        "<think>",
        "</think>",
        "[INST]",
        "[/INST]",
        "<<SYS>>",
        "<s>",
        "</s>",
        "<start_of_turn>",
        "<end_of_turn>",
        "<bos>",
        "<eos>",
        "<tool_call>",
    ];
    for marker in markers {
        let broken = ControlTokens::KnownMarkers.break_in(marker);
        let mut expected: String = marker.to_owned();
        expected.insert(1, JOINER);
        assert_eq!(broken, expected);
    }
}

#[test]
fn a_bar_marker_has_a_name_of_1_to_64_characters_without_white_space() {
    let is_broken =
        |name: &str| matches!(ControlTokens::KnownMarkers.break_in(&format!("<|{name}|>")), Cow::Owned(_));
    assert!(is_broken("x") && is_broken(&"é".repeat(64)));
    assert!(!is_broken("") && !is_broken(&"é".repeat(65)) && !is_broken("a b") && !is_broken("a\n"));
}

#[test]
fn a_megabyte_of_near_misses_is_searched_whole() {
    let tokens = (0..256).map(|n| format!("<|reserved_special_token_{n}|>")).collect();
    let text = "<|reserved_special_token_".repeat(40_000);
    assert!(matches!(ControlTokens::vocabulary(tokens).break_in(&text), Cow::Borrowed(_)));
}

/// Texts in which tokens of two letters are frequent, overlapping and nested.
fn dense_text() -> impl Strategy<Value = String> {
    "[<|a>é ]{0,40}"
}

proptest! {
    #[test]
    fn no_token_is_left_and_taking_the_joiners_out_gives_the_text_back(
        tokens in prop::collection::vec("[<|a>é]{1,5}", 0..12),
        text in dense_text(),
    ) {
        let control = ControlTokens::vocabulary(tokens.clone());
        let broken = control.break_in(&text).into_owned();
        for token in tokens.iter().filter(|token| is_breakable(token)) {
            prop_assert!(!broken.contains(token.as_str()), "{token:?} is left in {broken:?}");
        }
        prop_assert_eq!(broken.replace(JOINER, ""), text);
        prop_assert!(matches!(control.break_in(&broken), Cow::Borrowed(_)), "broken twice");
    }

    #[test]
    fn a_joiner_stands_only_where_a_token_began(
        tokens in prop::collection::vec("[<|a>é]{2,5}", 1..12),
        text in dense_text(),
    ) {
        let n_starts = text
            .char_indices()
            .filter(|(at, _)| tokens.iter().any(|token| text[*at..].starts_with(token.as_str())))
            .count();
        let broken = ControlTokens::vocabulary(tokens).break_in(&text).into_owned();
        prop_assert_eq!(broken.matches(JOINER).count(), n_starts);
    }

    #[test]
    fn known_markers_are_broken_for_good(
        parts in prop::collection::vec(
            prop::sample::select(&["<|", "|>", "<", "a", " ", "<s>", "[INST]", "<think>", "|", "<｜", "｜>"][..]),
            0..16,
        ),
    ) {
        let text = parts.concat();
        let broken = ControlTokens::KnownMarkers.break_in(&text).into_owned();
        prop_assert!(matches!(ControlTokens::KnownMarkers.break_in(&broken), Cow::Borrowed(_)), "{broken:?}");
        prop_assert_eq!(broken.replace(JOINER, ""), text);
    }
}
