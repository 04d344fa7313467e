//! Closes turns whose process died (I6): what had been flushed is the answer, marked interrupted.
//!
//! A finished tool run's own result is used. The closing is the same function as a stop's; running
//! it twice closes nothing the second time.

use colloquy_core::{block::ToolResult, message::TimeMs, turn::Outcome};

use crate::{
    ports::{Commit, OpenTurn, StoreError, ToolRunState},
    service::Shared,
    stream::blocks_of,
    turn_loop::{ToClose, closing_messages, commit_within_limit},
};

/// Closes every turn that is not over and whose lease has expired at `now`. Gives how many.
///
/// Turns that run in this process are left alone, whatever the clock says of their leases: it may
/// have jumped. One turn that cannot be closed does not keep the others open: it is logged.
pub(crate) async fn close_dead_turns(shared: &Shared, now: TimeMs) -> Result<usize, StoreError> {
    let mut n_closed = 0;
    for dead in shared.store.open_turns(now).await? {
        if shared.is_running(dead.turn.uid) {
            continue;
        }
        let (turn_id, conversation_id) = (dead.turn.id.0, dead.turn.conversation_id.0);
        match close_dead_turn(shared, dead).await {
            Ok(true) => {
                tracing::warn!(turn_id, conversation_id, "closed a turn whose process died");
                n_closed += 1;
            }
            // Somebody else closed it, or its owner came back to life.
            Ok(false) => {}
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::error!(turn_id, conversation_id, error, "failed to close a turn whose process died");
            }
        }
    }
    Ok(n_closed)
}

async fn close_dead_turn(shared: &Shared, dead: OpenTurn) -> Result<bool, StoreError> {
    let now = shared.clock.now();
    let lease_ms = i64::try_from(shared.timing.lease_ms).unwrap_or(i64::MAX);
    let id = dead.turn.conversation_id;
    let expires_at = now.saturating_add(lease_ms);
    let taken = shared.store.take_lease(&dead.principal, id, dead.take, shared.holder, expires_at).await?;
    let Some(lease) = taken else {
        return Ok(false);
    };
    let commit = closing_commit(shared, &dead, now)?;
    commit_within_limit(shared.store.as_ref(), &dead.principal, &lease, commit).await?;
    Ok(true)
}

fn closing_commit(shared: &Shared, dead: &OpenTurn, now: TimeMs) -> Result<Commit, StoreError> {
    let finished: Vec<ToolResult> = dead
        .tool_runs
        .iter()
        .filter(|run| run.state == ToolRunState::Finished)
        .map(|run| ToolResult {
            call_id: run.call_id.clone(),
            text: run.result.clone().unwrap_or_default(),
            is_error: run.is_error,
        })
        .collect();
    let shown = blocks_of(&dead.events);
    let to_close =
        ToClose { committed: &dead.messages, finished: &finished, held: &dead.inbox, shown, line: None };
    let messages = closing_messages(shared.ids.as_ref(), to_close);
    let parent =
        dead.messages.last().ok_or_else(|| StoreError::Corrupt("a turn without its question".into()))?;
    Ok(Commit {
        turn_id: dead.turn.id,
        parent_id: parent.id,
        messages,
        outcome: Outcome::Interrupted,
        error: None,
        tail: Vec::new(),
        first_seq: dead.turn.last_seq + 1,
        last_seq: dead.turn.last_seq + 1,
        at: now,
    })
}
