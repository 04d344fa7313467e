//! What belongs to the repository, and where it lies.

use std::{fs, path::Path, process::Command};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

/// A text file of the repository.
pub(crate) struct SourceFile {
    /// Relative to [`root`], with `/`.
    pub(crate) path: String,
    /// What it holds.
    pub(crate) text: String,
}

/// The folder of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("BUG: xtask lies in the repository")
}

/// Every text file that git tracks, or would once it is added.
pub(crate) fn all() -> Result<Vec<SourceFile>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .context("git could not be started")?;
    ensure!(output.status.success(), "git ls-files failed: {}", String::from_utf8_lossy(&output.stderr));
    let paths = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    let mut files = Vec::new();
    for path in paths.split_terminator('\0') {
        // A tracked file may have been removed, and fixtures need not be text.
        if let Ok(text) = fs::read_to_string(root().join(path)) {
            files.push(SourceFile { path: path.to_owned(), text });
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// `cargo metadata`, without the dependencies from elsewhere.
pub(crate) fn metadata() -> Result<Value> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .context("cargo could not be started")?;
    ensure!(output.status.success(), "cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}
