//! Keeps text that is not ours from forging a role border (design § 9, control tokens).
//!
//! An engine tokenises the rendered chat with its special tokens on, so a control token that is
//! written out in a question, a tool result or an attachment would act as one. Breaking puts a
//! word joiner, which nobody sees, behind the token's first character. Only what is sent is
//! broken; stored text is never touched.

use std::{borrow::Cow, sync::LazyLock};

/// The word joiner: no width, no line break, and not part of any control token.
const JOINER: char = '\u{2060}';

/// Longest name between the bars of a `<|name|>` marker, in characters.
const BAR_NAME_CHARS_MAX: usize = 64;

/// The control tokens of a loaded model, or the known markers where its vocabulary cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlTokens {
    /// Read from the model's own vocabulary.
    Vocabulary(Vocabulary),
    /// Not readable: `<|…|>`, `<think>`, `[INST]` and their like.
    KnownMarkers,
}

/// Control tokens, arranged so that a text is searched in one pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vocabulary {
    /// Sorted, and no token is the beginning of another: a longer one begins where the shorter one
    /// does, so breaking the shorter one breaks both.
    tokens: Vec<String>,
}

impl ControlTokens {
    /// The control tokens as a vocabulary lists them. Tokens of one character and blank ones are
    /// left out: they cannot be broken, and they forge nothing.
    pub fn vocabulary(tokens: Vec<String>) -> Self {
        Self::Vocabulary(Vocabulary::new(tokens))
    }

    /// `text` with every control token in it broken, overlapping ones too. A text without any is
    /// returned as it is.
    pub fn break_in<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self {
            Self::Vocabulary(vocabulary) => {
                let first_bytes = vocabulary.first_bytes();
                break_where(text, |rest| {
                    first_bytes[usize::from(rest.as_bytes()[0])] && vocabulary.begins(rest)
                })
            }
            Self::KnownMarkers => break_where(text, known_marker_begins),
        }
    }
}

impl Vocabulary {
    fn new(mut tokens: Vec<String>) -> Self {
        tokens.retain(|token| is_breakable(token));
        tokens.sort_unstable();
        // Sorted, a token's extensions come right after it, and `dedup_by` compares each with the
        // last one kept.
        tokens.dedup_by(|longer, kept| longer.starts_with(kept.as_str()));
        Self { tokens }
    }

    /// Whether `text` begins with a token: if one does, it is the last that sorts at or before
    /// `text`, for whatever sorts between the two would begin with it.
    fn begins(&self, text: &str) -> bool {
        let after = self.tokens.partition_point(|token| token.as_str() <= text);
        self.tokens[..after].last().is_some_and(|token| text.starts_with(token.as_str()))
    }

    /// Most characters of a text begin no token; this table says so without a search.
    fn first_bytes(&self) -> [bool; 256] {
        let mut table = [false; 256];
        for token in &self.tokens {
            table[usize::from(token.as_bytes()[0])] = true;
        }
        table
    }
}

fn is_breakable(token: &str) -> bool {
    token.chars().nth(1).is_some() && !token.trim().is_empty() && !token.contains(JOINER)
}

/// Puts a joiner behind the first character of every rest of `text` for which `begins` holds.
fn break_where(text: &str, begins: impl Fn(&str) -> bool) -> Cow<'_, str> {
    let mut broken = String::new();
    let mut n_copied = 0;
    for (at, first) in text.char_indices() {
        if begins(&text[at..]) {
            let behind_first = at + first.len_utf8();
            broken.push_str(&text[n_copied..behind_first]);
            broken.push(JOINER);
            n_copied = behind_first;
        }
    }
    if n_copied == 0 {
        return Cow::Borrowed(text);
    }
    broken.push_str(&text[n_copied..]);
    Cow::Owned(broken)
}

fn known_marker_begins(text: &str) -> bool {
    match text.as_bytes()[0] {
        b'<' => bar_marker_begins(text) || KNOWN.begins(text),
        b'[' => KNOWN.begins(text),
        _ => false,
    }
}

/// Whether `text` begins with `<|name|>`, or the same with the full-width bars that some families
/// write. A name has at least one character and no white space.
fn bar_marker_begins(text: &str) -> bool {
    ['|', '｜'].into_iter().any(|bar| {
        let Some(name_on) = text.strip_prefix('<').and_then(|rest| rest.strip_prefix(bar)) else {
            return false;
        };
        name_on
            .char_indices()
            .take(BAR_NAME_CHARS_MAX + 1)
            .take_while(|(_, character)| !character.is_whitespace())
            .skip(1)
            .any(|(at, _)| name_on[at..].strip_prefix(bar).is_some_and(|rest| rest.starts_with('>')))
    })
}

/// Written-out markers of common families, all of which begin with `<` or `[`.
static KNOWN: LazyLock<Vocabulary> = LazyLock::new(|| {
    let markers = [
        "<s>",
        "</s>",
        "<bos>",
        "<eos>",
        "<pad>",
        "<unk>",
        "<mask>",
        "<sop>",
        "<eop>",
        "<eod>",
        "<<SYS>>",
        "<</SYS>>",
        "[INST]",
        "[/INST]",
        "[SYSTEM_PROMPT]",
        "[/SYSTEM_PROMPT]",
        "[AVAILABLE_TOOLS]",
        "[/AVAILABLE_TOOLS]",
        "[TOOL_CALLS]",
        "[TOOL_RESULTS]",
        "[/TOOL_RESULTS]",
        "[TOOL_CONTENT]",
        "[CALL_ID]",
        "[ARGS]",
        "[IMG]",
        "[IMG_BREAK]",
        "[IMG_END]",
        "[gMASK]",
        "[THINK]",
        "[/THINK]",
        "<think>",
        "</think>",
        "<start_of_turn>",
        "<end_of_turn>",
        "<start_of_image>",
        "<end_of_image>",
        "<image_soft_token>",
        "<end_of_utterance>",
        "<tool_call>",
        "</tool_call>",
        "<tool_response>",
        "</tool_response>",
        "<tools>",
        "</tools>",
    ];
    Vocabulary::new(markers.map(str::to_owned).to_vec())
});

#[cfg(test)]
mod tests;
