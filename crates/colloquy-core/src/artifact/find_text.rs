//! Finding a text in another one, upper and lower case alike, overlapping places included.
//!
//! Both are compared in lower case, character by character of the original, so that positions
//! count its characters even where lower case is longer ("İ"). Linear in both texts.

/// A text to look for.
pub(super) struct Needle {
    folded: Vec<char>,
    /// For each length that matched, the longest shorter one that still does (Knuth, Morris and
    /// Pratt).
    fallback: Vec<usize>,
}

impl Needle {
    /// `None` for a text without characters.
    pub(super) fn new(query: &str) -> Option<Self> {
        let folded: Vec<char> = query.chars().flat_map(char::to_lowercase).collect();
        let mut fallback = vec![0; folded.len()];
        let mut matched = 0;
        for index in 1..folded.len() {
            while matched > 0 && folded[index] != folded[matched] {
                matched = fallback[matched - 1];
            }
            matched += usize::from(folded[index] == folded[matched]);
            fallback[index] = matched;
        }
        (!folded.is_empty()).then_some(Self { folded, fallback })
    }

    /// Where it stands in `text`: the characters before each place, and those up to its end.
    pub(super) fn places(&self, text: &str) -> Vec<(usize, usize)> {
        let mut places = Vec::new();
        // The character of the text that each folded one came from.
        let mut origins = Vec::with_capacity(text.len());
        let mut matched = 0;
        for (index, character) in text.chars().enumerate() {
            for folded in character.to_lowercase() {
                origins.push(index);
                while matched > 0 && folded != self.folded[matched] {
                    matched = self.fallback[matched - 1];
                }
                matched += usize::from(folded == self.folded[matched]);
                if matched == self.folded.len() {
                    places.push((origins[origins.len() - matched], index + 1));
                    matched = self.fallback[matched - 1];
                }
            }
        }
        places
    }
}

#[cfg(test)]
mod tests;
