//! Decides how a child is started: a pure function of the engine, the model and the memory.

use std::{ffi::OsString, path::PathBuf};

use super::probe::Flags;
use crate::{gguf::Header, machine::Memory};

const MIB: u64 = 1 << 20;
/// A window below this is of no use, whatever the memory says.
const WINDOW_TOKENS_MIN: u64 = 4_096;
/// What llama-server rounds a window up to.
const WINDOW_STEP_TOKENS: u64 = 256;
/// The share of all memory that the cache of one window may take.
const WINDOW_MEMORY_SHARE: u64 = 4;
/// The share of free memory that the cache of other conversations may take, and its borders.
const CACHE_MEMORY_SHARE: u64 = 8;
const CACHE_MIB_MIN: u64 = 256;
const CACHE_MIB_MAX: u64 = 8_192;
/// Tokens read in one go. The engine hears a stop only between two batches, and this is the
/// largest batch of which a slow machine still reads one in about a second.
const BATCH_TOKENS: &str = "128";

/// What a child is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The weights.
    pub(crate) model: PathBuf,
    /// The window to allocate; `None` leaves it to the engine, which takes the trained one.
    pub(crate) window_tokens: Option<u64>,
    /// The size of the prompt cache.
    pub(crate) cache_mib: u64,
    /// Whether the attention slides.
    pub(crate) sliding_window: bool,
}

impl Plan {
    /// Fits the model into the memory there is.
    pub(crate) fn new(model: PathBuf, header: &Header, memory: Memory) -> Self {
        Self {
            model,
            window_tokens: window_tokens(header, memory),
            cache_mib: (memory.available_bytes / CACHE_MEMORY_SHARE / MIB)
                .clamp(CACHE_MIB_MIN, CACHE_MIB_MAX),
            sliding_window: header.sliding_window,
        }
    }

    /// The command line, without the key, which must not show in a list of processes.
    pub(crate) fn arguments(&self, port: u16, flags: Flags) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec!["-m".into(), self.model.clone().into_os_string()];
        let mut push = |words: &[&str]| arguments.extend(words.iter().map(OsString::from));
        push(&["--host", "127.0.0.1", "--port", &port.to_string()]);
        // One slot, so that one conversation has the whole window.
        push(&["-np", "1", "-b", BATCH_TOKENS, "-ub", BATCH_TOKENS]);
        if let Some(tokens) = self.window_tokens {
            push(&["-c", &tokens.to_string()]);
        }
        if flags.jinja {
            push(&["--jinja"]);
        }
        if flags.no_webui {
            push(&["--no-webui"]);
        }
        if flags.cache_ram {
            push(&["--cache-ram", &self.cache_mib.to_string()]);
        }
        if flags.swa_full && self.sliding_window {
            push(&["--swa-full"]);
        }
        arguments
    }
}

/// The trained window, unless its cache would take more than a quarter of the memory.
fn window_tokens(header: &Header, memory: Memory) -> Option<u64> {
    let trained = u64::from(header.context_length?);
    let Some(per_token) = header.cache_bytes_per_token else { return Some(trained) };
    let affordable = memory.total_bytes / WINDOW_MEMORY_SHARE / per_token;
    let affordable = affordable / WINDOW_STEP_TOKENS * WINDOW_STEP_TOKENS;
    Some(trained.min(affordable.max(WINDOW_TOKENS_MIN)))
}

#[cfg(test)]
mod tests;
