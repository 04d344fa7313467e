//! What a provider with explicit cache marks bills for a sequence of requests.
//!
//! The rules are those that Anthropic publishes: a prefix of blocks, in the order tools, system,
//! messages; an entry is written at each mark and found from a mark or one of the blocks shortly
//! before it; it lives five minutes from its last use; writing costs 1.25 times an input token,
//! reading a tenth. Tokens are estimated from bytes, so bills are for comparing.

mod request;

use std::collections::HashMap;

use colloquy_core::message::TimeMs;
use request::Position;
use serde_json::Value;

pub use request::Refused;

/// How many positions are looked at for one mark, its own included.
pub const LOOK_BACK_BLOCKS: usize = 20;
/// The most marks of a request.
pub const MARKS_MAX: usize = 4;
/// How long an entry lives after its last use, in milliseconds.
pub const LIFETIME_MS: TimeMs = 5 * 60 * 1_000;
/// The least prefix that is cached by most models, in tokens.
pub const MIN_TOKENS: u64 = 1_024;

/// The cache of one model, as it bills requests.
#[derive(Debug)]
pub struct Cache {
    min_tokens: u64,
    /// When each entry ends, by the prefix it holds.
    entries: HashMap<u64, TimeMs>,
}

/// Input tokens, by their price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bill {
    /// Neither read from the cache nor written to it.
    pub plain_tokens: u64,
    /// Written to the cache.
    pub written_tokens: u64,
    /// Read from the cache.
    pub read_tokens: u64,
}

impl Bill {
    /// What it costs, in the price of a plain input token.
    pub fn cost(&self) -> f64 {
        self.plain_tokens as f64 + 1.25 * self.written_tokens as f64 + 0.1 * self.read_tokens as f64
    }

    /// All input tokens.
    pub fn total_tokens(&self) -> u64 {
        self.plain_tokens + self.written_tokens + self.read_tokens
    }
}

impl std::iter::Sum for Bill {
    fn sum<I: Iterator<Item = Self>>(bills: I) -> Self {
        bills.fold(Self::default(), |sum, bill| Self {
            plain_tokens: sum.plain_tokens + bill.plain_tokens,
            written_tokens: sum.written_tokens + bill.written_tokens,
            read_tokens: sum.read_tokens + bill.read_tokens,
        })
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self::new(MIN_TOKENS)
    }
}

impl Cache {
    /// An empty cache that keeps no prefix shorter than `min_tokens`.
    pub fn new(min_tokens: u64) -> Self {
        Self { min_tokens, entries: HashMap::new() }
    }

    /// Bills a request, whose body is given, at `now`, and keeps what it marks.
    pub fn bill(&mut self, body: &Value, now: TimeMs) -> Result<Bill, Refused> {
        let positions = request::positions(body)?;
        self.entries.retain(|_, ends_at| *ends_at > now);
        let total_tokens = positions.last().map_or(0, |last| last.n_tokens);
        let marks: Vec<usize> = (0..positions.len()).filter(|at| positions[*at].is_marked).collect();
        let found = marks.iter().filter_map(|mark| self.look_back(&positions, *mark)).max();
        let read_tokens = found.map_or(0, |at| positions[at].n_tokens);
        let kept = marks.iter().map(|mark| &positions[*mark]).filter(|mark| mark.n_tokens >= self.min_tokens);
        let kept_tokens = kept.clone().map(|mark| mark.n_tokens).max().unwrap_or(0).max(read_tokens);
        for position in kept.chain(found.map(|at| &positions[at])) {
            self.entries.insert(position.prefix, now + LIFETIME_MS);
        }
        Ok(Bill {
            plain_tokens: total_tokens - kept_tokens,
            written_tokens: kept_tokens - read_tokens,
            read_tokens,
        })
    }

    /// The entry nearest to a mark.
    fn look_back(&self, positions: &[Position], mark: usize) -> Option<usize> {
        let first = (mark + 1).saturating_sub(LOOK_BACK_BLOCKS);
        (first..=mark).rev().find(|at| self.entries.contains_key(&positions[*at].prefix))
    }
}

#[cfg(test)]
mod tests;
