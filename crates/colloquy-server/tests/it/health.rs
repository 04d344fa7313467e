//! Whether the process lives and can serve.

use std::time::Duration;

use colloquy_server::app::Security;
use serde_json::json;

use crate::server::Server;

#[tokio::test]
async fn health_tells_the_version() {
    let server = Server::new([]).await;
    assert_eq!(server.get("/healthz").await.json(), json!({ "status": "ok", "version": "0.0.0-test" }));
}

#[tokio::test]
async fn a_server_without_model_is_ready() {
    let server = Server::without_model([], Security::default(), Duration::from_secs(15)).await;
    let reply = server.get("/readyz").await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.json(), json!({ "ready": true, "store": "ok", "engine": "idle" }));
}

#[tokio::test]
async fn a_loaded_engine_is_told() {
    let server = Server::new([]).await;
    assert_eq!(server.get("/readyz").await.json()["engine"], "loaded");
}
