//! `colloquy_core::think_splitter`: what each chunk gives, and what the end gives.

use anyhow::Result;
use colloquy_core::think_splitter::{Piece, ThinkSplitter};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Verdict;

#[derive(Deserialize)]
struct Case {
    chunks: Vec<String>,
}

pub(super) fn check(case: &Value) -> Result<Verdict> {
    let Case { chunks } = super::input(case)?;
    let mut splitter = ThinkSplitter::new();
    let per_chunk: Vec<_> = chunks.iter().map(|chunk| splitter.feed(chunk)).collect();
    let flushed = splitter.flush();
    let texts = |channel: fn(&Piece) -> Option<&str>| -> String {
        per_chunk.iter().flatten().chain(&flushed).filter_map(channel).collect()
    };
    let got = json!({
        "events_per_chunk": per_chunk.iter().map(|pieces| events(pieces)).collect::<Vec<_>>(),
        "events_flush": events(&flushed),
        "answer": texts(answer),
        "thinking": texts(thinking),
    });
    let expected = ["events_per_chunk", "events_flush", "answer", "thinking"]
        .map(|name| (name.to_owned(), case[name].clone()))
        .into_iter()
        .collect();
    Ok(Verdict { expected: Value::Object(expected), got })
}

fn events(pieces: &[Piece]) -> Vec<Value> {
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Answer(text) => json!({"t": "answer", "text": text}),
            Piece::Thinking(text) => json!({"t": "thinking", "text": text}),
        })
        .collect()
}

fn answer(piece: &Piece) -> Option<&str> {
    match piece {
        Piece::Answer(text) => Some(text),
        Piece::Thinking(_) => None,
    }
}

fn thinking(piece: &Piece) -> Option<&str> {
    match piece {
        Piece::Answer(_) => None,
        Piece::Thinking(text) => Some(text),
    }
}
