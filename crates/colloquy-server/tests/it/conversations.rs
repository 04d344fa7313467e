//! `/erudi/conversations`: create, list, get, patch, delete, export.

use colloquy_testkit::scripted::Script;
use insta::assert_json_snapshot;
use serde_json::{Value, json};

use crate::server::{Server, redacted};

const ROOT: &str = "/erudi/conversations";

#[tokio::test]
async fn a_conversation_is_created_with_resolved_settings() {
    let server = Server::new([]).await;
    let reply = server.post(ROOT, json!({})).await;
    assert_eq!(reply.status, 201);
    assert_json_snapshot!(reply.json());
}

#[tokio::test]
async fn settings_that_are_given_are_kept() {
    let server = Server::new([]).await;
    let given = json!({
        "llm_id": 1, "temperature": 2.0, "top_p": 0, "max_tokens": 32768, "custom_prompt": "Be brief.",
        "web_search_enabled": true, "reasoning_effort": "xhigh", "compaction_threshold": 50,
    });
    let reply = server.post("/erudi/conversations/", given.clone()).await;
    assert_eq!(reply.status, 201);
    let created = reply.json();
    for (name, value) in given.as_object().unwrap() {
        assert_eq!(created[name].as_f64(), value.as_f64(), "{name}");
        assert_eq!(created[name].as_str(), value.as_str(), "{name}");
    }
}

#[tokio::test]
async fn every_broken_rule_of_a_body_is_reported_at_once() {
    let server = Server::new([]).await;
    let types =
        server.post(ROOT, json!({ "temperature": "hot", "top_p": [], "reasoning_effort": "huge" })).await;
    types.is_problem(422, "INVALID_INPUT");
    assert_eq!(types.broken(), ["temperature", "top_p", "reasoning_effort"]);
    let ranges = json!({ "temperature": 2.1, "top_p": 1.1, "max_tokens": 0, "compaction_threshold": 52 });
    let ranges = server.post(ROOT, ranges).await;
    ranges.is_problem(422, "INVALID_INPUT");
    assert_eq!(ranges.broken(), ["temperature", "top_p", "max_tokens", "compaction_threshold"]);
    assert_eq!(server.get(ROOT).await.json(), json!([]), "nothing was created");
}

#[tokio::test]
async fn ranges_hold_at_their_edges() {
    let server = Server::new([]).await;
    for good in [
        json!({ "max_tokens": 1 }),
        json!({ "compaction_threshold": 90 }),
        json!({ "custom_prompt": "é".repeat(4096) }),
        json!({ "temperature": null, "unknown": { "ignored": [1] } }),
    ] {
        assert_eq!(server.post(ROOT, good.clone()).await.status, 201, "{good}");
    }
    for bad in [
        json!({ "max_tokens": 32769 }),
        json!({ "max_tokens": 4294967297_u64 }),
        json!({ "max_tokens": -1 }),
        json!({ "max_tokens": 1.5 }),
        json!({ "compaction_threshold": 95 }),
        json!({ "compaction_threshold": 45 }),
        json!({ "custom_prompt": "é".repeat(4097) }),
        json!({ "temperature": -0.1 }),
        json!({ "llm_id": 1e30 }),
    ] {
        server.post(ROOT, bad).await.is_problem(422, "INVALID_INPUT");
    }
}

#[tokio::test]
async fn an_unknown_model_is_404() {
    let server = Server::new([]).await;
    server.post(ROOT, json!({ "llm_id": 99 })).await.is_problem(404, "MODEL_NOT_FOUND");
    let path = server.conversation().await;
    server.patch(&path, json!({ "llm_id": 99 })).await.is_problem(404, "MODEL_NOT_FOUND");
}

#[tokio::test]
async fn lists_are_newest_first_and_paged() {
    let server = Server::new([]).await;
    for _ in 0..3 {
        server.conversation().await;
    }
    let ids = |list: Value| -> Vec<i64> {
        list.as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect()
    };
    assert_eq!(ids(server.get(ROOT).await.json()), [3, 2, 1]);
    assert_eq!(ids(server.get("/erudi/conversations/?limit=1&before=3").await.json()), [2]);
    assert_eq!(ids(server.get("/erudi/conversations?limit=1000").await.json()), [3, 2, 1]);
    for query in ["limit=0", "limit=1001", "limit=x", "before=x", "limit=%ff"] {
        server.get(&format!("{ROOT}?{query}")).await.is_problem(422, "INVALID_INPUT");
    }
}

#[tokio::test]
async fn a_conversation_is_shown_with_its_messages() {
    let server = Server::new([Script::new().reasoning("Capital?").text("Paris.").stop()]).await;
    let path = server.conversation().await;
    server.ask(&path, "The capital of France?").await;
    let reply = server.get(&path).await;
    assert_eq!(reply.status, 200);
    assert_json_snapshot!(redacted(reply.json()));
}

#[tokio::test]
async fn a_patch_changes_what_it_names_and_nothing_else() {
    let server = Server::new([]).await;
    let path = server.conversation().await;
    let before = server.get(&path).await.json();
    let reply = server.patch(&path, json!({ "name": "  Paris ", "top_p": 0.5, "temperature": null })).await;
    assert_eq!(reply.status, 200);
    let mut expected = before.clone();
    expected["name"] = "Paris".into();
    expected["top_p"] = 0.5.into();
    assert_eq!(server.get(&path).await.json(), expected);
    let again = server.patch(&path, json!({ "name": "Paris" })).await;
    assert_eq!(again.status, 200, "a rename is idempotent");
}

#[tokio::test]
async fn a_bad_patch_changes_nothing() {
    let server = Server::new([]).await;
    let path = server.conversation().await;
    let before = server.get(&path).await.json();
    for bad in [
        json!({ "name": "x", "top_p": 1.5 }),
        json!({ "name": "  " }),
        json!({ "name": "n".repeat(201) }),
        json!({ "compaction_threshold": 51 }),
    ] {
        server.patch(&path, bad).await.is_problem(422, "INVALID_INPUT");
    }
    assert_eq!(server.get(&path).await.json(), before);
    assert_eq!(server.patch(&path, json!({ "name": "n".repeat(200) })).await.status, 200);
}

#[tokio::test]
async fn a_deleted_conversation_is_gone_everywhere() {
    let server = Server::new([Script::answer("Hello.")]).await;
    let path = server.conversation().await;
    server.ask(&path, "Hi").await;
    let reply = server.delete(&path).await;
    assert_eq!(
        (reply.status.as_u16(), reply.json()),
        (200, json!({ "message": "Conversation deleted successfully" }))
    );
    server.get(&path).await.is_problem(404, "CONVERSATION_NOT_FOUND");
    server.delete(&path).await.is_problem(404, "CONVERSATION_NOT_FOUND");
    assert_eq!(server.get(ROOT).await.json(), json!([]));
}

#[tokio::test]
async fn unknown_conversations_are_404_on_every_route() {
    let server = Server::new([]).await;
    for id in ["7", "0", "-1", "9223372036854775807", "99999999999999999999"] {
        let path = format!("{ROOT}/{id}");
        let turn = "0123456789abcdef0123456789abcdef";
        for get in [path.clone(), format!("{path}/fetch_messages"), format!("{path}/export")] {
            server.get(&get).await.is_problem(404, "CONVERSATION_NOT_FOUND");
        }
        for poke in [format!("{path}/stop"), format!("{path}/store_error_message")] {
            server.poke(&poke).await.is_problem(404, "CONVERSATION_NOT_FOUND");
        }
        server.delete(&path).await.is_problem(404, "CONVERSATION_NOT_FOUND");
        server.patch(&path, json!({ "name": "x" })).await.is_problem(404, "CONVERSATION_NOT_FOUND");
        let query = json!({ "question": "x" });
        server.post(&format!("{path}/query"), query).await.is_problem(404, "CONVERSATION_NOT_FOUND");
        assert_eq!(server.get(&format!("{path}/turns/{turn}")).await.status, 404);
    }
}

#[tokio::test]
async fn an_id_that_is_no_number_is_a_mistake() {
    let server = Server::new([]).await;
    for id in ["abc", "1.0", "+1", "--1", "%20", "%ff"] {
        server.get(&format!("{ROOT}/{id}")).await.is_problem(422, "INVALID_INPUT");
    }
}

#[tokio::test]
async fn the_json_export_loses_nothing() {
    let server =
        Server::new([Script::new().reasoning("Hm.").text("Paris.").stop(), Script::answer("Rome.")]).await;
    let path = server.conversation().await;
    server.ask(&path, "France?").await;
    server.ask(&path, "Italy?").await;
    server.post("/erudi/conversations/star_message", json!({ "message_id": 2 })).await;
    let reply = server.get(&format!("{path}/export?format=json")).await;
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.header("content-disposition"), Some("attachment; filename=\"conversation-1.json\""));
    let document = reply.json();
    let messages = document["messages"].as_array().unwrap();
    for pair in messages.windows(2) {
        assert_eq!(pair[1]["parent"], pair[0]["uid"]);
    }
    assert_eq!(document["tip"], messages[3]["uid"]);
    assert_json_snapshot!(redacted(document));
}

#[tokio::test]
async fn the_markdown_export_can_be_read() {
    let server = Server::new([Script::new().reasoning("Hm.").text("Paris.").stop()]).await;
    let path = server.conversation().await;
    server.ask(&path, "France?").await;
    let reply = server.get(&format!("{path}/export?format=markdown")).await;
    assert_eq!(reply.header("content-type"), Some("text/markdown; charset=utf-8"));
    insta::assert_snapshot!(reply.text());
    server.get(&format!("{path}/export?format=pdf")).await.is_problem(422, "INVALID_INPUT");
}
