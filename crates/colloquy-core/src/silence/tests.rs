use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::{message::Role, prepare::PreparedTurn};

fn limit_ms(tokens: u64, window: Option<u32>) -> u128 {
    first_chunk_limit(tokens, window).as_millis()
}

#[test]
fn the_limit_grows_with_the_prompt_between_its_ends() {
    assert_eq!(limit_ms(2250, Some(4096)), 120_000);
    assert_eq!(limit_ms(2251, Some(4096)), 120_040);
    assert_eq!(limit_ms(21_750, None), 900_000);
    assert_eq!(limit_ms(21_751, None), 900_000);
    assert_eq!(limit_ms(21_751, Some(131_072)), 900_040);
}

#[test]
fn the_ceiling_grows_with_the_window_between_its_ends() {
    let ceiling_ms = |window| first_chunk_ceiling(window).as_millis();
    assert_eq!([None, Some(0), Some(21_750)].map(ceiling_ms), [900_000; 3]);
    assert_eq!(ceiling_ms(Some(21_751)), 900_040);
    assert_eq!([Some(89_250), Some(u32::MAX)].map(ceiling_ms), [3_600_000; 2]);
}

#[test]
fn the_estimate_counts_every_byte_and_the_frame_of_every_message() {
    let turn = |text: &str| {
        Arc::new(PreparedTurn { role: Role::User, blocks: vec![Block::Text(text.into())], n_stable: 1 })
    };
    let turns = vec![turn("é"), turn("")];
    let prepared = PreparedConversation { system: "ab".into(), turns, ..PreparedConversation::default() };
    assert_eq!(estimated_prompt_tokens(&prepared), 2 + 2 + 3 * 8);
}

proptest! {
    #[test]
    fn a_longer_prompt_never_waits_shorter(a in any::<u64>(), b in any::<u64>(), window in any::<Option<u32>>()) {
        let (shorter, longer) = (a.min(b), a.max(b));
        prop_assert!(first_chunk_limit(shorter, window) <= first_chunk_limit(longer, window));
        prop_assert!(first_chunk_limit(longer, window) <= first_chunk_ceiling(window));
        prop_assert!(first_chunk_limit(shorter, window) >= SHORTEST);
    }
}
