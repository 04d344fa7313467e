//! Conversations: creating, listing, changing, moving the tip, and deleting for good.

use colloquy::{
    ports::{ConversationPatch, ConversationRow, NewConversation, Page, Principal},
    record,
};
use colloquy_core::message::{ConversationId, LlmId, MessageId, TimeMs, TurnId};
use sqlx::{FromRow, SqliteConnection};

use crate::{
    SqliteStore,
    fault::{Fault, Outcome},
    open, uid,
};

macro_rules! columns {
    () => {
        "id, uid, llm_id, tip_id, version, created_at, last_message_at, name, settings"
    };
}

#[derive(FromRow)]
struct Row {
    id: i64,
    uid: Vec<u8>,
    llm_id: Option<i64>,
    tip_id: Option<i64>,
    version: i64,
    created_at: i64,
    last_message_at: i64,
    name: String,
    settings: String,
}

/// The tables that hold a part of a conversation, in an order in which each can be emptied of it:
/// what refers comes before what is referred to.
const DELETIONS: [&str; 13] = [
    "DELETE FROM turn_events WHERE turn_id IN (SELECT id FROM turns WHERE conversation_id = ?1)",
    "DELETE FROM tool_runs WHERE turn_id IN (SELECT id FROM turns WHERE conversation_id = ?1)",
    "DELETE FROM inbox WHERE turn_id IN (SELECT id FROM turns WHERE conversation_id = ?1)",
    "DELETE FROM attachments WHERE message_id IN (SELECT id FROM messages WHERE conversation_id = ?1)",
    "DELETE FROM stars WHERE message_id IN (SELECT id FROM messages WHERE conversation_id = ?1)",
    "DELETE FROM artifacts WHERE conversation_id = ?1",
    "DELETE FROM compactions WHERE conversation_id = ?1",
    "DELETE FROM versions WHERE conversation_id = ?1",
    "DELETE FROM messages WHERE conversation_id = ?1",
    "DELETE FROM turns WHERE conversation_id = ?1",
    "DELETE FROM conversation_heads WHERE conversation_id = ?1",
    // With the lease goes every right to write: a late write finds no fence to match.
    "DELETE FROM leases WHERE conversation_id = ?1",
    "DELETE FROM conversations WHERE id = ?1",
];

/// The bytes that only this conversation refers to, of the same principal. Comes first: it asks
/// the attachments and artifacts that are deleted next.
const BLOB_DELETION: &str = "
    DELETE FROM blobs WHERE principal = ?2
    AND sha256 IN (
        SELECT a.sha256 FROM attachments a JOIN messages m ON m.id = a.message_id
        WHERE m.conversation_id = ?1
        UNION ALL
        SELECT a.text_sha256 FROM attachments a JOIN messages m ON m.id = a.message_id
        WHERE m.conversation_id = ?1 AND a.text_sha256 IS NOT NULL
        UNION ALL
        SELECT sha256 FROM artifacts WHERE conversation_id = ?1)
    AND NOT EXISTS (
        SELECT 1 FROM attachments a JOIN messages m ON m.id = a.message_id
        JOIN conversations c ON c.id = m.conversation_id
        WHERE (a.sha256 = blobs.sha256 OR a.text_sha256 = blobs.sha256)
        AND c.principal = ?2 AND c.id <> ?1)
    AND NOT EXISTS (
        SELECT 1 FROM artifacts f JOIN conversations c ON c.id = f.conversation_id
        WHERE f.sha256 = blobs.sha256 AND c.principal = ?2 AND c.id <> ?1)";

/// The bound on ids and the number of rows that a page stands for in SQL.
pub(crate) fn bounds(page: Page) -> (i64, i64) {
    (page.before.unwrap_or(i64::MAX), page.limit.map_or(-1, i64::from))
}

pub(crate) async fn create(
    store: &SqliteStore,
    principal: &Principal,
    new: NewConversation,
) -> Outcome<ConversationRow> {
    // A model that went away since the caller looked leaves the conversation unbound, as it would
    // have a moment later.
    let row: Row = sqlx::query_as(concat!(
        "INSERT INTO conversations
             (uid, principal, llm_id, version, created_at, last_message_at, name, settings)
         VALUES (?1, ?2, (SELECT id FROM llms WHERE id = ?3 AND principal = ?2), 0, ?4, ?4, ?5, ?6)
         RETURNING ",
        columns!()
    ))
    .bind(new.uid.0.as_slice())
    .bind(&principal.0)
    .bind(new.llm_id.map(|id| id.0))
    .bind(new.created_at)
    .bind(&new.name)
    .bind(record::encode_settings(&new.settings))
    .fetch_one(&store.durable)
    .await?;
    conversation(row)
}

pub(crate) async fn find(
    store: &SqliteStore,
    principal: &Principal,
    id: ConversationId,
) -> Outcome<Option<ConversationRow>> {
    let row: Option<Row> =
        sqlx::query_as(concat!("SELECT ", columns!(), " FROM conversations WHERE id = ? AND principal = ?"))
            .bind(id.0)
            .bind(&principal.0)
            .fetch_optional(&store.readers)
            .await?;
    row.map(conversation).transpose()
}

pub(crate) async fn exists(
    tx: &mut SqliteConnection,
    principal: &Principal,
    id: ConversationId,
) -> Outcome<bool> {
    let found: Option<i64> =
        sqlx::query_scalar("SELECT id FROM conversations WHERE id = ? AND principal = ?")
            .bind(id.0)
            .bind(&principal.0)
            .fetch_optional(tx)
            .await?;
    Ok(found.is_some())
}

pub(crate) async fn list(
    store: &SqliteStore,
    principal: &Principal,
    page: Page,
) -> Outcome<Vec<ConversationRow>> {
    let (before, limit) = bounds(page);
    let rows: Vec<Row> = sqlx::query_as(concat!(
        "SELECT ",
        columns!(),
        " FROM conversations WHERE principal = ? AND id < ? ORDER BY id DESC LIMIT ?"
    ))
    .bind(&principal.0)
    .bind(before)
    .bind(limit)
    .fetch_all(&store.readers)
    .await?;
    rows.into_iter().map(conversation).collect()
}

pub(crate) async fn update(
    store: &SqliteStore,
    principal: &Principal,
    id: ConversationId,
    patch: ConversationPatch,
) -> Outcome<Option<ConversationRow>> {
    let mut tx = store.begin_durable().await?;
    let stored: Option<String> =
        sqlx::query_scalar("SELECT settings FROM conversations WHERE id = ? AND principal = ?")
            .bind(id.0)
            .bind(&principal.0)
            .fetch_optional(&mut *tx)
            .await?;
    let Some(stored) = stored else { return Ok(None) };
    let settings = patch.settings.over(
        record::decode_settings(&stored)
            .map_err(|error| Fault::record(&format!("conversation {}", id.0), error))?,
    );
    let row: Row = sqlx::query_as(concat!(
        "UPDATE conversations SET
             name = coalesce(?3, name),
             llm_id = iif(?4 IS NULL, llm_id, (SELECT id FROM llms WHERE id = ?4 AND principal = ?2)),
             settings = ?5
         WHERE id = ?1 AND principal = ?2
         RETURNING ",
        columns!()
    ))
    .bind(id.0)
    .bind(&principal.0)
    .bind(patch.name)
    .bind(patch.llm_id.map(|id| id.0))
    .bind(record::encode_settings(&settings))
    .fetch_one(&mut *tx)
    .await?;
    tx.commit().await?;
    conversation(row).map(Some)
}

/// Moves the tip and counts the version. Gives the version.
pub(crate) async fn advance(
    tx: &mut SqliteConnection,
    id: ConversationId,
    turn_id: TurnId,
    tip_id: MessageId,
    at: TimeMs,
) -> Outcome<i64> {
    let version = sqlx::query_scalar(
        "UPDATE conversations SET tip_id = ?2, version = version + 1,
             last_message_at = iif(tip_id IS ?2, last_message_at, ?3)
         WHERE id = ?1 RETURNING version",
    )
    .bind(id.0)
    .bind(tip_id.0)
    .bind(at)
    .fetch_one(&mut *tx)
    .await?;
    sqlx::query(
        "INSERT INTO versions (conversation_id, version, tip_id, cause, turn_id, at)
         VALUES (?, ?, ?, 'turn', ?, ?)",
    )
    .bind(id.0)
    .bind(version)
    .bind(tip_id.0)
    .bind(turn_id.0)
    .bind(at)
    .execute(tx)
    .await?;
    Ok(version)
}

pub(crate) async fn delete(store: &SqliteStore, principal: &Principal, id: ConversationId) -> Outcome<bool> {
    let mut tx = store.begin_durable().await?;
    if !exists(&mut tx, principal, id).await? {
        return Ok(false);
    }
    sqlx::query(BLOB_DELETION).bind(id.0).bind(&principal.0).execute(&mut *tx).await?;
    for deletion in DELETIONS {
        sqlx::query(deletion).bind(id.0).execute(&mut *tx).await?;
    }
    tx.commit().await?;
    // The conversation is gone whatever becomes of the log; the next start folds it as well.
    if let Err(fault) = open::fold_log(&store.durable).await {
        let error = colloquy::ports::StoreError::from(fault);
        tracing::warn!(error = &error as &dyn std::error::Error, "failed to truncate the write-ahead log");
    }
    Ok(true)
}

fn conversation(row: Row) -> Outcome<ConversationRow> {
    let name = format!("conversation {}", row.id);
    Ok(ConversationRow {
        id: ConversationId(row.id),
        uid: uid(&name, &row.uid)?,
        llm_id: row.llm_id.map(LlmId),
        settings: record::decode_settings(&row.settings).map_err(|error| Fault::record(&name, error))?,
        name: row.name,
        tip_id: row.tip_id.map(MessageId),
        version: row.version,
        created_at: row.created_at,
        last_message_at: row.last_message_at,
    })
}
