use proptest::prelude::*;

use super::*;

fn edges(attempt: u32, passing: Passing) -> (u64, u64) {
    let pause = |draw| pause_before(attempt, passing, draw, PAUSE_MS).as_millis() as u64;
    let width = (0..100_000).map(pause).max().unwrap_or(0);
    (pause(0), width)
}

// behaviours: 283
#[test]
fn a_busy_server_is_given_the_time_of_the_table() {
    assert_eq!(edges(2, Passing::RateLimit), (5_000, 30_000));
    assert_eq!(edges(2, Passing::Overload), (15_000, 90_000));
    assert_eq!(edges(3, Passing::RateLimit), (10_000, 60_000));
}

#[test]
fn a_server_that_merely_failed_is_asked_again_soon() {
    assert_eq!(edges(2, Passing::Fault), (500, 500));
    assert_eq!(edges(3, Passing::Fault), (2_000, 2_000));
}

proptest! {
    #[test]
    fn no_pause_is_longer_than_five_minutes(attempt in any::<u32>(), draw in any::<u64>()) {
        for passing in [Passing::RateLimit, Passing::Overload, Passing::Fault] {
            prop_assert!(pause_before(attempt, passing, draw, PAUSE_MS) <= Duration::from_secs(300));
        }
    }
}
