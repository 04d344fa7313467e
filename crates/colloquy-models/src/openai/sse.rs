//! Server-sent events out of bytes that come in pieces of any size.
//!
//! Lines end with LF, CR or CRLF; the `data` lines of an event are joined; comments, other fields
//! and an event that the end of the stream cuts off are dropped. Text is checked once an event is
//! whole, so a character split over two pieces is never damaged and invalid bytes never replaced.

/// The most bytes one event may have.
pub(super) const EVENT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Bytes that are not a stream of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum SseError {
    /// A line or an event does not end.
    #[error("the server sent a stream event larger than {} MiB", EVENT_BYTES_MAX / 1024 / 1024)]
    TooLarge,
    /// The data is not text.
    #[error("the server sent bytes that are not UTF-8 text")]
    NotUtf8,
}

/// Holds what is left of an event that is not complete yet.
#[derive(Debug, Default)]
pub(super) struct SseDecoder {
    line: Vec<u8>,
    /// The data lines of the event so far, each with a line feed behind it.
    data: Vec<u8>,
    /// The last byte was a CR: an LF that follows belongs to it.
    after_cr: bool,
    /// A line has been read, so a byte-order mark is no longer expected.
    after_first_line: bool,
}

impl SseDecoder {
    /// Takes bytes and hands the data of each event they complete to `each`, until it fails.
    pub(super) fn push<E: From<SseError>>(
        &mut self,
        mut bytes: &[u8],
        mut each: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some((&first, after_first)) = bytes.split_first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                bytes = after_first;
                continue;
            }
            let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.extend_line(bytes)?;
                return Ok(());
            };
            self.extend_line(&bytes[..end])?;
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if let Some(data) = self.end_line() {
                each(std::str::from_utf8(&data).map_err(|_| SseError::NotUtf8)?)?;
            }
        }
        Ok(())
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), SseError> {
        if self.data.len() + self.line.len() + bytes.len() > EVENT_BYTES_MAX {
            return Err(SseError::TooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Reads the line that just ended; gives the event's data if the line was the blank one.
    fn end_line(&mut self) -> Option<Vec<u8>> {
        let mut line = self.line.as_slice();
        if !std::mem::replace(&mut self.after_first_line, true) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            self.line.clear();
            let mut data = std::mem::take(&mut self.data);
            data.pop();
            return (!data.is_empty()).then_some(data);
        }
        let value = match line.strip_prefix(b"data") {
            Some([]) => Some(&[][..]),
            Some([b':', b' ', value @ ..] | [b':', value @ ..]) => Some(value),
            Some(_) | None => None,
        };
        if let Some(value) = value {
            self.data.extend_from_slice(value);
            self.data.push(b'\n');
        }
        self.line.clear();
        None
    }
}

#[cfg(test)]
mod tests;
