//! The web page, embedded: four files, no build step, nothing from anywhere else.

use axum::{
    http::{HeaderName, header},
    response::IntoResponse,
};

/// Only this server's own script and style run, and nothing else is loaded or sent anywhere.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) async fn index() -> impl IntoResponse {
    let policy = (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY);
    ([policy], file("text/html; charset=utf-8", include_str!("../../web/index.html")))
}

pub(crate) async fn style() -> impl IntoResponse {
    file("text/css; charset=utf-8", include_str!("../../web/app.css"))
}

pub(crate) async fn script() -> impl IntoResponse {
    file("text/javascript; charset=utf-8", include_str!("../../web/app.js"))
}

pub(crate) async fn api() -> impl IntoResponse {
    file("text/javascript; charset=utf-8", include_str!("../../web/api.js"))
}

/// Asked for anew each time, so that a page never outlives the server it came with.
fn file(media_type: &'static str, text: &'static str) -> ([(HeaderName, &'static str); 2], &'static str) {
    ([(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, "no-cache")], text)
}
