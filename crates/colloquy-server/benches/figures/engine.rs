//! With the real engine: how much of a thread it reads again, on the next turn and after switching
//! to two other long threads and back; beside the same requests sent straight to `llama-server`.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use colloquy::ports::EngineKind;
use colloquy::{
    Ask,
    ports::{CallOptions, LlmRow, ModelCall, ModelChunk, Models, Opened, Principal, Sampling},
    stream::{Done, StreamEvent},
};
use colloquy_core::{
    block::Block,
    message::{ConversationId, Role, Usage},
    prepare::{PreparedConversation, PreparedTurn},
};
use colloquy_models::engines::{Engines, EnginesConfig};
use futures::StreamExt;

use crate::{
    host::Host,
    table::{Table, ms},
};

/// Long enough to be an answer; what is measured is the reading.
const ANSWER_TOKENS: u32 = 24;

const MODEL: &str = "models/SmolLM2-135M-Instruct.Q4_1.gguf";

/// One turn: time to its first word, and what the engine says it cost.
#[derive(Debug, Clone)]
struct Cost {
    first_ms: f64,
    prompt: u32,
    reused: u32,
    answer: String,
}

pub(crate) fn measure(table: &mut Table) {
    let cache = cache_dir();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let ours = runtime.block_on(through_colloquy(&cache));
    let theirs = runtime.block_on(straight(&cache));
    for (index, name) in
        [(1, "second turn of a 2,000-token thread"), (4, "back after two other long threads")]
    {
        let before = if index == 1 { &ours[0] } else { &ours[1] };
        let share = f64::from(ours[index].reused) / f64::from(before.prompt);
        table.row(
            &format!("{name}: prompt reused"),
            (
                format!("{} of {} tokens", ours[index].reused, before.prompt),
                format!(
                    "{} of {} straight",
                    theirs[index].reused,
                    theirs[if index == 1 { 0 } else { 1 }].prompt
                ),
            ),
            (format!("{:.2} %", share * 100.0), "99 %".into()),
            share >= 0.99,
        );
        table.ratio(
            &format!("{name}: first word"),
            (
                format!("{:.0} ms (cold {:.0})", ours[index].first_ms, ours[0].first_ms),
                format!("{:.0} ms straight (cold {:.0})", theirs[index].first_ms, theirs[0].first_ms),
            ),
            ours[index].first_ms / theirs[index].first_ms,
            1.5,
        );
    }
}

/// Where `cargo xtask assets` keeps the engine and the model.
#[expect(clippy::disallowed_methods, reason = "a benchmark has no settings of its own")]
fn cache_dir() -> PathBuf {
    let named = std::env::var_os("COLLOQUY_CACHE_DIR").map(PathBuf::from);
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    named.or(base.or(home).map(|base| base.join("colloquy"))).expect("HOME is set")
}

fn config(cache: &std::path::Path, folder: &std::path::Path) -> EnginesConfig {
    EnginesConfig {
        llama_server: Some(cache.join("engine/llama-server")),
        ..EnginesConfig::new(folder.into())
    }
}

/// About 2,000 tokens, different from the first word on.
fn long_text(thread: usize) -> String {
    let names = ["Ada", "Boris", "Chen"];
    let name = names[thread];
    let line =
        |n: usize| format!("On day {n} {name} counted {} boats and wrote it down.\n", (n * 7 + thread) % 90);
    let lines: String = (1..=115).map(line).collect();
    format!("{name}'s notes:\n{lines}How many boats on day 3? Answer with the number.")
}

/// The five turns: thread 0, thread 0 again, threads 1 and 2, thread 0 again.
const TURNS: [usize; 5] = [0, 0, 1, 2, 0];

fn question(thread: usize, is_first: bool) -> String {
    if is_first { long_text(thread) } else { "And on day 4?".into() }
}

async fn through_colloquy(cache: &std::path::Path) -> Vec<Cost> {
    let folder = tempfile::tempdir().unwrap();
    let engine = EngineKind::Llama { path: cache.join(MODEL).to_string_lossy().into() };
    let host = Host::open(folder.path(), config(cache, folder.path()), engine, Some(ANSWER_TOKENS)).await;
    let mut threads = Vec::new();
    for _ in 0..3 {
        threads.push(ConversationId(host.conversation().await));
    }
    let mut costs = Vec::new();
    let mut begun = [false; 3];
    for thread in TURNS {
        let text = question(thread, !begun[thread]);
        begun[thread] = true;
        costs.push(ask(&host, threads[thread], text).await);
    }
    host.colloquy.shut_down().await;
    costs
}

async fn ask(host: &Host, id: ConversationId, text: String) -> Cost {
    let started = Instant::now();
    let ask = Ask { text, ..Ask::default() };
    let mut handle = host.colloquy.start_turn(&Principal::local(), id, ask).await.unwrap();
    let mut first_ms = None;
    let mut answer = String::new();
    let mut usage = Usage::default();
    while let Some((_, event)) = handle.reader.next().await {
        match event {
            StreamEvent::Answer(text) => {
                first_ms.get_or_insert_with(|| ms(started.elapsed()));
                answer.push_str(&text);
            }
            StreamEvent::Done(Done { usage: reported, .. }) => usage = reported,
            StreamEvent::Error(error) => panic!("{error:?}"),
            StreamEvent::Thinking(_)
            | StreamEvent::Withdraw { .. }
            | StreamEvent::ToolCall { .. }
            | StreamEvent::ToolResult { .. }
            | StreamEvent::Steer { .. }
            | StreamEvent::Progress(_)
            | StreamEvent::Reload => {}
        }
    }
    cost(first_ms, usage, answer)
}

/// The same requests to a child of its own, without store, service or server.
async fn straight(cache: &std::path::Path) -> Vec<Cost> {
    let folder = tempfile::tempdir().unwrap();
    let engines = Engines::new(config(cache, folder.path())).unwrap();
    let llm = LlmRow {
        id: colloquy_core::message::LlmId(1),
        name: "straight".into(),
        engine: EngineKind::Llama { path: cache.join(MODEL).to_string_lossy().into() },
        context_window: None,
        param_size: Some(0.1),
        size_bytes: None,
        generation_config: None,
        is_default: true,
        created_at: 0,
    };
    let (notices, _told) = tokio::sync::mpsc::channel(8);
    let opened = engines.admit(Some(&llm)).unwrap().open(notices).await.unwrap();
    let mut threads: [Vec<Arc<PreparedTurn>>; 3] = Default::default();
    let mut costs = Vec::new();
    for thread in TURNS {
        let turns = &mut threads[thread];
        turns.push(said(Role::User, question(thread, turns.is_empty())));
        let cost = call(&opened, turns.clone()).await;
        turns.push(said(Role::Assistant, cost.answer.clone()));
        costs.push(cost);
    }
    drop(opened);
    engines.shut_down().await;
    costs
}

fn said(role: Role, text: String) -> Arc<PreparedTurn> {
    Arc::new(PreparedTurn { role, blocks: vec![Block::Text(text)], n_stable: 1 })
}

async fn call(opened: &Opened, turns: Vec<Arc<PreparedTurn>>) -> Cost {
    let system = colloquy_core::persona::Tier::Tiny.persona().to_owned();
    let call = ModelCall {
        prepared: PreparedConversation { system, turns, ..PreparedConversation::default() },
        sampling: Sampling {
            temperature: 0.0,
            top_p: 0.95,
            top_k: None,
            min_p: None,
            presence_penalty: None,
            repetition_penalty: 1.1,
            repetition_context_size: 64,
        },
        options: CallOptions {
            max_tokens: Some(ANSWER_TOKENS),
            window_tokens: opened.spec.context_window,
            ..CallOptions::default()
        },
    };
    let started = Instant::now();
    let mut chunks = opened.model.call(call).await.unwrap();
    let mut first_ms = None;
    let mut answer = String::new();
    let mut reported = Usage::default();
    while let Some(chunk) = tokio::time::timeout(Duration::from_secs(300), chunks.next()).await.unwrap() {
        match chunk.unwrap() {
            ModelChunk::Text(text) => {
                first_ms.get_or_insert_with(|| ms(started.elapsed()));
                answer.push_str(&text);
            }
            ModelChunk::End { usage, .. } => reported = usage,
            ModelChunk::Reading { .. }
            | ModelChunk::Reasoning(_)
            | ModelChunk::ReasoningSignature(_)
            | ModelChunk::RedactedReasoning(_)
            | ModelChunk::ToolCall(_) => {}
        }
    }
    cost(first_ms, reported, answer)
}

fn cost(first_ms: Option<f64>, usage: Usage, answer: String) -> Cost {
    Cost {
        first_ms: first_ms.expect("the model said something"),
        prompt: usage.prompt_tokens.expect("the engine counts"),
        reused: usage.reused_tokens.unwrap_or(0),
        answer,
    }
}
