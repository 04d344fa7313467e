//! The chores of this repository, as `cargo xtask …`. What CI runs is `cargo xtask ci`, the same
//! here and there. Nothing of it is part of the product.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

mod assets;
mod chores;
mod files;
mod licences;
mod tidy;
mod vectors;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The chores of this repository")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Everything that must hold before a change is merged, the tests last.
    Ci,
    /// Get the engine and the model that the end-to-end tests need, into `COLLOQUY_CACHE_DIR`.
    Assets,
    /// The rules that no compiler knows: crate arrows, file sizes, documents.
    Tidy,
    /// Run every vector file of a folder that a function exists for.
    Vectors {
        /// A folder of `*.json` files, each with its `cases`.
        dir: PathBuf,
    },
    /// Measure what the README promises.
    Bench,
    /// The property tests with many more cases than CI has time for.
    Soak {
        /// Cases per property.
        #[arg(long, default_value_t = 10_000)]
        cases: u32,
    },
}

fn main() -> ExitCode {
    let done = match Arguments::parse().chore {
        Chore::Ci => succeed(chores::ci()),
        Chore::Assets => succeed(assets::install().map(drop)),
        Chore::Tidy => succeed(tidy::run()),
        Chore::Vectors { dir } => vectors::run(&dir),
        Chore::Bench => succeed(chores::bench()),
        Chore::Soak { cases } => succeed(chores::soak(cases)),
    };
    done.unwrap_or_else(|error| {
        eprintln!("xtask: {error:#}");
        ExitCode::FAILURE
    })
}

fn succeed(done: Result<()>) -> Result<ExitCode> {
    done.map(|()| ExitCode::SUCCESS)
}
