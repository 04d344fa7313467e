//! One instance of a conversation in memory: its head until the next thaw, its tools, its
//! artifacts. It is locked for moments, never across an await.

use std::{
    collections::BTreeMap,
    panic::Location,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use colloquy_core::{
    artifact::{Artifact as StoredArtifact, ArtifactRef, IdDraw, Registry, Types},
    block::Block,
    head::{Head, Put},
    prepare::Preparer,
    schema::{Descriptor, Node, Shape},
    seat::Seat,
};
use serde_json::Value;

use crate::{
    artifact::{Artifact, Held},
    ports::{IdSource, StoredHead},
    tool::{ErasedTool, Runnable, registry_tools},
};

/// An instance, shared by its handles and its running turn.
pub(crate) type SharedInstance = Arc<Mutex<Instance>>;

/// A panic while it was locked left a value that is whole: every change is one call of the core.
pub(crate) fn lock_instance(instance: &Mutex<Instance>) -> MutexGuard<'_, Instance> {
    instance.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a conversation is between its turns, beyond its messages.
#[derive(Default)]
pub(crate) struct Instance {
    pub(crate) head: Head,
    pub(crate) preparer: Preparer,
    pub(crate) registry: Registry,
    /// How artifacts are shown, by alias.
    pub(crate) types: Types,
    tools: BTreeMap<String, Arc<dyn ErasedTool>>,
    pub(crate) seat: Seat,
    pub(crate) cache_system: bool,
    pub(crate) prior_model: Option<String>,
    /// The head as the store has it.
    pub(crate) stored: Option<StoredHead>,
    /// Artifacts that the store does not have as they are; they go with the next commit that can.
    unsaved: Vec<ArtifactRef>,
}

impl Instance {
    /// A fresh one: nothing is in it, and the system content is cached where a provider can.
    pub(crate) fn new() -> Self {
        Self { cache_system: true, ..Self::default() }
    }

    /// A fresh one of a program that knows these types.
    pub(crate) fn knowing(types: Types) -> Self {
        Self { types, ..Self::new() }
    }

    /// One out of what was stored. Its head is free until its own first render, and its seat is
    /// the one that is declared now.
    pub(crate) fn restored(head: Option<StoredHead>, artifacts: Vec<StoredArtifact>, types: Types) -> Self {
        let registry = Registry::restored(artifacts);
        let Some(head) = head else {
            return Self { registry, types, ..Self::new() };
        };
        Self {
            types,
            head: Head::restored(head.objective.clone(), head.palette.clone()),
            registry,
            cache_system: head.cache_system,
            prior_model: head.prior_model.clone(),
            stored: Some(head),
            ..Self::default()
        }
    }

    /// Puts a value into a slot. A refusal is logged with its caller: it is a fault of the program
    /// that nothing else would show.
    pub(crate) fn put(&mut self, key: &str, value: Block, caller: &Location<'_>) -> Put {
        let put = self.head.put(key, value);
        if put == Put::Refused {
            log_refused(&format!("slot {key:?}"), caller);
        }
        put
    }

    pub(crate) fn nuke(&mut self, caller: &Location<'_>) -> Put {
        let put = self.head.nuke();
        if put == Put::Refused {
            log_refused("everything", caller);
        }
        put
    }

    /// Declares a tool unless its name is taken; whether it was added. The two registry tools come
    /// with the first tool that can give an artifact.
    pub(crate) fn declare(&mut self, tool: Arc<dyn ErasedTool>) -> bool {
        if self.tools.contains_key(tool.name()) {
            return false;
        }
        let output = Arc::clone(tool.output());
        self.add(tool);
        if self.learn(&output) {
            self.declare_registry_tools();
        }
        true
    }

    /// Declares the tools that read the registry.
    pub(crate) fn declare_registry_tools(&mut self) {
        let tools = registry_tools().expect("BUG: the registry tools can be described");
        for tool in tools {
            if !self.tools.contains_key(tool.name()) {
                self.add(tool);
            }
        }
    }

    /// Notes how the artifacts in a type are shown; whether there are any.
    pub(crate) fn learn(&mut self, descriptor: &Descriptor) -> bool {
        learn_node(&descriptor.root, &mut self.types)
    }

    fn add(&mut self, tool: Arc<dyn ErasedTool>) {
        self.head.declare(Arc::new(Runnable(Arc::clone(&tool))));
        self.tools.insert(tool.name().to_owned(), tool);
    }

    /// The tool of that name, if this process can run it.
    pub(crate) fn tool(&self, name: &str) -> Option<Arc<dyn ErasedTool>> {
        self.tools.get(name).cloned()
    }

    /// The names of the tools this process can run, sorted.
    pub(crate) fn tool_names(&self) -> Vec<String> {
        self.tools.keys().cloned().collect()
    }

    /// Whether the model is told of any tool.
    pub(crate) fn has_tools(&self) -> bool {
        !self.tools.is_empty()
    }

    /// Registers what is marked in `value` and gives what the model reads of it. What is new stays
    /// unsaved until a commit has taken it: one that fails loses no artifact.
    pub(crate) fn take_in(
        &mut self,
        value: &mut Value,
        descriptor: Option<&Descriptor>,
        ids: &dyn IdSource,
    ) -> String {
        for fresh in self.registry.register(value, &mut Draw(ids)) {
            self.note_unsaved(&fresh.reference);
        }
        self.registry.shown(value, descriptor)
    }

    /// Notes a summary that was made, once for good.
    pub(crate) fn note_summary(&mut self, reference: &ArtifactRef, pointer: &str, summary: String) {
        self.registry.note_summary(reference, pointer, summary);
        self.note_unsaved(reference);
    }

    /// The artifacts that the store does not have as they are.
    pub(crate) fn unsaved(&self) -> Vec<StoredArtifact> {
        self.unsaved.iter().filter_map(|reference| self.registry.find(reference.as_str())).cloned().collect()
    }

    /// The store has what [`Self::unsaved`] gave.
    pub(crate) fn saved(&mut self, artifacts: &[StoredArtifact]) {
        self.unsaved.retain(|reference| artifacts.iter().all(|artifact| artifact.reference != *reference));
    }

    fn note_unsaved(&mut self, reference: &ArtifactRef) {
        if !self.unsaved.contains(reference) {
            self.unsaved.push(reference.clone());
        }
    }

    /// What a question took with it is stored.
    pub(crate) fn asked(&mut self, head: Option<StoredHead>) {
        self.unsaved.clear();
        self.stored = head.or_else(|| self.stored.take());
    }

    /// The artifact behind a reference, typed; `None` when there is none or it is of another type.
    pub(crate) fn artifact<T: Artifact>(&self, reference: &str) -> Option<Held<T>> {
        let reference = ArtifactRef::parse(reference)?;
        Held::from_marked(self.registry.marked(&reference)?)
    }

    /// The head to store, if it is not what the store has.
    pub(crate) fn head_to_store(&mut self) -> Option<StoredHead> {
        let (objective, palette) = self.head.to_store();
        let (seat, prior_model, cache_system) = (self.seat, self.prior_model.clone(), self.cache_system);
        let head = StoredHead { objective, palette, seat, prior_model, cache_system };
        (self.stored.as_ref() != Some(&head)).then_some(head)
    }
}

/// Six characters out of sixteen random bytes.
struct Draw<'a>(&'a dyn IdSource);

impl IdDraw for Draw<'_> {
    fn draw(&mut self) -> String {
        const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        let mut number = u128::from_be_bytes(self.0.uid().0);
        let mut id = String::with_capacity(colloquy_core::artifact::ID_CHARS);
        for _ in 0..colloquy_core::artifact::ID_CHARS {
            let letter = usize::try_from(number % 36).expect("BUG: a remainder is small");
            id.push(char::from(LETTERS[letter]));
            number /= 36;
        }
        id
    }
}

fn learn_node(node: &Node, types: &mut Types) -> bool {
    match &node.shape {
        Shape::Artifact { alias, inner } => {
            if !types.contains_key(alias) {
                types.insert(alias.clone(), Arc::new(Descriptor { root: (**inner).clone() }));
                learn_node(inner, types);
            }
            true
        }
        Shape::Array(inner) | Shape::Map(inner) => learn_node(inner, types),
        Shape::Object(object) => {
            // Each is learned, whatever the one before held.
            let learned: Vec<bool> =
                object.fields.iter().map(|field| learn_node(&field.node, types)).collect();
            learned.contains(&true)
        }
        Shape::Any
        | Shape::String
        | Shape::Date
        | Shape::DateTime
        | Shape::Integer { .. }
        | Shape::Number
        | Shape::Boolean
        | Shape::Enum(_)
        | Shape::Reference(_) => false,
    }
}

fn log_refused(what: &str, caller: &Location<'_>) {
    tracing::error!(
        caller = %caller,
        backtrace = %std::backtrace::Backtrace::capture(),
        "a change of {what} in a head that has rendered was refused: it would change the cached prefix; \
         say it in a message instead"
    );
}

#[cfg(test)]
mod tests;
