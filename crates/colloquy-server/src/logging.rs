//! The log: `logs/colloquy.log` for the one process that owns the data folder, warnings on stderr
//! for everybody.
//!
//! It never holds what people or models wrote; call sites log identifiers, counts and causes.

mod rotating;

use std::io;

use tracing_subscriber::{
    Layer,
    filter::{LevelFilter, Targets},
    fmt,
    layer::SubscriberExt,
    util::{SubscriberInitExt, TryInitError},
};

use crate::data_dir::DataDir;
use rotating::RotatingFile;

/// Starts logging. With a folder everything worth keeping goes into its file; only the holder of
/// the folder's lock may pass one, since two processes would rotate under each other.
pub(crate) fn start(owned: Option<&DataDir>) -> Result<(), LogError> {
    let to_file = owned
        .map(|data_dir| RotatingFile::open(data_dir.logs().join("colloquy.log")))
        .transpose()?
        .map(|file| fmt::layer().with_ansi(false).with_writer(file).with_filter(worth_keeping()));
    let to_stderr = fmt::layer()
        .with_ansi(false)
        .without_time()
        .with_target(false)
        .with_writer(io::stderr)
        .with_filter(LevelFilter::WARN);
    tracing_subscriber::registry().with(to_file).with(to_stderr).try_init()?;
    Ok(())
}

/// Our own steps and the engine's own lines, and of the dependencies only what went wrong.
fn worth_keeping() -> Targets {
    let ours = [("colloquy", LevelFilter::INFO), ("llama_server", LevelFilter::INFO)];
    Targets::new().with_targets(ours).with_default(LevelFilter::WARN)
}

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LogError {
    /// The file cannot be opened.
    #[error("failed to open the log file")]
    File(#[from] io::Error),
    /// Logging had been started.
    #[error("failed to start logging")]
    Started(#[from] TryInitError),
}
