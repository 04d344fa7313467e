//! The stream of a turn: its events, its bytes, its headers.

use std::time::Duration;

use colloquy::ports::LoadNotice;
use colloquy_core::turn::Failure;
use colloquy_server::app::Security;
use colloquy_testkit::{
    gate::Gate,
    scripted::{Opening, Script, Step},
};
use http_body_util::BodyExt;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::server::{Reply, Server, next_line};

/// The transcript with the turn's identity replaced.
async fn transcript(server: &Server, question: &str) -> String {
    let conversation = server.conversation().await;
    let reply = server.post(&format!("{conversation}/query"), json!({ "question": question })).await;
    assert_eq!(reply.status, 200);
    reply.text().replace(reply.header("x-turn-id").unwrap(), "[turn]")
}

#[track_caller]
fn is_numbered_and_ends_in_done(events: &[Value]) {
    let seqs: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=events.len() as u64).collect::<Vec<_>>());
    let dones = events.iter().filter(|event| event["t"] == "done").count();
    assert_eq!((dones, &events.last().unwrap()["t"]), (1, &json!("done")));
}

#[tokio::test]
async fn an_answer_streams_as_on_the_page() {
    let script = Script::new().reasoning("The user asks for a capital city.").words("Naïve: Paris 😀").stop();
    let server = Server::new([script]).await;
    assert_snapshot!(transcript(&server, "What is the capital of France?").await);
}

#[tokio::test]
async fn a_stream_carries_the_headers_that_keep_it_flowing() {
    let server = Server::new([Script::answer("Yes.")]).await;
    let conversation = server.conversation().await;
    let reply: Reply = server.post(&format!("{conversation}/query"), json!({ "question": "x" })).await;
    assert_eq!(reply.header("content-type"), Some("application/x-ndjson"));
    assert_eq!(reply.header("cache-control"), Some("no-cache"));
    assert_eq!(reply.header("x-accel-buffering"), Some("no"));
    assert_eq!(reply.header("x-request-id"), Some("r-1"));
    assert_eq!(reply.header("access-control-allow-origin"), None);
    let events = reply.events();
    is_numbered_and_ends_in_done(&events);
    assert_eq!(reply.header("x-turn-id"), events.last().unwrap()["turn_id"].as_str());
}

#[tokio::test]
async fn each_event_is_a_frame_of_its_own_and_arrives_before_the_next() {
    let gate = Gate::new();
    let server = Server::new([Script::new().text("One").pause(&gate).text(" two.").stop()]).await;
    let conversation = server.conversation().await;
    let mut body = server.begin(&conversation, "x").await.into_body();
    let first = next_line(&mut body).await;
    assert_eq!(first, "{\"t\": \"answer\", \"seq\": 1, \"text\": \"One\"}\n");
    gate.open();
    assert!(next_line(&mut body).await.contains("two."));
    assert!(next_line(&mut body).await.contains("done"));
    assert!(body.frame().await.is_none());
}

#[tokio::test]
async fn a_failure_is_told_inside_the_stream() {
    let failure = Failure::Overflow { prompt_tokens: Some(9000), window_tokens: Some(8192) };
    let server = Server::new([Script::fail(failure)]).await;
    assert_snapshot!(transcript(&server, "x").await);
}

#[tokio::test]
async fn the_engines_last_words_come_with_its_death() {
    let detail = "llama-server ended with exit status: 3\nggml: abort".to_owned();
    let script = Script::new().text("Half").then(Step::Fail(Failure::Engine { detail }));
    let server = Server::new([script]).await;
    let text = transcript(&server, "x").await;
    assert_snapshot!(text);
}

#[tokio::test]
async fn an_engine_on_its_way_is_told() {
    let server =
        Server::new([Script::new().then(Step::Reading { done: 128, total: 300 }).text("Hi").stop()]).await;
    let notices = vec![LoadNotice::Waiting, LoadNotice::Reload, LoadNotice::Loading];
    server.models.push_opening(Opening { notices, ..Opening::default() });
    let conversation = server.conversation().await;
    let events = server.ask(&conversation, "x").await;
    is_numbered_and_ends_in_done(&events);
    let told: Vec<_> =
        events.iter().map(|event| (event["t"].as_str().unwrap(), event["phase"].as_str())).collect();
    assert!(told.contains(&("progress", Some("waiting"))), "{told:?}");
    assert!(told.contains(&("memory_reload", None)), "{told:?}");
    assert!(told.contains(&("progress", Some("reading"))), "{told:?}");
}

#[tokio::test]
async fn a_silent_turn_sends_blank_lines_and_they_have_no_number() {
    let gate = Gate::new();
    let script = Script::new().text("One").pause(&gate).text(" two.").stop();
    let server = Server::with([script], Security::default(), Duration::from_millis(5)).await;
    let conversation = server.conversation().await;
    let mut body = server.begin(&conversation, "x").await.into_body();
    let mut lines = Vec::new();
    loop {
        lines.push(next_line(&mut body).await);
        if lines.ends_with(&["\n".to_owned(), "\n".to_owned()])
            && lines.iter().any(|line| line.contains("One"))
        {
            break;
        }
    }
    gate.open();
    let rest = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    let all = lines.concat() + &rest;
    let events: Vec<Value> =
        all.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect();
    is_numbered_and_ends_in_done(&events);
}
