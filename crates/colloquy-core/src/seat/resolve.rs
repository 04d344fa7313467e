//! From declarations and a model's figures to what one call is given.

use super::{
    Allowance, Depth, Layers, ModelSpec, OutputSize, THINKING_TOKENS_MIN, Thinking, ThinkingMode, Undeclared,
};

/// Resolves what a call is given (runtime page, "Output Budget Resolution"). `has_tools` matters
/// to models whose reasoning tools suspend.
///
/// A model whose maximum is not known leaves the rungs as they are. `Max` is its context window
/// then, and its thinking budgets are parts of that window, or the least there is.
pub fn resolve(layers: &Layers, spec: &ModelSpec, has_tools: bool) -> Result<Allowance, Undeclared> {
    let declared = layers.request.or(layers.conversation.output).or(layers.binding.output);
    let declared = declared.ok_or(Undeclared { what: "an output size" })?;
    let depth = layers.conversation.depth.or(layers.binding.depth);
    let depth = depth.ok_or(Undeclared { what: "a depth" })?;
    let capped = |tokens: u32| spec.max_output.map_or(tokens, |max| tokens.min(max));
    let output = capped(output_tokens(declared, spec)?);
    let suspended = has_tools && spec.tools_suspend_reasoning;
    let booked = if reasons(spec.thinking, depth, suspended) { thinking_tokens(depth, spec) } else { 0 };
    let reserve = capped(output.saturating_add(booked));
    let thinking = thinking(depth, spec.thinking, suspended, booked, reserve);
    let thinking_active = match thinking {
        Thinking::Budget { .. } | Thinking::Adaptive { .. } => true,
        Thinking::Unset | Thinking::Off | Thinking::Effort { .. } => false,
    };
    // A model that has no room to think is not given the room.
    let reserve = if thinking == Thinking::Off { output } else { reserve };
    Ok(Allowance { output, reserve, ceiling: spec.max_output, thinking, thinking_active })
}

fn output_tokens(declared: OutputSize, spec: &ModelSpec) -> Result<u32, Undeclared> {
    let rung = |place: usize, tokens: u32| spec.output_budgets.map_or(tokens, |own| own[place]);
    match declared {
        OutputSize::Verdict => Ok(rung(0, 1_024)),
        OutputSize::Compact => Ok(rung(1, 4_096)),
        OutputSize::Standard => Ok(rung(2, 16_384)),
        OutputSize::Extended => Ok(rung(3, 32_768)),
        OutputSize::Max => spec
            .max_output
            .or(spec.context_window)
            .ok_or(Undeclared { what: "an output size in tokens, and the model's own maximum is not known" }),
        OutputSize::Tokens(tokens) => Ok(tokens.get()),
    }
}

/// Whether the call spends tokens on reasoning that are not the answer's.
fn reasons(mode: ThinkingMode, depth: Depth, suspended: bool) -> bool {
    match mode {
        ThinkingMode::None => false,
        ThinkingMode::Extended | ThinkingMode::Adaptive => depth != Depth::Immediate && !suspended,
        ThinkingMode::ReasoningEffort => !suspended,
    }
}

/// The room that reasoning is booked, in tokens.
fn thinking_tokens(depth: Depth, spec: &ModelSpec) -> u32 {
    let place = match depth {
        Depth::Immediate => 0,
        Depth::Quick => 1,
        Depth::Standard => 2,
        Depth::Thorough => 3,
        Depth::UltraThorough => 4,
    };
    if let Some(own) = spec.thinking_budgets {
        return own[place];
    }
    let most = spec.max_output.or(spec.context_window).unwrap_or(0);
    let part = match depth {
        Depth::Immediate => 0,
        Depth::Quick => most / 16,
        Depth::Standard => most / 8,
        Depth::Thorough | Depth::UltraThorough => most / 4,
    };
    part.max(THINKING_TOKENS_MIN)
}

fn thinking(depth: Depth, mode: ThinkingMode, suspended: bool, booked: u32, reserve: u32) -> Thinking {
    match mode {
        ThinkingMode::None => Thinking::Unset,
        ThinkingMode::Extended => {
            // A provider wants the budget below the limit, so that some of it is left to answer with.
            let tokens = booked.min(reserve.saturating_sub(1));
            if tokens < THINKING_TOKENS_MIN { Thinking::Off } else { Thinking::Budget { tokens } }
        }
        ThinkingMode::Adaptive if booked == 0 => Thinking::Off,
        ThinkingMode::Adaptive => Thinking::Adaptive { effort: depth.effort() },
        ThinkingMode::ReasoningEffort if suspended => Thinking::Effort { effort: "none" },
        ThinkingMode::ReasoningEffort => Thinking::Effort { effort: depth.effort() },
    }
}
