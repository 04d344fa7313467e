//! What tests of every crate stand on: scripted models, a manual clock, the store suite.
//!
//! For development only; nothing that is shipped depends on it.
#![warn(missing_docs)]

pub mod crash;
pub mod gate;
pub mod prefix;
pub mod manual;
pub mod recorded;
pub mod scripted;
pub mod scripted_server;
mod lock;
pub mod store_suite;
