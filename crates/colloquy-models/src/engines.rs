//! Every model this process can reach: the one local engine with its queue, and remote servers.
//!
//! A turn is admitted or refused at once; an admitted one waits in order. The local engine runs
//! one turn at a time and is exchanged when the next turn names another model. Nothing here knows
//! what a turn says.

mod facts;
mod local;
mod remote;
mod watched;

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use colloquy::ports::{EngineKind, LlmRow, LoadNotice, ModelError, Models, Opened, Overloaded, Ticket};
use colloquy_core::turn::{Failure, Locality};
use local::Local;
use remote::{Address, Remote};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use crate::openai::{HttpClientError, HttpClients};

/// How many turns may wait for an engine; the next one is refused.
pub const WAITING_MAX: usize = 64;

/// What [`Engines`] needs to know.
#[derive(Debug, Clone)]
pub struct EnginesConfig {
    /// The engine that was named; otherwise it is looked for.
    pub llama_server: Option<PathBuf>,
    /// The data folder, which may hold an engine.
    pub data_dir: PathBuf,
    /// How long a local model stays loaded after its last turn.
    pub idle_unload: Duration,
    /// How often idleness is looked at.
    pub idle_tick: Duration,
    /// How long a local model may take to load.
    pub load_timeout: Duration,
    /// How many turns run at once on remote servers.
    pub parallel_remote: usize,
}

impl EnginesConfig {
    /// The defaults for a data folder.
    pub fn new(data_dir: PathBuf) -> Self {
        Self {
            llama_server: None,
            data_dir,
            idle_unload: Duration::from_secs(300),
            idle_tick: Duration::from_secs(30),
            load_timeout: Duration::from_secs(600),
            parallel_remote: 64,
        }
    }
}

/// The models of this process. Dropping it ends the local engine.
#[derive(Debug)]
pub struct Engines {
    local: Arc<Local>,
    remote: Arc<Remote>,
    tasks: TaskTracker,
    stop: CancellationToken,
    _stop_on_drop: DropGuard,
}

impl Engines {
    /// Starts watching for idleness; needs a Tokio runtime.
    pub fn new(config: EnginesConfig) -> Result<Self, HttpClientError> {
        let stop = CancellationToken::new();
        let clients = HttpClients::new()?;
        let child_client = clients.for_child()?;
        let remote = Arc::new(Remote::new(clients, config.parallel_remote));
        let local = Arc::new(Local::new(config, child_client, stop.clone()));
        let tasks = TaskTracker::new();
        tasks.spawn(Arc::clone(&local).watch_idleness());
        tasks.close();
        Ok(Self { local, remote, tasks, _stop_on_drop: stop.clone().drop_guard(), stop })
    }
}

#[async_trait]
impl Models for Engines {
    fn admit(&self, llm: &LlmRow) -> Result<Box<dyn Ticket>, Overloaded> {
        Ok(match &llm.engine {
            EngineKind::Llama { path } => Box::new(LocalTicket {
                place: self.local.admit()?,
                local: Arc::clone(&self.local),
                path: path.into(),
            }),
            EngineKind::OpenAi { base_url, model, api_key_env } => Box::new(RemoteTicket {
                place: self.remote.admit()?,
                remote: Arc::clone(&self.remote),
                address: Address {
                    base_url: base_url.clone(),
                    model: model.clone(),
                    api_key_env: api_key_env.clone(),
                },
                window_tokens: llm.context_window,
            }),
        })
    }

    fn allocated_window(&self, llm: &LlmRow) -> Option<u32> {
        match &llm.engine {
            EngineKind::Llama { path } => self.local.allocated_window(path.as_ref()),
            EngineKind::OpenAi { .. } => None,
        }
    }

    async fn shut_down(&self) {
        self.stop.cancel();
        self.local.shut_down().await;
        self.tasks.wait().await;
    }
}

/// A place in the queue of the local engine.
struct LocalTicket {
    local: Arc<Local>,
    path: PathBuf,
    place: OwnedSemaphorePermit,
}

#[async_trait]
impl Ticket for LocalTicket {
    fn locality(&self) -> Locality {
        Locality::Local
    }

    async fn open(self: Box<Self>, notices: mpsc::Sender<LoadNotice>) -> Result<Opened, ModelError> {
        self.local.open(self.place, &self.path, &notices).await
    }
}

/// A place among the turns of remote servers.
struct RemoteTicket {
    remote: Arc<Remote>,
    address: Address,
    window_tokens: Option<u32>,
    place: OwnedSemaphorePermit,
}

#[async_trait]
impl Ticket for RemoteTicket {
    fn locality(&self) -> Locality {
        Locality::Remote
    }

    async fn open(self: Box<Self>, notices: mpsc::Sender<LoadNotice>) -> Result<Opened, ModelError> {
        let Self { remote, address, window_tokens, place } = *self;
        remote.open(place, address, window_tokens, &notices).await
    }
}

/// A reader who does not keep up misses a notice, nothing else.
fn tell(notices: &mpsc::Sender<LoadNotice>, notice: LoadNotice) {
    let _ = notices.try_send(notice);
}

/// An engine that could not be brought up.
fn engine_failure(detail: impl ToString) -> ModelError {
    ModelError(Failure::Engine { detail: detail.to_string() })
}

/// The answer to whoever still waits when the process ends.
fn shutting_down() -> ModelError {
    engine_failure("the engine is shutting down")
}
