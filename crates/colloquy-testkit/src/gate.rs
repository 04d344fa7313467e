//! A place where a script waits until a test lets it go on, so that no test sleeps.

use tokio::sync::watch;

/// Closed until [`Gate::open`]; clones are the same gate.
#[derive(Debug, Clone)]
pub struct Gate {
    open: watch::Sender<bool>,
    n_arrived: watch::Sender<usize>,
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self { open: watch::Sender::new(false), n_arrived: watch::Sender::new(0) }
    }

    /// Lets everybody through, now and later.
    pub fn open(&self) {
        self.open.send_replace(true);
    }

    /// Waits until somebody stands, or stood, at the gate.
    pub async fn reached(&self) {
        self.n_arrived
            .subscribe()
            .wait_for(|n_arrived| *n_arrived > 0)
            .await
            .expect("BUG: the gate owns the sender");
    }

    /// Waits until the gate is open.
    pub async fn pass(&self) {
        self.n_arrived.send_modify(|n_arrived| *n_arrived += 1);
        self.open.subscribe().wait_for(|open| *open).await.expect("BUG: the gate owns the sender");
    }
}

impl PartialEq for Gate {
    fn eq(&self, other: &Self) -> bool {
        self.open.same_channel(&other.open)
    }
}
