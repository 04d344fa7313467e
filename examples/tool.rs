//! A tool that the local model calls, streamed. The small model's template knows no tools, so they
//! travel as text and the engine holds the model to the envelope.
//!
//! ```sh
//! colloquy setup && cargo run --example tool
//! ```

use std::sync::Arc;

use async_trait::async_trait;
use colloquy::{
    Ask, Colloquy,
    core::seat::{Depth, OutputSize, Seat},
    ports::Principal,
    schemars::{self, JsonSchema},
    stream::StreamEvent,
    tool::{Tool, ToolContext, ToolError},
};
use colloquy_store_sqlite::SqliteStore;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Place {
    /// The city.
    city: City,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum City {
    Vaduz,
    Paris,
}

#[derive(Serialize, JsonSchema)]
struct Population {
    people: u32,
}

struct CountPeople;

#[async_trait]
impl Tool for CountPeople {
    type Input = Place;
    type Output = Population;

    fn name(&self) -> &str {
        "count_people"
    }

    fn description(&self) -> String {
        "Says how many people live in a city".into()
    }

    fn is_read_only(&self) -> bool {
        true
    }

    async fn call(&self, place: Place, _context: ToolContext) -> Result<Population, ToolError> {
        let people = match place.city {
            City::Vaduz => 5_774,
            City::Paris => 2_102_650,
        };
        Ok(Population { people })
    }
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example shows what it does")]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let store = Arc::new(SqliteStore::open(&folder.path().join("tool.db")).await?);
    let seat = Seat { depth: Some(Depth::Immediate), output: Some(OutputSize::Verdict), ..Seat::default() };
    let colloquy =
        Colloquy::builder().store(store).model(colloquy_examples::local_engine()?).seat(seat).build()?;

    let conversation = colloquy.mint(&Principal::local());
    conversation.declare(CountPeople)?;
    let question = Ask::text("How many people live in Vaduz?").requiring_tool().at_temperature(0.0);
    let mut answering = conversation.stream(question).await?;
    while let Some((_, event)) = answering.next().await {
        match event {
            StreamEvent::ToolCall { name, input, .. } => println!("calls {name} with {input}"),
            StreamEvent::ToolResult { text, .. } => println!("reads {text}"),
            StreamEvent::Answer(text) => println!("answers: {text}"),
            _ => {}
        }
    }
    println!("\n{}", conversation.transcript().await?);
    colloquy.shut_down().await;
    Ok(())
}
