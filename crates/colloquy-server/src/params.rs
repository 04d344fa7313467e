//! Reads identifiers out of paths and paging out of query strings.

use std::collections::HashMap;

use axum::{
    extract::{FromRequestParts, Path, Query},
    http::request::Parts,
};
use colloquy::ports::Page;
use colloquy_core::message::{ConversationId, LlmId, Uid};

use crate::problem::{Code, FieldError, Problem};

/// Longest page of a list.
const PAGE_ROWS_MAX: u32 = 1000;

/// The named pieces of the path.
pub(crate) struct PathParams(HashMap<String, String>);

impl PathParams {
    pub(crate) fn conversation_id(&self) -> Result<ConversationId, Problem> {
        let missing = |text: &str| {
            Problem::new(Code::ConversationNotFound, format!("Conversation with ID {text} not found"))
        };
        self.id(missing).map(ConversationId)
    }

    pub(crate) fn llm_id(&self) -> Result<LlmId, Problem> {
        let missing =
            |text: &str| Problem::new(Code::ModelNotFound, format!("Model with ID {text} not found"));
        self.id(missing).map(LlmId)
    }

    /// The identity of a turn; what is not 32 hex digits names no turn.
    pub(crate) fn turn_uid(&self) -> Result<Uid, Problem> {
        let text = self.piece("turn");
        let mut bytes = [0; 16];
        hex::decode_to_slice(text, &mut bytes)
            .map(|()| Uid(bytes))
            .map_err(|_| Problem::new(Code::TurnNotFound, format!("Turn with ID {text} not found")))
    }

    /// A whole number that is too large to be an id is one that nothing has; anything else that
    /// is no id is a mistake.
    fn id(&self, missing: impl FnOnce(&str) -> Problem) -> Result<i64, Problem> {
        let text = self.piece("id");
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(invalid("path", "id", "must be an integer".into(), "int_parsing"));
        }
        text.parse().map_err(|_| missing(text))
    }

    fn piece(&self, name: &str) -> &str {
        self.0.get(name).expect("BUG: a route without the path piece its handler reads")
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PathParams {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(pieces)) => Ok(Self(pieces)),
            Err(rejection) => Err(invalid("path", "id", rejection.body_text(), "value_error")),
        }
    }
}

/// The members of the query string.
pub(crate) struct QueryParams(HashMap<String, String>);

impl QueryParams {
    pub(crate) fn find(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// `limit` and `before`.
    pub(crate) fn page(&self) -> Result<Page, Problem> {
        let limit = match self.find("limit").map(str::parse) {
            None => None,
            Some(Ok(limit @ 1..=PAGE_ROWS_MAX)) => Some(limit),
            Some(_) => {
                let rule = format!("must be an integer between 1 and {PAGE_ROWS_MAX}");
                return Err(invalid("query", "limit", rule, "value_error"));
            }
        };
        let before = match self.find("before").map(str::parse) {
            None => None,
            Some(Ok(before)) => Some(before),
            Some(Err(_)) => return Err(invalid("query", "before", "must be an id".into(), "int_parsing")),
        };
        Ok(Page { limit, before })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for QueryParams {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        match Query::try_from_uri(&parts.uri) {
            Ok(Query(members)) => Ok(Self(members)),
            Err(rejection) => Err(Problem::invalid(vec![FieldError {
                part: "query",
                name: None,
                msg: rejection.body_text(),
                kind: "value_error",
            }])),
        }
    }
}

/// The refusal of one piece of the path or member of the query string.
pub(crate) fn invalid(part: &'static str, name: &str, msg: String, kind: &'static str) -> Problem {
    Problem::invalid(vec![FieldError { part, name: Some(name.into()), msg, kind }])
}
