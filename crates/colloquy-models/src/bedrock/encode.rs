//! A call as the bytes of a Converse request.
//!
//! Converse refuses two messages of one role in a row, so turns that follow each other in one role
//! become one message; their blocks stay apart and in order. Nothing else about a conversation
//! changes what stands before a new turn (I3).

use colloquy::ports::{ModelCall, Sampling};
use colloquy_core::{
    block::Skill,
    message::Role,
    prepare::{PreparedConversation, PreparedTurn},
    seat::Thinking,
    text_tools,
};
use serde::Serialize;

use super::content::{Content, Contents};

/// What the model is known to take of the sampling parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Both,
    /// A temperature without `topP`.
    Temperature,
    NoSampling,
}

/// A request, and the types of the files that are not in it.
pub(super) struct Encoded {
    pub(super) body: Vec<u8>,
    pub(super) dropped: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<System>,
    messages: Vec<Message<'a>>,
    inference_config: InferenceConfig,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_model_request_fields: Option<ModelFields>,
}

#[derive(Serialize)]
struct System {
    text: String,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Vec<Content<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InferenceConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
}

/// Members that Converse hands to the model as they are, named by the model's own provider.
#[derive(Serialize, Default)]
struct ModelFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<ThinkingField>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ThinkingField {
    Enabled { budget_tokens: u32 },
    Adaptive { display: &'static str },
}

#[derive(Serialize)]
struct OutputConfig {
    effort: &'static str,
}

/// The body of the request that makes `call`.
pub(super) fn body(call: &ModelCall, takes: Takes) -> Encoded {
    let prepared = &call.prepared;
    // Without a system text, what `flatten` puts behind it is the palette's own block.
    let flat = text_tools::flatten(&PreparedConversation {
        skills: Vec::new(),
        system: String::new(),
        cache_system: prepared.cache_system,
        palette: prepared.palette.clone(),
        turns: prepared.turns.clone(),
    });
    let texts = prepared.skills.iter().map(Skill::text).chain([prepared.system.clone(), flat.system.clone()]);
    let mut contents = Contents::default();
    let body = Body {
        system: texts.filter(|text| !text.is_empty()).map(|text| System { text }).collect(),
        messages: messages(flat.turns.iter().map(|turn| turn.as_ref()), &mut contents),
        inference_config: inference_config(call, takes),
        additional_model_request_fields: model_fields(call.options.thinking),
    };
    let body = serde_json::to_vec(&body).expect("BUG: strings and numbers always serialize");
    Encoded { body, dropped: contents.dropped }
}

fn messages<'a>(turns: impl Iterator<Item = &'a PreparedTurn>, contents: &mut Contents) -> Vec<Message<'a>> {
    let mut messages: Vec<Message<'a>> = Vec::new();
    for turn in turns {
        let role = match turn.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let content = contents.of_turn(turn);
        match messages.last_mut().filter(|last| last.role == role) {
            Some(last) => last.content.extend(content),
            None if content.is_empty() => {}
            None => messages.push(Message { role, content }),
        }
    }
    messages
}

fn inference_config(call: &ModelCall, takes: Takes) -> InferenceConfig {
    let Sampling { temperature, top_p, .. } = call.sampling;
    let takes = match call.options.thinking {
        // A model that thinks samples as it likes and refuses to be told how.
        Thinking::Budget { .. } | Thinking::Adaptive { .. } => Takes::NoSampling,
        Thinking::Unset | Thinking::Off | Thinking::Effort { .. } => takes,
    };
    // Converse takes temperatures up to 1, whatever the model's own range is; a `topP` of 1 says
    // nothing.
    let (temperature, top_p) = (Some(temperature.min(1.0)), Some(top_p).filter(|top_p| *top_p < 1.0));
    let (temperature, top_p) = match takes {
        Takes::Both => (temperature, top_p),
        Takes::Temperature => (temperature, None),
        Takes::NoSampling => (None, None),
    };
    InferenceConfig { max_tokens: call.options.max_tokens, temperature, top_p }
}

fn model_fields(thinking: Thinking) -> Option<ModelFields> {
    match thinking {
        Thinking::Unset | Thinking::Off => None,
        Thinking::Effort { effort } => {
            Some(ModelFields { reasoning_effort: Some(effort), ..ModelFields::default() })
        }
        Thinking::Budget { tokens } => {
            let thinking = Some(ThinkingField::Enabled { budget_tokens: tokens });
            Some(ModelFields { thinking, ..ModelFields::default() })
        }
        Thinking::Adaptive { effort } => {
            let thinking = Some(ThinkingField::Adaptive { display: "summarized" });
            Some(ModelFields {
                thinking,
                output_config: Some(OutputConfig { effort }),
                ..ModelFields::default()
            })
        }
    }
}

#[cfg(test)]
mod tests;
