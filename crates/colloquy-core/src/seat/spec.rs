//! What one deployment of a model can do, as its entry in a catalog states it, and the rules that
//! an entry keeps (reference § 16).

use super::THINKING_TOKENS_MIN;

/// How a model thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThinkingMode {
    /// Not by request.
    #[default]
    None,
    /// With a budget in tokens; a reasoning block comes back.
    Extended,
    /// As much as it finds right, steered by a word; a reasoning block comes back.
    Adaptive,
    /// Steered by a word; nothing comes back.
    ReasoningEffort,
}

/// How a model is told of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolWire {
    /// The wire carries them.
    #[default]
    Native,
    /// As text, inside an envelope.
    Text,
}

/// What one deployment of a model can do, in tokens.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelSpec {
    /// The catalog's name for it.
    pub id: String,
    /// Parameters in billions, for the choice of a persona.
    pub param_size: Option<f64>,
    /// What it takes in, where that is known.
    pub context_window: Option<u32>,
    /// The most it can emit in one answer, reasoning included, where that is known.
    pub max_output: Option<u32>,
    /// How it thinks.
    pub thinking: ThinkingMode,
    /// How it is told of tools.
    pub tools: ToolWire,
    /// Whether its server can be held to a JSON Schema.
    pub json_schema: bool,
    /// Whether tools switch its reasoning off.
    pub tools_suspend_reasoning: bool,
    /// Its own sizes of the four rungs from [`Verdict`](super::OutputSize::Verdict), all or none;
    /// each 1 to `max_output`.
    pub output_budgets: Option<[u32; 4]>,
    /// Its own thinking budgets from [`Immediate`](super::Depth::Immediate), all or none: each 1,024
    /// to `max_output`, but the first is 0 where an immediate answer takes no thinking.
    pub thinking_budgets: Option<[u32; 5]>,
}

/// A catalog entry that contradicts itself; what to change in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {rule}")]
pub struct BadSpec {
    /// The member of [`ModelSpec`].
    pub field: &'static str,
    /// What it must be, as in "must be at least 1".
    pub rule: String,
}

impl ModelSpec {
    /// Checks the entry; returns all rules that are broken, in the order of the fields. An upper
    /// bound that is not known is not checked.
    pub fn check(&self) -> Vec<BadSpec> {
        let mut broken = Vec::new();
        let mut rule = |holds: bool, field, rule: String| {
            if !holds {
                broken.push(BadSpec { field, rule });
            }
        };
        rule(self.context_window != Some(0), "context_window", "must be at least 1".to_owned());
        rule(self.max_output != Some(0), "max_output", "must be at least 1".to_owned());
        let within = |least: u32, tokens: &u32| {
            *tokens >= least && self.max_output.is_none_or(|max_output| *tokens <= max_output)
        };
        let up_to = |least: u32| match self.max_output {
            Some(max_output) => format!("from {least} to max_output, which is {max_output}"),
            None => format!("at least {least}"),
        };
        if let Some(budgets) = &self.output_budgets {
            let holds = budgets.iter().all(|tokens| within(1, tokens));
            rule(holds, "output_budgets", format!("must each be {}", up_to(1)));
        }
        if let Some(budgets) = &self.thinking_budgets {
            let booked = match self.thinking {
                ThinkingMode::None => &[],
                ThinkingMode::Extended | ThinkingMode::Adaptive => &budgets[1..],
                ThinkingMode::ReasoningEffort => &budgets[..],
            };
            rule(
                !booked.is_empty(),
                "thinking_budgets",
                "must be left out for a model that does not think".to_owned(),
            );
            let holds = booked.iter().all(|tokens| within(THINKING_TOKENS_MIN, tokens));
            rule(holds, "thinking_budgets", format!("must each be {}", up_to(THINKING_TOKENS_MIN)));
            let is_idle = booked.len() != 4 || budgets[0] == 0;
            rule(
                is_idle,
                "thinking_budgets",
                "must begin with 0, for an immediate answer without thinking".to_owned(),
            );
        }
        broken
    }
}
