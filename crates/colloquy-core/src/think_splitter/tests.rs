use proptest::prelude::*;

use super::*;

fn answer(text: &str) -> Piece {
    Piece::Answer(text.into())
}

fn thinking(text: &str) -> Piece {
    Piece::Thinking(text.into())
}

/// Everything a stream comes to: the answer and the reasoning.
fn split(chunks: &[&str]) -> (String, String) {
    let mut splitter = ThinkSplitter::new();
    let mut pieces: Vec<Piece> = chunks.iter().flat_map(|chunk| splitter.feed(chunk)).collect();
    pieces.extend(splitter.flush());
    let mut texts = (String::new(), String::new());
    for piece in pieces {
        match piece {
            Piece::Answer(text) => texts.0.push_str(&text),
            Piece::Thinking(text) => texts.1.push_str(&text),
        }
    }
    texts
}

#[test]
fn text_without_tags_is_told_at_once() {
    let mut splitter = ThinkSplitter::new();
    assert_eq!(splitter.feed("Paris."), [answer("Paris.")]);
    assert_eq!(splitter.flush(), []);
}

#[test]
fn a_tag_cut_anywhere_never_leaks() {
    let text = "<think>a</think>b";
    for at in 0..=text.len() {
        assert_eq!(split(&[&text[..at], &text[at..]]), ("b".into(), "a".into()), "cut at {at}");
    }
}

#[test]
fn only_what_may_become_a_tag_is_held_back() {
    let mut splitter = ThinkSplitter::new();
    assert_eq!(splitter.feed("if a <thi"), [answer("if a ")]);
    assert_eq!(splitter.feed("s"), [answer("<this")]);
}

#[test]
fn a_block_that_is_never_closed_stays_reasoning() {
    let mut splitter = ThinkSplitter::new();
    assert_eq!(splitter.feed("<think>so</thi"), [thinking("so")]);
    assert_eq!(splitter.flush(), [thinking("</thi")]);
}

#[test]
fn a_closing_tag_outside_a_block_is_text() {
    assert_eq!(split(&["a</think>b"]), ("a</think>b".into(), String::new()));
}

#[test]
fn a_long_run_of_openers_is_told_without_delay() {
    let mut splitter = ThinkSplitter::new();
    let n_told: usize = (0..1000).map(|_| splitter.feed("<").len()).sum();
    assert_eq!(n_told, 999);
    assert_eq!(splitter.flush(), [answer("<")]);
}

proptest! {
    #[test]
    fn the_chunks_a_text_arrives_in_make_no_difference(
        parts in prop::collection::vec(prop::sample::select(PARTS), 0..24),
        chunk_chars in 1_usize..7,
    ) {
        let text = parts.concat();
        let chars: Vec<char> = text.chars().collect();
        let chunks: Vec<String> = chars.chunks(chunk_chars).map(String::from_iter).collect();
        let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
        prop_assert_eq!(split(&chunks), split(&[&text]));
    }

    #[test]
    fn no_piece_is_empty_or_holds_a_tag_and_only_tags_are_lost(
        parts in prop::collection::vec(prop::sample::select(PARTS), 0..24),
    ) {
        let mut splitter = ThinkSplitter::new();
        let mut pieces: Vec<Piece> = parts.iter().flat_map(|part| splitter.feed(part)).collect();
        pieces.extend(splitter.flush());
        let mut n_told = 0;
        for piece in &pieces {
            let (text, awaited) = match piece {
                Piece::Answer(text) => (text, Channel::Answer.awaited_tag()),
                Piece::Thinking(text) => (text, Channel::Thinking.awaited_tag()),
            };
            prop_assert!(!text.is_empty() && !text.contains(awaited), "{piece:?}");
            n_told += text.len();
        }
        // Tags come in pairs, but for a block that is still open.
        let n_lost = parts.concat().len() - n_told;
        let (open, pair) = ("<think>".len(), "<think></think>".len());
        prop_assert!(n_lost % pair == 0 || n_lost % pair == open, "{n_lost} bytes lost");
    }
}

const PARTS: &[&str] = &["<think>", "</think>", "<", "</", "th", "ink>", "a", "é", "🤔", "\n", " "];
