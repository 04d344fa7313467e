//! Where a walk along a description stands, so that a type that mentions itself can be followed.

use crate::schema::{Node, Shape};

/// The node of a place and those above it. A value without a description has no node.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    node: Option<&'a Node>,
    above: Option<&'a Scope<'a>>,
}

impl<'a> Scope<'a> {
    pub(super) fn root(node: Option<&'a Node>) -> Self {
        Self { node, above: None }
    }

    /// The place of a member; a node that names a type further up becomes that type.
    pub(super) fn enter(&'a self, member: Option<&'a Node>) -> Self {
        let node = if let Some(Shape::Reference(name)) = member.map(|node| &node.shape) {
            self.named(name)
        } else {
            member
        };
        Self { node, above: Some(self) }
    }

    /// What may stand here; [`Shape::Any`] without a description.
    pub(super) fn shape(&self) -> &'a Shape {
        self.node.map_or(&Shape::Any, |node| &node.shape)
    }

    pub(super) fn node(&self) -> Option<&'a Node> {
        self.node
    }

    /// The node of a member of an object or a map.
    pub(super) fn member(&self, key: &str) -> Option<&'a Node> {
        match self.shape() {
            Shape::Object(object) => {
                object.fields.iter().find(|field| field.name == key).map(|field| &field.node)
            }
            Shape::Map(inner) => Some(inner),
            Shape::Any
            | Shape::String
            | Shape::Date
            | Shape::DateTime
            | Shape::Integer { .. }
            | Shape::Number
            | Shape::Boolean
            | Shape::Enum(_)
            | Shape::Array(_)
            | Shape::Reference(_)
            | Shape::Artifact { .. } => None,
        }
    }

    /// The node of the items of a list.
    pub(super) fn item(&self) -> Option<&'a Node> {
        if let Shape::Array(inner) = self.shape() { Some(inner) } else { None }
    }

    /// What an artifact that stands here holds.
    pub(super) fn content(&'a self) -> Self {
        let entered = self.enter(inner_of(self.shape()));
        // What a recursive artifact holds may be named as the artifact above.
        inner_of(entered.shape()).map_or(entered, |inner| Self { node: Some(inner), above: Some(self) })
    }

    /// The type of that name further up. The name of what an artifact holds means the artifact.
    fn named(&'a self, name: &str) -> Option<&'a Node> {
        let mut scope = Some(self);
        while let Some(here) = scope {
            let above = here.above.and_then(|above| above.node);
            if is_object(here.node, name) {
                return above.filter(|node| is_artifact(node, name)).or(here.node);
            }
            scope = here.above;
        }
        None
    }
}

fn inner_of(shape: &Shape) -> Option<&Node> {
    if let Shape::Artifact { inner, .. } = shape { Some(inner) } else { None }
}

fn is_object(node: Option<&Node>, name: &str) -> bool {
    matches!(node.map(|node| &node.shape), Some(Shape::Object(object)) if object.name == name)
}

fn is_artifact(node: &Node, name: &str) -> bool {
    inner_of(&node.shape).is_some_and(|inner| is_object(Some(inner), name))
}
