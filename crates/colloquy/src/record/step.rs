//! What an assistant message keeps of the step that wrote it: its model, its cost, why it ended.

use colloquy_core::message::{FinishReason, LlmId, Origin, Usage};
use serde::{Deserialize, Serialize};

use super::{RecordError, VERSION, read, write};

const ORIGIN: &str = "the origin of a message";
const USAGE: &str = "the usage of a message";

#[derive(Serialize, Deserialize)]
struct OriginForm {
    v: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    llm: Option<i64>,
    dialect: String,
    model: String,
}

/// The stored form of a message's origin.
pub fn encode_origin(origin: &Origin) -> String {
    let Origin { llm_id, dialect, model } = origin;
    write(&OriginForm {
        v: VERSION,
        llm: llm_id.map(|id| id.0),
        dialect: dialect.clone(),
        model: model.clone(),
    })
}

/// The origin that was stored.
pub fn decode_origin(json: &str) -> Result<Origin, RecordError> {
    let OriginForm { v: _, llm, dialect, model } = read(ORIGIN, json)?;
    Ok(Origin { llm_id: llm.map(LlmId), dialect, model })
}

#[derive(Serialize, Deserialize)]
struct StepForm {
    v: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<UsageForm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    finish: Option<String>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct UsageForm {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    predicted: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reused: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    written: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<u32>,
}

impl UsageForm {
    pub(super) fn of(usage: Usage) -> Self {
        let Usage { predicted_tokens, prompt_tokens, reused_tokens, cache_write_tokens, output_tokens } =
            usage;
        Self {
            predicted: predicted_tokens,
            prompt: prompt_tokens,
            reused: reused_tokens,
            written: cache_write_tokens,
            output: output_tokens,
        }
    }

    pub(super) fn usage(self) -> Usage {
        Usage {
            predicted_tokens: self.predicted,
            prompt_tokens: self.prompt,
            reused_tokens: self.reused,
            cache_write_tokens: self.written,
            output_tokens: self.output,
        }
    }
}

/// The stored form of a step's usage and finish reason; `None` when there is neither.
pub fn encode_usage(usage: Option<Usage>, finish_reason: Option<FinishReason>) -> Option<String> {
    if usage.is_none() && finish_reason.is_none() {
        return None;
    }
    Some(write(&StepForm {
        v: VERSION,
        usage: usage.map(UsageForm::of),
        finish: finish_reason.map(|reason| finish_name(reason).to_owned()),
    }))
}

/// The usage and finish reason that were stored.
pub fn decode_usage(json: &str) -> Result<(Option<Usage>, Option<FinishReason>), RecordError> {
    let form: StepForm = read(USAGE, json)?;
    let finish_reason = form.finish.as_deref().map(finish_from_name).transpose()?;
    Ok((form.usage.map(UsageForm::usage), finish_reason))
}

fn finish_name(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::Refusal => "refusal",
    }
}

fn finish_from_name(name: &str) -> Result<FinishReason, RecordError> {
    match name {
        "stop" => Ok(FinishReason::Stop),
        "length" => Ok(FinishReason::Length),
        "tool_calls" => Ok(FinishReason::ToolCalls),
        "refusal" => Ok(FinishReason::Refusal),
        unknown => Err(RecordError::tag(USAGE, unknown)),
    }
}
