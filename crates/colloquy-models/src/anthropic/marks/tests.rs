use colloquy_core::message::Role;
use proptest::prelude::*;

use super::{Mark, Outline, TURN_MARKS_MAX, place};

fn question(anchor: usize) -> Outline {
    Outline { role: Role::User, has_results: false, anchor: Some(anchor) }
}

fn results(anchor: usize) -> Outline {
    Outline { role: Role::User, has_results: true, anchor: Some(anchor) }
}

fn assistant(anchor: usize) -> Outline {
    Outline { role: Role::Assistant, has_results: false, anchor: Some(anchor) }
}

/// A turn of which nothing can be marked.
fn without_anchor(outline: Outline) -> Outline {
    Outline { anchor: None, ..outline }
}

fn marked_turns(turns: &[Outline]) -> Vec<usize> {
    place(turns).iter().map(|mark| mark.turn).collect()
}

#[test]
fn a_first_question_is_marked_at_its_last_stable_block() {
    assert_eq!(place(&[question(2)]), [Mark { turn: 0, block: 2 }]);
    assert_eq!(place(&[]), []);
    assert_eq!(place(&[without_anchor(question(0))]), []);
}

#[test]
fn a_tool_loop_is_marked_at_its_newest_results_and_at_those_before() {
    let turns = [question(0), assistant(1), results(30), assistant(30), results(29)];
    assert_eq!(place(&turns), [Mark { turn: 2, block: 30 }, Mark { turn: 4, block: 29 }]);
}

#[test]
fn a_new_question_leaves_a_mark_in_front_of_the_question_before() {
    let turns = [
        question(0),
        assistant(0),
        // The question before this turn's, its tools and its answer.
        question(0),
        assistant(0),
        results(0),
        assistant(0),
        question(0),
    ];
    assert_eq!(marked_turns(&turns), [0, 4, 6]);
    // In the loop of a turn, it is its own question in front of which the mark stands.
    let in_loop = [&turns[..], &[assistant(0), results(0), assistant(0), results(0)]].concat();
    assert_eq!(marked_turns(&in_loop), [4, 8, 10]);
}

#[test]
fn what_stands_beside_a_question_belongs_to_it() {
    let announcement = question(0);
    let turns = [question(0), assistant(0), announcement, question(0), assistant(0), question(0)];
    assert_eq!(marked_turns(&turns), [0, 3, 5]);
    // A person who spoke while tools ran has begun no turn.
    let steered =
        [question(0), assistant(0), question(0), assistant(0), results(0), question(0), assistant(0)];
    assert_eq!(marked_turns(&[&steered[..], &[results(0)]].concat()), [0, 5, 7]);
}

#[test]
fn a_tail_that_changes_leaves_the_mark_where_the_next_request_finds_it() {
    let turns = [question(0), assistant(0), question(3), without_anchor(question(0))];
    assert_eq!(place(&turns).last(), Some(&Mark { turn: 2, block: 3 }));
}

/// A conversation as one user's side after another, each answered but the last.
fn user_sides() -> impl Strategy<Value = Vec<Vec<Outline>>> {
    let outline = (any::<bool>(), prop::option::weighted(0.8, 0_usize..50))
        .prop_map(|(has_results, anchor)| Outline { role: Role::User, has_results, anchor });
    prop::collection::vec(prop::collection::vec(outline, 0..4), 1..12)
}

proptest! {
    #[test]
    fn every_request_marks_the_place_where_the_one_before_had_its_last_mark(
        sides in user_sides(),
        answers in prop::collection::vec(prop::option::of(0_usize..50), 12),
    ) {
        let mut turns: Vec<Outline> = Vec::new();
        let mut last_mark: Option<Mark> = None;
        for (side, answer) in sides.iter().zip(answers) {
            turns.extend(side);
            // What the next request does not hold again is behind everything.
            let with_tail = [&turns[..], &[without_anchor(question(0))]].concat();
            let marks = place(&with_tail);
            prop_assert!(marks.len() <= TURN_MARKS_MAX && marks.is_sorted(), "{:?}", marks);
            prop_assert!(marks.iter().all(|mark| turns[mark.turn].anchor == Some(mark.block)));
            prop_assert!(last_mark.is_none_or(|last| marks.contains(&last)), "{:?} not in {:?}", last_mark, marks);
            last_mark = marks.last().copied();
            turns.push(Outline { role: Role::Assistant, has_results: false, anchor: answer });
        }
    }
}
