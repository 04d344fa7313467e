//! The commits of a turn (design § 3, 3): (a) its question, (b) and (c) its steps, (d) its end.
//!
//! Each is one transaction that checks the fence before it touches a row, and each writes only
//! what it adds: nothing here reads or rewrites more of a branch than its tip.

use colloquy::{
    ports::{
        AppendedQuestion, Commit, Committed, Lease, NewMessage, Principal, Question, StepCommit, StoreError,
    },
    record,
};
use colloquy_core::message::{ConversationId, Kind, Message, MessageId, TurnId};
use sqlx::SqliteConnection;

use crate::{
    SqliteStore, artifacts, conversations, events,
    fault::Outcome,
    heads, inbox, leases,
    messages::{self, Place, Tip},
    stored,
};

pub(crate) async fn append_question(
    store: &SqliteStore,
    principal: &Principal,
    id: ConversationId,
    question: Question,
) -> Outcome<AppendedQuestion> {
    let mut tx = store.begin_durable().await?;
    let below = messages::tip(&mut tx, principal, id).await?.ok_or(StoreError::NoSuchConversation)?;
    let expires_at = question.at.saturating_add(question.lease_ms);
    let lease = leases::acquire(&mut tx, id, question.holder, question.at, expires_at).await?;
    // Refused by the index while a turn runs, or was running when its process died: that one is
    // closed before anything else is appended.
    let turn_id = match insert_turn(&mut tx, &lease, &question).await {
        Err(fault) if fault.is_turn_in_progress() => return Err(leases::in_progress(&mut tx, id).await?),
        inserted => inserted?,
    };
    refuse_stale(below, question.base_id)?;
    artifacts::save(&mut tx, principal, id, &question.artifacts).await?;
    if let Some(head) = &question.head {
        heads::save(&mut tx, id, head).await?;
    }
    let place = Place { conversation_id: id, turn_id, below, at: question.at };
    let asked = NewMessage {
        app_authored: question.app_authored,
        ..NewMessage::new(question.message_uid, 0, Kind::Question, question.blocks)
    };
    let mut before = append(&mut tx, place, question.before.into_iter().chain([asked])).await?;
    let message = before.pop().expect("BUG: the question itself was appended");
    sqlx::query("UPDATE turns SET question_id = ? WHERE id = ?")
        .bind(message.id.0)
        .bind(turn_id.0)
        .execute(&mut *tx)
        .await?;
    let version = conversations::advance(&mut tx, id, turn_id, message.id, question.at).await?;
    tx.commit().await?;
    Ok(AppendedQuestion { lease, turn_id, before, message, version })
}

pub(crate) async fn append_step(
    store: &SqliteStore,
    principal: &Principal,
    lease: &Lease,
    step: StepCommit,
) -> Outcome<Vec<Message>> {
    let StepCommit { turn_id, parent_id, messages: new, at } = step;
    let mut tx = store.begin_durable().await?;
    leases::check(&mut tx, principal, lease).await?;
    check_running(&mut tx, lease, turn_id).await?;
    let below = tip_at(&mut tx, principal, lease, parent_id).await?;
    let place = Place { conversation_id: lease.conversation_id, turn_id, below, at };
    let appended = append(&mut tx, place, new).await?;
    let tip_id = appended.last().map_or(parent_id, |message| message.id);
    conversations::advance(&mut tx, lease.conversation_id, turn_id, tip_id, at).await?;
    tx.commit().await?;
    Ok(appended)
}

/// Appends messages one below the other, and notes which of the inbox they deliver.
async fn append(
    tx: &mut SqliteConnection,
    mut place: Place,
    new: impl IntoIterator<Item = NewMessage>,
) -> Outcome<Vec<Message>> {
    let mut appended = Vec::new();
    for message in new {
        let ordinal = message.inbox_ordinal;
        let message = messages::insert(tx, place, message).await?;
        if let Some(ordinal) = ordinal {
            inbox::deliver(tx, place.turn_id, ordinal, message.id).await?;
        }
        place.below = Some(Tip { id: message.id, depth: message.depth });
        appended.push(message);
    }
    Ok(appended)
}

pub(crate) async fn commit(
    store: &SqliteStore,
    principal: &Principal,
    lease: &Lease,
    commit: Commit,
) -> Outcome<Committed> {
    let Commit { turn_id, parent_id, messages: new, outcome, error, tail, first_seq, last_seq, at } = commit;
    let mut tx = store.begin_durable().await?;
    leases::check(&mut tx, principal, lease).await?;
    check_running(&mut tx, lease, turn_id).await?;
    let below = tip_at(&mut tx, principal, lease, parent_id).await?;
    let place = Place { conversation_id: lease.conversation_id, turn_id, below, at };
    let committed = append(&mut tx, place, new).await?;
    events::append(&mut tx, turn_id, first_seq, &tail).await?;
    // What was started and never finished will not be: its process is done with it.
    sqlx::query(
        "UPDATE tool_runs SET state = 'interrupted', finished_at = ? WHERE turn_id = ? AND state = 'started'",
    )
    .bind(at)
    .bind(turn_id.0)
    .execute(&mut *tx)
    .await?;
    sqlx::query(
        "UPDATE turns SET state = 'over', outcome = ?, error = ?, last_seq = ?, ended_at = ? WHERE id = ?",
    )
    .bind(record::encode_outcome(outcome))
    .bind(error.as_ref().map(record::encode_error))
    .bind(stored(last_seq)?)
    .bind(at)
    .bind(turn_id.0)
    .execute(&mut *tx)
    .await?;
    let tip_id = committed.last().map_or(parent_id, |message| message.id);
    let version = conversations::advance(&mut tx, lease.conversation_id, turn_id, tip_id, at).await?;
    leases::release(&mut tx, lease).await?;
    tx.commit().await?;
    Ok(Committed { messages: committed, version })
}

/// Refuses a write for a turn that has ended, or that the lease does not cover.
pub(crate) async fn check_running(tx: &mut SqliteConnection, lease: &Lease, turn_id: TurnId) -> Outcome<()> {
    let running: Option<i64> =
        sqlx::query_scalar("SELECT id FROM turns WHERE id = ? AND conversation_id = ? AND state = 'running'")
            .bind(turn_id.0)
            .bind(lease.conversation_id.0)
            .fetch_optional(tx)
            .await?;
    running.map(drop).ok_or(StoreError::StaleOwner.into())
}

/// The tip, which has to be the parent that the caller means.
async fn tip_at(
    tx: &mut SqliteConnection,
    principal: &Principal,
    lease: &Lease,
    parent_id: MessageId,
) -> Outcome<Option<Tip>> {
    let tip =
        messages::tip(tx, principal, lease.conversation_id).await?.ok_or(StoreError::NoSuchConversation)?;
    refuse_stale(tip, Some(parent_id))?;
    Ok(tip)
}

fn refuse_stale(tip: Option<Tip>, base_id: Option<MessageId>) -> Outcome<()> {
    let tip_id = tip.map(|tip| tip.id);
    if tip_id == base_id { Ok(()) } else { Err(StoreError::StaleParent { tip_id }.into()) }
}

async fn insert_turn(tx: &mut SqliteConnection, lease: &Lease, question: &Question) -> Outcome<TurnId> {
    let id = sqlx::query_scalar(
        "INSERT INTO turns (uid, conversation_id, base_id, state, fence, llm_id, last_seq,
                            created_at, started_at, request)
         VALUES (?, ?, ?, 'running', ?, ?, 0, ?, ?, ?) RETURNING id",
    )
    .bind(question.turn_uid.0.as_slice())
    .bind(lease.conversation_id.0)
    .bind(question.base_id.map(|id| id.0))
    .bind(lease.fence)
    .bind(question.llm_id.map(|id| id.0))
    .bind(question.at)
    .bind(question.at)
    .bind(&question.request)
    .fetch_one(tx)
    .await?;
    Ok(TurnId(id))
}
