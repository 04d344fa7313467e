//! Events of turns: what an unfinished answer and a returning reader are rebuilt from.

use colloquy::{ports::EventChunk, record, stream::StreamEvent};
use colloquy_core::message::{TimeMs, TurnId};
use sqlx::SqliteConnection;

use crate::{
    SqliteStore,
    fault::{Fault, Outcome},
    narrowed, stored,
};

pub(crate) async fn append_chunks(store: &SqliteStore, chunks: Vec<EventChunk>) -> Outcome<Vec<TurnId>> {
    let mut stale = Vec::new();
    let mut tx = store.begin_relaxed().await?;
    for chunk in chunks {
        // A turn that is over still takes the events that its owner has left to flush: the fence
        // has grown as soon as anybody else could have closed it. `done`, and the error before it,
        // may be missing: readers take them from the turn's own row.
        let held: Option<i64> = sqlx::query_scalar(
            "SELECT t.id FROM turns t JOIN leases l ON l.conversation_id = t.conversation_id
             WHERE t.id = ? AND l.conversation_id = ? AND l.holder = ? AND l.fence = ?",
        )
        .bind(chunk.turn_id.0)
        .bind(chunk.lease.conversation_id.0)
        .bind(chunk.lease.holder.0.as_slice())
        .bind(chunk.lease.fence)
        .fetch_optional(&mut *tx)
        .await?;
        if held.is_some() {
            append(&mut tx, chunk.turn_id, chunk.first_seq, &chunk.events).await?;
        } else {
            stale.push(chunk.turn_id);
        }
    }
    tx.commit().await?;
    Ok(stale)
}

/// Writes consecutive events. The caller has checked the fence.
///
/// A chunk that is there with the same first number came from a write whose answer was lost; the
/// longer of the two has all of both.
pub(crate) async fn append(
    tx: &mut SqliteConnection,
    turn_id: TurnId,
    first_seq: u64,
    events: &[StreamEvent],
) -> Outcome<()> {
    let Some(n_more) = events.len().checked_sub(1) else { return Ok(()) };
    sqlx::query(
        "INSERT INTO turn_events (turn_id, first_seq, last_seq, lines) VALUES (?, ?, ?, ?)
         ON CONFLICT (turn_id, first_seq) DO UPDATE SET last_seq = excluded.last_seq, lines = excluded.lines
         WHERE excluded.last_seq > turn_events.last_seq",
    )
    .bind(turn_id.0)
    .bind(stored(first_seq)?)
    .bind(stored(first_seq.saturating_add(n_more as u64))?)
    .bind(record::encode_events(events))
    .execute(tx)
    .await?;
    Ok(())
}

/// The flushed events of a turn, in order; those that are never stored are missing.
pub(crate) async fn of_turn(tx: &mut SqliteConnection, turn_id: TurnId) -> Outcome<Vec<StreamEvent>> {
    let rows: Vec<(i64, String)> =
        sqlx::query_as("SELECT first_seq, lines FROM turn_events WHERE turn_id = ? ORDER BY first_seq")
            .bind(turn_id.0)
            .fetch_all(tx)
            .await?;
    let mut events = Vec::new();
    for (first_seq, lines) in rows {
        let name = format!("the events of turn {} from {first_seq} on", turn_id.0);
        let chunk = record::decode_events(narrowed(&name, first_seq)?, &lines)
            .map_err(|error| Fault::record(&name, error))?;
        events.extend(chunk.into_iter().map(|(_, event)| event));
    }
    Ok(events)
}

pub(crate) async fn sweep(store: &SqliteStore, before: TimeMs) -> Outcome<u64> {
    let mut tx = store.begin_relaxed().await?;
    let ended: Vec<i64> = sqlx::query_scalar(
        "SELECT DISTINCT e.turn_id FROM turn_events e JOIN turns t ON t.id = e.turn_id
         WHERE t.state = 'over' AND t.ended_at < ?",
    )
    .bind(before)
    .fetch_all(&mut *tx)
    .await?;
    for turn_id in &ended {
        sqlx::query("DELETE FROM turn_events WHERE turn_id = ?").bind(turn_id).execute(&mut *tx).await?;
    }
    tx.commit().await?;
    Ok(ended.len() as u64)
}
