use super::*;

fn running(n: u8) -> Arc<Running> {
    Running::new(Uid([n; 16]), &CancellationToken::new())
}

#[test]
fn i7_a_conversation_has_one_place_and_names_who_has_it() {
    let turns = Arc::new(RunningTurns::default());
    let (first, second) = (running(1), running(2));
    let place = Place::take(&turns, ConversationId(1), &first).ok().unwrap();
    let refused = Place::take(&turns, ConversationId(1), &second).err().unwrap();
    assert_eq!(refused.turn_uid, first.turn_uid);
    assert!(Place::take(&turns, ConversationId(2), &second).is_ok());
    drop(place);
    assert!(Place::take(&turns, ConversationId(1), &second).is_ok());
}

#[test]
fn who_takes_the_place_on_done_is_not_thrown_out_by_the_turn_that_left() {
    let turns = Arc::new(RunningTurns::default());
    let (first, second) = (running(1), running(2));
    let place = Place::take(&turns, ConversationId(1), &first).ok().unwrap();
    // The two halves of leaving, with the next turn between them.
    turns.leave(ConversationId(1), &first);
    let next = Place::take(&turns, ConversationId(1), &second).ok().unwrap();
    drop(place);
    assert_eq!(turns.find(ConversationId(1)).unwrap().turn_uid, second.turn_uid);
    assert!(first.over.is_cancelled() && !second.over.is_cancelled());
    drop(next);
    assert!(turns.all().is_empty());
}

#[test]
fn a_turn_that_only_begins_while_the_service_closes_is_stopped() {
    let closing = CancellationToken::new();
    closing.cancel();
    assert!(Running::new(Uid([1; 16]), &closing).stop.is_cancelled());
}
