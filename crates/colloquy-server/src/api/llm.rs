//! Installed models: what a client sends to install one, and what it gets back (server reference
//! § 14, design § 9). A key never leaves the environment, so none is ever shown.

use colloquy::ports::{EngineKind, LlmRow};
use colloquy_core::sampling::{self, SamplingDefaults};
use serde::Serialize;
use serde_json::Value;

use crate::{fields::Fields, install::Candidate, problem::Problem, toy};

/// Longest name, in code points.
const NAME_CHARS_MAX: usize = 200;

/// The `local` of a model that can be used now; the other states come with downloads.
const LOCAL_INSTALLED: u8 = 1;

/// Reads the body that installs a model.
pub(crate) fn candidate(mut fields: Fields) -> Result<Candidate, Problem> {
    let name = fields.required_string("name").trim().to_owned();
    if name.chars().count() > NAME_CHARS_MAX {
        fields.reject("name", format!("must be at most {NAME_CHARS_MAX} characters long"), "value_error");
    }
    let engine = fields.required_string("engine");
    let context_window = fields.count("context_window");
    if context_window == Some(0) {
        fields.reject("context_window", "must be at least 1", "value_error");
    }
    let engine = match engine.as_str() {
        "llama" => EngineKind::Llama { path: fields.required_string("path") },
        "openai" => {
            if context_window.is_none() {
                fields.reject("context_window", "is required for this engine", "missing");
            }
            EngineKind::OpenAi {
                base_url: fields.required_string("base_url").trim_end_matches('/').to_owned(),
                model: fields.required_string("model"),
                api_key_env: fields.string("api_key_env"),
            }
        }
        _ => {
            fields.reject("engine", "must be one of llama, openai", "enum");
            return Err(fields.finish().expect_err("BUG: a rejected member is an error"));
        }
    };
    fields.finish()?;
    Ok(Candidate { name, engine, context_window })
}

/// An installed model.
#[derive(Debug, Serialize)]
pub(crate) struct LlmResponse {
    id: i64,
    name: String,
    local: u8,
    link: String,
    r#type: &'static str,
    /// What people should know of it; empty where there is nothing.
    description: String,
    model_metadata: Option<Value>,
    quantized: Option<bool>,
    supports_tools: bool,
    supports_tools_wire: Option<bool>,
    param_size: Option<f64>,
    is_base: bool,
    conversational: bool,
    category: &'static str,
    is_attached_to_kb: bool,
    kb_id: Option<i64>,
    generation_hints: Option<Value>,
    artifact_size_bytes: Option<u64>,
    sampling_defaults: SamplingJson,
    context_window: Option<u32>,
    allocated_context_window: Option<u32>,
    runnable: bool,
    supports_vision: bool,
    weights_available: bool,
    engine: &'static str,
    base_url: Option<String>,
    model: Option<String>,
    is_default: bool,
}

#[derive(Debug, Serialize)]
struct SamplingJson {
    temperature: f64,
    top_p: f64,
    max_tokens: u32,
    max_tokens_cap: u32,
    top_k: Option<u32>,
    min_p: Option<f64>,
    presence_penalty: Option<f64>,
    repetition_penalty: f64,
    repetition_context_size: u32,
    source: &'static str,
}

impl LlmResponse {
    /// The model, with the window of its loaded engine, if it is loaded. Looks for its file.
    pub(crate) async fn of(row: LlmRow, allocated_window: Option<u32>) -> Self {
        let weights_available = match &row.engine {
            EngineKind::Llama { path } => tokio::fs::try_exists(path).await.unwrap_or(false),
            EngineKind::OpenAi { .. } => true,
        };
        Self::new(row, allocated_window, weights_available)
    }

    fn new(row: LlmRow, allocated_window: Option<u32>, weights_available: bool) -> Self {
        let hints: Option<Value> =
            row.generation_config.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let defaults = sampling::resolve(hints.as_ref(), row.context_window, allocated_window);
        let description = toy::notice(&row).unwrap_or_default();
        let (engine, kind, link, base_url, model) = match row.engine {
            EngineKind::Llama { path } => ("llama", "gguf", path, None, None),
            EngineKind::OpenAi { base_url, model, .. } => {
                ("openai", "remote", base_url.clone(), Some(base_url), Some(model))
            }
        };
        Self {
            id: row.id.0,
            name: row.name,
            local: LOCAL_INSTALLED,
            link,
            r#type: kind,
            description,
            model_metadata: None,
            quantized: None,
            supports_tools: false,
            supports_tools_wire: None,
            param_size: row.param_size,
            is_base: true,
            conversational: true,
            category: "general",
            is_attached_to_kb: false,
            kb_id: None,
            generation_hints: hints,
            artifact_size_bytes: row.size_bytes,
            sampling_defaults: defaults.into(),
            context_window: row.context_window,
            allocated_context_window: allocated_window,
            runnable: weights_available,
            supports_vision: false,
            weights_available,
            engine,
            base_url,
            model,
            is_default: row.is_default,
        }
    }
}

impl From<SamplingDefaults> for SamplingJson {
    fn from(defaults: SamplingDefaults) -> Self {
        Self {
            temperature: defaults.temperature,
            top_p: defaults.top_p,
            max_tokens: defaults.max_tokens,
            max_tokens_cap: defaults.max_tokens_cap,
            top_k: defaults.top_k,
            min_p: defaults.min_p,
            presence_penalty: defaults.presence_penalty,
            repetition_penalty: defaults.repetition_penalty,
            repetition_context_size: defaults.repetition_context_size,
            source: defaults.source.name(),
        }
    }
}
