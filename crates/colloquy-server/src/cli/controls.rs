//! Characters that steer a terminal instead of being read, made visible.
//!
//! Names, answers and errors come from models, files and other servers. Printed as they are they
//! could move the cursor, retitle the window or turn the reading direction of what stands beside
//! them. Only new lines and tabs are let through, and in a table not even those.

use std::borrow::Cow;

/// Text of any number of lines. A carriage return is left out: before a new line it means nothing,
/// elsewhere it would write over what was read already.
pub(super) fn visible(text: &str) -> Cow<'_, str> {
    replaced(
        text,
        |c| !matches!(c, '\n' | '\t') && steers(c),
        |c, out| {
            if c != '\r' {
                out.extend(c.escape_default());
            }
        },
    )
}

/// Text that must stay on its line.
pub(super) fn visible_in_line(text: &str) -> Cow<'_, str> {
    replaced(
        text,
        |c| steers(c) || matches!(c, '\u{2028}' | '\u{2029}'),
        |c, out| out.extend(c.escape_default()),
    )
}

/// A JSON document, which stays the same document: such characters stand in its strings only.
pub(super) fn visible_in_json(text: &str) -> Cow<'_, str> {
    let is_layout = |c| matches!(c, '\n' | '\r' | '\t');
    replaced(text, |c| !is_layout(c) && steers(c), |c, out| out.push_str(&format!("\\u{:04x}", u32::from(c))))
}

fn replaced(text: &str, is_meant: impl Fn(char) -> bool, escape: impl Fn(char, &mut String)) -> Cow<'_, str> {
    if !text.contains(&is_meant) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_meant(c) {
            escape(c, &mut out);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// The C0 and C1 controls, and those that turn the reading direction.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_made_visible_and_the_rest_is_kept() {
        let plain = "Übergröße\n\t1. naïve 日本語 👍";
        assert!(matches!(visible(plain), Cow::Borrowed(text) if text == plain));
        assert_eq!(visible("a\r\nb\x1b]0;x\x07\u{9b}2J\x7f"), "a\nb\\u{1b}]0;x\\u{7}\\u{9b}2J\\u{7f}");
        assert_eq!(visible("\u{202e}cod.exe\u{2069}\u{200f}"), "\\u{202e}cod.exe\\u{2069}\\u{200f}");
    }

    #[test]
    fn in_a_line_new_lines_and_tabs_are_visible_too() {
        assert_eq!(visible_in_line("a\n\tb\r\u{2028}"), "a\\n\\tb\\r\\u{2028}");
    }

    #[test]
    fn a_json_document_stays_the_same_document() {
        let document = serde_json::json!({ "name": "a\u{9b}\u{202e}\u{7f}\n" });
        let text = serde_json::to_string_pretty(&document).unwrap();
        let shown = visible_in_json(&text);
        assert!(shown.contains("\\u009b\\u202e\\u007f"), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), document);
    }
}
