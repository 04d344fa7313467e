//! The figures that Colloquy is judged by, each beside its reference in the same run.
//!
//! `cargo xtask bench` runs all; a word after `--` picks: `overhead`, `growth`, `engine`, `start`.
//! Machines are shared, so what counts is the ratio to the reference, not the milliseconds.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and stops at what is wrong"
)]

mod engine;
mod growth;
mod host;
mod overhead;
mod start;
mod table;

use table::Table;

fn main() {
    let picked: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let wanted = |name: &str| picked.is_empty() || picked.iter().any(|picked| picked == name);
    let mut table = Table::default();
    if wanted("start") {
        start::measure(&mut table);
    }
    if wanted("overhead") {
        overhead::measure(&mut table);
    }
    if wanted("growth") {
        growth::measure(&mut table);
    }
    if wanted("engine") {
        engine::measure(&mut table);
    }
    println!("{table}");
}
