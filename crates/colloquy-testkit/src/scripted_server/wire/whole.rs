//! An answer in one document: the frames are gathered, and rendered when the answer ends.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::{
    super::frame::Frame,
    Render, Wire,
    blocks::{Blocks, Change},
    chat, converse, messages, responses,
};

/// Gathers one answer.
pub(super) struct Whole {
    wire: Wire,
    blocks: Blocks,
}

impl Whole {
    pub(super) fn new(wire: Wire) -> Self {
        Self { wire, blocks: Blocks::default() }
    }
}

impl Render for Whole {
    fn render(&mut self, frame: &Frame, rest: &VecDeque<Frame>) -> Vec<u8> {
        let mut document = None;
        let wire = self.wire;
        self.blocks.take(frame, rest, |blocks, change| {
            if let Change::Finish(reason, usage) = change {
                document = Some(match wire {
                    Wire::Chat => chat::document(blocks, reason, usage),
                    Wire::Responses => responses::document(blocks, reason, usage),
                    Wire::Messages => messages::document(blocks, reason, usage),
                    Wire::Converse => converse::document(blocks, reason, usage),
                });
            }
        });
        document.map(|document| document.to_string().into_bytes()).unwrap_or_default()
    }
}

/// The input of a call on a wire that takes it as a document; a model's own mistake stays visible.
pub(super) fn input_of(input: &str) -> Value {
    match input {
        "" => json!({}),
        input => serde_json::from_str(input).unwrap_or_else(|_| input.into()),
    }
}
