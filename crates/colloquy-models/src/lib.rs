//! The `Model` port, one module per wire; knows wires and engines, never conversations.
#![warn(missing_docs)]

pub mod anthropic;
pub mod bedrock;
pub mod client;
pub mod engines;
mod error;
mod event_stream;
pub mod gguf;
#[cfg(test)]
mod golden;
pub mod http;
pub mod install;
pub mod llama;
pub mod machine;
pub mod openai;
pub mod overflow;
mod queue;
pub mod responses;
mod sse;
mod wire;
