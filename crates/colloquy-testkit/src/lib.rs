//! What tests of every crate stand on: scripted models, a manual clock, the store suite.
//!
//! For development only; nothing that is shipped depends on it.
#![warn(missing_docs)]

pub mod billing;
pub mod crash;
pub mod gate;
mod lock;
pub mod manual;
pub mod prefix;
pub mod recorded;
pub mod scripted;
pub mod scripted_server;
pub mod store_suite;
