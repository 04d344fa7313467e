//! The `Model` port, one module per wire; knows wires and engines, never conversations.
#![warn(missing_docs)]

pub mod engines;
pub mod gguf;
pub mod install;
pub mod llama;
pub mod machine;
pub mod openai;
