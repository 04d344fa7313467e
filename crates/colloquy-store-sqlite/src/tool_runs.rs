//! Tool runs: written before a tool starts and the moment it ends, so that no tool of a committed
//! step runs twice.

use colloquy::{
    ports::{Lease, Principal, ToolRun},
    record,
};
use colloquy_core::{artifact::Artifact, message::TurnId};
use sqlx::{FromRow, SqliteConnection};

use crate::{
    SqliteStore, artifacts,
    fault::{Fault, Outcome},
    leases, narrowed, turns,
};

#[derive(FromRow)]
struct Row {
    step: i64,
    call_id: String,
    name: String,
    state: String,
    is_error: bool,
    started_at: i64,
    finished_at: Option<i64>,
    input: String,
    result: Option<String>,
}

pub(crate) async fn start(
    store: &SqliteStore,
    principal: &Principal,
    lease: &Lease,
    runs: Vec<ToolRun>,
) -> Outcome<()> {
    let mut tx = store.begin_relaxed().await?;
    leases::check(&mut tx, principal, lease).await?;
    for run in &runs {
        turns::check_running(&mut tx, lease, run.turn_id).await?;
        upsert(&mut tx, run).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Durable, unlike the start: a result that is lost means that the tool runs again.
pub(crate) async fn finish(
    store: &SqliteStore,
    principal: &Principal,
    lease: &Lease,
    run: ToolRun,
    artifacts: Vec<Artifact>,
) -> Outcome<()> {
    let mut tx = store.begin_durable().await?;
    leases::check(&mut tx, principal, lease).await?;
    turns::check_running(&mut tx, lease, run.turn_id).await?;
    artifacts::save(&mut tx, principal, lease.conversation_id, &artifacts).await?;
    upsert(&mut tx, &run).await?;
    tx.commit().await?;
    Ok(())
}

/// The runs of a turn, in order of step and call.
pub(crate) async fn of_turn(tx: &mut SqliteConnection, turn_id: TurnId) -> Outcome<Vec<ToolRun>> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT step, call_id, name, state, is_error, started_at, finished_at, input, result
         FROM tool_runs WHERE turn_id = ? ORDER BY step, call_id",
    )
    .bind(turn_id.0)
    .fetch_all(tx)
    .await?;
    rows.into_iter().map(|row| tool_run(turn_id, row)).collect()
}

/// A run that has ended stays as it ended: a start that is repeated after its answer was lost
/// changes nothing.
async fn upsert(tx: &mut SqliteConnection, run: &ToolRun) -> Outcome<()> {
    sqlx::query(
        "INSERT INTO tool_runs (turn_id, step, call_id, name, state, is_error, started_at, finished_at,
                                input, result)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (turn_id, step, call_id) DO UPDATE SET
             state = excluded.state, is_error = excluded.is_error,
             finished_at = excluded.finished_at, result = excluded.result
         WHERE tool_runs.state = 'started'",
    )
    .bind(run.turn_id.0)
    .bind(run.step)
    .bind(&run.call_id)
    .bind(&run.name)
    .bind(record::tool_run_state_name(run.state))
    .bind(run.is_error)
    .bind(run.started_at)
    .bind(run.finished_at)
    .bind(&run.input)
    .bind(&run.result)
    .execute(tx)
    .await?;
    Ok(())
}

fn tool_run(turn_id: TurnId, row: Row) -> Outcome<ToolRun> {
    let name = format!("a tool run of turn {}", turn_id.0);
    Ok(ToolRun {
        turn_id,
        step: narrowed(&name, row.step)?,
        call_id: row.call_id,
        name: row.name,
        input: row.input,
        state: record::tool_run_state_from_name(&row.state).map_err(|error| Fault::record(&name, error))?,
        result: row.result,
        is_error: row.is_error,
        started_at: row.started_at,
        finished_at: row.finished_at,
    })
}
