//! The OpenAI chat-completions dialect: llama-server and every server that speaks its wire
//! (runtime reference § 12.2).
//!
//! It knows the wire and never conversations; [`HttpModel`] does the rest. Engines that render a
//! template get one system message and no two turns of one role in a row, OpenAI gets what was
//! prepared as it is (I5).

mod decode;
mod encode;
mod messages;

pub(crate) use self::decode::ChatReader;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use colloquy::ports::{ModelCall, ModelChunk, ModelError};
use colloquy_core::{seat::ModelSpec, turn::Failure};
use reqwest::Client;
use serde_json::{Map, Value};

use self::encode::LimitField;
use crate::{
    client::HttpClientError,
    http::{HttpModel, decode::AnswerDecoder},
    wire::{Framing, Wire, WireRequest},
};

/// One model behind an OpenAI-compatible server.
///
/// Keep one per installed model: it remembers which name the server wants for the token limit.
pub type OpenAi = HttpModel<ChatWire>;

/// Where a model is reached and how its wire differs.
#[derive(Clone)]
pub struct Endpoint {
    /// Ends where `/chat/completions` is appended.
    pub base_url: String,
    /// The model's name there.
    pub model: String,
    /// Sent as a bearer token.
    pub api_key: Option<String>,
    /// Which fields beyond the common ones it understands.
    pub flavor: Flavor,
    /// Members of the request that this dialect does not send itself, such as `logit_bias`.
    pub extra: Map<String, Value>,
}

impl Endpoint {
    /// A server of which nothing else is known; set what is.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            model: model.into(),
            api_key: None,
            flavor: Flavor::Unknown,
            extra: Map::new(),
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("base_url", &self.base_url)
            .field("model", &self.model)
            .field("api_key", &self.api_key.as_ref().map(|_| "[key]"))
            .field("flavor", &self.flavor)
            .field("extra", &self.extra)
            .finish()
    }
}

/// Which fields a server understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    /// llama-server: reports reading, takes repetition settings and its own samplers.
    Llama,
    /// OpenAI: the newer name of the token limit, turns as they are prepared.
    OpenAi,
    /// Any other server: the common fields only.
    Unknown,
}

impl Flavor {
    /// Whether a template renders the messages, so that roles must alternate and one system message
    /// stands at the start.
    fn renders_template(self) -> bool {
        match self {
            Self::Llama | Self::Unknown => true,
            Self::OpenAi => false,
        }
    }
}

/// The wire to one model.
#[derive(Debug)]
pub struct ChatWire {
    endpoint: Endpoint,
    spec: Arc<ModelSpec>,
    /// Whether the token limit goes under its newer name; learnt from a refusal.
    wants_completion_limit: AtomicBool,
}

impl HttpModel<ChatWire> {
    /// Speaks to `endpoint`, whose model can do what `spec` says. Fails when no HTTP client can be
    /// set up.
    pub fn new(endpoint: Endpoint, spec: ModelSpec) -> Result<Self, HttpClientError> {
        let base_url = endpoint.base_url.clone();
        Self::connect(ChatWire::new(endpoint, Arc::new(spec)), &base_url)
    }

    /// As [`Self::new`], over `client`, which [`HttpClients`](crate::client::HttpClients) provides.
    pub fn with_client(endpoint: Endpoint, spec: impl Into<Arc<ModelSpec>>, client: Client) -> Self {
        Self::over(ChatWire::new(endpoint, spec.into()), client)
    }
}

impl ChatWire {
    pub(crate) fn new(endpoint: Endpoint, spec: Arc<ModelSpec>) -> Self {
        let wants_completion_limit = match endpoint.flavor {
            Flavor::OpenAi => true,
            Flavor::Llama | Flavor::Unknown => false,
        };
        Self { endpoint, spec, wants_completion_limit: AtomicBool::new(wants_completion_limit) }
    }

    fn limit_field(&self) -> LimitField {
        if self.wants_completion_limit.load(Ordering::Relaxed) {
            LimitField::MaxCompletionTokens
        } else {
            LimitField::MaxTokens
        }
    }
}

/// Reads a recorded answer, which may be cut anywhere: the chunks that [`OpenAi`] makes of the same
/// bytes. A stream that fails, or ends before its answer does, gives its failure alone.
pub fn read_recorded<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<ModelChunk>, ModelError> {
    let mut decoder = AnswerDecoder::new(Framing::Sse, ChatReader::default(), None);
    let mut chunks = Vec::new();
    for piece in pieces {
        decoder.push(piece).map_err(ModelError)?;
        chunks.extend(std::iter::from_fn(|| decoder.pop()));
    }
    decoder.end(None).map_err(ModelError)?;
    chunks.extend(std::iter::from_fn(|| decoder.pop()));
    Ok(chunks)
}

impl Wire for ChatWire {
    type Reader = ChatReader;

    fn name(&self) -> (&'static str, &str) {
        ("openai", &self.endpoint.model)
    }

    fn spec(&self) -> &Arc<ModelSpec> {
        &self.spec
    }

    fn framing(&self) -> Framing {
        Framing::Sse
    }

    fn request(&self, call: &ModelCall) -> Result<WireRequest, Failure> {
        let body = encode::body(call, &self.endpoint, &self.spec, self.limit_field())?;
        let url = format!("{}/chat/completions", self.endpoint.base_url.trim_end_matches('/'));
        let bearer = self.endpoint.api_key.as_ref().map(|key| ("authorization", format!("Bearer {key}")));
        Ok(WireRequest { url, headers: bearer.into_iter().collect(), body })
    }

    /// A server that complains about the name under which the token limit was sent gets the other.
    fn learns_from(&self, status: u16, message: &str, call: &ModelCall) -> bool {
        let is_about_name =
            status == 400 && message.contains("max_tokens") && call.options.max_tokens.is_some();
        is_about_name && !self.wants_completion_limit.swap(true, Ordering::Relaxed)
    }

    fn unlearns(&self) {
        self.wants_completion_limit.store(false, Ordering::Relaxed);
    }

    fn reader(&self, _call: &ModelCall) -> ChatReader {
        ChatReader::new(self.endpoint.api_key.clone())
    }

    fn secret(&self) -> Option<&str> {
        self.endpoint.api_key.as_deref()
    }
}

#[cfg(test)]
mod tests;
