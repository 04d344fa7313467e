//! The server's token: carried as a bearer or, by the page, in a cookie derived from it.
//!
//! Only digests are compared, in constant time, so neither the content nor the length of the
//! token can be measured. The cookie holds a digest and never the token itself.

use axum::http::{HeaderMap, header};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::app::Security;

const COOKIE: &str = "colloquy_session";

/// Whether the request carries the token, or the server has none.
pub(super) fn is_carried(security: &Security, headers: &HeaderMap) -> bool {
    let Some(token) = &security.token else { return true };
    bearer(headers).is_some_and(|given| matches(token, given)) || cookie_matches(token, headers)
}

/// The `Set-Cookie` value for someone who gave that token; `None` when it is not the server's.
pub(crate) fn session_cookie(security: &Security, given: &str) -> Option<String> {
    let token = security.token.as_ref().filter(|token| matches(token, given))?;
    Some(format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Strict", cookie_value(token)))
}

/// An empty token would be carried by an empty header, so it matches nothing.
fn matches(token: &str, given: &str) -> bool {
    !token.is_empty() && bool::from(Sha256::digest(token).ct_eq(&Sha256::digest(given)))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, given) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| given.trim())
}

fn cookie_matches(token: &str, headers: &HeaderMap) -> bool {
    let expected = cookie_value(token);
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .any(|(name, value)| {
            name == COOKIE && !token.is_empty() && bool::from(expected.as_bytes().ct_eq(value.as_bytes()))
        })
}

fn cookie_value(token: &str) -> String {
    let mut digest = Sha256::new();
    digest.update("colloquy session\0");
    digest.update(token);
    hex::encode(digest.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secured(token: &str) -> Security {
        Security { token: Some(token.into()), ..Security::default() }
    }

    #[test]
    fn an_empty_token_admits_nobody() {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, "Bearer ".parse().unwrap());
        headers.insert(header::COOKIE, format!("{COOKIE}={}", cookie_value("")).parse().unwrap());
        assert!(!is_carried(&secured(""), &headers));
        assert_eq!(session_cookie(&secured(""), ""), None);
    }

    #[test]
    fn the_cookie_is_accepted_among_others_and_holds_no_token() {
        let cookie = session_cookie(&secured("s3cret"), "s3cret").unwrap();
        assert!(!cookie.contains("s3cret"));
        let pair = cookie.split(';').next().unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, format!("theme=dark; {pair}").parse().unwrap());
        assert!(is_carried(&secured("s3cret"), &headers));
        assert!(!is_carried(&secured("other"), &headers));
    }
}
