//! A clock that stands still and identifiers that count, so that every value is known beforehand.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use colloquy::ports::{Clock, IdSource};
use colloquy_core::message::{TimeMs, Uid};

/// Time that moves only when a test moves it.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that shows `now`.
    pub fn at(now: TimeMs) -> Self {
        Self(AtomicI64::new(now))
    }

    /// Moves on by `ms` milliseconds, or back.
    pub fn advance(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }

    /// Shows `now` from here on.
    pub fn set(&self, now: TimeMs) {
        self.0.store(now, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> TimeMs {
        self.0.load(Ordering::SeqCst)
    }
}

/// Identifiers 1, 2, 3 …, as sixteen bytes, most significant first.
#[derive(Debug, Default)]
pub struct CountingIds(AtomicU64);

impl CountingIds {
    /// The first identifier is one more than `n`.
    pub fn after(n: u64) -> Self {
        Self(AtomicU64::new(n))
    }
}

impl IdSource for CountingIds {
    fn uid(&self) -> Uid {
        let n = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        Uid(u128::from(n).to_be_bytes())
    }
}

#[cfg(test)]
mod tests;
