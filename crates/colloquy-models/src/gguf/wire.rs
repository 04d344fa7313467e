//! Little-endian primitives of a GGUF file, each checked against the length of the file first.

use std::io::{BufReader, Read, Seek, SeekFrom};

use super::GgufError;

/// A cursor that knows where it is and how much there is.
#[derive(Debug)]
pub(super) struct Wire<R> {
    source: BufReader<R>,
    position: u64,
    len: u64,
}

impl<R: Read + Seek> Wire<R> {
    pub(super) fn new(mut source: R) -> Result<Self, GgufError> {
        let len = source.seek(SeekFrom::End(0))?;
        source.seek(SeekFrom::Start(0))?;
        Ok(Self { source: BufReader::new(source), position: 0, len })
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// The first four bytes, or as many as there are.
    pub(super) fn first_bytes(&mut self) -> Result<Vec<u8>, GgufError> {
        self.raw(self.len.min(4))
    }

    pub(super) fn u8(&mut self) -> Result<u8, GgufError> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn u32(&mut self) -> Result<u32, GgufError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64, GgufError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], GgufError> {
        self.need(N as u64)?;
        let mut bytes = [0; N];
        self.source.read_exact(&mut bytes)?;
        self.position += N as u64;
        Ok(bytes)
    }

    /// A string of at most `max` bytes; `None`, and skipped, when it is longer or not UTF-8.
    pub(super) fn string(&mut self, max: u64) -> Result<Option<String>, GgufError> {
        let len = self.u64()?;
        if len > max {
            self.skip(len)?;
            return Ok(None);
        }
        Ok(String::from_utf8(self.raw(len)?).ok())
    }

    pub(super) fn skip_string(&mut self) -> Result<(), GgufError> {
        let len = self.u64()?;
        self.skip(len)
    }

    pub(super) fn skip(&mut self, n: u64) -> Result<(), GgufError> {
        self.need(n)?;
        self.go_to(self.position + n)
    }

    pub(super) fn go_to(&mut self, position: u64) -> Result<(), GgufError> {
        let position = position.min(self.len);
        let there = i64::try_from(position).and_then(|to| i64::try_from(self.position).map(|from| to - from));
        match there {
            // Stays inside the buffer where it can, which an absolute seek never does.
            Ok(offset) => self.source.seek_relative(offset)?,
            Err(_) => {
                self.source.seek(SeekFrom::Start(position))?;
            }
        }
        self.position = position;
        Ok(())
    }

    /// Exactly `len` bytes, whose length has to be bounded by the caller or the file.
    fn raw(&mut self, len: u64) -> Result<Vec<u8>, GgufError> {
        self.need(len)?;
        let mut bytes = Vec::new();
        let read = (&mut self.source).take(len).read_to_end(&mut bytes)?;
        self.position += read as u64;
        if read as u64 == len { Ok(bytes) } else { Err(self.cut_short(len)) }
    }

    fn need(&self, n: u64) -> Result<(), GgufError> {
        if n <= self.len - self.position { Ok(()) } else { Err(self.cut_short(n)) }
    }

    fn cut_short(&self, n: u64) -> GgufError {
        GgufError::CutShort { needed: self.position.saturating_add(n), found: self.len }
    }
}
