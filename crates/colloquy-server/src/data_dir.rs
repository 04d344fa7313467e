//! The data folder: where each thing lies, the lock that makes one process its writer, and the
//! note (`server.json`) that tells other programs where the server listens.
//!
//! Nothing here reads a setting; the path is handed in. Folder and files are for their owner only.

use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// The folder that holds everything of one installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataDir {
    root: PathBuf,
}

impl DataDir {
    /// The folder at a path, which need not exist.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Creates what is missing of the folder.
    pub fn create(&self) -> io::Result<()> {
        for folder in [self.root.clone(), self.models(), self.logs()] {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        Ok(())
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The conversations.
    pub fn database(&self) -> PathBuf {
        self.root.join("colloquy.db")
    }

    /// The settings file.
    pub fn config_file(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// Where installed weights lie.
    pub fn models(&self) -> PathBuf {
        self.root.join("models")
    }

    /// The engine that `setup` builds.
    pub fn engine(&self) -> PathBuf {
        self.root.join("engine").join("llama-server")
    }

    /// Where logs lie.
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// What was typed at the prompt of `chat`.
    pub fn chat_history(&self) -> PathBuf {
        self.root.join("chat_history")
    }

    fn lock_file(&self) -> PathBuf {
        self.root.join("lock")
    }

    fn server_file(&self) -> PathBuf {
        self.root.join("server.json")
    }

    /// Becomes the one process that writes here, until the lock is dropped or the process ends.
    pub fn lock(&self) -> Result<Lock, LockError> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(self.lock_file())?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::Held(Holder { pid: pid_in(&mut file), server: self.server() }));
            }
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        // Only names the holder for people; what excludes others is the lock on the open file.
        file.set_len(0)?;
        write!(file, "{}", std::process::id())?;
        Ok(Lock { _file: file })
    }

    /// The server that says it runs here. It may have died without taking its note along.
    pub fn server(&self) -> Option<ServerNote> {
        serde_json::from_slice(&std::fs::read(self.server_file()).ok()?).ok()
    }

    /// Tells other programs where this server listens, until the result is dropped.
    pub fn publish(&self, _held: &Lock, note: &ServerNote) -> io::Result<Published> {
        let path = self.server_file();
        let fresh = self.root.join("server.json.new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
        file.write_all(&serde_json::to_vec(note)?)?;
        std::fs::rename(&fresh, &path)?;
        Ok(Published { path })
    }
}

fn pid_in(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(16).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// The right to write to the folder.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// What a server tells about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerNote {
    /// Its process.
    pub pid: u32,
    /// Where it answers.
    pub url: String,
    /// What it is.
    pub version: String,
}

/// The note is on disk; dropping this removes it.
#[derive(Debug)]
pub struct Published {
    path: PathBuf,
}

impl Drop for Published {
    fn drop(&mut self) {
        // A note that stays behind does no harm: readers ask the address before they believe it.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Who holds the lock, as far as it can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its process.
    pub pid: Option<u32>,
    /// Where it listens, when it is a server.
    pub server: Option<ServerNote>,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.server, self.pid) {
            (Some(note), Some(pid)) if note.pid == pid => write!(f, "process {pid} at {}", note.url),
            (_, Some(pid)) => write!(f, "process {pid}"),
            (Some(note), None) => write!(f, "the server at {}", note.url),
            (None, None) => f.write_str("another process"),
        }
    }
}

/// Why the folder cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else writes to it.
    #[error("the data folder is in use by {0}")]
    Held(Holder),
    /// The file system refused.
    #[error("failed to open the lock of the data folder")]
    Io(#[from] io::Error),
}

#[cfg(test)]
mod tests;
