//! A call as the bytes of a chat-completions request.
//!
//! `messages` is the first member and its bytes depend on nothing but the prepared conversation,
//! so request *n* up to the end of its messages is a prefix of request *n + 1* (I3). What a turn
//! becomes is [`super::messages`]'s.

use std::borrow::Cow;

use colloquy::ports::{ModelCall, ResponseFormat, ToolChoice};
use colloquy_core::{
    seat::{ModelSpec, Thinking, ThinkingMode, ToolWire},
    text_tools,
    tool::ToolDefinition,
    turn::Failure,
};
use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};

use super::{
    Endpoint, Flavor,
    messages::{self, Message},
};

/// The schema of a tool without input: some templates read its members and fail without any.
const NO_INPUT: &str = r#"{"type":"object","properties":{}}"#;

/// The name under which a server takes the token limit of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LimitField {
    MaxTokens,
    MaxCompletionTokens,
}

/// The members in the order they are sent.
#[derive(Serialize)]
struct Body<'a> {
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Format<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    presence_penalty: Option<f64>,
    #[serde(flatten)]
    llama: Option<Llama>,
    #[serde(flatten)]
    extra: &'a Map<String, Value>,
}

/// What only llama-server is sent.
#[derive(Serialize)]
struct Llama {
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_p: Option<f64>,
    repeat_penalty: f64,
    repeat_last_n: u32,
    cache_prompt: bool,
    return_progress: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    chat_template_kwargs: Option<TemplateKwargs>,
}

#[derive(Serialize)]
struct TemplateKwargs {
    enable_thinking: bool,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Tool<'a> {
    Function { function: Function<'a> },
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format<'a> {
    JsonSchema { json_schema: Schema<'a> },
}

#[derive(Serialize)]
struct Schema<'a> {
    name: Cow<'a, str>,
    schema: &'a Value,
}

/// The body of the request that makes `call` at `endpoint`.
pub(super) fn body(
    call: &ModelCall,
    endpoint: &Endpoint,
    spec: &ModelSpec,
    limit_field: LimitField,
) -> Result<Vec<u8>, Failure> {
    let prepared = match spec.tools {
        ToolWire::Native => Cow::Borrowed(&call.prepared),
        ToolWire::Text => Cow::Owned(text_tools::flatten(&call.prepared)),
    };
    let tools = prepared.all_tools().into_iter().map(tool).collect::<Result<Vec<_>, _>>()?;
    let limit = call.options.max_tokens;
    let sampling = Some(&call.sampling).filter(|_| takes_sampling(endpoint.flavor, spec));
    let body = Body {
        messages: messages::of(&prepared, endpoint.flavor),
        tool_choice: tool_choice(call.options.tool_choice).filter(|_| !tools.is_empty()),
        response_format: response_format(call, endpoint.flavor, &tools),
        tools,
        model: &endpoint.model,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        temperature: sampling.map(|sampling| sampling.temperature),
        top_p: sampling.map(|sampling| sampling.top_p),
        max_tokens: limit.filter(|_| limit_field == LimitField::MaxTokens),
        max_completion_tokens: limit.filter(|_| limit_field == LimitField::MaxCompletionTokens),
        reasoning_effort: effort(call.options.thinking),
        presence_penalty: sampling.and_then(|sampling| sampling.presence_penalty),
        llama: llama(call, endpoint.flavor),
        extra: &endpoint.extra,
    };
    Ok(serde_json::to_vec(&body).expect("BUG: strings, numbers and JSON always serialize"))
}

fn tool(tool: &ToolDefinition) -> Result<Tool<'_>, Failure> {
    let schema = tool.schema.as_deref().unwrap_or(NO_INPUT);
    let parameters = serde_json::from_str(schema).map_err(|_| Failure::Refused {
        detail: format!(
            "the input schema of the tool {} is not JSON; declare it with a JSON Schema",
            tool.name
        ),
    })?;
    Ok(Tool::Function { function: Function { name: &tool.name, description: &tool.description, parameters } })
}

fn tool_choice(choice: ToolChoice) -> Option<&'static str> {
    match choice {
        // The default of every server.
        ToolChoice::Auto => None,
        ToolChoice::None => Some("none"),
        ToolChoice::Required => Some("required"),
    }
}

/// OpenAI's reasoning models refuse to be told how to sample.
fn takes_sampling(flavor: Flavor, spec: &ModelSpec) -> bool {
    match (flavor, spec.thinking) {
        (Flavor::OpenAi, ThinkingMode::ReasoningEffort) => false,
        (Flavor::OpenAi, ThinkingMode::None | ThinkingMode::Extended | ThinkingMode::Adaptive)
        | (Flavor::Llama | Flavor::Unknown, _) => true,
    }
}

fn response_format<'a>(call: &'a ModelCall, flavor: Flavor, tools: &[Tool<'_>]) -> Option<Format<'a>> {
    let can = match flavor {
        // It holds an answer to a schema by a grammar and refuses that beside tools.
        Flavor::Llama => tools.is_empty(),
        Flavor::OpenAi | Flavor::Unknown => true,
    };
    let ResponseFormat { name, schema } = call.options.response_format.as_ref().filter(|_| can)?;
    Some(Format::JsonSchema { json_schema: Schema { name: messages::name(name, "answer"), schema } })
}

fn effort(thinking: Thinking) -> Option<&'static str> {
    match thinking {
        Thinking::Effort { effort } | Thinking::Adaptive { effort } => Some(effort),
        // The wire knows no budget of its own: reasoning is spent from the token limit.
        Thinking::Unset | Thinking::Off | Thinking::Budget { .. } => None,
    }
}

fn llama(call: &ModelCall, flavor: Flavor) -> Option<Llama> {
    match flavor {
        Flavor::OpenAi | Flavor::Unknown => None,
        Flavor::Llama => Some(Llama {
            top_k: call.sampling.top_k,
            min_p: call.sampling.min_p,
            repeat_penalty: call.sampling.repetition_penalty,
            repeat_last_n: call.sampling.repetition_context_size,
            cache_prompt: true,
            return_progress: true,
            chat_template_kwargs: (call.options.thinking == Thinking::Off)
                .then_some(TemplateKwargs { enable_thinking: false }),
        }),
    }
}

#[cfg(test)]
mod tests;
