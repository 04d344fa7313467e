//! What a new conversation samples with, resolved once from the model's own `generation_config`
//! and copied; later changes of the model never reach a conversation.
//!
//! A value that is not a number, or is outside its range, is dropped on its own: the rest of the
//! block still counts.

use serde_json::Value;

use crate::conversation::MAX_TOKENS_MAX;

const TEMPERATURE: f64 = 0.2;
const TOP_P: f64 = 0.95;
const MAX_TOKENS: u32 = 1024;
const REPETITION_PENALTY: f64 = 1.1;
const REPETITION_CONTEXT_SIZE: u32 = 64;

/// Below this temperature a model is meant to be greedy, and is told so exactly.
const GREEDY_BELOW: f64 = 0.05;

/// The defaults of a model, as a conversation copies them.
#[derive(Debug, Clone, PartialEq)]
pub struct SamplingDefaults {
    /// 0.0 to 2.0; exactly 0 means greedy.
    pub temperature: f64,
    /// 0.0 to 1.0.
    pub top_p: f64,
    /// What a turn runs with while no window is known; at most [`Self::max_tokens_cap`].
    pub max_tokens: u32,
    /// The most that `max_tokens` may be set to for this model.
    pub max_tokens_cap: u32,
    /// Only where the model defines it; 0 switches it off.
    pub top_k: Option<u32>,
    /// Only where the model defines it.
    pub min_p: Option<f64>,
    /// Only where the model defines it.
    pub presence_penalty: Option<f64>,
    /// Always sent to engines that know it.
    pub repetition_penalty: f64,
    /// Tokens the repetition penalty looks back over.
    pub repetition_context_size: u32,
    /// Whether the model had a say.
    pub source: SamplingSource,
}

/// Where sampling defaults come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SamplingSource {
    /// Every value is the fallback.
    Fallback,
    /// At least one value is the model's.
    GenerationConfig,
}

impl SamplingSource {
    /// The source's name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fallback => "none",
            Self::GenerationConfig => "base_generation_config",
        }
    }
}

/// Resolves the defaults of a model. A length of zero is unknown, like `None`.
pub fn resolve(
    generation_config: Option<&Value>,
    context_length: Option<u32>,
    engine_context: Option<u32>,
) -> SamplingDefaults {
    let config = generation_config.filter(|config| config.get("do_sample") != Some(&Value::Bool(false)));
    let number = |key: &str| config?.get(key)?.as_f64();
    let temperature = number("temperature");
    let top_p = number("top_p").filter(|p| (0.0..=1.0).contains(p));
    let top_k = number("top_k").and_then(whole);
    let min_p = number("min_p").filter(|p| (0.0..=1.0).contains(p));
    let presence_penalty = number("presence_penalty").filter(|penalty| (-2.0..=2.0).contains(penalty));
    let repetition_penalty = number("repetition_penalty").filter(|penalty| *penalty > 0.0 && *penalty <= 2.0);

    let told = temperature.is_some()
        || top_p.is_some()
        || top_k.is_some()
        || min_p.is_some()
        || presence_penalty.is_some()
        || repetition_penalty.is_some();
    let max_tokens_cap = [context_length, engine_context]
        .into_iter()
        .flatten()
        .filter(|&tokens| tokens > 0)
        .fold(MAX_TOKENS_MAX, u32::min);
    SamplingDefaults {
        temperature: greedy_or_clamped(temperature.unwrap_or(TEMPERATURE), top_k),
        top_p: top_p.unwrap_or(TOP_P),
        max_tokens: MAX_TOKENS.min(max_tokens_cap),
        max_tokens_cap,
        top_k,
        min_p,
        presence_penalty,
        repetition_penalty: repetition_penalty.unwrap_or(REPETITION_PENALTY),
        repetition_context_size: REPETITION_CONTEXT_SIZE,
        source: if told { SamplingSource::GenerationConfig } else { SamplingSource::Fallback },
    }
}

fn greedy_or_clamped(temperature: f64, top_k: Option<u32>) -> f64 {
    if temperature < GREEDY_BELOW || top_k == Some(1) { 0.0 } else { temperature.min(2.0) }
}

/// A count that was written as a number of any kind.
fn whole(number: f64) -> Option<u32> {
    let fits = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
    // In range and without a fraction, so the cast is exact.
    fits.then_some(number as u32)
}

#[cfg(test)]
mod tests;
