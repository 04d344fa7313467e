//! What a position in code asks of a model (its seat) and what an entry of the catalog can give:
//! grade, depth, output size, and the numbers that follow (runtime page, "The seat's
//! declarations", "Output Budget Resolution"; reference § 14 and § 16).
//!
//! What nobody declared is refused, never invented; the one number that comes out is booked here
//! and sent on the wire.

mod resolve;
mod spec;

use std::num::NonZeroU32;

use crate::{
    block::Block,
    message::{Message, Role},
};

pub use resolve::resolve;
pub use spec::{BadSpec, ModelSpec, ThinkingMode, ToolWire};

/// The least budget that a provider takes for thinking, in tokens.
pub const THINKING_TOKENS_MIN: u32 = 1_024;

/// How strong a model must be; an over-qualified one may serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grade {
    /// The smallest.
    Micro,
    /// Above micro.
    Small,
    /// Above small.
    Medium,
    /// Above medium.
    Large,
    /// Above large.
    Xl,
    /// The highest rung.
    Mega,
    /// The strongest served here: not a rung, comparable with none.
    Ceiling,
}

/// How much effort an answer is worth, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// No thinking.
    Immediate,
    /// A little.
    Quick,
    /// What most answers take.
    Standard,
    /// With care.
    Thorough,
    /// With all care.
    UltraThorough,
}

/// How large an answer may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputSize {
    /// 1,024 tokens: a label, a boolean, one field.
    Verdict,
    /// 4,096 tokens: a handful of fields, a short list, a tool call.
    Compact,
    /// 16,384 tokens: a rich object, a table, a typical final answer.
    Standard,
    /// 32,768 tokens: a section, a report, a long list.
    Extended,
    /// As much as the model can.
    Max,
    /// A number of tokens, at least 1, for what fits no rung.
    Tokens(NonZeroU32),
}

/// What a seat declares. What is `None` is asked of the next layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seat {
    /// The model's strength.
    pub grade: Option<Grade>,
    /// The effort.
    pub depth: Option<Depth>,
    /// The size of the answer.
    pub output: Option<OutputSize>,
    /// Whether a person waits for the answer.
    pub interactive: bool,
}

/// Nobody declared what the answer needs: a fault of the program, never a number to invent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("neither the request, the conversation nor the model's binding declares {what}")]
pub struct Undeclared {
    /// `an output size` or `a depth`, or that `max` is no number for a model of unknown limits.
    pub what: &'static str,
}

/// What a call asks of the model's thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Thinking {
    /// Nothing is said; the server's own default holds.
    #[default]
    Unset,
    /// It is switched off where the wire can.
    Off,
    /// So many tokens of the limit may go into it.
    Budget {
        /// At least 1,024.
        tokens: u32,
    },
    /// Adaptive, steered by `low`, `medium` or `high`.
    Adaptive {
        /// The word.
        effort: &'static str,
    },
    /// By effort alone, steered by `none`, `low`, `medium` or `high`.
    Effort {
        /// The word.
        effort: &'static str,
    },
}

/// What one call is given, resolved. The same number is booked and sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Tokens of the answer alone.
    pub output: u32,
    /// Answer and booked reasoning: the token limit on the wire.
    pub reserve: u32,
    /// The most the model could emit, where that is known.
    pub ceiling: Option<u32>,
    /// What is asked of its thinking.
    pub thinking: Thinking,
    /// Whether a reasoning block is sure to come back; the response contract asks for none then.
    pub thinking_active: bool,
}

/// The layers of a declaration, from the most particular.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layers {
    /// What the message being answered asks for.
    pub request: Option<OutputSize>,
    /// The conversation's declaration.
    pub conversation: Seat,
    /// The binding's declaration.
    pub binding: Seat,
}

/// What the messages of a conversation carry besides text, for the check against what a request
/// declared and a model accepts. It never picks the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CarriedInputs {
    /// A picture.
    pub images: bool,
    /// A document.
    pub documents: bool,
}

impl Grade {
    /// Whether a model of this grade may serve a seat that asks for `floor`. The ceiling is no
    /// rung: it serves only who asks for it, and who asks for it takes nothing else.
    pub fn serves(self, floor: Self) -> bool {
        match (self.rung(), floor.rung()) {
            (Some(rung), Some(floor)) => rung >= floor,
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    fn rung(self) -> Option<u8> {
        match self {
            Self::Micro => Some(0),
            Self::Small => Some(1),
            Self::Medium => Some(2),
            Self::Large => Some(3),
            Self::Xl => Some(4),
            Self::Mega => Some(5),
            Self::Ceiling => None,
        }
    }
}

impl Depth {
    /// The word that steers a model's effort.
    pub fn effort(self) -> &'static str {
        match self {
            Self::Immediate | Self::Quick => "low",
            Self::Standard => "medium",
            Self::Thorough | Self::UltraThorough => "high",
        }
    }
}

impl Seat {
    /// The seat of a call that is one turn: no thinking, and an answer of at most `backstop` tokens.
    pub fn single_turn(backstop: NonZeroU32) -> Self {
        Self {
            depth: Some(Depth::Immediate),
            output: Some(OutputSize::Tokens(backstop)),
            grade: None,
            interactive: false,
        }
    }
}

/// What the user's side of `messages` carries, anywhere in it.
pub fn carried_inputs(messages: &[Message]) -> CarriedInputs {
    let mut carried = CarriedInputs::default();
    let sent = messages.iter().filter(|message| message.role() == Role::User);
    for block in sent.flat_map(|message| &message.blocks) {
        match block {
            Block::Image(_) => carried.images = true,
            Block::File(_) => carried.documents = true,
            Block::Text(_)
            | Block::Value(_)
            | Block::Json(_)
            | Block::ToolDefinition(_)
            | Block::ToolCall(_)
            | Block::ToolResult(_)
            | Block::Reasoning(_)
            | Block::RedactedReasoning(_)
            | Block::Skill(_) => {}
        }
    }
    carried
}

#[cfg(test)]
mod tests;
