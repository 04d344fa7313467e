use proptest::prelude::*;

use super::*;

fn field(size: SummarySize) -> Summarizable {
    Summarizable { size, threshold: Some(0), ..Summarizable::default() }
}

const SIZES: [SummarySize; 3] = [SummarySize::Brief, SummarySize::Short, SummarySize::Paragraphs];

#[test]
fn a_text_at_the_threshold_is_whole_and_one_character_more_is_summarised() {
    let default = Summarizable::default();
    assert_eq!(truncated(&"ä".repeat(8_000), &default), None);
    let summary = truncated(&"ä".repeat(8_001), &default).unwrap();
    assert!(summary.starts_with("[SUMMARY: 8001 chars] ä"));
    let own = Summarizable { threshold: Some(3), ..default };
    assert_eq!((truncated("abc", &own), truncated("abcd", &own).is_some()), (None, true));
}

// behaviours: 132
#[test]
fn each_size_keeps_its_characters_and_says_that_it_was_cut() {
    for (size, chars) in SIZES.into_iter().zip([200, 500, 1_200]) {
        assert_eq!(size.chars(), chars);
        let text = "ü".repeat(chars + 1);
        assert_eq!(shortened(&text, &field(size)).unwrap(), format!("{}...", "ü".repeat(chars)));
        let at_the_limit = "ü".repeat(chars);
        assert_eq!(shortened(&at_the_limit, &field(size)).unwrap(), at_the_limit, "nothing was cut");
    }
}

#[test]
fn a_cut_is_made_at_a_boundary_within_the_last_fifty_characters() {
    for boundary in [' ', '.', ',', '\n'] {
        let text = |before: usize| format!("{}{boundary}{}", "a".repeat(before), "b".repeat(500));
        // The 150th of 200 characters is the first of the last fifty.
        assert_eq!(
            shortened(&text(150), &field(SummarySize::Brief)).unwrap(),
            format!("{}...", "a".repeat(150))
        );
        assert_eq!(
            shortened(&text(199), &field(SummarySize::Brief)).unwrap(),
            format!("{}...", "a".repeat(199))
        );
        let too_early = shortened(&text(149), &field(SummarySize::Brief)).unwrap();
        assert_eq!(too_early.chars().count(), 203);
    }
}

// behaviours: 133
#[test]
fn a_static_summary_is_used_and_no_model_is_asked() {
    let field = Summarizable {
        static_summary: Some("the full text of the paper".into()),
        llm_safe: true,
        ..field(SummarySize::Short)
    };
    assert_eq!(truncated("long", &field).unwrap(), "[SUMMARY: 4 chars] the full text of the paper");
    assert_eq!(plan("long", &field), Plan::Ready("the full text of the paper".into()));
}

#[test]
fn a_model_is_asked_where_it_may_be_and_up_to_two_hundred_thousand_characters() {
    let safe = Summarizable { llm_safe: true, ..field(SummarySize::Paragraphs) };
    let ask = Plan::Ask { size: SummarySize::Paragraphs, max_tokens: 3_072 };
    assert_eq!(plan(&"ü".repeat(200_000), &safe), ask);
    assert!(matches!(plan(&"ü".repeat(200_001), &safe), Plan::Ready(summary) if summary.ends_with("...")));
    assert!(matches!(plan("long", &field(SummarySize::Brief)), Plan::Ready(_)));
    assert_eq!(
        plan(&"x".repeat(8_000), &Summarizable { llm_safe: true, ..Summarizable::default() }),
        Plan::Whole
    );
}

#[test]
fn a_rambling_model_is_stopped_at_a_budget_for_each_size() {
    assert_eq!(SIZES.map(SummarySize::max_tokens), [768, 1_536, 3_072]);
}

#[test]
fn a_summary_that_says_nothing_or_is_no_shorter_is_not_accepted() {
    assert_eq!(accepted("a long text", " short\n"), Some("short".into()));
    assert_eq!(accepted("a long text", " \n"), None);
    assert_eq!(accepted("a long text", "a long tex!"), None);
    assert_eq!(accepted("a long text", "a long tex"), Some("a long tex".into()));
}

#[test]
fn the_names_of_the_sizes_are_read_back() {
    assert!(SIZES.into_iter().all(|size| SummarySize::parse(size.name()) == Some(size)));
    assert_eq!((SummarySize::parse("Short"), SummarySize::parse("tiny")), (None, None));
}

proptest! {
    #[test]
    fn a_truncation_is_a_beginning_of_the_text_and_never_larger_than_its_size(text in "(?s).{0,300}") {
        let Some(summary) = shortened(&text, &field(SummarySize::Brief)) else {
            prop_assert!(text.is_empty());
            return Ok(());
        };
        let kept = summary.strip_suffix("...").filter(|_| text.chars().count() > 200).unwrap_or(&summary);
        prop_assert!(kept.chars().count() <= 200);
        prop_assert!(text.trim_start().starts_with(kept));
        if text.chars().count() > 200 {
            prop_assert!(text.chars().take(200).collect::<String>().trim().chars().count() < kept.chars().count() + 51);
        }
    }
}
