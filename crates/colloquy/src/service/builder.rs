//! Assembles a service and starts its upkeep.

use std::sync::{Arc, Mutex};

use colloquy_core::seat::Seat;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Colloquy, Shared, Timing, kept::KeptViews, running::RunningTurns, upkeep};
use crate::artifact::ArtifactTypes;
use crate::ports::{Clock, IdSource, Models, OsIds, Store, SystemClock};

/// Assembles a [`Colloquy`].
#[derive(Default)]
pub struct Builder {
    store: Option<Arc<dyn Store>>,
    models: Option<Arc<dyn Models>>,
    clock: Option<Arc<dyn Clock>>,
    ids: Option<Arc<dyn IdSource>>,
    timing: Timing,
    max_tokens: Option<u32>,
    artifacts: Option<ArtifactTypes>,
    seat: Seat,
}

/// What an assembly lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// [`Builder::store`] was not called.
    #[error("no store was given")]
    NoStore,
    /// Neither [`Builder::model`] nor [`Builder::models`] was called.
    #[error("no models were given")]
    NoModels,
}

impl Builder {
    /// Where conversations are kept. Required.
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// The one model that answers. This or [`Builder::models`] is required.
    pub fn model(self, model: impl Models + 'static) -> Self {
        self.models(Arc::new(model))
    }

    /// What a conversation gets that declares no seat of its own: the model's binding (runtime
    /// page, "The seat's declarations").
    pub fn seat(mut self, seat: Seat) -> Self {
        self.seat = seat;
        self
    }

    /// The types of artifacts the program knows. A stored artifact of another one is left out when
    /// its conversation is adopted, with a warning; it stays in the store.
    pub fn artifacts(mut self, types: ArtifactTypes) -> Self {
        self.artifacts = Some(types);
        self
    }

    /// What answers. This or [`Builder::model`] is required.
    pub fn models(mut self, models: Arc<dyn Models>) -> Self {
        self.models = Some(models);
        self
    }

    /// The clock; the system's by default.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// The source of identifiers; the system's by default.
    pub fn ids(mut self, ids: Arc<dyn IdSource>) -> Self {
        self.ids = Some(ids);
        self
    }

    /// How often and how long; the defaults of [`Timing`] otherwise.
    pub fn timing(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// Pins the token limit of every call; none is sent otherwise.
    pub fn max_tokens(mut self, pin: Option<u32>) -> Self {
        self.max_tokens = pin;
        self
    }

    /// Assembles it and starts its upkeep, so call it inside a tokio runtime.
    pub fn build(self) -> Result<Colloquy, BuildError> {
        let ids = self.ids.unwrap_or_else(|| Arc::new(OsIds));
        let shared = Arc::new(Shared {
            store: self.store.ok_or(BuildError::NoStore)?,
            models: self.models.ok_or(BuildError::NoModels)?,
            clock: self.clock.unwrap_or_else(|| Arc::new(SystemClock)),
            holder: ids.uid(),
            ids,
            timing: self.timing,
            max_tokens: self.max_tokens,
            artifacts: self.artifacts,
            seat: self.seat,
            running: Arc::new(RunningTurns::default()),
            kept: Mutex::new(KeptViews::default()),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            beside: std::sync::OnceLock::new(),
        });
        upkeep::start(&shared);
        Ok(Colloquy { shared })
    }
}
