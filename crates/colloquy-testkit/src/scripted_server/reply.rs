//! What the scripted server answers: frames in the wire of the request, or a document.

use std::{collections::VecDeque, time::Duration};

use axum::http::{HeaderName, header};
use serde_json::Value;

use super::frame::{Frame, WireError, WireUsage};
use crate::scripted::split_words;

/// The answer to one request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// Status 200 and the frames, as a stream or in one document, as the request asks.
    Stream(StreamPlan),
    /// An error in the wire's own shape, with its status.
    Error(WireError),
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

/// Frames and how they are written to the wire.
#[derive(Debug, Clone)]
pub struct StreamPlan {
    pub(super) frames: VecDeque<Frame>,
    /// Bytes per write; `None` writes frame by frame.
    pub(super) piece_bytes: Option<usize>,
    /// How long to wait before each piece of text or reasoning.
    pub(super) gap: Duration,
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
            ..WireUsage::default()
        };
        let words = words.into_iter().map(|word| Frame::Text(word.into()));
        Self::stream([Frame::Role].into_iter().chain(words).chain([Frame::Finish("stop", usage)]))
    }

    /// An answer of that many words.
    pub fn words(n_words: usize) -> Self {
        let words: Vec<String> = (1..=n_words).map(|n| format!("word{n}")).collect();
        Self::answer(&words.join(" "))
    }

    /// A refusal of the whole request, in the shape of its wire.
    pub fn error(status: u16, message: &str) -> Self {
        Self::Error(WireError { status, message: message.into() })
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

    /// Writes a stream in pieces of that many bytes, which splits characters, lines and frames.
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
    /// The error that it comes to, if it does.
    pub(super) fn error(&self) -> Option<&WireError> {
        self.frames.iter().find_map(|frame| if let Frame::Error(error) = frame { Some(error) } else { None })
    }
}
