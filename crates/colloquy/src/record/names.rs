//! The names that stores keep in plain columns, so that SQL can ask for them.

use colloquy_core::message::{Kind, Role};

use super::RecordError;
use crate::ports::{ToolRunState, TurnState};

/// The stored name of a kind of message.
pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Question => "question",
        Kind::Steer => "steer",
        Kind::Results => "results",
        Kind::Call => "call",
        Kind::Answer => "answer",
        Kind::Closing => "closing",
        Kind::Announcement => "announcement",
    }
}

/// The kind of message of that name.
pub fn kind_from_name(name: &str) -> Result<Kind, RecordError> {
    Ok(match name {
        "question" => Kind::Question,
        "steer" => Kind::Steer,
        "results" => Kind::Results,
        "call" => Kind::Call,
        "answer" => Kind::Answer,
        "closing" => Kind::Closing,
        "announcement" => Kind::Announcement,
        unknown => return Err(RecordError::tag("the kind of a message", unknown)),
    })
}

/// The stored name of a role.
pub fn role_name(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

/// Refuses a stored role that is not the one its message's kind fixes. What the system says is the
/// head; a stored message that claims to be the system's is never taken for a person's or a model's.
pub fn check_role(kind: Kind, name: &str) -> Result<(), RecordError> {
    const WHAT: &str = "the role of a message";
    match name {
        "user" | "assistant" if name == role_name(kind.role()) => Ok(()),
        "user" | "assistant" => Err(RecordError::damaged(WHAT, "it is not the role of the message's kind")),
        "system" => Err(RecordError::damaged(WHAT, "no message speaks as the system")),
        unknown => Err(RecordError::tag(WHAT, unknown)),
    }
}

/// The stored name of a turn's state.
pub fn turn_state_name(state: TurnState) -> &'static str {
    match state {
        TurnState::Queued => "queued",
        TurnState::Running => "running",
        TurnState::Over => "over",
    }
}

/// The turn state of that name.
pub fn turn_state_from_name(name: &str) -> Result<TurnState, RecordError> {
    Ok(match name {
        "queued" => TurnState::Queued,
        "running" => TurnState::Running,
        "over" => TurnState::Over,
        unknown => return Err(RecordError::tag("the state of a turn", unknown)),
    })
}

/// The stored name of a tool run's state.
pub fn tool_run_state_name(state: ToolRunState) -> &'static str {
    match state {
        ToolRunState::Started => "started",
        ToolRunState::Finished => "finished",
        ToolRunState::Interrupted => "interrupted",
    }
}

/// The tool run state of that name.
pub fn tool_run_state_from_name(name: &str) -> Result<ToolRunState, RecordError> {
    Ok(match name {
        "started" => ToolRunState::Started,
        "finished" => ToolRunState::Finished,
        "interrupted" => ToolRunState::Interrupted,
        unknown => return Err(RecordError::tag("the state of a tool run", unknown)),
    })
}
