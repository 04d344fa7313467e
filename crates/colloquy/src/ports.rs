//! What Colloquy needs from the outside: a store, models, a clock, identifiers.
//!
//! The traits live here, with their consumer; implementations live in crates that point here.
//! They are object-safe, since a back end is chosen at run time.

mod clock;
mod models;
mod store;

pub use clock::{Clock, IdSource, OsIds, SystemClock};
pub use models::{
    CallOptions, LoadNotice, Model, ModelCall, ModelChunk, ModelError, Models, Opened, Overloaded, Sampling,
    Ticket,
};
pub use store::{
    AppendedQuestion, Commit, Committed, ConversationPatch, ConversationRow, EngineKind, EventChunk, Lease,
    LlmRow, NewConversation, NewLlm, NewMessage, OpenTurn, Page, Principal, Question, Store, StoreError,
    StoredMessage, Take, ToolRun, ToolRunState, TurnRow, TurnState, View,
};
