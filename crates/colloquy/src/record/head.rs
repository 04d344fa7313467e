//! The head of a conversation, in the three columns it is stored in: ordered slots with their keys
//! (a key is a place that no model reads, so it lives nowhere but here), declared tools, and the
//! seat with what goes with it.
//!
//! The order is kept as it is: it is the rendered prefix. A freeze is never stored.

use std::num::NonZeroU32;

use colloquy_core::{
    objective::Objective,
    seat::{Depth, Grade, OutputSize, Seat},
    tool::ToolDefinition,
};
use serde::{Deserialize, Serialize};

use super::{
    RecordError, VERSION,
    blocks::{StoredBlock, WrittenBlock},
    read, write,
};
use crate::ports::StoredHead;

const OBJECTIVE: &str = "the objective of a conversation";
const PALETTE: &str = "the tools of a conversation";
const SEAT: &str = "the seat of a conversation";

/// The stored forms of a head, one a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadColumns {
    /// Slots with their keys, in order.
    pub objective: String,
    /// Declared tools, in order.
    pub palette: String,
    /// The seat, the model that served last, and whether system content is cached.
    pub seat: String,
}

#[derive(Serialize)]
struct WrittenObjective<'a> {
    v: u32,
    slots: Vec<WrittenSlot<'a>>,
}

#[derive(Serialize)]
struct WrittenSlot<'a> {
    key: &'a str,
    value: WrittenBlock<'a>,
}

#[derive(Deserialize)]
struct StoredObjective {
    slots: Vec<StoredSlot>,
}

#[derive(Deserialize)]
struct StoredSlot {
    key: String,
    value: StoredBlock,
}

#[derive(Serialize, Deserialize)]
struct PaletteForm {
    v: u32,
    tools: Vec<ToolForm>,
}

#[derive(Serialize, Deserialize)]
struct ToolForm {
    name: String,
    description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schema: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct SeatForm {
    v: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grade: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    depth: Option<String>,
    /// A rung by its name, or `tokens` with the number beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<NonZeroU32>,
    interactive: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prior_model: Option<String>,
    cache_system: bool,
}

/// The stored forms of a head.
pub fn encode_head(head: &StoredHead) -> HeadColumns {
    let StoredHead { objective, palette, seat, prior_model, cache_system } = head;
    let slots =
        objective.iter().map(|(key, value)| WrittenSlot { key, value: WrittenBlock::of(value) }).collect();
    let tools = palette
        .iter()
        .map(|ToolDefinition { name, description, schema }| ToolForm {
            name: name.clone(),
            description: description.clone(),
            schema: schema.clone(),
        })
        .collect();
    let Seat { grade, depth, output, interactive } = *seat;
    HeadColumns {
        objective: write(&WrittenObjective { v: VERSION, slots }),
        palette: write(&PaletteForm { v: VERSION, tools }),
        seat: write(&SeatForm {
            v: VERSION,
            grade: grade.map(|grade| grade_name(grade).to_owned()),
            depth: depth.map(|depth| depth_name(depth).to_owned()),
            output: output.map(|output| output_name(output).to_owned()),
            tokens: output.and_then(tokens_of),
            interactive,
            prior_model: prior_model.clone(),
            cache_system: *cache_system,
        }),
    }
}

/// The head that was stored. Damaged where two slots have one key or one is blank: what is not
/// the prefix that was rendered must not be rendered in its place.
pub fn decode_head(columns: &HeadColumns) -> Result<StoredHead, RecordError> {
    let PaletteForm { v: _, tools } = read(PALETTE, &columns.palette)?;
    let form: SeatForm = read(SEAT, &columns.seat)?;
    let seat = Seat {
        grade: form.grade.as_deref().map(grade_from_name).transpose()?,
        depth: form.depth.as_deref().map(depth_from_name).transpose()?,
        output: form.output.as_deref().map(|name| output_from_name(name, form.tokens)).transpose()?,
        interactive: form.interactive,
    };
    let palette = tools
        .into_iter()
        .map(|ToolForm { name, description, schema }| ToolDefinition { name, description, schema })
        .collect();
    Ok(StoredHead {
        objective: objective(&columns.objective)?,
        palette,
        seat,
        prior_model: form.prior_model,
        cache_system: form.cache_system,
    })
}

fn objective(json: &str) -> Result<Objective, RecordError> {
    let StoredObjective { slots } = read(OBJECTIVE, json)?;
    let n_slots = slots.len();
    let mut objective = Objective::default();
    for StoredSlot { key, value } in slots {
        objective.put(&key, value.block(OBJECTIVE)?);
    }
    if objective.iter().count() != n_slots {
        return Err(RecordError::damaged(OBJECTIVE, "a slot is blank or stands twice"));
    }
    Ok(objective)
}

fn grade_name(grade: Grade) -> &'static str {
    match grade {
        Grade::Micro => "micro",
        Grade::Small => "small",
        Grade::Medium => "medium",
        Grade::Large => "large",
        Grade::Xl => "xl",
        Grade::Mega => "mega",
        Grade::Ceiling => "ceiling",
    }
}

fn grade_from_name(name: &str) -> Result<Grade, RecordError> {
    Ok(match name {
        "micro" => Grade::Micro,
        "small" => Grade::Small,
        "medium" => Grade::Medium,
        "large" => Grade::Large,
        "xl" => Grade::Xl,
        "mega" => Grade::Mega,
        "ceiling" => Grade::Ceiling,
        unknown => return Err(RecordError::tag(SEAT, unknown)),
    })
}

fn depth_name(depth: Depth) -> &'static str {
    match depth {
        Depth::Immediate => "immediate",
        Depth::Quick => "quick",
        Depth::Standard => "standard",
        Depth::Thorough => "thorough",
        Depth::UltraThorough => "ultra_thorough",
    }
}

fn depth_from_name(name: &str) -> Result<Depth, RecordError> {
    Ok(match name {
        "immediate" => Depth::Immediate,
        "quick" => Depth::Quick,
        "standard" => Depth::Standard,
        "thorough" => Depth::Thorough,
        "ultra_thorough" => Depth::UltraThorough,
        unknown => return Err(RecordError::tag(SEAT, unknown)),
    })
}

fn output_name(size: OutputSize) -> &'static str {
    match size {
        OutputSize::Verdict => "verdict",
        OutputSize::Compact => "compact",
        OutputSize::Standard => "standard",
        OutputSize::Extended => "extended",
        OutputSize::Max => "max",
        OutputSize::Tokens(_) => "tokens",
    }
}

fn tokens_of(size: OutputSize) -> Option<NonZeroU32> {
    match size {
        OutputSize::Tokens(tokens) => Some(tokens),
        OutputSize::Verdict
        | OutputSize::Compact
        | OutputSize::Standard
        | OutputSize::Extended
        | OutputSize::Max => None,
    }
}

fn output_from_name(name: &str, tokens: Option<NonZeroU32>) -> Result<OutputSize, RecordError> {
    Ok(match name {
        "verdict" => OutputSize::Verdict,
        "compact" => OutputSize::Compact,
        "standard" => OutputSize::Standard,
        "extended" => OutputSize::Extended,
        "max" => OutputSize::Max,
        "tokens" => OutputSize::Tokens(
            tokens.ok_or_else(|| RecordError::damaged(SEAT, "an output size has no number of tokens"))?,
        ),
        unknown => return Err(RecordError::tag(SEAT, unknown)),
    })
}
