//! `colloquy_core::silence`: how long a model may be silent before its first chunk.

use anyhow::Result;
use colloquy_core::silence::{first_chunk_ceiling, first_chunk_limit};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Verdict;

#[derive(Deserialize)]
struct Case {
    estimated_prompt_tokens: u64,
    window: Option<i64>,
}

pub(super) fn check(case: &Value) -> Result<Verdict> {
    let Case { estimated_prompt_tokens, window } = super::input(case)?;
    let window = super::known_tokens(window);
    let limit = first_chunk_limit(estimated_prompt_tokens, window);
    let ceiling = first_chunk_ceiling(window);
    Ok(Verdict {
        expected: json!({"limit_s": case["first_chunk_budget_s"], "ceiling_s": case["ceiling_s"]}),
        got: json!({"limit_s": limit.as_secs_f64(), "ceiling_s": ceiling.as_secs_f64()}),
    })
}
