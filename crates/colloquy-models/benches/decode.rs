//! How fast a chat-completions stream is decoded, beside `eventsource-stream` with `serde` on the
//! same bytes in the same run. `cargo xtask bench` prints it.
//!
//! Machines are shared, so the ratio says more than the rate; the goal is the product's.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::{
    convert::Infallible,
    hint::black_box,
    time::{Duration, Instant},
};

use colloquy::ports::ModelChunk;
use colloquy_models::openai::read_recorded;
use eventsource_stream::Eventsource;
use futures::{FutureExt, StreamExt, stream};
use serde::Deserialize;

/// A real answer of llama-server; its text deltas are repeated to the size below.
const RECORDED: &str = include_str!("../tests/fixtures/chat_stream.sse.txt");
const STREAM_BYTES: usize = 1_000_000;
/// What a read of a socket gives at most.
const PIECE_BYTES: usize = 16 * 1024;
/// The median of so many is told.
const N_RUNS: usize = 31;
const GOAL_MB_PER_S: f64 = 200.0;

fn main() {
    let stream = recorded_answer();
    let n_bytes = stream.len();
    assert_eq!(ours(&stream), theirs(&stream), "both must read the same text");
    let ours = megabytes_per_second(n_bytes, || ours(&stream));
    let theirs = megabytes_per_second(n_bytes, || theirs(&stream));
    let verdict = if ours > GOAL_MB_PER_S { "holds" } else { "MISSED" };
    println!("decode, a stream of {n_bytes} bytes in pieces of {PIECE_BYTES}");
    println!("  colloquy                    {ours:>7.0} MB/s  goal {GOAL_MB_PER_S} MB/s  {verdict}");
    println!("  eventsource-stream + serde  {theirs:>7.0} MB/s  {:.1} times slower", ours / theirs);
}

/// The recorded answer with its deltas as often as they fit.
fn recorded_answer() -> Vec<u8> {
    let events: Vec<&str> = RECORDED.split_inclusive("\n\n").collect();
    let is_delta = |event: &&&str| event.contains(r#""content":""#);
    let deltas: Vec<&str> = events.iter().filter(is_delta).copied().collect();
    let ending = events.iter().rev().take(3).rev().copied().collect::<String>();
    let mut stream = String::with_capacity(STREAM_BYTES + 1_000);
    for delta in deltas.iter().cycle() {
        if stream.len() + ending.len() > STREAM_BYTES {
            break;
        }
        stream.push_str(delta);
    }
    stream.push_str(&ending);
    stream.into_bytes()
}

/// The length of the text, which is all that is compared.
fn ours(stream: &[u8]) -> usize {
    let chunks = read_recorded(stream.chunks(PIECE_BYTES)).expect("a real stream is read");
    let text = chunks.iter().map(|chunk| match chunk {
        ModelChunk::Text(text) => text.len(),
        ModelChunk::Reading { .. }
        | ModelChunk::Reasoning(_)
        | ModelChunk::ReasoningSignature(_)
        | ModelChunk::RedactedReasoning(_)
        | ModelChunk::ToolCall(_)
        | ModelChunk::End { .. } => 0,
    });
    text.sum()
}

fn theirs(stream: &[u8]) -> usize {
    let pieces = stream::iter(stream.chunks(PIECE_BYTES).map(Ok::<_, Infallible>));
    let texts = pieces.eventsource().filter_map(|event| async {
        let event = event.expect("a real stream is read");
        let chunk: Option<Chunk> = serde_json::from_str(&event.data).ok();
        chunk?.choices.into_iter().next()?.delta.content
    });
    let texts: Vec<String> = texts.collect().now_or_never().expect("every piece is ready");
    texts.iter().map(String::len).sum()
}

#[derive(Deserialize)]
struct Chunk {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Delta,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<String>,
}

fn megabytes_per_second(n_bytes: usize, run: impl Fn() -> usize) -> f64 {
    let mut times: Vec<Duration> = (0..N_RUNS)
        .map(|_| {
            let start = Instant::now();
            black_box(run());
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    n_bytes as f64 / 1e6 / times[N_RUNS / 2].as_secs_f64()
}
