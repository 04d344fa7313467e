//! Server-sent events out of bytes that come in pieces of any size.
//!
//! Lines end with LF, CR or CRLF; the `data` lines of an event are joined; comments, other fields
//! and an event that the end of the stream cuts off are dropped. Text is checked once an event is
//! whole, so a character split over two pieces is never damaged and invalid bytes never replaced.
//! What lies whole in one piece is handed on where it lies, without a copy.

use std::borrow::Cow;

use colloquy_core::turn::Failure;

use crate::wire::Event;

/// The most bytes one event may have.
pub(crate) const EVENT_BYTES_MAX: usize = 8 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Bytes that are not a stream of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SseError {
    /// A line or an event does not end.
    #[error("the server sent a stream event larger than {} MiB", EVENT_BYTES_MAX / 1024 / 1024)]
    TooLarge,
    /// The data is not text.
    #[error("the server sent bytes that are not UTF-8 text")]
    NotUtf8,
}

impl From<SseError> for Failure {
    fn from(error: SseError) -> Self {
        Self::Refused { detail: error.to_string() }
    }
}

/// Holds what is left of an event that is not complete yet.
#[derive(Debug, Default)]
pub(crate) struct SseDecoder {
    /// The start of a line whose end has not come.
    line: Vec<u8>,
    /// The fields of an event whose end has not come.
    fields: Fields<'static>,
    /// The last byte was a CR: an LF that follows belongs to it.
    after_cr: bool,
    /// A line has been read, so a byte-order mark is no longer expected.
    after_first_line: bool,
}

/// What the lines of one event say.
#[derive(Debug, Default)]
struct Fields<'a> {
    name: Option<Cow<'a, [u8]>>,
    /// The data lines, joined by line feeds.
    data: Option<Cow<'a, [u8]>>,
}

impl SseDecoder {
    /// Takes bytes and hands each event with data that they complete to `each`, until it fails; the
    /// decoder is of no use after a failure.
    pub(crate) fn push<E: From<SseError>>(
        &mut self,
        mut bytes: &[u8],
        mut each: impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut fields = std::mem::take(&mut self.fields);
        while let Some((&first, after_first)) = bytes.split_first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                bytes = after_first;
                continue;
            }
            let end = memchr::memchr2(b'\n', b'\r', bytes);
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if fields.n_bytes() + self.line.len() + piece.len() > EVENT_BYTES_MAX {
                return Err(SseError::TooLarge.into());
            }
            let Some(end) = end else {
                self.line.extend_from_slice(piece);
                break;
            };
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            let line = self.whole_line(piece);
            if line.is_empty() {
                std::mem::take(&mut fields).tell(&mut each)?;
            } else {
                fields.read(line);
            }
        }
        self.fields = fields.into_owned();
        Ok(())
    }

    /// The line that ends with `piece`.
    fn whole_line<'a>(&mut self, piece: &'a [u8]) -> Cow<'a, [u8]> {
        let line = if self.line.is_empty() {
            Cow::Borrowed(piece)
        } else {
            let mut line = std::mem::take(&mut self.line);
            line.extend_from_slice(piece);
            Cow::Owned(line)
        };
        let is_first = !std::mem::replace(&mut self.after_first_line, true);
        if is_first && line.starts_with(BYTE_ORDER_MARK) {
            without(line, BYTE_ORDER_MARK.len())
        } else {
            line
        }
    }
}

impl<'a> Fields<'a> {
    fn n_bytes(&self) -> usize {
        let n_bytes = |field: &Option<Cow<'_, [u8]>>| field.as_ref().map_or(0, |field| field.len());
        n_bytes(&self.name) + n_bytes(&self.data)
    }

    /// Reads a line that is not blank.
    fn read(&mut self, line: Cow<'a, [u8]>) {
        let n_name = memchr::memchr(b':', &line).unwrap_or(line.len());
        let n_border = match line[n_name..] {
            [b':', b' ', ..] => 2,
            [b':', ..] => 1,
            _ => 0,
        };
        match &line[..n_name] {
            b"data" => match &mut self.data {
                Some(data) => {
                    let data = data.to_mut();
                    data.push(b'\n');
                    data.extend_from_slice(&line[n_name + n_border..]);
                }
                None => self.data = Some(without(line, n_name + n_border)),
            },
            b"event" => self.name = Some(without(line, n_name + n_border)),
            _ => {}
        }
    }

    /// The event is whole; one without data is none.
    fn tell<E: From<SseError>>(self, each: &mut impl FnMut(Event<'_>) -> Result<(), E>) -> Result<(), E> {
        let Some(data) = self.data.filter(|data| !data.is_empty()) else { return Ok(()) };
        let name = self.name.as_deref().map(str::from_utf8).transpose().map_err(|_| SseError::NotUtf8)?;
        let data = str::from_utf8(&data).map_err(|_| SseError::NotUtf8)?;
        each(Event { name, data })
    }

    fn into_owned(self) -> Fields<'static> {
        let owned = |field: Option<Cow<'_, [u8]>>| field.map(|field| Cow::Owned(field.into_owned()));
        Fields { name: owned(self.name), data: owned(self.data) }
    }
}

/// The line without its first bytes.
fn without(line: Cow<'_, [u8]>, n_bytes: usize) -> Cow<'_, [u8]> {
    match line {
        Cow::Borrowed(line) => Cow::Borrowed(&line[n_bytes..]),
        Cow::Owned(mut line) => {
            line.drain(..n_bytes);
            Cow::Owned(line)
        }
    }
}

#[cfg(test)]
mod tests;
