//! The one way commands reach conversations: the HTTP API, of the server that runs on the data
//! folder, or of a router in this process when none does.
//!
//! So a command has a single code path, and what it can do is what any client can do.

use std::time::Duration;

use axum::{Router, body::Body};
use bytes::Bytes;
use colloquy_models::client::HttpClients;
use futures::{Stream, StreamExt, TryStreamExt, stream::BoxStream};
use reqwest::{Method, StatusCode, header};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tower::ServiceExt;

use crate::{
    assembly::Assembly,
    cli::CliError,
    config::{Config, Token},
    data_dir::{DataDir, LockError, ServerNote},
    logging,
};

/// How long a server may take to say that it is there.
const HELLO: Duration = Duration::from_secs(2);
/// How often a folder that is locked by a silent process is tried, and how long apart.
const N_TRIES: u32 = 20;
const BETWEEN_TRIES: Duration = Duration::from_millis(150);

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A connection to the API.
pub(super) struct Client {
    transport: Transport,
    token: Option<Token>,
}

enum Transport {
    Server { http: reqwest::Client, base_url: String },
    InProcess { router: Router, assembly: Assembly },
}

/// An answer whose body has not been read yet. Dropping it closes the connection.
pub(super) struct Reply {
    status: StatusCode,
    body: BoxStream<'static, Result<Bytes, BoxError>>,
}

impl Client {
    /// Finds the server of the data folder, or takes the folder and becomes its own.
    pub(super) async fn connect(config: &Config) -> Result<Self, CliError> {
        let data_dir = DataDir::at(&config.data_dir);
        data_dir.create().map_err(|source| CliError::caused("create the data folder", source))?;
        let token = config.http.token.clone();
        // A server that is just starting holds the lock before it answers: give it a moment.
        for _ in 0..N_TRIES {
            if let Some(transport) = find_server(&data_dir).await? {
                logging::start(None).map_err(|source| CliError::caused("start", source))?;
                return Ok(Self { transport, token });
            }
            match data_dir.lock() {
                Ok(lock) => {
                    logging::start(Some(&data_dir)).map_err(|source| CliError::caused("start", source))?;
                    let assembly = Assembly::open(config, lock)
                        .await
                        .map_err(|source| CliError::caused("open the data folder", source))?;
                    let router = assembly.router(config, None);
                    return Ok(Self { transport: Transport::InProcess { router, assembly }, token });
                }
                Err(LockError::Held(_)) => tokio::time::sleep(BETWEEN_TRIES).await,
                Err(LockError::Io(source)) => return Err(CliError::caused("lock the data folder", source)),
            }
        }
        match data_dir.lock() {
            Err(LockError::Held(holder)) => Err(CliError::Failed(format!(
                "{} is in use by {holder}, which does not answer; end that program, or run `colloquy serve` \
                 so that several can share the folder",
                config.data_dir.display()
            ))),
            Ok(_) | Err(LockError::Io(_)) => {
                Err(CliError::Failed("the data folder was in use; please try again".into()))
            }
        }
    }

    /// Whether a server answers, rather than this process itself.
    pub(super) fn server_url(&self) -> Option<&str> {
        match &self.transport {
            Transport::Server { base_url, .. } => Some(base_url),
            Transport::InProcess { .. } => None,
        }
    }

    /// What runs in this process, when no server does.
    pub(super) fn assembly(&self) -> Option<&Assembly> {
        match &self.transport {
            Transport::Server { .. } => None,
            Transport::InProcess { assembly, .. } => Some(assembly),
        }
    }

    /// Sends one request; any status is an `Ok`.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Reply, CliError> {
        let bearer = self.token.as_ref().map(|token| format!("Bearer {}", token.reveal()));
        match &self.transport {
            Transport::Server { http, base_url } => {
                let mut request = http.request(method, format!("{base_url}{path}"));
                if let Some(bearer) = bearer {
                    request = request.header(header::AUTHORIZATION, bearer);
                }
                if let Some(body) = body {
                    request = request.header(header::CONTENT_TYPE, "application/json").body(body.to_string());
                }
                let response = request
                    .send()
                    .await
                    .map_err(|source| CliError::caused(format!("reach the server at {base_url}"), source))?;
                let status = response.status();
                Ok(Reply { status, body: response.bytes_stream().map_err(BoxError::from).boxed() })
            }
            Transport::InProcess { router, .. } => {
                let mut request = axum::http::Request::builder()
                    .method(method)
                    .uri(path)
                    .header(header::HOST, "localhost")
                    .header(header::CONTENT_TYPE, "application/json");
                if let Some(bearer) = bearer {
                    request = request.header(header::AUTHORIZATION, bearer);
                }
                let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
                let request =
                    request.body(body).map_err(|source| CliError::caused("build a request", source))?;
                let Ok(response) = router.clone().oneshot(request).await;
                let status = response.status();
                let body =
                    TryStreamExt::map_err(response.into_body().into_data_stream(), BoxError::from).boxed();
                Ok(Reply { status, body })
            }
        }
    }

    /// Reads a JSON document; a refusal is an error with the server's own words.
    pub(super) async fn fetch<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        self.send(Method::GET, path, None).await?.json().await
    }

    /// Sends a JSON document and reads one.
    pub(super) async fn post<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T, CliError> {
        self.send(Method::POST, path, Some(body)).await?.json().await
    }

    /// Ends what runs in this process. A server goes on.
    pub(super) async fn close(self) {
        match self.transport {
            Transport::Server { .. } => {}
            Transport::InProcess { router, assembly } => {
                drop(router);
                assembly.close().await;
            }
        }
    }
}

impl Reply {
    /// Turns a refusal into an error with the server's own words.
    pub(super) async fn accepted(mut self) -> Result<Self, CliError> {
        if self.status.is_success() {
            return Ok(self);
        }
        let status = self.status;
        let body = self.whole().await?;
        let problem: Value = serde_json::from_slice(&body).unwrap_or_default();
        let detail = problem["detail"].as_str().or_else(|| problem["title"].as_str());
        let text = detail.map_or_else(|| format!("the server answered {status}"), str::to_owned);
        Err(match status {
            StatusCode::UNAUTHORIZED => {
                CliError::TokenNeeded(format!("{text} (set COLLOQUY_TOKEN to the server's token)"))
            }
            _ => CliError::Failed(text),
        })
    }

    /// The body as one JSON document.
    pub(super) async fn json<T: DeserializeOwned>(self) -> Result<T, CliError> {
        let mut reply = self.accepted().await?;
        let body = reply.whole().await?;
        serde_json::from_slice(&body).map_err(|source| CliError::caused("understand the server", source))
    }

    /// The body line by line; lines are whole, blank ones are left out.
    pub(super) fn lines(self) -> Lines {
        Lines { body: self.body, buffer: Vec::new() }
    }

    /// The pieces of the body as they arrive.
    pub(super) fn chunks(self) -> impl Stream<Item = Result<Bytes, CliError>> + Unpin {
        self.body.map_err(|source| CliError::caused("read the answer", source))
    }

    async fn whole(&mut self) -> Result<Vec<u8>, CliError> {
        let mut whole = Vec::new();
        while let Some(chunk) = self.body.next().await {
            whole.extend_from_slice(&chunk.map_err(|source| CliError::caused("read the answer", source))?);
        }
        Ok(whole)
    }
}

/// Whole lines out of pieces.
pub(super) struct Lines {
    body: BoxStream<'static, Result<Bytes, BoxError>>,
    buffer: Vec<u8>,
}

impl Lines {
    /// The next line that is not blank; `None` at the end. A cut last line is an error.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, CliError> {
        loop {
            while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.buffer.drain(..=end).collect();
                line.pop();
                if !line.iter().all(u8::is_ascii_whitespace) {
                    return Ok(Some(line));
                }
            }
            match self.body.next().await {
                Some(Ok(chunk)) => self.buffer.extend_from_slice(&chunk),
                Some(Err(source)) => return Err(CliError::caused("read the answer", source)),
                None if self.buffer.is_empty() => return Ok(None),
                None => {
                    return Err(CliError::Failed("the connection broke in the middle of the answer".into()));
                }
            }
        }
    }
}

/// The server named by the folder's note, if it really is there.
async fn find_server(data_dir: &DataDir) -> Result<Option<Transport>, CliError> {
    let Some(ServerNote { url, .. }) = data_dir.server() else { return Ok(None) };
    let clients = HttpClients::new().map_err(|source| CliError::caused("prepare a request", source))?;
    let http = clients.for_url(&url).map_err(|source| CliError::caused("prepare a request", source))?;
    let hello = http.get(format!("{url}/healthz")).timeout(HELLO).send().await;
    // Anything may listen on the port of a server that died: only our own greeting counts, and
    // the token goes to nobody before it.
    let Ok(response) = hello else { return Ok(None) };
    let Ok(greeting) = response.bytes().await else { return Ok(None) };
    let greeting: Value = serde_json::from_slice(&greeting).unwrap_or_default();
    let is_ours = greeting["status"] == "ok" && greeting["version"].is_string();
    Ok(is_ours.then_some(Transport::Server { http, base_url: url }))
}
