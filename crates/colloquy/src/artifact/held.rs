//! [`Held`]: a value that travels by reference, and the marked JSON it is written in.

use std::{borrow::Cow, fmt, ops::Deref, sync::Arc};

use colloquy_core::{
    artifact::{ArtifactRef, MARK, Mark, is_a},
    schema::{ARTIFACT_KEYWORD, IGNORE_KEYWORD, SUMMARIZE_KEYWORD},
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error, ser::SerializeMap};
use serde_json::{Map, Value, json};

use super::{Artifact, Marker, Meaning};

/// An artifact. Cheap to copy; its value never changes.
///
/// A new one gets its reference when a conversation registers it: from a tool's output, or from a
/// question it is asked with. One that came out of a conversation keeps its reference and its bytes
/// wherever it is handed to next, also those that this program's type does not know.
pub struct Held<T> {
    value: Arc<T>,
    /// Where it came out of a registry: its full form there.
    origin: Option<Arc<Origin>>,
}

struct Origin {
    reference: ArtifactRef,
    marked: Value,
}

impl<T> Held<T> {
    /// An artifact that no conversation knows yet.
    pub fn new(value: T) -> Self {
        Self { value: Arc::new(value), origin: None }
    }

    /// Its reference; `None` for one that came out of no conversation.
    pub fn reference(&self) -> Option<&ArtifactRef> {
        self.origin.as_ref().map(|origin| &origin.reference)
    }
}

impl<T: Artifact> Held<T> {
    /// Reads the full form that a registry gives. `None` where it is of a type that is not a `T`,
    /// or cannot be read as one.
    pub fn from_marked(marked: Value) -> Option<Self> {
        serde_json::from_value(marked).ok()
    }
}

impl<T> Deref for Held<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Clone for Held<T> {
    fn clone(&self) -> Self {
        Self { value: Arc::clone(&self.value), origin: self.origin.clone() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Held<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("value", &self.value).field("reference", &self.reference()).finish()
    }
}

impl<T> From<T> for Held<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Artifact> Serialize for Held<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Body<'a, T> {
            alias: &'static str,
            r#ref: Option<&'a str>,
            value: &'a T,
        }

        if let Some(origin) = &self.origin {
            return origin.marked.serialize(serializer);
        }
        let mut mark = serializer.serialize_map(Some(1))?;
        mark.serialize_entry(MARK, &Body { alias: T::ALIAS, r#ref: None, value: &*self.value })?;
        mark.end()
    }
}

impl<'de, T: Artifact> Deserialize<'de> for Held<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let marked = Value::deserialize(deserializer)?;
        let mark = Mark::of(&marked);
        let mark =
            mark.ok_or_else(|| D::Error::custom("an artifact of a registry stands here, not plain data"))?;
        if !is_a(mark.alias, T::ALIAS) {
            return Err(D::Error::custom(format_args!("an artifact of the type {} stands here", T::ALIAS)));
        }
        let value = T::deserialize(mark.value).map_err(D::Error::custom)?;
        let reference = mark.reference;
        let origin = reference.map(|reference| Arc::new(Origin { reference, marked }));
        Ok(Self { value: Arc::new(value), origin })
    }
}

/// The schema of `T` with the project's keywords. It is a definition of its own, named as `T`, so
/// that a type may hold artifacts of itself.
impl<T: Artifact> JsonSchema for Held<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("colloquy::Held<{}>", T::schema_id()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        let members = schema.ensure_object();
        members.entry("title").or_insert_with(|| T::schema_name().into());
        members.insert(ARTIFACT_KEYWORD.into(), T::ALIAS.into());
        if let Value::Object(properties) = members.entry("properties").or_insert_with(|| json!({})) {
            T::markers().iter().for_each(|marker| note(marker, properties));
        }
        schema
    }
}

/// Writes what a field says into its schema.
fn note(marker: &Marker, properties: &mut Map<String, Value>) {
    let property = properties.entry(marker.field).or_insert_with(|| json!({}));
    // A field of any type has the schema `true`, which holds no keywords.
    if !property.is_object() {
        *property = json!({});
    }
    match marker.meaning {
        Meaning::Ignored => property[IGNORE_KEYWORD] = true.into(),
        Meaning::Summarizable { size, threshold, hint, llm_safe, static_summary } => {
            let mut keyword = json!({ "size": size.name(), "llm_safe": llm_safe });
            if let Some(threshold) = threshold {
                keyword["threshold"] = threshold.into();
            }
            if let Some(hint) = hint {
                keyword["hint"] = hint.into();
            }
            if let Some(static_summary) = static_summary {
                keyword["static_summary"] = static_summary.into();
            }
            property[SUMMARIZE_KEYWORD] = keyword;
        }
    }
}
