//! One question to the local engine, and one that builds on it.
//!
//! ```sh
//! colloquy setup && cargo run --example hello
//! ```

use std::sync::Arc;

use colloquy::{
    Ask, Colloquy,
    core::seat::{Depth, OutputSize, Seat},
    ports::Principal,
};
use colloquy_store_sqlite::SqliteStore;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example shows what it does")]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let store = Arc::new(SqliteStore::open(&folder.path().join("hello.db")).await?);
    // Nobody invents how large an answer may be: the program says so, once for all conversations.
    let seat = Seat { depth: Some(Depth::Immediate), output: Some(OutputSize::Verdict), ..Seat::default() };
    let colloquy =
        Colloquy::builder().store(store).model(colloquy_examples::local_engine()?).seat(seat).build()?;

    let conversation = colloquy.mint(&Principal::local());
    let _ = conversation.objective().put("task", "You are a helpful assistant. Reply in plain sentences.");
    for question in ["What is the capital of France?", "What is the capital of Germany?"] {
        let answer = conversation.ask(Ask::text(question).at_temperature(0.0)).await?;
        println!("{question}\n  {}", answer.value);
        println!("  ({} of its prompt tokens were reused)", answer.usage.cache_read());
    }
    println!("\n{}", conversation.transcript().await?);
    colloquy.shut_down().await;
    Ok(())
}
