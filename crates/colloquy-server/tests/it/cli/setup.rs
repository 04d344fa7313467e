//! `setup`: it adds a model only where there is none.

use colloquy_testkit::scripted_server::ScriptedServer;
use serde_json::json;

use super::place::Place;

/// A program that says a version, as an engine does. Another process writes it: what this one has
/// open for writing, even for a moment, cannot be run by a test that starts just then.
async fn engine(place: &Place) -> String {
    let path = place.data_dir().join("llama-server");
    let line = "printf '#!/bin/sh\necho version: fake\n' > \"$0\" && chmod 755 \"$0\"";
    let mut command = place.other("sh", &["-c", line, path.to_str().unwrap()]);
    assert!(command.status().await.unwrap().success());
    path.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_model_that_a_person_removed_is_not_brought_back_beside_another() {
    let server = ScriptedServer::start([]).await.unwrap();
    let place = Place::with_model(&server).await;
    let engine = engine(&place).await;
    // No model is asked for, so no network is needed either: this place has no package tools.
    let place = place.variable("PATH", "/no/such/folder").variable("HTTPS_PROXY", "http://127.0.0.1:1");
    let line = ["setup", "--llama-server", &engine];
    let ran = place.run(&line).await.succeeds();
    assert!(ran.stderr.contains("default model: scripted"), "{ran:?}");
    let llms = place.json(&["models", "list", "--json"]).await;
    assert_eq!((llms.as_array().unwrap().len(), &llms[0]["name"]), (1, &json!("scripted")));
}
