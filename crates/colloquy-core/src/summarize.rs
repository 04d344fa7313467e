//! Long fields in short (reference § 11): how much of a text a summary keeps, the truncation that
//! needs no model, and what a model is asked where one may be.
//!
//! A summary always says how long the text is, so that a reader knows that there is more. Asking
//! is the caller's; whatever fails there, the truncation holds.

mod pieces;
mod prompt;

pub use pieces::pieces;
pub use prompt::{combined, prompt};

/// Longest text that is shown whole when its field says nothing else, in characters.
pub const THRESHOLD_CHARS: usize = 8_000;
/// Longest text that a model is asked to summarise, in characters.
pub const LLM_CHARS_MAX: usize = 200_000;
/// After how long a summary is given up, in milliseconds.
pub const LLM_TIMEOUT_MS: u64 = 360_000;
/// Characters before the end of a cut in which a boundary is looked for.
const BOUNDARY_CHARS: usize = 50;

/// How long a summary is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SummarySize {
    /// 200 characters.
    Brief,
    /// 500 characters.
    #[default]
    Short,
    /// 1,200 characters.
    Paragraphs,
}

/// A field that may be summarised, as its type's author marked it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summarizable {
    /// What matters in it.
    pub hint: Option<String>,
    /// How long its summary is.
    pub size: SummarySize,
    /// Longest text that is shown whole, in characters; 8,000 when not said.
    pub threshold: Option<usize>,
    /// Whether a model may be asked.
    pub llm_safe: bool,
    /// The summary, where it is always the same.
    pub static_summary: Option<String>,
}

/// How a text is summarised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// It is short enough to be shown whole.
    Whole,
    /// This is its summary, no model is asked.
    Ready(String),
    /// A model is asked for a summary of that size; [`shortened`] stands in where that fails.
    Ask {
        /// How long the summary shall be.
        size: SummarySize,
        /// Most tokens the model may write.
        max_tokens: u32,
    },
}

impl SummarySize {
    /// Most characters that a truncation keeps.
    pub fn chars(self) -> usize {
        match self {
            Self::Brief => 200,
            Self::Short => 500,
            Self::Paragraphs => 1_200,
        }
    }

    /// Most tokens that a model may write for it: room to think, and a stop for one that rambles.
    pub fn max_tokens(self) -> u32 {
        match self {
            Self::Brief => 768,
            Self::Short => 1_536,
            Self::Paragraphs => 3_072,
        }
    }

    /// Its name in a schema.
    pub fn name(self) -> &'static str {
        match self {
            Self::Brief => "brief",
            Self::Short => "short",
            Self::Paragraphs => "paragraphs",
        }
    }

    /// The size of that name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Brief, Self::Short, Self::Paragraphs].into_iter().find(|size| size.name() == name)
    }
}

impl Summarizable {
    /// What holds for a text whose author said nothing.
    pub(crate) const DEFAULT: Self =
        Self { hint: None, size: SummarySize::Short, threshold: None, llm_safe: false, static_summary: None };
}

/// Whether `text` is shown whole.
pub fn is_short(text: &str, field: &Summarizable) -> bool {
    let threshold = field.threshold.unwrap_or(THRESHOLD_CHARS);
    // A character is at least one byte.
    text.len() <= threshold || text.chars().count() <= threshold
}

/// What to do with a text. The static summary wins over a model.
pub fn plan(text: &str, field: &Summarizable) -> Plan {
    let Some(ready) = shortened(text, field) else { return Plan::Whole };
    let may_ask = field.llm_safe && field.static_summary.is_none();
    if may_ask && text.chars().count() <= LLM_CHARS_MAX {
        return Plan::Ask { size: field.size, max_tokens: field.size.max_tokens() };
    }
    Plan::Ready(ready)
}

/// The bare summary that needs no model: the static one, else the beginning of the text, cut where
/// a word or a sentence ends. `None` when `text` is short enough to be shown whole.
pub fn shortened(text: &str, field: &Summarizable) -> Option<String> {
    if is_short(text, field) {
        return None;
    }
    Some(field.static_summary.clone().unwrap_or_else(|| cut(text, field.size.chars())))
}

/// `[SUMMARY: N chars] …` by truncation; `None` when `text` is short enough to be shown whole.
pub fn truncated(text: &str, field: &Summarizable) -> Option<String> {
    Some(framed(text, &shortened(text, field)?))
}

/// A summary as a model reads it: with the length of the text it stands for.
pub fn framed(text: &str, summary: &str) -> String {
    format!("[SUMMARY: {} chars] {summary}", text.chars().count())
}

/// What a model wrote, if it serves as a summary of `text`: there is something, and it is shorter.
pub fn accepted(text: &str, written: &str) -> Option<String> {
    let written = written.trim();
    (!written.is_empty() && written.chars().count() < text.chars().count()).then(|| written.to_owned())
}

/// The first `chars_max` characters, cut at a boundary where one is near.
fn cut(text: &str, chars_max: usize) -> String {
    let end = text.char_indices().nth(chars_max).map_or(text.len(), |(index, _)| index);
    let kept = &text[..end];
    if end == text.len() {
        return kept.trim().to_owned();
    }
    let mut last = kept.char_indices().rev().take(BOUNDARY_CHARS);
    let boundary = last.find(|(_, character)| matches!(character, ' ' | '.' | ',' | '\n'));
    let kept = boundary.map_or(kept, |(index, _)| &kept[..index]);
    format!("{}...", kept.trim())
}

#[cfg(test)]
mod tests;
