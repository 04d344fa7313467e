//! Turns as the `messages` of a request.
//!
//! The results of a turn come before the rest of it, since what follows a call must be its result.
//! Late tools stand in `tools` and not here; reasoning is nobody's to replay on this wire. What a
//! model wrote as a call goes back such that every server takes it, or one bad call would end its
//! conversation.

use std::borrow::Cow;

use base64::{Engine, prelude::BASE64_STANDARD};
use colloquy_core::{
    block::{Block, File, ToolCall, ToolResult},
    message::Role,
    prepare::{PreparedConversation, PreparedTurn},
};
use serde::{Serialize, de::IgnoredAny};

use super::Flavor;

/// The longest name that servers take.
const NAME_CHARS_MAX: usize = 64;
/// Between the blocks of a user's message and between turns that are joined.
const SEPARATOR: &str = "\n\n";

/// One member of `messages`.
#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub(super) enum Message<'a> {
    System {
        content: Cow<'a, str>,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        /// Left out of a turn that only calls.
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

/// Text alone is one string.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Debug, Serialize)]
pub(super) struct ImageUrl {
    url: String,
    detail: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Call<'a> {
    Function { id: &'a str, function: Function<'a> },
}

#[derive(Debug, Serialize)]
pub(super) struct Function<'a> {
    name: Cow<'a, str>,
    arguments: Cow<'a, str>,
}

/// Everything the model is shown, in the order in which it is sent.
pub(super) fn of(prepared: &PreparedConversation, flavor: Flavor) -> Vec<Message<'_>> {
    let mut messages = system(prepared, flavor);
    for message in prepared.turns.iter().flat_map(|turn| of_turn(turn, flavor)) {
        let refused = match messages.last_mut().filter(|_| flavor.renders_template()) {
            Some(last) => last.join(message),
            None => Some(message),
        };
        messages.extend(refused);
    }
    messages
}

/// Skills, then the system text. An empty system message is not the same as none: some templates
/// put a default in its place.
fn system(prepared: &PreparedConversation, flavor: Flavor) -> Vec<Message<'_>> {
    let system = Some(Cow::Borrowed(prepared.system.as_str())).filter(|system| !system.is_empty());
    let texts = prepared.skills.iter().map(|skill| Cow::Owned(skill.text())).chain(system);
    if !flavor.renders_template() {
        return texts.map(|content| Message::System { content }).collect();
    }
    let joined = texts.reduce(|mut joined, text| {
        let whole = joined.to_mut();
        whole.push_str(SEPARATOR);
        whole.push_str(&text);
        joined
    });
    joined.map(|content| Message::System { content }).into_iter().collect()
}

fn of_turn(turn: &PreparedTurn, flavor: Flavor) -> Vec<Message<'_>> {
    match turn.role {
        Role::User => {
            let results = turn.blocks.iter().filter_map(Block::as_result);
            let rest = user_content(&turn.blocks).map(|content| Message::User { content });
            results.map(result).chain(rest).collect()
        }
        Role::Assistant => {
            let calls = turn.blocks.iter().filter_map(Block::as_call);
            let tool_calls: Vec<_> = calls.map(|made| call(made, flavor)).collect();
            let content = assistant_text(&turn.blocks);
            let says_anything = content.is_some() || !tool_calls.is_empty();
            says_anything.then_some(Message::Assistant { content, tool_calls }).into_iter().collect()
        }
    }
}

fn result(result: &ToolResult) -> Message<'_> {
    // The wire has no flag for a failure; the text of the result says so.
    Message::Tool { tool_call_id: &result.call_id, content: &result.text }
}

fn call(call: &ToolCall, flavor: Flavor) -> Call<'_> {
    let (name, arguments) = (name(&call.name, "unnamed"), arguments(&call.input, flavor));
    Call::Function { id: &call.id, function: Function { name, arguments } }
}

/// The arguments as they were written. Templates read them as an object, and a server that renders
/// one refuses a whole conversation over a call that was cut or malformed; there they are wrapped.
fn arguments(written: &str, flavor: Flavor) -> Cow<'_, str> {
    let is_object =
        || written.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(written).is_ok();
    if !flavor.renders_template() || is_object() {
        return Cow::Borrowed(written);
    }
    if written.trim().is_empty() {
        return Cow::Borrowed("{}");
    }
    Cow::Owned(serde_json::json!({ "unreadable": written }).to_string())
}

/// A name as OpenAI takes it: letters, digits, `_` and `-`.
pub(super) fn name<'a>(name: &'a str, fallback: &'a str) -> Cow<'a, str> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() {
        return Cow::Borrowed(fallback);
    }
    if name.len() <= NAME_CHARS_MAX && name.chars().all(is_allowed) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.chars().map(|c| if is_allowed(c) { c } else { '_' }).take(NAME_CHARS_MAX).collect())
}

/// The text of an answer as it was streamed, so that an engine finds it in its cache.
fn assistant_text(blocks: &[Block]) -> Option<Cow<'_, str>> {
    let texts = blocks.iter().filter_map(text).filter(|text| !text.is_empty());
    texts.reduce(|mut whole, text| {
        whole.to_mut().push_str(&text);
        whole
    })
}

fn user_content(blocks: &[Block]) -> Option<Content<'_>> {
    blocks.iter().filter_map(content).reduce(Content::join)
}

/// A block of a user's turn; nothing where it is told elsewhere or not at all.
fn content(block: &Block) -> Option<Content<'_>> {
    match block {
        Block::Image(image) if is_picture(&image.media_type) => {
            Some(picture(&image.media_type, &image.bytes))
        }
        Block::File(file) if is_picture(&file.media_type) => Some(picture(&file.media_type, &file.bytes)),
        Block::Text(_)
        | Block::Value(_)
        | Block::Json(_)
        | Block::ToolDefinition(_)
        | Block::Image(_)
        | Block::File(_)
        | Block::ToolCall(_)
        | Block::ToolResult(_)
        | Block::Reasoning(_)
        | Block::RedactedReasoning(_)
        | Block::Skill(_) => text(block).filter(|text| !text.is_empty()).map(Content::Text),
    }
}

/// A block as text, where it has a text form.
fn text(block: &Block) -> Option<Cow<'_, str>> {
    match block {
        Block::Text(text) | Block::Json(text) => Some(Cow::Borrowed(text)),
        Block::Value(value) => Some(Cow::Borrowed(&value.shown)),
        Block::Skill(skill) => Some(Cow::Owned(skill.mention())),
        Block::Image(image) => Some(Cow::Owned(image.placeholder())),
        Block::File(File { media_type, name, .. }) => {
            Some(Cow::Owned(format!("[file {name} ({media_type})]")))
        }
        Block::ToolDefinition(_)
        | Block::ToolCall(_)
        | Block::ToolResult(_)
        | Block::Reasoning(_)
        | Block::RedactedReasoning(_) => None,
    }
}

/// What servers with vision take as a picture.
fn is_picture(media_type: &str) -> bool {
    matches!(media_type, "image/png" | "image/jpeg" | "image/gif" | "image/webp")
}

fn picture(media_type: &str, bytes: &[u8]) -> Content<'static> {
    let url = format!("data:{media_type};base64,{}", BASE64_STANDARD.encode(bytes));
    Content::Parts(vec![Part::ImageUrl { image_url: ImageUrl { url, detail: "auto" } }])
}

impl<'a> Message<'a> {
    /// Takes the text of a message of the same role; gives back what has to stand by itself.
    fn join(&mut self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::User { content }, Self::User { content: more }) => {
                let whole = std::mem::replace(content, Content::Parts(Vec::new())).join(more);
                *content = whole;
                None
            }
            (
                Self::Assistant { content: Some(content), tool_calls },
                Self::Assistant { content: more, tool_calls: calls },
            ) if tool_calls.is_empty() => {
                if let Some(more) = more {
                    append(content, &more);
                }
                *tool_calls = calls;
                None
            }
            (
                Self::System { .. } | Self::User { .. } | Self::Assistant { .. } | Self::Tool { .. },
                other
                @ (Self::System { .. } | Self::User { .. } | Self::Assistant { .. } | Self::Tool { .. }),
            ) => Some(other),
        }
    }
}

impl<'a> Content<'a> {
    fn join(self, more: Self) -> Self {
        match (self, more) {
            (Self::Text(mut text), Self::Text(more)) => {
                append(&mut text, &more);
                Self::Text(text)
            }
            (whole, more) => {
                let mut parts = whole.into_parts();
                parts.extend(more.into_parts());
                Self::Parts(parts)
            }
        }
    }

    fn into_parts(self) -> Vec<Part<'a>> {
        match self {
            Self::Text(text) => vec![Part::Text { text }],
            Self::Parts(parts) => parts,
        }
    }
}

fn append(text: &mut Cow<'_, str>, more: &str) {
    let text = text.to_mut();
    text.push_str(SEPARATOR);
    text.push_str(more);
}
