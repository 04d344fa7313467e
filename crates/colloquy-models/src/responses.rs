//! The OpenAI Responses dialect: a call as `input` items, an answer as typed events
//! (runtime reference § 12.3).
//!
//! Nothing is kept at the server (`store: false`): its reasoning comes back encrypted, is stored as
//! it came and is replayed byte for byte. Turns of one role in a row are sent as they are (I5).

mod decode;
mod encode;
mod items;

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

use self::decode::ResponsesReader;
use crate::{
    client::HttpClientError,
    http::HttpModel,
    wire::{Framing, Wire, WireRequest},
};

/// A model behind the Responses API.
///
/// ```
/// use colloquy_core::seat::ModelSpec;
/// use colloquy_models::responses::{Endpoint, OpenAiResponses};
///
/// let endpoint = Endpoint {
///     base_url: "https://api.openai.com/v1".into(),
///     model: "gpt-5".into(),
///     api_key: Some("sk-…".into()),
///     extra: serde_json::Map::new(),
/// };
/// let spec = ModelSpec { context_window: Some(400_000), json_schema: true, ..ModelSpec::default() };
/// let model = OpenAiResponses::new(endpoint, spec)?;
/// # Ok::<(), colloquy_models::client::HttpClientError>(())
/// ```
pub type OpenAiResponses = HttpModel<ResponsesWire>;

impl OpenAiResponses {
    /// Speaks to `endpoint` over connections of its own; `spec` says what the model can do.
    pub fn new(endpoint: Endpoint, spec: ModelSpec) -> Result<Self, HttpClientError> {
        let base_url = endpoint.base_url.clone();
        Self::connect(ResponsesWire::new(endpoint, Arc::new(spec)), &base_url)
    }
}

/// Where a model is reached that speaks the Responses API.
#[derive(Clone)]
pub struct Endpoint {
    /// Ends where `/responses` is appended, such as `https://api.openai.com/v1`.
    pub base_url: String,
    /// The model's name there.
    pub model: String,
    /// Sent as a bearer token.
    pub api_key: Option<String>,
    /// Members of the request beyond those of a call, such as `service_tier`.
    pub extra: Map<String, Value>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("base_url", &self.base_url)
            .field("model", &self.model)
            .field("api_key", &self.api_key.as_ref().map(|_| "[key]"))
            .field("extra", &self.extra)
            .finish()
    }
}

/// The wire to one model. It remembers what the model does not take.
#[derive(Debug)]
pub struct ResponsesWire {
    endpoint: Endpoint,
    spec: Arc<ModelSpec>,
    learned: Learned,
}

/// What the server has refused once and is not sent again.
#[derive(Debug, Default)]
struct Learned {
    /// Reasoning models take no temperature and no `top_p`.
    no_sampling: AtomicBool,
    /// Models that do not reason refuse the question for their encrypted reasoning.
    no_encrypted_reasoning: AtomicBool,
}

impl ResponsesWire {
    fn new(endpoint: Endpoint, spec: Arc<ModelSpec>) -> Self {
        Self { endpoint, spec, learned: Learned::default() }
    }

    fn takes(&self) -> encode::Takes {
        encode::Takes {
            sampling: !self.learned.no_sampling.load(Ordering::Relaxed),
            encrypted_reasoning: !self.learned.no_encrypted_reasoning.load(Ordering::Relaxed),
        }
    }
}

impl Wire for ResponsesWire {
    type Reader = ResponsesReader;

    fn name(&self) -> (&'static str, &str) {
        ("openai-responses", &self.endpoint.model)
    }

    fn spec(&self) -> &Arc<ModelSpec> {
        &self.spec
    }

    fn framing(&self) -> Framing {
        Framing::Sse
    }

    fn request(&self, call: &ModelCall) -> Result<WireRequest, Failure> {
        let body = encode::body(call, &self.endpoint, &self.spec, self.takes())?;
        let url = format!("{}/responses", self.endpoint.base_url.trim_end_matches('/'));
        let bearer = self.endpoint.api_key.as_ref().map(|key| ("authorization", format!("Bearer {key}")));
        Ok(WireRequest { url, headers: bearer.into_iter().collect(), body })
    }

    fn learns_from(&self, status: u16, message: &str, _call: &ModelCall) -> bool {
        if status != 400 {
            return false;
        }
        let learned = if message.contains("Encrypted content is not supported") {
            &self.learned.no_encrypted_reasoning
        } else if message.contains("Unsupported parameter")
            && ["'temperature'", "'top_p'"].iter().any(|name| message.contains(name))
        {
            &self.learned.no_sampling
        } else {
            return false;
        };
        learned.store(true, Ordering::Relaxed);
        true
    }

    fn unlearns(&self) {
        self.learned.no_sampling.store(false, Ordering::Relaxed);
        self.learned.no_encrypted_reasoning.store(false, Ordering::Relaxed);
    }

    fn reader(&self, _call: &ModelCall) -> ResponsesReader {
        ResponsesReader::new(self.endpoint.api_key.clone())
    }

    fn secret(&self) -> Option<&str> {
        self.endpoint.api_key.as_deref()
    }
}

#[cfg(test)]
mod tests;
