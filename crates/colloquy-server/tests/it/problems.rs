//! Refusals that no route gives: the framework's own, and what holds for all of them.

use axum::{body::Body, http::Method};
use insta::assert_json_snapshot;
use serde_json::json;

use crate::server::{Server, request};

#[tokio::test]
async fn an_unknown_path_is_a_problem_like_any_other() {
    let server = Server::new([]).await;
    for path in
        ["/nothing", "/erudi", "/erudi/conversations/1/", "/erudi/conversations/1/nothing", "/app.js/"]
    {
        server.get(path).await.is_problem(404, "NOT_FOUND");
    }
    assert_json_snapshot!(server.get("/nothing").await.json());
}

#[tokio::test]
async fn a_wrong_method_is_a_problem_that_names_the_right_ones() {
    let server = Server::new([]).await;
    let reply = server.delete("/erudi/conversations").await;
    reply.is_problem(405, "METHOD_NOT_ALLOWED");
    assert_eq!(reply.header("allow"), Some("GET,HEAD,POST"));
    server.get("/erudi/conversations/1/query").await.is_problem(405, "METHOD_NOT_ALLOWED");
    server.post("/healthz", json!({})).await.is_problem(405, "METHOD_NOT_ALLOWED");
}

#[tokio::test]
async fn a_violated_schema_is_a_problem_with_its_places() {
    let server = Server::new([]).await;
    let reply = server.post("/erudi/conversations", json!({ "top_p": 7, "temperature": "x" })).await;
    assert_json_snapshot!(reply.json());
}

#[tokio::test]
async fn a_request_id_is_echoed_when_it_is_sane_and_made_when_it_is_not() {
    let server = Server::new([]).await;
    let with_id = |id: &str| {
        let mut request = request(Method::GET, "/healthz").body(Body::empty()).unwrap();
        request.headers_mut().insert("x-request-id", id.parse().unwrap());
        request
    };
    let longest = "x".repeat(128);
    for id in ["abc-123", longest.as_str()] {
        assert_eq!(server.send(with_id(id)).await.header("x-request-id"), Some(id));
    }
    let too_long = "x".repeat(129);
    for id in ["", "two words", too_long.as_str()] {
        let made = server.send(with_id(id)).await.header("x-request-id").unwrap().to_owned();
        assert!(made.len() == 32 && made.bytes().all(|byte| byte.is_ascii_hexdigit()), "{made}");
    }
}

#[tokio::test]
async fn every_answer_keeps_browsers_strict() {
    let server = Server::new([]).await;
    for path in ["/", "/healthz", "/nothing", "/erudi/conversations"] {
        let reply = server.get(path).await;
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(reply.header("referrer-policy"), Some("no-referrer"), "{path}");
        assert_eq!(reply.header("cross-origin-resource-policy"), Some("same-origin"), "{path}");
    }
}
