//! What one message shows to a model: a pure function of the message and the viewer, and the memo
//! of it that a preparer keeps.

use std::sync::Arc;

use super::PreparedTurn;
use crate::{
    block::{Block, File, Image, ToolCall, ToolResult},
    control_tokens::ControlTokens,
    curated::{ERROR_SENTINEL, INTERRUPTED_ANSWER},
    head::{broken_skill, broken_tool},
    message::{Kind, Message, Origin},
};

/// Who reads, as far as it changes what a message shows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Viewer<'a> {
    pub(super) control_tokens: &'a ControlTokens,
    pub(super) origin: Option<&'a Origin>,
}

/// What a message shows, and all of the message that decided it.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    kind: Kind,
    is_own: bool,
    /// The message's blocks; `None` where the turn holds the very same.
    source: Option<Vec<Block>>,
    /// `None` when it shows nothing.
    pub(super) turn: Option<Arc<PreparedTurn>>,
}

impl Shown {
    pub(super) fn of(message: &Message, viewer: Viewer<'_>) -> Self {
        let is_own = viewer.wrote(message);
        let blocks = shown_blocks(message, is_own, viewer.control_tokens);
        let n_stable = blocks.len();
        let source = (blocks != message.blocks).then(|| message.blocks.clone());
        let turn =
            (!blocks.is_empty()).then(|| Arc::new(PreparedTurn { role: message.role(), blocks, n_stable }));
        Self { kind: message.kind, is_own, source, turn }
    }

    /// Whether this is what `message` shows. The blocks are compared, not the identifier: a view
    /// may hold a message in another form than the request before, as after a compaction.
    pub(super) fn is_of(&self, message: &Message, viewer: Viewer<'_>) -> bool {
        let source = match (&self.source, &self.turn) {
            (Some(source), _) => source.as_slice(),
            (None, Some(turn)) => turn.blocks.as_slice(),
            (None, None) => &[],
        };
        self.kind == message.kind && self.is_own == viewer.wrote(message) && source == message.blocks
    }
}

impl Viewer<'_> {
    /// Whether the model that reads is the one that wrote the message. A model nobody names is
    /// no one's.
    fn wrote(&self, message: &Message) -> bool {
        self.origin.is_some() && message.origin.as_ref() == self.origin
    }
}

/// The text of an error is for people: the model reads that the answer was interrupted.
fn shown_blocks(message: &Message, is_own: bool, control_tokens: &ControlTokens) -> Vec<Block> {
    if message.kind == Kind::Closing && message.text().starts_with(ERROR_SENTINEL) {
        return vec![Block::Text(INTERRUPTED_ANSWER.to_owned())];
    }
    message.blocks.iter().filter_map(|block| shown_block(block, is_own, control_tokens)).collect()
}

/// Broken where it is text that a template might read; opaque data goes back as it came.
fn shown_block(block: &Block, is_own: bool, control_tokens: &ControlTokens) -> Option<Block> {
    let broken = |text: &str| control_tokens.break_in(text).into_owned();
    let unless_blank = |text: &String| (!text.trim().is_empty()).then(|| broken(text));
    match block {
        Block::Text(text) => unless_blank(text).map(Block::Text),
        Block::Json(json) => unless_blank(json).map(Block::Json),
        Block::Value(value) => unless_blank(&value.shown).map(Block::Json),
        Block::ToolDefinition(tool) => Some(Block::ToolDefinition(broken_tool(tool, control_tokens))),
        Block::Image(image) => Some(Block::Image(Image {
            description: image.description.as_deref().map(broken),
            ..image.clone()
        })),
        Block::File(file) => Some(Block::File(File { name: broken(&file.name), ..file.clone() })),
        Block::ToolCall(call) => Some(Block::ToolCall(ToolCall {
            id: call.id.clone(),
            // The model wrote the name, so it need not be that of a tool.
            name: broken(&call.name),
            input: broken(&call.input),
        })),
        Block::ToolResult(result) => {
            Some(Block::ToolResult(ToolResult { text: broken(&result.text), ..result.clone() }))
        }
        // Unsigned reasoning is for people; signed reasoning is valid with its signer only.
        Block::Reasoning(reasoning) => (is_own && reasoning.signature.is_some()).then(|| block.clone()),
        Block::RedactedReasoning(_) => is_own.then(|| block.clone()),
        Block::Skill(skill) => Some(Block::Skill(broken_skill(skill, control_tokens))),
    }
}
