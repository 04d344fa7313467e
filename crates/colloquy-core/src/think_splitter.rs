//! Splits a stream of text at inline `<think>` … `</think>` tags, for models whose server does not
//! take the reasoning out itself.
//!
//! The tags are exact, case sensitive and do not nest: outside a block only the opening tag is
//! looked for, inside only the closing one. At most a proper prefix of the awaited tag is held
//! back, so a tag never leaks, in whatever pieces it arrives, and nothing else is ever delayed.

use std::mem;

/// Text that belongs to one channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// For the answer.
    Answer(String),
    /// For the reasoning panel.
    Thinking(String),
}

/// The splitter of one streamed answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThinkSplitter {
    channel: Channel,
    /// What may yet become the awaited tag: always a proper prefix of it.
    held: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Channel {
    #[default]
    Answer,
    Thinking,
}

impl ThinkSplitter {
    /// A splitter that starts outside a block.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next chunk and returns what can be told of it, in order; no piece is empty.
    pub fn feed(&mut self, chunk: &str) -> Vec<Piece> {
        let mut text = mem::take(&mut self.held);
        text.push_str(chunk);
        let mut rest = text.as_str();
        let mut pieces = Vec::new();
        while let Some((before, after)) = rest.split_once(self.channel.awaited_tag()) {
            pieces.extend(self.channel.piece(before));
            self.channel = self.channel.other();
            rest = after;
        }
        let (ready, held) = rest.split_at(rest.len() - held_back_len(rest, self.channel.awaited_tag()));
        pieces.extend(self.channel.piece(ready));
        self.held.push_str(held);
        pieces
    }

    /// The stream has ended: what was held back is ordinary text of the channel that is open.
    pub fn flush(&mut self) -> Vec<Piece> {
        let held = mem::take(&mut self.held);
        self.channel.piece(&held).into_iter().collect()
    }
}

impl Channel {
    fn awaited_tag(self) -> &'static str {
        match self {
            Self::Answer => "<think>",
            Self::Thinking => "</think>",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::Answer => Self::Thinking,
            Self::Thinking => Self::Answer,
        }
    }

    fn piece(self, text: &str) -> Option<Piece> {
        if text.is_empty() {
            return None;
        }
        Some(match self {
            Self::Answer => Piece::Answer(text.to_owned()),
            Self::Thinking => Piece::Thinking(text.to_owned()),
        })
    }
}

/// Length of the longest suffix of `text` that is a proper prefix of `tag`.
fn held_back_len(text: &str, tag: &str) -> usize {
    (1..tag.len()).rev().find(|&len| text.ends_with(&tag[..len])).unwrap_or(0)
}

#[cfg(test)]
mod tests;
