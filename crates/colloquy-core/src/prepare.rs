//! Head and messages in, what the model sees out: the system text and turns that are `User` or
//! `Assistant` by type (I1), one per message; a dialect whose engine renders a template joins
//! turns of one role itself (I5).
//!
//! Text that is not ours has its control tokens broken here, so that every dialect and every
//! count sees the same bytes. The same branch yields the same prefix (I3), and a [`Preparer`]
//! keeps it: a further request costs what is new in it.

mod shown;

use std::{collections::HashMap, sync::Arc};

use shown::{Shown, Viewer};

use crate::{
    block::{Block, Skill},
    control_tokens::ControlTokens,
    head::RenderedHead,
    message::{Message, Origin, Role},
    tool::ToolDefinition,
};

/// What one model call is shown.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PreparedConversation {
    /// Admitted skills, before the system text on every wire.
    pub skills: Vec<Skill>,
    /// The rendered objective; empty when there is none.
    pub system: String,
    /// Whether a provider with explicit cache control caches the system content.
    pub cache_system: bool,
    /// The tools of the head. Late ones stand in the turns, see [`Self::all_tools`].
    pub palette: Vec<ToolDefinition>,
    /// The turns, oldest first, starting with `User`; turns of one role may follow each other.
    pub turns: Vec<Arc<PreparedTurn>>,
}

/// One turn as a dialect sends it.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedTurn {
    /// Who speaks.
    pub role: Role,
    /// What is said, control tokens broken. Never a [`Block::Value`]; never empty.
    pub blocks: Vec<Block>,
    /// How many of the blocks the next request will hold as well; what follows them is the
    /// volatile tail (response instructions, the artifact registry) and anchors no cache.
    pub n_stable: usize,
}

/// What is appended to a request and to no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tail<'a> {
    /// How to answer, on the last user turn.
    pub instructions: Option<&'a str>,
    /// The artifact registry, a user turn of its own at the very end.
    pub registry: Option<&'a str>,
}

/// For whom a conversation is prepared.
#[derive(Debug, Clone, PartialEq)]
pub struct Audience {
    /// What to break in text that is not ours.
    pub control_tokens: Arc<ControlTokens>,
    /// The model that will read it: signed reasoning goes back to its own model only.
    pub origin: Option<Origin>,
    /// See [`PreparedConversation::cache_system`].
    pub cache_system: bool,
}

/// Prepares the requests of one branch, each from where the one before ended.
///
/// What it keeps is only ever compared with what it is given, so a branch that was rewritten,
/// compacted or switched is prepared anew from where it differs, and never from a stale turn.
#[derive(Debug, Clone, Default)]
pub struct Preparer {
    audience: Option<Audience>,
    /// What is shown of each message of the branch as it was last seen, in order.
    shown: Vec<Shown>,
}

/// What a message without anything to show is, where a user turn must stand.
const EMPTY: &str = "[empty]";

impl Preparer {
    /// What the model is shown of `messages`, oldest first and in repair: pass what came out of
    /// [`crate::repair::repair`]. The audience is the same in every call, or the work begins anew.
    pub fn prepare(
        &mut self,
        head: &RenderedHead,
        messages: &[Message],
        audience: &Audience,
        tail: Tail<'_>,
    ) -> PreparedConversation {
        self.follow(messages, audience);
        let mut turns: Vec<Arc<PreparedTurn>> = Vec::with_capacity(messages.len() + 2);
        for (shown, message) in self.shown.iter().zip(messages) {
            match &shown.turn {
                Some(turn) => turns.push(Arc::clone(turn)),
                // Two assistant turns must not meet over a user message that shows nothing. Whether
                // it is needed is told by what stands before it, so the prefix stays (I3).
                None if message.role() == Role::User && !ends_with_user(&turns) => {
                    turns.push(user_turn(EMPTY, Volatility::Stable));
                }
                None => {}
            }
        }
        let broken = |text: &str| audience.control_tokens.break_in(text).into_owned();
        if let Some(instructions) = tail.instructions.filter(|text| !text.trim().is_empty()) {
            append_instructions(&mut turns, broken(instructions));
        }
        if let Some(registry) = tail.registry.filter(|text| !text.trim().is_empty()) {
            turns.push(user_turn(broken(registry), Volatility::Volatile));
        }
        PreparedConversation {
            skills: head.skills.clone(),
            system: head.system.clone(),
            cache_system: audience.cache_system,
            palette: head.palette.clone(),
            turns,
        }
    }

    /// Brings what is kept in line with `messages`.
    fn follow(&mut self, messages: &[Message], audience: &Audience) {
        if self.audience.as_ref() != Some(audience) {
            self.audience = Some(audience.clone());
            self.shown.clear();
        }
        let viewer = Viewer { control_tokens: &audience.control_tokens, origin: audience.origin.as_ref() };
        let pairs = self.shown.iter().zip(messages);
        let n_kept = pairs.take_while(|(shown, message)| shown.is_of(message, viewer)).count();
        self.shown.truncate(n_kept);
        self.shown.extend(messages[n_kept..].iter().map(|message| Shown::of(message, viewer)));
    }
}

impl PreparedConversation {
    /// Whether there is a system text.
    pub fn has_system_text(&self) -> bool {
        !self.system.is_empty()
    }

    /// The palette and every tool announced in the turns, by name in the order of first
    /// appearance, a later definition winning.
    pub fn all_tools(&self) -> Vec<&ToolDefinition> {
        let late = self
            .turns
            .iter()
            .flat_map(|turn| &turn.blocks)
            .filter_map(|block| if let Block::ToolDefinition(tool) = block { Some(tool) } else { None });
        let mut tools: Vec<&ToolDefinition> = Vec::new();
        let mut places = HashMap::new();
        for tool in self.palette.iter().chain(late) {
            let place = *places.entry(tool.name.as_str()).or_insert(tools.len());
            match tools.get_mut(place) {
                Some(held) => *held = tool,
                None => tools.push(tool),
            }
        }
        tools
    }
}

/// Whether the next request of the branch holds a turn again.
enum Volatility {
    Stable,
    Volatile,
}

fn user_turn(text: impl Into<String>, volatility: Volatility) -> Arc<PreparedTurn> {
    let n_stable = match volatility {
        Volatility::Stable => 1,
        Volatility::Volatile => 0,
    };
    Arc::new(PreparedTurn { role: Role::User, blocks: vec![Block::Text(text.into())], n_stable })
}

fn ends_with_user(turns: &[Arc<PreparedTurn>]) -> bool {
    turns.last().is_some_and(|turn| turn.role == Role::User)
}

/// Instructions go to the message that is being answered, and to no other.
fn append_instructions(turns: &mut Vec<Arc<PreparedTurn>>, instructions: String) {
    match turns.last_mut().filter(|last| last.role == Role::User) {
        // The kept turn is shared with the next request, so this one gets a copy.
        Some(asked) => Arc::make_mut(asked).blocks.push(Block::Text(instructions)),
        None => turns.push(user_turn(instructions, Volatility::Volatile)),
    }
}

#[cfg(test)]
mod tests;
