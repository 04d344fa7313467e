//! What a model reads of artifacts: the registry as a whole, and values that hold some (reference
//! § 10.4, 10.5, 11). Nothing that is made here is ever read back into the registry.

use std::{iter, sync::Arc};

use serde_json::{Map, Value, json};

use super::{
    ArtifactRef, LIST_ALIAS, Registry, Types, is_a,
    mark::{self, Mark},
    nearest,
    registry::shallow,
    scope::Scope,
};
use crate::{
    schema::{Descriptor, Shape},
    summarize::{self, Summarizable},
};

const HEADER: &str = "=== ARTIFACT REGISTRY ===\n\
    Long texts are shown as summaries that say how long the text is. get_artifact_field reads a field in \
    full, search_artifact_content searches the text of every artifact, also of those that are not shown.";
/// Elements that the digest of a list shows.
const SAMPLE_MAX: usize = 3;

/// A text that is too long to be shown whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongText<'a> {
    /// The artifact that holds it; `None` in other values.
    pub holder: Option<&'a ArtifactRef>,
    /// Where in the artifact or value, as a JSON pointer.
    pub pointer: &'a str,
    /// The text.
    pub text: &'a str,
    /// How it may be shortened.
    pub field: &'a Summarizable,
}

/// Shortens a text to its bare summary; `None` shows it whole.
pub(super) type Shorten<'a> = &'a mut dyn FnMut(LongText<'_>) -> Option<String>;

/// How an artifact inside a value is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nested {
    Reference,
    Content,
}

/// One walk.
struct View<'a, 'b> {
    registry: &'a Registry,
    types: &'a Types,
    nested: Nested,
    shorten: Shorten<'b>,
}

/// Whose text the walk is in, and where.
#[derive(Clone)]
struct Spot<'a> {
    holder: Option<&'a ArtifactRef>,
    pointer: String,
}

impl Registry {
    /// The registry as the model reads it, a turn of its own; `None` when nothing is listed. What
    /// was rendered is kept, so that each artifact is rendered once, its texts are shortened once,
    /// and a dump costs no more than its length.
    pub fn dump(&mut self, types: &Types) -> Option<String> {
        self.dump_with(types, &mut shorten)
    }

    /// The texts that [`Self::dump`] is about to cut although a model may be asked for a summary,
    /// and has not been. Each is passed to `ask`; [`Self::note_summary`] takes the answers.
    pub fn wanting_summaries(&self, types: &Types, ask: &mut dyn FnMut(LongText<'_>)) {
        let mut note = |long: LongText<'_>| {
            if long.field.llm_safe && long.field.static_summary.is_none() {
                ask(long);
            }
            None
        };
        let is_stale = !self.was_rendered_with(types);
        for (position, entry) in self.entries.iter().enumerate() {
            if entry.artifact.top_level && (is_stale || entry.rendered.is_none()) {
                self.rendered(position, types, &mut note);
            }
        }
    }

    /// What the model reads of a value that was registered: marks become `{"@ref": …}`, long
    /// fields that are marked for it summaries, ignored fields and absent ones nothing.
    pub fn shown(&self, value: &Value, descriptor: Option<&Descriptor>) -> String {
        self.shown_with(value, descriptor, &mut shorten)
    }

    pub(super) fn dump_with(&mut self, types: &Types, shorten: Shorten<'_>) -> Option<String> {
        self.forget_other_renderings(types);
        let mut dump = HEADER.to_owned();
        let mut is_empty = true;
        for position in 0..self.entries.len() {
            if !self.entries[position].artifact.top_level {
                continue;
            }
            is_empty = false;
            let rendered = self.entries[position].rendered.clone();
            let rendered = rendered.unwrap_or_else(|| self.rendered(position, types, shorten));
            dump.extend(["\n--- ", self.entries[position].artifact.reference.as_str(), " ---\n", &rendered]);
            self.entries[position].rendered = Some(rendered);
        }
        (!is_empty).then_some(dump)
    }

    pub(super) fn shown_with(
        &self,
        value: &Value,
        descriptor: Option<&Descriptor>,
        shorten: Shorten<'_>,
    ) -> String {
        let types = Types::new();
        let mut view = View { registry: self, types: &types, nested: Nested::Reference, shorten };
        let spot = Spot { holder: None, pointer: String::new() };
        let root = Scope::root(None);
        view.value(value, &root.enter(descriptor.map(|descriptor| &descriptor.root)), &spot).to_string()
    }

    /// The text of one artifact in the dump.
    fn rendered(&self, position: usize, types: &Types, shorten: Shorten<'_>) -> Arc<str> {
        let mut view = View { registry: self, types, nested: Nested::Content, shorten };
        let artifact = &self.entries[position].artifact;
        let root = Scope::root(None);
        // What cannot be read in full is shown with references in the place of what it holds.
        let marked = self
            .marked_at(position)
            .unwrap_or_else(|| mark::full(&artifact.reference, shallow(artifact, &reference_alone)));
        view.value(&marked, &root, &Spot { holder: None, pointer: String::new() }).to_string().into()
    }

    /// Types are learned as tools are declared; what was rendered without them is stale.
    fn was_rendered_with(&self, types: &Types) -> bool {
        let known = &self.rendered_with;
        known.len() == types.len()
            && iter::zip(known, types).all(|(a, b)| a.0 == b.0 && Arc::ptr_eq(a.1, b.1))
    }

    fn forget_other_renderings(&mut self, types: &Types) {
        if !self.was_rendered_with(types) {
            self.rendered_with.clone_from(types);
            self.entries.iter_mut().for_each(|entry| entry.rendered = None);
        }
    }
}

/// Shortens without a model.
fn shorten(long: LongText<'_>) -> Option<String> {
    summarize::shortened(long.text, long.field)
}

impl View<'_, '_> {
    fn value(&mut self, value: &Value, scope: &Scope<'_>, spot: &Spot<'_>) -> Value {
        if let Some(Mark { alias, reference: Some(reference), value }) = Mark::of(value) {
            return match self.nested {
                Nested::Reference => reference_alone(&reference),
                Nested::Content if is_list(alias, value) => self.digest(&reference, value, scope),
                Nested::Content => self.artifact(&reference, value, scope),
            };
        }
        match value {
            Value::String(text) => self.text(text, scope, spot),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                let shown = |(index, item): (usize, &Value)| {
                    self.value(item, &scope.enter(scope.item()), &spot.below(&index.to_string()))
                };
                Value::Array(items.map(shown).collect())
            }
            Value::Object(members) => Value::Object(self.members(members, scope, spot)),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn members(
        &mut self,
        members: &Map<String, Value>,
        scope: &Scope<'_>,
        spot: &Spot<'_>,
    ) -> Map<String, Value> {
        let is_typed = matches!(scope.shape(), Shape::Object(_));
        let mut shown = Map::new();
        for (key, member) in members {
            let node = scope.member(key);
            // In a type an absent field and a null one are the same; in a map null is a value.
            let is_absent = member.is_null() && is_typed;
            if !is_absent && !node.is_some_and(|node| node.ignored) {
                shown.insert(key.clone(), self.value(member, &scope.enter(node), &spot.below(key)));
            }
        }
        shown
    }

    /// An artifact with its content: what it holds, and the reference it is selected by.
    fn artifact(&mut self, reference: &ArtifactRef, value: &Value, scope: &Scope<'_>) -> Value {
        let types = self.types;
        let spot = Spot { holder: Some(reference), pointer: String::new() };
        let content = match nearest(reference.alias(), types) {
            Some(known) => scope.enter(Some(&known.root)),
            None => scope.content(),
        };
        let shown = self.value(value, &content, &spot);
        let mut artifact = if shown.is_object() { shown } else { json!({ "value": shown }) };
        artifact["artifact_ref"] = reference.as_str().into();
        artifact
    }

    /// A list: how many it holds, and the first few.
    fn digest(&mut self, reference: &ArtifactRef, list: &Value, scope: &Scope<'_>) -> Value {
        let items = list["iterands"].as_array().map_or(&[][..], Vec::as_slice);
        let content = scope.content();
        let holder = content.enter(content.member("iterands"));
        let item = holder.enter(holder.item());
        let spot = Spot { holder: Some(reference), pointer: "/iterands".into() };
        let sample = items.iter().take(SAMPLE_MAX).enumerate();
        let sample = sample.map(|(index, value)| self.value(value, &item, &spot.below(&index.to_string())));
        let sample = Value::Array(sample.collect());
        let mut digest = json!({
            "artifact_ref": reference.as_str(),
            "iterand_type": list["iterand_type"],
            "count": items.len(),
        });
        digest["sample"] = sample;
        digest
    }

    fn text(&mut self, text: &str, scope: &Scope<'_>, spot: &Spot<'_>) -> Value {
        let marked = scope.node().and_then(|node| node.summarizable.as_ref());
        let field = match (marked, spot.holder) {
            (Some(field), _) => field,
            // The rest of an artifact's text is a call away, whatever its author marked.
            (None, Some(_)) => &Summarizable::DEFAULT,
            (None, None) => return text.into(),
        };
        if summarize::is_short(text, field) {
            return text.into();
        }
        let noted = spot.holder.and_then(|holder| {
            let position = self.registry.position(holder)?;
            self.registry.entries[position].artifact.summaries.get(&spot.pointer)
        });
        let long = LongText { holder: spot.holder, pointer: &spot.pointer, text, field };
        let summary = noted.cloned().or_else(|| (self.shorten)(long));
        summary.map_or_else(|| text.into(), |summary| summarize::framed(text, &summary).into())
    }
}

/// An artifact by its reference alone.
pub(super) fn reference_alone(reference: &ArtifactRef) -> Value {
    json!({ "@ref": reference.as_str() })
}

/// Whether an artifact is shown as the digest of a list.
fn is_list(alias: &str, value: &Value) -> bool {
    is_a(alias, LIST_ALIAS) && value["iterands"].is_array()
}

impl Spot<'_> {
    fn below(&self, key: &str) -> Self {
        let key = key.replace('~', "~0").replace('/', "~1");
        Self { holder: self.holder, pointer: format!("{}/{key}", self.pointer) }
    }
}

#[cfg(test)]
mod tests;
