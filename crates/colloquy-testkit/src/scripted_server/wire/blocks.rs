//! Frames as blocks that begin, grow and end: what the wires with typed blocks have in common.
//!
//! Text and reasoning end where something else begins; a call ends with the last piece of its
//! input, which may come behind the beginning of other calls.

use std::collections::VecDeque;

use super::super::frame::{Frame, WireError, WireUsage};

/// The blocks of one answer, so far.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
    has_started: bool,
}

#[derive(Debug)]
struct Block {
    content: Content,
    is_open: bool,
}

/// What a block holds, so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    Text(String),
    Reasoning { text: String, signature: Option<String> },
    Redacted(String),
    Call { index: usize, id: String, name: String, input: String },
}

/// What a frame changes. Blocks are named by their position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change<'a> {
    /// The answer begins; this is what it will cost, as far as the script says.
    Start(WireUsage),
    /// A block begins. Nothing is in it yet, but a call has its name and redacted data is whole.
    Begin(usize),
    /// The text, the reasoning or the input grows.
    Piece(usize, &'a str),
    /// The reasoning is signed.
    Sign(usize, &'a str),
    /// A block is complete.
    End(usize),
    /// The answer ends.
    Finish(&'static str, WireUsage),
    /// The answer fails.
    Fail(&'a WireError),
}

impl Blocks {
    /// What a block holds, so far.
    pub(super) fn content(&self, at: usize) -> &Content {
        &self.blocks[at].content
    }

    /// All blocks, so far.
    pub(super) fn contents(&self) -> impl Iterator<Item = &Content> {
        self.blocks.iter().map(|block| &block.content)
    }

    /// Takes a frame that `rest` follows, and hands each change to `tell` once it is made.
    pub(super) fn take<'a>(
        &mut self,
        frame: &'a Frame,
        rest: &VecDeque<Frame>,
        mut tell: impl FnMut(&Self, Change<'a>),
    ) {
        let starts = !matches!(frame, Frame::Reading { .. } | Frame::Error(_));
        if starts && !self.has_started {
            self.has_started = true;
            tell(self, Change::Start(usage_ahead(frame, rest)));
        }
        match frame {
            Frame::Text(piece) => {
                let at = self.growing(
                    |content| matches!(content, Content::Text(_)),
                    Content::Text(String::new()),
                    &mut tell,
                );
                self.grow(at, piece, &mut tell);
            }
            Frame::Reasoning(piece) => {
                let at = self.reasoning(&mut tell);
                self.grow(at, piece, &mut tell);
            }
            Frame::Signature(signature) => {
                let at = self.reasoning(&mut tell);
                if let Content::Reasoning { signature: signed, .. } = &mut self.blocks[at].content {
                    *signed = Some(signature.clone());
                }
                tell(self, Change::Sign(at, signature));
                self.end(at, &mut tell);
            }
            Frame::Redacted(data) => {
                let at = self.begin(Content::Redacted(data.clone()), &mut tell);
                self.end(at, &mut tell);
            }
            Frame::Call { index, id, name } => {
                let content =
                    Content::Call { index: *index, id: id.clone(), name: name.clone(), input: String::new() };
                let at = self.begin(content, &mut tell);
                self.end_unless_continued(at, *index, rest, &mut tell);
            }
            Frame::CallInput { index, piece } => {
                let is_it =
                    |block: &Block| matches!(&block.content, Content::Call { index: i, .. } if i == index);
                let at = self.blocks.iter().rposition(is_it);
                let at =
                    at.unwrap_or_else(|| panic!("the script gives input to call {index} before it begins"));
                self.grow(at, piece, &mut tell);
                self.end_unless_continued(at, *index, rest, &mut tell);
            }
            Frame::Finish(reason, usage) => {
                self.end_all(&mut tell);
                tell(self, Change::Finish(reason, *usage));
            }
            Frame::Error(error) => tell(self, Change::Fail(error)),
            // They are no content: bytes and time are the player's.
            Frame::Role
            | Frame::Reading { .. }
            | Frame::Raw(_)
            | Frame::Pause(_)
            | Frame::Cut
            | Frame::Hang => {}
        }
    }

    /// The open block that `is_it` is true of and that was begun last, or a new one.
    fn growing<'a>(
        &mut self,
        is_it: impl Fn(&Content) -> bool,
        new: Content,
        tell: &mut impl FnMut(&Self, Change<'a>),
    ) -> usize {
        match self.blocks.last() {
            Some(last) if last.is_open && is_it(&last.content) => self.blocks.len() - 1,
            Some(_) | None => self.begin(new, tell),
        }
    }

    fn reasoning<'a>(&mut self, tell: &mut impl FnMut(&Self, Change<'a>)) -> usize {
        self.growing(
            |content| matches!(content, Content::Reasoning { .. }),
            Content::Reasoning { text: String::new(), signature: None },
            tell,
        )
    }

    /// Begins a block; text and reasoning before it end.
    fn begin<'a>(&mut self, content: Content, tell: &mut impl FnMut(&Self, Change<'a>)) -> usize {
        if let Some(last) = self.blocks.len().checked_sub(1)
            && !matches!(self.blocks[last].content, Content::Call { .. })
        {
            self.end(last, tell);
        }
        self.blocks.push(Block { content, is_open: true });
        let at = self.blocks.len() - 1;
        tell(self, Change::Begin(at));
        at
    }

    fn grow<'a>(&mut self, at: usize, piece: &'a str, tell: &mut impl FnMut(&Self, Change<'a>)) {
        match &mut self.blocks[at].content {
            Content::Text(text) | Content::Reasoning { text, .. } | Content::Call { input: text, .. } => {
                text.push_str(piece);
            }
            Content::Redacted(_) => panic!("BUG: redacted data is whole when it begins"),
        }
        tell(self, Change::Piece(at, piece));
    }

    fn end_unless_continued<'a>(
        &mut self,
        at: usize,
        index: usize,
        rest: &VecDeque<Frame>,
        tell: &mut impl FnMut(&Self, Change<'a>),
    ) {
        let is_continued =
            rest.iter().any(|frame| matches!(frame, Frame::CallInput { index: i, .. } if *i == index));
        if !is_continued {
            self.end(at, tell);
        }
    }

    fn end_all<'a>(&mut self, tell: &mut impl FnMut(&Self, Change<'a>)) {
        for at in 0..self.blocks.len() {
            self.end(at, tell);
        }
    }

    /// Ends a block that is open; another one stays as it is.
    fn end<'a>(&mut self, at: usize, tell: &mut impl FnMut(&Self, Change<'a>)) {
        if std::mem::take(&mut self.blocks[at].is_open) {
            tell(self, Change::End(at));
        }
    }
}

/// What the answer will cost: some wires tell of the prompt before anything else.
fn usage_ahead(frame: &Frame, rest: &VecDeque<Frame>) -> WireUsage {
    let usage = |frame: &Frame| if let Frame::Finish(_, usage) = frame { Some(*usage) } else { None };
    std::iter::once(frame).chain(rest).find_map(usage).unwrap_or_default()
}
