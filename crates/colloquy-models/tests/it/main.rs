//! The engines as the library sees them: against a fake `llama-server`, and against the real one.
#![expect(clippy::disallowed_methods, reason = "programs that tests start are told what to be by variables")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod engines;
mod fake;
mod forced;
mod llama_server;
mod real;
mod real_messages;
mod real_responses;
mod remote;
mod stage;
