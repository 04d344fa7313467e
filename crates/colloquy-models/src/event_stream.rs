//! The binary frames of AWS (`application/vnd.amazon.eventstream`) out of bytes that come in pieces
//! of any size.
//!
//! A frame is a prelude of two lengths and its checksum, headers, a payload and a checksum over all
//! of it; both checksums are compared before anything of a frame is believed, the prelude's first,
//! so that a damaged length is never waited for. What a frame means is its reader's matter.

use colloquy_core::turn::Failure;

use crate::wire::Event;

/// The most bytes one frame may have; a Converse answer comes in frames of a few hundred.
pub(crate) const FRAME_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Two lengths and their checksum.
const PRELUDE_BYTES: usize = 12;
/// The checksum at the end of a frame.
const CHECKSUM_BYTES: usize = 4;

/// Bytes that are not whole frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EventStreamError {
    /// A frame says that it is larger than any that is taken.
    #[error("the server sent a frame larger than {} MiB", FRAME_BYTES_MAX / 1024 / 1024)]
    TooLarge,
    /// A checksum does not match its bytes.
    #[error("a frame of the answer was damaged on its way: its checksum does not match")]
    Damaged,
    /// The checksums match and the frame is still not one.
    #[error("the server sent bytes that are not frames of an AWS event stream")]
    Malformed,
}

impl From<EventStreamError> for Failure {
    fn from(error: EventStreamError) -> Self {
        let detail = error.to_string();
        match error {
            EventStreamError::Damaged => Self::Transient { detail },
            EventStreamError::TooLarge | EventStreamError::Malformed => Self::Refused { detail },
        }
    }
}

/// Holds what has come of a frame that is not complete yet.
#[derive(Debug, Default)]
pub(crate) struct EventStreamDecoder {
    held: Vec<u8>,
}

impl EventStreamDecoder {
    /// Takes bytes and hands each frame they complete to `each` as an event, until it fails; the
    /// decoder is of no use after a failure.
    ///
    /// An event has the name of its `:event-type` or `:exception-type`. An error that the service
    /// has not declared comes as the event `error`, in JSON as other services report one.
    pub(crate) fn push<E: From<EventStreamError>>(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.held.extend_from_slice(bytes);
        let mut rest = self.held.as_slice();
        while let Some(frame) = Frame::cut(&mut rest)? {
            frame.tell(&mut each)?;
        }
        let n_read = self.held.len() - rest.len();
        self.held.drain(..n_read);
        Ok(())
    }
}

/// A frame whose checksums match.
struct Frame<'a> {
    headers: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Cuts the first frame off `bytes`; `None` while it is not whole.
    fn cut(bytes: &mut &'a [u8]) -> Result<Option<Self>, EventStreamError> {
        let Some((prelude, _)) = bytes.split_first_chunk::<PRELUDE_BYTES>() else { return Ok(None) };
        let [n_frame, n_headers, checksum] = words(prelude);
        if crc32fast::hash(&prelude[..8]) != checksum {
            return Err(EventStreamError::Damaged);
        }
        let (n_frame, n_headers) = (n_frame as usize, n_headers as usize);
        if n_frame > FRAME_BYTES_MAX {
            return Err(EventStreamError::TooLarge);
        }
        let n_content =
            n_frame.checked_sub(PRELUDE_BYTES + CHECKSUM_BYTES).ok_or(EventStreamError::Malformed)?;
        if n_headers > n_content {
            return Err(EventStreamError::Malformed);
        }
        let Some((frame, rest)) = bytes.split_at_checked(n_frame) else { return Ok(None) };
        let (checked, checksum) = frame.split_at(n_frame - CHECKSUM_BYTES);
        if crc32fast::hash(checked).to_be_bytes() != checksum {
            return Err(EventStreamError::Damaged);
        }
        *bytes = rest;
        let (headers, payload) = checked[PRELUDE_BYTES..].split_at(n_headers);
        Ok(Some(Self { headers, payload }))
    }

    fn tell<E: From<EventStreamError>>(
        &self,
        each: &mut impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let names = Names::read(self.headers)?;
        let data = str::from_utf8(self.payload).map_err(|_| EventStreamError::Malformed)?;
        match names.message_type {
            Some("event") => each(Event { name: names.event_type, data }),
            Some("exception") => each(Event { name: names.exception_type, data }),
            Some("error") => {
                let message = names.error_message.unwrap_or(data);
                let error = serde_json::json!({ "error": { "code": names.error_code, "message": message } });
                each(Event { name: Some("error"), data: &error.to_string() })
            }
            Some(_) | None => Err(EventStreamError::Malformed.into()),
        }
    }
}

/// The headers that say what a frame is.
#[derive(Default)]
struct Names<'a> {
    message_type: Option<&'a str>,
    event_type: Option<&'a str>,
    exception_type: Option<&'a str>,
    error_code: Option<&'a str>,
    error_message: Option<&'a str>,
}

impl<'a> Names<'a> {
    fn read(mut headers: &'a [u8]) -> Result<Self, EventStreamError> {
        let mut names = Self::default();
        while !headers.is_empty() {
            let (name, value) = header(&mut headers).ok_or(EventStreamError::Malformed)?;
            match name {
                b":message-type" => names.message_type = value,
                b":event-type" => names.event_type = value,
                b":exception-type" => names.exception_type = value,
                b":error-code" => names.error_code = value,
                b":error-message" => names.error_message = value,
                _ => {}
            }
        }
        Ok(names)
    }
}

/// Cuts the first header off: its name, and its value if that is text.
fn header<'a>(headers: &mut &'a [u8]) -> Option<(&'a [u8], Option<&'a str>)> {
    let n_name = usize::from(take(headers, 1)?[0]);
    let name = take(headers, n_name)?;
    let value_type = take(headers, 1)?[0];
    let n_value = match value_type {
        // True and false are their types.
        0 | 1 => 0,
        2 => 1,
        3 => 2,
        4 => 4,
        // A number or a time.
        5 | 8 => 8,
        // Bytes or text behind their length.
        6 | 7 => usize::from(u16::from_be_bytes(take(headers, 2)?.try_into().ok()?)),
        // A UUID.
        9 => 16,
        _ => return None,
    };
    let value = take(headers, n_value)?;
    if value_type != 7 {
        return Some((name, None));
    }
    Some((name, Some(str::from_utf8(value).ok()?)))
}

fn take<'a>(bytes: &mut &'a [u8], n: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(n)?;
    *bytes = rest;
    Some(taken)
}

/// Big-endian numbers of four bytes each.
fn words(prelude: &[u8; PRELUDE_BYTES]) -> [u32; 3] {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = *prelude;
    [[a, b, c, d], [e, f, g, h], [i, j, k, l]].map(u32::from_be_bytes)
}

#[cfg(test)]
pub(crate) mod encode;
#[cfg(test)]
mod tests;
