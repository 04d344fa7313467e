//! The queue of the local engine and the child that sits in it.
//!
//! Invariant: to run in the queue, which lets one turn run, is the right to use, exchange or unload the child, and
//! whoever runs a turn keeps it to the end; so the idle watch, which has to get it first, cannot
//! unload under a turn. Every await here may be the last one of its future: the child is in its
//! seat before it is waited for, and stays there until it is known to be gone, so that a dropped
//! future leaves no process behind and loses no load that has begun. A child whose end was asked
//! for serves nobody: the next turn waits for the end that a dropped one began.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use colloquy::ports::{LoadNotice, ModelError, NotAdmitted, Opened};
use colloquy_core::seat::ModelSpec;
use reqwest::Client;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use super::{
    EnginesConfig, engine_failure,
    facts::{Facts, FactsCache},
    shutting_down,
    watched::Watched,
};
use crate::{
    llama::{
        self, Engine, Plan,
        child::{Child, Loaded},
    },
    machine,
    openai::{Endpoint, Flavor, OpenAi},
    queue::{Place, Queue, Running, tell},
};

/// The one local engine.
#[derive(Debug)]
pub(super) struct Local {
    config: EnginesConfig,
    client: Client,
    queue: Queue,
    seat: Mutex<Seat>,
    facts: FactsCache,
    stop: CancellationToken,
}

/// Who sits there, and since when unused.
#[derive(Debug)]
struct Seat {
    child: Option<Arc<Seated>>,
    used_at: Instant,
    /// The model that was unloaded because nobody used it.
    unloaded: Option<PathBuf>,
    engine: Option<Engine>,
    /// Set once, at the end of the process: nobody sits down any more.
    closed: bool,
}

/// A child and the model it runs.
#[derive(Debug)]
struct Seated {
    path: PathBuf,
    facts: Arc<Facts>,
    child: Arc<Child>,
}

impl Seated {
    fn serves(&self, path: &Path, facts: &Arc<Facts>) -> bool {
        self.path == path && Arc::ptr_eq(&self.facts, facts) && !self.child.is_ending()
    }
}

/// Keeps the engine for one turn.
struct Hold {
    local: Arc<Local>,
    _running: Running,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.local.seat().used_at = Instant::now();
    }
}

impl Local {
    pub(super) fn new(config: EnginesConfig, client: Client, stop: CancellationToken) -> Self {
        let seat = Seat { child: None, used_at: Instant::now(), unloaded: None, engine: None, closed: false };
        Self {
            config,
            client,
            queue: Queue::new(1),
            seat: Mutex::new(seat),
            facts: FactsCache::default(),
            stop,
        }
    }

    pub(super) fn admit(&self) -> Result<Place, NotAdmitted> {
        self.queue.admit()
    }

    pub(super) fn allocated_window(&self, path: &Path) -> Option<u32> {
        let seat = self.seat();
        let seated = seat.child.as_ref().filter(|seated| seated.path == path)?;
        let loaded = seated.child.loaded().filter(|_| !seated.child.is_ending());
        loaded.map(|loaded| loaded.window_tokens)
    }

    /// Waits for the turn of `place`, then for the model at `path`, of which `spec` is known.
    pub(super) async fn open(
        self: Arc<Self>,
        place: Place,
        path: &Path,
        spec: &ModelSpec,
        notices: &mpsc::Sender<LoadNotice>,
    ) -> Result<Opened, ModelError> {
        let running = tokio::select! {
            running = place.run(notices) => running,
            () = self.stop.cancelled() => return Err(shutting_down()),
        };
        let facts = self.facts.of(path).await.map_err(engine_failure)?;
        let seated = self.seat_for(path, &facts, notices).await?;
        let loaded = match seated.child.ready(&self.client, self.config.load_timeout).await {
            Ok(loaded) => loaded,
            Err(why) => {
                self.clear(&seated).await;
                return Err(engine_failure(why));
            }
        };
        let endpoint = Endpoint {
            api_key: Some(seated.child.api_key.clone()),
            flavor: Flavor::Llama,
            ..Endpoint::new(
                &seated.child.base_url,
                facts.header.name.clone().unwrap_or_else(|| file_stem(path)),
            )
        };
        let spec = Arc::new(completed(spec, loaded, &facts));
        let model = OpenAi::with_client(endpoint, Arc::clone(&spec), self.client.clone());
        Ok(Opened {
            model: Arc::new(Watched::new(model, Arc::clone(&seated.child))),
            spec,
            control_tokens: Arc::clone(&facts.control_tokens),
            hold: Box::new(Hold { local: self, _running: running }),
        })
    }

    /// The child for this model: the one that sits there, or a new one in its place.
    async fn seat_for(
        &self,
        path: &Path,
        facts: &Arc<Facts>,
        notices: &mpsc::Sender<LoadNotice>,
    ) -> Result<Arc<Seated>, ModelError> {
        let present = self.seat().child.clone();
        if let Some(seated) = present {
            if seated.serves(path, facts) {
                if seated.child.loaded().is_none() {
                    tell(notices, LoadNotice::Loading);
                }
                return Ok(seated);
            }
            self.clear(&seated).await;
        }
        let reload = self.seat().unloaded.as_deref() == Some(path);
        tell(notices, if reload { LoadNotice::Reload } else { LoadNotice::Loading });
        let engine = self.engine().await?;
        let plan = Plan::new(path.to_owned(), &facts.header, machine::memory());

        let mut seat = self.seat();
        if seat.closed {
            return Err(shutting_down());
        }
        let child = Child::start(&engine, &plan).map_err(engine_failure)?;
        let seated =
            Arc::new(Seated { path: path.to_owned(), facts: Arc::clone(facts), child: Arc::new(child) });
        seat.child = Some(Arc::clone(&seated));
        seat.unloaded = None;
        seat.used_at = Instant::now();
        Ok(seated)
    }

    /// The engine's binary, asked once what it can do, and again when it is another.
    async fn engine(&self) -> Result<Engine, ModelError> {
        let path = llama::find(self.config.llama_server.as_deref(), &self.config.data_dir)
            .map_err(engine_failure)?;
        let known = self.seat().engine.clone();
        if let Some(engine) = known.filter(|engine| engine.path == path) {
            return Ok(engine);
        }
        let engine = llama::probe(&path).await.map_err(engine_failure)?;
        self.seat().engine = Some(engine.clone());
        Ok(engine)
    }

    /// Ends the child and only then frees its seat, so that two never run at once.
    async fn clear(&self, seated: &Arc<Seated>) {
        seated.child.end().await;
        self.seat().child.take_if(|present| Arc::ptr_eq(present, seated));
    }

    /// Unloads what nobody uses, until the process ends.
    pub(super) async fn watch_idleness(self: Arc<Self>) {
        let ticks = async {
            loop {
                sleep(self.config.idle_tick).await;
                self.unload_if_idle().await;
            }
        };
        self.stop.run_until_cancelled(ticks).await;
    }

    async fn unload_if_idle(&self) {
        let Some(_running) = self.queue.try_run() else { return };
        let idle = {
            let seat = self.seat();
            let is_idle = seat.used_at.elapsed() >= self.config.idle_unload;
            seat.child.clone().filter(|_| is_idle)
        };
        let Some(idle) = idle else { return };
        self.clear(&idle).await;
        tracing::info!(model = %idle.path.display(), "unloaded the model that nobody used");
        self.seat().unloaded = Some(idle.path.clone());
    }

    /// Ends the child whoever uses it; whoever waits is told.
    pub(super) async fn shut_down(&self) {
        let seated = {
            let mut seat = self.seat();
            seat.closed = true;
            seat.child.clone()
        };
        if let Some(seated) = seated {
            self.clear(&seated).await;
        }
    }

    /// Held for a few instructions, never across an await.
    fn seat(&self) -> MutexGuard<'_, Seat> {
        self.seat.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known before a model is loaded.
pub(super) fn spec(id: String, param_size: Option<f64>, context_window: Option<u32>) -> ModelSpec {
    ModelSpec { id, param_size, context_window, json_schema: true, ..ModelSpec::default() }
}

/// What is known once it is: the window that was allocated, and what its template can say.
fn completed(spec: &ModelSpec, loaded: Loaded, facts: &Facts) -> ModelSpec {
    ModelSpec {
        param_size: spec.param_size.or(Some(facts.header.parameters_billions)),
        context_window: Some(loaded.window_tokens),
        tools: loaded.tools,
        ..spec.clone()
    }
}

pub(super) fn file_stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
