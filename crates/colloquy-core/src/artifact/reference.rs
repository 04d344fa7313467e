//! References: `«artifact:alias~id»` in the forms that models write, and where a text or an answer
//! names them (reference § 10.2).

use std::collections::BTreeSet;

use serde_json::Value;

use super::{ID_CHARS, mark::Mark};

const OPEN: char = '«';
const CLOSE: char = '»';
const PREFIX: &str = "artifact:";

/// A canonical reference, `«artifact:alias~id»`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArtifactRef(String);

impl ArtifactRef {
    /// Normalises any form a model writes: with or without guillemets and `artifact:`. `None` for
    /// what has no alias or no id.
    pub fn parse(written: &str) -> Option<Self> {
        let bare = written.trim().trim_start_matches(OPEN).trim_end_matches(CLOSE).trim();
        let (alias, id) = bare.strip_prefix(PREFIX).unwrap_or(bare).split_once('~')?;
        Self::of(alias, id)
    }

    /// The reference of an artifact; `None` for an alias or an id that is none.
    pub fn of(alias: &str, id: &str) -> Option<Self> {
        let is_id = id.len() == ID_CHARS && id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        (is_id && is_alias(alias)).then(|| Self(format!("{OPEN}{PREFIX}{alias}~{id}{CLOSE}")))
    }

    /// The canonical form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part between `artifact:` and `~`.
    pub fn alias(&self) -> &str {
        let bare = &self.0[OPEN.len_utf8() + PREFIX.len()..];
        bare.split_once('~').expect("BUG: a canonical reference has an id").0
    }

    /// Every reference mentioned in a text, each once, in order. Only the form with guillemets is
    /// a mention: prose holds words like `a~b` that are none.
    pub fn mentioned_in(text: &str) -> Vec<Self> {
        let mut mentions = Mentions::default();
        mentions.read(text);
        mentions.found
    }
}

/// Whether `alias` can name a type: words of `[a-z0-9_]` joined by colons. The first one is not
/// `artifact`, which would read as the prefix of a reference.
pub fn is_alias(alias: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    alias.split(':').all(is_word) && alias.split(':').next() != Some("artifact")
}

/// Whether an artifact of `alias` is one of `general`: `link:cite:pubmed` is a `link:cite`.
pub fn is_a(alias: &str, general: &str) -> bool {
    alias.strip_prefix(general).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

/// The references of a response, each once: those it declares, in order, then those that the
/// strings of its answer mention, by first mention. What cannot be a reference is left out.
pub fn references<S: AsRef<str>>(declared: &[S], answer: &Value) -> Vec<ArtifactRef> {
    let mut mentions = Mentions::default();
    for reference in declared.iter().filter_map(|written| ArtifactRef::parse(written.as_ref())) {
        mentions.note(reference);
    }
    mentions.read_value(answer);
    mentions.found
}

/// References in the order they came up.
#[derive(Default)]
struct Mentions {
    found: Vec<ArtifactRef>,
    seen: BTreeSet<ArtifactRef>,
}

impl Mentions {
    fn note(&mut self, reference: ArtifactRef) {
        if self.seen.insert(reference.clone()) {
            self.found.push(reference);
        }
    }

    fn read(&mut self, text: &str) {
        // A mention that was never closed must not hide the next one.
        for piece in text.split(OPEN).skip(1) {
            let Some((inside, _)) = piece.split_once(CLOSE) else { continue };
            if inside.trim_start().starts_with(PREFIX)
                && let Some(reference) = ArtifactRef::parse(inside)
            {
                self.note(reference);
            }
        }
    }

    /// An artifact in the answer counts by its reference; what it holds is not the answer's.
    fn read_value(&mut self, value: &Value) {
        if let Some(mark) = Mark::of(value) {
            if let Some(reference) = mark.reference {
                self.note(reference);
            }
            return;
        }
        match value {
            Value::String(text) => self.read(text),
            Value::Array(items) => items.iter().for_each(|item| self.read_value(item)),
            Value::Object(members) => members.values().for_each(|member| self.read_value(member)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
