//! The OpenAI chat-completions dialect: llama-server and every server that speaks its wire.
//!
//! A [`PreparedConversation`](colloquy_core::prepare::PreparedConversation) goes in, chunks come
//! out; failures are classified here, once. The dialect knows wires and never conversations, and
//! the key appears in no message, log or `Debug` text.

mod answer;
mod client;
mod decode;
mod encode;
mod error;
pub mod overflow;
mod sse;

use std::{
    fmt,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use colloquy::ports::{Model, ModelCall, ModelChunk, ModelError};
use colloquy_core::{silence, turn::Failure};
use futures::{StreamExt, stream::BoxStream};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use tokio::time::{Instant, timeout_at};

use self::{
    answer::Answer,
    encode::LimitField,
    error::{Reply, Secret},
};

pub use self::client::{HttpClientError, HttpClients, Unreachable, probe};

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
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("base_url", &self.base_url)
            .field("model", &self.model)
            .field("api_key", &self.api_key.as_ref().map(|_| "[key]"))
            .field("flavor", &self.flavor)
            .finish()
    }
}

/// Which fields a server understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    /// llama-server: reports reading, takes repetition settings and its own samplers.
    Llama,
    /// Any other server: the common fields only.
    Unknown,
}

/// One model behind an OpenAI-compatible server.
///
/// Keep one per installed model: it remembers which name the server wants for the token limit.
#[derive(Debug)]
pub struct OpenAiModel {
    endpoint: Endpoint,
    client: reqwest::Client,
    /// Set once the server has taken a request under the newer name of the limit.
    wants_completion_limit: AtomicBool,
}

impl OpenAiModel {
    /// Speaks to `endpoint` over `client`, which [`HttpClients`] provides.
    pub fn new(endpoint: Endpoint, client: reqwest::Client) -> Self {
        Self { endpoint, client, wants_completion_limit: AtomicBool::new(false) }
    }

    fn limit_field(&self) -> LimitField {
        if self.wants_completion_limit.load(Ordering::Relaxed) {
            LimitField::MaxCompletionTokens
        } else {
            LimitField::MaxTokens
        }
    }

    /// Sends the call, once more under the other name of the token limit if the server names it.
    async fn open(&self, call: &ModelCall, deadline: Deadline) -> Result<reqwest::Response, Failure> {
        let field = self.limit_field();
        let refused = match self.send(encode::body(call, &self.endpoint, field), deadline).await? {
            Reply::Stream(response) => return Ok(response),
            Reply::Refused(refused) => refused,
        };
        if field == LimitField::MaxCompletionTokens
            || call.options.max_tokens.is_none()
            || !refused.names_limit_field()
        {
            return Err(refused.failure);
        }
        let other = LimitField::MaxCompletionTokens;
        match self.send(encode::body(call, &self.endpoint, other), deadline).await? {
            Reply::Stream(response) => {
                self.wants_completion_limit.store(true, Ordering::Relaxed);
                Ok(response)
            }
            Reply::Refused(refused) => Err(refused.failure),
        }
    }

    async fn send(&self, body: Vec<u8>, deadline: Deadline) -> Result<Reply, Failure> {
        let url = format!("{}/chat/completions", self.endpoint.base_url.trim_end_matches('/'));
        let mut request = self
            .client
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .body(body);
        if let Some(key) = &self.endpoint.api_key {
            request = request.header(AUTHORIZATION, bearer(key)?);
        }
        let secret = Secret(self.endpoint.api_key.as_deref());
        let exchange = async {
            let response = request.send().await.map_err(|error| error::of_transport(error, secret))?;
            Ok(error::sort(response, secret).await)
        };
        timeout_at(deadline.at, exchange).await.unwrap_or(Err(deadline.missed()))
    }
}

#[async_trait]
impl Model for OpenAiModel {
    async fn call(
        &self,
        call: ModelCall,
    ) -> Result<BoxStream<'static, Result<ModelChunk, ModelError>>, ModelError> {
        let prompt_tokens = silence::estimated_prompt_tokens(&call.prepared);
        let limit = silence::first_chunk_limit(prompt_tokens, call.options.window_tokens);
        let response = self.open(&call, Deadline::after(limit)).await.map_err(ModelError)?;
        // The server has spoken, so the wait for the first chunk begins anew.
        let secret = self.endpoint.api_key.clone();
        Answer::new(response.bytes_stream(), secret, limit).start().await.map(StreamExt::boxed)
    }

    fn name(&self) -> (&'static str, String) {
        ("openai", self.endpoint.model.clone())
    }
}

/// When silence becomes a failure.
#[derive(Debug, Clone, Copy)]
struct Deadline {
    at: Instant,
    limit: Duration,
}

impl Deadline {
    fn after(limit: Duration) -> Self {
        Self { at: Instant::now() + limit, limit }
    }

    fn missed(self) -> Failure {
        Failure::Silent { waited_s: u32::try_from(self.limit.as_secs()).unwrap_or(u32::MAX) }
    }
}

fn bearer(key: &str) -> Result<HeaderValue, Failure> {
    let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| Failure::Refused {
        detail: "the API key holds characters that cannot be sent, such as a line break; set it again".into(),
    })?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests;
