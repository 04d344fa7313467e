//! The one function that repairs a stored conversation when it is loaded (I4, I5).
//!
//! Rows are never rewritten: what is repaired is the view of them. Total and idempotent: any list
//! of messages comes out paired and alternating, and what comes out goes through unchanged.

use crate::{
    block::{Block, ToolResult},
    curated::INTERRUPTED_ANSWER,
    message::{Kind, Message, MessageId, Role},
};

/// Something that was damaged, and how the view of it was mended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repair {
    /// An assistant message stood before the first question; it is left out.
    LeadingAssistant(MessageId),
    /// A user message followed an unanswered one; a closing answer stands between them.
    Unanswered(MessageId),
    /// Two assistant messages stood in a row; the earlier is left out of the view.
    DoubleAnswer(MessageId),
    /// A call had no result; it has one that says so.
    MissingResult(MessageId),
    /// A result had no call, or was the second for its call; it is left out.
    OrphanResult(MessageId),
    /// A message had nothing in it that the model could read; it is left out, or closed.
    Empty(MessageId),
}

/// Mends the view of a branch. The last message may be a question, calls or results: those are
/// for the turn that runs, or for the closing of one that died.
pub fn repair(messages: Vec<Message>) -> (Vec<Message>, Vec<Repair>) {
    let mut repairs = Vec::new();
    let paired = pair_results(messages, &mut repairs);
    let alternating = alternate(paired, &mut repairs);
    (alternating, repairs)
}

/// Gives each call of a message exactly one result right after it, in call order.
fn pair_results(messages: Vec<Message>, repairs: &mut Vec<Repair>) -> Vec<Message> {
    let mut paired = Vec::with_capacity(messages.len());
    let mut messages = messages.into_iter().peekable();
    while let Some(message) = messages.next() {
        if message.kind == Kind::Results {
            repairs.push(Repair::OrphanResult(message.id));
            continue;
        }
        if paired.is_empty() && message.role() == Role::Assistant {
            repairs.push(Repair::LeadingAssistant(message.id));
            continue;
        }
        if message.calls().next().is_none() {
            paired.push(message);
            continue;
        }
        let results = messages.next_if(|next| next.kind == Kind::Results);
        if results.is_none() && messages.peek().is_none() {
            // The calls of a running step: their results are on their way.
            paired.push(message);
            continue;
        }
        let results = complete(&message, results, repairs);
        paired.push(message);
        paired.push(results);
    }
    paired
}

fn complete(calls: &Message, results: Option<Message>, repairs: &mut Vec<Repair>) -> Message {
    let wanted: Vec<&str> = calls.calls().map(|call| call.id.as_str()).collect();
    let mut left: Vec<ToolResult> = results.iter().flat_map(Message::results).cloned().collect();
    let extra = results
        .iter()
        .flat_map(|message| &message.blocks)
        .filter(|block| !matches!(block, Block::ToolResult(_)));
    let mut blocks: Vec<Block> = Vec::with_capacity(wanted.len());
    for id in &wanted {
        // Taken one by one: two calls that share an id have a result each.
        match left.iter().position(|result| result.call_id == *id) {
            Some(at) => blocks.push(Block::ToolResult(left.remove(at))),
            None => {
                repairs.push(Repair::MissingResult(calls.id));
                blocks.push(Block::ToolResult(ToolResult::interrupted(id)));
            }
        }
    }
    if !left.is_empty()
        && let Some(message) = &results
    {
        repairs.push(Repair::OrphanResult(message.id));
    }
    blocks.extend(extra.cloned());
    match results {
        Some(message) => Message { blocks, ..message },
        None => stand_in(calls, Kind::Results, blocks),
    }
}

fn alternate(messages: Vec<Message>, repairs: &mut Vec<Repair>) -> Vec<Message> {
    let mut branch: Vec<Message> = Vec::with_capacity(messages.len());
    for mut message in messages {
        if is_empty(&message) {
            repairs.push(Repair::Empty(message.id));
            match message.role() {
                // An empty question still has its answer; an empty answer still ends its turn.
                Role::User => message.blocks.push(Block::Text("[empty]".into())),
                Role::Assistant => message.blocks.push(Block::Text(INTERRUPTED_ANSWER.into())),
            }
        }
        match (branch.last(), message.role()) {
            (Some(last), Role::User) if last.role() == Role::User && !may_stand_together(last, &message) => {
                repairs.push(Repair::Unanswered(last.id));
                let closing = vec![Block::Text(INTERRUPTED_ANSWER.into())];
                let closing = stand_in(last, Kind::Closing, closing);
                branch.push(closing);
            }
            (Some(last), Role::Assistant) if last.role() == Role::Assistant => {
                repairs.push(Repair::DoubleAnswer(last.id));
                branch.pop();
            }
            (None | Some(_), Role::User | Role::Assistant) => {}
        }
        branch.push(message);
    }
    branch
}

/// Announcements stand before a question, steering before or after results (I5).
fn may_stand_together(first: &Message, second: &Message) -> bool {
    let movable = |kind| matches!(kind, Kind::Announcement | Kind::Steer);
    movable(first.kind) || movable(second.kind)
}

/// Whether a message has nothing that a model could read.
fn is_empty(message: &Message) -> bool {
    message.blocks.iter().all(|block| match block {
        Block::Text(text) => text.trim().is_empty(),
        Block::Reasoning(_) | Block::RedactedReasoning(_) => true,
        Block::Value(_)
        | Block::Json(_)
        | Block::ToolDefinition(_)
        | Block::Image(_)
        | Block::File(_)
        | Block::ToolCall(_)
        | Block::ToolResult(_)
        | Block::Skill(_) => false,
    })
}

/// A message that is in no store, in the place of one that is missing after `neighbour`.
fn stand_in(neighbour: &Message, kind: Kind, blocks: Vec<Block>) -> Message {
    Message {
        kind,
        app_authored: true,
        blocks,
        origin: None,
        usage: None,
        finish_reason: None,
        ..neighbour.clone()
    }
}

#[cfg(test)]
mod tests;
