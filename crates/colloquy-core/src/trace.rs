//! The trace of an answer: what happened on the way to it, kept so that a reload can show it.
//!
//! A trace is stored in at most [`TRACE_LEN_MAX`] characters of JSON. What does not fit is dropped
//! from the old end, and a marker says so; a compaction is never dropped, for nothing else tells
//! the reader that the model no longer sees the beginning.

use serde_json::{Value, json};

/// Longest stored trace, in characters of ASCII-escaped JSON with a space behind `,` and `:`.
pub const TRACE_LEN_MAX: usize = 32_768;

/// One thing that happened on the way to an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum TraceEvent {
    /// A stretch of reasoning.
    Thinking {
        /// The reasoning.
        text: String,
    },
    /// A tool the model asked for.
    ToolCall {
        /// The tool's name.
        name: String,
        /// Its arguments.
        args: Value,
    },
    /// What a tool returned.
    ToolResult {
        /// The tool's name.
        name: String,
        /// What the model read.
        text: String,
    },
    /// A finished compaction.
    Compaction {
        /// The summary that now stands for the beginning.
        summary: String,
    },
}

/// An entry of a capped trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TraceEntry<'a> {
    /// An event that is kept.
    Event(&'a TraceEvent),
    /// Something older was dropped here.
    Truncated,
}

/// The stored form of a trace; `None` when nothing happened.
pub fn stored_trace(events: &[TraceEvent]) -> Option<Value> {
    let entries = capped(events);
    if entries.is_empty() {
        return None;
    }
    Some(entries.into_iter().map(TraceEntry::to_json).collect())
}

/// The entries that are stored: all of them where they fit, else the compactions, the marker and
/// the newest steps that fit beside them. The newest step stays even where it alone is too long.
pub fn capped(events: &[TraceEvent]) -> Vec<TraceEntry<'_>> {
    let sized: Vec<(&TraceEvent, usize)> =
        events.iter().map(|event| (event, json_len(&event.to_json()))).collect();
    if array_len(sized.iter().map(|(_, len)| *len)) <= TRACE_LEN_MAX {
        return events.iter().map(TraceEntry::Event).collect();
    }
    let (compactions, steps): (Vec<_>, Vec<_>) =
        sized.into_iter().partition(|(event, _)| matches!(event, TraceEvent::Compaction { .. }));
    let lead_len = array_len(
        compactions.iter().map(|(_, len)| *len).chain([json_len(&TraceEntry::Truncated.to_json())]),
    );
    let n_kept = n_newest_that_fit(&steps, lead_len);
    let is_marked = n_kept < steps.len() || compactions.is_empty();

    let mut entries: Vec<_> = compactions.iter().map(|(event, _)| TraceEntry::Event(event)).collect();
    if is_marked {
        entries.push(TraceEntry::Truncated);
    }
    entries.extend(steps[steps.len() - n_kept..].iter().map(|(event, _)| TraceEntry::Event(event)));
    entries
}

/// How many of the newest steps fit behind a lead of that length; at least one, if there is one.
fn n_newest_that_fit(steps: &[(&TraceEvent, usize)], lead_len: usize) -> usize {
    let n_fitting = steps
        .iter()
        .rev()
        .scan(lead_len, |len, (_, step_len)| {
            *len += SEPARATOR_LEN + step_len;
            Some(*len)
        })
        .take_while(|len| *len <= TRACE_LEN_MAX)
        .count();
    n_fitting.max(1).min(steps.len())
}

impl TraceEvent {
    /// The event as it is stored and sent.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Thinking { text } => json!({"t": "thinking", "text": text}),
            Self::ToolCall { name, args } => json!({"t": "tool_call", "name": name, "args": args}),
            Self::ToolResult { name, text } => json!({"t": "tool_result", "name": name, "text": text}),
            Self::Compaction { summary } => json!({"t": "compaction", "phase": "done", "summary": summary}),
        }
    }
}

impl TraceEntry<'_> {
    /// The entry as it is stored and sent.
    pub fn to_json(self) -> Value {
        match self {
            Self::Event(event) => event.to_json(),
            Self::Truncated => json!({"t": "truncated"}),
        }
    }
}

/// Length of a trace as [`TRACE_LEN_MAX`] measures it.
pub fn trace_len(events: &[TraceEvent]) -> usize {
    array_len(events.iter().map(|event| json_len(&event.to_json())))
}

/// What stands between two items.
const SEPARATOR_LEN: usize = ", ".len();

fn json_len(value: &Value) -> usize {
    match value {
        Value::Null => "null".len(),
        Value::Bool(true) => "true".len(),
        Value::Bool(false) => "false".len(),
        Value::Number(number) => number.to_string().len(),
        Value::String(text) => string_len(text),
        Value::Array(items) => array_len(items.iter().map(json_len)),
        Value::Object(members) => {
            array_len(members.iter().map(|(name, member)| string_len(name) + ": ".len() + json_len(member)))
        }
    }
}

/// Length of an array, or of an object, whose items have these lengths.
fn array_len(items: impl Iterator<Item = usize>) -> usize {
    let (n_items, len) = items.fold((0_usize, 0), |(n, sum), len| (n + 1, sum + len));
    "[]".len() + len + SEPARATOR_LEN * n_items.saturating_sub(1)
}

fn string_len(text: &str) -> usize {
    text.chars().map(escaped_len).sum::<usize>() + 2
}

fn escaped_len(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        ' '..='~' => 1,
        // One escape of four hex digits for each UTF-16 unit.
        _ => 6 * character.len_utf16(),
    }
}

#[cfg(test)]
mod tests;
