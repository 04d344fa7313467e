//! The key-value pairs of a GGUF file, of which only the few that are asked for are kept.

use std::{
    collections::{BTreeMap, HashMap},
    io::{Read, Seek},
};

use serde_json::{Map, Number, Value as Json};

use super::{GgufError, wire::Wire};

/// More pairs than any model has (usual: 20 to 60).
const PAIRS_MAX: u64 = 65_536;
/// Longer keys are never ours.
const KEY_BYTES_MAX: u64 = 256;
/// A name or an architecture.
const NAME_BYTES_MAX: u64 = 4_096;
/// The largest chat templates have some 50 KB.
const TEMPLATE_BYTES_MAX: u64 = 1 << 20;
/// A control token is a word, not a text.
const TOKEN_BYTES_MAX: u64 = 1_024;
/// The largest vocabularies have some 260,000 tokens.
const TOKENS_MAX: u64 = 4 << 20;
/// How many of the author's own tokens are looked up in the template; each look-up reads all of it.
const USER_DEFINED_MAX: usize = 16_384;
/// Arrays of arrays exist in the format and in no model.
const DEPTH_MAX: u32 = 4;

/// Numbers of a pair type, as the file writes them.
mod kind {
    pub(super) const U8: u32 = 0;
    pub(super) const I8: u32 = 1;
    pub(super) const U16: u32 = 2;
    pub(super) const I16: u32 = 3;
    pub(super) const U32: u32 = 4;
    pub(super) const I32: u32 = 5;
    pub(super) const F32: u32 = 6;
    pub(super) const BOOL: u32 = 7;
    pub(super) const STRING: u32 = 8;
    pub(super) const ARRAY: u32 = 9;
    pub(super) const U64: u32 = 10;
    pub(super) const I64: u32 = 11;
    pub(super) const F64: u32 = 12;
}

/// What a token of the vocabulary is for; only these two kinds matter here.
const TOKEN_CONTROL: i32 = 3;
const TOKEN_USER_DEFINED: i32 = 4;

/// Where an array of strings lies, so that it can be walked again.
#[derive(Debug, Clone, Copy)]
struct Strings {
    position: u64,
    n: u64,
}

/// The pairs that are of use.
#[derive(Debug, Default)]
pub(super) struct Metadata {
    pub(super) architecture: Option<String>,
    pub(super) name: Option<String>,
    pub(super) chat_template: Option<String>,
    /// Every number under a key that can be of use; bounded by the number of pairs.
    numbers: HashMap<String, Number>,
    tokens: Option<Strings>,
    token_kinds: Vec<i8>,
}

impl Metadata {
    /// Reads all pairs.
    pub(super) fn read<R: Read + Seek>(wire: &mut Wire<R>, n_pairs: u64) -> Result<Self, GgufError> {
        if n_pairs > PAIRS_MAX {
            return Err(GgufError::Damaged(format!("it claims {n_pairs} metadata pairs")));
        }
        let mut metadata = Self::default();
        for _ in 0..n_pairs {
            let key = wire.string(KEY_BYTES_MAX)?.unwrap_or_default();
            let kind = wire.u32()?;
            metadata.read_value(wire, key, kind)?;
        }
        Ok(metadata)
    }

    fn read_value<R: Read + Seek>(
        &mut self,
        wire: &mut Wire<R>,
        key: String,
        kind: u32,
    ) -> Result<(), GgufError> {
        match (key.as_str(), kind) {
            ("general.architecture", kind::STRING) => self.architecture = wire.string(NAME_BYTES_MAX)?,
            ("general.name", kind::STRING) => self.name = wire.string(NAME_BYTES_MAX)?,
            ("tokenizer.chat_template", kind::STRING) => {
                self.chat_template = wire.string(TEMPLATE_BYTES_MAX)?
            }
            ("tokenizer.ggml.tokens", kind::ARRAY) => self.tokens = string_array(wire)?,
            ("tokenizer.ggml.token_type", kind::ARRAY) => self.token_kinds = token_kinds(wire)?,
            (key, kind::ARRAY) if key.ends_with(".attention.head_count_kv") => {
                if let Some(sum) = sum_of_array(wire)? {
                    self.numbers.insert(format!("{key}.sum"), sum.into());
                }
            }
            (_, kind::ARRAY | kind::STRING) => skip_value(wire, kind, 0)?,
            (_, scalar) => {
                if let Some(number) = number(wire, scalar)? {
                    self.numbers.insert(key, number);
                }
            }
        }
        Ok(())
    }

    /// What the offset of every tensor is a multiple of.
    pub(super) fn alignment(&self) -> Result<u64, GgufError> {
        match self.numbers.get("general.alignment").map(Number::as_u64) {
            None => Ok(32),
            Some(Some(alignment)) if alignment.is_power_of_two() && alignment <= 1 << 20 => Ok(alignment),
            Some(_) => Err(GgufError::Damaged("the alignment is not a power of two".into())),
        }
    }

    pub(super) fn context_length(&self) -> Option<u32> {
        self.of_architecture("context_length")?.try_into().ok()
    }

    pub(super) fn has_sliding_window(&self) -> bool {
        self.of_architecture("attention.sliding_window").is_some_and(|n| n > 0)
    }

    /// Heads of all layers, times the size of a key and a value, times two bytes.
    pub(super) fn cache_bytes_per_token(&self) -> Option<u64> {
        let heads = self.of_architecture("attention.head_count")?;
        let heads_of_all_layers = match self.of_architecture("attention.head_count_kv.sum") {
            Some(sum) => sum,
            None => {
                let kv_heads = self.of_architecture("attention.head_count_kv").unwrap_or(heads);
                kv_heads.checked_mul(self.of_architecture("block_count")?)?
            }
        };
        let head = || self.of_architecture("embedding_length")?.checked_div(heads);
        let key = self.of_architecture("attention.key_length").or_else(head)?;
        let value = self.of_architecture("attention.value_length").or_else(head)?;
        heads_of_all_layers.checked_mul(key.checked_add(value)?)?.checked_mul(2).filter(|bytes| *bytes > 0)
    }

    pub(super) fn quantisation(&self) -> Option<&'static str> {
        quantisation_name(self.numbers.get("general.file_type")?.as_u64()?)
    }

    /// The author's sampling defaults under the names that `generation_config.json` has for them.
    pub(super) fn generation_config(&self) -> Option<String> {
        const NAMES: [(&str, &str); 5] = [
            ("general.sampling.temp", "temperature"),
            ("general.sampling.top_k", "top_k"),
            ("general.sampling.top_p", "top_p"),
            ("general.sampling.min_p", "min_p"),
            ("general.sampling.penalty_repeat", "repetition_penalty"),
        ];
        let config: Map<String, Json> = NAMES
            .into_iter()
            .filter_map(|(key, name)| Some((name.to_owned(), self.numbers.get(key)?.clone().into())))
            .collect();
        (!config.is_empty()).then(|| Json::Object(config).to_string())
    }

    /// Control tokens, and tokens of the author's that the template uses as borders.
    pub(super) fn control_tokens<R: Read + Seek>(
        &self,
        wire: &mut Wire<R>,
    ) -> Result<Vec<String>, GgufError> {
        let Some(tokens) = self.tokens else { return Ok(Vec::new()) };
        let template = self.chat_template.as_deref().unwrap_or_default();
        wire.go_to(tokens.position)?;
        let mut found = BTreeMap::new();
        let mut n_user_defined = 0;
        for (index, kind) in (0..tokens.n).zip(&self.token_kinds) {
            let kind = i32::from(*kind);
            if kind != TOKEN_CONTROL && kind != TOKEN_USER_DEFINED {
                wire.skip_string()?;
                continue;
            }
            let Some(text) = wire.string(TOKEN_BYTES_MAX)? else { continue };
            n_user_defined += usize::from(kind == TOKEN_USER_DEFINED);
            let is_border =
                kind == TOKEN_CONTROL || (n_user_defined <= USER_DEFINED_MAX && template.contains(&text));
            // Breaking a blank or a single character would change ordinary text.
            if is_border && !text.trim().is_empty() && text.chars().nth(1).is_some() {
                found.entry(text).or_insert(index);
            }
        }
        let mut in_order: Vec<_> = found.into_iter().collect();
        in_order.sort_by_key(|(_, index)| *index);
        Ok(in_order.into_iter().map(|(text, _)| text).collect())
    }

    fn of_architecture(&self, key: &str) -> Option<u64> {
        self.numbers.get(&format!("{}.{key}", self.architecture.as_deref()?))?.as_u64()
    }
}

fn string_array<R: Read + Seek>(wire: &mut Wire<R>) -> Result<Option<Strings>, GgufError> {
    let kind = wire.u32()?;
    let n = wire.u64()?;
    let position = wire.position();
    skip_elements(wire, kind, n, 0)?;
    Ok((kind == kind::STRING).then_some(Strings { position, n }))
}

/// One number per token. Kinds are small; a number that is not is of no kind we look for.
fn token_kinds<R: Read + Seek>(wire: &mut Wire<R>) -> Result<Vec<i8>, GgufError> {
    let kind = wire.u32()?;
    let n = wire.u64()?;
    if n > TOKENS_MAX {
        return Err(GgufError::Damaged(format!("it claims {n} tokens")));
    }
    let mut kinds = Vec::new();
    for _ in 0..n {
        let small = number(wire, kind)?.and_then(|n| n.as_i64()).and_then(|n| i8::try_from(n).ok());
        kinds.push(small.unwrap_or_default());
    }
    Ok(kinds)
}

/// The sum of an array of whole numbers; `None` where it holds something else.
fn sum_of_array<R: Read + Seek>(wire: &mut Wire<R>) -> Result<Option<u64>, GgufError> {
    let kind = wire.u32()?;
    let n = wire.u64()?;
    if matches!(kind, kind::STRING | kind::ARRAY) || n > PAIRS_MAX {
        skip_elements(wire, kind, n, 0)?;
        return Ok(None);
    }
    let mut sum = Some(0_u64);
    for _ in 0..n {
        let next = number(wire, kind)?.and_then(|n| n.as_u64());
        sum = sum.zip(next).and_then(|(sum, next)| sum.checked_add(next));
    }
    Ok(sum)
}

fn skip_value<R: Read + Seek>(wire: &mut Wire<R>, kind: u32, depth: u32) -> Result<(), GgufError> {
    match kind {
        kind::STRING => wire.skip_string(),
        kind::ARRAY if depth == DEPTH_MAX => Err(GgufError::Damaged("arrays are nested too deep".into())),
        kind::ARRAY => {
            let element = wire.u32()?;
            let n = wire.u64()?;
            skip_elements(wire, element, n, depth + 1)
        }
        scalar => wire.skip(scalar_bytes(scalar)?),
    }
}

fn skip_elements<R: Read + Seek>(wire: &mut Wire<R>, kind: u32, n: u64, depth: u32) -> Result<(), GgufError> {
    if matches!(kind, kind::STRING | kind::ARRAY) {
        return (0..n).try_for_each(|_| skip_value(wire, kind, depth));
    }
    wire.skip(n.saturating_mul(scalar_bytes(kind)?))
}

fn scalar_bytes(kind: u32) -> Result<u64, GgufError> {
    match kind {
        kind::U8 | kind::I8 | kind::BOOL => Ok(1),
        kind::U16 | kind::I16 => Ok(2),
        kind::U32 | kind::I32 | kind::F32 => Ok(4),
        kind::U64 | kind::I64 | kind::F64 => Ok(8),
        unknown => Err(GgufError::Damaged(format!("a value has the unknown type {unknown}"))),
    }
}

/// A scalar as a number; `None` for a boolean and for what JSON cannot write.
fn number<R: Read + Seek>(wire: &mut Wire<R>, kind: u32) -> Result<Option<Number>, GgufError> {
    Ok(match kind {
        kind::U8 => Some(wire.u8()?.into()),
        kind::I8 => Some(i8::from_le_bytes(wire.array()?).into()),
        kind::U16 => Some(u16::from_le_bytes(wire.array()?).into()),
        kind::I16 => Some(i16::from_le_bytes(wire.array()?).into()),
        kind::U32 => Some(wire.u32()?.into()),
        kind::I32 => Some(i32::from_le_bytes(wire.array()?).into()),
        kind::U64 => Some(wire.u64()?.into()),
        kind::I64 => Some(i64::from_le_bytes(wire.array()?).into()),
        // Through its shortest decimal form, so that 0.7 does not become 0.699999988.
        kind::F32 => f32::from_le_bytes(wire.array()?).to_string().parse().ok().and_then(Number::from_f64),
        kind::F64 => Number::from_f64(f64::from_le_bytes(wire.array()?)),
        other => {
            wire.skip(scalar_bytes(other)?)?;
            None
        }
    })
}

/// The name of `general.file_type`.
fn quantisation_name(file_type: u64) -> Option<&'static str> {
    Some(match file_type {
        0 => "F32",
        1 => "F16",
        2 => "Q4_0",
        3 => "Q4_1",
        7 => "Q8_0",
        8 => "Q5_0",
        9 => "Q5_1",
        10 => "Q2_K",
        11 => "Q3_K_S",
        12 => "Q3_K_M",
        13 => "Q3_K_L",
        14 => "Q4_K_S",
        15 => "Q4_K_M",
        16 => "Q5_K_S",
        17 => "Q5_K_M",
        18 => "Q6_K",
        19 => "IQ2_XXS",
        20 => "IQ2_XS",
        21 => "Q2_K_S",
        22 => "IQ3_XS",
        23 => "IQ3_XXS",
        24 => "IQ1_S",
        25 => "IQ4_NL",
        26 => "IQ3_S",
        27 => "IQ3_M",
        28 => "IQ2_S",
        29 => "IQ2_M",
        30 => "IQ4_XS",
        31 => "IQ1_M",
        32 => "BF16",
        36 => "TQ1_0",
        37 => "TQ2_0",
        38 => "MXFP4",
        39 => "NVFP4",
        _ => return None,
    })
}
