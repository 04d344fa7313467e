//! `colloquy_core::persona`: the tier of a size, and what starred messages append to a persona.

use anyhow::{Context as _, Result};
use colloquy_core::persona::{ObjectiveParts, Tier, render_objective};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Verdict;

#[derive(Deserialize)]
struct StarredCase {
    tier: String,
    starred: Vec<String>,
}

#[derive(Deserialize)]
struct SizeCase {
    param_size_billions: Option<f64>,
}

pub(super) fn check(case: &Value) -> Result<Verdict> {
    if case.get("starred").is_some() {
        return check_starred(case);
    }
    let SizeCase { param_size_billions } = super::input(case)?;
    let tier = Tier::of(param_size_billions);
    Ok(Verdict {
        expected: json!({"tier": case["tier"], "kb_token_budget": case["kb_token_budget"]}),
        got: json!({"tier": tier.name(), "kb_token_budget": tier.kb_token_budget()}),
    })
}

fn check_starred(case: &Value) -> Result<Verdict> {
    let StarredCase { tier, starred } = super::input(case)?;
    let tier =
        TIERS.into_iter().find(|candidate| candidate.name() == tier).context("no tier of that name")?;
    let parts = ObjectiveParts { tier, custom_prompt: "", starred: &starred };
    let rendered = render_objective(&parts);
    let suffix = rendered.strip_prefix(tier.persona()).map(Value::from);
    Ok(Verdict { expected: case["suffix_appended"].clone(), got: suffix.unwrap_or_default() })
}

const TIERS: [Tier; 5] = [Tier::Tiny, Tier::Small, Tier::Medium, Tier::Large, Tier::Xlarge];
