//! `colloquy_core::sampling`: what a new conversation samples with.

use anyhow::Result;
use colloquy_core::sampling::resolve;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Verdict;

#[derive(Deserialize)]
struct Case {
    generation_config: Option<Value>,
    context_length: Option<i64>,
    engine_context: Option<i64>,
}

pub(super) fn check(case: &Value) -> Result<Verdict> {
    let Case { generation_config, context_length, engine_context } = super::input(case)?;
    let resolved = resolve(
        generation_config.as_ref(),
        super::known_tokens(context_length),
        super::known_tokens(engine_context),
    );
    let mut got = json!({
        "temperature": resolved.temperature,
        "top_p": resolved.top_p,
        "max_tokens": resolved.max_tokens,
        "max_tokens_cap": resolved.max_tokens_cap,
        "repetition_penalty": resolved.repetition_penalty,
        "repetition_context_size": resolved.repetition_context_size,
        "source": resolved.source.name(),
    });
    // The file names these only where the model defines them.
    let optional = [
        ("top_k", resolved.top_k.map(Value::from)),
        ("min_p", resolved.min_p.map(Value::from)),
        ("presence_penalty", resolved.presence_penalty.map(Value::from)),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            got[name] = value;
        }
    }
    Ok(Verdict { expected: case["resolved"].clone(), got })
}
