//! What is known of a model file, read once and again when the file changes.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use colloquy_core::control_tokens::ControlTokens;
use tokio::task::spawn_blocking;

use crate::gguf::{self, Header};

/// A model file as it was when it was read.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) header: Header,
    pub(super) control_tokens: Arc<ControlTokens>,
    stamp: Stamp,
}

/// Changes whenever the file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
}

/// The facts of every file that was asked for; bounded by the number of installed models.
#[derive(Debug, Default)]
pub(super) struct FactsCache(Mutex<HashMap<PathBuf, Arc<Facts>>>);

impl FactsCache {
    /// The facts of the file at `path`: the same `Arc` as before while the file is the same.
    pub(super) async fn of(&self, path: &Path) -> Result<Arc<Facts>, String> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned();
        let file = path.to_owned();
        let facts = spawn_blocking(move || refresh(&file, known)).await.map_err(|error| error.to_string())?;
        let facts = facts.map_err(|reason| format!("{}: {reason}", path.display()))?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), Arc::clone(&facts));
        Ok(facts)
    }
}

fn refresh(path: &Path, known: Option<Arc<Facts>>) -> Result<Arc<Facts>, String> {
    let metadata = fs::metadata(path).map_err(|error| error.to_string())?;
    let stamp = Stamp { bytes: metadata.len(), modified: metadata.modified().ok() };
    if let Some(known) = known
        && known.stamp == stamp
    {
        return Ok(known);
    }
    let mut header = gguf::read(path).map_err(|error| error.to_string())?;
    let control_tokens = Arc::new(ControlTokens::vocabulary(std::mem::take(&mut header.control_tokens)));
    Ok(Arc::new(Facts { header, control_tokens, stamp }))
}
