//! JSON text that keeps the order in which it is written; a `Value` would sort it.

use serde_json::Value;

/// An object that is being written.
pub(super) struct ObjectText {
    text: String,
}

impl ObjectText {
    pub(super) fn new() -> Self {
        Self { text: "{".to_owned() }
    }

    /// Adds a member whose value is JSON text already.
    pub(super) fn raw(&mut self, key: &str, json: &str) {
        if self.text.len() > 1 {
            self.text.push(',');
        }
        self.text.extend([&quoted(key), ":", json]);
    }

    /// Adds a member.
    pub(super) fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.raw(key, &value.into().to_string());
    }

    pub(super) fn finish(mut self) -> String {
        self.text.push('}');
        self.text
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
