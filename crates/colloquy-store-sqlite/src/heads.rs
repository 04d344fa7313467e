//! The head of a conversation: one row, rewritten only when its bytes change.

use colloquy::{
    ports::{Principal, StoredHead},
    record::{self, HeadColumns},
};
use colloquy_core::message::ConversationId;
use futures::TryStreamExt;
use sqlx::{SqliteConnection, SqlitePool};

use crate::{
    SqliteStore,
    fault::{Fault, Outcome},
};

/// Stores a head in the place of the one before. The caller has checked the fence.
pub(crate) async fn save(tx: &mut SqliteConnection, id: ConversationId, head: &StoredHead) -> Outcome<()> {
    let HeadColumns { objective, palette, seat } = record::encode_head(head);
    sqlx::query(
        "INSERT INTO conversation_heads (conversation_id, seat, objective, palette) VALUES (?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET
             seat = excluded.seat, objective = excluded.objective, palette = excluded.palette",
    )
    .bind(id.0)
    .bind(seat)
    .bind(objective)
    .bind(palette)
    .execute(tx)
    .await?;
    Ok(())
}

pub(crate) async fn load(
    store: &SqliteStore,
    principal: &Principal,
    id: ConversationId,
) -> Outcome<Option<StoredHead>> {
    let row: Option<(String, String, String)> = sqlx::query_as(
        "SELECT h.objective, h.palette, h.seat FROM conversation_heads h
         JOIN conversations c ON c.id = h.conversation_id
         WHERE h.conversation_id = ? AND c.principal = ?",
    )
    .bind(id.0)
    .bind(&principal.0)
    .fetch_optional(&store.readers)
    .await?;
    let Some((objective, palette, seat)) = row else { return Ok(None) };
    decode(id.0, HeadColumns { objective, palette, seat }).map(Some)
}

/// The heads that cannot be read, and why.
pub(crate) async fn unreadable(pool: &SqlitePool) -> Outcome<Vec<String>> {
    let mut unreadable = Vec::new();
    let mut rows = sqlx::query_as::<_, (i64, String, String, String)>(
        "SELECT conversation_id, objective, palette, seat FROM conversation_heads ORDER BY conversation_id",
    )
    .fetch(pool);
    while let Some((id, objective, palette, seat)) = rows.try_next().await? {
        if let Err(fault) = decode(id, HeadColumns { objective, palette, seat }) {
            unreadable.push(fault.of_row());
        }
    }
    Ok(unreadable)
}

fn decode(id: i64, columns: HeadColumns) -> Outcome<StoredHead> {
    record::decode_head(&columns)
        .map_err(|error| Fault::record(&format!("the head of conversation {id}"), error))
}
