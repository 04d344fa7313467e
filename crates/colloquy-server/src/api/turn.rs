//! A turn as it can be looked up, and what a stop found.

use colloquy::{
    Stopped,
    ports::{TurnRow, TurnState},
};
use serde::Serialize;

use super::{ErrorJson, timestamp, uid};

/// Where a turn stands.
#[derive(Debug, Serialize)]
pub(crate) struct TurnResponse {
    turn_id: String,
    conversation_id: i64,
    state: &'static str,
    outcome: Option<&'static str>,
    error: Option<ErrorJson>,
    question_id: Option<i64>,
    last_seq: u64,
    created_at: String,
    ended_at: Option<String>,
}

impl From<TurnRow> for TurnResponse {
    fn from(row: TurnRow) -> Self {
        Self {
            turn_id: uid(row.uid),
            conversation_id: row.conversation_id.0,
            state: match row.state {
                TurnState::Queued => "queued",
                TurnState::Running => "running",
                TurnState::Over => "over",
            },
            outcome: row.outcome.map(|outcome| outcome.name()),
            error: row.error.map(ErrorJson::from),
            question_id: row.question_id.map(|id| id.0),
            last_seq: row.last_seq,
            created_at: timestamp(row.created_at),
            ended_at: row.ended_at.map(timestamp),
        }
    }
}

/// What a stop found.
#[derive(Debug, Serialize)]
pub(crate) struct StopResponse {
    stopped: bool,
    turn_id: Option<String>,
}

impl From<Stopped> for StopResponse {
    fn from(stopped: Stopped) -> Self {
        Self { stopped: stopped.turn_uid.is_some(), turn_id: stopped.turn_uid.map(uid) }
    }
}
