//! A request as the positions where a cache can have an entry.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value};

use super::MARKS_MAX;

/// How many bytes of a block's JSON are counted as one token.
const BYTES_PER_TOKEN: usize = 4;

/// The end of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position {
    /// Stands for everything up to it.
    pub(super) prefix: u64,
    /// Tokens up to it.
    pub(super) n_tokens: u64,
    pub(super) is_marked: bool,
}

/// Why a provider would not take a request's marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There are more than [`MARKS_MAX`].
    #[error("a request has {n_marks} cache marks; at most {MARKS_MAX} are taken")]
    TooManyMarks {
        /// How many there are.
        n_marks: usize,
    },
    /// Reasoning cannot be marked.
    #[error("a block of reasoning carries a cache mark")]
    MarkedReasoning,
    /// Empty text cannot be marked.
    #[error("an empty text block carries a cache mark")]
    MarkedEmptyText,
}

/// The positions of a request in the order the provider reads it: tools, system, messages.
pub(super) fn positions(body: &Value) -> Result<Vec<Position>, Refused> {
    let mut reader = Reader::default();
    for tool in list(&body["tools"]) {
        reader.block("tool", tool)?;
    }
    reader.content("system", &body["system"])?;
    // Other choices and other thinking are another prefix for messages, and for messages only.
    for member in ["tool_choice", "thinking"] {
        body[member].to_string().hash(&mut reader.hasher);
    }
    for message in list(&body["messages"]) {
        reader.content(message["role"].as_str().unwrap_or_default(), &message["content"])?;
    }
    let n_marks = reader.positions.iter().filter(|position| position.is_marked).count();
    if n_marks > MARKS_MAX {
        return Err(Refused::TooManyMarks { n_marks });
    }
    Ok(reader.positions)
}

#[derive(Default)]
struct Reader {
    hasher: DefaultHasher,
    n_tokens: u64,
    positions: Vec<Position>,
}

impl Reader {
    /// Content, which is a text or a list of blocks.
    fn content(&mut self, owner: &str, content: &Value) -> Result<(), Refused> {
        if content.is_string() {
            return self.block(owner, content);
        }
        list(content).iter().try_for_each(|block| self.block(owner, block))
    }

    fn block(&mut self, owner: &str, block: &Value) -> Result<(), Refused> {
        let is_marked = !block["cache_control"].is_null();
        if is_marked {
            check_mark(block)?;
        }
        let unmarked = match block {
            Value::Object(members) => Value::Object(without_mark(members)),
            other => other.clone(),
        };
        let text = unmarked.to_string();
        (owner, &text).hash(&mut self.hasher);
        self.n_tokens += text.len().div_ceil(BYTES_PER_TOKEN) as u64;
        self.positions.push(Position { prefix: self.hasher.finish(), n_tokens: self.n_tokens, is_marked });
        Ok(())
    }
}

fn check_mark(block: &Value) -> Result<(), Refused> {
    match block["type"].as_str() {
        Some("thinking" | "redacted_thinking") => Err(Refused::MarkedReasoning),
        Some("text") if block["text"] == "" => Err(Refused::MarkedEmptyText),
        Some(_) | None => Ok(()),
    }
}

fn without_mark(members: &Map<String, Value>) -> Map<String, Value> {
    members.iter().filter(|(name, _)| *name != "cache_control").map(|(k, v)| (k.clone(), v.clone())).collect()
}

/// The members of a list; none of anything else.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
