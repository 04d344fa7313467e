//! `models`: what is refused leaves nothing behind.

use colloquy_testkit::scripted_server::{Reply, ScriptedServer};
use serde_json::json;

use super::place::Place;

#[tokio::test]
async fn a_remote_model_is_added_listed_chosen_and_removed() {
    let server = ScriptedServer::start([]).await.unwrap();
    let url = server.base_url();
    let place = Place::new();
    let empty = place.run(&["models", "list"]).await.succeeds();
    assert!(empty.stdout.contains("colloquy setup"), "{empty:?}");

    for name in ["one", "two"] {
        let line = ["models", "add", "--base-url", &url, "--model", "m", "--window", "4096", "--name", name];
        place.run(&line).await.succeeds();
    }
    let models = place.json(&["models", "list", "--json"]).await;
    let found: Vec<_> = models
        .as_array()
        .unwrap()
        .iter()
        .map(|llm| {
            json!([
                llm["name"],
                llm["engine"],
                llm["base_url"],
                llm["model"],
                llm["context_window"],
                llm["is_default"]
            ])
        })
        .collect();
    let expected =
        [json!(["two", "openai", url, "m", 4096, false]), json!(["one", "openai", url, "m", 4096, true])];
    assert_eq!(found, expected);

    place.run(&["models", "default", "two"]).await.succeeds();
    place.run(&["models", "remove", "one"]).await.succeeds();
    let models = place.json(&["models", "list", "--json"]).await;
    assert_eq!(models.as_array().unwrap().len(), 1);
    assert_eq!(models[0]["is_default"], true);
    place.run(&["models", "remove", "one"]).await.fails(1, &["no model is called one", "two"]);
}

#[tokio::test]
async fn add_with_default_and_json_gives_the_document() {
    let server = ScriptedServer::start([]).await.unwrap();
    let place = Place::with_model(&server).await;
    let url = server.base_url();
    let line = [
        "models",
        "add",
        "--base-url",
        &url,
        "--model",
        "m",
        "--window",
        "1",
        "--name",
        "new",
        "--default",
        "--json",
    ];
    let added = place.json(&line).await;
    assert_eq!((added["name"].as_str(), added["is_default"].as_bool()), (Some("new"), Some(true)));
}

#[tokio::test]
async fn a_file_that_is_no_gguf_or_cut_short_is_refused_and_nothing_stays() {
    let place = Place::new();
    place.write("notes.gguf", "Dear diary");
    place.write("cut.gguf", cut_gguf());
    for name in ["notes.gguf", "cut.gguf", "missing.gguf"] {
        let path = place.data_dir().join(name);
        place.run(&["models", "add", "--gguf", path.to_str().unwrap()]).await.fails(1, &[name]);
    }
    assert_eq!(place.json(&["models", "list", "--json"]).await, json!([]));
}

/// A header that promises one tensor of 4,000 bytes and ends there.
fn cut_gguf() -> Vec<u8> {
    let mut bytes = b"GGUF".to_vec();
    bytes.extend(3_u32.to_le_bytes());
    bytes.extend(1_u64.to_le_bytes());
    bytes.extend(0_u64.to_le_bytes());
    bytes.extend(1_u64.to_le_bytes());
    bytes.push(b't');
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend(1_000_u64.to_le_bytes());
    bytes.extend(0_u32.to_le_bytes());
    bytes.extend(0_u64.to_le_bytes());
    bytes
}

#[tokio::test]
async fn an_address_that_does_not_answer_is_refused_and_nothing_stays() {
    let free = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}/v1", free.local_addr().unwrap());
    drop(free);
    let place = Place::new();
    let line = ["models", "add", "--base-url", &url, "--model", "m", "--window", "4096"];
    place.run(&line).await.fails(1, &[&url]);
    assert_eq!(place.json(&["models", "list", "--json"]).await, json!([]));
}

#[tokio::test]
async fn a_taken_name_is_refused_and_the_first_stays() {
    let server = ScriptedServer::start([]).await.unwrap();
    let place = Place::with_model(&server).await;
    let url = server.base_url();
    let line =
        ["models", "add", "--base-url", &url, "--model", "other", "--window", "1", "--name", "scripted"];
    place.run(&line).await.fails(1, &["name"]);
    assert_eq!(place.json(&["models", "list", "--json"]).await[0]["model"], "scripted");
}

#[tokio::test]
async fn half_a_description_is_wrong_usage() {
    let place = Place::new();
    place.run(&["models", "add"]).await.fails(2, &["--gguf", "--base-url"]);
    place
        .run(&["models", "add", "--base-url", "http://127.0.0.1:1/v1"])
        .await
        .fails(2, &["--model", "--window"]);
    let both = ["models", "add", "--gguf", "x", "--base-url", "http://x", "--model", "m", "--window", "1"];
    place.run(&both).await.fails(2, &["cannot be used with"]);
    let none = ["models", "add", "--base-url", "http://x", "--model", "m", "--window", "0"];
    place.run(&none).await.fails(2, &["--window"]);
}

#[tokio::test]
async fn a_running_server_and_a_command_see_the_same_models() {
    let server = ScriptedServer::start([Reply::answer("yes")]).await.unwrap();
    let place = Place::new();
    let _served = place.serve().await;
    place.add_model(&server).await;
    assert_eq!(place.json(&["models", "list", "--json"]).await[0]["name"], "scripted");
    let ran = place.run(&["chat", "Do you work?"]).await.succeeds();
    assert_eq!(ran.stdout, "yes\n");
}
