//! Cutting a text that is too large to be summarised at once: between paragraphs, else between
//! sentences, else between words, else anywhere. The pieces together are the text.

/// Where a text may be cut, the better places first.
const BOUNDARIES: [fn(&str) -> Option<usize>; 3] = [after_paragraph, after_sentence, after_word];

/// Pieces of at most `chars_max` characters, at least 1, none empty; joined they are `text`.
pub fn pieces(text: &str, chars_max: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(piece_end(rest, chars_max.max(1)));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Bytes of the first piece.
fn piece_end(text: &str, chars_max: usize) -> usize {
    let Some((limit, _)) = text.char_indices().nth(chars_max) else { return text.len() };
    let fits = &text[..limit];
    BOUNDARIES.iter().find_map(|boundary| boundary(fits)).unwrap_or(limit)
}

/// The end of the last paragraph that is whole.
fn after_paragraph(text: &str) -> Option<usize> {
    text.rfind("\n\n").map(|start| start + 2)
}

/// The end of the last sentence that is whole, with the space behind it.
fn after_sentence(text: &str) -> Option<usize> {
    [". ", "! ", "? ", ".\n", "!\n", "?\n"]
        .iter()
        .filter_map(|end| text.rfind(end))
        .max()
        .map(|start| start + 2)
}

/// The end of the last word that is whole, with the white space behind it.
fn after_word(text: &str) -> Option<usize> {
    let (start, space) = text.char_indices().rev().find(|(_, character)| character.is_whitespace())?;
    Some(start + space.len_utf8())
}

#[cfg(test)]
mod tests;
