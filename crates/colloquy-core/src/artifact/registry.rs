//! The registry of a conversation: two tiers in one order, that of registration (reference
//! § 10.3).
//!
//! An artifact holds only those that were registered before it, so what it holds can be followed
//! to its end. What was registered is never changed: the same content gets the same reference,
//! other content another one (I11).

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use serde_json::Value;

use super::{
    Artifact, ArtifactRef, IdDraw, Types,
    mark::{self, Mark},
};

/// Most bytes that a full form may hold of artifacts that stand in it more than once. Each one that
/// holds another twice doubles it, so a few calls of one tool would fill the memory.
const REPEATED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// What an artifact costs in a full form beside its text.
const OVERHEAD_BYTES: usize = 256;

/// The artifacts of one conversation, in the order of their registration.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    pub(super) entries: Vec<Entry>,
    by_reference: HashMap<ArtifactRef, usize>,
    by_content: HashMap<Arc<str>, Vec<usize>>,
    /// The types that every kept rendering was made with.
    pub(super) rendered_with: Types,
}

/// An artifact and how the model reads it.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) artifact: Artifact,
    /// Its text in the dump, once it was needed.
    pub(super) rendered: Option<Arc<str>>,
}

/// Where a mark stands in a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Outermost,
    Inside,
}

/// A full form under way.
struct Expansion {
    seen: BTreeSet<usize>,
    /// What may still be repeated.
    left_bytes: usize,
}

impl Expansion {
    fn within(repeated_bytes: usize) -> Self {
        Self { seen: BTreeSet::new(), left_bytes: repeated_bytes }
    }
}

/// A registration under way.
struct Registration<'a> {
    registry: &'a mut Registry,
    ids: &'a mut dyn IdDraw,
    /// Positions of what is new or listed now.
    changed: BTreeSet<usize>,
}

impl Registry {
    /// A registry out of what was stored, in the order of registration.
    pub fn restored(artifacts: Vec<Artifact>) -> Self {
        let mut registry = Self::default();
        for artifact in artifacts {
            if !registry.by_reference.contains_key(&artifact.reference) {
                registry.push(artifact);
            }
        }
        registry
    }

    /// Registers every artifact marked in `value`: an outermost one is listed, those inside it are
    /// only found. References that are missing are minted and written into the marks of `value`.
    ///
    /// Content that is held under the reference it came with, or came without one, stays where it
    /// is, and costs nothing but the comparison. Gives what must be stored, in order: the artifacts
    /// that are new, and those that were only found and are listed now.
    pub fn register(&mut self, value: &mut Value, ids: &mut dyn IdDraw) -> Vec<Artifact> {
        let mut registration = Registration { registry: self, ids, changed: BTreeSet::new() };
        registration.take_in(value, Place::Outermost);
        let changed = registration.changed;
        changed.into_iter().map(|position| self.entries[position].artifact.clone()).collect()
    }

    /// The artifact of a reference in any form.
    pub fn find(&self, reference: &str) -> Option<&Artifact> {
        let position = self.position(&ArtifactRef::parse(reference)?)?;
        Some(&self.entries[position].artifact)
    }

    /// Those that are listed, in the order of registration.
    pub fn listed(&self) -> impl Iterator<Item = &Artifact> {
        self.artifacts().filter(|artifact| artifact.top_level)
    }

    /// All of them, the listed ones first, each tier in the order of registration.
    pub fn all(&self) -> impl Iterator<Item = &Artifact> {
        self.listed().chain(self.artifacts().filter(|artifact| !artifact.top_level))
    }

    /// How many are listed.
    pub fn n_listed(&self) -> usize {
        self.listed().count()
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// A registry of just these, each of them listed, with what is inside them. Order and bytes
    /// are those of this one; a reference that is not held is left out.
    pub fn only(&self, references: &[ArtifactRef]) -> Self {
        let asked: BTreeSet<usize> = references.iter().filter_map(|one| self.position(one)).collect();
        let (mut wanted, mut open) = (asked.clone(), asked.clone());
        while let Some(position) = open.pop_last() {
            let inside = self.inside(position);
            open.extend(inside.iter().filter(|inner| wanted.insert(**inner)));
        }
        let chosen = wanted.into_iter().map(|position| Artifact {
            top_level: asked.contains(&position),
            ..self.entries[position].artifact.clone()
        });
        Self::restored(chosen.collect())
    }

    /// The full form of the artifact behind a reference, marked. `None` when it, or one that it
    /// holds, is not here: a list is never shortened. Also `None` when it repeats artifacts inside
    /// it to more than 64 MiB.
    pub fn marked(&self, reference: &ArtifactRef) -> Option<Value> {
        self.marked_at(self.position(reference)?)
    }

    /// Notes a summary that was made by a model: its bare words, for the text at `pointer`.
    pub fn note_summary(&mut self, reference: &ArtifactRef, pointer: &str, summary: String) {
        let Some(position) = self.position(reference) else { return };
        self.entries[position].artifact.summaries.insert(pointer.to_owned(), summary);
        // Only what was registered later can show this one inside it.
        for entry in &mut self.entries[position..] {
            entry.rendered = None;
        }
    }

    pub(super) fn artifacts(&self) -> impl Iterator<Item = &Artifact> {
        self.entries.iter().map(|entry| &entry.artifact)
    }

    pub(super) fn position(&self, reference: &ArtifactRef) -> Option<usize> {
        self.by_reference.get(reference).copied()
    }

    pub(super) fn marked_at(&self, position: usize) -> Option<Value> {
        self.expanded(position, &mut Expansion::within(REPEATED_BYTES_MAX))
    }

    fn expanded(&self, position: usize, expansion: &mut Expansion) -> Option<Value> {
        let artifact = &self.entries[position].artifact;
        if !expansion.seen.insert(position) {
            expansion.left_bytes = expansion.left_bytes.checked_sub(artifact.json.len() + OVERHEAD_BYTES)?;
        }
        let value = mark::expand(&parsed(artifact)?, &mut |inner| {
            self.expanded(self.position(inner).filter(|earlier| *earlier < position)?, expansion)
        })?;
        Some(mark::full(&artifact.reference, value))
    }

    /// Positions of the artifacts directly inside one.
    fn inside(&self, position: usize) -> BTreeSet<usize> {
        let mut inside = BTreeSet::new();
        if let Some(value) = parsed(&self.entries[position].artifact) {
            let _ = mark::expand(&value, &mut |inner| {
                inside.extend(self.position(inner).filter(|earlier| *earlier < position));
                Some(Value::Null)
            });
        }
        inside
    }

    fn push(&mut self, artifact: Artifact) {
        let position = self.entries.len();
        self.by_reference.insert(artifact.reference.clone(), position);
        self.by_content.entry(Arc::clone(&artifact.json)).or_default().push(position);
        self.entries.push(Entry { artifact, rendered: None });
    }
}

/// The value of an artifact in the compact form. `None` when it nests deeper than JSON is read.
fn parsed(artifact: &Artifact) -> Option<Value> {
    serde_json::from_str(&artifact.json).ok()
}

/// The value of an artifact with `nested` in the place of each one inside it; its text where it
/// nests deeper than JSON is read.
pub(super) fn shallow(artifact: &Artifact, nested: &dyn Fn(&ArtifactRef) -> Value) -> Value {
    let value = parsed(artifact).and_then(|value| mark::expand(&value, &mut |inner| Some(nested(inner))));
    value.unwrap_or_else(|| Value::String(artifact.json.to_string()))
}

/// Two registries are the same when they hold the same; what was rendered does not count.
impl PartialEq for Registry {
    fn eq(&self, other: &Self) -> bool {
        self.artifacts().eq(other.artifacts())
    }
}

impl Registration<'_> {
    /// Inner artifacts come before those that hold them.
    fn take_in(&mut self, value: &mut Value, place: Place) {
        if let Some(Mark { alias, reference, .. }) = Mark::of(value) {
            let alias = alias.to_owned();
            let inner = mark::value_mut(value);
            self.take_in(inner, Place::Inside);
            let json = mark::compact(inner).to_string();
            let position = self.hold(&alias, reference, json);
            mark::set_reference(value, &self.registry.entries[position].artifact.reference);
            self.list(position, place);
            return;
        }
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.take_in(item, place)),
            Value::Object(members) => members.values_mut().for_each(|member| self.take_in(member, place)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Where the artifact with that content is; it is put there if it was nowhere.
    fn hold(&mut self, alias: &str, reference: Option<ArtifactRef>, json: String) -> usize {
        let registry = &*self.registry;
        let is_same = |position: usize| {
            let held = &registry.entries[position].artifact;
            held.alias == alias && *held.json == *json
        };
        let with_reference = reference.as_ref().and_then(|reference| registry.position(reference));
        let known = match (&reference, with_reference) {
            (Some(_), None) => None,
            (Some(_), Some(position)) if is_same(position) => Some(position),
            (Some(_), Some(_)) | (None, _) => {
                let same_text = registry.by_content.get(json.as_str());
                same_text.into_iter().flatten().copied().find(|position| is_same(*position))
            }
        };
        known.unwrap_or_else(|| {
            let free = reference.filter(|_| with_reference.is_none());
            let reference = free.unwrap_or_else(|| self.mint(alias));
            let position = self.registry.entries.len();
            self.registry.push(Artifact {
                reference,
                alias: alias.to_owned(),
                json: json.into(),
                summaries: Default::default(),
                top_level: false,
            });
            self.changed.insert(position);
            position
        })
    }

    fn list(&mut self, position: usize, place: Place) {
        let artifact = &mut self.registry.entries[position].artifact;
        if place == Place::Outermost && !artifact.top_level {
            artifact.top_level = true;
            self.changed.insert(position);
        }
    }

    fn mint(&mut self, alias: &str) -> ArtifactRef {
        loop {
            let reference = ArtifactRef::of(alias, &self.ids.draw())
                .expect("BUG: an alias was checked and an id is six of [a-z0-9]");
            if self.registry.position(&reference).is_none() {
                return reference;
            }
        }
    }
}

#[cfg(test)]
mod tests;
