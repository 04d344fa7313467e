//! How long a model may say nothing before its turn is given up.
//!
//! Before the first chunk it may be reading a long prompt, so the wait grows with the prompt and
//! ends at a ceiling that grows with the window. Between chunks there is nothing to wait for.

use std::time::Duration;

use crate::{block::Block, prepare::PreparedConversation};

/// Longest silence once the first chunk has arrived.
pub const BETWEEN_CHUNKS: Duration = Duration::from_secs(120);

const SHORTEST: Duration = Duration::from_secs(120);
const CEILING_LEAST: Duration = Duration::from_secs(900);
const CEILING_MOST: Duration = Duration::from_secs(3600);

/// Longest silence before the first chunk. A window of zero is unknown, like `None`.
pub fn first_chunk_limit(estimated_prompt_tokens: u64, window_tokens: Option<u32>) -> Duration {
    reading_time(estimated_prompt_tokens).clamp(SHORTEST, first_chunk_ceiling(window_tokens))
}

/// Where [`first_chunk_limit`] ends, however long the prompt is.
pub fn first_chunk_ceiling(window_tokens: Option<u32>) -> Duration {
    match window_tokens {
        None | Some(0) => CEILING_LEAST,
        Some(window) => reading_time(u64::from(window)).clamp(CEILING_LEAST, CEILING_MOST),
    }
}

/// An upper bound of the tokens of a prompt: a token is at least one byte, and the template adds
/// a few to each message.
pub fn estimated_prompt_tokens(prepared: &PreparedConversation) -> u64 {
    let tools = prepared.palette.iter().map(|tool| tool.text().len());
    let skills = prepared.skills.iter().map(|skill| skill.body.len());
    let turns = prepared.turns.iter().map(|turn| turn.blocks.iter().map(Block::n_bytes).sum());
    std::iter::once(prepared.system.len())
        .chain(tools)
        .chain(skills)
        .chain(turns)
        .map(|n_bytes| n_bytes as u64 + TEMPLATE_TOKENS)
        .sum()
}

const TEMPLATE_TOKENS: u64 = 8;

/// Half a minute, and a second for every 25 tokens.
fn reading_time(tokens: u64) -> Duration {
    Duration::from_millis(tokens.saturating_mul(40).saturating_add(30_000))
}

#[cfg(test)]
mod tests;
