//! One call of the model: prepare what it sees, stream what it says to the reader.
//!
//! Text that a stop or a failure leaves in the splitter is still told, so that what is stored is
//! exactly what was shown.

use std::{sync::Arc, time::Duration};

use colloquy_core::{
    conversation::Settings,
    message::{FinishReason, Message, Usage, text_of},
    objective::Tier,
    prepare::{ObjectiveParts, prepare},
    sampling::{self, SamplingDefaults},
    think_splitter::{Piece, ThinkSplitter},
    turn::{Failure, Sampled, TurnEvent},
};
use futures::StreamExt;

use crate::{
    ports::{CallOptions, ModelCall, ModelChunk, ModelError, Opened, Sampling},
    service::Running,
    stream::{Progress, StreamEvent},
};

/// What a turn asks the model, the branch with its question last.
pub(crate) struct Request {
    /// The view, repaired.
    pub(crate) messages: Vec<Message>,
    /// The texts of its starred messages.
    pub(crate) starred: Vec<String>,
    /// Picks the persona.
    pub(crate) tier: Tier,
    /// The conversation's settings with the overrides of this turn.
    pub(crate) settings: Settings,
    /// What the model's author recommends.
    pub(crate) defaults: SamplingDefaults,
    /// The pinned token limit.
    pub(crate) max_tokens: Option<u32>,
    /// The pause before a second try.
    pub(crate) retry_pause_ms: u64,
}

/// Asks the model, once or again, and keeps the splitter between its chunks.
pub(super) struct Sampler {
    running: Arc<Running>,
    request: Request,
    splitter: ThinkSplitter,
}

impl Sampler {
    pub(super) fn new(running: Arc<Running>, request: Request) -> Self {
        Self { running, request, splitter: ThinkSplitter::new() }
    }

    /// Streams one call. `attempt` counts from 1; a later one waits first.
    pub(super) async fn sample(&mut self, opened: &Opened, attempt: u32) -> TurnEvent {
        if attempt > 1 {
            tokio::time::sleep(pause_before(attempt, self.request.retry_pause_ms)).await;
        }
        let mut chunks = match opened.model.call(self.call(opened)).await {
            Ok(chunks) => chunks,
            Err(ModelError(failure)) => return TurnEvent::Failed { failure, after_first_chunk: false },
        };
        let mut after_first_chunk = false;
        while let Some(chunk) = chunks.next().await {
            match chunk {
                Ok(ModelChunk::Reading { done, total }) => {
                    self.running.log.push(StreamEvent::Progress(Progress::Reading { done, total }));
                }
                Ok(ModelChunk::Text(text)) => {
                    after_first_chunk = true;
                    let pieces = self.splitter.feed(&text);
                    self.tell(pieces);
                }
                Ok(ModelChunk::Reasoning(text)) => {
                    after_first_chunk = true;
                    self.running.log.push(StreamEvent::Thinking(text));
                }
                Ok(ModelChunk::End { finish_reason, usage }) => return self.ended(finish_reason, usage),
                Err(ModelError(failure)) => return TurnEvent::Failed { failure, after_first_chunk },
            }
        }
        let detail = "the connection closed before the answer ended".into();
        TurnEvent::Failed { failure: Failure::Transient { detail }, after_first_chunk }
    }

    /// Tells what is still held back and gives the request back.
    pub(super) fn finish(mut self) -> Request {
        self.flush();
        self.request
    }

    fn ended(&mut self, finish_reason: FinishReason, usage: Usage) -> TurnEvent {
        self.flush();
        let has_text = !text_of(&self.running.log.blocks()).trim().is_empty();
        TurnEvent::Sampled(Sampled { has_text, finish_reason, usage })
    }

    fn flush(&mut self) {
        let pieces = self.splitter.flush();
        self.tell(pieces);
    }

    fn tell(&self, pieces: Vec<Piece>) {
        for piece in pieces {
            self.running.log.push(match piece {
                Piece::Answer(text) => StreamEvent::Answer(text),
                Piece::Thinking(text) => StreamEvent::Thinking(text),
            });
        }
    }

    fn call(&self, opened: &Opened) -> ModelCall {
        let Request { messages, starred, tier, settings, defaults, max_tokens, retry_pause_ms: _ } =
            &self.request;
        let objective = ObjectiveParts { tier: *tier, custom_prompt: &settings.custom_prompt, starred };
        ModelCall {
            prepared: prepare(&objective, messages, &opened.control_tokens),
            sampling: Sampling {
                temperature: settings.temperature,
                top_p: settings.top_p,
                top_k: defaults.top_k,
                min_p: defaults.min_p,
                presence_penalty: defaults.presence_penalty,
                repetition_penalty: defaults.repetition_penalty,
                repetition_context_size: defaults.repetition_context_size,
            },
            options: CallOptions { max_tokens: *max_tokens, window_tokens: opened.window_tokens },
        }
    }
}

/// The pause before the `attempt`-th try: each is four times the one before.
fn pause_before(attempt: u32, first_ms: u64) -> Duration {
    Duration::from_millis(first_ms.saturating_mul(4_u64.saturating_pow(attempt.saturating_sub(2))))
}

/// The sampling defaults of a model, from the `generation_config` its author wrote.
pub(crate) fn defaults_of(generation_config: Option<&str>, context_window: Option<u32>) -> SamplingDefaults {
    let config = generation_config.and_then(|text| serde_json::from_str(text).ok());
    sampling::resolve(config.as_ref(), context_window, None)
}
