//! The shape of one event, as far as it is read. Servers differ, so a text may be a list of parts
//! or missing, and every member may be null.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

#[derive(Deserialize)]
pub(super) struct WireChunk<'a> {
    #[serde(borrow)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    pub(super) usage: Option<WireUsage>,
    pub(super) timings: Option<Timings>,
    pub(super) prompt_progress: Option<PromptProgress>,
    #[serde(borrow)]
    pub(super) object: Option<Content<'a>>,
    pub(super) error: Option<IgnoredAny>,
}

impl WireChunk<'_> {
    /// Whether the event is an error in the place of a chunk.
    pub(super) fn reports_error(&self) -> bool {
        self.error.is_some() || self.object.as_ref().is_some_and(|object| object.0 == "error")
    }
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default)]
    pub(super) index: u32,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<Content<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) content: Option<Content<'a>>,
    #[serde(borrow)]
    pub(super) reasoning_content: Option<Content<'a>>,
    #[serde(borrow)]
    pub(super) reasoning: Option<Content<'a>>,
    #[serde(borrow)]
    pub(super) refusal: Option<Content<'a>>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<CallPiece<'a>>>,
}

#[derive(Deserialize)]
pub(super) struct CallPiece<'a> {
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) id: Option<Content<'a>>,
    #[serde(borrow)]
    pub(super) function: Option<FunctionPiece<'a>>,
}

#[derive(Deserialize)]
pub(super) struct FunctionPiece<'a> {
    #[serde(borrow)]
    pub(super) name: Option<Content<'a>>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl FunctionPiece<'_> {
    /// The arguments as they were written: the text of a string; anything else, which some servers
    /// send instead, as it stands.
    pub(super) fn arguments(&self) -> Cow<'_, str> {
        match self.arguments.map(RawValue::get) {
            None => Cow::Borrowed(""),
            Some(text) if text.starts_with('"') => {
                serde_json::from_str::<Content<'_>>(text).map_or(Cow::Borrowed(text), |text| text.0)
            }
            Some(other) => Cow::Borrowed(other),
        }
    }
}

#[derive(Deserialize)]
pub(super) struct WireUsage {
    pub(super) prompt_tokens: Option<u32>,
    pub(super) completion_tokens: Option<u32>,
    pub(super) prompt_tokens_details: Option<PromptTokensDetails>,
}

#[derive(Deserialize)]
pub(super) struct PromptTokensDetails {
    pub(super) cached_tokens: Option<u32>,
}

#[derive(Deserialize)]
pub(super) struct Timings {
    pub(super) cache_n: Option<u32>,
}

#[derive(Deserialize)]
pub(super) struct PromptProgress {
    pub(super) total: u32,
    pub(super) processed: u32,
}

/// Plain text, borrowed where it has no escapes, or the text parts of a list of parts; empty for
/// everything else.
pub(super) struct Content<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor).map(Self)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or a list of parts")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        let mut whole = String::new();
        while let Some(part) = parts.next_element::<Part<'_>>()? {
            if let (Some("text"), Some(text)) = (part.r#type.as_ref().map(|kind| kind.0.as_ref()), part.text)
            {
                whole.push_str(&text.0);
            }
        }
        Ok(Cow::Owned(whole))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Cow::Borrowed(""))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    pub(super) r#type: Option<Content<'a>>,
    #[serde(borrow)]
    pub(super) text: Option<Content<'a>>,
}
