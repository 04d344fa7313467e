//! The scripted model server as a program, for benchmarks and for trying a client by hand.
//!
//! Answers every request with the same number of words, in the wire of its path, and prints its
//! base URL once it listens.

use std::{
    io::{self, Write},
    time::Duration,
};

use clap::Parser;
use colloquy_testkit::scripted_server::{Reply, ScriptedServer};

#[derive(Parser)]
#[command(about = "A model server, in every wire, that says the same words to everybody.")]
struct Arguments {
    /// How many words each answer has.
    #[arg(long, default_value_t = 2_000)]
    words: usize,
    /// Milliseconds before each word.
    #[arg(long, default_value_t = 0)]
    gap_ms: u64,
    /// The port; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let reply = Reply::words(arguments.words).every(Duration::from_millis(arguments.gap_ms));
    let server = ScriptedServer::always(reply, arguments.port).await?;
    writeln!(io::stdout(), "{}", server.base_url())?;
    std::future::pending().await
}
