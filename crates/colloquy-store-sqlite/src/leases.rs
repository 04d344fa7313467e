//! Leases: who may write to a conversation (I7). A fence only grows and outlives its holder.

use colloquy::ports::{Lease, Principal, StoreError, Take};
use colloquy_core::message::{ConversationId, TimeMs, Uid};
use sqlx::SqliteConnection;

use crate::{
    SqliteStore,
    fault::{Fault, Outcome},
    uid,
};

/// Refuses a write whose lease is not the newest one of the conversation, or whose conversation
/// is gone or another's. First in every fenced transaction.
pub(crate) async fn check(tx: &mut SqliteConnection, principal: &Principal, lease: &Lease) -> Outcome<()> {
    let held: Option<i64> = sqlx::query_scalar(
        "SELECT l.fence FROM leases l JOIN conversations c ON c.id = l.conversation_id
         WHERE l.conversation_id = ? AND l.holder = ? AND l.fence = ? AND c.principal = ?",
    )
    .bind(lease.conversation_id.0)
    .bind(lease.holder.0.as_slice())
    .bind(lease.fence)
    .bind(&principal.0)
    .fetch_optional(tx)
    .await?;
    held.map(drop).ok_or(StoreError::StaleOwner.into())
}

/// Takes the lease for a new turn, unless another process holds it at `at`.
///
/// The fence grows even where the holder stays, so that a late write of an earlier turn is stale.
pub(crate) async fn acquire(
    tx: &mut SqliteConnection,
    id: ConversationId,
    holder: Uid,
    at: TimeMs,
    expires_at: TimeMs,
) -> Outcome<Lease> {
    let free_at = Some(at);
    match take(tx, id, holder, expires_at, free_at).await? {
        Some(lease) => Ok(lease),
        None => Err(in_progress(tx, id).await?),
    }
}

/// What refuses a question while a turn runs, with the turn's name.
pub(crate) async fn in_progress(tx: &mut SqliteConnection, id: ConversationId) -> Outcome<Fault> {
    Ok(StoreError::TurnInProgress { turn_uid: running_turn(tx, id).await? }.into())
}

/// Takes the lease if it is the holder's already or has expired at `free_at`; whoever holds it
/// without that time.
async fn take(
    tx: &mut SqliteConnection,
    id: ConversationId,
    holder: Uid,
    expires_at: TimeMs,
    free_at: Option<TimeMs>,
) -> Outcome<Option<Lease>> {
    let fence: Option<i64> = sqlx::query_scalar(
        "INSERT INTO leases (conversation_id, holder, fence, expires_at) VALUES (?1, ?2, 1, ?3)
         ON CONFLICT (conversation_id) DO UPDATE SET
             holder = excluded.holder, fence = fence + 1, expires_at = excluded.expires_at
         WHERE ?4 IS NULL OR holder = excluded.holder OR expires_at <= ?4
         RETURNING fence",
    )
    .bind(id.0)
    .bind(holder.0.as_slice())
    .bind(expires_at)
    .bind(free_at)
    .fetch_optional(tx)
    .await?;
    Ok(fence.map(|fence| Lease { conversation_id: id, holder, fence }))
}

/// Gives the lease back. Row and fence stay, so that a late write with it is still judged.
pub(crate) async fn release(tx: &mut SqliteConnection, lease: &Lease) -> Outcome<()> {
    sqlx::query("UPDATE leases SET expires_at = 0 WHERE conversation_id = ?")
        .bind(lease.conversation_id.0)
        .execute(tx)
        .await?;
    Ok(())
}

/// The turn that runs on a conversation, or was running when its process died.
pub(crate) async fn running_turn(tx: &mut SqliteConnection, id: ConversationId) -> Outcome<Option<Uid>> {
    let running: Option<Vec<u8>> =
        sqlx::query_scalar("SELECT uid FROM turns WHERE conversation_id = ? AND state = 'running'")
            .bind(id.0)
            .fetch_optional(tx)
            .await?;
    running.map(|bytes| uid("a running turn", &bytes)).transpose()
}

pub(crate) async fn renew(
    store: &SqliteStore,
    leases: Vec<Lease>,
    expires_at: TimeMs,
) -> Outcome<Vec<Lease>> {
    let mut lost = Vec::new();
    let mut tx = store.begin_relaxed().await?;
    for lease in leases {
        let renewed = sqlx::query(
            "UPDATE leases SET expires_at = max(expires_at, ?)
             WHERE conversation_id = ? AND holder = ? AND fence = ? AND expires_at > 0",
        )
        .bind(expires_at)
        .bind(lease.conversation_id.0)
        .bind(lease.holder.0.as_slice())
        .bind(lease.fence)
        .execute(&mut *tx)
        .await?;
        if renewed.rows_affected() == 0 {
            lost.push(lease);
        }
    }
    tx.commit().await?;
    Ok(lost)
}

pub(crate) async fn take_over(
    store: &SqliteStore,
    principal: &Principal,
    id: ConversationId,
    condition: Take,
    holder: Uid,
    expires_at: TimeMs,
) -> Outcome<Option<Lease>> {
    let mut tx = store.begin_durable().await?;
    if !crate::conversations::exists(&mut tx, principal, id).await? || !holds(&mut tx, id, condition).await? {
        return Ok(None);
    }
    let lease = take(&mut tx, id, holder, expires_at, None).await?;
    tx.commit().await?;
    Ok(lease)
}

async fn holds(tx: &mut SqliteConnection, id: ConversationId, condition: Take) -> Outcome<bool> {
    let Take::IfStill { turn_id, fence, expires_at } = condition else { return Ok(true) };
    let unchanged: Option<i64> = sqlx::query_scalar(
        "SELECT t.id FROM turns t LEFT JOIN leases l ON l.conversation_id = t.conversation_id
         WHERE t.id = ? AND t.conversation_id = ? AND t.state <> 'over'
             AND coalesce(l.fence, 0) = ? AND coalesce(l.expires_at, 0) = ?",
    )
    .bind(turn_id.0)
    .bind(id.0)
    .bind(fence)
    .bind(expires_at)
    .fetch_optional(tx)
    .await?;
    Ok(unchanged.is_some())
}
