use proptest::prelude::*;

use super::{EVENT_BYTES_MAX, Event, SseDecoder, SseError};

fn push(decoder: &mut SseDecoder, bytes: &[u8], events: &mut Vec<String>) -> Result<(), SseError> {
    decoder.push(bytes, |event| {
        events.push(event.data.to_owned());
        Ok(())
    })
}

fn decode(bytes: &[u8]) -> Vec<String> {
    let mut events = Vec::new();
    push(&mut SseDecoder::default(), bytes, &mut events).unwrap();
    events
}

#[test]
fn every_kind_of_line_end_is_read() {
    for end in ["\n", "\r\n", "\r"] {
        let stream = format!("data: one{end}{end}data: two{end}{end}");
        assert_eq!(decode(stream.as_bytes()), ["one", "two"], "{end:?}");
    }
}

#[test]
fn the_data_lines_of_an_event_are_joined() {
    assert_eq!(decode(b"data: one\ndata:two\ndata\ndata:  three\n\n"), ["one\ntwo\n\n three"]);
}

#[test]
fn comments_other_fields_and_empty_events_are_dropped() {
    let stream = b": ping\n\nevent: x\nid: 7\nretry: 5\ndatabase: no\ndata: one\n\n\n\ndata:\n\n";
    assert_eq!(decode(stream), ["one"]);
}

#[test]
fn an_event_has_the_last_name_it_was_given_and_the_next_one_has_none() {
    let stream = b"event: ping\nevent: delta\ndata: one\n\nevent: lost\n\ndata: two\n\n";
    for n_bytes in 1..=stream.len() {
        let mut decoder = SseDecoder::default();
        let mut events = Vec::new();
        for piece in stream.chunks(n_bytes) {
            let pushed: Result<(), SseError> = decoder.push(piece, |Event { name, data }| {
                events.push((name.map(str::to_owned), data.to_owned()));
                Ok(())
            });
            pushed.unwrap();
        }
        let expected = [(Some("delta".to_owned()), "one".to_owned()), (None, "two".to_owned())];
        assert_eq!(events, expected, "in pieces of {n_bytes}");
    }
}

#[test]
fn a_byte_order_mark_is_skipped_only_at_the_start() {
    assert_eq!(decode("\u{feff}data: one\n\ndata: \u{feff}two\n\n".as_bytes()), ["one", "\u{feff}two"]);
}

#[test]
fn an_event_without_its_blank_line_is_not_given() {
    assert_eq!(decode(b"data: one\n\ndata: cut off\n"), ["one"]);
}

#[test]
fn invalid_bytes_are_an_error_and_the_events_before_are_given() {
    let mut events = Vec::new();
    let failed = push(&mut SseDecoder::default(), b"data: one\n\ndata: \xff\n\n", &mut events);
    assert_eq!((failed, events), (Err(SseError::NotUtf8), vec!["one".to_owned()]));
}

#[test]
fn an_event_of_the_largest_size_passes_and_one_byte_more_does_not() {
    let line = |n_bytes: usize| [b"data: ".as_slice(), &vec![b'x'; n_bytes - 6]].concat();
    let mut events = Vec::new();
    let mut decoder = SseDecoder::default();
    push(&mut decoder, &line(EVENT_BYTES_MAX), &mut events).unwrap();
    push(&mut decoder, b"\n\n", &mut events).unwrap();
    assert_eq!(events[0].len(), EVENT_BYTES_MAX - 6);

    let mut decoder = SseDecoder::default();
    let too_large = push(&mut decoder, &line(EVENT_BYTES_MAX + 1), &mut events);
    assert_eq!(too_large, Err(SseError::TooLarge));
    // Many short lines of one event are held to the same limit.
    let many = b"data: 0123456789\n".repeat(EVENT_BYTES_MAX / 10);
    assert_eq!(push(&mut SseDecoder::default(), &many, &mut events), Err(SseError::TooLarge));
}

proptest! {
    #[test]
    fn any_split_gives_the_same_events(
        lines in prop::collection::vec("(data:|data: |: )?[a-é😀]{0,6}(\n|\r\n|\r){1,2}", 0..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let stream = lines.concat().into_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let mut decoder = SseDecoder::default();
        let mut events = Vec::new();
        for cut in cuts.windows(2) {
            push(&mut decoder, &stream[cut[0]..cut[1]], &mut events).unwrap();
        }
        prop_assert_eq!(events, decode(&stream));
    }
}
