//! Who may talk to this server: loopback is not trust (design § 6).
//!
//! A page in the person's own browser can reach this address, by a form, by `fetch`, or by a name
//! that it rebinds to 127.0.0.1. Host, origin, token and content type are checked here, in this
//! order, before any route runs and before a byte of the body is read.

mod origin;
mod token;

use axum::{
    body::HttpBody,
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

pub(crate) use token::session_cookie;

use crate::{
    app::{App, Security},
    problem::{Code, Problem},
};

pub(crate) async fn guard(State(app): State<App>, request: Request, next: Next) -> Response {
    let security = &app.security;
    let allowed_origin = match admit(security, &request) {
        Ok(origin) => origin,
        Err(problem) => return problem.into_response(),
    };
    let mut response = if allowed_origin.is_some() && is_preflight(&request) {
        preflight()
    } else {
        match check_caller(security, &request) {
            Ok(()) => next.run(request).await,
            Err(problem) => problem.into_response(),
        }
    };
    if let Some(origin) = allowed_origin {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        let exposed = HeaderValue::from_static("x-turn-id, x-request-id");
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
    if !security.allowed_origins.is_empty() {
        response.headers_mut().append(header::VARY, HeaderValue::from_static("origin"));
    }
    response
}

/// Checks where the request comes from. Gives the foreign origin that may read the answer, if the
/// request names one.
fn admit(security: &Security, request: &Request) -> Result<Option<HeaderValue>, Problem> {
    let headers = request.headers();
    let host = single(headers, &header::HOST)
        .and_then(|value| value.to_str().ok())
        .filter(|host| origin::host_is_ours(security, host))
        .filter(|_| request.uri().authority().is_none_or(|a| origin::host_is_ours(security, a.as_str())))
        .ok_or_else(|| {
            Problem::new(
                Code::ForbiddenHost,
                "the Host header does not name this machine; add the name to allowed_hosts if it should",
            )
        })?;
    if !headers.contains_key(header::ORIGIN) {
        return Ok(None);
    }
    let refused = || {
        Problem::new(
            Code::ForbiddenOrigin,
            "pages of this origin may not use this server; --allow-origin admits one",
        )
    };
    let value = single(headers, &header::ORIGIN).ok_or_else(refused)?;
    let name = value.to_str().map_err(|_| refused())?;
    if origin::is_same(name, host) {
        Ok(None)
    } else if origin::is_allowed(security, name) {
        Ok(Some(value.clone()))
    } else {
        Err(refused())
    }
}

/// Checks the token, then the content type of a request that may change something.
fn check_caller(security: &Security, request: &Request) -> Result<(), Problem> {
    if !is_open(request.uri().path()) && !token::is_carried(security, request.headers()) {
        return Err(Problem::new(
            Code::Unauthorized,
            "this server asks for its token: send it as Authorization: Bearer, or sign in on the page",
        ));
    }
    let reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if reads { Ok(()) } else { check_content_type(request) }
}

/// Paths that need no token: they tell nothing, or are the way to sign in.
fn is_open(path: &str) -> bool {
    matches!(path, "/healthz" | "/" | "/app.css" | "/app.js" | "/api.js" | "/erudi/login")
}

/// A form cannot send JSON without a preflight, and cannot leave the content type out. A request
/// without a body may leave it out; whether its route needs a body is the route's matter.
fn check_content_type(request: &Request) -> Result<(), Problem> {
    let json = match single(request.headers(), &header::CONTENT_TYPE) {
        Some(value) => is_json(value),
        None => !request.headers().contains_key(header::CONTENT_TYPE) && request.body().is_end_stream(),
    };
    if json { Ok(()) } else { Err(not_json()) }
}

/// The refusal of a body that is not declared to be JSON.
pub(crate) fn not_json() -> Problem {
    Problem::new(Code::NotJson, "send a JSON body with Content-Type: application/json")
}

fn is_json(value: &HeaderValue) -> bool {
    let essence = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

fn preflight() -> Response {
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PATCH, DELETE"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "authorization, content-type, x-request-id"),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// The header's value when it is there exactly once: two of them mean that somebody upstream and
/// this server may not read the same one.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a HeaderValue> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())
}
