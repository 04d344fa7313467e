//! What one model call says, as it comes: the blocks it will be stored as, and what a reader is
//! told of it. Pure.
//!
//! Text that a stop or a failure leaves in the splitter is still told, so that what is stored is
//! exactly what was shown.

use colloquy_core::{
    block::{Block, Reasoning, ToolCall},
    think_splitter::{Piece, ThinkSplitter},
};

use crate::stream::StreamEvent;

/// What a reader is shown of the text while it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Telling {
    /// The text is the answer.
    #[default]
    Live,
    /// The text has to be read as a whole first.
    AtTheEnd,
}

/// The reply so far.
#[derive(Debug, Default)]
pub(super) struct Reply {
    telling: Telling,
    splitter: ThinkSplitter,
    blocks: Vec<Block>,
    calls: Vec<ToolCall>,
}

impl Reply {
    pub(super) fn new(telling: Telling) -> Self {
        Self { telling, ..Self::default() }
    }

    /// Takes a piece of text; gives what a reader is told.
    pub(super) fn text(&mut self, text: &str) -> Vec<StreamEvent> {
        let pieces = self.splitter.feed(text);
        self.take(pieces)
    }

    /// Takes a piece of reasoning that the server told apart.
    pub(super) fn reasoning(&mut self, text: String) -> StreamEvent {
        self.push_reasoning(&text);
        StreamEvent::Thinking(text)
    }

    /// Signs the reasoning at hand, which ends it; a provider may sign what it does not show.
    pub(super) fn signature(&mut self, signature: String) {
        match self.blocks.last_mut() {
            Some(Block::Reasoning(reasoning)) if reasoning.signature.is_none() => {
                reasoning.signature = Some(signature);
            }
            _ => self
                .blocks
                .push(Block::Reasoning(Reasoning { text: String::new(), signature: Some(signature) })),
        }
    }

    pub(super) fn redacted(&mut self, data: String) {
        self.blocks.push(Block::RedactedReasoning(data));
    }

    /// Takes a whole call. One without an identifier, or with that of another call of the reply,
    /// gets one from its name and its place: each call must have a result of its own (I4).
    pub(super) fn call(&mut self, mut call: ToolCall) {
        let is_taken = |calls: &[ToolCall], id: &str| calls.iter().any(|other| other.id == id);
        let mut place = self.calls.len() + 1;
        while call.id.is_empty() || is_taken(&self.calls, &call.id) {
            call.id = format!("{}#{place}", call.name);
            place += 1;
        }
        self.calls.push(call);
    }

    /// What the splitter holds back comes out; gives what a reader is told.
    pub(super) fn flush(&mut self) -> Vec<StreamEvent> {
        let pieces = self.splitter.flush();
        self.take(pieces)
    }

    /// The blocks as the model said them, calls last.
    pub(super) fn blocks(&self) -> Vec<Block> {
        self.blocks.iter().cloned().chain(self.calls.iter().cloned().map(Block::ToolCall)).collect()
    }

    /// The blocks that a reader was shown.
    pub(super) fn shown(&self) -> Vec<Block> {
        let is_shown = |block: &&Block| match self.telling {
            Telling::Live => true,
            Telling::AtTheEnd => block.as_text().is_none(),
        };
        self.blocks.iter().filter(is_shown).cloned().collect()
    }

    pub(super) fn n_calls(&self) -> usize {
        self.calls.len()
    }

    /// Whether anything but white space was said as text.
    pub(super) fn has_text(&self) -> bool {
        self.blocks.iter().any(|block| block.as_text().is_some_and(|text| !text.trim().is_empty()))
    }

    /// Whether there was any reasoning.
    pub(super) fn has_reasoning(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::Reasoning(_) | Block::RedactedReasoning(_)))
    }

    fn take(&mut self, pieces: Vec<Piece>) -> Vec<StreamEvent> {
        let mut events = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Answer(text) => {
                    match self.blocks.last_mut() {
                        Some(Block::Text(last)) => last.push_str(&text),
                        _ => self.blocks.push(Block::Text(text.clone())),
                    }
                    if self.telling == Telling::Live {
                        events.push(StreamEvent::Answer(text));
                    }
                }
                Piece::Thinking(text) => {
                    self.push_reasoning(&text);
                    events.push(StreamEvent::Thinking(text));
                }
            }
        }
        events
    }

    fn push_reasoning(&mut self, text: &str) {
        match self.blocks.last_mut() {
            Some(Block::Reasoning(last)) if last.signature.is_none() => last.text.push_str(text),
            _ => self.blocks.push(Block::reasoning(text)),
        }
    }
}

#[cfg(test)]
mod tests;
