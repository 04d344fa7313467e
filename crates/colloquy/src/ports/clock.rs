//! The time and fresh identifiers, handed in so that tests decide both.

use colloquy_core::message::{TimeMs, Uid};

/// Wall-clock time.
pub trait Clock: Send + Sync {
    /// Milliseconds since the Unix epoch, UTC.
    fn now(&self) -> TimeMs;
}

/// A source of fresh identifiers.
pub trait IdSource: Send + Sync {
    /// Sixteen bytes that no other call returns.
    fn uid(&self) -> Uid;
}

/// The operating system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    fn now(&self) -> TimeMs {
        std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |elapsed| i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX))
    }
}

/// The operating system's random source.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsIds;

impl IdSource for OsIds {
    #[expect(clippy::disallowed_methods, reason = "the one place that draws random bytes")]
    fn uid(&self) -> Uid {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("BUG: the operating system has no random source");
        Uid(bytes)
    }
}
