//! `/erudi/llms`: the installed models.

use axum::{Json, extract::State, http::StatusCode};
use colloquy::ports::LlmRow;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::{
    api::llm::{self, LlmResponse},
    app::App,
    body::JsonBody,
    install,
    params::{PathParams, QueryParams},
    problem::{FieldError, Problem},
};

pub(crate) async fn list(
    State(app): State<App>,
    query: QueryParams,
) -> Result<Json<Vec<LlmResponse>>, Problem> {
    let rows = app.colloquy.store().list_llms(&app.principal, query.page()?).await?;
    Ok(Json(join_all(rows.into_iter().map(|row| response(&app, row))).await))
}

pub(crate) async fn show(State(app): State<App>, path: PathParams) -> Result<Json<LlmResponse>, Problem> {
    let id = path.llm_id()?;
    let row = app.colloquy.store().find_llm(&app.principal, id).await?;
    Ok(Json(response(&app, row.ok_or_else(|| Problem::no_such_llm(id))?).await))
}

pub(crate) async fn create(
    State(app): State<App>,
    JsonBody(fields): JsonBody,
) -> Result<(StatusCode, Json<LlmResponse>), Problem> {
    let candidate = llm::candidate(fields)?;
    let checked = install::check(candidate, &app.clients, app.colloquy.clock().now()).await;
    let llm = checked.map_err(|error| {
        let (name, msg) = (Some(error.field().to_owned()), error.to_string());
        Problem::invalid(vec![FieldError { part: "body", name, msg, kind: "value_error" }])
    })?;
    let row = app.colloquy.store().insert_llm(&app.principal, llm).await?;
    Ok((StatusCode::CREATED, Json(response(&app, row).await)))
}

pub(crate) async fn delete(State(app): State<App>, path: PathParams) -> Result<Json<Value>, Problem> {
    let id = path.llm_id()?;
    let found = app.colloquy.store().delete_llm(&app.principal, id).await?;
    if !found {
        return Err(Problem::no_such_llm(id));
    }
    Ok(Json(json!({ "message": "LLM deleted successfully" })))
}

pub(crate) async fn make_default(
    State(app): State<App>,
    path: PathParams,
) -> Result<Json<LlmResponse>, Problem> {
    let id = path.llm_id()?;
    let store = app.colloquy.store();
    store.set_default_llm(&app.principal, id).await?;
    let row = store.find_llm(&app.principal, id).await?;
    Ok(Json(response(&app, row.ok_or_else(|| Problem::no_such_llm(id))?).await))
}

async fn response(app: &App, row: LlmRow) -> LlmResponse {
    let allocated_window = app.colloquy.models().allocated_window(&row);
    LlmResponse::of(row, allocated_window).await
}
