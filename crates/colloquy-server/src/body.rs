//! Reads a JSON body: bounded in bytes and in depth before anything is built from it.

use axum::{
    body::HttpBody,
    extract::{FromRequest, Request},
    http::header,
};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};

use crate::{
    fields::Fields,
    guard::not_json,
    problem::{Code, FieldError, Problem},
};

/// Largest body a route takes.
pub(crate) const BODY_BYTES_MAX: usize = 1024 * 1024;

/// Deepest nesting of arrays and objects in a body.
pub(crate) const DEPTH_MAX: usize = 64;

/// The members of a request's JSON object.
pub(crate) struct JsonBody(pub(crate) Fields);

impl<S: Send + Sync> FromRequest<S> for JsonBody {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        // The guard has checked a content type that is there. Leaving it out is only for routes
        // without a body, which do not come here.
        if !request.headers().contains_key(header::CONTENT_TYPE) {
            return Err(not_json());
        }
        let bytes = read(request).await?;
        if depth(&bytes) > DEPTH_MAX {
            return Err(malformed(format!("must not be nested more than {DEPTH_MAX} deep"), "json_too_deep"));
        }
        serde_json::from_slice(&bytes)
            .map(Self)
            .map_err(|error| malformed(format!("must be a JSON object: {error}"), "json_invalid"))
    }
}

/// The limit holds while reading, so it also holds for a body that does not tell its length.
async fn read(request: Request) -> Result<Bytes, Problem> {
    let too_large = || {
        Problem::new(
            Code::TooLarge,
            format!("the body is larger than {BODY_BYTES_MAX} bytes; send less at once"),
        )
    };
    let body = request.into_body();
    if body.size_hint().lower() > BODY_BYTES_MAX as u64 {
        return Err(too_large());
    }
    match Limited::new(body, BODY_BYTES_MAX).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(_) => Err(malformed("could not be read to its end".into(), "body_incomplete")),
    }
}

/// How deep the arrays and objects of a JSON text are nested. Right for every valid text, and
/// never too small for the part of an invalid one that a parser would read.
fn depth(json: &[u8]) -> usize {
    let (mut deepest, mut open) = (0, 0_usize);
    let (mut in_string, mut escaped) = (false, false);
    for &byte in json {
        if in_string {
            (in_string, escaped) = match byte {
                _ if escaped => (true, false),
                b'\\' => (true, true),
                byte => (byte != b'"', false),
            };
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                open += 1;
                deepest = deepest.max(open);
            }
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn malformed(msg: String, kind: &'static str) -> Problem {
    Problem::invalid(vec![FieldError { part: "body", name: None, msg, kind }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_strings_are_not_depth() {
        assert_eq!(depth(br#"{"a": "[[[\"[[", "b": [1]}"#), 2);
        assert_eq!(depth(br#""\\" [ [ ] ]"#), 2);
        assert_eq!(depth(b""), 0);
    }
}
