//! Tools on a wire that has none: definitions, calls and results as text where they stand.
//!
//! Each block becomes one block, so what was stable stays so and the prefix of a request is the
//! prefix of the next (I3). Pictures, documents and reasoning are left to the wire.

use std::sync::Arc;

use crate::{
    block::Block,
    prepare::{PreparedConversation, PreparedTurn},
};

/// In front of the tools of the head. It stands only where there are tools: without any it would
/// make a weak model invent some.
const HEADING: &str = "Available tools:";

/// `prepared` without a tool block: the palette's text forms stand behind the system text, late
/// definitions, calls, results, JSON and skills where they were. Turns without any are shared.
pub fn flatten(prepared: &PreparedConversation) -> PreparedConversation {
    let mut system = prepared.system.clone();
    if !prepared.palette.is_empty() {
        let heading = std::iter::once(HEADING.to_owned());
        for paragraph in heading.chain(prepared.palette.iter().map(|tool| tool.text())) {
            if !system.is_empty() {
                system.push_str("\n\n");
            }
            system.push_str(&paragraph);
        }
    }
    PreparedConversation {
        skills: prepared.skills.clone(),
        system,
        cache_system: prepared.cache_system,
        palette: Vec::new(),
        turns: prepared.turns.iter().map(flatten_turn).collect(),
    }
}

fn flatten_turn(turn: &Arc<PreparedTurn>) -> Arc<PreparedTurn> {
    if turn.blocks.iter().all(|block| text_form(block).is_none()) {
        return Arc::clone(turn);
    }
    let flat = |block: &Block| text_form(block).map_or_else(|| block.clone(), Block::Text);
    let blocks = turn.blocks.iter().map(flat).collect();
    Arc::new(PreparedTurn { role: turn.role, blocks, n_stable: turn.n_stable })
}

/// A block as text, where it is one that a wire without tools cannot carry.
fn text_form(block: &Block) -> Option<String> {
    match block {
        Block::Json(json) => Some(json.clone()),
        Block::Value(value) => Some(value.shown.clone()),
        Block::ToolDefinition(tool) => Some(tool.text()),
        Block::ToolCall(call) => Some(format!("[Tool Use {}] {}", call.name, call.input)),
        Block::ToolResult(result) => Some(format!("[Tool Result {}] {}", result.call_id, result.text)),
        Block::Skill(skill) => Some(skill.mention()),
        Block::Text(_)
        | Block::Image(_)
        | Block::File(_)
        | Block::Reasoning(_)
        | Block::RedactedReasoning(_) => None,
    }
}

#[cfg(test)]
mod tests;
