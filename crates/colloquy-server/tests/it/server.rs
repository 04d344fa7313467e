//! One server on a fresh store, with scripted models, a clock that stands still and requests that
//! never leave the process.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Method, Request, StatusCode},
};
use bytes::Bytes;
use colloquy::{
    Colloquy,
    ports::{EngineKind, NewLlm, Principal, Store},
};
use colloquy_core::message::LlmId;
use colloquy_models::client::HttpClients;
use colloquy_server::app::{AppState, Security, app};
use colloquy_store_sqlite::SqliteStore;
use colloquy_testkit::{
    manual::ManualClock,
    scripted::{Script, ScriptedModels},
};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

pub(crate) const HOST: &str = "127.0.0.1:27182";
/// 2026-01-02T03:04:05.678Z.
pub(crate) const NOW: i64 = 1_767_323_045_678;

pub(crate) struct Server {
    pub(crate) models: ScriptedModels,
    pub(crate) colloquy: Colloquy,
    pub(crate) folder: TempDir,
    router: Router,
}

pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Server {
    /// A server whose model `toy` follows `scripts`, one per call.
    pub(crate) async fn new(scripts: impl IntoIterator<Item = Script>) -> Self {
        Self::with(scripts, Security::default(), Duration::from_secs(15)).await
    }

    pub(crate) async fn secured(security: Security) -> Self {
        Self::with([], security, Duration::from_secs(15)).await
    }

    pub(crate) async fn with(
        scripts: impl IntoIterator<Item = Script>,
        security: Security,
        heartbeat: Duration,
    ) -> Self {
        let server = Self::without_model(scripts, security, heartbeat).await;
        let toy = NewLlm {
            name: "toy".into(),
            engine: EngineKind::Llama { path: "/nowhere/toy.gguf".into() },
            context_window: Some(8192),
            param_size: Some(0.135),
            size_bytes: Some(1000),
            generation_config: None,
            make_default: true,
            created_at: NOW,
        };
        let row = server.colloquy.store().insert_llm(&Principal::local(), toy).await.unwrap();
        assert_eq!(row.id, LlmId(1));
        server
    }

    pub(crate) async fn without_model(
        scripts: impl IntoIterator<Item = Script>,
        security: Security,
        heartbeat: Duration,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> =
            Arc::new(SqliteStore::open(&folder.path().join("colloquy.db")).await.unwrap());
        let models = ScriptedModels::new(scripts);
        let colloquy = Colloquy::builder()
            .store(store)
            .models(Arc::new(models.clone()))
            .clock(Arc::new(ManualClock::at(NOW)))
            .build()
            .unwrap();
        let router = app(AppState {
            colloquy: colloquy.clone(),
            principal: Principal::local(),
            security: Security { bound: Some(SocketAddr::from(([127, 0, 0, 1], 27182))), ..security },
            clients: Arc::new(HttpClients::new().unwrap()),
            heartbeat,
            version: "0.0.0-test",
        });
        Self { models, colloquy, folder, router }
    }

    /// Sends a request as it is and gives the response with its body unread.
    pub(crate) async fn send_raw(&self, request: Request<Body>) -> axum::http::Response<Body> {
        self.router.clone().oneshot(request).await.unwrap()
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Reply {
        let (parts, body) = self.send_raw(request).await.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Reply { status: parts.status, headers: parts.headers, body }
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(request(Method::GET, path).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        self.send(request(Method::DELETE, path).body(Body::empty()).unwrap()).await
    }

    /// A POST without body and content type.
    pub(crate) async fn poke(&self, path: &str) -> Reply {
        self.send(request(Method::POST, path).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Reply {
        self.send(with_json(Method::POST, path, body.to_string())).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Reply {
        self.send(with_json(Method::PATCH, path, body.to_string())).await
    }

    /// Creates a conversation with the default model and gives its path.
    pub(crate) async fn conversation(&self) -> String {
        let created = self.post("/erudi/conversations", json!({})).await;
        assert_eq!(created.status, StatusCode::CREATED);
        format!("/erudi/conversations/{}", created.json()["id"])
    }

    /// Asks and gives the whole stream.
    pub(crate) async fn ask(&self, conversation: &str, question: &str) -> Vec<Value> {
        let reply = self.post(&format!("{conversation}/query"), json!({ "question": question })).await;
        assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
        reply.events()
    }

    /// Asks and gives the response with its stream unread.
    pub(crate) async fn begin(&self, conversation: &str, question: &str) -> axum::http::Response<Body> {
        let body = json!({ "question": question }).to_string();
        let response = self.send_raw(with_json(Method::POST, &format!("{conversation}/query"), body)).await;
        assert_eq!(response.status(), StatusCode::OK);
        response
    }
}

impl Reply {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {:?}", self.body))
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        self.text()
            .lines()
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Checks status and code, and that it is a problem document.
    #[track_caller]
    pub(crate) fn is_problem(&self, status: u16, code: &str) {
        assert_eq!(self.status.as_u16(), status, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        let document = self.json();
        assert_eq!(document["error"]["type"], code, "{document}");
        assert_eq!(document["status"], status);
        assert_eq!(document["success"], false);
        assert_eq!(document["detail"], document["error"]["message"]);
        assert_eq!(document["request_id"], self.header("x-request-id").unwrap());
    }

    /// The names of the members that broke a rule.
    pub(crate) fn broken(&self) -> Vec<String> {
        let errors = self.json()["errors"].as_array().cloned().unwrap_or_default();
        errors
            .iter()
            .map(|error| error["loc"].as_array().unwrap().last().unwrap().as_str().unwrap().into())
            .collect()
    }
}

/// A request from a program on this machine.
pub(crate) fn request(method: Method, path: &str) -> axum::http::request::Builder {
    Request::builder().method(method).uri(path).header("host", HOST).header("x-request-id", "r-1")
}

pub(crate) fn with_json(method: Method, path: &str, body: impl Into<Body>) -> Request<Body> {
    request(method, path).header("content-type", "application/json").body(body.into()).unwrap()
}

/// The next frame of a stream that is not over.
pub(crate) async fn next_line(body: &mut Body) -> String {
    let frame = body.frame().await.expect("the stream is over").unwrap();
    String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap()
}

/// Replaces what differs from run to run.
pub(crate) fn redacted(mut value: Value) -> Value {
    match &mut value {
        Value::Object(members) => {
            for (name, member) in members {
                *member = match name.as_str() {
                    "turn_id" | "turn" | "uid" | "parent" | "tip" if member.is_string() => "[uid]".into(),
                    _ => redacted(member.take()),
                };
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = redacted(item.take())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    value
}
