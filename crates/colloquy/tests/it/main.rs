//! The library as an embedding program sees it: the real store on a file, scripted models.

#![expect(clippy::unwrap_used, reason = "a test stops at what is wrong")]

mod artifacts;
mod crash;
mod harness;
mod memory;
mod odd;
mod program;
mod programs;
mod tool_crash;
mod turns;
