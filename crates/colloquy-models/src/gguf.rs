//! Reads the header of a GGUF file: what the model is, how large, and which of its tokens are
//! control tokens.
//!
//! The file may come from anywhere, so nothing in it is believed before it is checked against the
//! length of the file: no length read from it decides an allocation, no field makes the reader
//! panic, and a file whose tensors reach past its end is refused. Weights are never read.

mod metadata;
mod tensors;
mod wire;

use std::{
    fs::File,
    io::{self, Read, Seek},
    path::Path,
};

use metadata::Metadata;
use wire::Wire;

/// What the header of a model file says.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// The architecture, such as `llama` or `gemma3`.
    pub architecture: Option<String>,
    /// The name its author gave it.
    pub name: Option<String>,
    /// The window it was trained with, in tokens.
    pub context_length: Option<u32>,
    /// Whether its attention slides, so that a cached prefix is only kept at full size.
    pub sliding_window: bool,
    /// Parameters in billions.
    pub parameters_billions: f64,
    /// The quantisation most of its tensors have, such as `Q4_K_M`.
    pub quantisation: Option<&'static str>,
    /// Its chat template, in Jinja.
    pub chat_template: Option<String>,
    /// Texts that its tokenizer reads as a role border or another control token.
    pub control_tokens: Vec<String>,
    /// The sampling defaults its author wrote down, as the JSON text of a `generation_config`.
    pub generation_config: Option<String>,
    /// What one token of a conversation costs in memory, in bytes, at the cache's usual 16 bits.
    pub cache_bytes_per_token: Option<u64>,
    /// The length of the file.
    pub file_bytes: u64,
}

/// Why a file is not a model we can run.
#[derive(Debug, thiserror::Error)]
pub enum GgufError {
    /// The magic is missing.
    #[error("not a GGUF file: it starts with {found}, a GGUF file starts with \"GGUF\"")]
    NotGguf {
        /// Its first bytes, escaped.
        found: String,
    },
    /// The file ends before its header or its tensors do.
    #[error(
        "the GGUF file is cut short: it has {found} bytes and needs at least {needed}; download it again"
    )]
    CutShort {
        /// The least length that the header asks for.
        needed: u64,
        /// The length it has.
        found: u64,
    },
    /// A version of the format that is not known here.
    #[error("GGUF version {0} is not supported (versions 2 and 3 are)")]
    Version(u32),
    /// Written on a machine of the other byte order.
    #[error("the GGUF file is big-endian, which is not supported")]
    BigEndian,
    /// A field has a value that no writer produces.
    #[error("the GGUF header is damaged: {0}")]
    Damaged(String),
    /// The file could not be read.
    #[error("the file cannot be read")]
    Io(#[from] io::Error),
}

/// Reads the header of the file at `path` and checks that the file is whole.
pub fn read(path: &Path) -> Result<Header, GgufError> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(GgufError::NotGguf { found: "a folder or a device".into() });
    }
    parse(file)
}

/// Reads the header from any seekable source and checks that the source is whole.
pub fn parse(source: impl Read + Seek) -> Result<Header, GgufError> {
    let mut wire = Wire::new(source)?;
    check_magic(&mut wire)?;
    let n_tensors = wire.u64()?;
    let n_pairs = wire.u64()?;
    let metadata = Metadata::read(&mut wire, n_pairs)?;
    let n_parameters = tensors::check(&mut wire, n_tensors, metadata.alignment()?)?;
    let control_tokens = metadata.control_tokens(&mut wire)?;
    Ok(Header {
        context_length: metadata.context_length(),
        sliding_window: metadata.has_sliding_window(),
        parameters_billions: n_parameters as f64 / 1e9,
        quantisation: metadata.quantisation(),
        generation_config: metadata.generation_config(),
        cache_bytes_per_token: metadata.cache_bytes_per_token(),
        architecture: metadata.architecture,
        name: metadata.name,
        chat_template: metadata.chat_template,
        control_tokens,
        file_bytes: wire.len(),
    })
}

fn check_magic<R: Read + Seek>(wire: &mut Wire<R>) -> Result<(), GgufError> {
    let start = wire.first_bytes()?;
    if start != b"GGUF" {
        return Err(GgufError::NotGguf { found: format!("\"{}\"", start.escape_ascii()) });
    }
    match wire.u32()? {
        2 | 3 => Ok(()),
        // The low bytes of a small version number are zero only in the other byte order.
        version if version != 0 && version & 0xffff == 0 => Err(GgufError::BigEndian),
        version => Err(GgufError::Version(version)),
    }
}

#[cfg(test)]
mod tests;
