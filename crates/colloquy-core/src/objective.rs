//! The objective: named slots whose values, in the order they were first put, are the system text
//! of a conversation and nothing else is (I1; runtime page, "The objective map").
//!
//! A key is a place, not content: it never reaches a model. Putting again replaces in place, so a
//! refresh never reorders the rendered prefix.

use crate::{
    block::{Block, Skill},
    tool::ToolDefinition,
};

/// The slot of the legend of the schema notation; derived, see [`crate::head`].
pub const LEGEND_SLOT: &str = "legend";
/// The slot of the guidance on tool weights; derived, see [`crate::head`].
pub const TOOL_WEIGHTS_SLOT: &str = "toolWeights";
/// Before the name of a tool in the key of its slot.
pub const TOOL_SLOT_PREFIX: &str = "tool:";
/// Before the name of a skill in the key of its slot.
pub const SKILL_SLOT_PREFIX: &str = "skill:";

/// Ordered named slots.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Objective {
    /// Keys are unique; no value is blank.
    slots: Vec<(String, Block)>,
}

impl Objective {
    /// Replaces the value of a slot in place, or adds the slot at the end. A blank
    /// value is ignored.
    pub fn put(&mut self, key: &str, value: Block) {
        if is_blank(&value) {
            return;
        }
        match self.slots.iter_mut().find(|(known, _)| known == key) {
            Some((_, held)) => *held = value,
            None => self.slots.push((key.to_owned(), value)),
        }
    }

    /// The value of a slot.
    pub fn find(&self, key: &str) -> Option<&Block> {
        self.slots.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    /// Keys and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Block)> {
        self.slots.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Whether there is no slot.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Empties it, derived slots included.
    pub fn nuke(&mut self) {
        self.slots.clear();
    }

    /// The admitted skills, in order; they stand before the system text, not in it.
    pub fn skills(&self) -> impl Iterator<Item = &Skill> {
        self.slots
            .iter()
            .filter_map(|(_, value)| if let Block::Skill(skill) = value { Some(skill) } else { None })
    }

    /// The tools that joined the head, in order; they travel as the palette, not in the text.
    pub fn tools(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.slots
            .iter()
            .filter_map(|(_, value)| if let Block::ToolDefinition(tool) = value { Some(tool) } else { None })
    }

    /// The system text: the values that are text, in order, with a blank line between two.
    pub fn text(&self) -> String {
        let texts = self.slots.iter().filter_map(|(_, value)| system_text(value));
        texts.collect::<Vec<_>>().join("\n\n")
    }
}

/// What a value adds to the system text. Pictures, documents, calls, results and reasoning are
/// said in turns; a slot is no place for them and shows nothing.
fn system_text(value: &Block) -> Option<&str> {
    match value {
        Block::Text(text) | Block::Json(text) => Some(text),
        Block::Value(value) => Some(&value.shown),
        Block::ToolDefinition(_)
        | Block::Image(_)
        | Block::File(_)
        | Block::ToolCall(_)
        | Block::ToolResult(_)
        | Block::Reasoning(_)
        | Block::RedactedReasoning(_)
        | Block::Skill(_) => None,
    }
}

/// Whether a value would be a slot without anything in it.
pub(crate) fn is_blank(value: &Block) -> bool {
    system_text(value).is_some_and(|text| text.trim().is_empty())
}

/// Whether two values of a slot are the same to the model.
pub(crate) fn renders_alike(held: &Block, value: &Block) -> bool {
    match (system_text(held), system_text(value)) {
        (Some(held), Some(value)) => held == value,
        (None, _) | (_, None) => held == value,
    }
}

#[cfg(test)]
mod tests;
