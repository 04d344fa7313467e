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
use colloquy::ports::{EngineKind, LlmRow, LoadNotice, ModelError, Models, NotAdmitted, Opened, Ticket};
use colloquy_core::{
    seat::ModelSpec,
    turn::{Failure, Locality},
};
use local::Local;
use remote::{Address, Remote};
use tokio::sync::mpsc;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

pub use crate::queue::WAITING_MAX;

use crate::{
    client::{HttpClientError, HttpClients},
    gguf::{self, GgufError},
    queue::Place,
};

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

/// Why a file cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// It is not a model that can be run.
    #[error("failed to read the model at {}", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: GgufError,
    },
    /// No HTTP client, over which the engine is spoken to.
    #[error(transparent)]
    Http(#[from] HttpClientError),
}

/// The models of this process. Dropping it ends the local engine.
#[derive(Debug)]
pub struct Engines {
    local: Arc<Local>,
    remote: Arc<Remote>,
    /// What answers a conversation that names no model.
    served: Option<Served>,
    tasks: TaskTracker,
    stop: CancellationToken,
    _stop_on_drop: DropGuard,
}

/// The one model of a program.
#[derive(Debug)]
struct Served {
    path: PathBuf,
    spec: Arc<ModelSpec>,
}

impl Engines {
    /// Serves one model file to every conversation that names no model; needs a Tokio runtime. The
    /// file's header is read now, so that a file that is no model is told before anything is asked.
    pub fn serving(config: EnginesConfig, path: impl Into<PathBuf>) -> Result<Self, ServeError> {
        let path = path.into();
        let header = match gguf::read(&path) {
            Ok(header) => header,
            Err(source) => return Err(ServeError::Model { path, source }),
        };
        let id = header.name.unwrap_or_else(|| local::file_stem(&path));
        let spec = local::spec(id, Some(header.parameters_billions), header.context_length);
        Ok(Self { served: Some(Served { path, spec: Arc::new(spec) }), ..Self::new(config)? })
    }

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
        Ok(Self { local, remote, served: None, tasks, _stop_on_drop: stop.clone().drop_guard(), stop })
    }
}

#[async_trait]
impl Models for Engines {
    fn admit(&self, llm: Option<&LlmRow>) -> Result<Box<dyn Ticket>, NotAdmitted> {
        let Some(llm) = llm else {
            let Served { path, spec } = self.served.as_ref().ok_or(NotAdmitted::Unbound)?;
            return self.admit_local(path.clone(), Arc::clone(spec));
        };
        match &llm.engine {
            EngineKind::Llama { path } => {
                let spec = local::spec(llm.name.clone(), llm.param_size, llm.context_window);
                self.admit_local(path.into(), Arc::new(spec))
            }
            EngineKind::OpenAi { base_url, model, api_key_env } => Ok(Box::new(RemoteTicket {
                place: self.remote.admit()?,
                remote: Arc::clone(&self.remote),
                address: Address {
                    base_url: base_url.clone(),
                    model: model.clone(),
                    api_key_env: api_key_env.clone(),
                },
                spec: Arc::new(remote::spec(llm)),
            })),
        }
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

impl Engines {
    fn admit_local(&self, path: PathBuf, spec: Arc<ModelSpec>) -> Result<Box<dyn Ticket>, NotAdmitted> {
        let ticket = LocalTicket { place: self.local.admit()?, local: Arc::clone(&self.local), path, spec };
        Ok(Box::new(ticket))
    }
}

/// A place in the queue of the local engine.
struct LocalTicket {
    local: Arc<Local>,
    path: PathBuf,
    spec: Arc<ModelSpec>,
    place: Place,
}

#[async_trait]
impl Ticket for LocalTicket {
    fn locality(&self) -> Locality {
        Locality::Local
    }

    fn spec(&self) -> Arc<ModelSpec> {
        Arc::clone(&self.spec)
    }

    async fn open(self: Box<Self>, notices: mpsc::Sender<LoadNotice>) -> Result<Opened, ModelError> {
        self.local.open(self.place, &self.path, &self.spec, &notices).await
    }
}

/// A place among the turns of remote servers.
struct RemoteTicket {
    remote: Arc<Remote>,
    address: Address,
    spec: Arc<ModelSpec>,
    place: Place,
}

#[async_trait]
impl Ticket for RemoteTicket {
    fn locality(&self) -> Locality {
        Locality::Remote
    }

    fn spec(&self) -> Arc<ModelSpec> {
        Arc::clone(&self.spec)
    }

    async fn open(self: Box<Self>, notices: mpsc::Sender<LoadNotice>) -> Result<Opened, ModelError> {
        let Self { remote, address, spec, place } = *self;
        remote.open(place, address, spec, &notices).await
    }
}

/// An engine that could not be brought up.
fn engine_failure(detail: impl ToString) -> ModelError {
    ModelError(Failure::Engine { detail: detail.to_string() })
}

/// The answer to whoever still waits when the process ends.
fn shutting_down() -> ModelError {
    engine_failure("the engine is shutting down")
}
