//! The built binary, run as a person or a script runs it, against a scripted model.

mod chat;
mod conversations;
mod doctor;
mod models;
mod place;
mod serve;
mod setup;
mod stdout;

pub(crate) use place::{Place, Served, signal};
