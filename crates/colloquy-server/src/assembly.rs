//! Puts the store, the models and the service together, for `serve` and for commands that find
//! no server. Exactly one of these exists per data folder: it holds the folder's lock.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use colloquy::{
    Colloquy,
    ports::{Page, Principal, Store, StoreError},
};
use colloquy_models::{
    client::{HttpClientError, HttpClients},
    engines::{Engines, EnginesConfig},
};
use colloquy_store_sqlite::{Finding, SqliteStore};

use crate::{
    app::{AppState, Security, app},
    config::{Config, Token},
    data_dir::{DataDir, Lock},
    toy,
};

/// The service of one data folder, with the lock that makes it the only one.
pub(crate) struct Assembly {
    colloquy: Colloquy,
    store: Arc<SqliteStore>,
    clients: Arc<HttpClients>,
    lock: Lock,
}

/// Why it cannot be put together.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AssemblyError {
    /// The database cannot be opened, or turns left in it cannot be closed.
    #[error("failed to open the conversations")]
    Store(#[from] StoreError),
    /// No client for other servers can be made.
    #[error("failed to prepare requests to other servers")]
    Clients(#[from] HttpClientError),
}

impl Assembly {
    /// Opens everything and closes the turns whose process died. Starts no engine: that is the
    /// first turn's business, so that opening is quick.
    pub(crate) async fn open(config: &Config, lock: Lock) -> Result<Self, AssemblyError> {
        let store = Arc::new(SqliteStore::open(&DataDir::at(&config.data_dir).database()).await?);
        let clients = Arc::new(HttpClients::new()?);
        let engines = Engines::new(engines_config(config))?;
        let colloquy = Colloquy::builder()
            .store(Arc::clone(&store) as Arc<dyn Store>)
            .models(Arc::new(engines))
            .timing(config.timing)
            .max_tokens(config.max_tokens)
            .build()
            .expect("BUG: store and models are given");
        let n_closed = colloquy.recover().await?;
        if n_closed > 0 {
            tracing::info!(n_closed, "closed turns whose process had died");
        }
        Ok(Self { colloquy, store, clients, lock })
    }

    /// The HTTP API. `bound` is the address it is served on, when it is.
    pub(crate) fn router(&self, config: &Config, bound: Option<SocketAddr>) -> Router {
        app(AppState {
            colloquy: self.colloquy.clone(),
            principal: Principal::local(),
            security: Security {
                allowed_hosts: config.http.allowed_hosts.clone(),
                allowed_origins: config.http.allowed_origins.clone(),
                bound,
                token: config.http.token.as_ref().map(|token| Token::reveal(token).to_owned()),
            },
            clients: Arc::clone(&self.clients),
            heartbeat: Duration::from_secs(config.http.heartbeat_s),
            version: env!("CARGO_PKG_VERSION"),
        })
    }

    /// Proof that this process owns the folder.
    pub(crate) fn lock(&self) -> &Lock {
        &self.lock
    }

    /// What people should know of the default model, if there is anything.
    pub(crate) async fn notice(&self) -> Result<Option<String>, StoreError> {
        let llms = self.store.list_llms(&Principal::local(), Page::default()).await?;
        Ok(llms.iter().find(|llm| llm.is_default).and_then(toy::notice))
    }

    /// What is wrong in the database, as far as its own invariants tell.
    pub(crate) async fn check(&self) -> Result<Vec<Finding>, StoreError> {
        self.store.check().await
    }

    /// Closes the running turns, ends the engine and closes the database. The folder stays locked
    /// until this is dropped.
    pub(crate) async fn close(&self) {
        self.colloquy.shut_down().await;
        self.store.close().await;
    }
}

fn engines_config(config: &Config) -> EnginesConfig {
    EnginesConfig {
        llama_server: config.engine.llama_server.clone(),
        idle_unload: Duration::from_secs(config.engine.idle_unload_s),
        idle_tick: Duration::from_secs(config.engine.idle_tick_s),
        parallel_remote: usize::try_from(config.engine.parallel_remote).unwrap_or(usize::MAX),
        ..EnginesConfig::new(config.data_dir.clone())
    }
}
