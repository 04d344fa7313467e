//! Errors as each service reports them: in a document, and within a stream.

use axum::http::{HeaderName, header};
use serde_json::{Value, json};

use super::{super::frame::WireError, Wire};

/// Bedrock names the kind of an error here; the body only explains it.
const AMZN_ERROR_TYPE: HeaderName = HeaderName::from_static("x-amzn-errortype");

/// The headers and the body of a refusal.
pub(in super::super) fn document(wire: Wire, error: &WireError) -> (Vec<(HeaderName, String)>, Value) {
    let mut headers = vec![(header::CONTENT_TYPE, "application/json".to_owned())];
    let body = match wire {
        Wire::Chat | Wire::Responses => openai(error),
        Wire::Messages => anthropic(error),
        Wire::Converse => {
            headers.push((AMZN_ERROR_TYPE, exception(error.status).to_owned()));
            json!({"message": error.message})
        }
    };
    (headers, body)
}

/// OpenAI's shape.
pub(super) fn openai(error: &WireError) -> Value {
    let WireError { status, message } = error;
    let kind = match status {
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    json!({"error": {"message": message, "type": kind, "param": null, "code": openai_code(*status)}})
}

/// OpenAI's code of an error, where it has one.
pub(super) fn openai_code(status: u16) -> Option<&'static str> {
    match status {
        401 => Some("invalid_api_key"),
        404 => Some("model_not_found"),
        429 => Some("rate_limit_exceeded"),
        500.. => Some("server_error"),
        _ => None,
    }
}

/// Anthropic's shape.
pub(super) fn anthropic(error: &WireError) -> Value {
    let WireError { status, message } = error;
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        503 | 529 => "overloaded_error",
        504 => "timeout_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_scripted"})
}

/// The exception of Bedrock that has that status.
fn exception(status: u16) -> &'static str {
    match status {
        401 | 403 => "AccessDeniedException",
        404 => "ResourceNotFoundException",
        408 => "ModelTimeoutException",
        424 => "ModelErrorException",
        429 => "ThrottlingException",
        503 => "ServiceUnavailableException",
        500.. => "InternalServerException",
        _ => "ValidationException",
    }
}

/// The member of the stream's union that reports it; not every exception is one.
pub(super) fn exception_in_stream(status: u16) -> &'static str {
    match status {
        424 => "modelStreamErrorException",
        429 => "throttlingException",
        503 => "serviceUnavailableException",
        500.. => "internalServerException",
        _ => "validationException",
    }
}
