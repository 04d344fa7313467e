//! What the scripted server answers: frames of a stream in llama-server's shape, or a document.

use std::{collections::VecDeque, io, time::Duration};

use axum::{
    body::Bytes,
    http::{HeaderName, header},
};
use futures::{Stream, stream};
use serde_json::{Value, json};

use super::AnswerGuard;
use crate::{gate::Gate, scripted::split_words};

/// The answer to one request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// Status 200 and a stream of events.
    Stream(StreamPlan),
    /// A whole document.
    Document {
        /// The status.
        status: u16,
        /// The headers.
        headers: Vec<(HeaderName, String)>,
        /// The body.
        body: Vec<u8>,
    },
    /// Nothing at all, for as long as the client waits.
    Never,
}

/// One thing that happens in a stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    /// The chunk that opens an answer: the role and no content.
    Role,
    /// Progress with the prompt.
    Reading {
        /// Tokens read.
        done: u32,
        /// Tokens in all.
        total: u32,
    },
    /// A piece of the reasoning.
    Reasoning(String),
    /// A piece of the answer.
    Text(String),
    /// The finish reason, then usage in a chunk of its own, then `[DONE]`.
    Finish(&'static str, WireUsage),
    /// Bytes as they are.
    Raw(Vec<u8>),
    /// Waits until the test opens the gate.
    Pause(Gate),
    /// Breaks the connection off.
    Cut,
    /// Says nothing more and does not end.
    Hang,
}

/// The usage of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireUsage {
    /// Tokens of the prompt.
    pub prompt_tokens: u32,
    /// Tokens of the prompt that were in the cache.
    pub cached_tokens: u32,
    /// Tokens generated.
    pub completion_tokens: u32,
}

/// Frames and how they are written to the wire.
#[derive(Debug, Clone)]
pub struct StreamPlan {
    frames: VecDeque<Frame>,
    /// Bytes per write; `None` writes frame by frame.
    piece_bytes: Option<usize>,
    /// How long to wait before each piece of text or reasoning.
    gap: Duration,
}

impl Reply {
    /// A stream of `frames`. After the last one the stream ends.
    pub fn stream(frames: impl IntoIterator<Item = Frame>) -> Self {
        let plan =
            StreamPlan { frames: frames.into_iter().collect(), piece_bytes: None, gap: Duration::ZERO };
        Self::Stream(plan)
    }

    /// An answer that says `text` word by word and stops.
    pub fn answer(text: &str) -> Self {
        let words = split_words(text);
        let usage = WireUsage {
            prompt_tokens: 20,
            cached_tokens: 10,
            completion_tokens: u32::try_from(words.len()).unwrap_or(u32::MAX),
        };
        let words = words.into_iter().map(|word| Frame::Text(word.into()));
        Self::stream([Frame::Role].into_iter().chain(words).chain([Frame::Finish("stop", usage)]))
    }

    /// An answer of that many words.
    pub fn words(n_words: usize) -> Self {
        let words: Vec<String> = (1..=n_words).map(|n| format!("word{n}")).collect();
        Self::answer(&words.join(" "))
    }

    /// A JSON document with that status.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::document(status, "application/json; charset=utf-8", &body.to_string())
    }

    /// A document of that type with that status.
    pub fn document(status: u16, media_type: &str, body: &str) -> Self {
        let headers = vec![(header::CONTENT_TYPE, media_type.to_owned())];
        Self::Document { status, headers, body: body.into() }
    }

    /// A redirect to `location`.
    pub fn redirect(location: &str) -> Self {
        let headers = vec![(header::LOCATION, location.to_owned())];
        Self::Document { status: 307, headers, body: Vec::new() }
    }

    /// Writes a stream in pieces of that many bytes, which splits characters and lines.
    #[must_use]
    pub fn in_pieces_of(self, n_bytes: usize) -> Self {
        self.with_plan(|plan| plan.piece_bytes = Some(n_bytes.max(1)))
    }

    /// Waits that long before each piece of text or reasoning of a stream.
    #[must_use]
    pub fn every(self, gap: Duration) -> Self {
        self.with_plan(|plan| plan.gap = gap)
    }

    fn with_plan(mut self, change: impl FnOnce(&mut StreamPlan)) -> Self {
        if let Self::Stream(plan) = &mut self {
            change(plan);
        }
        self
    }
}

impl StreamPlan {
    /// The bytes of the stream, in order and in time. `guard` learns whether it came to its end.
    pub(super) fn play(
        self,
        guard: AnswerGuard,
    ) -> impl Stream<Item = Result<Bytes, io::Error>> + Send + 'static {
        let playing = Playing { plan: self, pieces: VecDeque::new(), guard };
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
}

struct Playing {
    plan: StreamPlan,
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
            let bytes = match self.plan.frames.pop_front()? {
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
                frame @ (Frame::Text(_) | Frame::Reasoning(_)) => {
                    if !self.plan.gap.is_zero() {
                        tokio::time::sleep(self.plan.gap).await;
                    }
                    bytes_of(frame)
                }
                frame @ (Frame::Role | Frame::Reading { .. } | Frame::Finish(..) | Frame::Raw(_)) => {
                    bytes_of(frame)
                }
            };
            let bytes = Bytes::from(bytes);
            let piece_bytes = self.plan.piece_bytes.unwrap_or(bytes.len()).max(1);
            let starts = (0..bytes.len()).step_by(piece_bytes);
            self.pieces = starts.map(|at| bytes.slice(at..(at + piece_bytes).min(bytes.len()))).collect();
        }
    }
}

/// The bytes of a frame; those that only wait have none.
fn bytes_of(frame: Frame) -> Vec<u8> {
    let opening = json!({"role": "assistant", "content": null});
    match frame {
        Frame::Role => event(choice(None, opening), json!({})),
        Frame::Reading { done, total } => {
            let progress = json!({"total": total, "cache": 0, "processed": done, "time_ms": 0});
            event(choice(None, opening), json!({"prompt_progress": progress}))
        }
        Frame::Reasoning(text) => event(choice(None, json!({"reasoning_content": text})), json!({})),
        Frame::Text(text) => event(choice(None, json!({"content": text})), json!({})),
        Frame::Finish(reason, usage) => {
            let mut bytes = event(choice(Some(reason), json!({})), json!({}));
            bytes.extend(event(json!([]), usage_members(usage)));
            bytes.extend(b"data: [DONE]\n\n");
            bytes
        }
        Frame::Raw(bytes) => bytes,
        Frame::Pause(_) | Frame::Cut | Frame::Hang => Vec::new(),
    }
}

fn choice(finish_reason: Option<&str>, delta: Value) -> Value {
    json!([{"finish_reason": finish_reason, "index": 0, "delta": delta}])
}

fn usage_members(usage: WireUsage) -> Value {
    let WireUsage { prompt_tokens, cached_tokens, completion_tokens } = usage;
    json!({
        "usage": {
            "completion_tokens": completion_tokens,
            "prompt_tokens": prompt_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
            "prompt_tokens_details": {"cached_tokens": cached_tokens},
        },
        "timings": {"cache_n": cached_tokens, "prompt_n": prompt_tokens - cached_tokens},
    })
}

fn event(choices: Value, more: Value) -> Vec<u8> {
    let mut chunk = json!({
        "choices": choices,
        "created": 1_796_070_427,
        "id": "chatcmpl-scripted",
        "model": "scripted-model",
        "system_fingerprint": "b0-unknown",
        "object": "chat.completion.chunk",
    });
    if let (Value::Object(chunk), Value::Object(more)) = (&mut chunk, more) {
        chunk.extend(more);
    }
    format!("data: {chunk}\n\n").into_bytes()
}
