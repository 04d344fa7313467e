//! Somebody's OpenAI-compatible server: a bound on turns at once, and the key.

use std::{
    collections::HashMap,
    env,
    sync::{Arc, Mutex, PoisonError},
};

use colloquy::ports::{LoadNotice, ModelError, Opened, Overloaded};
use colloquy_core::{control_tokens::ControlTokens, turn::Failure};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::{WAITING_MAX, shutting_down, tell};
use crate::openai::{Endpoint, Flavor, HttpClients, OpenAiModel};

/// The way to all remote servers.
#[derive(Debug)]
pub(super) struct Remote {
    clients: HttpClients,
    /// Waiting turns and running ones.
    places: Arc<Semaphore>,
    turns: Arc<Semaphore>,
    /// One per address, because a model remembers what its server wants; bounded by the number of
    /// installed models.
    models: Mutex<HashMap<Address, Arc<OpenAiModel>>>,
}

/// Where a model is and which variable holds its key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Address {
    pub(super) base_url: String,
    pub(super) model: String,
    pub(super) api_key_env: Option<String>,
}

impl Remote {
    pub(super) fn new(clients: HttpClients, parallel: usize) -> Self {
        let parallel = parallel.clamp(1, Semaphore::MAX_PERMITS - WAITING_MAX);
        Self {
            clients,
            places: Arc::new(Semaphore::new(parallel + WAITING_MAX)),
            turns: Arc::new(Semaphore::new(parallel)),
            models: Mutex::default(),
        }
    }

    pub(super) fn admit(&self) -> Result<OwnedSemaphorePermit, Overloaded> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        place.map_err(|_| Overloaded { waiting: WAITING_MAX })
    }

    /// Waits until fewer than the allowed number of turns run.
    pub(super) async fn open(
        &self,
        place: OwnedSemaphorePermit,
        address: Address,
        window_tokens: Option<u32>,
        notices: &mpsc::Sender<LoadNotice>,
    ) -> Result<Opened, ModelError> {
        let model = self.model(address)?;
        let turn = match Arc::clone(&self.turns).try_acquire_owned() {
            Ok(turn) => turn,
            Err(_) => {
                tell(notices, LoadNotice::Waiting);
                Arc::clone(&self.turns).acquire_owned().await.map_err(|_| shutting_down())?
            }
        };
        let control_tokens = Arc::new(ControlTokens::KnownMarkers);
        Ok(Opened { model, window_tokens, control_tokens, hold: Box::new((turn, place)) })
    }

    fn model(&self, address: Address) -> Result<Arc<OpenAiModel>, ModelError> {
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = models.get(&address) {
            return Ok(Arc::clone(model));
        }
        let client = self.clients.for_url(&address.base_url).map_err(|error| refused(error.to_string()))?;
        let endpoint = Endpoint {
            base_url: address.base_url.clone(),
            model: address.model.clone(),
            api_key: address.api_key_env.as_deref().map(key_from_environment).transpose()?,
            flavor: Flavor::Unknown,
        };
        let model = Arc::new(OpenAiModel::new(endpoint, client));
        models.insert(address, Arc::clone(&model));
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
