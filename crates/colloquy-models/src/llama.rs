//! The llama.cpp child: found, asked what it can do, given its arguments, started and watched.
//!
//! A child never outlives this process, however that ends, and nothing but its arguments decides
//! how it runs. What goes over the wire to it is [`crate::openai`]'s.

mod arguments;
pub(crate) mod child;
mod find;
mod probe;
mod tail;

pub use find::{NotFound, find, installed_path};
pub use probe::{Engine, NotAnEngine, probe};

pub(crate) use arguments::Plan;
