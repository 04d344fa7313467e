//! The Anthropic Messages dialect: a call as content blocks with cache marks, an answer as typed
//! events (runtime reference § 12.1, § 13).
//!
//! What the provider signed goes back byte for byte, and turns of one role in a row are sent as they
//! are (I5). Where marks stand is decided in `marks`, from nothing but the turns themselves.

mod call_ids;
mod content;
mod decode;
mod encode;
mod marks;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use colloquy::ports::ModelCall;
use colloquy_core::{seat::ModelSpec, turn::Failure};
use serde_json::{Map, Value};

use self::decode::MessagesReader;
use crate::{
    client::HttpClientError,
    http::HttpModel,
    wire::{Framing, Wire, WireRequest},
};

/// A model behind the Messages API.
///
/// ```
/// use colloquy_core::seat::{ModelSpec, ThinkingMode};
/// use colloquy_models::anthropic::{Anthropic, Caching, Endpoint};
///
/// let endpoint = Endpoint {
///     base_url: "https://api.anthropic.com/v1".into(),
///     model: "claude-sonnet-4-5".into(),
///     api_key: Some("sk-ant-…".into()),
///     caching: Caching::Marks,
///     extra: serde_json::Map::new(),
/// };
/// let spec = ModelSpec {
///     context_window: Some(200_000),
///     max_output: Some(64_000),
///     thinking: ThinkingMode::Extended,
///     ..ModelSpec::default()
/// };
/// let model = Anthropic::new(endpoint, spec)?;
/// # Ok::<(), colloquy_models::client::HttpClientError>(())
/// ```
pub type Anthropic = HttpModel<MessagesWire>;

impl Anthropic {
    /// Speaks to `endpoint` over connections of its own; `spec` says what the model can do.
    pub fn new(endpoint: Endpoint, spec: ModelSpec) -> Result<Self, HttpClientError> {
        let base_url = endpoint.base_url.clone();
        Self::connect(MessagesWire::new(endpoint, Arc::new(spec)), &base_url)
    }
}

/// The version of the API that requests are written in.
const API_VERSION: &str = "2023-06-01";

/// Where a model is reached that speaks the Messages API.
#[derive(Clone)]
pub struct Endpoint {
    /// Ends where `/messages` is appended, such as `https://api.anthropic.com/v1`.
    pub base_url: String,
    /// The model's name there.
    pub model: String,
    /// Sent as `x-api-key`.
    pub api_key: Option<String>,
    /// Whether the server caches what is marked.
    pub caching: Caching,
    /// Members of the request beyond those of a call, such as `metadata`.
    pub extra: Map<String, Value>,
}

/// How a server caches prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caching {
    /// What is marked, at a price for writing it. At most four marks are sent.
    Marks,
    /// By itself or not at all: nothing is marked.
    Unmarked,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("base_url", &self.base_url)
            .field("model", &self.model)
            .field("api_key", &self.api_key.as_ref().map(|_| "[key]"))
            .field("caching", &self.caching)
            .field("extra", &self.extra)
            .finish()
    }
}

/// The wire to one model. It remembers what the model does not take.
#[derive(Debug)]
pub struct MessagesWire {
    endpoint: Endpoint,
    spec: Arc<ModelSpec>,
    learned: Learned,
}

/// What the server has refused once and is not sent again.
#[derive(Debug, Default)]
struct Learned {
    /// The model takes a temperature or a `top_p`, and has refused both together.
    no_top_p: AtomicBool,
    /// The model has refused to be told how to sample.
    no_sampling: AtomicBool,
    /// The model, or its compiler of schemas, has refused to be held to one.
    no_format: AtomicBool,
}

impl MessagesWire {
    fn new(endpoint: Endpoint, spec: Arc<ModelSpec>) -> Self {
        Self { endpoint, spec, learned: Learned::default() }
    }

    fn takes(&self) -> encode::Takes {
        encode::Takes {
            top_p: !self.learned.no_top_p.load(Ordering::Relaxed),
            sampling: !self.learned.no_sampling.load(Ordering::Relaxed),
            format: self.spec.json_schema && !self.learned.no_format.load(Ordering::Relaxed),
        }
    }
}

impl Wire for MessagesWire {
    type Reader = MessagesReader;

    fn name(&self) -> (&'static str, &str) {
        ("anthropic", &self.endpoint.model)
    }

    fn spec(&self) -> &Arc<ModelSpec> {
        &self.spec
    }

    fn framing(&self) -> Framing {
        Framing::Sse
    }

    fn request(&self, call: &ModelCall) -> Result<WireRequest, Failure> {
        let encoded = encode::body(call, &self.endpoint, &self.spec, self.takes())?;
        for media_type in &encoded.dropped {
            tracing::warn!(%media_type, "a file was left out of the request: Anthropic does not take its type");
        }
        let url = format!("{}/messages", self.endpoint.base_url.trim_end_matches('/'));
        let version = ("anthropic-version", API_VERSION.to_owned());
        let key = self.endpoint.api_key.clone().map(|key| ("x-api-key", key));
        Ok(WireRequest { url, headers: std::iter::once(version).chain(key).collect(), body: encoded.body })
    }

    fn learns_from(&self, status: u16, message: &str, _call: &ModelCall) -> bool {
        let names = |words: &[&str]| words.iter().any(|word| message.contains(word));
        let learned = if status != 400 {
            return false;
        } else if names(&[
            "output_config.format",
            "output_format",
            "chema is too complex",
            "compiled grammar",
        ]) {
            &self.learned.no_format
        } else if names(&["temperature"]) && names(&["top_p"]) {
            &self.learned.no_top_p
        } else if names(&["temperature", "top_p", "top_k"]) {
            &self.learned.no_sampling
        } else {
            return false;
        };
        learned.store(true, Ordering::Relaxed);
        true
    }

    fn unlearns(&self) {
        for learned in [&self.learned.no_top_p, &self.learned.no_sampling, &self.learned.no_format] {
            learned.store(false, Ordering::Relaxed);
        }
    }

    fn reader(&self, _call: &ModelCall) -> MessagesReader {
        MessagesReader::new(self.endpoint.api_key.clone())
    }

    fn secret(&self) -> Option<&str> {
        self.endpoint.api_key.as_deref()
    }
}

#[cfg(test)]
mod tests;
