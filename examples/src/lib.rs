//! What the examples share: the engine and the model that `colloquy setup` installs.

use std::{env, path::PathBuf};

use anyhow::{Context as _, Result, ensure};
use colloquy_models::engines::{Engines, EnginesConfig};

/// The model that `colloquy setup` fetches.
const MODEL: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";

/// The local engine with its small model, out of the data folder that `colloquy` uses.
pub fn local_engine() -> Result<Engines> {
    let data_dir = data_dir()?;
    let model = data_dir.join("models").join(MODEL);
    ensure!(model.is_file(), "{} is missing: run `colloquy setup` first", model.display());
    Ok(Engines::serving(EnginesConfig::new(data_dir), model)?)
}

#[expect(clippy::disallowed_methods, reason = "the examples find the folder as the binary does")]
fn data_dir() -> Result<PathBuf> {
    if let Some(folder) = env::var_os("COLLOQUY_DATA_DIR") {
        return Ok(folder.into());
    }
    let data_home = env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/share"));
    Ok(data_home.or_else(home).context("HOME is not set")?.join("colloquy"))
}
