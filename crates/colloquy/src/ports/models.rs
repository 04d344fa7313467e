//! The model side: admission to an engine, opening it, and one streamed call.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use colloquy_core::{
    block::ToolCall,
    control_tokens::ControlTokens,
    message::{FinishReason, Usage},
    prepare::PreparedConversation,
    seat::{ModelSpec, Thinking},
    tool::ToolChoice,
    turn::{Failure, Locality},
};
use futures::stream::BoxStream;
use tokio::sync::mpsc;

use super::rows::LlmRow;

/// Every model this process can reach. Owns the one local engine and the limits on both kinds.
#[async_trait]
pub trait Models: Send + Sync {
    /// Takes a place in the queue for this model, without waiting. Called before anything is
    /// stored, so that a full queue is refused with 503 and leaves no trace.
    ///
    /// `None` is a conversation that names no installed model: the one model of a program that has
    /// only one answers it, and [`NotAdmitted::Unbound`] says that there is none.
    fn admit(&self, llm: Option<&LlmRow>) -> Result<Box<dyn Ticket>, NotAdmitted>;

    /// The window the loaded engine runs `llm` with, if it is loaded now.
    fn allocated_window(&self, llm: &LlmRow) -> Option<u32>;

    /// Ends every engine and waits until it is gone. Idempotent.
    async fn shut_down(&self);
}

/// A place in a model's queue. Dropping it gives the place back.
#[async_trait]
pub trait Ticket: Send + Sync {
    /// Whether the model is a child of ours or somebody's server.
    fn locality(&self) -> Locality;

    /// What is known of the model before it is opened.
    fn spec(&self) -> Arc<ModelSpec>;

    /// Waits for the engine, starts it if need be, and holds it until [`Opened`] is dropped.
    /// Cancel by dropping the future. Notices are advisory: a full channel loses them.
    async fn open(self: Box<Self>, notices: mpsc::Sender<LoadNotice>) -> Result<Opened, ModelError>;
}

/// What a waiting reader is told while an engine is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadNotice {
    /// Other turns are before this one.
    Waiting,
    /// The engine is starting or loading weights.
    Loading,
    /// The model had been unloaded because nobody used it; it is being loaded again.
    Reload,
}

/// An engine that is held for one turn: it is not unloaded or exchanged while this lives.
pub struct Opened {
    /// Speaks to it.
    pub model: Arc<dyn Model>,
    /// What it can do, the window it allocated or declared included.
    pub spec: Arc<ModelSpec>,
    /// What to break in text that is not ours.
    pub control_tokens: Arc<ControlTokens>,
    /// Keeps the engine; released on drop.
    pub hold: Box<dyn Send + Sync>,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened").field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// One model behind one wire.
#[async_trait]
pub trait Model: Send + Sync {
    /// Starts one call. Dropping the stream ends the call at the engine too.
    ///
    /// Errors that come before the first chunk are the outer `Err`; later ones end the stream.
    async fn call(
        &self,
        call: ModelCall,
    ) -> Result<BoxStream<'static, Result<ModelChunk, ModelError>>, ModelError>;

    /// The wire and the model's name on it, for [`colloquy_core::message::Origin`].
    fn name(&self) -> (&'static str, String);
}

/// One call: what the model sees and how it samples.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCall {
    /// What it sees.
    pub prepared: PreparedConversation,
    /// How it samples.
    pub sampling: Sampling,
    /// The rest.
    pub options: CallOptions,
}

/// Sampling parameters of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// 0.0 to 2.0.
    pub temperature: f64,
    /// 0.0 to 1.0.
    pub top_p: f64,
    /// Sent where the model's own defaults define it and the wire knows it.
    pub top_k: Option<u32>,
    /// As `top_k`.
    pub min_p: Option<f64>,
    /// As `top_k`.
    pub presence_penalty: Option<f64>,
    /// Sent to llama only, with the number of tokens it looks back.
    pub repetition_penalty: f64,
    /// How many tokens back the repetition penalty looks.
    pub repetition_context_size: u32,
}

/// What else a call carries.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallOptions {
    /// Token limit of the answer, reasoning included; `None` sends none.
    pub max_tokens: Option<u32>,
    /// The window, for the limit on silence.
    pub window_tokens: Option<u32>,
    /// What is asked of the model's thinking.
    pub thinking: Thinking,
    /// Whether it may call tools.
    pub tool_choice: ToolChoice,
    /// The shape that the answer is held to, on wires that can; without tools only.
    pub response_format: Option<ResponseFormat>,
}

/// A JSON Schema that an answer is held to.
#[derive(Debug, Clone, PartialEq)]
pub struct ResponseFormat {
    /// The type's name.
    pub name: String,
    /// The schema, without keywords of ours.
    pub schema: serde_json::Value,
}

/// A piece of a streamed call, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelChunk {
    /// How much of the prompt has been read, in tokens.
    Reading {
        /// Tokens read.
        done: u32,
        /// Tokens in all.
        total: u32,
    },
    /// Text of the content channel; inline `<think>` is not split yet.
    Text(String),
    /// Text of the server's reasoning field.
    Reasoning(String),
    /// The provider's proof of the reasoning that came before; ends that block.
    ReasoningSignature(String),
    /// Reasoning that the provider keeps to itself, whole.
    RedactedReasoning(String),
    /// A tool call, whole. Pieces are joined in the dialect, interleaved ones too; a call that the
    /// end of the call cut off is given with what there is of it, and never run: the finish
    /// reason says so.
    ToolCall(ToolCall),
    /// The call ended. Always the last chunk, exactly once, unless the stream ends in an error.
    End {
        /// Why. A limit that was reached counts as [`FinishReason::Length`] whatever the server
        /// calls it.
        finish_reason: FinishReason,
        /// What it cost. `prompt_tokens` is the grand total, cache reads and writes included.
        usage: Usage,
    },
}

/// A call or a start that failed, classified once, in the dialect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the model call failed: {0:?}")]
pub struct ModelError(pub Failure);

/// Why a turn got no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAdmitted {
    /// The queue of the engine is full.
    #[error("{waiting} turns are waiting for this model already")]
    Overloaded {
        /// How many wait.
        waiting: usize,
    },
    /// No model was named and there is none that answers all.
    #[error("the conversation is bound to no model")]
    Unbound,
}
