//! Colloquy keeps conversations with language models: it does what `colloquy-core` decides.
//!
//! [`Colloquy`] owns the running turns of one process. Everything durable is behind
//! [`ports::Store`], everything that answers behind [`ports::Models`].
#![warn(clippy::wildcard_enum_match_arm)]
#![warn(missing_docs)]

pub mod ports;
pub mod record;
mod recovery;
mod service;
pub mod stream;
mod turn_loop;

pub use service::{
    Ask, AskError, BuildError, Builder, Colloquy, Create, ServiceError, Stopped, Timing, TurnHandle,
};
