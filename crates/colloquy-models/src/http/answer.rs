//! One answer as a stream: bytes in, chunks out, with the limits on silence.
//!
//! The stream owns the connection, so dropping it closes the connection and the engine stops.

use std::{error::Error, time::Duration};

use bytes::Bytes;
use colloquy::ports::{ModelChunk, ModelError};
use colloquy_core::{silence::BETWEEN_CHUNKS, turn::Failure};
use futures::{Stream, StreamExt, stream};
use tokio::time::{Instant, timeout, timeout_at};

use super::{Deadline, decode::AnswerDecoder};
use crate::{
    error::{self, Secret},
    wire::ReadEvents,
};

/// How long usage may still take after the finish reason; the answer is whole by then.
const USAGE_WAIT: Duration = Duration::from_secs(5);
/// How long the end of the body may take after the last event, so that the connection can be used again.
const DRAIN_WAIT: Duration = Duration::from_millis(50);

/// Reads one answer from a body.
pub(super) struct Answer<S, R> {
    body: S,
    decoder: AnswerDecoder<R>,
    secret: Option<String>,
    /// The limit that holds until the answer begins.
    first_limit: Duration,
    deadline: Deadline,
    /// Told after the chunks that came before it.
    failure: Option<Failure>,
    is_over: bool,
    /// The last event was read and the end of the body was not.
    has_rest: bool,
}

impl<S, E, R> Answer<S, R>
where
    S: Stream<Item = Result<Bytes, E>> + Send + Unpin + 'static,
    E: Error + Send + 'static,
    R: ReadEvents,
{
    pub(super) fn new(
        body: S,
        decoder: AnswerDecoder<R>,
        secret: Option<String>,
        first_limit: Duration,
    ) -> Self {
        Self {
            body,
            decoder,
            secret,
            first_limit,
            deadline: Deadline::after(first_limit),
            failure: None,
            is_over: false,
            has_rest: false,
        }
    }

    /// Waits for the first chunk, so that a failure before it is told as the call's own.
    pub(super) async fn start(
        mut self,
    ) -> Result<impl Stream<Item = Result<ModelChunk, ModelError>> + Send + 'static, ModelError> {
        let first = self.next().await.transpose()?;
        let rest = stream::unfold(self, |mut answer| async move {
            let item = answer.next().await?;
            Some((item, answer))
        });
        Ok(stream::iter(first.map(Ok)).chain(rest))
    }

    async fn next(&mut self) -> Option<Result<ModelChunk, ModelError>> {
        loop {
            if let Some(chunk) = self.decoder.pop() {
                return Some(Ok(chunk));
            }
            if let Some(failure) = self.failure.take() {
                self.is_over = true;
                return Some(Err(ModelError(failure)));
            }
            if self.is_over || self.decoder.is_over() {
                self.drain().await;
                return None;
            }
            self.failure = self.read().await.err();
        }
    }

    async fn read(&mut self) -> Result<(), Failure> {
        match timeout_at(self.deadline.at, self.body.next()).await {
            Ok(Some(Ok(bytes))) => {
                let n_events = self.decoder.n_events();
                self.decoder.push(&bytes)?;
                if self.decoder.n_events() > n_events {
                    self.extend_deadline();
                }
                self.has_rest = self.decoder.is_over();
                Ok(())
            }
            Ok(Some(Err(error))) => {
                let broken = error::broken_off(&error, Secret(self.secret.as_deref()));
                self.decoder.end(Some(broken))
            }
            Ok(None) => self.decoder.end(None),
            Err(_) => self.decoder.end(Some(self.deadline.missed())),
        }
    }

    /// Reads to the end of a body that is over: a connection that is dropped before is closed.
    async fn drain(&mut self) {
        if std::mem::take(&mut self.has_rest) {
            let rest = async { while let Some(Ok(_)) = self.body.next().await {} };
            // The answer is whole, so a server that does not end its body only loses its connection.
            let _ = timeout(DRAIN_WAIT, rest).await;
        }
    }

    fn extend_deadline(&mut self) {
        self.deadline = if self.decoder.has_finished() {
            Deadline { at: Instant::now() + USAGE_WAIT, ..self.deadline }
        } else if self.decoder.has_begun() {
            Deadline::after(BETWEEN_CHUNKS)
        } else {
            Deadline::after(self.first_limit)
        };
    }
}

#[cfg(test)]
mod tests;
