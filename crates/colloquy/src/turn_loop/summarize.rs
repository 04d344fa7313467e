//! Summaries of long fields by the model itself, where the field's author allows it (reference
//! § 11). Each is made once; whatever goes wrong, the beginning of the text stands in.

use std::{sync::Arc, time::Duration};

use colloquy_core::{
    artifact::ArtifactRef,
    block::Block,
    message::{FinishReason, Role},
    prepare::{PreparedConversation, PreparedTurn},
    seat::Thinking,
    summarize::{
        LLM_TIMEOUT_MS, Plan, Summarizable, SummarySize, accepted, combined, pieces, plan, prompt, shortened,
    },
    think_splitter::{Piece, ThinkSplitter},
};
use futures::StreamExt;

use super::Work;
use crate::{
    ports::{CallOptions, Model, ModelCall, ModelChunk, Opened, Sampling, ToolChoice},
    service::lock_instance,
};

/// The share of a window that a text to be summarised may take, and how many characters are taken
/// for a token: both on the safe side.
const WINDOW_SHARE_PERCENT: u32 = 80;
const CHARS_PER_TOKEN: u32 = 2;

/// A text that wants a summary.
struct Wanted {
    reference: ArtifactRef,
    pointer: String,
    text: String,
    field: Summarizable,
}

impl Work {
    /// Makes the summaries that the next request would show cut.
    pub(super) async fn summarize(&self) {
        let Some(opened) = &self.opened else { return };
        for wanted in self.wanted() {
            let limit = Duration::from_millis(LLM_TIMEOUT_MS);
            let summary = match plan(&wanted.text, &wanted.field) {
                Plan::Ask { size, max_tokens } => {
                    let asking = summary_of(opened, &wanted, size, max_tokens, self.request.sampling);
                    tokio::time::timeout(limit, asking).await.ok().flatten()
                }
                Plan::Whole | Plan::Ready(_) => None,
            };
            let Some(summary) = summary.or_else(|| shortened(&wanted.text, &wanted.field)) else { continue };
            let mut instance = lock_instance(&self.instance);
            instance.note_summary(&wanted.reference, &wanted.pointer, summary);
        }
    }

    fn wanted(&self) -> Vec<Wanted> {
        let instance = lock_instance(&self.instance);
        let mut wanted = Vec::new();
        instance.registry.wanting_summaries(&instance.types, &mut |long| {
            if let Some(reference) = long.holder {
                wanted.push(Wanted {
                    reference: reference.clone(),
                    pointer: long.pointer.to_owned(),
                    text: long.text.to_owned(),
                    field: long.field.clone(),
                });
            }
        });
        wanted
    }
}

/// Asks for a summary; of a text that does not fit at once, piece by piece and then of the pieces.
async fn summary_of(
    opened: &Opened,
    wanted: &Wanted,
    size: SummarySize,
    max_tokens: u32,
    sampling: Sampling,
) -> Option<String> {
    let hint = wanted.field.hint.as_deref();
    let ask = |text: String, size: SummarySize| async move {
        let call = call(prompt(&text, size, hint), max_tokens, opened.spec.context_window, sampling);
        accepted(&text, &answer(&opened.model, call).await?)
    };
    let mut text = wanted.text.clone();
    if let Some(chars_max) = chars_at_once(opened.spec.context_window, max_tokens) {
        while text.chars().count() > chars_max {
            let mut summaries = Vec::new();
            for piece in pieces(&text, chars_max) {
                summaries.push(ask(piece.to_owned(), SummarySize::Short).await?);
            }
            let shorter = combined(&summaries);
            if shorter.len() >= text.len() {
                return None;
            }
            text = shorter;
        }
    }
    ask(text, size).await
}

/// How many characters of text one request takes; `None` where the window is not known.
fn chars_at_once(window_tokens: Option<u32>, max_tokens: u32) -> Option<usize> {
    let room = (window_tokens? / 100 * WINDOW_SHARE_PERCENT).saturating_sub(max_tokens);
    usize::try_from((room * CHARS_PER_TOKEN).max(1_000)).ok()
}

fn call(prompt: String, max_tokens: u32, window_tokens: Option<u32>, sampling: Sampling) -> ModelCall {
    let turn = PreparedTurn { role: Role::User, blocks: vec![Block::Text(prompt)], n_stable: 0 };
    let prepared = PreparedConversation { turns: vec![Arc::new(turn)], ..PreparedConversation::default() };
    let options = CallOptions {
        max_tokens: Some(max_tokens),
        window_tokens,
        thinking: Thinking::Off,
        tool_choice: ToolChoice::None,
        response_format: None,
    };
    ModelCall { prepared, sampling, options }
}

/// The text of a whole answer; `None` when there is none, or it is cut or refused.
async fn answer(model: &Arc<dyn Model>, call: ModelCall) -> Option<String> {
    let mut chunks = model.call(call).await.ok()?;
    let (mut splitter, mut pieces) = (ThinkSplitter::new(), Vec::new());
    while let Some(chunk) = chunks.next().await {
        match chunk.ok()? {
            ModelChunk::Text(text) => pieces.extend(splitter.feed(&text)),
            ModelChunk::End { finish_reason: FinishReason::Stop, .. } => {
                pieces.extend(splitter.flush());
                let said = pieces.into_iter().filter_map(|piece| match piece {
                    Piece::Answer(text) => Some(text),
                    Piece::Thinking(_) => None,
                });
                return Some(said.collect());
            }
            ModelChunk::End { .. } => return None,
            ModelChunk::Reading { .. }
            | ModelChunk::Reasoning(_)
            | ModelChunk::ReasoningSignature(_)
            | ModelChunk::RedactedReasoning(_)
            | ModelChunk::ToolCall(_) => {}
        }
    }
    None
}
