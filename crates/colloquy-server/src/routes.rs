//! The routes, file by file as the paths go. A handler parses, calls, converts; it decides nothing.

pub(crate) mod conversations;
pub(crate) mod health;
pub(crate) mod llms;
pub(crate) mod messages;
pub(crate) mod page;
pub(crate) mod session;
pub(crate) mod turns;
