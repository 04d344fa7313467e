use std::{
    sync::{Mutex, MutexGuard},
    thread,
};

use proptest::prelude::*;

use super::*;

// behaviours: 280
#[test]
fn an_empty_poll_closes_for_good_and_what_was_accepted_before_is_delivered() {
    let mut inbox = Inbox::default();
    for message in ["a", "b"] {
        assert_eq!(inbox.reserve(), Ok(()));
        inbox.fill(message);
    }
    assert_eq!(inbox.poll_or_close(), Polled::Held(vec!["a", "b"]));
    assert_eq!(inbox.reserve(), Ok(()), "a poll that found something closes nothing");
    inbox.fill("c");
    assert_eq!(inbox.drain(), ["c"]);
    assert_eq!(inbox.poll_or_close(), Polled::Closed);
    assert_eq!(inbox.reserve(), Err(NotAccepted::Closed));
    assert_eq!(inbox.poll_or_close(), Polled::Closed);
}

#[test]
fn an_inbox_does_not_close_over_a_message_that_is_being_accepted() {
    let mut inbox = Inbox::default();
    assert_eq!(inbox.reserve(), Ok(()));
    assert!(inbox.is_pending());
    assert_eq!(inbox.poll_or_close(), Polled::Pending);
    inbox.fill("a");
    assert!(!inbox.is_pending());
    assert_eq!(inbox.poll_or_close(), Polled::Held(vec!["a"]));

    assert_eq!(inbox.reserve(), Ok(()));
    inbox.give_back();
    assert_eq!(inbox.poll_or_close(), Polled::Closed);
}

#[test]
fn the_last_place_is_taken_and_the_next_is_refused_until_one_is_free() {
    let mut inbox = Inbox::default();
    for n in 0..INBOX_MAX {
        assert_eq!(inbox.reserve(), Ok(()), "place {n}");
        if n % 2 == 0 {
            inbox.fill(n);
        }
    }
    assert_eq!(inbox.reserve(), Err(NotAccepted::Full));
    inbox.give_back();
    assert_eq!(inbox.reserve(), Ok(()));
    assert_eq!(inbox.reserve(), Err(NotAccepted::Full));
}

#[test]
fn what_fills_its_place_after_the_close_is_still_there_to_be_taken() {
    let mut inbox = Inbox::default();
    for _ in 0..2 {
        assert_eq!(inbox.reserve(), Ok(()));
    }
    inbox.fill("early");
    assert_eq!(inbox.close(), ["early"]);
    assert_eq!(inbox.reserve(), Err(NotAccepted::Closed));
    assert!(inbox.is_pending());
    inbox.fill("late");
    assert_eq!(inbox.drain(), ["late"]);
}

fn lock(inbox: &Mutex<Inbox<u32>>) -> MutexGuard<'_, Inbox<u32>> {
    inbox.lock().unwrap()
}

/// Offers messages as a route does, with the lock released between the two halves, until one is
/// refused; gives those that were accepted.
fn offer(inbox: &Mutex<Inbox<u32>>, first: u32) -> Vec<u32> {
    let mut accepted = Vec::new();
    for message in first..first + 8 {
        let reserved = lock(inbox).reserve();
        if reserved.is_err() {
            break;
        }
        thread::yield_now();
        lock(inbox).fill(message);
        accepted.push(message);
    }
    accepted
}

/// Polls until the inbox closes; gives what was delivered.
fn poll(inbox: &Mutex<Inbox<u32>>) -> Vec<u32> {
    let mut delivered = Vec::new();
    loop {
        let polled = lock(inbox).poll_or_close();
        match polled {
            Polled::Held(messages) => delivered.extend(messages),
            Polled::Pending => thread::yield_now(),
            Polled::Closed => return delivered,
        }
    }
}

// behaviours: 281
#[test]
fn in_500_races_every_accepted_message_is_delivered_once() {
    for round in 0..500 {
        let inbox = Mutex::new(Inbox::default());
        let (mut accepted, mut delivered) = thread::scope(|scope| {
            let offers = [0, 100, 200].map(|first| {
                scope.spawn({
                    let inbox = &inbox;
                    move || offer(inbox, first)
                })
            });
            let delivered = scope.spawn(|| poll(&inbox));
            let accepted: Vec<u32> = offers.into_iter().flat_map(|offers| offers.join().unwrap()).collect();
            (accepted, delivered.join().unwrap())
        });
        accepted.sort_unstable();
        delivered.sort_unstable();
        assert_eq!(accepted, delivered, "round {round}");
    }
}

/// One move on an inbox.
#[derive(Debug, Clone)]
enum Move {
    Reserve,
    Fill,
    GiveBack,
    Drain,
    Poll,
}

proptest! {
    #[test]
    fn messages_come_out_once_and_in_the_order_they_went_in(
        moves in prop::collection::vec(
            prop_oneof![
                3 => Just(Move::Reserve),
                3 => Just(Move::Fill),
                1 => Just(Move::GiveBack),
                1 => Just(Move::Drain),
                1 => Just(Move::Poll),
            ],
            0..200,
        ),
    ) {
        let mut inbox = Inbox::default();
        let (mut n_open, mut n_filled, mut out) = (0, 0, Vec::new());
        for step in moves {
            match step {
                Move::Reserve => n_open += u32::from(inbox.reserve().is_ok()),
                Move::Fill if n_open > 0 => {
                    inbox.fill(n_filled);
                    (n_open, n_filled) = (n_open - 1, n_filled + 1);
                }
                Move::GiveBack if n_open > 0 => {
                    inbox.give_back();
                    n_open -= 1;
                }
                Move::Fill | Move::GiveBack => {}
                Move::Drain => out.extend(inbox.drain()),
                Move::Poll => match inbox.poll_or_close() {
                    Polled::Held(messages) => out.extend(messages),
                    Polled::Pending => prop_assert!(n_open > 0),
                    Polled::Closed => {
                        prop_assert_eq!((n_open, inbox.reserve()), (0, Err(NotAccepted::Closed)));
                    }
                },
            }
        }
        out.extend(inbox.close());
        prop_assert_eq!(out, (0..n_filled).collect::<Vec<u32>>());
    }
}
