//! Somebody's OpenAI-compatible server: a bound on turns at once, and the key.

use std::{
    collections::HashMap,
    env,
    sync::{Arc, Mutex, PoisonError},
};

use colloquy::ports::{LlmRow, LoadNotice, ModelError, NotAdmitted, Opened};
use colloquy_core::{
    control_tokens::ControlTokens,
    seat::{ModelSpec, ToolWire},
    turn::Failure,
};
use tokio::sync::mpsc;

use crate::{
    client::HttpClients,
    openai::{Endpoint, OpenAi},
    queue::{Place, Queue},
};

/// The way to all remote servers.
#[derive(Debug)]
pub(super) struct Remote {
    clients: HttpClients,
    queue: Queue,
    /// One per address, because a model remembers what its server wants; bounded by the number of
    /// installed models.
    models: Mutex<HashMap<Address, OpenAi>>,
}

/// Where a model is and which variable holds its key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Address {
    pub(super) base_url: String,
    pub(super) model: String,
    pub(super) api_key_env: Option<String>,
}

/// What a row says of a model on somebody's server. Tools go over the wire, which every current
/// server reads; whether it can be held to a schema is not known.
pub(super) fn spec(row: &LlmRow) -> ModelSpec {
    ModelSpec {
        id: row.name.clone(),
        param_size: row.param_size,
        context_window: row.context_window,
        tools: ToolWire::Native,
        json_schema: false,
        ..ModelSpec::default()
    }
}

impl Remote {
    pub(super) fn new(clients: HttpClients, parallel: usize) -> Self {
        Self { clients, queue: Queue::new(parallel), models: Mutex::default() }
    }

    pub(super) fn admit(&self) -> Result<Place, NotAdmitted> {
        self.queue.admit()
    }

    /// Waits until fewer than the allowed number of turns run.
    pub(super) async fn open(
        &self,
        place: Place,
        address: Address,
        spec: Arc<ModelSpec>,
        notices: &mpsc::Sender<LoadNotice>,
    ) -> Result<Opened, ModelError> {
        let model = self.model(address, &spec)?;
        let running = place.run(notices).await;
        let control_tokens = Arc::new(ControlTokens::KnownMarkers);
        Ok(Opened { model: Arc::new(model), spec, control_tokens, hold: Box::new(running) })
    }

    /// The model of the first turn that named the address: what is said of a request is the same for
    /// all of them.
    fn model(&self, address: Address, spec: &Arc<ModelSpec>) -> Result<OpenAi, ModelError> {
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = models.get(&address) {
            return Ok(model.clone());
        }
        let client = self.clients.for_url(&address.base_url).map_err(|error| refused(error.to_string()))?;
        let endpoint = Endpoint {
            api_key: address.api_key_env.as_deref().map(key_from_environment).transpose()?,
            ..Endpoint::new(&address.base_url, &address.model)
        };
        let model = OpenAi::with_client(endpoint, Arc::clone(spec), client);
        models.insert(address, model.clone());
        Ok(model)
    }
}

/// The key is never stored: only the name of the variable that holds it is.
#[expect(clippy::disallowed_methods, reason = "which variable is asked for stands in the store")]
fn key_from_environment(variable: &str) -> Result<String, ModelError> {
    let key = env::var_os(variable).and_then(|key| key.into_string().ok());
    key.filter(|key| !key.trim().is_empty()).ok_or_else(|| {
        refused(format!(
            "the key of this model is read from the environment variable {variable}, which is not set; \
             set it and start Colloquy again"
        ))
    })
}

fn refused(detail: String) -> ModelError {
    ModelError(Failure::Refused { detail })
}
