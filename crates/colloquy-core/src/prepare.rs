//! Objective and messages in, what the model sees out: the system text and turns that are `User`
//! or `Assistant` by type (I1), joined where a template needs alternation (I5).
//!
//! Text that is not ours has its control tokens broken here, so that every dialect and every
//! count sees the same bytes. Pure and deterministic: the same branch yields the same prefix (I3).

use crate::{
    block::Block,
    control_tokens::ControlTokens,
    curated::{ERROR_SENTINEL, INTERRUPTED_ANSWER},
    message::{Kind, Message, Role},
    objective::{Tier, render_objective},
};

/// What one model call is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedConversation {
    /// The rendered objective.
    pub system: String,
    /// The turns, oldest first, strictly alternating and starting with `User`.
    pub turns: Vec<PreparedTurn>,
}

/// One turn as a dialect sends it.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedTurn {
    /// Who speaks.
    pub role: Role,
    /// What is said, control tokens broken.
    pub text: String,
}

/// The parts of the objective.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectiveParts<'a> {
    /// Picks the persona.
    pub tier: Tier,
    /// The custom prompt of the turn, may be empty.
    pub custom_prompt: &'a str,
    /// Texts of the starred messages, oldest first.
    pub starred: &'a [String],
}

/// Renders the objective and the messages of a branch, oldest first. The branch is in repair:
/// pass what came out of [`crate::repair::repair`].
pub fn prepare(
    objective: &ObjectiveParts<'_>,
    messages: &[Message],
    control_tokens: &ControlTokens,
) -> PreparedConversation {
    let mut turns: Vec<PreparedTurn> = Vec::new();
    for message in messages {
        let text = visible_text(message);
        let text = control_tokens.break_in(&text);
        match turns.last_mut() {
            Some(last) if last.role == message.role() => {
                last.text.push_str(JOINT);
                last.text.push_str(&text);
            }
            _ => turns.push(PreparedTurn { role: message.role(), text: text.into_owned() }),
        }
    }
    PreparedConversation { system: render_objective(objective, control_tokens), turns }
}

/// Between two messages of one role that a template wants as one.
const JOINT: &str = "\n\n";

/// Reasoning is shown to people and never replayed; a result stands in for its call. The text of
/// an error is for people too: the model reads that the answer was interrupted.
fn visible_text(message: &Message) -> String {
    if message.kind == Kind::Closing && message.text().starts_with(ERROR_SENTINEL) {
        return INTERRUPTED_ANSWER.into();
    }
    let mut text = String::new();
    for block in &message.blocks {
        let piece = match block {
            Block::Text(piece) => piece,
            Block::ToolResult(result) => &result.text,
            Block::Reasoning(_) | Block::ToolCall(_) => continue,
        };
        text.push_str(piece);
    }
    text
}

#[cfg(test)]
mod tests;
