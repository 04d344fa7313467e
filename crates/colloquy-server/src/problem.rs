//! Every refusal the server gives before a stream: one RFC 9457 document that also carries the
//! older `success`/`error` pair (design § 9).
//!
//! Handlers return a [`Problem`]; `envelope` renders it, since only it knows the request id.
//! Causes go to the log, never to the caller. `docs/problems.md` lists every [`Code`].

use std::collections::BTreeMap;

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use colloquy::{AskError, ServiceError, ports::StoreError};
use colloquy_core::message::{ConversationId, LlmId, MessageId, Uid};
use serde::Serialize;
use serde_json::Value;

/// What kind of refusal it is. Clients branch on it, so a name never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    ConversationNotFound,
    ConversationUnbound,
    DatabaseError,
    ForbiddenHost,
    ForbiddenOrigin,
    InternalServerError,
    InvalidInput,
    MessageNotFound,
    MethodNotAllowed,
    ModelNotFound,
    NotFound,
    NotJson,
    Overloaded,
    ShuttingDown,
    StaleParent,
    StateConflict,
    TooLarge,
    TurnInProgress,
    TurnNotFound,
    Unauthorized,
}

impl Code {
    /// All of them, for the documentation test.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 20] = [
        Self::ConversationNotFound,
        Self::ConversationUnbound,
        Self::DatabaseError,
        Self::ForbiddenHost,
        Self::ForbiddenOrigin,
        Self::InternalServerError,
        Self::InvalidInput,
        Self::MessageNotFound,
        Self::MethodNotAllowed,
        Self::ModelNotFound,
        Self::NotFound,
        Self::NotJson,
        Self::Overloaded,
        Self::ShuttingDown,
        Self::StaleParent,
        Self::StateConflict,
        Self::TooLarge,
        Self::TurnInProgress,
        Self::TurnNotFound,
        Self::Unauthorized,
    ];

    /// Status, code on the wire and title. The `type` is derived from the code.
    fn row(self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Self::ConversationNotFound => {
                (StatusCode::NOT_FOUND, "CONVERSATION_NOT_FOUND", "Conversation not found")
            }
            Self::ConversationUnbound => {
                (StatusCode::CONFLICT, "CONVERSATION_UNBOUND", "Conversation has no model")
            }
            Self::DatabaseError => (StatusCode::INTERNAL_SERVER_ERROR, "DATABASE_ERROR", "Storage failed"),
            Self::ForbiddenHost => (StatusCode::FORBIDDEN, "FORBIDDEN_HOST", "Host refused"),
            Self::ForbiddenOrigin => (StatusCode::FORBIDDEN, "FORBIDDEN_ORIGIN", "Origin refused"),
            Self::InternalServerError => {
                (StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL_SERVER_ERROR", "Internal error")
            }
            Self::InvalidInput => (StatusCode::UNPROCESSABLE_ENTITY, "INVALID_INPUT", "Invalid input"),
            Self::MessageNotFound => (StatusCode::NOT_FOUND, "MESSAGE_NOT_FOUND", "Message not found"),
            Self::MethodNotAllowed => {
                (StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", "Method not allowed")
            }
            Self::ModelNotFound => (StatusCode::NOT_FOUND, "MODEL_NOT_FOUND", "Model not found"),
            Self::NotFound => (StatusCode::NOT_FOUND, "NOT_FOUND", "Not found"),
            Self::NotJson => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "NOT_JSON", "Body is not JSON"),
            Self::Overloaded => (StatusCode::SERVICE_UNAVAILABLE, "OVERLOADED", "At capacity"),
            Self::ShuttingDown => (StatusCode::SERVICE_UNAVAILABLE, "SHUTTING_DOWN", "Shutting down"),
            Self::StaleParent => (StatusCode::CONFLICT, "STALE_PARENT", "Conversation has moved on"),
            Self::StateConflict => (StatusCode::CONFLICT, "STATE_CONFLICT", "State conflict"),
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "TOO_LARGE", "Body too large"),
            Self::TurnInProgress => (StatusCode::CONFLICT, "TURN_IN_PROGRESS", "Turn in progress"),
            Self::TurnNotFound => (StatusCode::NOT_FOUND, "TURN_NOT_FOUND", "Turn not found"),
            Self::Unauthorized => (StatusCode::UNAUTHORIZED, "UNAUTHORIZED", "Token required"),
        }
    }

    pub(crate) fn status(self) -> StatusCode {
        self.row().0
    }

    /// The stable path that names the problem, as in `/problems/turn-in-progress`.
    pub(crate) fn type_path(self) -> String {
        format!("/problems/{}", self.row().1.to_ascii_lowercase().replace('_', "-"))
    }
}

/// One violated rule of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldError {
    /// The part of the request: `body`, `query` or `path`.
    pub(crate) part: &'static str,
    /// The member of that part; `None` for the part as a whole.
    pub(crate) name: Option<String>,
    /// What is wrong, for people.
    pub(crate) msg: String,
    /// What is wrong, for programs.
    pub(crate) kind: &'static str,
}

/// A refusal. Turned into a document by `envelope`.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    code: Code,
    detail: String,
    errors: Vec<FieldError>,
    /// Further top-level members.
    extra: BTreeMap<&'static str, Value>,
}

impl Problem {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), errors: Vec::new(), extra: BTreeMap::new() }
    }

    /// A request that breaks rules; the detail names them all.
    pub(crate) fn invalid(errors: Vec<FieldError>) -> Self {
        let sentences: Vec<String> = errors.iter().map(sentence).collect();
        Self { errors, ..Self::new(Code::InvalidInput, sentences.join("; ")) }
    }

    /// A fault of ours. The cause has been logged and is not told.
    pub(crate) fn internal() -> Self {
        Self::new(Code::InternalServerError, "an unexpected error happened; the server's log has the cause")
    }

    pub(crate) fn no_such_conversation(id: ConversationId) -> Self {
        Self::new(Code::ConversationNotFound, format!("Conversation with ID {} not found", id.0))
    }

    pub(crate) fn no_such_message(id: MessageId) -> Self {
        Self::new(Code::MessageNotFound, format!("Message with ID {} not found", id.0))
    }

    pub(crate) fn no_such_llm(id: LlmId) -> Self {
        Self::new(Code::ModelNotFound, format!("Model with ID {} not found", id.0))
    }

    /// What the service said about conversation `id`.
    pub(crate) fn of_service(id: ConversationId, error: ServiceError) -> Self {
        match error {
            ServiceError::NoSuchConversation => Self::no_such_conversation(id),
            ServiceError::NoSuchLlm { .. }
            | ServiceError::OutOfRange(_)
            | ServiceError::TurnInProgress { .. }
            | ServiceError::Store(_) => error.into(),
        }
    }

    /// Why a question to conversation `id` was refused.
    pub(crate) fn of_ask(id: ConversationId, error: AskError) -> Self {
        match error {
            AskError::NoSuchConversation => Self::no_such_conversation(id),
            AskError::Blank => Self::invalid(vec![FieldError {
                part: "body",
                name: Some("question".into()),
                msg: "must not be blank".into(),
                kind: "value_error",
            }]),
            AskError::Unbound => Self::new(
                Code::ConversationUnbound,
                "the conversation's model was deleted; choose another one with PATCH llm_id",
            ),
            AskError::TurnInProgress { turn_uid } => Self::turn_in_progress(turn_uid),
            AskError::StaleParent { tip_id } => Self::stale_parent(tip_id),
            error @ AskError::Overloaded { .. } => Self::new(Code::Overloaded, error.to_string()),
            // Seats are declared by programs that embed the library; the server's turns have none.
            AskError::Undeclared(_) => Self::internal(),
            AskError::ShuttingDown => {
                Self::new(Code::ShuttingDown, "the server is shutting down; ask again when it is back")
            }
            AskError::Store(error) => error.into(),
        }
    }

    fn turn_in_progress(turn_uid: Option<Uid>) -> Self {
        let turn_id = turn_uid.map_or(Value::Null, |uid| hex::encode(uid.0).into());
        let detail = "a turn is running on this conversation; wait for it or stop it";
        Self { extra: BTreeMap::from([("turn_id", turn_id)]), ..Self::new(Code::TurnInProgress, detail) }
    }

    fn stale_parent(tip_id: Option<MessageId>) -> Self {
        let tip = tip_id.map_or(Value::Null, |id| id.0.into());
        let detail = "parent_id is not the last message any more; load the conversation and ask again";
        Self { extra: BTreeMap::from([("tip_id", tip)]), ..Self::new(Code::StaleParent, detail) }
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.code.status()
    }

    /// The document, for the request with that id.
    pub(crate) fn document<'a>(&'a self, request_id: &'a str) -> Document<'a> {
        let (status, code, title) = self.code.row();
        Document {
            r#type: self.code.type_path(),
            title,
            status: status.as_u16(),
            detail: &self.detail,
            request_id,
            success: false,
            error: ErrorPair { r#type: code, message: &self.detail },
            errors: self.errors.iter().map(ErrorEntry::from).collect(),
            extra: &self.extra,
        }
    }
}

/// A problem as it is sent.
#[derive(Debug, Serialize)]
pub(crate) struct Document<'a> {
    r#type: String,
    title: &'static str,
    status: u16,
    detail: &'a str,
    request_id: &'a str,
    success: bool,
    error: ErrorPair<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<ErrorEntry<'a>>,
    #[serde(flatten)]
    extra: &'a BTreeMap<&'static str, Value>,
}

#[derive(Debug, Serialize)]
struct ErrorPair<'a> {
    r#type: &'static str,
    message: &'a str,
}

#[derive(Debug, Serialize)]
struct ErrorEntry<'a> {
    loc: Vec<&'a str>,
    msg: &'a str,
    r#type: &'static str,
}

impl<'a> From<&'a FieldError> for ErrorEntry<'a> {
    fn from(error: &'a FieldError) -> Self {
        let loc = std::iter::once(error.part).chain(error.name.as_deref()).collect();
        Self { loc, msg: &error.msg, r#type: error.kind }
    }
}

impl IntoResponse for Problem {
    /// The status and the problem as an extension; `envelope` writes the body.
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// For calls that are not about one conversation; see [`Problem::of_service`] for the others.
impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::NoSuchConversation => Self::new(Code::ConversationNotFound, error.to_string()),
            ServiceError::NoSuchLlm { llm_id: Some(id) } => Self::no_such_llm(id),
            ServiceError::NoSuchLlm { llm_id: None } => Self::new(
                Code::ModelNotFound,
                "no model is installed; add one first, or name one with llm_id",
            ),
            ServiceError::OutOfRange(broken) => Self::invalid(broken.iter().map(out_of_range).collect()),
            ServiceError::TurnInProgress { turn_uid } => Self::turn_in_progress(turn_uid),
            ServiceError::Store(error) => error.into(),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::StaleOwner => {
                Self::new(Code::StateConflict, "somebody else owns the conversation now; load it again")
            }
            StoreError::TurnInProgress { turn_uid } => Self::turn_in_progress(turn_uid),
            StoreError::StaleParent { tip_id } => Self::stale_parent(tip_id),
            StoreError::NoSuchConversation => Self::new(Code::ConversationNotFound, error.to_string()),
            StoreError::NameTaken => Self::new(
                Code::StateConflict,
                "a model with this name is installed already; choose another name",
            ),
            StoreError::Newer { .. }
            | StoreError::DiskFull
            | StoreError::Unavailable(_)
            | StoreError::Corrupt(_) => {
                tracing::error!(error = &error as &dyn std::error::Error, "store failed");
                Self::new(Code::DatabaseError, error.to_string())
            }
        }
    }
}

/// A setting outside its range, as a violated rule of the body.
fn out_of_range(broken: &colloquy_core::conversation::OutOfRange) -> FieldError {
    FieldError { part: "body", name: Some(broken.field.into()), msg: broken.rule.into(), kind: "value_error" }
}

fn sentence(error: &FieldError) -> String {
    match &error.name {
        Some(name) => format!("Invalid input for '{name}': {}", error.msg),
        None => format!("Invalid {}: {}", error.part, error.msg),
    }
}

#[cfg(test)]
mod tests;
