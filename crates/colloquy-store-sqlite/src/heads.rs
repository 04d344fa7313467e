//! The head of a conversation: one row, rewritten only when its bytes change.

use colloquy::{
    ports::{Principal, StoredHead},
    record::{self, HeadColumns},
};
use colloquy_core::message::ConversationId;
use sqlx::SqliteConnection;

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
    let columns = HeadColumns { objective, palette, seat };
    let decoded = record::decode_head(&columns);
    decoded.map(Some).map_err(|error| Fault::record(&format!("the head of conversation {}", id.0), error))
}
