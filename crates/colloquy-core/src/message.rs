//! Messages: the rows of the append-only tree, immutable once committed (design § 3).

use crate::block::{Block, ToolCall, ToolResult};

/// Milliseconds since the Unix epoch, UTC.
pub type TimeMs = i64;

/// A store's local identifier of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConversationId(pub i64);

/// A store's local identifier of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(pub i64);

/// A store's local identifier of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TurnId(pub i64);

/// A store's local identifier of an installed model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LlmId(pub i64);

/// Sixteen random bytes: the identity that survives export, import and migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uid(pub [u8; 16]);

/// Who a message speaks for. Tool results count as `User` (I5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The person, the tools, or the application on their behalf.
    User,
    /// The model.
    Assistant,
}

/// What a message is for. The kind fixes the role, see [`Kind::role`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A person's message that a turn answers.
    Question,
    /// A person's message that reached a turn while it ran.
    Steer,
    /// The tool results of one step.
    Results,
    /// An assistant message with tool calls.
    Call,
    /// An assistant message that ends a turn.
    Answer,
    /// An assistant message that Colloquy wrote to close a turn that could not answer.
    Closing,
    /// A late tool or legend, standing in front of the question it precedes.
    Announcement,
}

impl Kind {
    /// The role that goes with this kind.
    pub fn role(self) -> Role {
        match self {
            Self::Question | Self::Steer | Self::Results | Self::Announcement => Role::User,
            Self::Call | Self::Answer | Self::Closing => Role::Assistant,
        }
    }
}

/// Which model wrote an assistant message, and over which wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The installed model, if it was one.
    pub llm_id: Option<LlmId>,
    /// The wire, such as `openai` or `anthropic`.
    pub dialect: String,
    /// The model's name on that wire.
    pub model: String,
}

/// Tokens of one step, as the engine reported them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Prompt tokens we predicted, where a counter was at hand.
    pub predicted_tokens: Option<u32>,
    /// Prompt tokens the engine counted.
    pub prompt_tokens: Option<u32>,
    /// How many of them the engine took from its cache.
    pub reused_tokens: Option<u32>,
    /// How many of them the engine wrote to a cache that bills for it.
    pub cache_write_tokens: Option<u32>,
    /// Tokens generated, reasoning included.
    pub output_tokens: Option<u32>,
}

impl Usage {
    /// Tokens written to the provider's cache, billed at its write price.
    pub fn cache_creation(&self) -> u32 {
        self.cache_write_tokens.unwrap_or(0)
    }

    /// Tokens read from the cache, billed at its read price.
    pub fn cache_read(&self) -> u32 {
        self.reused_tokens.unwrap_or(0)
    }

    /// Reads over reads and writes, 0.0 to 1.0; 0.0 where there was no cache.
    pub fn hit_rate(&self) -> f64 {
        let (read, written) = (f64::from(self.cache_read()), f64::from(self.cache_creation()));
        if read + written == 0.0 { 0.0 } else { read / (read + written) }
    }
}

/// Why a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    /// The model was done.
    Stop,
    /// The token limit or the end of the window cut it.
    Length,
    /// The model asked for tools.
    ToolCalls,
    /// The provider withheld the rest.
    Refusal,
}

/// One committed message of a branch.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The store's identifier.
    pub id: MessageId,
    /// The portable identifier.
    pub uid: Uid,
    /// The message before it on its branch; `None` only for the first.
    pub parent_id: Option<MessageId>,
    /// Distance from the first message, which has 0.
    pub depth: u32,
    /// The turn that wrote it.
    pub turn_id: TurnId,
    /// The step of that turn, from 0.
    pub step: u32,
    /// What it is for.
    pub kind: Kind,
    /// Written by Colloquy or the embedding program rather than by a person or a model.
    pub app_authored: bool,
    /// Whether a compaction may replace it.
    pub compactable: bool,
    /// Its content, in order.
    pub blocks: Vec<Block>,
    /// Which model wrote it; assistants only.
    pub origin: Option<Origin>,
    /// What its step cost; assistants only.
    pub usage: Option<Usage>,
    /// Why its step ended; assistants only.
    pub finish_reason: Option<FinishReason>,
    /// When it was committed.
    pub created_at: TimeMs,
    /// When its content was removed on request, if it was.
    pub redacted_at: Option<TimeMs>,
}

impl Message {
    /// The role that its kind fixes.
    pub fn role(&self) -> Role {
        self.kind.role()
    }

    /// All text blocks, joined without a separator: the text a reader was shown.
    pub fn text(&self) -> String {
        text_of(&self.blocks)
    }

    /// The tool calls it makes, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(Block::as_call)
    }

    /// The tool results it carries, in order.
    pub fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.blocks.iter().filter_map(Block::as_result)
    }
}

/// The text blocks of `blocks`, joined without a separator.
pub fn text_of(blocks: &[Block]) -> String {
    blocks.iter().filter_map(Block::as_text).collect()
}
