//! The whole program from outside: every route, problem and guard over HTTP in process, the built
//! binary's command line, and a real model behind it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod bodies;
mod cli;
mod conversations;
mod end_to_end;
mod guards;
mod health;
mod llms;
mod messages;
mod page;
mod problems;
mod server;
mod streams;
mod token;
mod turns;
