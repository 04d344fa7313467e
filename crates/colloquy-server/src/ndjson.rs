//! The stream of a turn: one JSON object per line, each line a frame of its own, so that it
//! leaves at once. A silent turn is kept alive by blank lines.
//!
//! Dropping the body means that the reader went away; with it goes the handle, which stops the
//! turn if it still runs.

use std::{io, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use colloquy::TurnHandle;
use serde::Serialize;
use serde_json::ser::Formatter;

use crate::api::event::EventJson;

/// A blank line: clients skip it, proxies see that the stream lives.
const HEARTBEAT: Bytes = Bytes::from_static(b"\n");

/// The events of a turn as the body of a response.
pub(crate) fn body(turn: TurnHandle, heartbeat: Duration) -> Body {
    let transcript = Transcript { turn, heartbeat };
    Body::from_stream(futures::stream::unfold(transcript, |mut transcript| async {
        let line = transcript.next_line().await?;
        Some((Ok::<_, std::convert::Infallible>(line), transcript))
    }))
}

struct Transcript {
    turn: TurnHandle,
    heartbeat: Duration,
}

impl Transcript {
    async fn next_line(&mut self) -> Option<Bytes> {
        // `EventReader::next` reads from a log by number, so a cancelled wait loses nothing.
        match tokio::time::timeout(self.heartbeat, self.turn.reader.next()).await {
            Err(_) => Some(HEARTBEAT),
            Ok(None) => None,
            Ok(Some((seq, event))) => Some(line(&EventJson::new(seq, &event))),
        }
    }
}

/// One value as a line: ASCII only, so that no reader's idea of an encoding or of a line break
/// can differ from ours, and with the separators of the page.
pub(crate) fn line(value: &impl Serialize) -> Bytes {
    let mut bytes = Vec::with_capacity(128);
    value
        .serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, Ascii))
        .expect("BUG: a wire value that JSON cannot hold");
    bytes.push(b'\n');
    bytes.into()
}

/// JSON with `, ` and `: `, and everything but printable ASCII escaped as UTF-16 units.
struct Ascii;

impl Formatter for Ascii {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(plain) = rest.find(|c: char| !matches!(c, ' '..='~')) {
            let (printable, tail) = rest.split_at(plain);
            writer.write_all(printable.as_bytes())?;
            let mut chars = tail.chars();
            for unit in chars.next().into_iter().flat_map(|c| c.encode_utf16(&mut [0; 2]).to_vec()) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = chars.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_line_looks_as_on_the_page() {
        let bytes = line(&json!({"args": {"a": [1, 2]}, "t": "answer", "text": "naïve 文 😀\u{7f}\n\"\\"}));
        let expected = "{\"args\": {\"a\": [1, 2]}, \"t\": \"answer\", \"text\": \
                        \"na\\u00efve \\u6587 \\ud83d\\ude00\\u007f\\n\\\"\\\\\"}\n";
        assert_eq!(std::str::from_utf8(&bytes).unwrap(), expected);
    }

    proptest! {
        #[test]
        fn any_text_is_one_ascii_line_that_reads_back(text in any::<String>()) {
            let bytes = line(&json!({ "text": text }));
            let (last, rest) = bytes.split_last().unwrap();
            prop_assert_eq!(*last, b'\n');
            prop_assert!(rest.iter().all(|byte| matches!(byte, b' '..=b'~')));
            let read: Value = serde_json::from_slice(&bytes).unwrap();
            prop_assert_eq!(read["text"].as_str(), Some(text.as_str()));
        }
    }
}
