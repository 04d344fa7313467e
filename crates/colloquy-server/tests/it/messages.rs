//! Messages: lists, stars and stored errors.

use colloquy_testkit::scripted::Script;
use insta::assert_json_snapshot;
use serde_json::{Value, json};

use crate::server::{Server, redacted};

fn contents(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn messages_come_oldest_first_and_pages_count_from_the_newest() {
    let server = Server::new([Script::answer("A1"), Script::answer("A2")]).await;
    let conversation = server.conversation().await;
    server.ask(&conversation, "Q1").await;
    server.ask(&conversation, "Q2").await;
    let path = format!("{conversation}/fetch_messages");
    let all = server.get(&path).await.json();
    assert_eq!(contents(&all), ["Q1", "A1", "Q2", "A2"]);
    assert_eq!(contents(&server.get(&format!("{path}?limit=3")).await.json()), ["A1", "Q2", "A2"]);
    assert_eq!(contents(&server.get(&format!("{path}?limit=1&before=3")).await.json()), ["A1"]);
    assert_json_snapshot!(redacted(all));
}

#[tokio::test]
async fn stars_are_set_and_taken_any_number_of_times() {
    let server = Server::new([Script::answer("Yes.")]).await;
    let conversation = server.conversation().await;
    server.ask(&conversation, "x").await;
    for (action, word, starred) in [("star", "starred", true), ("unstar", "unstarred", false)] {
        for _ in 0..2 {
            let reply = server
                .post(&format!("/erudi/conversations/{action}_message"), json!({ "message_id": 2 }))
                .await;
            let expected = json!({ "state": "success", "message": format!("Message {word} successfully") });
            assert_eq!((reply.status.as_u16(), reply.json()), (200, expected));
            let messages = server.get(&format!("{conversation}/fetch_messages")).await.json();
            assert_eq!(messages[1]["starred"], starred);
        }
    }
}

#[tokio::test]
async fn a_star_on_nothing_is_refused() {
    let server = Server::new([]).await;
    for action in ["star", "unstar"] {
        let path = format!("/erudi/conversations/{action}_message");
        for id in [json!(99), json!(-1), json!(i64::MAX)] {
            server.post(&path, json!({ "message_id": id })).await.is_problem(404, "MESSAGE_NOT_FOUND");
        }
        for body in [json!({}), json!({ "message_id": "2" }), json!({ "message_id": 1e19 })] {
            let reply = server.post(&path, body).await;
            reply.is_problem(422, "INVALID_INPUT");
            assert_eq!(reply.broken(), ["message_id"]);
        }
    }
}

#[tokio::test]
async fn a_stored_error_is_an_answer_without_a_question() {
    let server = Server::new([Script::answer("Yes.")]).await;
    let conversation = server.conversation().await;
    let reply = server.poke(&format!("{conversation}/store_error_message")).await;
    assert_eq!(reply.status, 200);
    let stored = reply.json();
    assert_eq!(stored["message"], "Error message stored successfully");
    let messages = server.get(&format!("{conversation}/fetch_messages")).await.json();
    assert_eq!(messages.as_array().unwrap().len(), 1);
    assert_eq!((&messages[0]["id"], &messages[0]["sender"]), (&stored["error_message_id"], &json!("llm")));
    assert!(messages[0]["content"].as_str().unwrap().starts_with("[ERROR_MESSAGE_SYSTEM] "));
    let done = server.ask(&conversation, "Still there?").await.pop().unwrap();
    assert_eq!(done["outcome"], "answered", "the conversation goes on");
}
