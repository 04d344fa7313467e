//! The binary frames of AWS (`application/vnd.amazon.eventstream`): lengths, headers, a payload,
//! and a checksum of each part.
//!
//! Written from the published format, apart from the decoder under test, so that one fault cannot
//! be in both.

/// What a frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An event of that type.
    Event(&'static str),
    /// A declared exception, which ends the stream.
    Exception(&'static str),
}

/// The type of a header's value that is text.
const TEXT: u8 = 7;
/// The lengths, the headers' and the whole's, their checksum, and the checksum at the end.
const OVERHEAD_BYTES: usize = 16;

/// A frame with that payload of JSON.
pub(super) fn frame(kind: Kind, payload: &str) -> Vec<u8> {
    let (type_header, type_name, message_type) = match kind {
        Kind::Event(name) => (":event-type", name, "event"),
        Kind::Exception(name) => (":exception-type", name, "exception"),
    };
    let headers: Vec<u8> =
        [(type_header, type_name), (":content-type", "application/json"), (":message-type", message_type)]
            .into_iter()
            .flat_map(|(name, value)| header(name, value))
            .collect();
    let n_bytes = OVERHEAD_BYTES + headers.len() + payload.len();
    let mut frame = Vec::with_capacity(n_bytes);
    frame.extend(length(n_bytes));
    frame.extend(length(headers.len()));
    frame.extend(crc32fast::hash(&frame).to_be_bytes());
    frame.extend(headers);
    frame.extend(payload.as_bytes());
    frame.extend(crc32fast::hash(&frame).to_be_bytes());
    frame
}

fn header(name: &str, value: &str) -> Vec<u8> {
    let n_name = u8::try_from(name.len()).expect("BUG: the names of headers are short");
    let n_value = u16::try_from(value.len()).expect("BUG: the values of headers are short");
    let mut header = vec![n_name];
    header.extend(name.as_bytes());
    header.push(TEXT);
    header.extend(n_value.to_be_bytes());
    header.extend(value.as_bytes());
    header
}

fn length(n_bytes: usize) -> [u8; 4] {
    u32::try_from(n_bytes).expect("BUG: no frame of a script has 4 GiB").to_be_bytes()
}
