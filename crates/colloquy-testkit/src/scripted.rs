//! Models that follow a script, in process: for tests of everything above the `Model` port.
//!
//! Each call takes the next script. Every call is recorded with what became of it, so a test can
//! compare what the model saw and see whether a stop reached it. A call behaves as a real dialect
//! does: it returns with its first chunk, and a failure before that is the call's own.

mod log;
mod script;

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use colloquy::ports::{
    LlmRow, LoadNotice, Model, ModelCall, ModelChunk, ModelError, Models, Opened, Overloaded, Ticket,
};
use colloquy_core::{
    control_tokens::ControlTokens,
    turn::{Failure, Locality},
};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use tokio::sync::mpsc;

use crate::lock::lock;

use self::log::{CallGuard, CallLog};

pub(crate) use self::script::split_words;
pub use self::{
    log::{CallEnd, RecordedCall},
    script::{Opening, Script, Step},
};

/// Every model of a test. Clones share everything.
#[derive(Debug, Clone)]
pub struct ScriptedModels {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    locality: Locality,
    window_tokens: Option<u32>,
    control_tokens: Arc<ControlTokens>,
    scripts: Mutex<VecDeque<Script>>,
    openings: Mutex<VecDeque<Opening>>,
    /// How many wait already, when the queue is to be full.
    overloaded: Mutex<Option<usize>>,
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
        let shared = Shared {
            locality,
            window_tokens,
            control_tokens: Arc::new(ControlTokens::KnownMarkers),
            scripts: Mutex::new(scripts.into_iter().collect()),
            openings: Mutex::default(),
            overloaded: Mutex::default(),
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

#[async_trait]
impl Models for ScriptedModels {
    fn admit(&self, _llm: &LlmRow) -> Result<Box<dyn Ticket>, Overloaded> {
        if let Some(waiting) = *lock(&self.shared.overloaded) {
            return Err(Overloaded { waiting });
        }
        Ok(Box::new(ScriptedTicket { place: Counted::new(&self.shared, |shared| &shared.n_tickets) }))
    }

    fn allocated_window(&self, _llm: &LlmRow) -> Option<u32> {
        self.shared.window_tokens
    }

    async fn shut_down(&self) {
        self.shared.is_shut_down.store(true, Ordering::SeqCst);
    }
}

struct ScriptedTicket {
    place: Counted,
}

#[async_trait]
impl Ticket for ScriptedTicket {
    fn locality(&self) -> Locality {
        self.place.shared.locality
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
            model: Arc::new(ScriptedModel { shared: Arc::clone(shared) }),
            window_tokens: shared.window_tokens,
            control_tokens: Arc::clone(&shared.control_tokens),
            hold: Box::new(Counted::new(shared, |shared| &shared.n_holds)),
        })
    }
}

struct ScriptedModel {
    shared: Arc<Shared>,
}

#[async_trait]
impl Model for ScriptedModel {
    async fn call(
        &self,
        call: ModelCall,
    ) -> Result<BoxStream<'static, Result<ModelChunk, ModelError>>, ModelError> {
        let guard = self.shared.log.begin(call);
        let script = lock(&self.shared.scripts).pop_front().unwrap_or_else(|| {
            let detail = "the test's script has no further call".into();
            Script::new().then(Step::Fail(Failure::Refused { detail }))
        });
        let mut answer = Playing { steps: script.into_steps(), guard };
        let first = answer.next().await.transpose()?;
        let rest = stream::unfold(answer, |mut answer| async move {
            let item = answer.next().await?;
            Some((item, answer))
        });
        Ok(stream::iter(first.map(Ok)).chain(rest).boxed())
    }

    fn name(&self) -> (&'static str, String) {
        ("scripted", "scripted-model".into())
    }
}

/// A script that is being followed. Dropped before its end, it is recorded as dropped.
struct Playing {
    steps: VecDeque<Step>,
    guard: CallGuard,
}

impl Playing {
    async fn next(&mut self) -> Option<Result<ModelChunk, ModelError>> {
        loop {
            match self.steps.pop_front() {
                Some(Step::Text(text)) => return Some(Ok(ModelChunk::Text(text))),
                Some(Step::Reasoning(text)) => return Some(Ok(ModelChunk::Reasoning(text))),
                Some(Step::Reading { done, total }) => {
                    return Some(Ok(ModelChunk::Reading { done, total }));
                }
                Some(Step::Pause(gate)) => gate.pass().await,
                Some(Step::Hang) => std::future::pending().await,
                Some(Step::End { finish_reason, usage }) => {
                    self.steps.clear();
                    self.guard.end(CallEnd::Ended);
                    return Some(Ok(ModelChunk::End { finish_reason, usage }));
                }
                Some(Step::Fail(failure)) => {
                    self.steps.clear();
                    self.guard.end(CallEnd::Failed);
                    return Some(Err(ModelError(failure)));
                }
                None => return None,
            }
        }
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
