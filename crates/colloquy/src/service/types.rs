//! What callers hand to the service and get back from it.

use colloquy_core::{
    conversation::SettingsChange,
    message::{LlmId, MessageId, Uid},
};

use super::running::StopOnDrop;
use crate::{
    ports::{Overloaded, StoreError},
    stream::EventReader,
};

/// How often and how long, in milliseconds unless the name says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// How often events of running turns go to the store. 250.
    pub flush_ms: u64,
    /// How long a lease holds without a heartbeat. 10,000.
    pub lease_ms: u64,
    /// How often leases are renewed. 3,000.
    pub lease_heartbeat_ms: u64,
    /// How long the events of an ended turn are kept. 3,600,000.
    pub event_keep_ms: u64,
    /// How often they are swept. 300,000.
    pub sweep_ms: u64,
    /// The pause before a remote call that failed in passing is tried again; four times as long
    /// before the third try. 500.
    pub retry_pause_ms: u64,
}

/// A conversation to create; what is `None` is resolved from the model and the defaults.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Create {
    /// The model; `None` takes the default one.
    pub llm_id: Option<LlmId>,
    /// What it sets itself.
    pub settings: SettingsChange,
}

/// A question and what holds for this turn only.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ask {
    /// The question's text; not blank.
    pub text: String,
    /// The tip it is asked on, when the client names one.
    pub parent_id: Option<MessageId>,
    /// Overrides the conversation's.
    pub temperature: Option<f64>,
    /// Overrides the conversation's.
    pub top_p: Option<f64>,
    /// Overrides the conversation's, also when empty.
    pub custom_prompt: Option<String>,
}

/// A running turn, from its durable question on. Dropping it stops the turn, if it still runs.
pub struct TurnHandle {
    /// Its identity.
    pub turn_uid: Uid,
    /// The question's message.
    pub question_id: MessageId,
    /// Follows its events from the first.
    pub reader: EventReader,
    pub(super) _stop: StopOnDrop,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            flush_ms: 250,
            lease_ms: 10_000,
            lease_heartbeat_ms: 3_000,
            event_keep_ms: 3_600_000,
            sweep_ms: 300_000,
            retry_pause_ms: 500,
        }
    }
}

/// What a stop found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped {
    /// The turn that was running and is closed now.
    pub turn_uid: Option<Uid>,
}

/// Why a turn was not started. Nothing was stored.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Also for a conversation of somebody else.
    #[error("no such conversation")]
    NoSuchConversation,
    /// The question has no text.
    #[error("the question is blank")]
    Blank,
    /// The conversation's model was deleted.
    #[error("the conversation is bound to no model")]
    Unbound,
    /// A turn runs.
    #[error("a turn is running on the conversation")]
    TurnInProgress {
        /// Its identity, when it is known.
        turn_uid: Option<Uid>,
    },
    /// `parent_id` is not the tip.
    #[error("the conversation has moved on")]
    StaleParent {
        /// The tip now.
        tip_id: Option<MessageId>,
    },
    /// Too many turns wait for the engine.
    #[error(transparent)]
    Overloaded(#[from] Overloaded),
    /// The program is ending.
    #[error("the program is shutting down")]
    ShuttingDown,
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
}

/// Why another operation failed.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// Also for a conversation of somebody else.
    #[error("no such conversation")]
    NoSuchConversation,
    /// The model named does not exist, or none is installed.
    #[error("no such model")]
    NoSuchLlm {
        /// The one named.
        llm_id: Option<LlmId>,
    },
    /// Settings out of range, all of them.
    #[error("settings out of range")]
    OutOfRange(Vec<colloquy_core::conversation::OutOfRange>),
    /// A turn runs on the conversation.
    #[error("a turn is running on the conversation")]
    TurnInProgress {
        /// Its identity, when it is known.
        turn_uid: Option<Uid>,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
