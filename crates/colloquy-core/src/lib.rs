//! What Colloquy decides: what the model sees, how a turn moves, how a damaged history is closed.
//!
//! Everything here is a value or a pure function of its arguments. There is no async, no IO, no
//! clock, no randomness and no logging in this crate; time, identifiers and settings are handed in.
#![warn(clippy::wildcard_enum_match_arm)]
#![warn(missing_docs)]

pub mod artifact;
pub mod block;
pub mod closing;
pub mod contract;
pub mod control_tokens;
pub mod conversation;
pub mod curated;
#[cfg(test)]
mod fixtures;
pub mod head;
pub mod inbox;
pub mod lenient;
pub mod message;
pub mod objective;
pub mod persona;
pub mod prepare;
pub mod repair;
pub mod retry;
pub mod sampling;
pub mod schema;
pub mod seat;
pub mod silence;
pub mod summarize;
pub mod text_tools;
pub mod think_splitter;
pub mod tool;
pub mod trace;
pub mod transcript;
pub mod turn;
