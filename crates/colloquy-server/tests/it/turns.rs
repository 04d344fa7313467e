//! Asking: what is refused before the stream, and looking a turn up or stopping it.

use colloquy_testkit::{
    gate::Gate,
    scripted::{CallEnd, Script},
};
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::server::{Server, next_line};

#[tokio::test]
async fn a_blank_or_missing_question_is_422() {
    let server = Server::new([]).await;
    let path = format!("{}/query", server.conversation().await);
    for body in
        [json!({}), json!({ "question": null }), json!({ "question": 3 }), json!({ "question": " \n\t" })]
    {
        let reply = server.post(&path, body).await;
        reply.is_problem(422, "INVALID_INPUT");
        assert_eq!(reply.broken(), ["question"]);
    }
}

#[tokio::test]
async fn what_is_attached_is_refused_and_never_dropped() {
    let server = Server::new([]).await;
    let conversation = server.conversation().await;
    for name in ["images", "image_paths", "attachments"] {
        let reply =
            server.post(&format!("{conversation}/query"), json!({ "question": "x", name: [""] })).await;
        reply.is_problem(422, "INVALID_INPUT");
        assert_eq!(reply.broken(), [name]);
        assert!(reply.json()["detail"].as_str().unwrap().contains("not supported yet"));
    }
    assert_eq!(server.get(&format!("{conversation}/fetch_messages")).await.json(), json!([]));
}

#[tokio::test]
async fn empty_lists_unknown_members_and_old_ones_are_accepted() {
    let server = Server::new([Script::answer("Yes.")]).await;
    let conversation = server.conversation().await;
    let body = json!({
        "question": "x", "images": [], "image_paths": null, "attachments": [], "max_new_tokens": 5,
        "on_disconnect": "stop", "when_busy": "reject", "something_new": {}, "custom_prompt": "",
        "temperature": 0, "top_p": 1,
    });
    let reply = server.post(&format!("{conversation}/query"), body).await;
    assert_eq!(reply.status, 200);
    let call = server.models.calls().remove(0).call;
    assert_eq!((call.sampling.temperature, call.sampling.top_p), (0.0, 1.0));
}

#[tokio::test]
async fn choices_that_do_not_work_yet_are_refused() {
    let server = Server::new([]).await;
    let path = format!("{}/query", server.conversation().await);
    for (name, value) in [
        ("on_disconnect", "continue"),
        ("on_disconnect", "explode"),
        ("when_busy", "queue"),
        ("when_busy", "steer"),
        ("when_busy", "interrupt"),
        ("when_busy", ""),
    ] {
        let reply = server.post(&path, json!({ "question": "x", name: value })).await;
        reply.is_problem(422, "INVALID_INPUT");
        assert_eq!(reply.broken(), [name]);
    }
}

#[tokio::test]
async fn overrides_out_of_range_are_422() {
    let server = Server::new([]).await;
    let path = format!("{}/query", server.conversation().await);
    let body = json!({ "question": "x", "temperature": 2.5, "top_p": -1, "custom_prompt": "c".repeat(4097) });
    let reply = server.post(&path, body).await;
    reply.is_problem(422, "INVALID_INPUT");
    assert_eq!(reply.broken(), ["temperature", "top_p", "custom_prompt"]);
}

#[tokio::test]
async fn a_second_question_while_one_runs_is_409_and_names_the_running_turn() {
    let gate = Gate::new();
    let server = Server::new([Script::new().text("One").pause(&gate).text(" two.").stop()]).await;
    let conversation = server.conversation().await;
    let running = server.begin(&conversation, "Count.").await;
    let turn_id = running.headers()["x-turn-id"].to_str().unwrap().to_owned();
    let refused = server.post(&format!("{conversation}/query"), json!({ "question": "And?" })).await;
    refused.is_problem(409, "TURN_IN_PROGRESS");
    assert_eq!(refused.json()["turn_id"], turn_id);

    let turn = server.get(&format!("{conversation}/turns/{turn_id}")).await.json();
    assert_eq!((&turn["state"], &turn["outcome"]), (&json!("running"), &Value::Null));
    gate.open();
    running.into_body().collect().await.unwrap();
    let turn = server.get(&format!("{conversation}/turns/{turn_id}")).await.json();
    assert_eq!((&turn["state"], &turn["outcome"]), (&json!("over"), &json!("answered")));
    assert_eq!(turn["question_id"], 1);
}

#[tokio::test]
async fn turns_of_other_conversations_are_not_found_here() {
    let server = Server::new([Script::answer("Yes.")]).await;
    let (here, there) = (server.conversation().await, server.conversation().await);
    let done = server.ask(&here, "x").await.pop().unwrap();
    let turn_id = done["turn_id"].as_str().unwrap();
    assert_eq!(server.get(&format!("{here}/turns/{turn_id}")).await.status, 200);
    server.get(&format!("{there}/turns/{turn_id}")).await.is_problem(404, "TURN_NOT_FOUND");
    server.get(&format!("{here}/turns/xyz")).await.is_problem(404, "TURN_NOT_FOUND");
}

#[tokio::test]
async fn a_question_on_anything_but_the_last_message_is_409() {
    let server = Server::new([Script::answer("Yes."), Script::answer("No.")]).await;
    let conversation = server.conversation().await;
    server.ask(&conversation, "x").await;
    let path = format!("{conversation}/query");
    let stale = server.post(&path, json!({ "question": "y", "parent_id": 1 })).await;
    stale.is_problem(409, "STALE_PARENT");
    assert_eq!(stale.json()["tip_id"], 2);
    assert_eq!(server.post(&path, json!({ "question": "y", "parent_id": 2 })).await.status, 200);
}

#[tokio::test]
async fn a_conversation_without_model_is_409_until_it_gets_one() {
    let server = Server::new([Script::answer("Yes.")]).await;
    let conversation = server.conversation().await;
    server.delete("/erudi/llms/1").await;
    let path = format!("{conversation}/query");
    server.post(&path, json!({ "question": "x" })).await.is_problem(409, "CONVERSATION_UNBOUND");
}

#[tokio::test]
async fn a_full_queue_is_503_and_leaves_no_trace() {
    let server = Server::new([]).await;
    let conversation = server.conversation().await;
    server.models.set_overloaded(Some(64));
    let reply = server.post(&format!("{conversation}/query"), json!({ "question": "x" })).await;
    reply.is_problem(503, "OVERLOADED");
    assert_eq!(server.get(&format!("{conversation}/fetch_messages")).await.json(), json!([]));
}

#[tokio::test]
async fn a_server_that_shuts_down_takes_no_more_questions() {
    let server = Server::new([]).await;
    let conversation = server.conversation().await;
    server.colloquy.shut_down().await;
    let reply = server.post(&format!("{conversation}/query"), json!({ "question": "x" })).await;
    reply.is_problem(503, "SHUTTING_DOWN");
}

#[tokio::test]
async fn a_stop_keeps_what_was_read_and_can_be_repeated() {
    let gate = Gate::new();
    let server = Server::new([Script::new().text("Half an").pause(&gate).text(" answer.").stop()]).await;
    let conversation = server.conversation().await;
    let response = server.begin(&conversation, "x").await;
    let turn_id = response.headers()["x-turn-id"].to_str().unwrap().to_owned();
    let mut body = response.into_body();
    while !next_line(&mut body).await.contains("Half") {}

    let stop = format!("{conversation}/stop");
    assert_eq!(server.poke(&stop).await.json(), json!({ "stopped": true, "turn_id": turn_id }));
    assert_eq!(server.poke(&stop).await.json(), json!({ "stopped": false, "turn_id": null }));
    assert_eq!(server.post(&stop, json!({})).await.status, 200);

    let rest = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    let done: Value = serde_json::from_str(rest.trim_end().lines().last().unwrap()).unwrap();
    assert_eq!((&done["t"], &done["outcome"]), (&json!("done"), &json!("stopped")));
    let messages = server.get(&format!("{conversation}/fetch_messages")).await.json();
    assert_eq!(messages[1]["content"], "Half an");
    assert_eq!(messages[1]["outcome"], "stopped");
}

#[tokio::test]
async fn a_reader_that_goes_away_stops_the_turn() {
    let gate = Gate::new();
    let server = Server::new([Script::new().text("Half an").pause(&gate).text(" answer.").stop()]).await;
    let conversation = server.conversation().await;
    let response = server.begin(&conversation, "x").await;
    let mut body = response.into_body();
    while !next_line(&mut body).await.contains("Half") {}
    drop(body);
    server.models.wait_until(|calls| calls[0].end == CallEnd::Dropped).await;
    // Waits for the closing commit of a turn that is being stopped already.
    server.poke(&format!("{conversation}/stop")).await;
    let messages = server.get(&format!("{conversation}/fetch_messages")).await.json();
    assert_eq!((&messages[1]["content"], &messages[1]["outcome"]), (&json!("Half an"), &json!("stopped")));
}

#[tokio::test]
async fn a_reader_that_saw_the_end_stops_nothing() {
    let server = Server::new([Script::answer("Yes.")]).await;
    let conversation = server.conversation().await;
    server.ask(&conversation, "x").await;
    let messages = server.get(&format!("{conversation}/fetch_messages")).await.json();
    assert_eq!((&messages[1]["content"], &messages[1]["outcome"]), (&json!("Yes."), &json!("answered")));
}
