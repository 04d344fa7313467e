//! Spoken to over a plain socket, so that nothing of an HTTP client stands between.

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{Frame, Reply, ScriptedServer, WireUsage};
use crate::gate::Gate;

const USAGE: WireUsage =
    WireUsage { prompt_tokens: 27, cached_tokens: 26, written_tokens: 0, completion_tokens: 1 };
const CHAT: &str = "/v1/chat/completions";
const STREAMED: &str = r#"{"stream":true}"#;

async fn post(server: &ScriptedServer, path: &str, body: &str) -> TcpStream {
    let mut socket = TcpStream::connect(server.address()).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer k\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    socket
}

async fn exchange(server: &ScriptedServer, path: &str, body: &str) -> (String, String) {
    let mut answer = String::new();
    post(server, path, body).await.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// The payload of a chunked body.
fn unchunked(body: &str) -> String {
    let mut rest = body;
    let mut payload = String::new();
    loop {
        let (size, after) = rest.split_once("\r\n").unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return payload;
        }
        payload.push_str(&after[..size]);
        rest = after[size..].strip_prefix("\r\n").unwrap();
    }
}

fn events(payload: &str) -> Vec<Value> {
    let mut events: Vec<&str> = payload.split_terminator("\n\n").collect();
    assert_eq!(events.pop(), Some("data: [DONE]"));
    events.iter().map(|event| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap()).collect()
}

#[tokio::test]
async fn a_stream_has_the_events_of_llama_server() {
    let frames = [Frame::Role, Frame::Text("Hé".into()), Frame::Finish("stop", USAGE)];
    let server = ScriptedServer::start([Reply::stream(frames)]).await.unwrap();
    let (head, body) = exchange(&server, CHAT, STREAMED).await;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains("content-type: text/event-stream"), "{head}");

    let events = events(&unchunked(&body));
    let choices: Vec<&Value> = events.iter().map(|event| &event["choices"]).collect();
    let opening = json!({"role": "assistant", "content": null});
    assert_eq!(*choices[0], json!([{"finish_reason": null, "index": 0, "delta": opening}]));
    assert_eq!(*choices[1], json!([{"finish_reason": null, "index": 0, "delta": {"content": "Hé"}}]));
    assert_eq!(*choices[2], json!([{"finish_reason": "stop", "index": 0, "delta": {}}]));
    assert_eq!(*choices[3], json!([]));
    assert_eq!(events[3]["usage"]["prompt_tokens_details"]["cached_tokens"], 26);
    assert!(events.iter().all(|event| event["object"] == "chat.completion.chunk"));
}

#[tokio::test]
async fn requests_are_kept_byte_for_byte() {
    let server = ScriptedServer::start([Reply::answer("ok")]).await.unwrap();
    let body = r#"{ "messages" : [] , "é":1, "stream" : true}"#;
    exchange(&server, CHAT, body).await;
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].path, "/v1/chat/completions");
    assert_eq!(requests[0].header("authorization"), Some("Bearer k"));
    assert_eq!(requests[0].body, body.as_bytes());
    assert_eq!(server.n_connections(), 1);
}

#[tokio::test]
async fn one_byte_at_a_time_is_the_same_stream() {
    let reply = Reply::answer("naïve 日本語");
    let server = ScriptedServer::start([reply.clone(), reply.in_pieces_of(1)]).await.unwrap();
    let whole = exchange(&server, CHAT, STREAMED).await.1;
    let dribbled = post(&server, CHAT, STREAMED).await;
    let mut bytes = Vec::new();
    { dribbled }.read_to_end(&mut bytes).await.unwrap();
    let start = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    // Each chunk is `1\r\n?\r\n`; the last one is `0\r\n\r\n`.
    let body = &bytes[start..bytes.len() - 5];
    assert!(body.chunks(6).all(|chunk| chunk.starts_with(b"1\r\n")));
    let payload: Vec<u8> = body.chunks(6).map(|chunk| chunk[3]).collect();
    assert_eq!(String::from_utf8(payload).unwrap(), unchunked(&whole));
}

#[tokio::test]
async fn a_cut_stream_ends_without_its_last_chunk() {
    let frames = [Frame::Role, Frame::Text("half".into()), Frame::Cut];
    let server = ScriptedServer::start([Reply::stream(frames)]).await.unwrap();
    let (_, body) = exchange(&server, CHAT, STREAMED).await;
    assert!(body.contains("half") && !body.ends_with("0\r\n\r\n"), "{body}");
    assert_eq!(server.n_closed_early(), 0);
}

#[tokio::test]
async fn a_client_that_leaves_is_noticed_in_a_stream_and_before_any_answer() {
    let gate = Gate::new();
    let stream = Reply::stream([Frame::Text("half".into()), Frame::Pause(gate.clone()), Frame::Hang]);
    let server = ScriptedServer::start([stream, Reply::Never]).await.unwrap();
    let streaming = post(&server, CHAT, STREAMED).await;
    gate.reached().await;
    drop(streaming);
    server.closed_early(1).await;

    let waiting = post(&server, CHAT, STREAMED).await;
    server.requested(2).await;
    drop(waiting);
    server.closed_early(2).await;
}

#[tokio::test]
async fn a_document_has_its_status_and_body_and_a_missing_reply_says_so() {
    let refusal = json!({"error": {"message": "no"}});
    let server = ScriptedServer::start([Reply::json(429, &refusal)]).await.unwrap();
    let (head, body) = exchange(&server, CHAT, STREAMED).await;
    assert!(head.starts_with("HTTP/1.1 429 "), "{head}");
    assert_eq!(body, refusal.to_string());
    let (head, body) = exchange(&server, CHAT, STREAMED).await;
    assert!(head.starts_with("HTTP/1.1 500 "), "{head}");
    assert_eq!(body, "the test's script has no further reply");
}

#[tokio::test]
async fn a_standing_reply_is_given_again_and_again() {
    let server = ScriptedServer::always(Reply::words(3), 0).await.unwrap();
    for _ in 0..2 {
        let (_, body) = exchange(&server, CHAT, STREAMED).await;
        assert!(body.contains("word1") && body.contains(" word3") && !body.contains("word4"));
    }
}

#[tokio::test]
async fn a_request_that_asks_for_no_stream_gets_one_document() {
    let gate = Gate::new();
    let frames = [
        Frame::Text("Paris".into()),
        Frame::Pause(gate.clone()),
        Frame::Text(".".into()),
        Frame::Finish("stop", USAGE),
    ];
    let server = ScriptedServer::start([Reply::stream(frames)]).await.unwrap();
    let waiting = post(&server, CHAT, "{}").await;
    gate.reached().await;
    gate.open();
    let mut answer = String::new();
    { waiting }.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("content-type: application/json"), "{head}");
    let body: Value = serde_json::from_str(&unchunked(body)).unwrap();
    assert_eq!(body["choices"][0]["message"], json!({"role": "assistant", "content": "Paris."}));
}

#[tokio::test]
async fn a_refusal_has_the_shape_of_its_wire() {
    let server = ScriptedServer::always(Reply::error(429, "slow down"), 0).await.unwrap();
    let openai = json!({"error": {
        "message": "slow down", "type": "rate_limit_error", "param": null, "code": "rate_limit_exceeded",
    }});
    let anthropic = json!({
        "type": "error",
        "error": {"type": "rate_limit_error", "message": "slow down"},
        "request_id": "req_scripted",
    });
    for (path, expected) in [
        (CHAT, openai.clone()),
        ("/v1/responses", openai),
        ("/v1/messages", anthropic),
        ("/model/m/converse", json!({"message": "slow down"})),
    ] {
        let (head, body) = exchange(&server, path, STREAMED).await;
        assert!(head.starts_with("HTTP/1.1 429 "), "{head}");
        assert_eq!(head.contains("x-amzn-errortype: ThrottlingException"), path.contains("/model/"));
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), expected, "{path}");
    }
}

#[tokio::test]
async fn an_error_in_the_script_of_a_document_is_the_answer() {
    let frames = [Frame::Text("half".into()), Frame::error(500, "broke down")];
    let server = ScriptedServer::start([Reply::stream(frames)]).await.unwrap();
    let (head, body) = exchange(&server, CHAT, "{}").await;
    assert!(head.starts_with("HTTP/1.1 500 "), "{head}");
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["error"]["message"], "broke down");
}

#[tokio::test]
async fn a_path_of_no_wire_gets_documents_only_and_takes_no_other_reply() {
    let server =
        ScriptedServer::start([Reply::document(401, "text/plain", "no"), Reply::answer("ok")]).await.unwrap();
    assert!(exchange(&server, "/v1/completions", STREAMED).await.0.starts_with("HTTP/1.1 401 "));
    assert!(exchange(&server, "/v1/completions", STREAMED).await.0.starts_with("HTTP/1.1 404 "));
    assert!(exchange(&server, CHAT, STREAMED).await.1.contains("ok"));
    assert!(exchange(&server, "/v1/completions", STREAMED).await.0.starts_with("HTTP/1.1 404 "));
    assert_eq!(server.requests().len(), 4);
}
