//! A bound on the turns that run at once, and the queue before it.
//!
//! A place is taken or refused at once; whoever holds one waits in order until fewer than the
//! allowed number run. Dropping what was given at any point gives it back.

use std::sync::Arc;

use colloquy::ports::{LoadNotice, NotAdmitted};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// How many turns may wait for an engine; the next one is refused.
pub const WAITING_MAX: usize = 64;

/// The turns of one engine, or of all remote ones.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    /// Waiting turns and running ones.
    places: Arc<Semaphore>,
    turns: Arc<Semaphore>,
}

/// A place in a queue.
#[derive(Debug)]
pub(crate) struct Place {
    place: OwnedSemaphorePermit,
    turns: Arc<Semaphore>,
}

/// The right to run.
#[derive(Debug)]
pub(crate) struct Running {
    _turn: OwnedSemaphorePermit,
    _place: OwnedSemaphorePermit,
}

impl Queue {
    /// Lets `parallel` turns run at once, one at least.
    pub(crate) fn new(parallel: usize) -> Self {
        let parallel = parallel.clamp(1, Semaphore::MAX_PERMITS - WAITING_MAX);
        Self {
            places: Arc::new(Semaphore::new(parallel + WAITING_MAX)),
            turns: Arc::new(Semaphore::new(parallel)),
        }
    }

    /// Takes a place, unless the queue is full.
    pub(crate) fn admit(&self) -> Result<Place, NotAdmitted> {
        match Arc::clone(&self.places).try_acquire_owned() {
            Ok(place) => Ok(Place { place, turns: Arc::clone(&self.turns) }),
            Err(_) => Err(NotAdmitted::Overloaded { waiting: WAITING_MAX }),
        }
    }

    /// The right to run, if nobody runs or waits.
    pub(crate) fn try_run(&self) -> Option<impl Sized> {
        self.turns.try_acquire().ok()
    }
}

impl Place {
    /// Waits for the right to run; the semaphore is fair, so turns get it in the order in which
    /// they asked. A reader is told if it has to wait.
    pub(crate) async fn run(self, notices: &mpsc::Sender<LoadNotice>) -> Running {
        let turn = match Arc::clone(&self.turns).try_acquire_owned() {
            Ok(turn) => turn,
            Err(_) => {
                tell(notices, LoadNotice::Waiting);
                self.turns.acquire_owned().await.expect("BUG: a queue is never closed")
            }
        };
        Running { _turn: turn, _place: self.place }
    }
}

/// A reader who does not keep up misses a notice, nothing else.
pub(crate) fn tell(notices: &mpsc::Sender<LoadNotice>, notice: LoadNotice) {
    let _ = notices.try_send(notice);
}
