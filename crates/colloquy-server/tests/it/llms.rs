//! `/erudi/llms`: installed models, and what is refused before it is installed.

use std::{io::Write, path::Path, time::Duration};

use colloquy_server::app::Security;
use insta::assert_json_snapshot;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::server::Server;

const LLMS: &str = "/erudi/llms";

fn remote(base_url: &str) -> Value {
    json!({ "name": "remote", "engine": "openai", "base_url": base_url, "model": "m", "context_window": 4096 })
}

/// The address of a server that answers anything with 404.
async fn answering() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async { axum::serve(listener, axum::Router::new()).await });
    format!("http://{address}/v1")
}

#[tokio::test]
async fn an_installed_model_shows_every_field() {
    let server = Server::new([]).await;
    let mut llm = server.get(&format!("{LLMS}/1")).await.json();
    // What else would fit depends on the machine that runs the test.
    assert!(llm["description"].as_str().unwrap().starts_with("toy is a toy; "), "{llm}");
    llm["description"] = "[notice]".into();
    assert_json_snapshot!(llm);
    assert_eq!(
        server.get("/erudi/llms/").await.json(),
        json!([server.get(&format!("{LLMS}/1")).await.json()])
    );
}

#[tokio::test]
async fn any_address_that_answers_can_be_installed_and_its_key_is_never_shown() {
    let server = Server::new([]).await;
    let base_url = answering().await;
    let mut body = remote(&format!("{base_url}/"));
    body["api_key_env"] = "SOME_KEY".into();
    let reply = server.post(LLMS, body).await;
    assert_eq!(reply.status, 201, "{}", reply.text());
    let llm = reply.json();
    assert_eq!(
        (&llm["engine"], &llm["base_url"], &llm["model"]),
        (&json!("openai"), &json!(base_url), &json!("m"))
    );
    assert_eq!((&llm["context_window"], &llm["is_default"]), (&json!(4096), &json!(false)));
    assert!(!reply.text().contains("SOME_KEY"));
}

#[tokio::test]
async fn an_address_that_does_not_answer_is_refused_with_the_reason() {
    let server = Server::new([]).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    for base_url in [
        gone.as_str(),
        "ftp://127.0.0.1/",
        "not an address",
        "http://",
        "http://u:p@127.0.0.1/v1",
        "http://127.0.0.1/v1?key=1",
    ] {
        let reply = server.post(LLMS, remote(base_url)).await;
        reply.is_problem(422, "INVALID_INPUT");
        assert_eq!(reply.broken(), ["base_url"], "{base_url}");
    }
    assert_eq!(server.get(LLMS).await.json().as_array().unwrap().len(), 1, "nothing was installed");
}

#[tokio::test]
async fn a_file_that_is_no_model_is_refused_with_the_reason() {
    let server = Server::new([]).await;
    let folder = server.folder.path();
    let text = folder.join("notes.gguf");
    std::fs::File::create(&text).unwrap().write_all(b"just some text").unwrap();
    let cut = folder.join("cut.gguf");
    std::fs::write(&cut, b"GGUF\x03\0\0\0").unwrap();
    let missing = folder.join("missing.gguf");
    let paths =
        [text.as_path(), cut.as_path(), missing.as_path(), folder, Path::new("relative.gguf"), Path::new("")];
    for path in paths {
        let reply = server.post(LLMS, json!({ "name": "x", "engine": "llama", "path": path })).await;
        reply.is_problem(422, "INVALID_INPUT");
        assert_eq!(reply.broken(), ["path"], "{}", path.display());
    }
    let reply = server.post(LLMS, json!({ "name": "x", "engine": "llama", "path": text })).await;
    assert!(reply.json()["detail"].as_str().unwrap().contains("not a GGUF file"), "{}", reply.text());
    assert_eq!(server.get(LLMS).await.json().as_array().unwrap().len(), 1, "nothing was installed");
}

#[tokio::test]
async fn a_body_without_what_its_engine_needs_is_refused() {
    let server = Server::new([]).await;
    for (body, broken) in [
        (json!({}), vec!["name", "engine", "engine"]),
        (json!({ "name": "x", "engine": "mlx" }), vec!["engine"]),
        (json!({ "name": "x", "engine": "llama" }), vec!["path"]),
        (json!({ "name": "x", "engine": "openai" }), vec!["context_window", "base_url", "model"]),
        (json!({ "name": "n".repeat(201), "engine": "llama", "path": "/x" }), vec!["name"]),
        (json!({ "name": " ", "engine": "llama", "path": "/x" }), vec!["name"]),
    ] {
        let reply = server.post(LLMS, body).await;
        reply.is_problem(422, "INVALID_INPUT");
        assert_eq!(reply.broken(), broken);
    }
    let mut key = remote("http://127.0.0.1:1/v1");
    key["api_key_env"] = "sk-12345".into();
    assert_eq!(server.post(LLMS, key).await.broken(), ["api_key_env"]);
}

#[tokio::test]
async fn a_name_is_taken_once() {
    let server = Server::new([]).await;
    let mut body = remote(&answering().await);
    body["name"] = "toy".into();
    server.post(LLMS, body).await.is_problem(409, "STATE_CONFLICT");
}

#[tokio::test]
async fn the_default_moves_and_survives_a_deletion() {
    let server = Server::new([]).await;
    assert_eq!(server.post(LLMS, remote(&answering().await)).await.status, 201);
    let reply = server.poke(&format!("{LLMS}/2/default")).await;
    assert_eq!((reply.status.as_u16(), &reply.json()["is_default"]), (200, &json!(true)));
    assert_eq!(server.get(&format!("{LLMS}/1")).await.json()["is_default"], false);
    let reply = server.delete(&format!("{LLMS}/2")).await;
    assert_eq!(
        (reply.status.as_u16(), reply.json()),
        (200, json!({ "message": "LLM deleted successfully" }))
    );
    assert_eq!(server.get(&format!("{LLMS}/1")).await.json()["is_default"], true);
}

#[tokio::test]
async fn deleting_a_model_unbinds_its_conversations() {
    let server = Server::new([]).await;
    let conversation = server.conversation().await;
    server.delete(&format!("{LLMS}/1")).await;
    assert_eq!(server.get(&conversation).await.json()["llm_id"], Value::Null);
}

#[tokio::test]
async fn unknown_models_are_404_on_every_route() {
    let server = Server::new([]).await;
    for id in ["99", "-1", "99999999999999999999"] {
        server.get(&format!("{LLMS}/{id}")).await.is_problem(404, "MODEL_NOT_FOUND");
        server.delete(&format!("{LLMS}/{id}")).await.is_problem(404, "MODEL_NOT_FOUND");
        server.poke(&format!("{LLMS}/{id}/default")).await.is_problem(404, "MODEL_NOT_FOUND");
    }
    server.get(&format!("{LLMS}/abc")).await.is_problem(422, "INVALID_INPUT");
}

#[tokio::test]
async fn without_any_model_a_conversation_cannot_be_created() {
    let server = Server::without_model([], Security::default(), Duration::from_secs(15)).await;
    assert_eq!(server.get(LLMS).await.json(), json!([]));
    server.post("/erudi/conversations", json!({})).await.is_problem(404, "MODEL_NOT_FOUND");
}
