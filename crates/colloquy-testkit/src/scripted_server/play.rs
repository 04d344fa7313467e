//! Frames become bytes in their order and in their time.

use std::{collections::VecDeque, io};

use axum::body::Bytes;
use futures::{Stream, stream};

use super::{AnswerGuard, frame::Frame, reply::StreamPlan, wire::Render};

/// The bytes of the answer. `guard` learns whether it came to its end.
pub(super) fn play(
    plan: StreamPlan,
    render: Box<dyn Render>,
    guard: AnswerGuard,
) -> impl Stream<Item = Result<Bytes, io::Error>> + Send + 'static {
    let playing = Playing { plan, render, pieces: VecDeque::new(), guard };
    stream::unfold(Some(playing), |playing| async move {
        let mut playing = playing?;
        match playing.next().await {
            Some(Ok(piece)) => Some((Ok(piece), Some(playing))),
            Some(Err(cut)) => {
                playing.guard.whole();
                Some((Err(cut), None))
            }
            None => {
                playing.guard.whole();
                None
            }
        }
    })
}

struct Playing {
    plan: StreamPlan,
    render: Box<dyn Render>,
    /// What of the frame that is being written is left.
    pieces: VecDeque<Bytes>,
    guard: AnswerGuard,
}

impl Playing {
    async fn next(&mut self) -> Option<Result<Bytes, io::Error>> {
        loop {
            if let Some(piece) = self.pieces.pop_front() {
                return Some(Ok(piece));
            }
            let frame = self.plan.frames.pop_front()?;
            let bytes = match frame {
                Frame::Pause(gate) => {
                    gate.pass().await;
                    continue;
                }
                Frame::Hang => std::future::pending().await,
                Frame::Cut => {
                    // Pending once, so that what was said before is on the wire when it breaks.
                    tokio::task::yield_now().await;
                    return Some(Err(io::ErrorKind::ConnectionReset.into()));
                }
                Frame::Raw(bytes) => bytes,
                Frame::Text(_) | Frame::Reasoning(_) => {
                    if !self.plan.gap.is_zero() {
                        tokio::time::sleep(self.plan.gap).await;
                    }
                    self.render.render(&frame, &self.plan.frames)
                }
                Frame::Role
                | Frame::Reading { .. }
                | Frame::Signature(_)
                | Frame::Redacted(_)
                | Frame::Call { .. }
                | Frame::CallInput { .. }
                | Frame::Finish(..)
                | Frame::Error(_) => self.render.render(&frame, &self.plan.frames),
            };
            let bytes = Bytes::from(bytes);
            let piece_bytes = self.plan.piece_bytes.unwrap_or(bytes.len()).max(1);
            let starts = (0..bytes.len()).step_by(piece_bytes);
            self.pieces = starts.map(|at| bytes.slice(at..(at + piece_bytes).min(bytes.len()))).collect();
        }
    }
}
