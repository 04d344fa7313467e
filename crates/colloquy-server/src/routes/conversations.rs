//! `/erudi/conversations` and what lies right below it.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
};
use colloquy::ports::{ConversationRow, Page};
use colloquy_core::message::ConversationId;
use serde_json::{Value, json};

use crate::{
    api::{
        conversation::{self, ConversationResponse},
        message,
    },
    app::App,
    body::JsonBody,
    export as documents,
    params::{PathParams, QueryParams, invalid},
    problem::Problem,
};

pub(crate) async fn create(
    State(app): State<App>,
    JsonBody(fields): JsonBody,
) -> Result<(StatusCode, Json<ConversationResponse>), Problem> {
    let row = app.colloquy.create(&app.principal, conversation::create(fields)?).await?;
    Ok((StatusCode::CREATED, Json(row.into())))
}

pub(crate) async fn list(
    State(app): State<App>,
    query: QueryParams,
) -> Result<Json<Vec<ConversationResponse>>, Problem> {
    let rows = app.colloquy.store().list_conversations(&app.principal, query.page()?).await?;
    Ok(Json(rows.into_iter().map(ConversationResponse::from).collect()))
}

pub(crate) async fn show(
    State(app): State<App>,
    path: PathParams,
) -> Result<Json<ConversationResponse>, Problem> {
    let id = path.conversation_id()?;
    let row = find(&app, id).await?;
    let branch = app.colloquy.store().list_messages(&app.principal, id, Page::default()).await?;
    let branch = branch.ok_or_else(|| Problem::no_such_conversation(id))?;
    Ok(Json(ConversationResponse::with_messages(row, message::shown(id, branch))))
}

pub(crate) async fn update(
    State(app): State<App>,
    path: PathParams,
    JsonBody(fields): JsonBody,
) -> Result<Json<ConversationResponse>, Problem> {
    let id = path.conversation_id()?;
    let patch = conversation::update(fields)?;
    let updated = app.colloquy.update(&app.principal, id, patch).await;
    updated.map(|row| Json(row.into())).map_err(|error| Problem::of_service(id, error))
}

pub(crate) async fn delete(State(app): State<App>, path: PathParams) -> Result<Json<Value>, Problem> {
    let id = path.conversation_id()?;
    app.colloquy.delete(&app.principal, id).await.map_err(|error| Problem::of_service(id, error))?;
    Ok(Json(json!({ "message": "Conversation deleted successfully" })))
}

pub(crate) async fn export(
    State(app): State<App>,
    path: PathParams,
    query: QueryParams,
) -> Result<impl IntoResponse, Problem> {
    let id = path.conversation_id()?;
    let (write, media_type, extension): (fn(&_, Option<&_>, &[_]) -> String, _, _) =
        match query.find("format") {
            None | Some("json") => (documents::json, "application/json", "json"),
            Some("markdown") => (documents::markdown, "text/markdown; charset=utf-8", "md"),
            Some(_) => {
                return Err(invalid("query", "format", "must be one of json, markdown".into(), "enum"));
            }
        };
    let row = find(&app, id).await?;
    let store = app.colloquy.store();
    let branch = store.list_branch(&app.principal, id).await?;
    let branch = branch.ok_or_else(|| Problem::no_such_conversation(id))?;
    let llm = match row.llm_id {
        Some(llm_id) => store.find_llm(&app.principal, llm_id).await?,
        None => None,
    };
    let disposition = format!("attachment; filename=\"conversation-{}.{extension}\"", id.0);
    let headers = [(header::CONTENT_TYPE, media_type.to_owned()), (header::CONTENT_DISPOSITION, disposition)];
    Ok((headers, write(&row, llm.as_ref(), &branch)))
}

async fn find(app: &App, id: ConversationId) -> Result<ConversationRow, Problem> {
    let row = app.colloquy.store().find_conversation(&app.principal, id).await?;
    row.ok_or_else(|| Problem::no_such_conversation(id))
}
