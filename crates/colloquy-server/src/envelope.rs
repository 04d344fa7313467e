//! The outermost layer: what every response has, whatever happened inside.
//!
//! It gives the request its id, turns a panic into a 500, renders every refusal as one problem
//! document, and adds the headers that keep browsers strict. It never looks at a body.

use std::panic::AssertUnwindSafe;

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use colloquy::ports::{IdSource, OsIds};
use futures::FutureExt;

use crate::problem::{Code, Problem};

/// Longest `X-Request-ID` that is echoed.
const REQUEST_ID_BYTES_MAX: usize = 128;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

pub(crate) async fn envelope(request: Request, next: Next) -> Response {
    let request_id = request_id(request.headers());
    let line = format!("{} {}", request.method(), request.uri().path());
    let result = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let mut response = result.unwrap_or_else(|panic| {
        tracing::error!(request_id, line, panic = panic_text(&*panic), "a handler panicked");
        Problem::internal().into_response()
    });
    if let Some(problem) = refusal(&mut response) {
        let document = serde_json::to_vec(&problem.document(&request_id));
        let body = document.expect("BUG: a problem that JSON cannot hold");
        *response.body_mut() = Body::from(body);
        let headers = response.headers_mut();
        headers.remove(header::CONTENT_LENGTH);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if problem.status() == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Bearer realm=\"colloquy\"");
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
    }
    let headers = response.headers_mut();
    headers.insert(X_REQUEST_ID, HeaderValue::from_str(&request_id).expect("BUG: a checked request id"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    let resource_policy = HeaderName::from_static("cross-origin-resource-policy");
    headers.insert(resource_policy, HeaderValue::from_static("same-origin"));
    response
}

/// The problem a response stands for: ours, or one made from a bare refusal of the framework.
fn refusal(response: &mut Response) -> Option<Problem> {
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        return Some(problem);
    }
    match response.status() {
        StatusCode::NOT_FOUND => Some(Problem::new(Code::NotFound, "nothing is served here")),
        StatusCode::METHOD_NOT_ALLOWED => {
            Some(Problem::new(Code::MethodNotAllowed, "this path does not take this method"))
        }
        status if status.is_client_error() => {
            *response.status_mut() = Code::InvalidInput.status();
            Some(Problem::new(Code::InvalidInput, "the request cannot be read"))
        }
        status if status.is_server_error() && !is_json(response.headers()) => {
            *response.status_mut() = Code::InternalServerError.status();
            Some(Problem::internal())
        }
        _ => None,
    }
}

/// `/readyz` answers 503 with a document of its own.
fn is_json(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/json"))
}

/// The caller's id when it is short and plain enough to be logged and sent back, else a fresh one.
fn request_id(headers: &HeaderMap) -> String {
    headers
        .get(X_REQUEST_ID)
        .and_then(|value| value.to_str().ok())
        .filter(|id| {
            (1..=REQUEST_ID_BYTES_MAX).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic())
        })
        .map_or_else(|| hex::encode(OsIds.uid().0), str::to_owned)
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use axum::{Router, middleware::from_fn, routing::get};
    use http_body_util::BodyExt;
    use serde_json::Value;
    use tower::ServiceExt;

    use super::*;

    async fn answer_of(handler: Router) -> (StatusCode, Value) {
        let request = Request::builder().uri("/").header("x-request-id", "r-1").body(Body::empty()).unwrap();
        let response = handler.layer(from_fn(envelope)).oneshot(request).await.unwrap();
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&body).unwrap())
    }

    #[tokio::test]
    async fn a_panic_is_a_problem_that_tells_nothing() {
        async fn boom() -> StatusCode {
            panic!("secret state")
        }
        let (status, document) = answer_of(Router::new().route("/", get(boom))).await;
        assert_eq!((status.as_u16(), &document["error"]["type"]), (500, &"INTERNAL_SERVER_ERROR".into()));
        assert_eq!(document["request_id"], "r-1");
        assert!(!document.to_string().contains("secret"), "{document}");
    }

    #[tokio::test]
    async fn a_bare_refusal_of_the_framework_becomes_a_problem() {
        for (bare, expected) in [
            (400, "INVALID_INPUT"),
            (404, "NOT_FOUND"),
            (405, "METHOD_NOT_ALLOWED"),
            (500, "INTERNAL_SERVER_ERROR"),
        ] {
            let bare = StatusCode::from_u16(bare).unwrap();
            let (status, document) =
                answer_of(Router::new().route("/", get(move || async move { bare }))).await;
            assert_eq!(
                (document["error"]["type"].as_str(), document["status"].as_u64()),
                (Some(expected), Some(status.as_u16().into()))
            );
        }
    }
}
