//! What runs beside the turns: flushing events, renewing leases, sweeping and closing what died.
//!
//! Each task holds the service weakly and ends with it.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use colloquy_core::message::TurnId;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::Shared;
use crate::{ports::StoreError, recovery};

/// Starts all upkeep of `shared`.
pub(super) fn start(shared: &Arc<Shared>) {
    let timing = shared.timing;
    repeat(shared, timing.flush_ms, flush);
    repeat(shared, timing.lease_heartbeat_ms, renew);
    repeat(shared, timing.sweep_ms, sweep);
}

/// Does `work` every `period_ms`, first after one period (what a start needs is done by
/// `recover`), until the service closes or is dropped. A failure is logged and
/// the work tried again at the next tick.
fn repeat<W, F>(shared: &Arc<Shared>, period_ms: u64, work: W)
where
    W: Fn(Arc<Shared>) -> F + Send + 'static,
    F: Future<Output = Result<(), StoreError>> + Send,
{
    let closing = shared.closing.clone();
    let weak: Weak<Shared> = Arc::downgrade(shared);
    shared.tasks.spawn(closing.run_until_cancelled_owned(async move {
        let period = Duration::from_millis(period_ms.max(1));
        let mut ticks = interval_at(Instant::now() + period, period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let Some(shared) = weak.upgrade() else { return };
            if let Err(error) = work(shared).await {
                tracing::error!(error = &error as &dyn std::error::Error, "upkeep of the store failed");
            }
        }
    }));
}

/// Appends the new events of all running turns, in one transaction (design § 3).
async fn flush(shared: Arc<Shared>) -> Result<(), StoreError> {
    let chunks = shared.running.unstored();
    if chunks.is_empty() {
        return Ok(());
    }
    let ends: Vec<(TurnId, u64)> =
        chunks.iter().map(|chunk| (chunk.turn_id, chunk.first_seq + chunk.events.len() as u64 - 1)).collect();
    let stale = shared.store.append_events(chunks).await?;
    shared.running.flushed(&ends, &stale);
    Ok(())
}

/// Keeps the leases of the running turns.
async fn renew(shared: Arc<Shared>) -> Result<(), StoreError> {
    let leases = shared.running.leases();
    if leases.is_empty() {
        return Ok(());
    }
    let lease_ms = i64::try_from(shared.timing.lease_ms).unwrap_or(i64::MAX);
    let lost = shared.store.renew_leases(leases, shared.clock.now().saturating_add(lease_ms)).await?;
    shared.running.lose(&lost);
    Ok(())
}

/// Forgets the events of turns that ended long ago, and closes turns whose owner died.
async fn sweep(shared: Arc<Shared>) -> Result<(), StoreError> {
    let now = shared.clock.now();
    let keep_ms = i64::try_from(shared.timing.event_keep_ms).unwrap_or(i64::MAX);
    shared.store.sweep_events(now.saturating_sub(keep_ms)).await?;
    recovery::close_dead_turns(&shared, now).await?;
    Ok(())
}
