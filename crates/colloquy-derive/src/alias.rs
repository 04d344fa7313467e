//! Which aliases name a type. The same grammar as `colloquy_core::artifact::is_alias`, told while
//! the program is compiled.

use syn::{LitStr, Result};

/// First words that have a meaning of their own, with that meaning.
const TAKEN: [(&str, &str); 2] =
    [("artifact", "it begins every reference"), ("list", "it is the alias of `ListArtifact`")];

/// Refuses what is no alias.
pub(crate) fn check(alias: &LitStr) -> Result<()> {
    let text = alias.value();
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    if !text.split(':').all(is_word) {
        let message = "an alias is words of a-z, 0-9 and _ joined by colons, from the general to the particular, \
                       such as \"link:cite\"";
        return Err(syn::Error::new(alias.span(), message));
    }
    let first = text.split(':').next();
    match TAKEN.iter().find(|(word, _)| Some(*word) == first) {
        Some((word, why)) => Err(syn::Error::new(
            alias.span(),
            format!("an alias cannot begin with {word:?}: {why}; use another word"),
        )),
        None => Ok(()),
    }
}
