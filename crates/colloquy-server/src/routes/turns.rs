//! Asking, stopping, and looking a turn up. The first file on the path of a turn.

use axum::{
    Json,
    extract::State,
    http::{HeaderName, header},
    response::{IntoResponse, Response},
};

use crate::{
    api::{
        query,
        turn::{StopResponse, TurnResponse},
        uid,
    },
    app::App,
    body::JsonBody,
    ndjson,
    params::PathParams,
    problem::{Code, Problem},
};

/// The status line goes out once question and turn are durable; from then on only events.
pub(crate) async fn query(
    State(app): State<App>,
    path: PathParams,
    JsonBody(fields): JsonBody,
) -> Result<Response, Problem> {
    let id = path.conversation_id()?;
    let ask = query::ask(fields)?;
    let turn = app.colloquy.start_turn(&app.principal, id, ask).await;
    let turn = turn.map_err(|error| Problem::of_ask(id, error))?;
    let headers = [
        (header::CONTENT_TYPE, "application/x-ndjson".to_owned()),
        (header::CACHE_CONTROL, "no-cache".to_owned()),
        (HeaderName::from_static("x-accel-buffering"), "no".to_owned()),
        (HeaderName::from_static("x-turn-id"), uid(turn.turn_uid)),
    ];
    Ok((headers, ndjson::body(turn, app.heartbeat)).into_response())
}

/// Answered after the closing commit, any number of times.
pub(crate) async fn stop(State(app): State<App>, path: PathParams) -> Result<Json<StopResponse>, Problem> {
    let id = path.conversation_id()?;
    let stopped = app.colloquy.stop(&app.principal, id).await;
    stopped.map(|stopped| Json(stopped.into())).map_err(|error| Problem::of_service(id, error))
}

pub(crate) async fn show(State(app): State<App>, path: PathParams) -> Result<Json<TurnResponse>, Problem> {
    let (id, turn_uid) = (path.conversation_id()?, path.turn_uid()?);
    let turn = app.colloquy.store().find_turn(&app.principal, id, turn_uid).await?;
    let missing = || Problem::new(Code::TurnNotFound, format!("Turn with ID {} not found", uid(turn_uid)));
    Ok(Json(turn.ok_or_else(missing)?.into()))
}
