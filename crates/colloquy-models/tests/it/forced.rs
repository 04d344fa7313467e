//! A tool call and its result through the real engine. SmolLM2 calls no tools by itself, so its
//! template and the odds of two tokens are set such that it must; parser, grammar and stream are
//! the engine's own.

use std::sync::Arc;

use colloquy::ports::{Model, ModelCall, ModelChunk, ToolChoice};
use colloquy_core::{
    block::{Block, ToolCall, ToolResult},
    message::{FinishReason, Role, Usage},
    prepare::PreparedTurn,
    seat::{ModelSpec, Thinking},
    tool::ToolDefinition,
};
use colloquy_models::openai::{Endpoint, Flavor, OpenAi};
use futures::StreamExt;
use serde_json::{Map, Value, json};

use crate::{
    llama_server::{FORCING_TEMPLATE, LlamaServer},
    stage::{call, soon},
};

fn model(server: &LlamaServer, extra: Map<String, Value>) -> OpenAi {
    let endpoint = Endpoint { flavor: Flavor::Llama, extra, ..Endpoint::new(&server.base_url, "SmolLM2") };
    OpenAi::new(endpoint, ModelSpec::default()).unwrap()
}

/// What makes SmolLM2 write the marker of a call.
pub(crate) fn forcing() -> Map<String, Value> {
    let extra = json!({ "logit_bias": [[8, 30.0], [2, 60.0]], "parallel_tool_calls": false });
    extra.as_object().unwrap().clone()
}

fn get_weather() -> ToolDefinition {
    let schema = json!({
        "type": "object",
        "properties": {
            "city": { "type": "string", "enum": ["Paris", "Rome"] },
            "unit": { "type": "string", "enum": ["c", "f"] },
        },
        "required": ["city", "unit"],
        "additionalProperties": false,
    });
    ToolDefinition {
        name: "get_weather".into(),
        description: "Current weather in a city".into(),
        schema: Some(schema.to_string()),
    }
}

/// The question that is answered by a call; its options force one.
pub(crate) fn question() -> ModelCall {
    let mut call = call("What is the weather in Paris in celsius?");
    call.prepared.palette = vec![get_weather()];
    call.sampling.repetition_penalty = 1.0;
    call.options.max_tokens = Some(120);
    call.options.thinking = Thinking::Off;
    call.options.tool_choice = ToolChoice::Required;
    call
}

/// The same conversation with the call and its result, to be answered in words.
pub(crate) fn answered(tool_call: &ToolCall) -> ModelCall {
    let turn = |role, block| Arc::new(PreparedTurn { role, blocks: vec![block], n_stable: 1 });
    let result = ToolResult {
        call_id: tool_call.id.clone(),
        text: r#"{"celsius":18,"sky":"clear"}"#.into(),
        is_error: false,
    };
    let mut call = question();
    call.prepared.turns.push(turn(Role::Assistant, Block::ToolCall(tool_call.clone())));
    call.prepared.turns.push(turn(Role::User, Block::ToolResult(result)));
    call.options.max_tokens = Some(40);
    call.options.tool_choice = ToolChoice::None;
    call
}

/// What a call came to: its tool calls, its text, its end.
async fn sample(model: &impl Model, call: ModelCall) -> (Vec<ToolCall>, String, FinishReason, Usage) {
    let (mut calls, mut text) = (Vec::new(), String::new());
    let mut chunks = soon(model.call(call)).await.unwrap();
    loop {
        match soon(chunks.next()).await.expect("an answer ends with its end").unwrap() {
            ModelChunk::ToolCall(call) => calls.push(call),
            ModelChunk::Text(piece) => text.push_str(&piece),
            ModelChunk::End { finish_reason, usage } => return (calls, text, finish_reason, usage),
            ModelChunk::Reading { .. }
            | ModelChunk::Reasoning(_)
            | ModelChunk::ReasoningSignature(_)
            | ModelChunk::RedactedReasoning(_) => {}
        }
    }
}

#[tokio::test]
async fn a_forced_call_and_its_result_go_through_the_real_engine() {
    let server = LlamaServer::start(Some(FORCING_TEMPLATE)).await;
    let (calls, _, finish_reason, usage) = sample(&model(&server, forcing()), question()).await;
    let [tool_call] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!((tool_call.name.as_str(), finish_reason), ("get_weather", FinishReason::ToolCalls));
    assert!(!tool_call.id.is_empty());
    let input: Value = serde_json::from_str(&tool_call.input).unwrap();
    assert!(matches!(input["city"].as_str(), Some("Paris" | "Rome")), "{input}");
    let n_prompt = usage.prompt_tokens.unwrap();

    let (calls, text, _, usage) = sample(&model(&server, Map::new()), answered(tool_call)).await;
    assert!(calls.is_empty() && !text.trim().is_empty(), "{calls:?} {text:?}");
    assert!(usage.prompt_tokens.unwrap() > n_prompt, "the call and its result were not shown");
    assert!(usage.reused_tokens.unwrap() > n_prompt / 2, "{usage:?} after {n_prompt}");
}

#[tokio::test]
async fn a_call_that_the_limit_cuts_is_told_as_cut_and_ends_no_conversation() {
    let server = LlamaServer::start(Some(FORCING_TEMPLATE)).await;
    let mut call = question();
    call.options.max_tokens = Some(14);
    let (calls, _, finish_reason, _) = sample(&model(&server, forcing()), call).await;
    assert_eq!(finish_reason, FinishReason::Length);
    let [cut] = &calls[..] else { panic!("{calls:?}") };
    assert!(serde_json::from_str::<Value>(&cut.input).is_err(), "{cut:?}");

    // It stays in its conversation, which goes on.
    let (_, text, _, _) = sample(&model(&server, Map::new()), answered(cut)).await;
    assert!(!text.trim().is_empty());
}
