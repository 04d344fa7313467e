//! A `llama-server` that loads nothing. The test binary runs itself again as this program, so no
//! second binary has to be built or found.
//!
//! The name of the model file decides how it starts (`broken` ends at once, `slow` loads until it
//! is told, `tools` has a template with tools, `lingering` leaves somebody with its pipes, so that its end takes a while to be known),
//! the last word of the question how it answers (`die` ends in the middle). It holds a connection
//! to the test, whose end tells the test that the process is gone.

use std::{
    env,
    path::Path,
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    http::{HeaderMap, StatusCode},
    routing::{get, post},
};
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

pub(crate) const ARGUMENTS: &str = "FAKE_LLAMA_ARGUMENTS";
pub(crate) const LIFELINE: &str = "FAKE_LLAMA_LIFELINE";
pub(crate) const WINDOW_TOKENS: u32 = 4_096;

/// Not a test of its own: the fake engine, when the environment says so.
#[test]
fn fake_llama_server() {
    let (Ok(arguments), Ok(lifeline)) = (env::var(ARGUMENTS), env::var(LIFELINE)) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(serve(arguments, &lifeline));
}

async fn serve(arguments: String, lifeline: &str) {
    let argument = |name: &str| {
        let mut words = arguments.split(' ').skip_while(|word| *word != name);
        words.nth(1).unwrap_or_default().to_owned()
    };
    let model = argument("-m");
    let model = Path::new(&model).file_stem().unwrap().to_str().unwrap();
    eprintln!("loading {model}");
    if model == "broken" {
        eprintln!("error: the tensors do not add up");
        process::exit(1);
    }
    let ready = Arc::new(AtomicBool::new(model != "slow"));
    let mut line = TcpStream::connect(lifeline).await.unwrap();
    line.write_all(format!("{arguments}\n").as_bytes()).await.unwrap();
    let supports_tools = model == "tools";
    let key = format!("Bearer {}", env::var("LLAMA_API_KEY").unwrap());
    let listener = TcpListener::bind(format!("127.0.0.1:{}", argument("--port"))).await.unwrap();
    tokio::select! {
        served = axum::serve(listener, routes(key, supports_tools, Arc::clone(&ready))).into_future() => served.unwrap(),
        () = obey(line, ready) => (),
    }
}

/// A line from the test ends the loading; the end of the connection does nothing, since the
/// process must be ended by its owner.
async fn obey(line: TcpStream, ready: Arc<AtomicBool>) {
    let mut lines = BufReader::new(line).lines();
    while let Ok(Some(_)) = lines.next_line().await {
        ready.store(true, Ordering::Relaxed);
    }
    std::future::pending::<()>().await;
}

fn routes(key: String, supports_tools: bool, ready: Arc<AtomicBool>) -> Router {
    let health = move || async move {
        if ready.load(Ordering::Relaxed) { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
    };
    let props = Json(json!({
        "default_generation_settings": { "n_ctx": WINDOW_TOKENS },
        "chat_template_caps": { "supports_tools": supports_tools },
    }));
    let is_ours = move |headers: &HeaderMap| headers["authorization"].to_str().unwrap() == key;
    let is_ours_too = is_ours.clone();
    let props = move |headers: HeaderMap| async move {
        if is_ours(&headers) { Ok(props) } else { Err(StatusCode::UNAUTHORIZED) }
    };
    let complete = move |headers: HeaderMap, body: Bytes| async move {
        if is_ours_too(&headers) { Ok(complete(&body)) } else { Err(StatusCode::UNAUTHORIZED) }
    };
    Router::new()
        .route("/health", get(health))
        .route("/props", get(props))
        .route("/v1/chat/completions", post(complete))
}

fn complete(body: &[u8]) -> Body {
    let body: Value = serde_json::from_slice(body).unwrap();
    let question = body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
    let dies = question.ends_with("die");
    let delta =
        json!({ "choices": [{ "index": 0, "delta": { "content": "an answer" }, "finish_reason": null }] });
    let stop = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": 3, "completion_tokens": 2 } });
    let events = [Some(delta), (!dies).then_some(stop), (!dies).then_some(usage)].into_iter().flatten();
    let events = stream::iter(events).map(|event| format!("data: {event}\n\n"));
    let last = stream::once(async move {
        if dies {
            eprintln!("GGML_ASSERT(false) failed");
            process::exit(3);
        }
        "data: [DONE]\n\n".to_owned()
    });
    Body::from_stream(events.chain(last).map(Ok::<_, std::convert::Infallible>))
}
