//! The head of one instance of a conversation: objective and palette, frozen at its first render.
//!
//! What a conversation renders brings its companions along: the legend where the schema notation
//! is used, the guidance on tool weights where there are tools. Before the freeze they join the
//! head; after it they are announced in the stream, in front of a pending question (I2, I3).
//! What the model has been told is read off the objective and the messages, never kept beside them.

use std::{collections::HashSet, sync::Arc};

use crate::{
    block::{Block, Skill},
    contract::LEGEND,
    control_tokens::ControlTokens,
    message::{Kind, Message, Role},
    objective::{
        LEGEND_SLOT, Objective, SKILL_SLOT_PREFIX, TOOL_SLOT_PREFIX, TOOL_WEIGHTS_SLOT, is_blank,
        renders_alike,
    },
    tool::{DeclaredTool, Palette, ToolDefinition},
};

/// What became of a put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a refused put changed nothing"]
pub enum Put {
    /// The slot holds the value.
    Placed,
    /// The slot rendered like this already, or the value was blank.
    Unchanged,
    /// The head is frozen and the value would change it; nothing was changed.
    Refused,
}

/// Whether the answer that is asked for is described in the schema notation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// It is, so the model needs the legend.
    Used,
    /// It is not.
    Unused,
}

/// Objective and palette of one instance. It lives from its creation or restoration until the
/// next star, settings, tool or model change, and never persists its freeze.
#[derive(Debug, Clone, Default)]
pub struct Head {
    objective: Objective,
    palette: Palette,
    /// Emptied since it was created or restored: no stored prefix is left that could be kept.
    is_emptied: bool,
    frozen: Option<Arc<RenderedHead>>,
}

/// A head as every request of the instance carries it.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderedHead {
    /// Admitted skills; they stand before the system text.
    pub skills: Vec<Skill>,
    /// The objective's texts, joined by blank lines, control tokens broken.
    pub system: String,
    /// The tools known at the first render.
    pub palette: Vec<ToolDefinition>,
}

impl Head {
    /// A head out of what was stored: free until its own first render.
    pub fn restored(objective: Objective, palette: Vec<ToolDefinition>) -> Self {
        let mut head = Self { objective, ..Self::default() };
        for definition in palette {
            head.declare(Arc::new(definition));
        }
        head
    }

    /// Puts a value into a slot.
    pub fn put(&mut self, key: &str, value: Block) -> Put {
        let held = self.objective.find(key);
        if is_blank(&value) || held == Some(&value) {
            return Put::Unchanged;
        }
        if self.is_frozen() {
            let is_alike = held.is_some_and(|held| renders_alike(held, &value));
            return if is_alike { Put::Unchanged } else { Put::Refused };
        }
        self.objective.put(key, value);
        Put::Placed
    }

    /// Empties the objective; derived slots come back at the next render if their cause remains.
    pub fn nuke(&mut self) -> Put {
        if self.objective.is_empty() {
            return Put::Unchanged;
        }
        if self.is_frozen() {
            return Put::Refused;
        }
        self.objective.nuke();
        self.is_emptied = true;
        Put::Placed
    }

    /// Admits a skill, once per name: a name that is known keeps its instructions.
    pub fn admit(&mut self, skill: Skill) -> Put {
        let key = format!("{SKILL_SLOT_PREFIX}{}", skill.name);
        if self.objective.find(&key).is_some() {
            return Put::Unchanged;
        }
        self.put(&key, Block::Skill(skill))
    }

    /// Declares a tool unless its name is taken; whether it was added.
    pub fn declare(&mut self, tool: Arc<dyn DeclaredTool>) -> bool {
        self.palette.declare(tool)
    }

    /// The objective as it stands.
    pub fn objective(&self) -> &Objective {
        &self.objective
    }

    /// The tools announced so far: those in the objective and those in `messages`, in order.
    pub fn announced(&self, messages: &[Message]) -> Vec<ToolDefinition> {
        let mut seen = HashSet::new();
        let told = self.objective.tools().chain(told_tools(messages));
        told.filter(|tool| seen.insert(tool.name.as_str())).cloned().collect()
    }

    /// Reconciles legend and tools with what the model has been told. A head that is free and a
    /// conversation that has not spoken yet take them into the head; otherwise gives the blocks of
    /// the message that announces them, in order; empty when there is nothing new.
    ///
    /// A restored head is free although its conversation has spoken. What is new is announced
    /// then as well, so that the stored prefix stays as it is.
    pub fn reconcile(&mut self, messages: &[Message], notation: Notation) -> Vec<Block> {
        let has_spoken = messages.iter().any(|message| message.role() == Role::Assistant);
        let is_late = self.is_frozen() || (has_spoken && !self.is_emptied);
        self.refresh_companions();
        let mut texts = Vec::new();
        if notation == Notation::Used && self.objective.find(LEGEND_SLOT).is_none() {
            if !is_late {
                self.objective.put(LEGEND_SLOT, Block::Text(LEGEND.to_owned()));
            } else if !was_told(messages, LEGEND) {
                texts.push(LEGEND.to_owned());
            }
        }
        let mut late_tools = self.pending(messages);
        if !is_late {
            self.take_in(std::mem::take(&mut late_tools));
        }
        if !late_tools.is_empty() {
            if self.objective.find(TOOL_WEIGHTS_SLOT).is_none() && !was_told(messages, TOOL_WEIGHTS) {
                texts.push(TOOL_WEIGHTS.to_owned());
            }
            texts.push(lead_in(&late_tools));
        }
        paragraphs(texts).into_iter().chain(late_tools.into_iter().map(Block::ToolDefinition)).collect()
    }

    /// Renders the head; the first time freezes it. Always the same bytes afterwards.
    pub fn render(&mut self, control_tokens: &ControlTokens) -> Arc<RenderedHead> {
        let objective = &self.objective;
        let rendered = self.frozen.get_or_insert_with(|| {
            Arc::new(RenderedHead {
                skills: objective.skills().map(|skill| broken_skill(skill, control_tokens)).collect(),
                system: control_tokens.break_in(&objective.text()).into_owned(),
                palette: objective.tools().map(|tool| broken_tool(tool, control_tokens)).collect(),
            })
        });
        Arc::clone(rendered)
    }

    /// Whether it has rendered.
    pub fn is_frozen(&self) -> bool {
        self.frozen.is_some()
    }

    /// What of it is stored: the objective with its slots, and the definition of every declared
    /// tool. A tool that has not been asked for it yet is asked now, and not again.
    pub fn to_store(&self) -> (Objective, Vec<ToolDefinition>) {
        (self.objective.clone(), self.palette.definitions().cloned().collect())
    }

    /// Brings companions that were stored by an older program up to date while that is free.
    fn refresh_companions(&mut self) {
        if self.is_frozen() {
            return;
        }
        for (key, text) in [(LEGEND_SLOT, LEGEND), (TOOL_WEIGHTS_SLOT, TOOL_WEIGHTS)] {
            if self.objective.find(key).is_some() {
                self.objective.put(key, Block::Text(text.to_owned()));
            }
        }
    }

    /// The definitions of the tools that the model has not been told of.
    fn pending(&self, messages: &[Message]) -> Vec<ToolDefinition> {
        let told = self.objective.tools().chain(told_tools(messages));
        let told: HashSet<&str> = told.map(|tool| tool.name.as_str()).collect();
        self.palette.definitions_of(|name| !told.contains(name)).cloned().collect()
    }

    /// Puts tools into the head, and their guidance in front of the first.
    fn take_in(&mut self, tools: Vec<ToolDefinition>) {
        if tools.is_empty() {
            return;
        }
        self.objective.put(TOOL_WEIGHTS_SLOT, Block::Text(TOOL_WEIGHTS.to_owned()));
        for tool in tools {
            self.objective.put(&format!("{TOOL_SLOT_PREFIX}{}", tool.name), Block::ToolDefinition(tool));
        }
    }
}

/// The tools that were announced in the stream.
fn told_tools(messages: &[Message]) -> impl Iterator<Item = &ToolDefinition> {
    messages
        .iter()
        .flat_map(|message| &message.blocks)
        .filter_map(|block| if let Block::ToolDefinition(tool) = block { Some(tool) } else { None })
}

/// Whether the application's side of the stream has said `text`. A model that repeats it, or a
/// person who pastes it, has not been told it by us.
fn was_told(messages: &[Message], text: &str) -> bool {
    messages
        .iter()
        .filter(|message| message.kind == Kind::Announcement)
        .flat_map(|message| &message.blocks)
        .any(|block| block.as_text().is_some_and(|said| said.trim_end() == text.trim_end()))
}

/// Texts as blocks of their own that also read well where a wire joins them without a separator.
fn paragraphs(texts: Vec<String>) -> Vec<Block> {
    let n_texts = texts.len();
    let close = |(n, text): (usize, String)| Block::Text(if n + 1 < n_texts { text + "\n\n" } else { text });
    texts.into_iter().enumerate().map(close).collect()
}

/// Names the tools, because a wire that carries tools carries their definitions elsewhere.
fn lead_in(tools: &[ToolDefinition]) -> String {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    format!("Additional tools now available: {}.", names.join(", "))
}

pub(crate) fn broken_skill(skill: &Skill, control_tokens: &ControlTokens) -> Skill {
    let broken = |text: &str| control_tokens.break_in(text).into_owned();
    Skill { name: broken(&skill.name), description: broken(&skill.description), body: broken(&skill.body) }
}

/// A name stays whole: calls come under it.
pub(crate) fn broken_tool(tool: &ToolDefinition, control_tokens: &ControlTokens) -> ToolDefinition {
    let broken = |text: &str| control_tokens.break_in(text).into_owned();
    ToolDefinition {
        name: tool.name.clone(),
        description: broken(&tool.description),
        schema: tool.schema.as_deref().map(broken),
    }
}

/// What the suffix of a tool's description means. It stands wherever tools do and nowhere else.
pub const TOOL_WEIGHTS: &str = "\
How to choose among your tools

The description of a tool may end in a note such as [api call, weight: 3] or [thinker L2, weight: 20-60].

The first part says what runs:
- in memory: answered on the spot, at no cost.
- api call: one request to an outside service.
- thinker L1, L2 and so on: another agent works on it; the number is how many levels of agents it has below \
itself to hand work to.

The weight, 0 to 100, is what a use costs beside the others. 1 to 5 is a quick lookup, 30 and more a long \
investigation; of two numbers the first is the least a use costs and the second the most.

Let the depth of the question decide. For an immediate or quick answer use no thinker and nothing heavy. \
For a standard one use what helps, the lighter tool first. Keep heavy thinkers for thorough work.";

#[cfg(test)]
mod tests;
