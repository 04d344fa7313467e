//! The engines as the library sees them: against a fake `llama-server`, and against the real one.

mod engines;
mod fake;
mod real;
mod remote;
mod stage;
