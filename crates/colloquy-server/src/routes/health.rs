//! Whether the process lives, and whether it can serve. Both without a word of anybody's text.

use axum::{Json, extract::State, http::StatusCode};
use colloquy::ports::Page;
use serde_json::{Value, json};

use crate::app::App;

pub(crate) async fn healthz(State(app): State<App>) -> Json<Value> {
    Json(json!({ "status": "ok", "version": app.version }))
}

/// Ready means that the store answers. A missing engine or model does not make it unready.
pub(crate) async fn readyz(State(app): State<App>) -> (StatusCode, Json<Value>) {
    let models = app.colloquy.models();
    match app.colloquy.store().list_llms(&app.principal, Page::default()).await {
        Ok(llms) => {
            let loaded = llms.iter().any(|llm| models.allocated_window(llm).is_some());
            let engine = if loaded { "loaded" } else { "idle" };
            (StatusCode::OK, Json(json!({ "ready": true, "store": "ok", "engine": engine })))
        }
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "the store is not ready");
            let body = json!({ "ready": false, "store": error.to_string(), "engine": "unknown" });
            (StatusCode::SERVICE_UNAVAILABLE, Json(body))
        }
    }
}
