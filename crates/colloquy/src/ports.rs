//! What Colloquy needs from the outside: a store, models, a clock, identifiers.
//!
//! The traits live here, with their consumer; implementations live in crates that point here.
//! They are object-safe, since a back end is chosen at run time.

mod clock;
mod models;
mod rows;
mod store;

pub use colloquy_core::tool::ToolChoice;

pub use clock::{Clock, IdSource, OsIds, SystemClock};
pub use models::{
    CallOptions, LoadNotice, Model, ModelCall, ModelChunk, ModelError, Models, NotAdmitted, Opened,
    ResponseFormat, Sampling, Ticket,
};
pub use rows::{
    AppendedQuestion, Commit, Committed, ConversationPatch, ConversationRow, EngineKind, EventChunk,
    InboxMessage, Lease, LlmRow, NewConversation, NewLlm, NewMessage, OpenTurn, Page, Principal, Question,
    StepCommit, StoredHead, StoredMessage, Take, ToolRun, ToolRunState, TurnRow, TurnState, View,
};
pub use store::{Store, StoreError};
