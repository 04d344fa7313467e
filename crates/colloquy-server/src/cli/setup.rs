//! `setup`: an engine and a first model. It may be run any number of times: what is there is kept,
//! what was interrupted goes on, and when nothing is missing nothing is asked of the network.

mod bars;

use std::path::{Path, PathBuf};

use clap::Args;
use colloquy_models::{
    install::{self, DEFAULT_MODEL_NAME, Folders, InstallError, Progress},
    llama,
};

use super::{CliError, client::Client, models, output};
use crate::{config::Config, data_dir::DataDir};
use bars::Bars;

/// Get an engine and a small model, once.
///
/// The engine is the llama-server of --llama-server or of the PATH; when there is none it is built
/// (about ten minutes on two cores). The model is SmolLM2-135M-Instruct, 98 MB; where other models are
/// installed and this one is not, none is added.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  colloquy setup
  colloquy setup --llama-server ~/llama.cpp/build/bin/llama-server")]
pub(super) struct Arguments {}

pub(super) async fn run(_arguments: Arguments, config: &Config) -> Result<(), CliError> {
    let data_dir = DataDir::at(&config.data_dir);
    data_dir.create().map_err(|source| CliError::caused("create the data folder", source))?;
    let folders = Folders { cache: config.cache_dir.clone(), data: config.data_dir.clone() };

    let engine = match llama::find(config.engine.llama_server.as_deref(), &config.data_dir) {
        Ok(engine) => engine,
        Err(llama::NotFound::Nowhere(_)) => install(folders.clone(), install::install_engine).await?,
        Err(error @ llama::NotFound::Named(_)) => return Err(CliError::Usage(error.to_string())),
    };
    let engine = llama::probe(&engine).await.map_err(|source| CliError::caused("use the engine", source))?;
    output::note(&format!("engine: {} ({})", engine.path.display(), engine.version));

    let client = Client::connect(config).await?;
    let result = first_model(&client, folders).await;
    client.close().await;
    result?;
    output::note("ready: `colloquy serve --open` or `colloquy chat`");
    Ok(())
}

/// Installing blocks, so it has a thread of its own; its bars write to stderr.
async fn install(
    folders: Folders,
    step: fn(&Folders, &mut dyn Progress) -> Result<PathBuf, InstallError>,
) -> Result<PathBuf, CliError> {
    tokio::task::spawn_blocking(move || step(&folders, &mut Bars::new()))
        .await
        .map_err(|source| CliError::caused("run the installation", source))?
        .map_err(|source| CliError::Failed(output::chain(&source)))
}

/// Gets the small model where there is none at all, and its file again where that is gone. Who
/// removed it and has another does not want it back.
async fn first_model(client: &Client, folders: Folders) -> Result<(), CliError> {
    let llms = models::list(client).await?;
    let is_known = llms.iter().any(|llm| llm.name == DEFAULT_MODEL_NAME);
    if llms.is_empty() || is_known {
        let weights = install(folders, install::install_default_model).await?;
        output::note(&format!("model: {}", weights.display()));
        if !is_known {
            register(client, &weights).await?;
        }
    }
    let llms = models::list(client).await?;
    if let Some(default) = llms.iter().find(|llm| llm.is_default) {
        output::note(&format!("default model: {}", default.name));
        if let Some(notice) = default.notice() {
            output::note(notice);
        }
    }
    Ok(())
}

/// Makes the model known; the first one becomes the default.
async fn register(client: &Client, weights: &Path) -> Result<(), CliError> {
    let path = weights.to_str().ok_or_else(|| {
        CliError::Failed(format!("the path {} is not UTF-8; choose another --data-dir", weights.display()))
    })?;
    models::add_gguf(client, DEFAULT_MODEL_NAME, path).await?;
    Ok(())
}
