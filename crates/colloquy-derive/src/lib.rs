//! `#[derive(Artifact)]`: the alias of a type that travels by reference, and what its fields say
//! about how a model reads them.
//!
//! The macro only writes down what the attributes say; every rule about artifacts lives in
//! `colloquy-core`. What it cannot accept is a compile error that says what to write instead.

mod alias;
mod attributes;
mod expand;
mod wire_name;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements `colloquy::artifact::Artifact` for a struct with named fields that is
/// `serde::Serialize`, `serde::Deserialize` and `schemars::JsonSchema`.
///
/// On the struct:
///
/// * `#[artifact(alias = "link:cite")]`, required: words of `[a-z0-9_]` joined by colons, from the
///   general to the particular. An artifact `link:cite:pubmed` is accepted where `link:cite` is
///   asked for.
///
/// On a field:
///
/// * `#[artifact(ignore)]`: a model never reads it.
/// * `#[artifact(summarize)]`: a model reads a summary of a long text. In parentheses, each
///   optional: `size = "brief" | "short" | "paragraphs"` (short), `threshold = CHARACTERS` (8000),
///   `hint = "what matters"`, `llm_safe` (a model may be asked for the summary),
///   `static_summary = "always this"`.
///
/// Names on the wire follow serde's `rename` and `rename_all`.
#[proc_macro_derive(Artifact, attributes(artifact))]
pub fn derive_artifact(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::expand(&input).unwrap_or_else(|error| error.into_compile_error()).into()
}
