//! The whole dialect over a real connection to the scripted server.

use std::time::Duration;

use colloquy::ports::{Model, ModelCall, ModelChunk, ModelError};
use colloquy_core::{
    message::{FinishReason, Usage},
    retry::Passing,
    seat::ModelSpec,
    turn::Failure,
};
use colloquy_testkit::{
    gate::Gate,
    prefix::assert_prefix_stable,
    scripted_server::{Frame, Reply, ScriptedServer, WireUsage},
};
use futures::{FutureExt, StreamExt};
use serde_json::json;

use super::{Endpoint, Flavor, OpenAi};
use crate::golden::{self, assistant, user};

const KEY: &str = "sk-very-secret";

fn model(base_url: String) -> OpenAi {
    let endpoint =
        Endpoint { api_key: Some(KEY.into()), flavor: Flavor::Llama, ..Endpoint::new(base_url, "tiny") };
    OpenAi::new(endpoint, ModelSpec::default()).unwrap()
}

fn call(texts: &[&str], max_tokens: Option<u32>) -> ModelCall {
    let turns = texts.iter().enumerate().map(|(index, text)| {
        let blocks = [golden::text(text)];
        if index % 2 == 0 { user(blocks) } else { assistant(blocks) }
    });
    let mut call = golden::call(turns);
    call.options.max_tokens = max_tokens;
    call
}

async fn ask(model: &OpenAi) -> Vec<Result<ModelChunk, ModelError>> {
    model.call(call(&["Hello"], None)).await.unwrap().collect().await
}

async fn failure(model: &OpenAi) -> Failure {
    model.call(call(&["Hello"], None)).await.map(|_| ()).unwrap_err().0
}

fn text_of(items: &[Result<ModelChunk, ModelError>]) -> String {
    let text = |item: &Result<ModelChunk, ModelError>| match item {
        Ok(ModelChunk::Text(text)) => Some(text.clone()),
        _ => None,
    };
    items.iter().filter_map(text).collect()
}

#[tokio::test]
async fn an_answer_is_streamed_with_progress_reasoning_and_usage() {
    let usage =
        WireUsage { prompt_tokens: 27, cached_tokens: 26, completion_tokens: 8, ..WireUsage::default() };
    let server = ScriptedServer::start([Reply::stream([
        Frame::Reading { done: 26, total: 27 },
        Frame::Role,
        Frame::Reasoning("hm".into()),
        Frame::Text("Paris".into()),
        Frame::Finish("stop", usage),
    ])])
    .await
    .unwrap();
    let items = ask(&model(server.base_url())).await;
    let usage = Usage {
        prompt_tokens: Some(27),
        reused_tokens: Some(26),
        output_tokens: Some(8),
        ..Usage::default()
    };
    let expected = [
        ModelChunk::Reading { done: 26, total: 27 },
        ModelChunk::Reasoning("hm".into()),
        ModelChunk::Text("Paris".into()),
        ModelChunk::End { finish_reason: FinishReason::Stop, usage },
    ];
    assert_eq!(items, expected.map(Ok));
    let request = &server.requests()[0];
    assert_eq!(request.path, "/v1/chat/completions");
    assert_eq!(request.header("authorization"), Some("Bearer sk-very-secret"));
}

#[tokio::test]
async fn characters_split_over_pieces_come_whole() {
    let text = "naïve 日本語 😀";
    for n_bytes in [1, 2, 3, 5] {
        let server = ScriptedServer::start([Reply::answer(text).in_pieces_of(n_bytes)]).await.unwrap();
        assert_eq!(text_of(&ask(&model(server.base_url())).await), text);
    }
}

#[tokio::test]
async fn i3_the_requests_of_a_conversation_are_prefixes_of_each_other() {
    let server = ScriptedServer::always(Reply::answer("Paris."), 0).await.unwrap();
    let model = model(server.base_url());
    for (texts, max_tokens) in [(&["a"][..], None), (&["a", "b \"]"], Some(9)), (&["a", "b \"]", "c"], None)]
    {
        let stream = model.call(call(texts, max_tokens)).await.unwrap();
        stream.collect::<Vec<_>>().await;
    }
    assert_eq!(server.bodies().len(), 3);
    assert_prefix_stable(&server.bodies());
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let server =
        ScriptedServer::start([Reply::stream([Frame::Text("half".into()), Frame::Hang])]).await.unwrap();
    let mut stream = model(server.base_url()).call(call(&["Hello"], None)).await.unwrap();
    assert_eq!(stream.next().await, Some(Ok(ModelChunk::Text("half".into()))));
    assert!(stream.next().now_or_never().is_none());
    drop(stream);
    server.closed_early(1).await;
}

#[tokio::test]
async fn dropping_the_call_while_the_prompt_is_read_closes_the_connection() {
    let gate = Gate::new();
    let reading = Reply::stream([Frame::Role, Frame::Pause(gate.clone())]);
    let server = ScriptedServer::start([reading, Reply::Never]).await.unwrap();
    let model = model(server.base_url());
    tokio::select! {
        _ = model.call(call(&["Hello"], None)) => panic!("nothing was said yet"),
        () = gate.reached() => {}
    }
    server.closed_early(1).await;
    tokio::select! {
        _ = model.call(call(&["Hello"], None)) => panic!("nothing was said yet"),
        () = server.requested(2) => {}
    }
    server.closed_early(2).await;
}

#[tokio::test]
async fn a_connection_that_breaks_is_transient_and_what_came_is_kept() {
    let half = Reply::stream([Frame::Text("half".into()), Frame::Cut]);
    let nothing = Reply::stream([Frame::Role, Frame::Cut]);
    let server = ScriptedServer::start([half, nothing]).await.unwrap();
    let model = model(server.base_url());
    let items = ask(&model).await;
    assert_eq!(text_of(&items), "half");
    let Some(Err(ModelError(Failure::Transient { detail }))) = items.last() else { panic!("{items:?}") };
    assert!(detail.starts_with("connection closed before the answer ended"), "{detail}");
    // Before the first chunk it is the call's own failure.
    assert!(matches!(failure(&model).await, Failure::Transient { .. }));
}

#[tokio::test]
async fn refusals_are_classified_and_carry_the_servers_words() {
    let overflow = include_str!("../../tests/fixtures/err_over_window.json");
    let server = ScriptedServer::start([
        Reply::document(400, "application/json", overflow),
        Reply::json(401, &json!({"error": {"message": format!("bad key {KEY}")}})),
        Reply::json(503, &json!({"error": {"message": "Loading model", "code": 503}})),
        Reply::json(200, &json!({"error": {"message": "busy", "code": 429}})),
        Reply::json(200, &json!({"choices": [], "object": "chat.completion"})),
        Reply::document(200, "text/html; charset=utf-8", "<html>"),
        Reply::redirect("https://elsewhere.example/v1"),
    ])
    .await
    .unwrap();
    let model = model(server.base_url());
    let transient = |detail: &str| Failure::Transient { detail: detail.into() };
    let refused = |detail: &str| Failure::Refused { detail: detail.into() };
    let busy = |detail: &str| Failure::Busy { passing: Passing::RateLimit, detail: detail.into() };
    let expected = [
        Failure::Overflow { prompt_tokens: Some(3031), window_tokens: Some(2048) },
        refused("the model's server answered 401: bad key [key]"),
        transient("the model's server answered 503: Loading model"),
        busy("the model's server answered 429: busy"),
        refused("the model's server does not stream: it answered with one JSON document"),
        refused("this is a web page and not a model's server; check the base URL"),
        refused("the server moved to https://elsewhere.example/v1; give that address as the base URL"),
    ];
    for expected in expected {
        assert_eq!(failure(&model).await, expected);
    }
    assert_eq!(server.requests().len(), 7);
}

// behaviours: 169
#[tokio::test]
async fn a_limit_before_the_first_chunk_fails_the_call_and_an_overload_behind_it_ends_the_stream() {
    let limited = json!({"error": {"message": "slow down", "code": "rate_limit_exceeded"}});
    let overloaded = json!({"error": {"message": "overloaded", "code": 503}});
    let overloaded = Frame::Raw(format!("data: {overloaded}\n\n").into_bytes());
    let server = ScriptedServer::start([
        Reply::json(429, &limited),
        Reply::stream([overloaded.clone()]),
        Reply::stream([Frame::Text("half".into()), overloaded]),
    ])
    .await
    .unwrap();
    let model = model(server.base_url());
    let transient = |detail: &str| Failure::Transient { detail: detail.into() };
    let detail = "the model's server answered 429: slow down".into();
    assert_eq!(failure(&model).await, Failure::Busy { passing: Passing::RateLimit, detail });
    // Nothing was told yet, so this one may be tried again as well.
    assert_eq!(failure(&model).await, transient("the model's server answered 503: overloaded"));
    let items = ask(&model).await;
    let error = Err(ModelError(transient("the model's server answered 503: overloaded")));
    assert_eq!(items, [Ok(ModelChunk::Text("half".into())), error]);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_transient() {
    let server = ScriptedServer::start([]).await.unwrap();
    let base_url = server.base_url();
    drop(server);
    // The listener closes when its task has been dropped.
    while tokio::net::TcpStream::connect(base_url[7..base_url.len() - 3].to_owned()).await.is_ok() {
        tokio::task::yield_now().await;
    }
    let Failure::Transient { detail } = failure(&model(base_url)).await else { panic!() };
    assert!(detail.starts_with("the model's server cannot be reached"), "{detail}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_silent_after_the_first_limit() {
    let server = ScriptedServer::start([Reply::Never]).await.unwrap();
    assert_eq!(failure(&model(server.base_url())).await, Failure::Silent { waited_s: 120 });
}

#[tokio::test]
async fn a_server_that_wants_the_other_name_of_the_limit_is_asked_again_once_and_remembered() {
    let message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.";
    let refusal = Reply::json(400, &json!({"error": {"message": message}}));
    let server = ScriptedServer::start([refusal, Reply::answer("a"), Reply::answer("b")]).await.unwrap();
    let model = model(server.base_url());
    for text in ["a", "b"] {
        let items: Vec<_> = model.call(call(&["Hello"], Some(7))).await.unwrap().collect().await;
        assert_eq!(text_of(&items), text);
    }
    let names = server.bodies().into_iter().map(|body| {
        let body = String::from_utf8(body).unwrap();
        (body.contains(r#""max_tokens":7"#), body.contains(r#""max_completion_tokens":7"#))
    });
    assert_eq!(names.collect::<Vec<_>>(), [(true, false), (false, true), (false, true)]);
}

#[tokio::test]
async fn a_refusal_of_both_names_is_told_and_not_remembered() {
    let refusal = Reply::json(400, &json!({"error": {"message": "max_tokens is too large"}}));
    let server = ScriptedServer::start(vec![refusal; 5]).await.unwrap();
    let model = model(server.base_url());
    let refused = model.call(call(&["Hello"], Some(7))).await.map(|_| ()).unwrap_err();
    assert!(matches!(refused.0, Failure::Refused { detail } if detail.ends_with("max_tokens is too large")));
    assert_eq!(server.requests().len(), 2);
    // Without a limit there is no name to change.
    failure(&model).await;
    assert_eq!(server.requests().len(), 3);
    // The next one begins with the usual name again.
    assert!(model.call(call(&["Hello"], Some(7))).await.is_err());
    assert!(String::from_utf8(server.bodies().swap_remove(3)).unwrap().contains(r#""max_tokens":7"#));
}

#[tokio::test]
async fn a_key_that_cannot_be_sent_is_refused_without_being_repeated() {
    let endpoint =
        Endpoint { api_key: Some("two\nlines".into()), ..Endpoint::new("http://localhost/v1", "m") };
    assert!(!format!("{endpoint:?}").contains("lines"));
    let Failure::Refused { detail } = failure(&OpenAi::new(endpoint, ModelSpec::default()).unwrap()).await
    else {
        panic!()
    };
    assert!(detail.contains("API key") && !detail.contains("two"), "{detail}");
}

#[tokio::test]
async fn whole_answers_share_one_connection() {
    let server = ScriptedServer::always(Reply::answer("a b c"), 0).await.unwrap();
    let model = model(server.base_url());
    for _ in 0..3 {
        let stream = model.call(call(&["Hello"], None)).await.unwrap();
        let items = tokio::time::timeout(Duration::from_secs(5), stream.collect::<Vec<_>>()).await.unwrap();
        assert_eq!(text_of(&items), "a b c");
    }
    assert_eq!(server.n_connections(), 1);
}
