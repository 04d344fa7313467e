//! Chunks of an answer out of the bytes of its body. Pure: no time and no IO.
//!
//! The body is cut into events here and each event is read by its wire. The end is given once: when
//! the server says that nothing follows, or closes the stream after it said why it ended, because
//! usage may come behind that.

use colloquy::ports::ModelChunk;
use colloquy_core::turn::Failure;

use crate::{
    error,
    event_stream::EventStreamDecoder,
    sse::SseDecoder,
    wire::{Event, Framing, ReadEvents, Reading},
};

/// Turns the bytes of one answer into chunks.
#[derive(Debug)]
pub(crate) struct AnswerDecoder<R> {
    frames: Frames,
    events: Events<R>,
}

#[derive(Debug)]
enum Frames {
    Sse(SseDecoder),
    AwsEventStream(EventStreamDecoder),
}

#[derive(Debug)]
struct Events<R> {
    reader: R,
    reading: Reading,
    n_events: u64,
}

impl<R: ReadEvents> AnswerDecoder<R> {
    /// Reads the answer to a call with that token limit.
    pub(crate) fn new(framing: Framing, reader: R, limit: Option<u32>) -> Self {
        let frames = match framing {
            Framing::Sse => Frames::Sse(SseDecoder::default()),
            Framing::AwsEventStream => Frames::AwsEventStream(EventStreamDecoder::default()),
        };
        Self { frames, events: Events { reader, reading: Reading::new(limit), n_events: 0 } }
    }

    /// Takes bytes. Chunks that were read before a failure can still be popped.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let Self { frames, events } = self;
        match frames {
            Frames::Sse(decoder) => decoder.push(bytes, |event| events.read(event)),
            Frames::AwsEventStream(decoder) => decoder.push(bytes, |event| events.read(event)),
        }
    }

    /// The stream has ended: by itself, or broken off with a reason.
    pub(crate) fn end(&mut self, broken: Option<Failure>) -> Result<(), Failure> {
        let reading = &mut self.events.reading;
        if reading.is_over() {
            return Ok(());
        }
        // After a finish reason only usage was still to come; the answer itself is whole.
        if reading.has_finished() {
            reading.complete();
            return Ok(());
        }
        Err(broken.unwrap_or_else(error::closed_early))
    }

    /// The next chunk that is ready.
    pub(crate) fn pop(&mut self) -> Option<ModelChunk> {
        self.events.reading.pop()
    }

    /// Whether anything of the answer itself has come; reading a prompt is not that.
    pub(crate) fn has_begun(&self) -> bool {
        self.events.reading.has_begun()
    }

    /// Whether the reason of the end is known and at most usage is still to come.
    pub(crate) fn has_finished(&self) -> bool {
        self.events.reading.has_finished()
    }

    /// Whether the end has been read.
    pub(crate) fn is_over(&self) -> bool {
        self.events.reading.is_over()
    }

    /// Grows with every event; comments that a proxy sends to keep a connection open do not count.
    pub(crate) fn n_events(&self) -> u64 {
        self.events.n_events
    }
}

impl<R: ReadEvents> Events<R> {
    fn read(&mut self, event: Event<'_>) -> Result<(), Failure> {
        // Nothing is read behind the end.
        if self.reading.is_over() {
            return Ok(());
        }
        self.n_events += 1;
        self.reader.read(event, &mut self.reading)?;
        if self.reading.is_too_large() {
            return Err(Failure::Refused {
                detail: "the model's tool calls are too many or too large".into(),
            });
        }
        Ok(())
    }
}
