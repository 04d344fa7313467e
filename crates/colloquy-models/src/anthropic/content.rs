//! Blocks as the content of a Messages request.
//!
//! The results of a turn come before the rest of it, since the API wants them right behind their
//! calls. A late tool stands in `tools` and not here; unsigned reasoning is nobody's to replay; blank
//! text is refused, so it is not sent.

use std::borrow::Cow;

use base64::{Engine, prelude::BASE64_STANDARD};
use colloquy_core::{
    block::{Block, File, Image, Reasoning, ToolCall, ToolResult},
    message::Role,
    prepare::PreparedTurn,
};
use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};

use super::{call_ids::CallIds, marks::Outline};

/// A block of a message.
#[derive(Serialize)]
pub(super) struct WireBlock<'a> {
    #[serde(flatten)]
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cache_control: Option<CacheControl>,
}

/// The mark behind which the provider keeps what it has read, for five minutes.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum CacheControl {
    Ephemeral,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        source: Source<'a>,
    },
    Document {
        source: Source<'a>,
        #[serde(skip_serializing_if = "str::is_empty")]
        title: &'a str,
    },
    ToolUse {
        id: String,
        name: &'a str,
        input: Input<'a>,
    },
    ToolResult {
        tool_use_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<&'a str>,
        is_error: bool,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
}

#[derive(Serialize)]
struct Source<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: String,
}

/// The arguments of a call. The API takes an object and nothing else.
#[derive(Serialize)]
#[serde(untagged)]
enum Input<'a> {
    /// As the model wrote it.
    Object(&'a RawValue),
    /// None, where a model wrote nothing.
    Empty {},
    /// What it wrote where that is no object, such as a call that a limit cut: the model is shown
    /// its own words beside the result that refuses them.
    Unparsed { unparsed: &'a str },
}

/// One turn on the wire.
pub(super) struct WireTurn<'a> {
    pub(super) role: Role,
    /// Empty where nothing of it can be told.
    pub(super) content: Vec<WireBlock<'a>>,
    /// How many blocks the next request holds as well.
    n_stable: usize,
}

impl WireTurn<'_> {
    /// What decides about its marks.
    pub(super) fn outline(&self) -> Outline {
        Outline {
            role: self.role,
            has_results: self.content.iter().any(WireBlock::is_result),
            anchor: self.content[..self.n_stable].iter().rposition(WireBlock::can_be_marked),
        }
    }
}

impl WireBlock<'_> {
    fn is_result(&self) -> bool {
        matches!(self.content, Content::ToolResult { .. })
    }

    /// The provider refuses a mark on reasoning and on what is empty.
    fn can_be_marked(&self) -> bool {
        match &self.content {
            Content::Text { .. }
            | Content::Image { .. }
            | Content::Document { .. }
            | Content::ToolUse { .. }
            | Content::ToolResult { content: Some(_), .. } => true,
            Content::ToolResult { content: None, .. }
            | Content::Thinking { .. }
            | Content::RedactedThinking { .. } => false,
        }
    }
}

/// Encodes the turns of one request, oldest first.
#[derive(Default)]
pub(super) struct Contents<'a> {
    ids: CallIds<'a>,
    /// The types of the files that were left out.
    pub(super) dropped: Vec<String>,
}

impl<'a> Contents<'a> {
    /// One turn, its results first.
    pub(super) fn of_turn(&mut self, turn: &'a PreparedTurn) -> WireTurn<'a> {
        let mut blocks: Vec<(Content<'a>, bool)> = Vec::with_capacity(turn.blocks.len());
        for (at, block) in turn.blocks.iter().enumerate() {
            let content = self.of_block(turn.role, block);
            blocks.extend(content.map(|content| (content, at < turn.n_stable)));
        }
        if blocks.is_empty() {
            // A person who sends nothing but a file of another type has still said something.
            let name =
                |block: &'a Block| if let Block::File(file) = block { Some(text_form(file)) } else { None };
            let named = turn.blocks.iter().enumerate();
            let named = named.filter_map(|(at, block)| Some((name(block)?, at < turn.n_stable)));
            blocks.extend(named.map(|(text, is_stable)| (Content::Text { text: text.into() }, is_stable)));
        }
        blocks.sort_by_key(|(content, _)| !matches!(content, Content::ToolResult { .. }));
        let n_stable = blocks.iter().take_while(|(_, is_stable)| *is_stable).count();
        let block = |(content, _)| WireBlock { content, cache_control: None };
        WireTurn { role: turn.role, content: blocks.into_iter().map(block).collect(), n_stable }
    }

    fn of_block(&mut self, role: Role, block: &'a Block) -> Option<Content<'a>> {
        match block {
            Block::Text(text) | Block::Json(text) => shown(text.as_str()),
            Block::Value(value) => shown(value.shown.as_str()),
            Block::Skill(skill) => shown(skill.mention()),
            Block::Image(image) => of_image(role, image),
            Block::File(file) => self.of_file(role, file),
            Block::ToolCall(call) => Some(self.of_call(call)),
            Block::ToolResult(result) => Some(self.of_result(result)),
            Block::Reasoning(reasoning) => of_reasoning(reasoning),
            Block::RedactedReasoning(data) => Some(Content::RedactedThinking { data }),
            Block::ToolDefinition(_) => None,
        }
    }

    fn of_file(&mut self, role: Role, file: &'a File) -> Option<Content<'a>> {
        let File { media_type, bytes, name } = file;
        match role {
            Role::User => {}
            // A model cannot have sent a file.
            Role::Assistant => return shown(text_form(file)),
        }
        let source = |bytes| Source { r#type: "base64", media_type, data: BASE64_STANDARD.encode(bytes) };
        match media_type.as_str() {
            "application/pdf" => Some(Content::Document { source: source(bytes), title: name }),
            picture if is_picture(picture) => Some(Content::Image { source: source(bytes) }),
            _ => {
                self.dropped.push(media_type.clone());
                None
            }
        }
    }

    fn of_call(&mut self, call: &'a ToolCall) -> Content<'a> {
        Content::ToolUse { id: self.ids.of_call(&call.id), name: &call.name, input: input(&call.input) }
    }

    fn of_result(&mut self, result: &'a ToolResult) -> Content<'a> {
        Content::ToolResult {
            tool_use_id: self.ids.of_result(&result.call_id),
            content: Some(result.text.as_str()).filter(|text| !text.trim().is_empty()),
            is_error: result.is_error,
        }
    }
}

fn shown<'a>(text: impl Into<Cow<'a, str>>) -> Option<Content<'a>> {
    let text = text.into();
    (!text.trim().is_empty()).then_some(Content::Text { text })
}

fn input(text: &str) -> Input<'_> {
    if text.trim().is_empty() {
        return Input::Empty {};
    }
    // Read as values first: half of a surrogate pair passes as raw text, and the API refuses it.
    let is_object = serde_json::from_str::<Map<String, Value>>(text).is_ok();
    match serde_json::from_str(text.trim()) {
        Ok(object) if is_object => Input::Object(object),
        Ok(_) | Err(_) => Input::Unparsed { unparsed: text },
    }
}

/// A picture in a format that the API knows; one whose type says nothing of a picture is taken for a
/// PNG. Under another type the API would refuse this request and every later one.
fn of_image(role: Role, image: &Image) -> Option<Content<'_>> {
    let Image { media_type, bytes, description: _ } = image;
    let sent_as = if is_picture(media_type) {
        Some(media_type.as_str())
    } else {
        (!media_type.starts_with("image/")).then_some("image/png")
    };
    match (role, sent_as) {
        (Role::User, Some(media_type)) => {
            let data = BASE64_STANDARD.encode(bytes);
            Some(Content::Image { source: Source { r#type: "base64", media_type, data } })
        }
        // A model cannot have sent a picture.
        (Role::User | Role::Assistant, _) => shown(image.placeholder()),
    }
}

/// Only reasoning that its model signed is replayed.
fn of_reasoning(reasoning: &Reasoning) -> Option<Content<'_>> {
    let Reasoning { text, signature } = reasoning;
    Some(Content::Thinking { thinking: text, signature: signature.as_deref()? })
}

fn text_form(file: &File) -> String {
    format!("[file {}]", file.name)
}

fn is_picture(media_type: &str) -> bool {
    matches!(media_type, "image/png" | "image/jpeg" | "image/gif" | "image/webp")
}

#[cfg(test)]
mod tests;
