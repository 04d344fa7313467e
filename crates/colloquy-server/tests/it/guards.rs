//! Loopback is not trust: what a page in the person's own browser may not do.

use std::task::Poll;

use axum::{
    body::Body,
    http::{Method, Request},
};
use colloquy_server::app::Security;
use colloquy_testkit::scripted::Script;
use futures::stream;
use serde_json::json;

use crate::server::{HOST, Server, request, with_json};

const ROOT: &str = "/erudi/conversations";
const FRIEND: &str = "https://app.example";

fn befriended() -> Security {
    Security { allowed_origins: vec![FRIEND.into()], ..Security::default() }
}

fn from_host(host: &str, path: &str) -> Request<Body> {
    Request::builder().uri(path).header("host", host).body(Body::empty()).unwrap()
}

/// A body that fails the test when anybody reads it.
fn untouchable() -> Body {
    Body::from_stream(stream::poll_fn(|_| -> Poll<Option<Result<Vec<u8>, std::io::Error>>> {
        panic!("the body was read")
    }))
}

#[tokio::test]
async fn a_rebound_name_is_refused_on_every_route_also_without_an_origin() {
    let server = Server::new([]).await;
    for path in ["/", "/healthz", "/app.js", ROOT, "/no/such/path"] {
        server.send(from_host("evil.example:27182", path)).await.is_problem(403, "FORBIDDEN_HOST");
    }
}

#[tokio::test]
async fn a_request_without_or_with_two_hosts_is_refused() {
    let server = Server::new([]).await;
    let none = Request::builder().uri(ROOT).body(Body::empty()).unwrap();
    server.send(none).await.is_problem(403, "FORBIDDEN_HOST");
    let two = request(Method::GET, ROOT).header("host", "evil.example").body(Body::empty()).unwrap();
    server.send(two).await.is_problem(403, "FORBIDDEN_HOST");
    let absolute =
        request(Method::GET, "http://evil.example/erudi/conversations").body(Body::empty()).unwrap();
    server.send(absolute).await.is_problem(403, "FORBIDDEN_HOST");
}

#[tokio::test]
async fn this_machines_own_names_are_served() {
    let server = Server::new([]).await;
    for host in ["localhost:27182", "127.0.0.1", "[::1]:27182", HOST] {
        assert_eq!(server.send(from_host(host, ROOT)).await.status, 200, "{host}");
    }
}

#[tokio::test]
async fn an_allowed_host_is_served() {
    let server =
        Server::secured(Security { allowed_hosts: vec!["box.lan".into()], ..Security::default() }).await;
    assert_eq!(server.send(from_host("box.lan:27182", ROOT)).await.status, 200);
    server.send(from_host("other.lan", ROOT)).await.is_problem(403, "FORBIDDEN_HOST");
}

#[tokio::test]
async fn a_foreign_or_null_origin_is_refused_before_the_body_is_read() {
    let server = Server::secured(befriended()).await;
    for origin in ["https://evil.example", "null", "http://127.0.0.1:3000", "https://127.0.0.1:27182", ""] {
        let request = request(Method::POST, ROOT)
            .header("content-type", "application/json")
            .header("origin", origin)
            .body(untouchable())
            .unwrap();
        let reply = server.send(request).await;
        reply.is_problem(403, "FORBIDDEN_ORIGIN");
        assert_eq!(reply.header("access-control-allow-origin"), None, "{origin}");
    }
}

#[tokio::test]
async fn a_foreign_origin_may_not_read_either() {
    let server = Server::new([]).await;
    for path in ["/", "/healthz", ROOT] {
        let request =
            request(Method::GET, path).header("origin", "https://evil.example").body(Body::empty()).unwrap();
        server.send(request).await.is_problem(403, "FORBIDDEN_ORIGIN");
    }
}

#[tokio::test]
async fn a_foreign_origin_on_a_stream_starts_no_turn() {
    let server = Server::new([Script::answer("Yes.")]).await;
    let path = format!("{}/query", server.conversation().await);
    let mut request = with_json(Method::POST, &path, json!({ "question": "x" }).to_string());
    request.headers_mut().insert("origin", "https://evil.example".parse().unwrap());
    server.send(request).await.is_problem(403, "FORBIDDEN_ORIGIN");
    assert!(server.models.calls().is_empty());
}

#[tokio::test]
async fn the_servers_own_page_needs_no_permission_and_no_cors() {
    let server = Server::new([]).await;
    let mut request = with_json(Method::POST, ROOT, "{}");
    request.headers_mut().insert("origin", format!("http://{HOST}").parse().unwrap());
    let reply = server.send(request).await;
    assert_eq!((reply.status.as_u16(), reply.header("access-control-allow-origin")), (201, None));
}

#[tokio::test]
async fn a_form_cannot_change_anything() {
    let server = Server::new([]).await;
    let conversation = server.conversation().await;
    for (method, path) in [
        (Method::POST, ROOT.to_owned()),
        (Method::POST, format!("{conversation}/query")),
        (Method::POST, format!("{conversation}/stop")),
        (Method::POST, format!("{conversation}/store_error_message")),
        (Method::PATCH, conversation.clone()),
        (Method::DELETE, conversation.clone()),
    ] {
        for media_type in
            ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
        {
            let request = request(method.clone(), &path)
                .header("content-type", media_type)
                .body(Body::from("{\"question\":\"x\"}"))
                .unwrap();
            server.send(request).await.is_problem(415, "NOT_JSON");
        }
        // A form without fields still declares what it is.
        let empty = request(method, &path).header("content-type", "text/plain").body(Body::empty()).unwrap();
        server.send(empty).await.is_problem(415, "NOT_JSON");
    }
    assert_eq!(server.get(&conversation).await.status, 200);
}

#[tokio::test]
async fn an_allowed_origin_gets_its_cors_headers_on_answers_and_on_problems() {
    let server = Server::secured(befriended()).await;
    for (path, status) in [(ROOT, 200), ("/erudi/conversations/99", 404)] {
        let request = request(Method::GET, path).header("origin", FRIEND).body(Body::empty()).unwrap();
        let reply = server.send(request).await;
        assert_eq!(reply.status, status);
        assert_eq!(reply.header("access-control-allow-origin"), Some(FRIEND));
        assert_eq!(reply.header("access-control-expose-headers"), Some("x-turn-id, x-request-id"));
        assert_eq!(reply.header("vary"), Some("origin"));
    }
    assert_eq!(server.get(ROOT).await.header("vary"), Some("origin"));
}

#[tokio::test]
async fn a_preflight_is_answered_for_an_allowed_origin_only() {
    let preflight = |origin: &str| {
        request(Method::OPTIONS, ROOT)
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .body(Body::empty())
            .unwrap()
    };
    let server = Server::secured(Security { token: Some("s3cret".into()), ..befriended() }).await;
    let reply = server.send(preflight(FRIEND)).await;
    assert_eq!(reply.status, 204);
    assert_eq!(reply.header("access-control-allow-origin"), Some(FRIEND));
    assert_eq!(reply.header("access-control-allow-methods"), Some("GET, POST, PATCH, DELETE"));
    assert_eq!(
        reply.header("access-control-allow-headers"),
        Some("authorization, content-type, x-request-id")
    );
    server.send(preflight("https://evil.example")).await.is_problem(403, "FORBIDDEN_ORIGIN");
}
