//! An artifact that crosses two agents: the first finds it with a tool, the second is handed it by
//! reference. The model reads what it holds and never writes it, so its bytes arrive as they were.
//!
//! ```sh
//! colloquy setup && cargo run --example artifact
//! ```

use std::sync::Arc;

use colloquy::{
    Ask, Colloquy,
    artifact::{Artifact, Held},
    core::seat::{Depth, OutputSize, Seat},
    ports::Principal,
    schemars::JsonSchema,
};
use colloquy_store_sqlite::SqliteStore;
use serde::{Deserialize, Serialize};

/// A paper that can be cited.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema, Artifact)]
#[schemars(crate = "colloquy::schemars")]
#[artifact(alias = "link:cite")]
struct Cite {
    title: String,
    doi: String,
    #[artifact(summarize(size = "brief", hint = "what was found"))]
    text: String,
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example shows what it does")]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let store = Arc::new(SqliteStore::open(&folder.path().join("artifact.db")).await?);
    let seat = Seat { depth: Some(Depth::Immediate), output: Some(OutputSize::Verdict), ..Seat::default() };
    let colloquy =
        Colloquy::builder().store(store).model(colloquy_examples::local_engine()?).seat(seat).build()?;
    let principal = Principal::local();
    let paper = Held::new(Cite {
        title: "On the Equilibrium of Planes".into(),
        doi: "10.0000/«odd».\u{2060}bytes\u{0}".into(),
        text: "Give me a place to stand. ".repeat(20),
    });

    let reader = colloquy.mint(&principal);
    let read = reader.ask(Ask::text("What is this paper about?").value(&paper)?.at_temperature(0.0)).await?;
    println!("the first agent says: {}", read.value);
    let reference = &reader.artifacts()[0];
    println!("it holds {}", reference.as_str());

    // Handed on by reference: the second agent gets the registry's own object.
    let handed: Held<Cite> = reader.artifact(reference.as_str()).expect("it was just registered");
    let writer = colloquy.mint(&principal);
    let written = writer
        .ask(Ask::text("Write one sentence on this paper.").value(&handed)?.at_temperature(0.0))
        .await?;
    println!("the second agent says: {}", written.value);
    let arrived: Held<Cite> = writer.artifact(reference.as_str()).expect("it was handed over");
    assert_eq!(*arrived, *paper);
    println!("{} arrived byte for byte", writer.artifacts()[0].as_str());
    colloquy.shut_down().await;
    Ok(())
}
