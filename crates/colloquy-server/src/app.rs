//! The router and what its routes share.
//!
//! Layers, outermost first: `envelope` (request id, panics, problem documents, security headers),
//! `guard` (host, origin, token, content type). A route is reached only through both, and so are
//! the fallbacks.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    http::Uri,
    middleware::{from_fn, from_fn_with_state},
    routing::{get, patch, post},
};
use colloquy::{Colloquy, ports::Principal};
use colloquy_models::client::HttpClients;

use crate::{
    envelope::envelope,
    guard::guard,
    problem::{Code, Problem},
    routes::{conversations, health, llms, messages, page, session, turns},
};

/// What every route may use.
pub struct AppState {
    /// Conversations and their running turns.
    pub colloquy: Colloquy,
    /// On whose behalf every request acts.
    pub principal: Principal,
    /// Who may talk to this server.
    pub security: Security,
    /// Speaks to the addresses of models that are being installed.
    pub clients: Arc<HttpClients>,
    /// How long a stream may be silent before a blank line is sent.
    pub heartbeat: Duration,
    /// The program's version, as `/healthz` tells it.
    pub version: &'static str,
}

/// Who may talk to this server. The default admits this machine's own programs and pages only.
#[derive(Debug, Clone, Default)]
pub struct Security {
    /// Names besides this machine's own that `Host` may carry, with or without a port.
    pub allowed_hosts: Vec<String>,
    /// Origins of foreign pages that may read answers, as in `https://app.example`.
    pub allowed_origins: Vec<String>,
    /// The address the server listens on.
    pub bound: Option<SocketAddr>,
    /// What every request must carry when it is set. An empty one admits nobody.
    pub token: Option<String>,
}

pub(crate) type App = Arc<AppState>;

/// The whole server as one service.
pub fn app(state: AppState) -> Router {
    let app: App = Arc::new(state);
    Router::new()
        .merge(conversation_routes())
        .merge(llm_routes())
        .route("/erudi/login", post(session::login))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/", get(page::index))
        .route("/app.css", get(page::style))
        .route("/app.js", get(page::script))
        .route("/api.js", get(page::api))
        .fallback(no_such_path)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(from_fn_with_state(app.clone(), guard))
        .layer(from_fn(envelope))
        .with_state(app)
}

fn conversation_routes() -> Router<App> {
    let collection = || get(conversations::list).post(conversations::create);
    Router::new()
        .route("/erudi/conversations", collection())
        .route("/erudi/conversations/", collection())
        .route(
            "/erudi/conversations/{id}",
            get(conversations::show).merge(patch(conversations::update)).delete(conversations::delete),
        )
        .route("/erudi/conversations/{id}/export", get(conversations::export))
        .route("/erudi/conversations/{id}/query", post(turns::query))
        .route("/erudi/conversations/{id}/stop", post(turns::stop))
        .route("/erudi/conversations/{id}/turns/{turn}", get(turns::show))
        .route("/erudi/conversations/{id}/fetch_messages", get(messages::fetch))
        .route("/erudi/conversations/{id}/store_error_message", post(messages::store_error))
        .route("/erudi/conversations/star_message", post(messages::star))
        .route("/erudi/conversations/unstar_message", post(messages::unstar))
}

fn llm_routes() -> Router<App> {
    let collection = || get(llms::list).post(llms::create);
    Router::new()
        .route("/erudi/llms", collection())
        .route("/erudi/llms/", collection())
        .route("/erudi/llms/{id}", get(llms::show).delete(llms::delete))
        .route("/erudi/llms/{id}/default", post(llms::make_default))
}

async fn no_such_path(uri: Uri) -> Problem {
    Problem::new(Code::NotFound, format!("nothing is served at {}", uri.path()))
}

async fn method_not_allowed(uri: Uri) -> Problem {
    Problem::new(Code::MethodNotAllowed, format!("{} does not take this method", uri.path()))
}
