//! A model server that follows a script, on a free loopback port, in the wire of each request.
//!
//! Chat completions have the events of llama-server's stream, in the same order and with the same
//! members; the Responses API, Anthropic Messages and Bedrock Converse have those that their
//! services publish. It records requests as raw bytes, and answers whose client left before their
//! end. For tests of the wires, and for measuring what Colloquy adds to a model.

mod frame;
mod play;
mod reply;
mod wire;

use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, HeaderName, StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::get,
    serve::ListenerExt,
};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

use crate::lock::lock;

use self::wire::{Form, Wire};

pub use self::{
    frame::{Frame, WireError, WireUsage},
    reply::{Reply, StreamPlan},
};

/// A running server. It stops listening when this is dropped.
#[derive(Debug)]
pub struct ScriptedServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    listening: JoinHandle<()>,
}

/// A request as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireRequest {
    /// Its path, percent-encoded as it came.
    pub path: String,
    /// Its headers by their names in lower case, in no particular order.
    pub headers: Vec<(String, String)>,
    /// Its body, byte for byte.
    pub body: Vec<u8>,
}

impl WireRequest {
    /// The first value of the header with that name, in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

#[derive(Debug)]
struct Shared {
    replies: Mutex<VecDeque<Reply>>,
    /// Given when `replies` is empty.
    standing: Option<Reply>,
    seen: watch::Sender<Seen>,
}

/// What a test may wait for.
#[derive(Debug, Default)]
struct Seen {
    requests: Vec<WireRequest>,
    n_connections: usize,
    n_closed_early: usize,
}

impl ScriptedServer {
    /// Gives `replies`, one per request, and then answers 500.
    pub async fn start(replies: impl IntoIterator<Item = Reply>) -> io::Result<Self> {
        Self::listen(0, replies.into_iter().collect(), None).await
    }

    /// Gives the same reply to every request, on `port`, or on a free one for 0.
    pub async fn always(reply: Reply, port: u16) -> io::Result<Self> {
        Self::listen(port, VecDeque::new(), Some(reply)).await
    }

    async fn listen(port: u16, replies: VecDeque<Reply>, standing: Option<Reply>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let address = listener.local_addr()?;
        let shared =
            Arc::new(Shared { replies: Mutex::new(replies), standing, seen: watch::Sender::default() });
        let router = Router::new()
            .route("/health", get(|| async { r#"{"status":"ok"}"# }))
            .route("/v1/models", get(models))
            .fallback(answer)
            .with_state(Arc::clone(&shared));
        let counted = Arc::clone(&shared);
        let listener = listener.tap_io(move |connection| {
            // Without it Nagle's algorithm would be measured instead of the server.
            let _ = connection.set_nodelay(true);
            counted.seen.send_modify(|seen| seen.n_connections += 1);
        });
        let listening = tokio::spawn(async move {
            // A loopback listener that fails ends the server; its clients see a refused connection.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { address, shared, listening })
    }

    /// The address under which `/chat/completions`, `/responses` and `/messages` lie.
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.origin())
    }

    /// The address under which `/v1/messages` and `/model/{id}/converse-stream` lie.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Every request so far, oldest first.
    pub fn requests(&self) -> Vec<WireRequest> {
        self.shared.seen.borrow().requests.clone()
    }

    /// The bodies of the requests so far, for [`crate::prefix::assert_prefix_stable`].
    pub fn bodies(&self) -> Vec<Vec<u8>> {
        self.requests().into_iter().map(|request| request.body).collect()
    }

    /// How many connections were opened so far.
    pub fn n_connections(&self) -> usize {
        self.shared.seen.borrow().n_connections
    }

    /// How many answers the client did not wait for so far.
    pub fn n_closed_early(&self) -> usize {
        self.shared.seen.borrow().n_closed_early
    }

    /// Waits until that many requests have come.
    pub async fn requested(&self, n_requests: usize) {
        self.wait_for(|seen| seen.requests.len() >= n_requests).await;
    }

    /// Waits until the client has left that many answers before their end.
    pub async fn closed_early(&self, n_answers: usize) {
        self.wait_for(|seen| seen.n_closed_early >= n_answers).await;
    }

    async fn wait_for(&self, holds: impl FnMut(&Seen) -> bool) {
        self.shared.seen.subscribe().wait_for(holds).await.expect("BUG: the server owns the sender");
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn models() -> Response {
    let body = r#"{"object":"list","data":[{"id":"scripted-model","object":"model"}]}"#;
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

async fn answer(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let spoken = Wire::of(uri.path(), &body);
    // Taken before the request is recorded, so that a test that saw it knows its reply is taken.
    let reply = shared.next_reply(spoken);
    let guard = AnswerGuard { shared: Arc::clone(&shared), is_whole: false };
    let request = recorded(&uri, &headers, &body);
    shared.seen.send_modify(|seen| seen.requests.push(request));
    match (reply, spoken) {
        (Some(Reply::Stream(plan)), Some((wire, form))) => played(plan, wire, form, guard),
        (Some(Reply::Error(error)), Some((wire, _))) => {
            guard.whole();
            refused(wire, &error)
        }
        (Some(Reply::Document { status, headers, body }), _) => {
            guard.whole();
            document(status, headers, body)
        }
        (Some(Reply::Never), _) => {
            let _held_until_the_client_leaves = guard;
            std::future::pending().await
        }
        (None, Some(_)) => {
            guard.whole();
            (StatusCode::INTERNAL_SERVER_ERROR, "the test's script has no further reply").into_response()
        }
        (Some(Reply::Stream(_) | Reply::Error(_)) | None, None) => {
            guard.whole();
            (StatusCode::NOT_FOUND, "the scripted server speaks no wire at this path").into_response()
        }
    }
}

impl Shared {
    /// The next reply, if it can be given in the wire that is spoken; else it stays.
    fn next_reply(&self, spoken: Option<(Wire, Form)>) -> Option<Reply> {
        let can_be_given = |reply: &mut Reply| match reply {
            Reply::Stream(_) | Reply::Error(_) => spoken.is_some(),
            Reply::Document { .. } | Reply::Never => true,
        };
        let mut replies = lock(&self.replies);
        if replies.is_empty() {
            return self.standing.clone();
        }
        replies.pop_front_if(can_be_given)
    }
}

fn played(plan: StreamPlan, wire: Wire, form: Form, guard: AnswerGuard) -> Response {
    // A document cannot break off, so where its script fails it is the error instead.
    if let Some(error) = plan.error().filter(|_| form == Form::Whole) {
        guard.whole();
        return refused(wire, error);
    }
    let headers = [(header::CONTENT_TYPE, wire.media_type(form)), (header::CACHE_CONTROL, "no-cache")];
    (headers, Body::from_stream(play::play(plan, wire.renderer(form), guard))).into_response()
}

fn refused(wire: Wire, error: &WireError) -> Response {
    let (headers, body) = wire::error_document(wire, error);
    document(error.status, headers, body.to_string())
}

fn recorded(uri: &Uri, headers: &HeaderMap, body: &Bytes) -> WireRequest {
    let header = |(name, value): (&HeaderName, &axum::http::HeaderValue)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    WireRequest {
        path: uri.path().to_owned(),
        headers: headers.iter().map(header).collect(),
        body: body.to_vec(),
    }
}

fn document(status: u16, headers: Vec<(HeaderName, String)>, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(status).expect("BUG: no such status");
    for (name, value) in headers {
        let value = value.parse().expect("BUG: not a header value");
        response.headers_mut().insert(name, value);
    }
    response
}

/// Lives as long as its answer; dropped before the answer is whole, the client has left.
#[derive(Debug)]
struct AnswerGuard {
    shared: Arc<Shared>,
    is_whole: bool,
}

impl AnswerGuard {
    /// The answer ended as the script says.
    fn whole(mut self) {
        self.is_whole = true;
    }
}

impl Drop for AnswerGuard {
    fn drop(&mut self) {
        if !self.is_whole {
            self.shared.seen.send_modify(|seen| seen.n_closed_early += 1);
        }
    }
}

#[cfg(test)]
mod tests;
