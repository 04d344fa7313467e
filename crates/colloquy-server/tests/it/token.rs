//! A server with a token: every route asks for it, and the page has its way to sign in.

use axum::{
    body::Body,
    http::{Method, Request},
};
use colloquy_server::app::Security;
use serde_json::json;

use crate::server::{Server, request, with_json};

const ROUTES: [(&str, &str); 17] = [
    ("GET", "/readyz"),
    ("GET", "/erudi/llms"),
    ("POST", "/erudi/llms"),
    ("GET", "/erudi/llms/1"),
    ("DELETE", "/erudi/llms/1"),
    ("POST", "/erudi/llms/1/default"),
    ("GET", "/erudi/conversations"),
    ("POST", "/erudi/conversations"),
    ("GET", "/erudi/conversations/1"),
    ("PATCH", "/erudi/conversations/1"),
    ("DELETE", "/erudi/conversations/1"),
    ("GET", "/erudi/conversations/1/fetch_messages"),
    ("GET", "/erudi/conversations/1/export"),
    ("POST", "/erudi/conversations/1/query"),
    ("POST", "/erudi/conversations/1/stop"),
    ("POST", "/erudi/conversations/star_message"),
    ("GET", "/no/such/path"),
];

async fn locked() -> Server {
    Server::secured(Security { token: Some("s3cret".into()), ..Security::default() }).await
}

fn carrying(authorization: &str) -> Request<Body> {
    request(Method::GET, "/erudi/llms").header("authorization", authorization).body(Body::empty()).unwrap()
}

#[tokio::test]
async fn every_route_asks_for_the_token() {
    let server = locked().await;
    for (method, path) in ROUTES {
        let reply = server.send(with_json(method.parse().unwrap(), path, "{}")).await;
        reply.is_problem(401, "UNAUTHORIZED");
        assert_eq!(reply.header("www-authenticate"), Some("Bearer realm=\"colloquy\""), "{method} {path}");
    }
}

#[tokio::test]
async fn health_the_page_and_its_files_are_open() {
    let server = locked().await;
    for path in ["/healthz", "/", "/app.css", "/app.js", "/api.js"] {
        assert_eq!(server.get(path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn the_bearer_must_match_whole() {
    let server = locked().await;
    for good in ["Bearer s3cret", "bearer s3cret"] {
        assert_eq!(server.send(carrying(good)).await.status, 200, "{good}");
    }
    for bad in
        ["Bearer s3cre", "Bearer s3crets", "Bearer S3CRET", "Bearer ", "Bearer", "Basic s3cret", "s3cret"]
    {
        server.send(carrying(bad)).await.is_problem(401, "UNAUTHORIZED");
    }
}

#[tokio::test]
async fn signing_in_gives_a_cookie_that_scripts_cannot_read() {
    let server = locked().await;
    server.post("/erudi/login", json!({ "token": "guess" })).await.is_problem(401, "UNAUTHORIZED");
    server.post("/erudi/login", json!({})).await.is_problem(422, "INVALID_INPUT");

    let reply = server.post("/erudi/login", json!({ "token": "s3cret" })).await;
    assert_eq!(reply.status, 200);
    let cookie = reply.header("set-cookie").unwrap();
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
    let pair = cookie.split(';').next().unwrap();
    let signed_in = request(Method::GET, "/erudi/llms").header("cookie", pair).body(Body::empty()).unwrap();
    assert_eq!(server.send(signed_in).await.status, 200);
    let forged =
        request(Method::GET, "/erudi/llms").header("cookie", "colloquy_session=s3cret").body(Body::empty());
    server.send(forged.unwrap()).await.is_problem(401, "UNAUTHORIZED");
}

#[tokio::test]
async fn an_empty_token_locks_everybody_out() {
    let server = Server::secured(Security { token: Some(String::new()), ..Security::default() }).await;
    server.send(carrying("Bearer ")).await.is_problem(401, "UNAUTHORIZED");
    server.post("/erudi/login", json!({ "token": "" })).await.is_problem(401, "UNAUTHORIZED");
}
