//! The four wires: which one a request speaks, and how each renders frames and errors.
//!
//! Events, their order and their members are those that the services publish; the official
//! clients read them, see `tests/clients.rs`.

mod blocks;
mod chat;
mod converse;
mod error;
mod event_stream;
mod messages;
mod responses;
mod whole;

use std::collections::VecDeque;

use serde_json::Value;

use super::frame::Frame;

pub(super) use self::error::document as error_document;

/// The wire of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    /// OpenAI chat completions, in the dialect of llama-server.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
    /// Bedrock Converse.
    Converse,
}

/// In what form a request wants its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Event by event.
    Stream,
    /// In one document.
    Whole,
}

/// Turns the frames of one answer into bytes.
pub(super) trait Render: Send {
    /// The bytes that `frame` puts on the wire; `rest` is what follows it.
    fn render(&mut self, frame: &Frame, rest: &VecDeque<Frame>) -> Vec<u8>;
}

impl Wire {
    /// What a request to `path` speaks; `None` for a path of no wire.
    pub(super) fn of(path: &str, body: &[u8]) -> Option<(Self, Form)> {
        // Read leniently: what a request lacks beyond this is what its test is about.
        let is_streamed = || {
            let body: Value = serde_json::from_slice(body).unwrap_or_default();
            if body["stream"] == true { Form::Stream } else { Form::Whole }
        };
        let (_, last) = path.rsplit_once('/')?;
        match last {
            "completions" if path.ends_with("/chat/completions") => Some((Self::Chat, is_streamed())),
            "responses" => Some((Self::Responses, is_streamed())),
            "messages" => Some((Self::Messages, is_streamed())),
            "converse-stream" => Some((Self::Converse, Form::Stream)),
            "converse" => Some((Self::Converse, Form::Whole)),
            _ => None,
        }
    }

    /// The type of an answer.
    pub(super) fn media_type(self, form: Form) -> &'static str {
        match (form, self) {
            (Form::Whole, _) => "application/json",
            (Form::Stream, Self::Converse) => "application/vnd.amazon.eventstream",
            (Form::Stream, Self::Chat | Self::Responses | Self::Messages) => {
                "text/event-stream; charset=utf-8"
            }
        }
    }

    /// Renders one answer.
    pub(super) fn renderer(self, form: Form) -> Box<dyn Render> {
        match (form, self) {
            (Form::Whole, _) => Box::new(whole::Whole::new(self)),
            (Form::Stream, Self::Chat) => Box::new(chat::Chat),
            (Form::Stream, Self::Responses) => Box::new(responses::Responses::default()),
            (Form::Stream, Self::Messages) => Box::new(messages::Messages::default()),
            (Form::Stream, Self::Converse) => Box::new(converse::Converse::default()),
        }
    }
}

/// A server-sent event that has a name and a JSON document.
fn named_event(name: &str, data: &Value) -> Vec<u8> {
    format!("event: {name}\ndata: {data}\n\n").into_bytes()
}

#[cfg(test)]
mod tests;
