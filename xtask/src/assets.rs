//! The engine and the model that the end-to-end tests drive. They are got the way `colloquy setup`
//! gets them, but into the test cache, which outlives a clone.

use std::{env, path::PathBuf};

use anyhow::{Context as _, Result};
use colloquy_models::install::{Folders, Progress, Unit, install_default_model, install_engine};

/// The test and build cache: `COLLOQUY_CACHE_DIR`, else `colloquy` in the user's cache.
pub(crate) fn cache_dir() -> Result<PathBuf> {
    path_variable("COLLOQUY_CACHE_DIR")
        .or_else(|| Some(path_variable("XDG_CACHE_HOME")?.join("colloquy")))
        .or_else(|| Some(path_variable("HOME")?.join(".cache/colloquy")))
        .context("no home folder is known; name a cache folder in COLLOQUY_CACHE_DIR")
}

#[expect(clippy::disallowed_methods, reason = "xtask has no settings but this folder")]
fn path_variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Gets what is missing, with a line of progress now and then, and returns the cache folder.
pub(crate) fn install() -> Result<PathBuf> {
    let cache = cache_dir()?;
    let folders = Folders { cache: cache.clone(), data: cache.clone() };
    let mut lines = Lines::default();
    for installed in [install_engine(&folders, &mut lines)?, install_default_model(&folders, &mut lines)?] {
        println!("{} is there", installed.display());
    }
    Ok(cache)
}

/// Progress for a log: a line when a step begins, and one for each tenth of it.
#[derive(Default)]
struct Lines {
    n_tenths_told: u64,
}

impl Progress for Lines {
    fn begin(&mut self, what: &str, _unit: Unit, _total: Option<u64>) {
        println!("{what}");
        self.n_tenths_told = 0;
    }

    fn advance(&mut self, done: u64, total: Option<u64>) {
        let Some(n_tenths) = total.and_then(|total| (done * 10).checked_div(total)) else { return };
        if n_tenths > self.n_tenths_told {
            self.n_tenths_told = n_tenths;
            println!("  {} %", n_tenths * 10);
        }
    }

    fn end(&mut self) {}
}
