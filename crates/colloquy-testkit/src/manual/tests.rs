use colloquy::ports::{Clock, IdSource};
use colloquy_core::message::Uid;

use super::{CountingIds, ManualClock};

#[test]
fn the_clock_moves_only_when_it_is_moved() {
    let clock = ManualClock::at(1_000);
    assert_eq!((clock.now(), clock.now()), (1_000, 1_000));
    clock.advance(250);
    assert_eq!(clock.now(), 1_250);
    clock.set(7);
    assert_eq!(clock.now(), 7);
}

#[test]
fn identifiers_count_and_can_start_anywhere() {
    let ids = CountingIds::default();
    assert_eq!([ids.uid(), ids.uid()].map(|uid| uid.0[15]), [1, 2]);
    assert_eq!(CountingIds::after(255).uid(), Uid(256_u128.to_be_bytes()));
}
