//! The inbox of a running turn: what arrives while it runs is accepted or refused, and whatever
//! was accepted is delivered (reference § 22).
//!
//! Acceptance has two halves, because it must be durable in between: a place is reserved, then
//! filled. Closing is final and happens only when nothing is held and no place is reserved.

use std::collections::VecDeque;

/// Most messages that wait in one inbox, places included.
pub const INBOX_MAX: usize = 64;

/// Messages for a turn, in the order they were accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct Inbox<T> {
    held: VecDeque<T>,
    n_reserved: usize,
    is_closed: bool,
}

/// What a poll found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Polled<T> {
    /// All that was held, oldest first; at least one.
    Held(Vec<T>),
    /// A message is being accepted: poll again once its place was filled or given back.
    Pending,
    /// Nothing; the inbox is closed for good.
    Closed,
}

/// A message was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAccepted {
    /// The turn is over or about to be.
    #[error("the turn takes no more messages")]
    Closed,
    /// Too many wait.
    #[error("{INBOX_MAX} messages wait for the turn already")]
    Full,
}

impl<T> Default for Inbox<T> {
    fn default() -> Self {
        Self { held: VecDeque::new(), n_reserved: 0, is_closed: false }
    }
}

impl<T> Inbox<T> {
    /// Reserves a place. Whoever does must [`fill`](Self::fill) it or [`give_back`](Self::give_back).
    pub fn reserve(&mut self) -> Result<(), NotAccepted> {
        if self.is_closed {
            return Err(NotAccepted::Closed);
        }
        if self.held.len() + self.n_reserved >= INBOX_MAX {
            return Err(NotAccepted::Full);
        }
        self.n_reserved += 1;
        Ok(())
    }

    /// Fills a reserved place.
    pub fn fill(&mut self, message: T) {
        self.give_back();
        self.held.push_back(message);
    }

    /// Gives a reserved place back unfilled.
    pub fn give_back(&mut self) {
        self.n_reserved =
            self.n_reserved.checked_sub(1).expect("BUG: a place was given back that nobody had");
    }

    /// Takes everything held without closing.
    pub fn drain(&mut self) -> Vec<T> {
        self.held.drain(..).collect()
    }

    /// Takes everything held, or closes for good when there is nothing.
    pub fn poll_or_close(&mut self) -> Polled<T> {
        if !self.held.is_empty() {
            return Polled::Held(self.drain());
        }
        if self.n_reserved > 0 {
            return Polled::Pending;
        }
        self.is_closed = true;
        Polled::Closed
    }

    /// Closes for good, whatever is held or reserved, and takes what is held. A place that is
    /// filled afterwards is not lost to the caller: see [`Self::drain`].
    pub fn close(&mut self) -> Vec<T> {
        self.is_closed = true;
        self.drain()
    }

    /// Whether a place is reserved and not filled yet.
    pub fn is_pending(&self) -> bool {
        self.n_reserved > 0
    }
}

#[cfg(test)]
mod tests;
