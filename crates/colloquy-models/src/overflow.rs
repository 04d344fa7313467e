//! Which refusals mean that the prompt does not fit the window, and the numbers they name.
//!
//! A table by engine: llama-server names a type, the OpenAI API a code, MLX a literal word or, in
//! newer versions, one fixed sentence, Anthropic and Bedrock a sentence each. Nothing else is
//! guessed from a message.

use colloquy_core::turn::Failure;
use serde_json::Value;

/// What MLX 0.7.10 and later say, without numbers.
const MLX_SENTENCE: &str = "Protected conversation exceeds the available context budget";
/// What earlier versions of MLX say, with numbers around it.
const MLX_LITERAL: &str = "MAX_KV_SIZE";

/// What Anthropic says, with `N tokens > M maximum` behind it.
const ANTHROPIC_SENTENCE: &str = "prompt is too long";
/// What Anthropic says where prompt and answer do not fit together, with `N + M > W` behind it.
const ANTHROPIC_SUM: &str = "exceed context limit:";
/// What Bedrock says of any model, without numbers.
const BEDROCK_SENTENCE: &str = "Input is too long for requested model";

/// A prompt that was refused because it does not fit, with the numbers that were named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overflow {
    /// Tokens the request needs.
    pub prompt_tokens: Option<i64>,
    /// Tokens the window holds.
    pub context_tokens: Option<i64>,
    /// Tokens of the prompt without the budget of its answer, where they are told apart.
    pub prompt_only_tokens: Option<i64>,
}

impl Overflow {
    /// How many tokens too many, where both numbers are known.
    pub fn excess_tokens(&self) -> Option<i64> {
        Some(self.prompt_tokens? - self.context_tokens?)
    }

    /// What is needed over what there is, where both numbers are known.
    pub fn ratio(&self) -> Option<f64> {
        let window = self.context_tokens.filter(|tokens| *tokens > 0)?;
        Some(self.prompt_tokens? as f64 / window as f64)
    }
}

impl From<Overflow> for Failure {
    fn from(overflow: Overflow) -> Self {
        let count = |tokens: Option<i64>| tokens.and_then(|tokens| u32::try_from(tokens).ok());
        Self::Overflow {
            prompt_tokens: count(overflow.prompt_tokens),
            window_tokens: count(overflow.context_tokens),
        }
    }
}

/// Reads a refusal: `message` is the text of the error, `body` its JSON where it has one.
pub fn parse(message: &str, body: Option<&Value>) -> Option<Overflow> {
    body.and_then(of_body).or_else(|| of_message(message))
}

fn of_body(body: &Value) -> Option<Overflow> {
    let levels = [Some(body), body.get("error")];
    let named = |error: &&Value| error["type"] == "exceed_context_size_error";
    if let Some(error) = levels.into_iter().flatten().find(named) {
        return Some(Overflow {
            prompt_tokens: integer(&error["n_prompt_tokens"]),
            context_tokens: integer(&error["n_ctx"]),
            prompt_only_tokens: None,
        });
    }
    (body["error"]["code"] == "context_length_exceeded").then(Overflow::default)
}

fn of_message(message: &str) -> Option<Overflow> {
    if let Some((before, after)) = message.split_once(MLX_LITERAL) {
        return Some(Overflow {
            prompt_tokens: number_before(before, "context tokens"),
            context_tokens: first_number(after),
            prompt_only_tokens: number_before(before, "prompt"),
        });
    }
    if let Some((_, after)) = message.split_once(ANTHROPIC_SENTENCE) {
        let (prompt, window) = after.split_once('>').unwrap_or((after, ""));
        return Some(Overflow {
            prompt_tokens: first_number(prompt),
            context_tokens: first_number(window),
            prompt_only_tokens: None,
        });
    }
    if let Some((_, after)) = message.split_once(ANTHROPIC_SUM) {
        let (needed, window) = after.split_once('>').unwrap_or((after, ""));
        let (prompt, answer) = needed.split_once('+').unwrap_or((needed, ""));
        let prompt_only_tokens = first_number(prompt);
        let prompt_tokens = prompt_only_tokens
            .zip(first_number(answer))
            .and_then(|(prompt, answer)| prompt.checked_add(answer));
        return Some(Overflow { prompt_tokens, context_tokens: first_number(window), prompt_only_tokens });
    }
    [MLX_SENTENCE, BEDROCK_SENTENCE].iter().any(|said| message.contains(said)).then(Overflow::default)
}

/// A whole number out of a JSON value: fractions are cut off, digits in a string are read.
fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Bool(flag) => Some(i64::from(*flag)),
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().and_then(truncated)),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn truncated(number: f64) -> Option<i64> {
    // Above 2^53 a float no longer names one integer, and no window is that large.
    (number.abs() < 9_007_199_254_740_992.0).then_some(number.trunc() as i64)
}

/// The number that stands directly before `word`.
fn number_before(text: &str, word: &str) -> Option<i64> {
    let before = text.split_once(word)?.0.trim_end();
    let digits = before.len() - before.bytes().rev().take_while(u8::is_ascii_digit).count();
    before[digits..].parse().ok()
}

fn first_number(text: &str) -> Option<i64> {
    text.split(|c: char| !c.is_ascii_digit()).find(|digits| !digits.is_empty())?.parse().ok()
}

#[cfg(test)]
mod tests;
