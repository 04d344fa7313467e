//! A call as the bytes of a request to the Responses API.
//!
//! `instructions` and `input` come first and depend on nothing but the prepared conversation, so
//! request *n* up to the end of its items is a prefix of request *n + 1* (I3).

use std::borrow::Cow;

use colloquy::ports::{ModelCall, ResponseFormat, ToolChoice};
use colloquy_core::{
    block::Skill,
    prepare::PreparedConversation,
    seat::{ModelSpec, Thinking, ThinkingMode, ToolWire},
    text_tools,
    tool::ToolDefinition,
    turn::Failure,
};
use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};

use super::{
    Endpoint,
    items::{self, Input},
};

/// The longest name that a response format may have.
const FORMAT_NAME_CHARS_MAX: usize = 64;

/// What the model is known to take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Takes {
    pub(super) sampling: bool,
    pub(super) encrypted_reasoning: bool,
}

/// The members in the order they are sent.
#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "String::is_empty")]
    instructions: String,
    input: Vec<Input<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    include: Option<[&'static str; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(flatten)]
    extra: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
    strict: bool,
}

#[derive(Serialize)]
struct Reasoning {
    effort: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

#[derive(Serialize)]
struct Text<'a> {
    format: Format<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format<'a> {
    JsonSchema { name: String, schema: &'a Value, strict: bool },
    JsonObject,
}

/// The body of the request that makes `call`.
pub(super) fn body(
    call: &ModelCall,
    endpoint: &Endpoint,
    spec: &ModelSpec,
    takes: Takes,
) -> Result<Vec<u8>, Failure> {
    let prepared = match spec.tools {
        ToolWire::Native => Cow::Borrowed(&call.prepared),
        ToolWire::Text => Cow::Owned(text_tools::flatten(&call.prepared)),
    };
    let tools = prepared.all_tools().into_iter().map(tool).collect::<Result<Vec<_>, _>>()?;
    let tool_choice = Some(call.options.tool_choice).filter(|_| !tools.is_empty());
    let reasoning = reasoning(call.options.thinking, spec);
    // A model that is told to reason samples as it likes and refuses to be told how.
    let samples = takes.sampling && reasoning.as_ref().is_none_or(|reasoning| reasoning.effort == "none");
    let body = Body {
        instructions: instructions(&prepared),
        input: prepared.turns.iter().flat_map(|turn| items::of_turn(turn)).collect(),
        tools,
        tool_choice: tool_choice.and_then(choice),
        model: &endpoint.model,
        stream: true,
        store: false,
        include: takes.encrypted_reasoning.then_some(["reasoning.encrypted_content"]),
        reasoning,
        text: call.options.response_format.as_ref().map(|format| text(format, spec)),
        max_output_tokens: call.options.max_tokens,
        temperature: samples.then_some(call.sampling.temperature),
        top_p: samples.then_some(call.sampling.top_p),
        extra: &endpoint.extra,
    };
    Ok(serde_json::to_vec(&body).expect("BUG: strings, numbers and JSON always serialize"))
}

/// Skills and the system text, a blank line between them.
fn instructions(prepared: &PreparedConversation) -> String {
    let system = Some(prepared.system.clone()).filter(|system| !system.is_empty());
    prepared.skills.iter().map(Skill::text).chain(system).collect::<Vec<_>>().join("\n\n")
}

fn tool(tool: &ToolDefinition) -> Result<Tool<'_>, Failure> {
    let schema = tool.schema.as_deref().unwrap_or(r#"{"type":"object","properties":{}}"#);
    let parameters = serde_json::from_str(schema).map_err(|_| Failure::Refused {
        detail: format!(
            "the input schema of the tool {} is not JSON; declare it with a JSON Schema",
            tool.name
        ),
    })?;
    Ok(Tool {
        r#type: "function",
        name: &tool.name,
        description: &tool.description,
        parameters,
        strict: false,
    })
}

fn choice(choice: ToolChoice) -> Option<&'static str> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some("none"),
        ToolChoice::Required => Some("required"),
    }
}

fn reasoning(thinking: Thinking, spec: &ModelSpec) -> Option<Reasoning> {
    match thinking {
        Thinking::Effort { effort } => Some(Reasoning { effort, summary: None }),
        Thinking::Adaptive { effort } => Some(Reasoning { effort, summary: Some("auto") }),
        // A model that always answers without reasoning does not know the member.
        Thinking::Off => match spec.thinking {
            ThinkingMode::ReasoningEffort | ThinkingMode::Adaptive => {
                Some(Reasoning { effort: "none", summary: None })
            }
            ThinkingMode::None | ThinkingMode::Extended => None,
        },
        // The wire has no budget of its own: reasoning is spent from `max_output_tokens`.
        Thinking::Unset | Thinking::Budget { .. } => None,
    }
}

fn text<'a>(format: &'a ResponseFormat, spec: &ModelSpec) -> Text<'a> {
    if !spec.json_schema {
        return Text { format: Format::JsonObject };
    }
    // The strict subset wants every property required, which a program's own types are not.
    Text {
        format: Format::JsonSchema { name: format_name(&format.name), schema: &format.schema, strict: false },
    }
}

/// A name as the API takes it: letters, digits, `_` and `-`.
fn format_name(name: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let name: String = name.chars().map(allowed).take(FORMAT_NAME_CHARS_MAX).collect();
    if name.is_empty() { "answer".to_owned() } else { name }
}

#[cfg(test)]
mod tests;
