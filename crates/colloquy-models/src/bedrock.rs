//! The Bedrock Converse dialect: tools as text, requests signed by SigV4, answers in the binary
//! frames of AWS (runtime reference § 12.4).
//!
//! Every model behind Converse is told of tools in the same words, whether or not its provider has
//! tools of its own; so a conversation moves between them unchanged.

mod content;
mod decode;
mod encode;
mod sign;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use colloquy::ports::{Clock, ModelCall};
use colloquy_core::{seat::ModelSpec, turn::Failure};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use self::decode::ConverseReader;
use crate::{
    client::HttpClientError,
    http::HttpModel,
    wire::{Framing, Wire, WireRequest},
};

/// A model behind Bedrock's Converse API.
///
/// ```
/// use std::sync::Arc;
///
/// use colloquy::ports::SystemClock;
/// use colloquy_core::seat::{ModelSpec, ToolWire};
/// use colloquy_models::bedrock::{Bedrock, Credentials, Endpoint};
///
/// let credentials = Credentials {
///     access_key_id: "AKIA…".into(),
///     secret_access_key: "…".into(),
///     session_token: None,
/// };
/// let endpoint = Endpoint::in_region("eu-west-1", "openai.gpt-oss-120b-1:0", credentials);
/// let spec = ModelSpec { context_window: Some(128_000), tools: ToolWire::Text, ..ModelSpec::default() };
/// let model = Bedrock::new(endpoint, spec, Arc::new(SystemClock))?;
/// # Ok::<(), colloquy_models::client::HttpClientError>(())
/// ```
pub type Bedrock = HttpModel<ConverseWire>;

impl Bedrock {
    /// Speaks to `endpoint` over connections of its own; `spec` says what the model can do, and
    /// `clock` dates the signatures: the service refuses those that are minutes off.
    pub fn new(endpoint: Endpoint, spec: ModelSpec, clock: Arc<dyn Clock>) -> Result<Self, HttpClientError> {
        let base_url = endpoint.base_url.clone();
        Self::connect(ConverseWire::new(endpoint, Arc::new(spec), clock), &base_url)
    }
}

/// The name under which a signature is made out.
const SERVICE: &str = "bedrock";
/// What a path segment is encoded without; the identifiers of models hold `:` and, as resource
/// names, `/`.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Where a model is reached that speaks Converse.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Ends where `/model/…` is appended, such as `https://bedrock-runtime.eu-west-1.amazonaws.com`.
    pub base_url: String,
    /// The identifier or resource name of the model or of its inference profile.
    pub model: String,
    /// The region that the signature is made out to.
    pub region: String,
    /// Who asks.
    pub credentials: Credentials,
}

impl Endpoint {
    /// The public endpoint of a region.
    pub fn in_region(region: &str, model: &str, credentials: Credentials) -> Self {
        Self {
            base_url: format!("https://bedrock-runtime.{region}.amazonaws.com"),
            model: model.to_owned(),
            region: region.to_owned(),
            credentials,
        }
    }
}

/// The keys that sign a request. Only the session token is ever sent.
#[derive(Clone)]
pub struct Credentials {
    /// Names the key.
    pub access_key_id: String,
    /// The key itself.
    pub secret_access_key: String,
    /// Goes with keys that are valid for a while.
    pub session_token: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("access_key_id", &self.access_key_id).finish_non_exhaustive()
    }
}

/// The wire to one model. It remembers what the model does not take.
pub struct ConverseWire {
    endpoint: Endpoint,
    spec: Arc<ModelSpec>,
    clock: Arc<dyn Clock>,
    /// The model takes a temperature or a `topP`, and has refused both together.
    no_top_p: AtomicBool,
    /// The model has refused to be told how to sample.
    no_sampling: AtomicBool,
}

impl fmt::Debug for ConverseWire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConverseWire").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl ConverseWire {
    fn new(endpoint: Endpoint, spec: Arc<ModelSpec>, clock: Arc<dyn Clock>) -> Self {
        let (no_top_p, no_sampling) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { endpoint, spec, clock, no_top_p, no_sampling }
    }

    fn takes(&self) -> encode::Takes {
        if self.no_sampling.load(Ordering::Relaxed) {
            encode::Takes::NoSampling
        } else if self.no_top_p.load(Ordering::Relaxed) {
            encode::Takes::Temperature
        } else {
            encode::Takes::Both
        }
    }
}

impl Wire for ConverseWire {
    type Reader = ConverseReader;

    fn name(&self) -> (&'static str, &str) {
        ("bedrock-converse", &self.endpoint.model)
    }

    fn spec(&self) -> &Arc<ModelSpec> {
        &self.spec
    }

    fn framing(&self) -> Framing {
        Framing::AwsEventStream
    }

    fn request(&self, call: &ModelCall) -> Result<WireRequest, Failure> {
        let encoded = encode::body(call, self.takes());
        for media_type in &encoded.dropped {
            tracing::warn!(%media_type, "a file was left out of the request: Converse does not take its type");
        }
        let base = self.endpoint.base_url.trim_end_matches('/');
        let model = utf8_percent_encode(&self.endpoint.model, SEGMENT);
        let url = format!("{base}/model/{model}/converse-stream");
        let unsigned =
            sign::Unsigned { url: &url, body: &encoded.body, service: SERVICE, at: self.clock.now() };
        let headers = unsigned.sign(&self.endpoint.credentials, &self.endpoint.region)?;
        Ok(WireRequest { url, headers, body: encoded.body })
    }

    fn learns_from(&self, status: u16, message: &str, _call: &ModelCall) -> bool {
        let names_temperature = message.contains("temperature");
        let names_top_p = message.contains("top_p") || message.contains("topP");
        if status != 400 || !(names_temperature || names_top_p) {
            return false;
        }
        let learned = if names_top_p { &self.no_top_p } else { &self.no_sampling };
        learned.store(true, Ordering::Relaxed);
        true
    }

    fn unlearns(&self) {
        self.no_top_p.store(false, Ordering::Relaxed);
        self.no_sampling.store(false, Ordering::Relaxed);
    }

    fn reader(&self, _call: &ModelCall) -> ConverseReader {
        ConverseReader::new(self.endpoint.credentials.session_token.clone())
    }

    fn secret(&self) -> Option<&str> {
        self.endpoint.credentials.session_token.as_deref()
    }
}

#[cfg(test)]
mod tests;
