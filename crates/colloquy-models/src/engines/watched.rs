//! A model whose engine is a child of ours: when a call fails because the child died, the error
//! says so, with the child's last lines, instead of naming a closed connection.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use colloquy::ports::{Model, ModelCall, ModelChunk, ModelError};
use colloquy_core::turn::Failure;
use futures::{StreamExt, stream::BoxStream};
use tokio::time::timeout;

use crate::llama::child::Child;

/// A connection closes a moment before the end of its process is known.
const END_GRACE: Duration = Duration::from_secs(1);

/// A model and the process behind it.
pub(super) struct Watched<M> {
    model: M,
    child: Arc<Child>,
}

impl<M: Model> Watched<M> {
    pub(super) fn new(model: M, child: Arc<Child>) -> Self {
        Self { model, child }
    }
}

#[async_trait]
impl<M: Model> Model for Watched<M> {
    async fn call(
        &self,
        call: ModelCall,
    ) -> Result<BoxStream<'static, Result<ModelChunk, ModelError>>, ModelError> {
        let chunks = match self.model.call(call).await {
            Ok(chunks) => chunks,
            Err(error) => return Err(explain(error, &self.child).await),
        };
        let child = Arc::clone(&self.child);
        let explained = chunks.then(move |chunk| {
            let child = Arc::clone(&child);
            async move {
                match chunk {
                    Ok(chunk) => Ok(chunk),
                    Err(error) => Err(explain(error, &child).await),
                }
            }
        });
        Ok(explained.boxed())
    }

    fn name(&self) -> (&'static str, String) {
        self.model.name()
    }
}

async fn explain(error: ModelError, child: &Child) -> ModelError {
    match &error.0 {
        Failure::Transient { .. } => match timeout(END_GRACE, child.ended()).await {
            Ok(how) => ModelError(Failure::Engine { detail: how.0 }),
            Err(_) => error,
        },
        Failure::Overflow { .. }
        | Failure::Engine { .. }
        | Failure::Busy { .. }
        | Failure::Refused { .. }
        | Failure::ContentRefused { .. }
        | Failure::Silent { .. }
        | Failure::OffContract { .. }
        | Failure::ToolLimit { .. }
        | Failure::Internal => error,
    }
}
