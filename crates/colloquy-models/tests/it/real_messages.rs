//! The Anthropic dialect against the real `/v1/messages` of llama-server.

use colloquy::ports::{Model, ModelCall, ModelChunk};
use colloquy_core::{
    message::{FinishReason, Usage},
    seat::ModelSpec,
    turn::Failure,
};
use colloquy_models::anthropic::{Anthropic, Caching, Endpoint};
use futures::TryStreamExt;
use serde_json::{Value, json};

use crate::{
    forced::{answered, question},
    llama_server::{FORCING_TEMPLATE, LlamaServer},
    stage::{call, soon},
};

/// What makes SmolLM2 write the marker of a call: the wire has no member for it, so the server is
/// started that way.
const FORCING: [&str; 4] = ["--logit-bias", "8+30", "--logit-bias", "2+60"];

/// A model over connections of its own: llama-server may close one after a stream, and a request
/// that is on its way just then is lost. A turn would ask again; this is about the wire.
fn model(server: &LlamaServer) -> Anthropic {
    let extra = json!({"chat_template_kwargs": {"enable_thinking": false}});
    let endpoint = Endpoint {
        base_url: server.base_url.clone(),
        model: "SmolLM2".into(),
        api_key: None,
        caching: Caching::Marks,
        extra: extra.as_object().unwrap().clone(),
    };
    Anthropic::new(endpoint, ModelSpec::default()).unwrap()
}

async fn ask(server: &LlamaServer, call: ModelCall) -> Vec<ModelChunk> {
    soon(async { model(server).call(call).await.unwrap().try_collect().await.unwrap() }).await
}

fn text(chunks: &[ModelChunk]) -> String {
    let text =
        |chunk: &ModelChunk| if let ModelChunk::Text(text) = chunk { Some(text.clone()) } else { None };
    chunks.iter().filter_map(text).collect()
}

fn end(chunks: &[ModelChunk]) -> (FinishReason, Usage) {
    let Some(ModelChunk::End { finish_reason, usage }) = chunks.last() else { panic!("{chunks:?}") };
    (*finish_reason, *usage)
}

#[tokio::test]
async fn smollm2_answers_over_the_messages_api_and_a_limit_cuts_it() {
    let server = LlamaServer::start(None).await;
    let chunks = ask(&server, call("What is the capital of France?")).await;
    assert!(text(&chunks).contains("Paris"), "{chunks:?}");
    let (finish_reason, usage) = end(&chunks);
    assert_eq!(finish_reason, FinishReason::Stop);
    assert!(usage.prompt_tokens > Some(10) && usage.output_tokens > Some(1), "{usage:?}");
    assert!(chunks.len() > 3, "it did not stream: {chunks:?}");

    let mut short = call("Tell a long story of a zebra.");
    short.options.max_tokens = Some(5);
    let (finish_reason, usage) = end(&ask(&server, short).await);
    assert_eq!((finish_reason, usage.output_tokens), (FinishReason::Length, Some(5)));
}

#[tokio::test]
async fn a_real_call_makes_the_round_trip_over_the_messages_api() {
    let forcing = LlamaServer::start_with(Some(FORCING_TEMPLATE), &FORCING).await;
    let chunks = ask(&forcing, question()).await;
    let [ModelChunk::ToolCall(called), ModelChunk::End { finish_reason, usage }] = &chunks[..] else {
        panic!("{chunks:?}");
    };
    assert_eq!((called.name.as_str(), *finish_reason), ("get_weather", FinishReason::ToolCalls));
    assert!(!called.id.is_empty(), "{called:?}");
    let input: Value = serde_json::from_str(&called.input).unwrap();
    assert!(["Paris", "Rome"].contains(&input["city"].as_str().unwrap()), "{input}");
    drop(forcing);

    let server = LlamaServer::start(Some(FORCING_TEMPLATE)).await;
    let chunks = ask(&server, answered(called)).await;
    assert!(!text(&chunks).trim().is_empty(), "{chunks:?}");
    // The call and its result stand in the prompt.
    let first = end(&chunks).1;
    assert!(first.prompt_tokens > usage.prompt_tokens, "{chunks:?}");

    // What the server took from its cache is part of the prompt and counted as such.
    let again = end(&ask(&server, answered(called)).await).1;
    assert_eq!(again.prompt_tokens, first.prompt_tokens);
    assert!(again.reused_tokens > Some(100), "{again:?}");
}

#[tokio::test]
async fn a_prompt_over_the_real_window_is_an_overflow_with_both_numbers() {
    let server = LlamaServer::start(None).await;
    let refused = soon(model(&server).call(call(&"zebra ".repeat(5_000)))).await;
    let Err(error) = refused else { panic!("it was taken") };
    let Failure::Overflow { prompt_tokens, window_tokens } = error.0 else { panic!("{error}") };
    assert!(
        prompt_tokens > window_tokens && window_tokens == Some(4_096),
        "{prompt_tokens:?} {window_tokens:?}"
    );
}
