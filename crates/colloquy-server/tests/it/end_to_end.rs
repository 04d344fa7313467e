//! The real engine and a real model, through the built binary: Paris, a stop, and `kill -9`.
//!
//! Both come from the test cache; a test that misses them fails and says how to get them.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{io::AsyncReadExt, process::ChildStdout};

use crate::cli::{Place, Served, signal};

const MODEL: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";
const LONG_QUESTION: &str = "Write a very long story about a heron, a lighthouse and the sea.";

/// A place whose only model is the real one, with answers that are the same every time.
async fn place() -> Place {
    let cache = cache_dir();
    let (engine, model) = (cache.join("engine").join("llama-server"), cache.join("models").join(MODEL));
    for needed in [&engine, &model] {
        assert!(
            needed.is_file(),
            "{} is missing; `make test` puts it there (or: cargo xtask assets)",
            needed.display()
        );
    }
    let place = Place::new()
        .variable("COLLOQUY_LLAMA_SERVER", engine.to_str().unwrap())
        .variable("COLLOQUY_FLUSH_MS", "20")
        // So small a model may never come to an end by itself.
        .variable("COLLOQUY_MAX_TOKENS", "400");
    place.run(&["models", "add", "--gguf", model.to_str().unwrap()]).await.succeeds();
    place
}

#[expect(clippy::disallowed_methods, reason = "the test cache is named by the environment")]
fn cache_dir() -> PathBuf {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("COLLOQUY_CACHE_DIR")
        .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("colloquy")))
        .or_else(|| Some(variable("HOME")?.join(".cache/colloquy")))
        .expect("HOME is set")
}

/// A new conversation without chance in its sampling; gives its number.
async fn greedy_conversation(served: &Served) -> String {
    let url = format!("{}/erudi/conversations", served.url());
    let http = colloquy_models::client::HttpClients::new().unwrap().for_url(&url).unwrap();
    let body = json!({ "temperature": 0.0 }).to_string();
    let request = http.post(url).header("content-type", "application/json").body(body);
    let created: Value =
        serde_json::from_slice(&request.send().await.unwrap().bytes().await.unwrap()).unwrap();
    created["id"].to_string()
}

/// Reads until that many bytes of an answer have come.
async fn read_some(stdout: &mut ChildStdout, n_bytes: usize) -> String {
    let mut text = vec![0; n_bytes];
    let reading = tokio::time::timeout(Duration::from_secs(60), stdout.read_exact(&mut text));
    reading.await.expect("an answer within a minute").expect("a long answer");
    String::from_utf8_lossy(&text).into_owned()
}

/// The engines that a server runs.
fn engines_of(pid: u32) -> Vec<u32> {
    let is_child = |entry: &fs::DirEntry| {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let Some((_, rest)) = stat.rsplit_once(')') else { return false };
        rest.split_whitespace().nth(1) == Some(&pid.to_string()) && stat.contains("(llama-server)")
    };
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok).filter(is_child);
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Waits until a process is gone; a zombie that nobody has collected yet is gone too.
async fn gone(pid: u32) {
    let path = format!("/proc/{pid}/stat");
    let is_there = || {
        let stat = fs::read_to_string(Path::new(&path)).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
    };
    for _ in 0..100 {
        if !is_there() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("process {pid} is still there");
}

#[tokio::test]
async fn the_capital_of_france_is_paris_and_the_engine_goes_with_the_server() {
    let place = place().await;
    let served = place.serve().await;
    let id = greedy_conversation(&served).await;
    let line = ["chat", "--conversation", &id, "What is the capital of France?"];
    let ran = place.run(&line).await.succeeds();
    assert!(ran.stdout.contains("Paris"), "{ran:?}");

    let engines = engines_of(served.pid());
    assert_eq!(engines.len(), 1);
    let ended = served.terminate().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.took < Duration::from_secs(10), "{ended:?}");
    gone(engines[0]).await;
}

#[tokio::test]
async fn a_stopped_answer_keeps_what_was_read_and_the_next_question_is_answered() {
    let place = place().await;
    let served = place.serve().await;
    let id = greedy_conversation(&served).await;
    let mut asking = place.command(&["chat", "--conversation", &id, LONG_QUESTION]).spawn().unwrap();
    let mut stdout = asking.stdout.take().unwrap();
    let mut read = read_some(&mut stdout, 60).await;
    signal(asking.id().unwrap(), "INT").await;
    stdout.read_to_string(&mut read).await.unwrap();
    assert_eq!(asking.wait().await.unwrap().code(), Some(130));

    let messages = place.json(&["conversations", "show", &id, "--json"]).await;
    assert_eq!(messages[1]["outcome"], "stopped", "{messages}");
    assert_eq!(messages[1]["content"].as_str().unwrap().trim(), read.trim());
    let line = ["chat", "--conversation", &id, "What is the capital of France?"];
    assert!(!place.run(&line).await.succeeds().stdout.trim().is_empty());
}

#[tokio::test]
async fn kill_9_in_the_middle_loses_only_the_last_words() {
    let place = place().await;
    let served = place.serve().await;
    let id = greedy_conversation(&served).await;
    let mut asking = place.command(&["chat", "--conversation", &id, LONG_QUESTION]).spawn().unwrap();
    let mut stdout = asking.stdout.take().unwrap();
    let mut read = read_some(&mut stdout, 120).await;
    let engines = engines_of(served.pid());
    assert_eq!(engines.len(), 1);
    served.kill().await;
    gone(engines[0]).await;
    stdout.read_to_string(&mut read).await.unwrap();
    assert_eq!(asking.wait().await.unwrap().code(), Some(1), "a broken answer is a failed one");

    let served = place.serve().await;
    let messages = place.json(&["conversations", "show", &id, "--json"]).await;
    let kept = messages[1]["content"].as_str().unwrap().trim();
    assert_eq!(messages[1]["outcome"], "interrupted", "{messages}");
    assert!(!kept.is_empty(), "{messages}");
    // What was stored may be ahead of what the terminal had shown, or behind it, never different.
    let n_common = kept.len().min(read.trim().len());
    assert_eq!(kept.as_bytes()[..n_common], read.trim().as_bytes()[..n_common]);
    assert!(n_common >= 60, "{kept:?} of {read:?}");

    let line = ["chat", "--conversation", &id, "What is the capital of France?"];
    assert!(!place.run(&line).await.succeeds().stdout.trim().is_empty());
    assert_eq!(served.terminate().await.code, Some(0));
}
