//! The inbox of a running turn: written before a message is called accepted, marked by the message
//! that delivers it.

use colloquy::{
    ports::{InboxMessage, Lease, Principal},
    record,
};
use colloquy_core::{
    block::Block,
    message::{MessageId, TurnId},
};
use futures::TryStreamExt;
use sqlx::{SqliteConnection, SqlitePool};

use crate::{
    SqliteStore,
    fault::{Fault, Outcome},
    leases, narrowed, turns,
};

pub(crate) async fn accept(
    store: &SqliteStore,
    principal: &Principal,
    lease: &Lease,
    turn_id: TurnId,
    blocks: &[Block],
) -> Outcome<u32> {
    let mut tx = store.begin_durable().await?;
    leases::check(&mut tx, principal, lease).await?;
    turns::check_running(&mut tx, lease, turn_id).await?;
    let ordinal: i64 = sqlx::query_scalar(
        "INSERT INTO inbox (turn_id, ordinal, blocks)
         VALUES (?1, (SELECT coalesce(max(ordinal) + 1, 0) FROM inbox WHERE turn_id = ?1), ?2)
         RETURNING ordinal",
    )
    .bind(turn_id.0)
    .bind(record::encode_blocks(blocks))
    .fetch_one(&mut *tx)
    .await?;
    tx.commit().await?;
    narrowed("an inbox", ordinal)
}

/// Notes which message delivers a row, in the transaction that appends the message. Refuses a row
/// that is not there or was delivered before: nothing is told the model twice.
pub(crate) async fn deliver(
    tx: &mut SqliteConnection,
    turn_id: TurnId,
    ordinal: u32,
    message_id: MessageId,
) -> Outcome<()> {
    let delivered = sqlx::query(
        "UPDATE inbox SET message_id = ? WHERE turn_id = ? AND ordinal = ? AND message_id IS NULL",
    )
    .bind(message_id.0)
    .bind(turn_id.0)
    .bind(ordinal)
    .execute(tx)
    .await?;
    if delivered.rows_affected() == 0 {
        let name = format!("message {ordinal} of the inbox of turn {}", turn_id.0);
        return Err(Fault::corrupt(format!("{name} does not wait to be delivered")));
    }
    Ok(())
}

/// What a turn accepted and has not delivered, in order.
pub(crate) async fn undelivered(tx: &mut SqliteConnection, turn_id: TurnId) -> Outcome<Vec<InboxMessage>> {
    let rows: Vec<(i64, String)> = sqlx::query_as(
        "SELECT ordinal, blocks FROM inbox WHERE turn_id = ? AND message_id IS NULL ORDER BY ordinal",
    )
    .bind(turn_id.0)
    .fetch_all(tx)
    .await?;
    rows.into_iter().map(|(ordinal, blocks)| waiting(turn_id.0, ordinal, &blocks)).collect()
}

/// The messages that cannot be read, delivered ones included, and why.
pub(crate) async fn unreadable(pool: &SqlitePool) -> Outcome<Vec<String>> {
    let mut unreadable = Vec::new();
    let mut rows = sqlx::query_as::<_, (i64, i64, String)>(
        "SELECT turn_id, ordinal, blocks FROM inbox ORDER BY turn_id, ordinal",
    )
    .fetch(pool);
    while let Some((turn_id, ordinal, blocks)) = rows.try_next().await? {
        if let Err(fault) = waiting(turn_id, ordinal, &blocks) {
            unreadable.push(fault.of_row());
        }
    }
    Ok(unreadable)
}

fn waiting(turn_id: i64, ordinal: i64, blocks: &str) -> Outcome<InboxMessage> {
    let name = format!("message {ordinal} of the inbox of turn {turn_id}");
    Ok(InboxMessage {
        ordinal: narrowed(&name, ordinal)?,
        blocks: record::decode_blocks(blocks).map_err(|error| Fault::record(&name, error))?,
    })
}
