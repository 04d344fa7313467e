//! How long to wait before a call that failed in passing is made again (reference § 23).
//!
//! A server that says it is busy is given the time of the table; one that merely failed, or could
//! not be reached, is asked again soon, because a person waits. The windows are spread by a draw,
//! so that callers that failed together do not come back together.

use std::time::Duration;

/// Why the same call may work in a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passing {
    /// The caller sent too much (429).
    RateLimit,
    /// The server has too much to do (529, 503).
    Overload,
    /// It failed or could not be reached (other 5xx, the network).
    Fault,
}

/// The first pause after a [`Passing::Fault`], in milliseconds, unless it is set otherwise. The
/// windows of the others are multiples of it.
pub const PAUSE_MS: u64 = 500;

/// No pause is longer, in units of the first one: 5 minutes.
const LONGEST: u64 = 600;

/// The pause before the `attempt`-th try (the second is the first that pauses). `draw` is any
/// number, the same for no two callers.
pub fn pause_before(attempt: u32, passing: Passing, draw: u64, pause_ms: u64) -> Duration {
    let n_failed = u64::from(attempt.saturating_sub(1)).max(1);
    let (low, high) = match passing {
        // 5 to 30 s, and 15 to 90 s, times the number of failures.
        Passing::RateLimit => (10 * n_failed, 60 * n_failed),
        Passing::Overload => (30 * n_failed, 180 * n_failed),
        Passing::Fault => {
            let units = 4_u64.saturating_pow(attempt.saturating_sub(2)).min(LONGEST);
            (units, units)
        }
    };
    let (low, high) = (low.min(LONGEST).saturating_mul(pause_ms), high.min(LONGEST).saturating_mul(pause_ms));
    Duration::from_millis(low + draw % (high - low + 1))
}

#[cfg(test)]
mod tests;
