//! One scripted model: a call is checked, recorded and answered by the next script.
//!
//! A request that no real server takes is refused and remembered; it uses up no script.

use std::{collections::VecDeque, sync::Arc};

use async_trait::async_trait;
use colloquy::ports::{Model, ModelCall, ModelChunk, ModelError};
use colloquy_core::turn::Failure;
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};

use super::{
    Shared, check,
    log::{CallEnd, CallGuard},
    script::{Script, Step},
};
use crate::lock::lock;

pub(super) struct ScriptedModel {
    shared: Arc<Shared>,
}

impl ScriptedModel {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::clone(shared) }
    }

    fn next_script(&self, call: &ModelCall) -> Script {
        let refusal = |detail| Script::fail(Failure::Refused { detail });
        if let Some(fault) = check::fault(&call.prepared) {
            lock(&self.shared.fault).get_or_insert_with(|| fault.clone());
            return refusal(format!("no model takes this request: {fault}"));
        }
        let next = lock(&self.shared.scripts).pop_front();
        next.unwrap_or_else(|| refusal("the test's script has no further call".to_owned()))
    }
}

#[async_trait]
impl Model for ScriptedModel {
    async fn call(
        &self,
        call: ModelCall,
    ) -> Result<BoxStream<'static, Result<ModelChunk, ModelError>>, ModelError> {
        let steps = self.next_script(&call).steps_for(&call);
        let guard = self.shared.log.begin(call);
        let mut answer = Playing { steps, guard };
        let first = answer.next().await.transpose()?;
        let rest = stream::unfold(answer, |mut answer| async move {
            let item = answer.next().await?;
            Some((item, answer))
        });
        Ok(stream::iter(first.map(Ok)).chain(rest).boxed())
    }

    fn name(&self) -> (&'static str, String) {
        ("scripted", "scripted-model".into())
    }
}

/// A script that is being followed. Dropped before its end, it is recorded as dropped.
struct Playing {
    steps: VecDeque<Step>,
    guard: CallGuard,
}

impl Playing {
    async fn next(&mut self) -> Option<Result<ModelChunk, ModelError>> {
        loop {
            let chunk = match self.steps.pop_front()? {
                Step::Text(text) => ModelChunk::Text(text),
                Step::Reasoning(text) => ModelChunk::Reasoning(text),
                Step::ReasoningSignature(signature) => ModelChunk::ReasoningSignature(signature),
                Step::RedactedReasoning(data) => ModelChunk::RedactedReasoning(data),
                Step::ToolCall(call) => ModelChunk::ToolCall(call),
                Step::Reading { done, total } => ModelChunk::Reading { done, total },
                Step::Pause(gate) => {
                    gate.pass().await;
                    continue;
                }
                Step::Hang => std::future::pending().await,
                Step::End { finish_reason, usage } => {
                    self.steps.clear();
                    self.guard.end(CallEnd::Ended);
                    ModelChunk::End { finish_reason, usage }
                }
                Step::Fail(failure) => {
                    self.steps.clear();
                    self.guard.end(CallEnd::Failed);
                    return Some(Err(ModelError(failure)));
                }
                Step::Choose(_) => panic!("BUG: a script chooses before it is followed"),
            };
            return Some(Ok(chunk));
        }
    }
}
