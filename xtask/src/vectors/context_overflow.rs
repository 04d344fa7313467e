//! `colloquy_models::overflow`: which refusals mean that a prompt does not fit.

use anyhow::Result;
use colloquy_models::overflow;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Verdict;

#[derive(Deserialize)]
struct Case {
    message: String,
    body: Option<Value>,
}

pub(super) fn check(case: &Value) -> Result<Verdict> {
    let Case { message, body } = super::input(case)?;
    let got = overflow::parse(&message, body.as_ref()).map(|found| {
        json!({
            "prompt_tokens": found.prompt_tokens,
            "context_tokens": found.context_tokens,
            "prompt_only_tokens": found.prompt_only_tokens,
        })
    });
    Ok(Verdict { expected: case["expected"].clone(), got: got.unwrap_or_default() })
}
