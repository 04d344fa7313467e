//! One remote model as all the models of a program: whatever a conversation is bound to, this one
//! answers it.

use std::sync::Arc;

use async_trait::async_trait;
use colloquy::ports::{LlmRow, LoadNotice, ModelError, Models, NotAdmitted, Opened, Ticket};
use colloquy_core::{control_tokens::ControlTokens, seat::ModelSpec, turn::Locality};
use tokio::sync::mpsc;

use super::HttpModel;
use crate::{queue::Place, wire::Wire};

#[async_trait]
impl<W: Wire> Models for HttpModel<W> {
    fn admit(&self, _llm: Option<&LlmRow>) -> Result<Box<dyn Ticket>, NotAdmitted> {
        Ok(Box::new(HttpTicket { place: self.queue.admit()?, model: self.clone() }))
    }

    fn allocated_window(&self, _llm: &LlmRow) -> Option<u32> {
        self.connection.wire.spec().context_window
    }

    async fn shut_down(&self) {
        // The server is somebody else's, and connections end with the last clone.
    }
}

/// A place in the queue of the one model.
struct HttpTicket<W> {
    model: HttpModel<W>,
    place: Place,
}

#[async_trait]
impl<W: Wire> Ticket for HttpTicket<W> {
    fn locality(&self) -> Locality {
        Locality::Remote
    }

    fn spec(&self) -> Arc<ModelSpec> {
        Arc::clone(self.model.connection.wire.spec())
    }

    async fn open(self: Box<Self>, notices: mpsc::Sender<LoadNotice>) -> Result<Opened, ModelError> {
        let Self { model, place } = *self;
        let running = place.run(&notices).await;
        Ok(Opened {
            spec: Arc::clone(model.connection.wire.spec()),
            model: Arc::new(model),
            // The vocabulary of somebody else's model cannot be read.
            control_tokens: Arc::new(ControlTokens::KnownMarkers),
            hold: Box::new(running),
        })
    }
}

#[cfg(test)]
mod tests;
