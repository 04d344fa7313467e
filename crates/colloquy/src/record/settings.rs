//! A conversation's settings.

use colloquy_core::conversation::{Effort, Settings};
use serde::{Deserialize, Serialize};

use super::{RecordError, VERSION, read, write};

const WHAT: &str = "the settings of a conversation";

#[derive(Serialize, Deserialize)]
struct Form {
    v: u32,
    temperature: f64,
    top_p: f64,
    max_tokens: u32,
    custom_prompt: String,
    web_search: bool,
    effort: String,
    compaction_threshold: u32,
}

/// The stored form of a conversation's settings.
pub fn encode_settings(settings: &Settings) -> String {
    let Settings {
        temperature,
        top_p,
        max_tokens,
        custom_prompt,
        web_search_enabled,
        reasoning_effort,
        compaction_threshold,
    } = settings;
    write(&Form {
        v: VERSION,
        temperature: *temperature,
        top_p: *top_p,
        max_tokens: *max_tokens,
        custom_prompt: custom_prompt.clone(),
        web_search: *web_search_enabled,
        effort: reasoning_effort.name().to_owned(),
        compaction_threshold: *compaction_threshold,
    })
}

/// The settings that were stored.
pub fn decode_settings(json: &str) -> Result<Settings, RecordError> {
    let form: Form = read(WHAT, json)?;
    Ok(Settings {
        temperature: form.temperature,
        top_p: form.top_p,
        max_tokens: form.max_tokens,
        custom_prompt: form.custom_prompt,
        web_search_enabled: form.web_search,
        reasoning_effort: Effort::from_name(&form.effort)
            .ok_or_else(|| RecordError::tag(WHAT, &form.effort))?,
        compaction_threshold: form.compaction_threshold,
    })
}
