//! Signing in: the page trades the token for a cookie that scripts cannot read.

use axum::{Json, extract::State, http::header, response::IntoResponse};
use serde_json::json;

use crate::{
    app::App,
    body::JsonBody,
    guard::session_cookie,
    problem::{Code, Problem},
};

pub(crate) async fn login(
    State(app): State<App>,
    JsonBody(mut fields): JsonBody,
) -> Result<impl IntoResponse, Problem> {
    let token = fields.required_string("token");
    fields.finish()?;
    let cookie = session_cookie(&app.security, &token)
        .ok_or_else(|| Problem::new(Code::Unauthorized, "this is not the token of this server"))?;
    Ok(([(header::SET_COOKIE, cookie)], Json(json!({ "message": "Signed in" }))))
}
