//! Messages as lists show them: what people and models said to each other.
//!
//! Rows that only the model needs are left out: tool calls and their results become the trace of
//! their turn's answer, and what the program itself asked is nobody's message.

use colloquy::ports::StoredMessage;
use colloquy_core::{
    block::Block,
    message::{ConversationId, Kind, Message, Role},
    trace::{TraceEvent, stored_trace},
    turn::Outcome,
};
use serde::Serialize;
use serde_json::Value;

use super::{ErrorJson, UsageJson, arguments, timestamp, uid};

/// A message as lists show it.
#[derive(Debug, Serialize)]
pub(crate) struct MessageResponse {
    id: i64,
    conversation_id: i64,
    sender: &'static str,
    content: String,
    timestamp: String,
    starred: bool,
    trace: Option<Value>,
    turn_id: String,
    parent_id: Option<i64>,
    /// Answers only; `null` while the turn runs.
    outcome: Option<&'static str>,
    /// Answers of failed turns only.
    error: Option<ErrorJson>,
    usage: Option<UsageJson>,
    siblings: Vec<i64>,
}

/// The messages of a branch, oldest first, as lists show them.
pub(crate) fn shown(conversation_id: ConversationId, branch: Vec<StoredMessage>) -> Vec<MessageResponse> {
    let mut steps = Steps::default();
    branch
        .into_iter()
        .filter_map(|stored| {
            steps.read(&stored.message);
            is_shown(&stored.message).then(|| response(conversation_id, stored, &mut steps))
        })
        .collect()
}

fn is_shown(message: &Message) -> bool {
    match message.kind {
        Kind::Question | Kind::Steer => !message.app_authored,
        Kind::Answer | Kind::Closing => true,
        Kind::Results | Kind::Call | Kind::Announcement => false,
    }
}

fn response(conversation_id: ConversationId, stored: StoredMessage, steps: &mut Steps) -> MessageResponse {
    let StoredMessage { message, starred, turn_uid, outcome, error, siblings } = stored;
    let is_answer = message.role() == Role::Assistant;
    let (outcome, error) = if is_answer { (outcome, error) } else { (None, None) };
    // An error turn keeps no trace: its steps led nowhere.
    let trace = match outcome {
        _ if !is_answer => None,
        Some(Outcome::Failed(_)) => None,
        Some(
            Outcome::Answered
            | Outcome::Truncated
            | Outcome::NoAnswer
            | Outcome::Stopped
            | Outcome::Interrupted,
        )
        | None => stored_trace(&steps.events),
    };
    MessageResponse {
        id: message.id.0,
        conversation_id: conversation_id.0,
        sender: if is_answer { "llm" } else { "user" },
        content: message.text(),
        timestamp: timestamp(message.created_at),
        starred,
        trace,
        turn_id: uid(turn_uid),
        parent_id: message.parent_id.map(|id| id.0),
        outcome: outcome.map(|outcome| outcome.name()),
        error: error.map(ErrorJson::from),
        usage: message.usage.map(UsageJson::from),
        siblings: siblings.into_iter().map(|id| id.0).collect(),
    }
}

/// What happened in the turn that is being read, up to its answer.
#[derive(Default)]
struct Steps {
    events: Vec<TraceEvent>,
    /// Identifier and name of each call, for naming its result.
    calls: Vec<(String, String)>,
}

impl Steps {
    fn read(&mut self, message: &Message) {
        match message.kind {
            Kind::Question => *self = Self::default(),
            Kind::Steer | Kind::Announcement => {}
            Kind::Call | Kind::Results | Kind::Answer | Kind::Closing => {
                for block in &message.blocks {
                    self.read_block(message.kind, block);
                }
            }
        }
    }

    fn read_block(&mut self, kind: Kind, block: &Block) {
        let event = match block {
            Block::Reasoning(reasoning) if reasoning.text.is_empty() => return,
            Block::Reasoning(reasoning) => TraceEvent::Thinking { text: reasoning.text.clone() },
            // What is said before a call is narration, shown with the steps and not as the answer.
            Block::Text(text) if kind == Kind::Call => TraceEvent::Thinking { text: text.clone() },
            Block::Text(_)
            | Block::Value(_)
            | Block::Json(_)
            | Block::ToolDefinition(_)
            | Block::Image(_)
            | Block::File(_)
            | Block::RedactedReasoning(_)
            | Block::Skill(_) => return,
            Block::ToolCall(call) => {
                self.calls.push((call.id.clone(), call.name.clone()));
                TraceEvent::ToolCall { name: call.name.clone(), args: arguments(&call.input) }
            }
            Block::ToolResult(result) => TraceEvent::ToolResult {
                name: self.name_of(&result.call_id).to_owned(),
                text: result.text.clone(),
            },
        };
        self.events.push(event);
    }

    fn name_of(&self, call_id: &str) -> &str {
        let call = self.calls.iter().rev().find(|(id, _)| id == call_id);
        call.map_or("", |(_, name)| name)
    }
}

#[cfg(test)]
mod tests;
