//! Gets what a first start needs: an engine and the default model.
//!
//! Everything is fetched and built in the cache folder, which any number of data folders share,
//! and arrives in a data folder by a rename: nothing half installed is ever in the way, a second
//! run finds what the first one did, and an interrupted one goes on where it was. The functions
//! block; they are for a command line.

mod commands;
mod engine;
mod model;
mod place;

use std::{io, path::PathBuf};

pub use engine::install_engine;
pub use model::{DEFAULT_MODEL_NAME, install_default_model};

/// Who is told how far an installation is.
pub trait Progress {
    /// A step begins; `total` in units of `unit` where it is known.
    fn begin(&mut self, what: &str, unit: Unit, total: Option<u64>);

    /// The step is at `done`. The total may become known, or change, on the way.
    fn advance(&mut self, done: u64, total: Option<u64>);

    /// The step is over.
    fn end(&mut self);
}

/// What a step counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Parts of a build.
    Parts,
    /// Nothing: it takes as long as it takes.
    Unknown,
}

/// Where things are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// Shared by all data folders; anything in it can be made again.
    pub cache: PathBuf,
    /// The folder of one Colloquy.
    pub data: PathBuf,
}

impl Folders {
    fn downloads(&self) -> PathBuf {
        self.cache.join("downloads")
    }
}

/// Why something could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// Programs of the system are missing.
    #[error("{} missing; install with: apt-get install -y {}", .programs.join(", "), .packages.join(" "))]
    Missing {
        /// The programs.
        programs: Vec<&'static str>,
        /// The Debian packages that bring them.
        packages: Vec<&'static str>,
    },
    /// A program that was run failed.
    #[error("{what} failed ({how}):\n{last_lines}")]
    Failed {
        /// What was being done.
        what: String,
        /// The exit status, or why it did not start.
        how: String,
        /// What it said last.
        last_lines: String,
    },
    /// A package could not be had.
    #[error("{package} could not be downloaded; check the network and run the command again:\n{last_lines}")]
    Download {
        /// The package.
        package: String,
        /// What pip said last.
        last_lines: String,
    },
    /// A downloaded archive is not what it should be; it was removed.
    #[error("{} is damaged and was removed; run the command again: {reason}", archive.display())]
    Damaged {
        /// The archive.
        archive: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The engine was built and does not run.
    #[error("the engine was built and does not run: {0}")]
    Unusable(String),
    /// A file could not be read or written.
    #[error("{} cannot be used", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl InstallError {
    fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::File { path, source }
    }
}
