//! One model behind one wire over HTTP: the request, the refusals, the limits on silence.
//!
//! What is the same for every provider stands here once; what differs is a `Wire`, which is pure.
//! Failures are classified in `error` and nowhere else, and a key appears in no message,
//! log or `Debug` text.

mod answer;
pub(crate) mod decode;
mod serve;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use colloquy::ports::{Model, ModelCall, ModelChunk, ModelError};
use colloquy_core::{silence, turn::Failure};
use futures::{StreamExt, stream::BoxStream};
use reqwest::{
    Client,
    header::{ACCEPT, CONTENT_TYPE, HeaderValue},
};
use tokio::time::{Instant, timeout_at};

use self::{answer::Answer, decode::AnswerDecoder};
use crate::{
    client::{HttpClientError, HttpClients},
    error::{self, Refused, Reply, Secret},
    queue::Queue,
    wire::{Framing, Wire, WireRequest},
};

/// How many turns of a program run at once on its one model; [`crate::queue::WAITING_MAX`] more
/// wait.
const PARALLEL: usize = 64;

/// A model on a wire `W`, named by the aliases of the dialects, such as
/// [`OpenAi`](crate::openai::OpenAi).
///
/// It is a [`Model`], and as [`Models`](colloquy::ports::Models) it answers every conversation of a
/// program that has no other. Clones share its connections, its queue and what it has learnt of its
/// server.
pub struct HttpModel<W> {
    connection: Arc<Connection<W>>,
    queue: Queue,
}

struct Connection<W> {
    wire: W,
    client: Client,
}

impl<W> Clone for HttpModel<W> {
    fn clone(&self) -> Self {
        Self { connection: Arc::clone(&self.connection), queue: self.queue.clone() }
    }
}

impl<W: fmt::Debug> fmt::Debug for HttpModel<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HttpModel").field(&self.connection.wire).finish()
    }
}

impl<W> HttpModel<W> {
    /// Speaks over connections of its own to the server at `base_url`.
    pub(crate) fn connect(wire: W, base_url: &str) -> Result<Self, HttpClientError> {
        Ok(Self::over(wire, HttpClients::new()?.for_url(base_url)?))
    }

    /// Speaks over `client`.
    pub(crate) fn over(wire: W, client: Client) -> Self {
        Self { connection: Arc::new(Connection { wire, client }), queue: Queue::new(PARALLEL) }
    }
}

#[async_trait]
impl<W: Wire> Model for HttpModel<W> {
    async fn call(
        &self,
        call: ModelCall,
    ) -> Result<BoxStream<'static, Result<ModelChunk, ModelError>>, ModelError> {
        let prompt_tokens = silence::estimated_prompt_tokens(&call.prepared);
        let limit = silence::first_chunk_limit(prompt_tokens, call.options.window_tokens);
        let response = self.connection.open(&call, Deadline::after(limit)).await.map_err(ModelError)?;
        let wire = &self.connection.wire;
        let decoder = AnswerDecoder::new(wire.framing(), wire.reader(&call), call.options.max_tokens);
        let secret = wire.secret().map(str::to_owned);
        // The server has spoken, so the wait for the first chunk begins anew.
        Answer::new(response.bytes_stream(), decoder, secret, limit).start().await.map(StreamExt::boxed)
    }

    fn name(&self) -> (&'static str, String) {
        let (dialect, model) = self.connection.wire.name();
        (dialect, model.to_owned())
    }
}

impl<W: Wire> Connection<W> {
    /// Sends the call, once more if the wire has learnt from the refusal how to put it.
    async fn open(&self, call: &ModelCall, deadline: Deadline) -> Result<reqwest::Response, Failure> {
        let refused = match self.send(self.wire.request(call)?, deadline).await? {
            Reply::Stream(response) => return Ok(response),
            Reply::Refused(refused) => refused,
        };
        if !is_about_the_request(&refused) || !self.wire.learns_from(refused.status, &refused.message, call) {
            return Err(refused.failure);
        }
        match self.send(self.wire.request(call)?, deadline).await? {
            Reply::Stream(response) => Ok(response),
            Reply::Refused(refused) => {
                self.wire.unlearns();
                Err(refused.failure)
            }
        }
    }

    async fn send(&self, request: WireRequest, deadline: Deadline) -> Result<Reply, Failure> {
        let WireRequest { url, headers, body } = request;
        let accept = match self.wire.framing() {
            Framing::Sse => "text/event-stream",
            Framing::AwsEventStream => "application/vnd.amazon.eventstream",
        };
        let mut request =
            self.client.post(url).header(CONTENT_TYPE, "application/json").header(ACCEPT, accept).body(body);
        for (name, value) in headers {
            request = request.header(name, header_value(&value)?);
        }
        let secret = Secret(self.wire.secret());
        let exchange = async {
            let response = request.send().await.map_err(|error| error::of_transport(error, secret))?;
            Ok(error::sort(response, secret).await)
        };
        timeout_at(deadline.at, exchange).await.unwrap_or(Err(deadline.missed()))
    }
}

/// Whether another form of the same request may be taken.
fn is_about_the_request(refused: &Refused) -> bool {
    match refused.failure {
        Failure::Refused { .. } => true,
        Failure::Overflow { .. }
        | Failure::Engine { .. }
        | Failure::Transient { .. }
        | Failure::Busy { .. }
        | Failure::ContentRefused { .. }
        | Failure::Silent { .. }
        | Failure::OffContract { .. }
        | Failure::ToolLimit { .. }
        | Failure::Internal => false,
    }
}

fn header_value(value: &str) -> Result<HeaderValue, Failure> {
    let mut value = HeaderValue::from_str(value).map_err(|_| Failure::Refused {
        detail: "the API key holds characters that cannot be sent, such as a line break; set it again".into(),
    })?;
    value.set_sensitive(true);
    Ok(value)
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
