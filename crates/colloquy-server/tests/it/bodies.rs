//! Bodies: what is JSON, how large, how deep. A bad one is a 4xx and the server lives.

use axum::{
    body::Body,
    http::{Method, StatusCode},
};
use futures::stream;
use serde_json::json;

use crate::server::{Server, request, with_json};

const ROOT: &str = "/erudi/conversations";
const BODY_BYTES_MAX: usize = 1024 * 1024;

/// A valid body of exactly that many bytes.
fn padded(n_bytes: usize) -> String {
    let frame = r#"{"padding":""}"#.len();
    format!(r#"{{"padding":"{}"}}"#, "x".repeat(n_bytes - frame))
}

/// A body without a declared length, in chunks.
fn chunked(text: &str) -> Body {
    let chunks: Vec<_> =
        text.as_bytes().chunks(64 * 1024).map(|chunk| Ok::<_, std::io::Error>(chunk.to_vec())).collect();
    Body::from_stream(stream::iter(chunks))
}

async fn status_of(server: &Server, body: impl Into<Body>) -> StatusCode {
    server.send(with_json(Method::POST, ROOT, body)).await.status
}

#[tokio::test]
async fn a_body_may_be_one_mebibyte_and_no_byte_more() {
    let server = Server::new([]).await;
    assert_eq!(status_of(&server, padded(BODY_BYTES_MAX)).await, 201);
    let reply = server.send(with_json(Method::POST, ROOT, padded(BODY_BYTES_MAX + 1))).await;
    reply.is_problem(413, "TOO_LARGE");
}

#[tokio::test]
async fn a_body_of_unknown_length_has_the_same_limit() {
    let server = Server::new([]).await;
    assert_eq!(status_of(&server, chunked(&padded(BODY_BYTES_MAX))).await, 201);
    let reply = server.send(with_json(Method::POST, ROOT, chunked(&padded(BODY_BYTES_MAX + 1)))).await;
    reply.is_problem(413, "TOO_LARGE");
}

#[tokio::test]
async fn an_endless_body_is_refused_while_it_is_read() {
    let server = Server::new([]).await;
    let endless = Body::from_stream(stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b' '; 4096])));
    server.send(with_json(Method::POST, ROOT, endless)).await.is_problem(413, "TOO_LARGE");
}

#[tokio::test]
async fn a_body_that_breaks_off_is_a_mistake_of_its_sender() {
    let server = Server::new([]).await;
    let broken = stream::iter([Ok(b"{".to_vec()), Err(std::io::Error::other("gone"))]);
    let reply = server.send(with_json(Method::POST, ROOT, Body::from_stream(broken))).await;
    reply.is_problem(422, "INVALID_INPUT");
}

#[tokio::test]
async fn nesting_ends_at_64() {
    let server = Server::new([]).await;
    // The object itself is the first level.
    let nested = |depth: usize| format!(r#"{{"x":{}{}}}"#, "[".repeat(depth - 1), "]".repeat(depth - 1));
    assert_eq!(status_of(&server, nested(64)).await, 201);
    let reply = server.send(with_json(Method::POST, ROOT, nested(65))).await;
    reply.is_problem(422, "INVALID_INPUT");
    assert_eq!(reply.json()["errors"][0]["type"], "json_too_deep");
    assert_eq!(status_of(&server, "[".repeat(BODY_BYTES_MAX)).await, 422);
}

#[tokio::test]
async fn what_is_not_a_json_object_is_422() {
    let server = Server::new([]).await;
    for body in [
        "",
        " ",
        "{",
        "[]",
        "null",
        "7",
        "\"text\"",
        "{}{}",
        "{'llm_id': 1}",
        "{\"temperature\": NaN}",
        "{\"temperature\": Infinity}",
        "{\"temperature\": 1e999}",
        "{\"llm_id\": 1, \"llm_id\": 1}",
        "{\"custom_prompt\": \"\\ud800\"}",
        "{\"custom_prompt\": \"a\nb\"}",
        "\u{feff}{}",
    ] {
        let reply = server.send(with_json(Method::POST, ROOT, body)).await;
        reply.is_problem(422, "INVALID_INPUT");
        assert_eq!(reply.json()["errors"][0]["loc"], json!(["body"]), "{body}");
    }
    assert_eq!(status_of(&server, &b"{\"custom_prompt\": \"\xff\"}"[..]).await, 422);
    assert_eq!(server.get(ROOT).await.json(), json!([]), "nothing was created, and the server lives");
}

#[tokio::test]
async fn only_declared_json_is_read() {
    let server = Server::new([]).await;
    for media_type in
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx", ""]
    {
        let request =
            request(Method::POST, ROOT).header("content-type", media_type).body(Body::from("{}")).unwrap();
        server.send(request).await.is_problem(415, "NOT_JSON");
    }
    let undeclared = request(Method::POST, ROOT).body(Body::from("{}")).unwrap();
    server.send(undeclared).await.is_problem(415, "NOT_JSON");
    server.poke(ROOT).await.is_problem(415, "NOT_JSON");
    let twice = request(Method::POST, ROOT)
        .header("content-type", "application/json")
        .header("content-type", "text/plain")
        .body(Body::from("{}"))
        .unwrap();
    server.send(twice).await.is_problem(415, "NOT_JSON");
    let parameters = request(Method::POST, ROOT)
        .header("content-type", "Application/JSON; charset=utf-8")
        .body(Body::from("{}"));
    assert_eq!(server.send(parameters.unwrap()).await.status, 201);
}
