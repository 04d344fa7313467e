//! Turns as the `input` items of a request, in order.
//!
//! The results of a turn come before the rest of it, since the items that follow a call must be its
//! results. Late tools stand in `tools` and not here; unsigned reasoning is nobody's to replay.

use std::borrow::Cow;

use base64::{Engine, prelude::BASE64_STANDARD};
use colloquy_core::{
    block::{Block, File, Image},
    message::Role,
    prepare::PreparedTurn,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// One member of `input`.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Input<'a> {
    Item(Item<'a>),
    /// A reasoning item, byte for byte as the server sent it.
    Reasoning(&'a RawValue),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Item<'a> {
    Message { role: &'static str, content: Vec<Part<'a>> },
    FunctionCall { call_id: &'a str, name: &'a str, arguments: &'a str },
    FunctionCallOutput { call_id: &'a str, output: &'a str },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part<'a> {
    InputText { text: Cow<'a, str> },
    OutputText { text: Cow<'a, str> },
    InputImage { image_url: String, detail: &'static str },
    InputFile { filename: &'a str, file_data: String },
}

/// The items of one turn.
pub(super) fn of_turn(turn: &PreparedTurn) -> Vec<Input<'_>> {
    let results = turn.blocks.iter().filter_map(Block::as_result);
    let output = |result| Input::Item(output(result));
    let mut items: Vec<Input<'_>> = results.map(output).collect();
    let mut content = Vec::new();
    for block in &turn.blocks {
        match block {
            Block::ToolCall(call) => {
                end_message(turn.role, &mut content, &mut items);
                let (call_id, name, arguments) = (&call.id, &call.name, &call.input);
                items.push(Input::Item(Item::FunctionCall { call_id, name, arguments }));
            }
            Block::RedactedReasoning(data) => {
                end_message(turn.role, &mut content, &mut items);
                items.extend(reasoning(data).map(Input::Reasoning));
            }
            Block::Text(_)
            | Block::Value(_)
            | Block::Json(_)
            | Block::Image(_)
            | Block::File(_)
            | Block::Skill(_)
            | Block::ToolDefinition(_)
            | Block::ToolResult(_)
            | Block::Reasoning(_) => content.extend(part(turn.role, block)),
        }
    }
    end_message(turn.role, &mut content, &mut items);
    items
}

fn output(result: &colloquy_core::block::ToolResult) -> Item<'_> {
    Item::FunctionCallOutput { call_id: &result.call_id, output: &result.text }
}

fn end_message<'a>(role: Role, content: &mut Vec<Part<'a>>, items: &mut Vec<Input<'a>>) {
    if content.is_empty() {
        return;
    }
    let role = match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    items.push(Input::Item(Item::Message { role, content: std::mem::take(content) }));
}

/// A reasoning item, unless it is not one: what another wire keeps under the same block is opaque
/// here and would only be refused.
fn reasoning(data: &str) -> Option<&RawValue> {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow)]
        r#type: Cow<'a, str>,
    }
    let is_reasoning = serde_json::from_str::<Kind<'_>>(data).is_ok_and(|item| item.r#type == "reasoning");
    if is_reasoning { serde_json::from_str(data).ok() } else { None }
}

/// A block as a part of a message; nothing where it is told elsewhere or not at all.
fn part(role: Role, block: &Block) -> Option<Part<'_>> {
    match block {
        Block::Text(text) | Block::Json(text) => text_part(role, text.as_str()),
        Block::Value(value) => text_part(role, value.shown.as_str()),
        Block::Skill(skill) => text_part(role, skill.mention()),
        Block::Image(image) => image_part(role, image),
        Block::File(file) => file_part(role, file),
        Block::ToolDefinition(_)
        | Block::ToolCall(_)
        | Block::ToolResult(_)
        | Block::Reasoning(_)
        | Block::RedactedReasoning(_) => None,
    }
}

fn text_part<'a>(role: Role, text: impl Into<Cow<'a, str>>) -> Option<Part<'a>> {
    let text = text.into();
    if text.is_empty() {
        return None;
    }
    Some(match role {
        Role::User => Part::InputText { text },
        Role::Assistant => Part::OutputText { text },
    })
}

fn image_part(role: Role, image: &Image) -> Option<Part<'_>> {
    let Image { media_type, bytes, description: _ } = image;
    if role == Role::User && is_picture(media_type) {
        return Some(Part::InputImage { image_url: data_url(media_type, bytes), detail: "auto" });
    }
    text_part(role, image.placeholder())
}

fn file_part(role: Role, file: &File) -> Option<Part<'_>> {
    let File { media_type, bytes, name } = file;
    match (role, media_type.as_str()) {
        (Role::User, "application/pdf") => {
            Some(Part::InputFile { filename: name, file_data: data_url(media_type, bytes) })
        }
        (Role::User, picture) if is_picture(picture) => {
            Some(Part::InputImage { image_url: data_url(picture, bytes), detail: "auto" })
        }
        (Role::User | Role::Assistant, _) => text_part(role, format!("[file {name} ({media_type})]")),
    }
}

/// What the API takes as a picture.
fn is_picture(media_type: &str) -> bool {
    matches!(media_type, "image/png" | "image/jpeg" | "image/gif" | "image/webp")
}

fn data_url(media_type: &str, bytes: &[u8]) -> String {
    format!("data:{media_type};base64,{}", BASE64_STANDARD.encode(bytes))
}
