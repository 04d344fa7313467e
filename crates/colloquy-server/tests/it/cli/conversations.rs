//! `conversations`: out and away.

use colloquy_models::client::HttpClients;
use colloquy_testkit::scripted_server::{Reply, ScriptedServer};
use serde_json::{Value, json};

use super::place::Place;

async fn place_with_one() -> (ScriptedServer, Place) {
    let server = ScriptedServer::start([Reply::answer("A fine answer.")]).await.unwrap();
    let place = Place::with_model(&server).await;
    place.run(&["chat", "A good question?"]).await.succeeds();
    (server, place)
}

#[tokio::test]
async fn they_are_listed_and_shown() {
    let (_server, place) = place_with_one().await;
    let listed = place.json(&["conversations", "list", "--json"]).await;
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(listed[0]["id"], 1);
    let listed = place.run(&["conversations", "list"]).await.succeeds();
    assert!(listed.stdout.starts_with("ID"), "{listed:?}");

    let shown = place.run(&["conversations", "show", "1"]).await.succeeds();
    assert!(
        shown.stdout.contains("A good question?") && shown.stdout.contains("A fine answer."),
        "{shown:?}"
    );
    let shown = place.json(&["conversations", "show", "1", "--json"]).await;
    let senders: Vec<_> = shown.as_array().unwrap().iter().map(|message| message["sender"].clone()).collect();
    assert_eq!(senders, ["user", "llm"]);
}

#[tokio::test]
async fn an_export_holds_every_word_in_both_forms() {
    let (_server, place) = place_with_one().await;
    let out = place.data_dir().join("out.json");
    place.run(&["conversations", "export", "1", "-o", out.to_str().unwrap()]).await.succeeds();
    let file = std::fs::read_to_string(&out).unwrap();
    let printed = place.run(&["conversations", "export", "1", "--format", "json"]).await.succeeds().stdout;
    let (file_json, printed_json): (Value, Value) =
        (serde_json::from_str(&file).unwrap(), serde_json::from_str(&printed).unwrap());
    assert!(file_json.is_object() && printed_json.is_object());
    for text in [&file, &printed] {
        assert!(text.contains("A good question?") && text.contains("A fine answer."), "{text}");
    }
    let markdown =
        place.run(&["conversations", "export", "1", "--format", "markdown"]).await.succeeds().stdout;
    assert!(markdown.contains("A good question?") && markdown.contains("A fine answer."), "{markdown}");
}

#[tokio::test]
async fn a_failed_export_leaves_the_older_file_alone() {
    let (_server, place) = place_with_one().await;
    place.write("out.json", "older");
    let out = place.data_dir().join("out.json");
    place.run(&["conversations", "export", "7", "-o", out.to_str().unwrap()]).await.fails(1, &["7"]);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "older");
}

#[tokio::test]
async fn a_deleted_one_is_gone() {
    let (_server, place) = place_with_one().await;
    place.run(&["conversations", "delete", "1", "--yes"]).await.succeeds();
    assert_eq!(place.json(&["conversations", "list", "--json"]).await, json!([]));
    for line in [["conversations", "show", "1"], ["conversations", "delete", "1"]] {
        place.run(&line).await.fails(1, &["1"]);
    }
}

#[tokio::test]
async fn an_export_goes_through_what_is_no_file_and_fails_where_it_cannot_be_written() {
    let (_server, place) = place_with_one().await;
    let printed = place.run(&["conversations", "export", "1"]).await.succeeds().stdout;
    let ran = place.run(&["conversations", "export", "1", "-o", "/dev/stdout"]).await.succeeds();
    assert_eq!(ran.stdout, printed);
    place.run(&["conversations", "export", "1", "-o", "/dev/null"]).await.succeeds();
    place.run(&["conversations", "export", "1", "-o", "/dev/full"]).await.fails(1, &["/dev/full"]);
    let folder = place.data_dir();
    place.run(&["conversations", "export", "1", "-o", folder.to_str().unwrap()]).await.fails(1, &["data"]);
    for device in ["/dev/null", "/dev/full"] {
        assert!(!std::fs::symlink_metadata(device).unwrap().is_file(), "{device} was replaced");
    }
}

#[tokio::test]
async fn an_export_to_stdout_keeps_what_a_file_behind_it_holds() {
    let (_server, place) = place_with_one().await;
    place.write("log", "before\n");
    let line = format!("{} conversations export 1 -o /dev/stdout >> log", env!("CARGO_BIN_EXE_colloquy"));
    let mut command = place.other("sh", &["-c", &line]);
    assert!(command.current_dir(place.data_dir()).status().await.unwrap().success());
    let log = std::fs::read_to_string(place.data_dir().join("log")).unwrap();
    assert!(log.starts_with("before\n") && log.contains("A fine answer."), "{log}");
}

#[tokio::test]
async fn a_name_cannot_add_a_row_or_steer_the_terminal() {
    let (_server, place) = place_with_one().await;
    let served = place.serve().await;
    let renamed = HttpClients::new()
        .unwrap()
        .for_url(served.url())
        .unwrap()
        .patch(format!("{}/erudi/conversations/1", served.url()))
        .header("content-type", "application/json")
        .body(json!({ "name": "a\n9   b\u{1b}[2J\u{202e}" }).to_string())
        .send()
        .await
        .unwrap();
    let (is_renamed, reply) = (renamed.status().is_success(), renamed.text().await.unwrap());
    assert!(is_renamed, "{reply}");
    let listed = place.run(&["conversations", "list"]).await.succeeds().stdout;
    assert_eq!(listed.lines().count(), 2, "{listed:?}");
    assert!(!listed.contains(['\u{1b}', '\u{202e}']), "{listed:?}");
}
