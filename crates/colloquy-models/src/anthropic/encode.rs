//! A call as the bytes of a Messages request.
//!
//! `system` and `messages` come first and depend on nothing but the prepared conversation, so but
//! for the marks request *n* up to the end of its messages is a prefix of request *n + 1* (I3).

use std::borrow::Cow;

use colloquy::ports::{ModelCall, ToolChoice};
use colloquy_core::{
    block::{Block, Skill},
    message::Role,
    prepare::PreparedConversation,
    seat::{ModelSpec, THINKING_TOKENS_MIN, Thinking, ToolWire},
    text_tools,
    tool::ToolDefinition,
    turn::Failure,
};
use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};

use super::{
    Caching, Endpoint,
    content::{CacheControl, Contents, WireBlock, WireTurn},
    marks,
};

/// The token limit where neither the call nor the model's entry names one: the API wants a limit,
/// and every model takes this one.
const MAX_TOKENS: u32 = 4_096;

/// What the model is known to take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Takes {
    /// A `top_p` beside a temperature.
    pub(super) top_p: bool,
    /// Any parameter of sampling.
    pub(super) sampling: bool,
    /// A schema for its answer.
    pub(super) format: bool,
}

/// A request, and the types of the files that are not in it.
pub(super) struct Encoded {
    pub(super) body: Vec<u8>,
    pub(super) dropped: Vec<String>,
}

/// The members in the order they are sent.
#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<System>,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice>,
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<ThinkingField>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(flatten)]
    extra: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct System {
    r#type: &'static str,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Vec<WireBlock<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a RawValue,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Choice {
    None,
    Any,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ThinkingField {
    Enabled { budget_tokens: u32 },
    Adaptive { display: &'static str },
}

#[derive(Serialize)]
struct OutputConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Format<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format<'a> {
    JsonSchema { schema: &'a Value },
}

/// The body of the request that makes `call`.
pub(super) fn body(
    call: &ModelCall,
    endpoint: &Endpoint,
    spec: &ModelSpec,
    takes: Takes,
) -> Result<Encoded, Failure> {
    let prepared = as_carried(&call.prepared, spec);
    let tools = prepared.all_tools().into_iter().map(tool).collect::<Result<Vec<_>, _>>()?;
    let mut contents = Contents::default();
    let mut turns: Vec<WireTurn<'_>> = prepared.turns.iter().map(|turn| contents.of_turn(turn)).collect();
    if endpoint.caching == Caching::Marks {
        mark(&mut turns);
    }
    let max_tokens = call.options.max_tokens.or(spec.max_output).unwrap_or(MAX_TOKENS);
    let tool_choice = Some(call.options.tool_choice).filter(|_| !tools.is_empty()).and_then(choice);
    // A model that thinks cannot be made to call a tool, and that it must is what was asked.
    let is_forced = matches!(tool_choice, Some(Choice::Any));
    let thinking = thinking(call.options.thinking, max_tokens).filter(|_| !is_forced);
    // A model that thinks samples as it likes and refuses to be told how.
    let sampling = Some(call.sampling).filter(|_| takes.sampling && thinking.is_none());
    let body = Body {
        system: system(&prepared, endpoint.caching),
        messages: turns.into_iter().filter_map(message).collect(),
        tools,
        tool_choice,
        model: &endpoint.model,
        max_tokens,
        stream: true,
        thinking,
        output_config: output_config(call, takes),
        // The API's range ends at 1, whatever the sampler's own is; a `top_p` of 1 says nothing.
        temperature: sampling.map(|sampling| sampling.temperature.min(1.0)),
        top_p: sampling.map(|sampling| sampling.top_p).filter(|top_p| takes.top_p && *top_p < 1.0),
        top_k: sampling.and_then(|sampling| sampling.top_k),
        extra: &endpoint.extra,
    };
    let body = serde_json::to_vec(&body).expect("BUG: strings, numbers and JSON always serialize");
    Ok(Encoded { body, dropped: contents.dropped })
}

/// The conversation with its tools as text where the wire cannot carry them: the model was not made
/// for them, or it has called some that are declared no longer, which the API refuses.
fn as_carried<'a>(prepared: &'a PreparedConversation, spec: &ModelSpec) -> Cow<'a, PreparedConversation> {
    let blocks = || prepared.turns.iter().flat_map(|turn| &turn.blocks);
    let is_of_tool = |block: &Block| block.as_call().is_some() || block.as_result().is_some();
    let is_orphaned = || prepared.all_tools().is_empty() && blocks().any(is_of_tool);
    match spec.tools {
        ToolWire::Native if !is_orphaned() => Cow::Borrowed(prepared),
        ToolWire::Native | ToolWire::Text => Cow::Owned(text_tools::flatten(prepared)),
    }
}

fn mark(turns: &mut [WireTurn<'_>]) {
    let outlines: Vec<_> = turns.iter().map(WireTurn::outline).collect();
    for mark in marks::place(&outlines) {
        turns[mark.turn].content[mark.block].cache_control = Some(CacheControl::Ephemeral);
    }
}

/// Skills and the system text, a block each; a mark on the last covers the tools as well, which the
/// provider reads before them.
fn system(prepared: &PreparedConversation, caching: Caching) -> Vec<System> {
    let texts = prepared.skills.iter().map(Skill::text).chain([prepared.system.clone()]);
    let block = |text| System { r#type: "text", text, cache_control: None };
    let mut system: Vec<_> = texts.filter(|text| !text.trim().is_empty()).map(block).collect();
    if let Some(last) = system.last_mut().filter(|_| prepared.cache_system && caching == Caching::Marks) {
        last.cache_control = Some(CacheControl::Ephemeral);
    }
    system
}

fn message(turn: WireTurn<'_>) -> Option<Message<'_>> {
    let role = match turn.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    (!turn.content.is_empty()).then_some(Message { role, content: turn.content })
}

fn tool(tool: &ToolDefinition) -> Result<Tool<'_>, Failure> {
    let schema = tool.schema.as_deref().unwrap_or(r#"{"type":"object","properties":{}}"#);
    let input_schema = serde_json::from_str(schema).map_err(|_| Failure::Refused {
        detail: format!(
            "the input schema of the tool {} is not JSON; declare it with a JSON Schema",
            tool.name
        ),
    })?;
    Ok(Tool { name: &tool.name, description: &tool.description, input_schema })
}

fn choice(choice: ToolChoice) -> Option<Choice> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(Choice::None),
        ToolChoice::Required => Some(Choice::Any),
    }
}

fn thinking(thinking: Thinking, max_tokens: u32) -> Option<ThinkingField> {
    match thinking {
        Thinking::Budget { tokens } => {
            // The API wants at least one token that is not for thinking.
            let budget_tokens = tokens.min(max_tokens.saturating_sub(1));
            (budget_tokens >= THINKING_TOKENS_MIN).then_some(ThinkingField::Enabled { budget_tokens })
        }
        Thinking::Adaptive { .. } => Some(ThinkingField::Adaptive { display: "summarized" }),
        // Without the member a model does not think.
        Thinking::Unset | Thinking::Off | Thinking::Effort { .. } => None,
    }
}

fn output_config(call: &ModelCall, takes: Takes) -> Option<OutputConfig<'_>> {
    let effort = match call.options.thinking {
        Thinking::Adaptive { effort } | Thinking::Effort { effort } => Some(effort),
        Thinking::Unset | Thinking::Off | Thinking::Budget { .. } => None,
    };
    // The least that the API knows is `low`; to leave it out would ask for more.
    let effort = effort.map(|effort| if effort == "none" { "low" } else { effort });
    let format = call.options.response_format.as_ref().filter(|_| takes.format);
    let format = format.map(|format| Format::JsonSchema { schema: &format.schema });
    (effort.is_some() || format.is_some()).then_some(OutputConfig { effort, format })
}

#[cfg(test)]
mod tests;
