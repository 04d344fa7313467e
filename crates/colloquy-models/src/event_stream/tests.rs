use proptest::prelude::*;

use super::{
    EventStreamDecoder, EventStreamError, FRAME_BYTES_MAX,
    encode::{event, exception, frame, text_headers},
};

type Told = Vec<(Option<String>, String)>;

fn push(decoder: &mut EventStreamDecoder, bytes: &[u8], told: &mut Told) -> Result<(), EventStreamError> {
    decoder.push(bytes, |event| {
        told.push((event.name.map(str::to_owned), event.data.to_owned()));
        Ok(())
    })
}

fn decode(bytes: &[u8]) -> Result<Told, EventStreamError> {
    let (mut decoder, mut told) = (EventStreamDecoder::default(), Told::new());
    push(&mut decoder, bytes, &mut told)?;
    Ok(told)
}

fn told(name: &str, data: &str) -> (Option<String>, String) {
    (Some(name.to_owned()), data.to_owned())
}

/// The frame without headers that AWS publishes with its payload `{'foo':'bar'}`, to be sure that
/// not only our own encoder agrees with our decoder.
const PUBLISHED: &str = "0000001d00000000fd528c5a7b27666f6f273a27626172277dc3653936";

#[test]
fn the_checksums_are_those_of_a_published_frame() {
    assert_eq!(hex::encode(frame(&[], b"{'foo':'bar'}")), PUBLISHED);
    // It has no message type and so is no event.
    assert_eq!(decode(&hex::decode(PUBLISHED).unwrap()), Err(EventStreamError::Malformed));
}

#[test]
fn an_event_has_the_name_of_its_type_and_an_exception_too() {
    let bytes =
        [event("messageStart", "{}"), exception("throttlingException", "{\"message\":\"slow\"}")].concat();
    assert_eq!(
        decode(&bytes).unwrap(),
        [told("messageStart", "{}"), told("throttlingException", "{\"message\":\"slow\"}")]
    );
}

#[test]
fn an_undeclared_error_is_told_with_its_code_and_words() {
    let headers = text_headers(&[
        (":message-type", "error"),
        (":error-code", "InternalFailure"),
        (":error-message", "it \"broke\""),
    ]);
    let data = r#"{"error":{"code":"InternalFailure","message":"it \"broke\""}}"#;
    assert_eq!(decode(&frame(&headers, b"")).unwrap(), [told("error", data)]);
}

#[test]
fn headers_of_every_type_are_passed_over() {
    let mut headers = text_headers(&[(":message-type", "event")]);
    let lengths = [0_usize, 0, 1, 2, 4, 8, 2 + 3, 2 + 3, 8, 16];
    for (value_type, length) in lengths.into_iter().enumerate() {
        headers.extend([1, b'h', u8::try_from(value_type).unwrap()]);
        let mut value = vec![0; length];
        if matches!(value_type, 6 | 7) {
            value[1] = 3;
        }
        headers.extend(value);
    }
    headers.extend(text_headers(&[(":event-type", "ping")]));
    assert_eq!(decode(&frame(&headers, b"{}")).unwrap(), [told("ping", "{}")]);
}

#[test]
fn what_is_not_a_frame_is_refused_though_its_checksums_match() {
    let kind = text_headers(&[(":message-type", "event")]);
    let unknown_type = [kind.as_slice(), &[1, b'h', 10]].concat();
    let cut_header = &kind[..kind.len() - 1];
    let unknown_kind = text_headers(&[(":message-type", "letter")]);
    for headers in [unknown_type.as_slice(), cut_header, &unknown_kind] {
        assert_eq!(decode(&frame(headers, b"{}")), Err(EventStreamError::Malformed));
    }
    assert_eq!(decode(&frame(&kind, &[0xff])), Err(EventStreamError::Malformed));
}

fn prelude(n_frame: u32, n_headers: u32) -> Vec<u8> {
    let mut bytes = [n_frame.to_be_bytes(), n_headers.to_be_bytes()].concat();
    bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
    bytes
}

#[test]
fn impossible_lengths_are_refused_before_a_byte_of_the_frame_is_waited_for() {
    assert_eq!(decode(&prelude(15, 0)), Err(EventStreamError::Malformed));
    assert_eq!(decode(&prelude(16, 1)), Err(EventStreamError::Malformed));
    assert_eq!(decode(&prelude(16, 0)), Ok(Vec::new()));
}

#[test]
fn a_frame_of_the_largest_size_is_taken_and_one_byte_more_is_refused_at_its_prelude() {
    let headers = text_headers(&[(":message-type", "event"), (":event-type", "large")]);
    let payload = vec![b'x'; FRAME_BYTES_MAX - 16 - headers.len()];
    let largest = frame(&headers, &payload);
    assert_eq!(largest.len(), FRAME_BYTES_MAX);
    assert_eq!(decode(&largest).unwrap()[0].1.len(), payload.len());

    let above = u32::try_from(FRAME_BYTES_MAX + 1).unwrap();
    assert_eq!(decode(&prelude(above, 0)), Err(EventStreamError::TooLarge));
}

proptest! {
    #[test]
    fn any_cut_of_the_bytes_gives_the_same_events(
        frames in prop::collection::vec(("[a-z]{0,20}", "\\PC{0,40}", any::<bool>()), 0..6),
        cuts in prop::collection::vec(1_usize..40, 0..30),
    ) {
        let encode = |(name, data, is_event): &(String, String, bool)| {
            if *is_event { event(name, data) } else { exception(name, data) }
        };
        let bytes: Vec<u8> = frames.iter().flat_map(encode).collect();
        let (mut decoder, mut events) = (EventStreamDecoder::default(), Told::new());
        let mut rest = bytes.as_slice();
        for cut in cuts {
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            push(&mut decoder, piece, &mut events).unwrap();
            rest = after;
        }
        push(&mut decoder, rest, &mut events).unwrap();
        let expected: Told = frames.iter().map(|(name, data, _)| told(name, data)).collect();
        prop_assert_eq!(events, expected);
    }

    /// CRC-32 finds every damage within 32 bits, so a flipped bit is never read as content. Bits
    /// that make a length larger are found too, by the prelude's own checksum.
    #[test]
    fn a_flipped_bit_is_found_wherever_it_is(data in "[ -~]{0,60}", at in any::<prop::sample::Index>(), bit in 0_u8..8) {
        let mut bytes = event("contentBlockDelta", &data);
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert_eq!(decode(&bytes), Err(EventStreamError::Damaged));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        // Random bytes have a matching checksum once in four billion times.
        if bytes.len() >= 12 {
            prop_assert_eq!(decode(&bytes), Err(EventStreamError::Damaged));
        } else {
            prop_assert_eq!(decode(&bytes), Ok(Vec::new()));
        }
    }
}
