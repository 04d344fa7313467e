//! Turns as they are read: one by its identity, and those whose process died, with everything
//! that closing them needs.

use colloquy::{
    ports::{OpenTurn, Principal, StoreError, Take, TurnRow},
    record,
};
use colloquy_core::message::{ConversationId, LlmId, MessageId, TimeMs, TurnId, Uid};
use sqlx::{FromRow, SqliteConnection};

use crate::{
    SqliteStore, events,
    fault::{Fault, Outcome},
    inbox, messages, narrowed, tool_runs, uid,
};

/// Until the commit counts them, the last event is the last one that was flushed.
macro_rules! turn_columns {
    () => {
        "t.id, t.uid, t.conversation_id, t.question_id, t.state, t.outcome, t.error, t.created_at, t.ended_at,
         max(t.last_seq,
             coalesce((SELECT max(e.last_seq) FROM turn_events e WHERE e.turn_id = t.id), 0)) AS last_seq"
    };
}

#[derive(FromRow)]
struct Row {
    id: i64,
    uid: Vec<u8>,
    conversation_id: i64,
    question_id: Option<i64>,
    state: String,
    outcome: Option<String>,
    error: Option<String>,
    created_at: i64,
    ended_at: Option<i64>,
    last_seq: i64,
}

#[derive(FromRow)]
struct OpenRow {
    #[sqlx(flatten)]
    turn: Row,
    principal: String,
    llm_id: Option<i64>,
    fence: i64,
    expires_at: i64,
    tip_id: Option<i64>,
}

pub(crate) async fn find(
    store: &SqliteStore,
    principal: &Principal,
    id: ConversationId,
    turn_uid: Uid,
) -> Outcome<Option<TurnRow>> {
    let row: Option<Row> = sqlx::query_as(concat!(
        "SELECT ",
        turn_columns!(),
        " FROM turns t JOIN conversations c ON c.id = t.conversation_id
         WHERE t.uid = ? AND c.id = ? AND c.principal = ?"
    ))
    .bind(turn_uid.0.as_slice())
    .bind(id.0)
    .bind(&principal.0)
    .fetch_optional(&store.readers)
    .await?;
    row.map(turn).transpose()
}

/// A turn that cannot be read is left as it is, with a warning: it must not keep the others from
/// being closed, and this version must not append below it.
pub(crate) async fn list(store: &SqliteStore, now: TimeMs) -> Outcome<Vec<OpenTurn>> {
    let mut tx = store.begin_read().await?;
    let rows: Vec<OpenRow> = sqlx::query_as(concat!(
        "SELECT ",
        turn_columns!(),
        ", c.principal, t.llm_id, c.tip_id, coalesce(l.fence, 0) AS fence,
             coalesce(l.expires_at, 0) AS expires_at
         FROM turns t JOIN conversations c ON c.id = t.conversation_id
         LEFT JOIN leases l ON l.conversation_id = c.id
         WHERE t.state <> 'over' AND (l.expires_at IS NULL OR l.expires_at <= ?)
         ORDER BY t.id"
    ))
    .bind(now)
    .fetch_all(&mut *tx)
    .await?;
    let mut open = Vec::with_capacity(rows.len());
    for row in rows {
        let turn_id = row.turn.id;
        match open_turn(&mut tx, row).await {
            Ok(turn) => open.push(turn),
            Err(fault) if fault.is_of_one_row() => {
                let error = StoreError::from(fault);
                let error = &error as &dyn std::error::Error;
                tracing::warn!(turn_id, error, "left a turn open that cannot be read");
            }
            Err(fault) => return Err(fault),
        }
    }
    Ok(open)
}

async fn open_turn(tx: &mut SqliteConnection, row: OpenRow) -> Outcome<OpenTurn> {
    let turn = turn(row.turn)?;
    Ok(OpenTurn {
        principal: Principal(row.principal),
        take: Take::IfStill { turn_id: turn.id, fence: row.fence, expires_at: row.expires_at },
        llm_id: row.llm_id.map(LlmId),
        messages: messages::branch(tx, row.tip_id).await?,
        tool_runs: tool_runs::of_turn(tx, turn.id).await?,
        inbox: inbox::undelivered(tx, turn.id).await?,
        events: events::of_turn(tx, turn.id).await?,
        turn,
    })
}

fn turn(row: Row) -> Outcome<TurnRow> {
    let name = format!("turn {}", row.id);
    let in_row = |error| Fault::record(&name, error);
    Ok(TurnRow {
        id: TurnId(row.id),
        uid: uid(&name, &row.uid)?,
        conversation_id: ConversationId(row.conversation_id),
        question_id: row.question_id.map(MessageId),
        state: record::turn_state_from_name(&row.state).map_err(in_row)?,
        outcome: row.outcome.as_deref().map(record::decode_outcome).transpose().map_err(in_row)?,
        error: row.error.as_deref().map(record::decode_error).transpose().map_err(in_row)?,
        last_seq: narrowed(&name, row.last_seq)?,
        created_at: row.created_at,
        ended_at: row.ended_at,
    })
}
