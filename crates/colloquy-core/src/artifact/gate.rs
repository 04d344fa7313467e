//! The authorship gate: a model selects artifacts, it never writes them (I11; reference § 10.6).
//!
//! Whatever stands where a type has an artifact is replaced by the registry's own, or refused.
//! A refusal says where and never what was written.

use serde_json::Value;

use super::{ArtifactRef, MARK, Registry, is_a, scope::Scope};
use crate::schema::{Descriptor, Shape};

/// Why a reference was refused, by path and never by value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path} {why}")]
pub struct Violation {
    /// Where, such as `cited[1]`; `answer` for the whole.
    pub path: String,
    /// What is wrong there.
    pub why: String,
}

struct Gate<'a> {
    registry: &'a Registry,
    violations: Vec<Violation>,
}

impl Registry {
    /// Puts the registry's own artifact wherever `descriptor` has one and the model wrote its
    /// reference (as `artifact_ref`, as `@ref` or bare); whatever else it wrote there is dropped.
    /// On a violation `value` is of no use any more.
    pub fn gate(&self, value: &mut Value, descriptor: &Descriptor) -> Result<(), Vec<Violation>> {
        let mut gate = Gate { registry: self, violations: Vec::new() };
        let root = Scope::root(None);
        gate.pass(value, &root.enter(Some(&descriptor.root)), "");
        if gate.violations.is_empty() { Ok(()) } else { Err(gate.violations) }
    }
}

impl Gate<'_> {
    fn pass(&mut self, value: &mut Value, scope: &Scope<'_>, path: &str) {
        match (scope.shape(), value) {
            (Shape::Artifact { alias, .. }, value) => {
                let is_absent = value.is_null() && scope.node().is_some_and(|node| node.nullable);
                if !is_absent {
                    match self.selected(value, alias) {
                        Ok(own) => *value = own,
                        Err(why) => self.refuse(path, why),
                    }
                }
            }
            (Shape::Array(inner), Value::Array(items)) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.pass(item, &scope.enter(Some(inner)), &format!("{path}[{index}]"));
                }
            }
            (Shape::Map(_) | Shape::Object(_), Value::Object(members)) => {
                for (key, member) in members {
                    match (scope.shape(), scope.member(key)) {
                        // The keys of a map are the model's words.
                        (Shape::Map(inner), _) => {
                            self.pass(member, &scope.enter(Some(inner)), &joined(path, "*"))
                        }
                        (_, Some(node)) => self.pass(member, &scope.enter(Some(node)), &joined(path, key)),
                        (_, None) => self.pass_data(member, path),
                    }
                }
            }
            (_, value) => self.pass_data(value, path),
        }
    }

    /// The registry's own artifact for what the model wrote.
    fn selected(&self, written: &Value, alias: &str) -> Result<Value, String> {
        let reference = written.as_str().or_else(|| {
            let named = written.get("artifact_ref").or_else(|| written.get("@ref"));
            named.and_then(Value::as_str)
        });
        let reference = reference.ok_or("must be an object with the artifact_ref of an artifact")?;
        let held =
            ArtifactRef::parse(reference).filter(|reference| self.registry.position(reference).is_some());
        let held = held.ok_or("names no artifact that is held here; use a reference that you were shown")?;
        if !is_a(held.alias(), alias) {
            return Err(format!("must name an artifact of the type {alias}, not of another one"));
        }
        self.registry.marked(&held).ok_or_else(|| "names an artifact that cannot be read in full".into())
    }

    /// Data has no artifacts: what reads like a marked one would become one by being registered.
    fn pass_data(&mut self, value: &Value, path: &str) {
        if holds_mark(value) {
            self.refuse(path, format!("must not hold the key {MARK}"));
        }
    }

    fn refuse(&mut self, path: &str, why: String) {
        let path = if path.is_empty() { "answer" } else { path };
        self.violations.push(Violation { path: path.to_owned(), why });
    }
}

fn holds_mark(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(holds_mark),
        Value::Object(members) => members.contains_key(MARK) || members.values().any(holds_mark),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests;
