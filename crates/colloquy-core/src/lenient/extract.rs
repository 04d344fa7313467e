//! Finds the JSON in a text: one pass, brackets counted, strings skipped.

use std::ops::Range;

use crate::schema::{Descriptor, Shape};

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// An object; a list only where there is no object.
    Object,
    /// A list; an object only where there is no list.
    List,
    /// Whichever comes last.
    Either,
}

/// A text taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found<'a> {
    /// The last balanced span of the kind that was wanted.
    pub(crate) json: Option<&'a str>,
    /// The text without it, trimmed.
    pub(crate) around: String,
    /// The text without any object: what a person can read.
    pub(crate) prose: String,
}

impl Wanted {
    /// What a type can be read from. A citation such as `[1]` behind an object is no answer.
    pub(crate) fn by(descriptor: &Descriptor) -> Self {
        match &descriptor.root.shape {
            Shape::Object(_) | Shape::Map(_) | Shape::Artifact { .. } | Shape::Reference(_) => Self::Object,
            Shape::Array(_) => Self::List,
            Shape::Any
            | Shape::String
            | Shape::Date
            | Shape::DateTime
            | Shape::Integer { .. }
            | Shape::Number
            | Shape::Boolean
            | Shape::Enum(_) => Self::Either,
        }
    }
}

/// Takes a text apart.
pub(crate) fn find(text: &str, wanted: Wanted) -> Found<'_> {
    let spans = spans(text);
    let is_object = |span: &&Range<usize>| text[span.start..].starts_with('{');
    let chosen = match wanted {
        Wanted::Object => spans.iter().rfind(is_object),
        Wanted::List => spans.iter().rfind(|span| !is_object(span)),
        Wanted::Either => None,
    };
    let chosen = chosen.or(spans.last()).cloned();
    let around = without(text, chosen.iter());
    let is_data =
        |span: &&Range<usize>| is_object(span) || wanted == Wanted::List && Some(*span) == chosen.as_ref();
    let prose = without(text, spans.iter().filter(is_data));
    let json = chosen.map(|span| &text[span]);
    Found { json, around, prose }
}

/// The balanced top-level spans. A closer outside of any is ignored, and a span that is closed by
/// the wrong bracket is none.
fn spans(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let (mut start, mut depth) = (0, 0_usize);
    let (mut in_string, mut is_escaped) = (false, false);
    for (index, byte) in text.bytes().enumerate() {
        if in_string {
            in_string = is_escaped || byte != b'"';
            is_escaped = !is_escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_string = depth > 0,
            b'{' | b'[' => {
                if depth == 0 {
                    start = index;
                }
                depth += 1;
            }
            b'}' | b']' if depth > 0 => {
                depth -= 1;
                let is_closed = matches!((text.as_bytes()[start], byte), (b'{', b'}') | (b'[', b']'));
                if depth == 0 && is_closed {
                    spans.push(start..index + 1);
                }
            }
            _ => {}
        }
    }
    spans
}

/// The text without some spans and the code fences around them.
fn without<'a>(text: &str, spans: impl Iterator<Item = &'a Range<usize>>) -> String {
    let mut pieces = Vec::new();
    let mut end = 0;
    let mut is_fenced = false;
    for span in spans {
        let before = unfenced_start(&text[end..span.start], is_fenced);
        let fence = before.rfind("```").filter(|fence| is_label(&before[fence + 3..]));
        is_fenced = fence.is_some();
        pieces.push(fence.map_or(before, |fence| &before[..fence]).trim());
        end = span.end;
    }
    pieces.push(unfenced_start(&text[end..], is_fenced).trim());
    pieces.retain(|piece| !piece.is_empty());
    pieces.join("\n")
}

/// The text behind a span without the end of the fence that it stood in.
fn unfenced_start(text: &str, is_fenced: bool) -> &str {
    let unfenced = text.trim_start().strip_prefix("```").filter(|_| is_fenced);
    unfenced.unwrap_or(text)
}

/// Whether only the name of a language stands between a fence and what it holds.
fn is_label(text: &str) -> bool {
    text.trim().chars().all(char::is_alphanumeric)
}
