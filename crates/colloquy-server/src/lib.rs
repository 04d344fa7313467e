//! The program around the library: HTTP, the web page and the command line.
//!
//! This is the only crate that knows HTTP serving. It holds no conversation logic: a route parses,
//! calls [`colloquy::Colloquy`] and converts the result by hand.
#![warn(missing_docs)]

mod api;
pub mod app;
mod assembly;
mod body;
pub mod cli;
pub mod config;
pub mod data_dir;
mod envelope;
mod export;
mod fields;
mod guard;
mod install;
mod logging;
mod ndjson;
mod params;
mod problem;
mod routes;
mod toy;
