//! The messages of a conversation, their stars, and the error text that a client may store.

use axum::{Json, extract::State};
use colloquy_core::message::MessageId;
use serde_json::{Value, json};

use crate::{
    api::message::{self, MessageResponse},
    app::App,
    body::JsonBody,
    fields::Fields,
    params::{PathParams, QueryParams},
    problem::Problem,
};

pub(crate) async fn fetch(
    State(app): State<App>,
    path: PathParams,
    query: QueryParams,
) -> Result<Json<Vec<MessageResponse>>, Problem> {
    let id = path.conversation_id()?;
    let branch = app.colloquy.store().list_messages(&app.principal, id, query.page()?).await?;
    Ok(Json(message::shown(id, branch.ok_or_else(|| Problem::no_such_conversation(id))?)))
}

pub(crate) async fn star(State(app): State<App>, JsonBody(fields): JsonBody) -> Result<Json<Value>, Problem> {
    set_star(&app, fields, true).await?;
    Ok(Json(json!({ "state": "success", "message": "Message starred successfully" })))
}

pub(crate) async fn unstar(
    State(app): State<App>,
    JsonBody(fields): JsonBody,
) -> Result<Json<Value>, Problem> {
    set_star(&app, fields, false).await?;
    Ok(Json(json!({ "state": "success", "message": "Message unstarred successfully" })))
}

async fn set_star(app: &App, mut fields: Fields, starred: bool) -> Result<(), Problem> {
    let id = MessageId(fields.required_integer("message_id"));
    fields.finish()?;
    let found = app.colloquy.set_star(&app.principal, id, starred).await?;
    if found { Ok(()) } else { Err(Problem::no_such_message(id)) }
}

pub(crate) async fn store_error(State(app): State<App>, path: PathParams) -> Result<Json<Value>, Problem> {
    let id = path.conversation_id()?;
    let stored = app.colloquy.store_error(&app.principal, id).await;
    let message_id = stored.map_err(|error| Problem::of_service(id, error))?;
    Ok(Json(json!({ "message": "Error message stored successfully", "error_message_id": message_id.0 })))
}
