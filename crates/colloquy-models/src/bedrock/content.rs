//! Blocks as the content of a Converse message.
//!
//! They come out of [`flatten`](colloquy_core::text_tools::flatten), so calls, results and tools are
//! text already. Pictures and documents are native where Converse has their format; a document's
//! name is part of what the model reads and must be unique in a request.

use std::{borrow::Cow, collections::HashSet};

use base64::{Engine, prelude::BASE64_STANDARD};
use colloquy_core::{
    block::{Block, File, Image, Reasoning},
    message::Role,
    prepare::PreparedTurn,
};
use serde::Serialize;

/// The longest name a document may have.
const DOCUMENT_NAME_CHARS_MAX: usize = 200;
/// The name of a document that has none left.
const DOCUMENT_NAME: &str = "document";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Image { format: &'static str, source: Source },
    Document { format: &'static str, name: String, source: Source },
    ReasoningContent(ReasoningContent<'a>),
}

#[derive(Serialize)]
pub(super) struct Source {
    /// Base64.
    bytes: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum ReasoningContent<'a> {
    ReasoningText {
        text: &'a str,
        signature: &'a str,
    },
    /// Base64, as it came.
    RedactedContent(&'a str),
}

/// Encodes the turns of one request, oldest first.
#[derive(Default)]
pub(super) struct Contents {
    names: HashSet<String>,
    /// The types of the files that were left out.
    pub(super) dropped: Vec<String>,
}

impl Contents {
    /// The content of one turn; empty where nothing of it can be told.
    pub(super) fn of_turn<'a>(&mut self, turn: &'a PreparedTurn) -> Vec<Content<'a>> {
        let mut content: Vec<_> =
            turn.blocks.iter().filter_map(|block| self.of_block(turn.role, block)).collect();
        // Converse refuses documents without a text beside them, and a person who sends nothing but
        // a file of another type has still said something.
        if !content.iter().any(|content| matches!(content, Content::Text(_))) {
            let files = turn.blocks.iter().filter_map(|block| match block {
                Block::File(file) => Some(text_form(file)),
                Block::Text(_)
                | Block::Value(_)
                | Block::Json(_)
                | Block::ToolDefinition(_)
                | Block::Image(_)
                | Block::ToolCall(_)
                | Block::ToolResult(_)
                | Block::Reasoning(_)
                | Block::RedactedReasoning(_)
                | Block::Skill(_) => None,
            });
            content.extend(files.map(|text| Content::Text(text.into())));
        }
        content
    }

    fn of_block<'a>(&mut self, role: Role, block: &'a Block) -> Option<Content<'a>> {
        match block {
            Block::Text(text) | Block::Json(text) => shown(text.as_str()),
            Block::Value(value) => shown(value.shown.as_str()),
            Block::Image(image) => of_image(role, image),
            Block::File(file) => self.of_file(role, file),
            Block::Reasoning(reasoning) => of_reasoning(reasoning),
            Block::RedactedReasoning(data) => {
                Some(Content::ReasoningContent(ReasoningContent::RedactedContent(data)))
            }
            Block::ToolDefinition(_) | Block::ToolCall(_) | Block::ToolResult(_) | Block::Skill(_) => None,
        }
    }

    fn of_file<'a>(&mut self, role: Role, file: &File) -> Option<Content<'a>> {
        match role {
            Role::User => {}
            // A model cannot have sent a file.
            Role::Assistant => return shown(text_form(file)),
        }
        if let Some(format) = picture_format(&file.media_type) {
            return Some(Content::Image { format, source: source(&file.bytes) });
        }
        let Some(format) = document_format(&file.media_type) else {
            self.dropped.push(file.media_type.clone());
            return None;
        };
        let name = self.unique(document_name(&file.name));
        Some(Content::Document { format, name, source: source(&file.bytes) })
    }

    /// The name, or the name with the first free number behind it.
    fn unique(&mut self, name: String) -> String {
        let numbered = (2_u32..).map(|n| format!("{name} {n}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !self.names.contains(name));
        let free = free.expect("BUG: numbers do not run out");
        self.names.insert(free.clone());
        free
    }
}

/// Converse refuses blank text.
fn shown<'a>(text: impl Into<Cow<'a, str>>) -> Option<Content<'a>> {
    let text = text.into();
    (!text.trim().is_empty()).then_some(Content::Text(text))
}

fn of_image<'a>(role: Role, image: &Image) -> Option<Content<'a>> {
    let Image { media_type, bytes, description: _ } = image;
    match (role, picture_format(media_type)) {
        (Role::User, Some(format)) => Some(Content::Image { format, source: source(bytes) }),
        (Role::User | Role::Assistant, _) => shown(image.placeholder()),
    }
}

/// Only reasoning that its model signed is replayed; models without signatures refuse their own.
fn of_reasoning(reasoning: &Reasoning) -> Option<Content<'_>> {
    let Reasoning { text, signature } = reasoning;
    let signature = signature.as_deref()?;
    Some(Content::ReasoningContent(ReasoningContent::ReasoningText { text, signature }))
}

fn text_form(file: &File) -> String {
    format!("[file {}]", file.name)
}

fn source(bytes: &[u8]) -> Source {
    Source { bytes: BASE64_STANDARD.encode(bytes) }
}

fn picture_format(media_type: &str) -> Option<&'static str> {
    match media_type {
        "image/png" => Some("png"),
        "image/jpeg" => Some("jpeg"),
        "image/gif" => Some("gif"),
        "image/webp" => Some("webp"),
        _ => None,
    }
}

fn document_format(media_type: &str) -> Option<&'static str> {
    match media_type.split(';').next().unwrap_or_default().trim() {
        "application/pdf" => Some("pdf"),
        "application/msword" => Some("doc"),
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document" => Some("docx"),
        "application/vnd.ms-excel" => Some("xls"),
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" => Some("xlsx"),
        "text/csv" => Some("csv"),
        "text/html" => Some("html"),
        "text/plain" => Some("txt"),
        "text/markdown" => Some("md"),
        _ => None,
    }
}

/// A name in the characters that Converse takes: Latin letters, digits, hyphens, brackets and
/// single spaces.
fn document_name(name: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "-()[]".contains(c) { c } else { ' ' };
    let name: String = name.chars().map(allowed).collect();
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    // What is left is ASCII, so a character is a byte; room is kept for a number.
    let name = name[..name.len().min(DOCUMENT_NAME_CHARS_MAX - 11)].trim_end();
    if name.is_empty() { DOCUMENT_NAME.to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests;
