use colloquy_core::turn::Outcome;

use super::*;

fn done() -> StreamEvent {
    StreamEvent::Done(Done {
        turn_uid: Uid([7; 16]),
        outcome: Outcome::Answered,
        question_id: MessageId(1),
        message_id: Some(MessageId(2)),
        usage: Usage::default(),
    })
}

#[tokio::test]
async fn a_late_reader_gets_every_event_from_the_first_and_then_the_end() {
    let log = TurnLog::new();
    log.push(StreamEvent::Answer("a".into()));
    let mut early = log.reader();
    assert_eq!(early.next().await, Some((1, StreamEvent::Answer("a".into()))));

    log.push(StreamEvent::Answer("b".into()));
    log.push(done());
    let mut late = log.reader();
    for seq in 1..=3 {
        assert_eq!(late.next().await.map(|(number, _)| number), Some(seq));
    }
    assert_eq!(late.next().await, None);
    assert_eq!(early.next().await.map(|(number, _)| number), Some(2));
    assert_eq!(early.next().await, Some((3, done())));
    assert_eq!(early.next().await, None);
}

#[tokio::test]
async fn a_waiting_reader_is_woken_and_nothing_follows_done() {
    let log = TurnLog::new();
    let mut reader = log.reader();
    let waiting = tokio::spawn(async move {
        let first = reader.next().await;
        let second = reader.next().await;
        (first, second, reader.next().await)
    });
    tokio::task::yield_now().await;
    log.push(StreamEvent::Thinking("t".into()));
    tokio::task::yield_now().await;
    log.push(done());
    log.push(StreamEvent::Answer("too late".into()));
    let (first, second, third) = waiting.await.unwrap();
    assert_eq!(first, Some((1, StreamEvent::Thinking("t".into()))));
    assert_eq!(second, Some((2, done())));
    assert_eq!(third, None);
    assert_eq!(log.last_seq(), 2);
}

#[test]
fn unstored_events_start_after_the_last_stored_one() {
    let log = TurnLog::new();
    log.push(StreamEvent::Answer("a".into()));
    log.push(StreamEvent::Answer("b".into()));
    assert_eq!(log.unstored().0, 1);
    log.mark_stored(1);
    assert_eq!(log.unstored(), (2, vec![StreamEvent::Answer("b".into())]));
    log.mark_stored(9);
    log.mark_stored(1);
    assert_eq!(log.unstored(), (3, vec![]));
}

#[test]
fn blocks_keep_the_order_of_reasoning_and_answer() {
    let events = [
        StreamEvent::Thinking("a".into()),
        StreamEvent::Progress(Progress::Waiting),
        StreamEvent::Thinking("b".into()),
        StreamEvent::Answer("c".into()),
        StreamEvent::Answer("d".into()),
        StreamEvent::Thinking("e".into()),
    ];
    assert_eq!(blocks_of(&events), [Block::reasoning("ab"), Block::Text("cd".into()), Block::reasoning("e")]);
}

#[test]
fn text_that_was_withdrawn_or_is_durable_is_no_part_of_an_unfinished_answer() {
    let call = StreamEvent::ToolCall { id: "c".into(), name: "t".into(), input: "{}".into() };
    let withdraw = |to| StreamEvent::Withdraw { from_seq: 1, to };
    let said = |text: &str| StreamEvent::Answer(text.into());
    assert_eq!(blocks_of(&[said("a"), withdraw(Withdrawn::Nothing), said("b")]), [Block::Text("b".into())]);
    assert_eq!(
        blocks_of(&[said("a"), withdraw(Withdrawn::Thinking), said("b")]),
        [Block::reasoning("a"), Block::Text("b".into())]
    );
    let steer = StreamEvent::Steer { text: "and?".into() };
    assert_eq!(blocks_of(&[said("a"), call, said("b")]), [Block::Text("b".into())]);
    assert_eq!(blocks_of(&[said("a"), steer, said("b")]), [Block::Text("b".into())]);
}

#[test]
fn a_step_knows_where_its_answer_text_begins() {
    let log = TurnLog::new();
    log.push(StreamEvent::Thinking("hm".into()));
    assert_eq!(log.first_answer_of_step(), None);
    log.push(StreamEvent::Answer("a".into()));
    log.push(StreamEvent::Answer("b".into()));
    assert_eq!(log.first_answer_of_step(), Some(2));
    log.begin_step();
    assert_eq!(log.first_answer_of_step(), None);
    log.push(StreamEvent::Answer("c".into()));
    assert_eq!(log.first_answer_of_step(), Some(4));
}
