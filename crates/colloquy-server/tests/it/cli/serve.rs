//! `serve`: alone on its folder, careful about who can reach it, and gone when it is told to go.

use std::time::Duration;

use colloquy_testkit::scripted_server::{Frame, Reply, ScriptedServer};
use serde_json::Value;
use tokio::io::AsyncReadExt;

use super::place::{Place, mode, signal};

#[tokio::test]
async fn it_prints_one_line_publishes_itself_and_leaves_nothing_behind() {
    let place = Place::new();
    let served = place.serve().await;
    assert!(served.url().starts_with("http://127.0.0.1:"), "{}", served.ready);

    let note = place.data_dir().join("server.json");
    assert_eq!(mode(&note), 0o600);
    let text: Value = serde_json::from_slice(&std::fs::read(&note).unwrap()).unwrap();
    assert_eq!(text["url"], served.url());
    assert_eq!(text["pid"], served.pid());
    assert_eq!(text["version"], env!("CARGO_PKG_VERSION"));

    let ended = served.terminate().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.more_stdout, None);
    assert!(!note.exists());
}

#[tokio::test]
async fn a_default_model_that_is_a_toy_is_told_on_stderr_in_the_words_of_the_api() {
    let place = Place::new();
    // A header and no tensors: no model is smaller.
    place.write("tiny.gguf", [&b"GGUF\x03\0\0\0"[..], &[0; 16]].concat());
    let file = place.data_dir().join("tiny.gguf");
    place.run(&["models", "add", "--gguf", file.to_str().unwrap()]).await.succeeds();
    let notice = place.json(&["models", "list", "--json"]).await[0]["description"].clone();
    let ended = place.serve().await.terminate().await;
    assert!(ended.stderr.lines().any(|line| notice == line), "{notice} is not in {ended:?}");
}

#[tokio::test]
async fn with_json_the_line_is_an_object() {
    let place = Place::new();
    let served = place.serve_with(&["--port", "0", "--json"]).await;
    let line: Value = serde_json::from_str(&served.ready).unwrap();
    assert!(line["url"].as_str().unwrap().starts_with("http://127.0.0.1:"));
    assert_eq!(line["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(line["data_dir"], place.data_dir().to_str().unwrap());
}

#[tokio::test]
async fn a_second_one_is_refused_and_told_the_first() {
    let place = Place::new();
    let served = place.serve().await;
    let pid = format!("process {}", served.pid());
    place.run(&["serve", "--port", "0"]).await.fails(1, &[&pid, served.url(), "--data-dir"]);
}

#[tokio::test]
async fn a_killed_one_does_not_keep_the_folder() {
    let place = Place::new();
    place.serve().await.kill().await;
    assert!(place.data_dir().join("server.json").exists(), "a killed server cleans up nothing");
    place.run(&["models", "list"]).await.succeeds();
    place.serve().await;
}

#[tokio::test]
async fn a_taken_first_port_is_passed_over() {
    // When somebody else has it, it is taken just as well.
    let _taken = tokio::net::TcpListener::bind(("127.0.0.1", 27182)).await;
    let served = Place::new().serve_with(&[]).await;
    let port: u16 = served.url().rsplit(':').next().unwrap().parse().unwrap();
    assert!((27183..=27199).contains(&port), "{port}");
}

#[tokio::test]
async fn a_taken_port_that_was_asked_for_is_an_error() {
    let taken = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    Place::new().run(&["serve", "--port", &port]).await.fails(1, &[&port, "taken"]);
}

#[tokio::test]
async fn an_address_others_reach_needs_a_token() {
    let ran = Place::new().run(&["serve", "--host", "0.0.0.0", "--port", "0"]).await;
    ran.fails(2, &["0.0.0.0", "COLLOQUY_TOKEN"]);
}

#[tokio::test]
async fn with_a_token_only_who_knows_it_is_served() {
    let place = Place::new().variable("COLLOQUY_TOKEN", "correct-horse");
    let served = place.serve_with(&["--host", "0.0.0.0", "--port", "0"]).await;
    assert!(served.url().starts_with("http://0.0.0.0:"));
    place.run(&["models", "list"]).await.succeeds();
    place.run(&["models", "list", "--token", "wrong-horse"]).await.fails(1, &["COLLOQUY_TOKEN"]);
}

#[tokio::test]
async fn bad_settings_are_wrong_usage() {
    let place = Place::new();
    place.write("config.toml", "flush = 3");
    place.run(&["serve"]).await.fails(2, &["unknown setting `flush`", "config.toml", "flush_ms"]);
    Place::new().run(&["serve", "--port", "many"]).await.fails(2, &["--port", "0 to 65535", "many"]);
    Place::new().run(&["serve", "--prot", "1"]).await.fails(2, &["--prot"]);
}

#[tokio::test]
async fn sigterm_closes_a_running_turn_and_keeps_its_text() {
    let script = [Frame::Role, Frame::Text("half an".into()), Frame::Hang];
    let server = ScriptedServer::start([Reply::stream(script)]).await.unwrap();
    let place = Place::with_model(&server).await;
    let served = place.serve().await;
    let mut asking = place.command(&["chat", "Are you there?"]).spawn().unwrap();
    let mut read = [0; 7];
    asking.stdout.as_mut().unwrap().read_exact(&mut read).await.unwrap();

    let ended = served.terminate().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.took < Duration::from_secs(10), "{ended:?}");
    let asked = asking.wait_with_output().await.unwrap();
    assert_ne!(asked.status.code(), Some(0));

    let shown = place.run(&["conversations", "show", "1"]).await.succeeds();
    assert!(shown.stdout.contains("Are you there?") && shown.stdout.contains("half an"), "{shown:?}");
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once() {
    // An answer that nobody reads and a model that never stops: the first signal closes the turn
    // through the service, and the second must not wait for anything.
    let server = ScriptedServer::start([Reply::Never]).await.unwrap();
    let place = Place::with_model(&server).await;
    let served = place.serve().await;
    let pid = served.pid();
    let _asking = place.command(&["chat", "Are you there?"]).spawn().unwrap();
    server.requested(1).await;
    signal(pid, "TERM").await;
    let ended = served.terminate().await;
    // It may have ended in good order before the second signal came.
    assert!(matches!(ended.code, Some(0 | 130)), "{ended:?}");
    assert!(ended.took < Duration::from_secs(10), "{ended:?}");
}
