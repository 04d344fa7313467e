//! The two tools that read the registry: one field in full, and a search through all texts
//! (reference § 10.7). Lengths and positions count characters.

use serde_json::Value;

use super::{
    Artifact, ArtifactRef, Registry, Types, find_text::Needle, nearest, registry::shallow, scope::Scope,
    view::reference_alone,
};

/// Most characters that the snippets of one search hold together, so that no search can fill a
/// context; the number of places found is told in full.
const SNIPPETS_CHARS_MAX: usize = 200_000;
/// Most characters that a snippet shows on either side.
const CONTEXT_CHARS_MAX: usize = 50_000;

/// Why a registry tool refuses its input. Never quotes it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// No such artifact.
    #[error("no artifact has that reference")]
    NotFound,
    /// No such field.
    #[error("the artifact has no such field; it has {}", known.join(", "))]
    NoSuchField {
        /// Those there are.
        known: Vec<String>,
    },
    /// A number out of its range.
    #[error("{0}")]
    OutOfRange(&'static str),
}

/// A piece of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPiece {
    /// The piece; `None` where the field is null.
    pub content: Option<String>,
    /// The field, by its name on the wire.
    pub field_name: String,
    /// Characters of the whole field.
    pub length: usize,
    /// Whether characters follow the piece.
    pub truncated: bool,
}

/// A place where a text was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// In which artifact.
    pub artifact_ref: ArtifactRef,
    /// In which field, nested ones by their path; [`Registry::field`] takes it.
    pub field_name: String,
    /// Characters before it in the field.
    pub position: usize,
    /// The place with its surroundings, `...` where they are cut.
    pub snippet: String,
}

/// What to search for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search<'a> {
    /// Exact but for case; not empty.
    pub query: &'a str,
    /// Only artifacts whose alias contains this.
    pub artifact_type: Option<&'a str>,
    /// Only this artifact.
    pub artifact_ref: Option<&'a str>,
    /// At most so many matches are given, at least 1. Fewer where their snippets come to more
    /// than 200,000 characters.
    pub max_results: i64,
    /// Characters on either side, at least 0; above 50,000 counts as 50,000.
    pub context_chars: i64,
}

impl Registry {
    /// The tool `get_artifact_field`: at most `max_chars` characters of a field after the first
    /// `offset`. The field is named as on the wire, in camel or snake case, or by its path
    /// (`authors[0].name`). Fields that a model is not to read do not exist here.
    pub fn field(
        &self,
        types: &Types,
        reference: &str,
        field: &str,
        offset: i64,
        max_chars: i64,
    ) -> Result<FieldPiece, LookupError> {
        let artifact = self.find(reference).ok_or(LookupError::NotFound)?;
        let offset =
            usize::try_from(offset).map_err(|_| LookupError::OutOfRange("offset must be 0 or more"))?;
        let max_chars = usize::try_from(max_chars).ok().filter(|max| *max > 0);
        let max_chars = max_chars.ok_or(LookupError::OutOfRange("max_chars must be 1 or more"))?;
        let readable = readable(artifact, types, &reference_alone);
        let Some((field_name, value)) = find_field(&readable, field) else {
            let known = readable.as_object().into_iter().flatten().map(|(name, _)| name.clone());
            return Err(LookupError::NoSuchField { known: known.collect() });
        };
        let text = match value {
            Value::Null => return Ok(FieldPiece { content: None, field_name, length: 0, truncated: false }),
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
        };
        let length = text.chars().count();
        let content = text.chars().skip(offset).take(max_chars).collect();
        let truncated = length > offset.saturating_add(max_chars);
        Ok(FieldPiece { content: Some(content), field_name, length, truncated })
    }

    /// The tool `search_artifact_content`: the matches that fit, and how many places there are in
    /// all, in the texts of every artifact. An artifact inside another one is searched once, as
    /// itself.
    pub fn search(&self, types: &Types, search: &Search<'_>) -> Result<(Vec<Match>, usize), LookupError> {
        let needle = Needle::new(search.query).ok_or(LookupError::OutOfRange("query must not be empty"))?;
        let max_results = usize::try_from(search.max_results).ok().filter(|max| *max > 0);
        let max_results = max_results.ok_or(LookupError::OutOfRange("max_results must be 1 or more"))?;
        let context = usize::try_from(search.context_chars);
        let context = context.map_err(|_| LookupError::OutOfRange("context_chars must be 0 or more"))?;
        let only =
            search.artifact_ref.map(|written| self.find(written).ok_or(LookupError::NotFound)).transpose()?;
        let context = context.min(CONTEXT_CHARS_MAX);
        let mut hits =
            Hits { needle, max_results, context, matches: Vec::new(), snippets_chars: 0, total: 0 };
        let is_searched = |artifact: &&Artifact| {
            search.artifact_type.is_none_or(|part| artifact.alias.contains(part))
                && only.is_none_or(|only| only.reference == artifact.reference)
        };
        for artifact in self.all().filter(is_searched) {
            let readable = readable(artifact, types, &|_| Value::Null);
            hits.look_in(&artifact.reference, "", &readable);
        }
        Ok((hits.matches, hits.total))
    }
}

/// What a model may read of an artifact, with `nested` in the place of each one inside it.
fn readable(artifact: &Artifact, types: &Types, nested: &dyn Fn(&ArtifactRef) -> Value) -> Value {
    let mut value = shallow(artifact, nested);
    let descriptor = nearest(&artifact.alias, types);
    let root = Scope::root(None);
    drop_ignored(&mut value, &root.enter(descriptor.map(|descriptor| &descriptor.root)));
    value
}

fn drop_ignored(value: &mut Value, scope: &Scope<'_>) {
    match value {
        Value::Array(items) => {
            items.iter_mut().for_each(|item| drop_ignored(item, &scope.enter(scope.item())))
        }
        Value::Object(members) => {
            members.retain(|key, _| !scope.member(key).is_some_and(|node| node.ignored));
            members
                .iter_mut()
                .for_each(|(key, member)| drop_ignored(member, &scope.enter(scope.member(key))));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The field of that name, or at that path, with its name on the wire.
fn find_field<'a>(value: &'a Value, name: &str) -> Option<(String, &'a Value)> {
    find_member(value, name).or_else(|| {
        let mut place = (String::new(), value);
        for step in name.split('.') {
            let (member, indices) = step.split_once('[').unwrap_or((step, ""));
            let (found, inner) = find_member(place.1, member)?;
            place = (join(&place.0, &found), inner);
            for index in indices.split('[').filter(|index| !index.is_empty()) {
                let index: usize = index.strip_suffix(']')?.parse().ok()?;
                place = (format!("{}[{index}]", place.0), place.1.get(index)?);
            }
        }
        Some(place)
    })
}

/// The member of that name, or of that name in another case style.
fn find_member<'a>(value: &'a Value, name: &str) -> Option<(String, &'a Value)> {
    let members = value.as_object()?;
    let plain = |name: &str| name.replace('_', "").to_lowercase();
    let exact = members.get_key_value(name);
    let found = exact.or_else(|| members.iter().find(|(known, _)| plain(known) == plain(name)));
    found.map(|(known, value)| (known.clone(), value))
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// What was found so far.
struct Hits {
    needle: Needle,
    max_results: usize,
    context: usize,
    matches: Vec<Match>,
    snippets_chars: usize,
    total: usize,
}

impl Hits {
    fn look_in(&mut self, reference: &ArtifactRef, path: &str, value: &Value) {
        match value {
            Value::String(text) => self.look_in_text(reference, path, text),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.look_in(reference, &format!("{path}[{index}]"), item);
                }
            }
            Value::Object(members) => {
                members.iter().for_each(|(name, member)| self.look_in(reference, &join(path, name), member));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn look_in_text(&mut self, reference: &ArtifactRef, path: &str, text: &str) {
        let places = self.needle.places(text);
        self.total += places.len();
        let characters: Vec<char> = if places.is_empty() { Vec::new() } else { text.chars().collect() };
        for (start, end) in places {
            if self.matches.len() >= self.max_results || self.snippets_chars >= SNIPPETS_CHARS_MAX {
                return;
            }
            let (from, to) = (start.saturating_sub(self.context), (end + self.context).min(characters.len()));
            let mut snippet = String::from(if from > 0 { "..." } else { "" });
            snippet.extend(&characters[from..to]);
            snippet.push_str(if to < characters.len() { "..." } else { "" });
            self.snippets_chars += to - from;
            self.matches.push(Match {
                artifact_ref: reference.clone(),
                field_name: path.to_owned(),
                position: start,
                snippet,
            });
        }
    }
}

#[cfg(test)]
mod tests;
