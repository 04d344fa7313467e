//! Colloquy keeps conversations with language models: it does what `colloquy-core` decides.
//!
//! [`Colloquy`] owns the running turns of one process. Everything durable is behind
//! [`ports::Store`], everything that answers behind [`ports::Models`].
#![warn(clippy::wildcard_enum_match_arm)]
#![warn(missing_docs)]

// What the derive writes names this crate, also in its own tests.
#[cfg(test)]
extern crate self as colloquy;

pub mod artifact;
mod memory;
pub mod ports;
pub mod record;
mod recovery;
mod service;
pub mod stream;
pub mod tool;
mod turn_loop;

pub use colloquy_core as core;
pub use memory::MemoryStore;
pub use schemars;
pub use service::{
    Answer, Answering, Ask, AskError, AskPart, BuildError, Builder, Colloquy, Conversation,
    ConversationError, Create, Objective, ServiceError, SteerError, Stopped, Timing, TurnHandle,
};
