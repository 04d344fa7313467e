//! Messages: the rows of the tree, and the branches that are read out of it.
//!
//! A branch is read by one recursive walk up from its tip, whatever its depth, and a page of it
//! with everything around its messages by one query.

use colloquy::{
    ports::{NewMessage, Page, Principal, StoredMessage, View},
    record,
};
use colloquy_core::message::{ConversationId, Message, MessageId, TimeMs, TurnId, text_of};
use futures::TryStreamExt;
use sqlx::{FromRow, SqliteConnection, SqlitePool};

use crate::{
    SqliteStore, conversations,
    fault::{Fault, Outcome},
    narrowed, uid,
};

macro_rules! message_columns {
    () => {
        "m.id, m.uid, m.parent_id, m.depth, m.turn_id, m.step, m.role, m.kind, m.app_authored,
         m.compactable, m.created_at, m.redacted_at, m.origin, m.usage, m.blocks"
    };
}

/// A message with what lists show around it; `$from` names the message `m`.
macro_rules! select_stored {
    ($with:literal, $from:literal, $rest:literal) => {
        concat!(
            $with,
            " SELECT ",
            message_columns!(),
            ", m.conversation_id, s.message_id IS NOT NULL AS starred,
             t.uid AS turn_uid, t.outcome, t.error,
             iif(m.parent_id IS NULL,
                 (SELECT group_concat(b.id) FROM messages b
                  WHERE b.conversation_id = m.conversation_id AND b.depth = 0 AND b.redacted_at IS NULL),
                 (SELECT group_concat(b.id) FROM messages b
                  WHERE b.parent_id = m.parent_id AND b.redacted_at IS NULL)) AS siblings ",
            $from,
            " JOIN turns t ON t.id = m.turn_id LEFT JOIN stars s ON s.message_id = m.id ",
            $rest
        )
    };
}

/// A row of the table.
#[derive(FromRow)]
pub(crate) struct MessageRow {
    id: i64,
    uid: Vec<u8>,
    parent_id: Option<i64>,
    depth: i64,
    turn_id: i64,
    step: i64,
    role: String,
    kind: String,
    app_authored: bool,
    compactable: bool,
    created_at: i64,
    redacted_at: Option<i64>,
    origin: Option<String>,
    usage: Option<String>,
    blocks: String,
}

#[derive(FromRow)]
struct StoredRow {
    #[sqlx(flatten)]
    message: MessageRow,
    conversation_id: i64,
    starred: bool,
    turn_uid: Vec<u8>,
    outcome: Option<String>,
    error: Option<String>,
    siblings: Option<String>,
}

#[derive(FromRow)]
struct ViewRow {
    #[sqlx(flatten)]
    message: MessageRow,
    starred: bool,
}

/// The last message of a branch, as far as appending below it needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tip {
    pub(crate) id: MessageId,
    pub(crate) depth: u32,
}

/// Where a message is appended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) conversation_id: ConversationId,
    pub(crate) turn_id: TurnId,
    pub(crate) below: Option<Tip>,
    pub(crate) at: TimeMs,
}

/// The tip of a conversation; outer `None` when there is no such conversation. Fails where this
/// version cannot read the tip: nothing is appended below what it does not understand.
pub(crate) async fn tip(
    tx: &mut SqliteConnection,
    principal: &Principal,
    id: ConversationId,
) -> Outcome<Option<Option<Tip>>> {
    let row: Option<(Option<i64>, Option<i64>, Option<String>)> = sqlx::query_as(
        "SELECT c.tip_id, m.depth, m.blocks FROM conversations c LEFT JOIN messages m ON m.id = c.tip_id
         WHERE c.id = ? AND c.principal = ?",
    )
    .bind(id.0)
    .bind(&principal.0)
    .fetch_optional(tx)
    .await?;
    let Some((tip_id, depth, blocks)) = row else { return Ok(None) };
    let Some(tip_id) = tip_id else { return Ok(Some(None)) };
    let name = format!("message {tip_id}");
    let (Some(depth), Some(blocks)) = (depth, blocks) else {
        return Err(Fault::corrupt(format!("{name} is a tip and does not exist")));
    };
    record::decode_blocks(&blocks).map_err(|error| Fault::record(&name, error))?;
    Ok(Some(Some(Tip { id: MessageId(tip_id), depth: narrowed(&name, depth)? })))
}

/// Appends one message. The caller has checked the fence.
pub(crate) async fn insert(tx: &mut SqliteConnection, place: Place, new: NewMessage) -> Outcome<Message> {
    let depth = place.below.map_or(0, |tip| tip.depth.saturating_add(1));
    let parent_id = place.below.map(|tip| tip.id);
    let id = sqlx::query_scalar(
        "INSERT INTO messages (uid, conversation_id, parent_id, depth, turn_id, step, role, kind,
                               app_authored, compactable, created_at, origin, usage, blocks)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
    )
    .bind(new.uid.0.as_slice())
    .bind(place.conversation_id.0)
    .bind(parent_id.map(|id| id.0))
    .bind(depth)
    .bind(place.turn_id.0)
    .bind(new.step)
    .bind(record::role_name(new.kind.role()))
    .bind(record::kind_name(new.kind))
    .bind(new.app_authored)
    .bind(new.compactable)
    .bind(place.at)
    .bind(new.origin.as_ref().map(record::encode_origin))
    .bind(record::encode_usage(new.usage, new.finish_reason))
    .bind(record::encode_blocks(&new.blocks))
    .fetch_one(tx)
    .await?;
    Ok(Message {
        id: MessageId(id),
        uid: new.uid,
        parent_id,
        depth,
        turn_id: place.turn_id,
        step: new.step,
        kind: new.kind,
        app_authored: new.app_authored,
        compactable: new.compactable,
        blocks: new.blocks,
        origin: new.origin,
        usage: new.usage,
        finish_reason: new.finish_reason,
        created_at: place.at,
        redacted_at: None,
    })
}

/// Which rows of a branch are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    /// What people are shown: not what the program asked or told the model itself.
    Shown,
    /// All of them.
    All,
}

pub(crate) async fn list(
    store: &SqliteStore,
    principal: &Principal,
    id: ConversationId,
    page: Page,
    wanted: Rows,
) -> Outcome<Option<Vec<StoredMessage>>> {
    let (before, limit) = conversations::bounds(page);
    let mut tx = store.begin_read().await?;
    let Some(tip_id) = tip_id(&mut tx, principal, id).await? else { return Ok(None) };
    // The walk stops as soon as the page is full. CROSS JOIN keeps it the outer loop.
    let rows: Vec<StoredRow> = sqlx::query_as(select_stored!(
        "WITH RECURSIVE branch (id, parent_id, redacted_at, app_authored, kind) AS (
             SELECT id, parent_id, redacted_at, app_authored, kind FROM messages WHERE id = ?1
             UNION ALL
             SELECT m.id, m.parent_id, m.redacted_at, m.app_authored, m.kind
             FROM branch CROSS JOIN messages m ON m.id = branch.parent_id
         ),
         page (id) AS (
             SELECT id FROM branch
             WHERE redacted_at IS NULL AND id < ?2
             AND (?4 OR NOT (kind = 'announcement' OR (app_authored AND kind IN ('question', 'steer'))))
             LIMIT ?3)",
        "FROM page CROSS JOIN messages m ON m.id = page.id",
        "ORDER BY m.depth"
    ))
    .bind(tip_id)
    .bind(before)
    .bind(limit)
    .bind(wanted == Rows::All)
    .fetch_all(&mut *tx)
    .await?;
    rows.into_iter().map(stored_message).collect::<Outcome<Vec<_>>>().map(Some)
}

pub(crate) async fn find(
    store: &SqliteStore,
    principal: &Principal,
    id: MessageId,
) -> Outcome<Option<(ConversationId, StoredMessage)>> {
    let row: Option<StoredRow> = sqlx::query_as(select_stored!(
        "",
        "FROM messages m JOIN conversations c ON c.id = m.conversation_id",
        "WHERE m.id = ? AND c.principal = ? AND m.redacted_at IS NULL"
    ))
    .bind(id.0)
    .bind(&principal.0)
    .fetch_optional(&store.readers)
    .await?;
    row.map(|row| Ok((ConversationId(row.conversation_id), stored_message(row)?))).transpose()
}

pub(crate) async fn view(
    store: &SqliteStore,
    principal: &Principal,
    id: ConversationId,
) -> Outcome<Option<View>> {
    let mut tx = store.begin_read().await?;
    let Some(tip_id) = tip_id(&mut tx, principal, id).await? else { return Ok(None) };
    let mut view = View { messages: Vec::new(), starred: Vec::new() };
    for row in branch_rows(&mut tx, tip_id).await? {
        let message = message(row.message)?;
        if message.redacted_at.is_some() {
            continue;
        }
        if row.starred {
            view.starred.push(text_of(&message.blocks));
        }
        view.messages.push(message);
    }
    Ok(Some(view))
}

/// The branch that ends in `tip_id`, first message first, redacted ones included.
pub(crate) async fn branch(tx: &mut SqliteConnection, tip_id: Option<i64>) -> Outcome<Vec<Message>> {
    branch_rows(tx, tip_id).await?.into_iter().map(|row| message(row.message)).collect()
}

/// The messages that cannot be read, on whatever branch, and why.
pub(crate) async fn unreadable(pool: &SqlitePool) -> Outcome<Vec<String>> {
    let mut unreadable = Vec::new();
    let query = concat!("SELECT ", message_columns!(), " FROM messages m ORDER BY m.id");
    let mut rows = sqlx::query_as::<_, MessageRow>(query).fetch(pool);
    while let Some(row) = rows.try_next().await? {
        if let Err(fault) = message(row) {
            unreadable.push(fault.of_row());
        }
    }
    Ok(unreadable)
}

pub(crate) async fn set_star(
    store: &SqliteStore,
    principal: &Principal,
    id: MessageId,
    starred_at: Option<TimeMs>,
) -> Outcome<Option<ConversationId>> {
    let mut tx = store.begin_durable().await?;
    let conversation_id: Option<i64> = sqlx::query_scalar(
        "SELECT m.conversation_id FROM messages m JOIN conversations c ON c.id = m.conversation_id
         WHERE m.id = ? AND c.principal = ? AND m.redacted_at IS NULL",
    )
    .bind(id.0)
    .bind(&principal.0)
    .fetch_optional(&mut *tx)
    .await?;
    let Some(conversation_id) = conversation_id else { return Ok(None) };
    match starred_at {
        Some(at) => {
            sqlx::query("INSERT INTO stars (message_id, starred_at) VALUES (?, ?) ON CONFLICT DO NOTHING")
                .bind(id.0)
                .bind(at)
                .execute(&mut *tx)
                .await?
        }
        None => sqlx::query("DELETE FROM stars WHERE message_id = ?").bind(id.0).execute(&mut *tx).await?,
    };
    tx.commit().await?;
    Ok(Some(ConversationId(conversation_id)))
}

/// The tip alone; outer `None` when there is no such conversation.
async fn tip_id(
    tx: &mut SqliteConnection,
    principal: &Principal,
    id: ConversationId,
) -> Outcome<Option<Option<i64>>> {
    Ok(sqlx::query_scalar("SELECT tip_id FROM conversations WHERE id = ? AND principal = ?")
        .bind(id.0)
        .bind(&principal.0)
        .fetch_optional(tx)
        .await?)
}

async fn branch_rows(tx: &mut SqliteConnection, tip_id: Option<i64>) -> Outcome<Vec<ViewRow>> {
    Ok(sqlx::query_as(concat!(
        "WITH RECURSIVE branch (id, parent_id) AS (
             SELECT id, parent_id FROM messages WHERE id = ?
             UNION ALL
             SELECT m.id, m.parent_id FROM branch CROSS JOIN messages m ON m.id = branch.parent_id
         )
         SELECT ",
        message_columns!(),
        ", s.message_id IS NOT NULL AS starred
         FROM branch CROSS JOIN messages m ON m.id = branch.id LEFT JOIN stars s ON s.message_id = m.id
         ORDER BY m.depth"
    ))
    .bind(tip_id)
    .fetch_all(tx)
    .await?)
}

fn stored_message(row: StoredRow) -> Outcome<StoredMessage> {
    let name = format!("the turn of message {}", row.message.id);
    let mut siblings = row
        .siblings
        .iter()
        .flat_map(|ids| ids.split(','))
        .map(|id| id.parse().map(MessageId))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| Fault::corrupt(format!("{name}: its siblings are not numbers")))?;
    siblings.sort_unstable();
    let in_row = |error| Fault::record(&name, error);
    Ok(StoredMessage {
        starred: row.starred,
        turn_uid: uid(&name, &row.turn_uid)?,
        outcome: row.outcome.as_deref().map(record::decode_outcome).transpose().map_err(in_row)?,
        error: row.error.as_deref().map(record::decode_error).transpose().map_err(in_row)?,
        siblings,
        message: message(row.message)?,
    })
}

fn message(row: MessageRow) -> Outcome<Message> {
    let name = format!("message {}", row.id);
    let in_row = |error| Fault::record(&name, error);
    let kind = record::kind_from_name(&row.kind).map_err(in_row)?;
    record::check_role(kind, &row.role).map_err(in_row)?;
    let (usage, finish_reason) =
        row.usage.as_deref().map(record::decode_usage).transpose().map_err(in_row)?.unwrap_or_default();
    Ok(Message {
        id: MessageId(row.id),
        uid: uid(&name, &row.uid)?,
        parent_id: row.parent_id.map(MessageId),
        depth: narrowed(&name, row.depth)?,
        turn_id: TurnId(row.turn_id),
        step: narrowed(&name, row.step)?,
        kind,
        app_authored: row.app_authored,
        compactable: row.compactable,
        blocks: record::decode_blocks(&row.blocks).map_err(in_row)?,
        origin: row.origin.as_deref().map(record::decode_origin).transpose().map_err(in_row)?,
        usage,
        finish_reason,
        created_at: row.created_at,
        redacted_at: row.redacted_at,
    })
}
