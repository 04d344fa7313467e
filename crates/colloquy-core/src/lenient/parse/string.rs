//! Texts between quotes of any kind.

use std::str::Chars;

/// The characters that end a text which begins with `quote`; `None` when no text begins so.
pub(super) fn closers(quote: char) -> Option<&'static [char]> {
    match quote {
        '"' => Some(&['"']),
        '\'' => Some(&['\'']),
        // A typographic quote opens as it closes, depending on the language.
        '“' | '”' | '„' | '‟' => Some(&['“', '”', '‟']),
        '‘' | '’' | '‚' | '‛' => Some(&['‘', '’', '‛']),
        _ => None,
    }
}

/// Reads the text at the start of `source`, and gives what follows it. `None` when it has no end.
pub(super) fn read(source: &str) -> Option<(String, &str)> {
    let mut chars = source.chars();
    let closers = closers(chars.next()?)?;
    let mut text = String::new();
    loop {
        match chars.next()? {
            '\\' => escape(&mut chars, &mut text)?,
            c if closers.contains(&c) => return Some((text, chars.as_str())),
            c => text.push(c),
        }
    }
}

fn escape(chars: &mut Chars<'_>, text: &mut String) -> Option<()> {
    match chars.next()? {
        'n' => text.push('\n'),
        't' => text.push('\t'),
        'r' => text.push('\r'),
        'b' => text.push('\u{8}'),
        'f' => text.push('\u{c}'),
        'u' => match unicode(chars) {
            Some(c) => text.push(c),
            None => text.push_str("\\u"),
        },
        // An escape that JSON does not have is a backslash that was not doubled, as in a pattern
        // or a formula. Nothing of it is lost.
        c if c.is_ascii_alphanumeric() => text.extend(['\\', c]),
        c => text.push(c),
    }
    Some(())
}

/// The character that four hex digits name, or two such escapes that make a pair. Reads nothing
/// when there are no four digits.
fn unicode(chars: &mut Chars<'_>) -> Option<char> {
    let first = hex(chars)?;
    let mut ahead = chars.clone();
    let is_high = (0xd800..0xdc00).contains(&first);
    if is_high
        && ahead.next() == Some('\\')
        && ahead.next() == Some('u')
        && let Some(second @ 0xdc00..0xe000) = hex(&mut ahead)
    {
        *chars = ahead;
        return char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
    }
    // Half a pair has no character.
    Some(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
}

fn hex(chars: &mut Chars<'_>) -> Option<u32> {
    let digits = chars.as_str().get(..4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
    let value = u32::from_str_radix(digits, 16).ok()?;
    chars.nth(3);
    Some(value)
}
