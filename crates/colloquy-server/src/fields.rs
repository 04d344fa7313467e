//! Takes the members of a request apart by hand and remembers everything that is wrong with them,
//! so that a caller is told all of it at once and where it is.
//!
//! A member that is `null` counts as left out, and unknown members are ignored (design § 9). A
//! member that is there twice is refused: two programs could read different ones.

use std::{collections::BTreeMap, fmt};

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;

use crate::problem::{FieldError, Problem};

/// The members of one JSON object, and what was found wrong so far.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    members: BTreeMap<String, Value>,
    errors: Vec<FieldError>,
}

impl Fields {
    pub(crate) fn string(&mut self, name: &'static str) -> Option<String> {
        self.typed(name, "must be a string", "string_type", |value| match value {
            Value::String(text) => Some(text),
            _ => None,
        })
    }

    pub(crate) fn required_string(&mut self, name: &'static str) -> String {
        let reported = self.errors.len();
        let value = self.string(name);
        if value.is_none() && self.errors.len() == reported {
            self.reject(name, "is required", "missing");
        }
        value.unwrap_or_default()
    }

    pub(crate) fn number(&mut self, name: &'static str) -> Option<f64> {
        self.typed(name, "must be a number", "float_type", |value| value.as_f64())
    }

    /// A whole number; `4.0` is not one.
    pub(crate) fn integer(&mut self, name: &'static str) -> Option<i64> {
        self.typed(name, "must be an integer", "int_type", |value| value.as_i64())
    }

    pub(crate) fn required_integer(&mut self, name: &'static str) -> i64 {
        let reported = self.errors.len();
        let value = self.integer(name);
        if value.is_none() && self.errors.len() == reported {
            self.reject(name, "is required", "missing");
        }
        value.unwrap_or_default()
    }

    /// A whole number that fits `u32`; what does not is as far out of range as any other.
    pub(crate) fn count(&mut self, name: &'static str) -> Option<u32> {
        self.typed(name, "must be a non-negative integer", "int_type", |value| {
            value.as_u64().map(|number| u32::try_from(number).unwrap_or(u32::MAX))
        })
    }

    pub(crate) fn boolean(&mut self, name: &'static str) -> Option<bool> {
        self.typed(name, "must be true or false", "bool_type", |value| value.as_bool())
    }

    /// A list of strings; a list that is left out is empty.
    pub(crate) fn strings(&mut self, name: &'static str) -> Vec<String> {
        let strings = self.typed(name, "must be a list of strings", "list_type", |value| match value {
            Value::Array(items) => items
                .into_iter()
                .map(|item| match item {
                    Value::String(text) => Some(text),
                    _ => None,
                })
                .collect(),
            _ => None,
        });
        strings.unwrap_or_default()
    }

    /// Reports that a member breaks a rule.
    pub(crate) fn reject(&mut self, name: &str, msg: impl Into<String>, kind: &'static str) {
        self.errors.push(FieldError { part: "body", name: Some(name.into()), msg: msg.into(), kind });
    }

    /// Ends the reading: everything that was wrong, or nothing.
    pub(crate) fn finish(self) -> Result<(), Problem> {
        if self.errors.is_empty() { Ok(()) } else { Err(Problem::invalid(self.errors)) }
    }

    fn typed<T>(
        &mut self,
        name: &'static str,
        rule: &'static str,
        kind: &'static str,
        read: impl FnOnce(Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.members.remove(name).filter(|value| !value.is_null())?;
        let read = read(value);
        if read.is_none() {
            self.reject(name, rule, kind);
        }
        read
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = BTreeMap<String, Value>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = BTreeMap::new();
                while let Some((name, value)) = map.next_entry::<String, Value>()? {
                    if members.contains_key(&name) {
                        return Err(A::Error::custom(format_args!("duplicate member `{name}`")));
                    }
                    members.insert(name, value);
                }
                Ok(members)
            }
        }
        Ok(Self { members: deserializer.deserialize_map(Members)?, errors: Vec::new() })
    }
}
