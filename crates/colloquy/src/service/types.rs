//! What callers hand to the service and get back from it.

use std::sync::Arc;

use colloquy_core::{
    block::{Block, File, Image},
    conversation::SettingsChange,
    message::{LlmId, MessageId, Uid},
    schema::Descriptor,
    seat::{OutputSize, Undeclared},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::running::StopOnDrop;
use crate::{
    ports::{NotAdmitted, StoreError},
    stream::EventReader,
    tool::{DescribeError, describe},
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
    /// Overrides the conversation's, also when empty. Of server conversations only.
    pub custom_prompt: Option<String>,
    /// How large this answer may be. Of a program's conversations only.
    pub output: Option<OutputSize>,
    /// Whether the model has to call a tool before it answers. Without effect where none is declared.
    pub requires_tool: bool,
    /// What is asked with beside the text, in order.
    pub parts: Vec<AskPart>,
}

/// A part of a question.
#[derive(Debug, Clone, PartialEq)]
pub enum AskPart {
    /// A block as it is.
    Block(Block),
    /// A value, whose artifacts are registered when it is asked with.
    Value {
        /// The simple name of its type.
        type_name: String,
        /// In full, artifacts marked.
        value: serde_json::Value,
        /// What it is.
        descriptor: Arc<Descriptor>,
    },
}

impl Ask {
    /// A question of that text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// With an answer of at most that size.
    #[must_use]
    pub fn output(mut self, size: OutputSize) -> Self {
        self.output = Some(size);
        self
    }

    /// With an answer that rests on a tool: the model has to call one first.
    #[must_use]
    pub fn requiring_tool(mut self) -> Self {
        self.requires_tool = true;
        self
    }

    /// At that temperature, 0.0 to 2.0.
    #[must_use]
    pub fn at_temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// With a picture, such as `image/png`.
    #[must_use]
    pub fn image(self, media_type: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Self {
        let (media_type, bytes) = (media_type.into(), bytes.into());
        self.block(Block::Image(Image { media_type, bytes, description: None }))
    }

    /// With a file. One of type `text/…` that is UTF-8 is sent as text under its name.
    #[must_use]
    pub fn file(
        self,
        name: impl Into<String>,
        media_type: impl Into<String>,
        bytes: impl Into<Arc<[u8]>>,
    ) -> Self {
        let (name, media_type, bytes) = (name.into(), media_type.into(), bytes.into());
        match std::str::from_utf8(&bytes) {
            Ok(text) if media_type.starts_with("text/") => {
                self.block(Block::Text(format!("{name}:\n{text}")))
            }
            Ok(_) | Err(_) => self.block(Block::File(File { media_type, bytes, name })),
        }
    }

    /// With a value of the program's, its artifacts by reference. Fails where its type cannot be
    /// described or its value not be serialised.
    pub fn value<T: Serialize + JsonSchema>(mut self, value: &T) -> Result<Self, DescribeError> {
        let type_name = T::schema_name().into_owned();
        let descriptor = describe::<T>()?;
        let value =
            serde_json::to_value(value).map_err(|_| DescribeError::Value { what: type_name.clone() })?;
        self.parts.push(AskPart::Value { type_name, value, descriptor });
        Ok(self)
    }

    fn block(mut self, block: Block) -> Self {
        self.parts.push(AskPart::Block(block));
        self
    }
}

impl From<&str> for Ask {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Ask {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// A running turn, from its durable question on. Dropping it stops the turn, if it still runs.
pub struct TurnHandle {
    /// Its identity.
    pub turn_uid: Uid,
    /// The question's message.
    pub question_id: MessageId,
    /// Follows its events from the first.
    pub reader: EventReader,
    pub(super) stop: StopOnDrop,
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
    #[error("{waiting} turns are waiting for this model already")]
    Overloaded {
        /// How many.
        waiting: usize,
    },
    /// Nothing says how large the answer may be, or how much effort it is worth.
    #[error(transparent)]
    Undeclared(#[from] Undeclared),
    /// The program is ending.
    #[error("the program is shutting down")]
    ShuttingDown,
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
}

impl From<NotAdmitted> for AskError {
    fn from(refusal: NotAdmitted) -> Self {
        match refusal {
            NotAdmitted::Overloaded { waiting } => Self::Overloaded { waiting },
            NotAdmitted::Unbound => Self::Unbound,
        }
    }
}

/// Why a message was not accepted by a running turn. Nothing was stored.
#[derive(Debug, thiserror::Error)]
pub enum SteerError {
    /// No turn runs, or it is about to end: ask instead.
    #[error("no turn is running that takes a message")]
    NoTurn,
    /// Too many messages wait for it.
    #[error("too many messages wait for the turn already")]
    Full,
    /// The message has no text.
    #[error("the message is blank")]
    Blank,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
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
