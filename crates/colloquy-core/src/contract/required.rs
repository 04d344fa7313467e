//! What an answer must have beside its types: texts that are required are not blank. Empty lists
//! are fine, they say that nothing was found (reference § 7.5).

use std::collections::BTreeMap;

use serde_json::Value;

use crate::schema::{Descriptor, Node, Shape};

/// The paths of required texts that are blank, at most `most`.
pub(super) fn blank(answer: &Value, descriptor: &Descriptor, most: usize) -> Vec<String> {
    let mut walk = Walk { named: descriptor.named(), most, found: Vec::new() };
    walk.value(answer, &descriptor.root, "");
    walk.found
}

struct Walk<'a> {
    named: BTreeMap<&'a str, &'a Node>,
    most: usize,
    found: Vec<String>,
}

impl<'a> Walk<'a> {
    fn value(&mut self, value: &Value, node: &'a Node, path: &str) {
        match (&node.shape, value) {
            (Shape::Object(object), Value::Object(members)) => {
                for field in &object.fields {
                    let Some(member) = members.get(&field.name) else { continue };
                    let dot = if path.is_empty() { "" } else { "." };
                    let path = format!("{path}{dot}{}", field.name);
                    let is_blank = member.as_str().is_some_and(|text| text.trim().is_empty());
                    if field.required && is_blank && self.found.len() < self.most {
                        self.found.push(path);
                    } else {
                        self.value(member, &field.node, &path);
                    }
                }
            }
            (Shape::Array(inner), Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    self.value(item, inner, &format!("{path}[{index}]"));
                }
            }
            (Shape::Map(inner), Value::Object(members)) => {
                members.values().for_each(|member| self.value(member, inner, &format!("{path}.*")));
            }
            (Shape::Reference(name), value) => {
                if let Some(named) = self.named.get(name.as_str()).copied() {
                    self.value(value, named, path);
                }
            }
            (_, _) => {}
        }
    }
}
