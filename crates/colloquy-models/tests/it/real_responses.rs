//! The Responses dialect against the real `/v1/responses` of llama-server.

use colloquy::ports::{Model, ModelCall, ModelChunk};
use colloquy_core::{
    message::{FinishReason, Usage},
    seat::ModelSpec,
};
use colloquy_models::responses::{Endpoint, OpenAiResponses};
use futures::TryStreamExt;
use serde_json::{Map, Value, json};

use crate::{
    forced::{answered, forcing, question},
    llama_server::{FORCING_TEMPLATE, LlamaServer},
    stage::{call, soon},
};

/// Asks over a connection of its own: llama-server may close one after a stream, and a request that
/// is on its way just then is lost. A turn would ask again; this is about the wire.
async fn ask(server: &LlamaServer, mut extra: Map<String, Value>, call: ModelCall) -> Vec<ModelChunk> {
    extra.insert("chat_template_kwargs".into(), json!({"enable_thinking": false}));
    let base_url = server.base_url.clone();
    let endpoint = Endpoint { base_url, model: "SmolLM2".into(), api_key: None, extra };
    let model = OpenAiResponses::new(endpoint, ModelSpec::default()).unwrap();
    soon(async { model.call(call).await.unwrap().try_collect().await.unwrap() }).await
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
async fn smollm2_answers_over_the_responses_api_and_a_limit_cuts_it() {
    let server = LlamaServer::start(None).await;
    let chunks = ask(&server, Map::new(), call("What is the capital of France?")).await;
    assert!(text(&chunks).contains("Paris"), "{chunks:?}");
    let (finish_reason, usage) = end(&chunks);
    assert_eq!(finish_reason, FinishReason::Stop);
    assert!(usage.prompt_tokens > Some(10) && usage.output_tokens > Some(1), "{usage:?}");
    assert!(chunks.len() > 3, "it did not stream: {chunks:?}");

    let mut short = call("Tell a long story of a zebra.");
    short.options.max_tokens = Some(5);
    let (finish_reason, usage) = end(&ask(&server, Map::new(), short).await);
    assert_eq!((finish_reason, usage.output_tokens), (FinishReason::Length, Some(5)));
}

#[tokio::test]
async fn a_real_call_makes_the_round_trip_over_the_responses_api() {
    let server = LlamaServer::start(Some(FORCING_TEMPLATE)).await;
    let chunks = ask(&server, forcing(), question()).await;
    let [ModelChunk::ToolCall(called), ModelChunk::End { finish_reason, usage }] = &chunks[..] else {
        panic!("{chunks:?}");
    };
    assert_eq!((called.name.as_str(), *finish_reason), ("get_weather", FinishReason::ToolCalls));
    assert!(called.id.starts_with("call_"), "{called:?}");
    let input: Value = serde_json::from_str(&called.input).unwrap();
    assert!(["Paris", "Rome"].contains(&input["city"].as_str().unwrap()), "{input}");

    let chunks = ask(&server, Map::new(), answered(called)).await;
    assert!(!text(&chunks).trim().is_empty(), "{chunks:?}");
    // The call and its result stand in the prompt.
    assert!(end(&chunks).1.prompt_tokens > usage.prompt_tokens, "{chunks:?}");
}
