//! What a real model's server refuses of a request, so that a scripted one does too: the rules of
//! pairing and order (I1, I4, I5) that every wire shares.
//!
//! It looks at what was prepared, not at messages, and mends nothing.

use std::collections::HashSet;

use colloquy_core::{
    block::{Block, ToolCall},
    message::Role,
    prepare::{PreparedConversation, PreparedTurn},
};

/// What is wrong with the turns of a request, by the number of the turn from 1; `None` when a real
/// server would take them.
pub(super) fn fault(prepared: &PreparedConversation) -> Option<String> {
    let turns = &prepared.turns;
    match (turns.first(), turns.last()) {
        (None, _) | (_, None) => return Some("there is no turn in it".to_owned()),
        (Some(first), _) if first.role == Role::Assistant => {
            return Some("it starts with an assistant turn".to_owned());
        }
        (_, Some(last)) if last.role == Role::Assistant => {
            return Some("it ends with an assistant turn, so there is nothing to answer".to_owned());
        }
        (Some(_), Some(_)) => {}
    }
    let mut open: Vec<&ToolCall> = Vec::new();
    for (index, turn) in turns.iter().enumerate() {
        let before = index.checked_sub(1).map(|index| turns[index].role);
        let fault = if (before, turn.role) == (Some(Role::Assistant), Role::Assistant) {
            Some("follows another assistant turn".to_owned())
        } else {
            in_content(turn).or_else(|| in_pairing(turn, &open))
        };
        if let Some(fault) = fault {
            return Some(format!("turn {} {fault}", index + 1));
        }
        open = turn.blocks.iter().filter_map(Block::as_call).collect();
    }
    None
}

/// What is wrong with a turn on its own.
fn in_content(turn: &PreparedTurn) -> Option<String> {
    if turn.blocks.is_empty() {
        return Some("is empty".to_owned());
    }
    turn.blocks.iter().find_map(|block| {
        let fault = match (turn.role, block) {
            (_, Block::Value(_)) => "holds a typed value instead of what is shown of it",
            (_, Block::Text(text) | Block::Json(text)) if text.trim().is_empty() => "holds blank text",
            (Role::User, Block::ToolCall(_)) => "is a user's and calls a tool",
            (Role::User, Block::Reasoning(_) | Block::RedactedReasoning(_)) => "is a user's and reasons",
            (Role::Assistant, Block::ToolResult(_)) => "is an assistant's and holds a result",
            (Role::Assistant, Block::ToolCall(call)) if call.id.is_empty() || call.name.is_empty() => {
                "has a call without an identifier or a name"
            }
            (Role::User | Role::Assistant, _) => return None,
        };
        Some(fault.to_owned())
    })
}

/// What is wrong with the calls of a turn among each other, or with its results as answers to the
/// calls of the turn before: all of them, each once, before anything else.
fn in_pairing(turn: &PreparedTurn, open: &[&ToolCall]) -> Option<String> {
    let mut called = HashSet::new();
    let mut calls = turn.blocks.iter().filter_map(Block::as_call);
    if let Some(twice) = calls.find(|call| !called.insert(&call.id)) {
        return Some(format!("has two calls {}", twice.id));
    }
    let mut answered = HashSet::new();
    for result in turn.blocks.iter().filter_map(Block::as_result) {
        if !open.iter().any(|call| call.id == result.call_id) {
            return Some(format!(
                "has the result of {}, which the turn before it does not call",
                result.call_id
            ));
        }
        if !answered.insert(&result.call_id) {
            return Some(format!("has two results of {}", result.call_id));
        }
    }
    if let Some(unanswered) = open.iter().find(|call| !answered.contains(&call.id)) {
        return Some(format!("lacks the result of {}, which the turn before it calls", unanswered.id));
    }
    let n_leading = turn.blocks.iter().take_while(|block| block.as_result().is_some()).count();
    (n_leading < answered.len()).then(|| "has something before its results".to_owned())
}

#[cfg(test)]
mod tests;
