//! The service on a store on disk, and a client that times streams.

use std::{path::Path, sync::Arc, time::Instant};

use colloquy::{
    Colloquy, Create,
    ports::{EngineKind, Models, NewLlm, Principal},
};
use colloquy_core::conversation::SettingsChange;
use colloquy_models::engines::{Engines, EnginesConfig};
use colloquy_store_sqlite::SqliteStore;
use futures::StreamExt;
use serde_json::Value;

pub(crate) struct Host {
    pub(crate) colloquy: Colloquy,
    pub(crate) principal: Principal,
}

impl Host {
    /// Opens the folder's store, with one model installed. `max_tokens` pins every answer's length.
    pub(crate) async fn open(
        folder: &Path,
        config: EnginesConfig,
        engine: EngineKind,
        max_tokens: Option<u32>,
    ) -> Self {
        let models: Arc<dyn Models> = Arc::new(Engines::new(config).unwrap());
        let store = Arc::new(SqliteStore::open(&folder.join("colloquy.db")).await.unwrap());
        let colloquy =
            Colloquy::builder().store(store).models(models).max_tokens(max_tokens).build().unwrap();
        let principal = Principal::local();
        let llm = NewLlm {
            name: "benchmarked".into(),
            engine,
            context_window: Some(8192),
            param_size: Some(0.1),
            size_bytes: None,
            generation_config: None,
            make_default: true,
            created_at: colloquy.clock().now(),
        };
        colloquy.store().insert_llm(&principal, llm).await.unwrap();
        Self { colloquy, principal }
    }

    /// A conversation at temperature 0.
    pub(crate) async fn conversation(&self) -> i64 {
        let settings = SettingsChange { temperature: Some(0.0), ..SettingsChange::default() };
        let create = Create { settings, ..Create::default() };
        self.colloquy.create(&self.principal, create).await.unwrap().id.0
    }
}

/// When the first piece of an answer came and when the stream ended, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timed {
    pub(crate) first_ms: f64,
    pub(crate) whole_ms: f64,
}

/// Posts `body` and reads the stream; a line that holds `mark` is the first piece. Gives the lines.
pub(crate) async fn timed(client: &reqwest::Client, url: &str, body: &Value, mark: &str) -> (Timed, String) {
    let bytes = body.to_string();
    let started = Instant::now();
    let response =
        client.post(url).header("content-type", "application/json").body(bytes).send().await.unwrap();
    assert!(response.status().is_success(), "{}: {}", response.status(), response.text().await.unwrap());
    let mut read = Vec::new();
    let mut first_ms = None;
    let mut stream = response.bytes_stream();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.unwrap();
        if first_ms.is_none() && chunk.windows(mark.len()).any(|window| window == mark.as_bytes()) {
            first_ms = Some(super::table::ms(started.elapsed()));
        }
        read.extend_from_slice(&chunk);
    }
    let timed = Timed {
        first_ms: first_ms.expect("the stream held an answer"),
        whole_ms: super::table::ms(started.elapsed()),
    };
    (timed, String::from_utf8(read).unwrap())
}
