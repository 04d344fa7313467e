//! Models that follow a script, in process: for tests of everything above the `Model` port.
//!
//! Each call takes the next script. Every call is recorded with what became of it, so a test can
//! compare what the model saw and see whether a stop reached it. A call behaves as a real dialect
//! does: it returns with its first chunk, and a failure before that is the call's own. What a real
//! server would refuse to read is refused here too, and the test fails for it.

mod check;
mod log;
mod model;
mod script;

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use async_trait::async_trait;
use colloquy::ports::{LlmRow, LoadNotice, ModelError, Models, NotAdmitted, Opened, Ticket};
use colloquy_core::{control_tokens::ControlTokens, seat::ModelSpec, turn::Locality};
use tokio::sync::mpsc;

use crate::lock::lock;

use self::{log::CallLog, model::ScriptedModel};

pub(crate) use self::script::split_words;
pub use self::{
    log::{CallEnd, RecordedCall},
    script::{Chooser, Opening, Script, Step},
};

/// Every model of a test, for turns that name one and turns that name none. Clones share
/// everything.
///
/// # Panics
///
/// When it is dropped after a model was shown what no real one takes (a call without its result
/// right after it, a result without its call, an assistant turn in the first or last place or
/// behind another one), so that the test fails whatever the code under test made of the refusal.
#[derive(Debug, Clone)]
pub struct ScriptedModels {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    locality: Locality,
    spec: Mutex<Arc<ModelSpec>>,
    control_tokens: Arc<ControlTokens>,
    scripts: Mutex<VecDeque<Script>>,
    openings: Mutex<VecDeque<Opening>>,
    /// How many wait already, when the queue is to be full.
    overloaded: Mutex<Option<usize>>,
    /// What was wrong with the first request that no real model takes.
    fault: Mutex<Option<String>>,
    n_tickets: AtomicUsize,
    n_holds: AtomicUsize,
    is_shut_down: AtomicBool,
    log: CallLog,
}

impl ScriptedModels {
    /// A local model with a window of 8,192 tokens that follows `scripts`, one per call.
    pub fn new(scripts: impl IntoIterator<Item = Script>) -> Self {
        Self::with(Locality::Local, Some(8_192), scripts)
    }

    /// A model of that kind and window that follows `scripts`, one per call.
    pub fn with(
        locality: Locality,
        window_tokens: Option<u32>,
        scripts: impl IntoIterator<Item = Script>,
    ) -> Self {
        let spec = ModelSpec { context_window: window_tokens, ..ModelSpec::default() };
        let shared = Shared {
            locality,
            spec: Mutex::new(Arc::new(spec)),
            control_tokens: Arc::new(ControlTokens::KnownMarkers),
            scripts: Mutex::new(scripts.into_iter().collect()),
            openings: Mutex::default(),
            overloaded: Mutex::default(),
            fault: Mutex::default(),
            n_tickets: AtomicUsize::new(0),
            n_holds: AtomicUsize::new(0),
            is_shut_down: AtomicBool::new(false),
            log: CallLog::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Adds a script behind those that are left.
    pub fn push(&self, script: Script) {
        lock(&self.shared.scripts).push_back(script);
    }

    /// What the model can do, from the next ticket on; its window included.
    pub fn set_spec(&self, spec: ModelSpec) {
        *lock(&self.shared.spec) = Arc::new(spec);
    }

    /// What the next opening of the engine does that has nothing planned; without it, it is ready.
    pub fn push_opening(&self, opening: Opening) {
        lock(&self.shared.openings).push_back(opening);
    }

    /// Refuses every turn from here on, with that many waiting, or takes them again.
    pub fn set_overloaded(&self, waiting: Option<usize>) {
        *lock(&self.shared.overloaded) = waiting;
    }

    /// Every call so far, oldest first.
    pub fn calls(&self) -> Vec<RecordedCall> {
        self.shared.log.calls()
    }

    /// Waits until what has been recorded satisfies `holds`.
    pub async fn wait_until(&self, holds: impl FnMut(&[RecordedCall]) -> bool) {
        self.shared.log.wait_until(holds).await;
    }

    /// Places in the queue that are taken and not yet opened or given back.
    pub fn n_tickets(&self) -> usize {
        self.shared.n_tickets.load(Ordering::SeqCst)
    }

    /// Turns that hold the engine now.
    pub fn n_holds(&self) -> usize {
        self.shared.n_holds.load(Ordering::SeqCst)
    }

    /// Whether every engine was told to end.
    pub fn is_shut_down(&self) -> bool {
        self.shared.is_shut_down.load(Ordering::SeqCst)
    }
}

impl Drop for ScriptedModels {
    fn drop(&mut self) {
        if thread::panicking() {
            return;
        }
        if let Some(fault) = lock(&self.shared.fault).as_ref() {
            panic!("a scripted model was shown what no model takes: {fault}");
        }
    }
}

#[async_trait]
impl Models for ScriptedModels {
    fn admit(&self, _llm: Option<&LlmRow>) -> Result<Box<dyn Ticket>, NotAdmitted> {
        if let Some(waiting) = *lock(&self.shared.overloaded) {
            return Err(NotAdmitted::Overloaded { waiting });
        }
        let spec = Arc::clone(&lock(&self.shared.spec));
        let place = Counted::new(&self.shared, |shared| &shared.n_tickets);
        Ok(Box::new(ScriptedTicket { place, spec }))
    }

    fn allocated_window(&self, _llm: &LlmRow) -> Option<u32> {
        lock(&self.shared.spec).context_window
    }

    async fn shut_down(&self) {
        self.shared.is_shut_down.store(true, Ordering::SeqCst);
    }
}

struct ScriptedTicket {
    place: Counted,
    spec: Arc<ModelSpec>,
}

#[async_trait]
impl Ticket for ScriptedTicket {
    fn locality(&self) -> Locality {
        self.place.shared.locality
    }

    fn spec(&self) -> Arc<ModelSpec> {
        Arc::clone(&self.spec)
    }

    async fn open(self: Box<Self>, notices: mpsc::Sender<LoadNotice>) -> Result<Opened, ModelError> {
        let shared = &self.place.shared;
        let opening = lock(&shared.openings).pop_front().unwrap_or_default();
        for notice in opening.notices {
            // Advisory, as the port says.
            let _ = notices.try_send(notice);
        }
        if let Some(gate) = opening.gate {
            gate.pass().await;
        }
        if let Some(failure) = opening.failure {
            return Err(ModelError(failure));
        }
        Ok(Opened {
            model: Arc::new(ScriptedModel::new(shared)),
            spec: Arc::clone(&self.spec),
            control_tokens: Arc::clone(&shared.control_tokens),
            hold: Box::new(Counted::new(shared, |shared| &shared.n_holds)),
        })
    }
}

/// Counts something for as long as it lives.
struct Counted {
    shared: Arc<Shared>,
    counter: fn(&Shared) -> &AtomicUsize,
}

impl Counted {
    fn new(shared: &Arc<Shared>, counter: fn(&Shared) -> &AtomicUsize) -> Self {
        counter(shared).fetch_add(1, Ordering::SeqCst);
        Self { shared: Arc::clone(shared), counter }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        (self.counter)(&self.shared).fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests;
