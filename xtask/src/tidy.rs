//! The rules of this repository that no compiler knows. Each rule is a pure function of the files
//! or of cargo's metadata and returns what it found, as `path:line: what is wrong`.

mod arrows;
mod behaviours;
mod clippy_bans;
mod documents;
mod sources;

use anyhow::{Result, ensure};

use crate::files;

/// Checks every rule and prints everything that is wrong, and the files that grow too long.
pub(crate) fn run() -> Result<()> {
    let files = files::all()?;
    for line in sources::long_files(&files) {
        println!("{line}");
    }
    let mut findings = arrows::check(&files::metadata()?);
    findings.extend(sources::check(&files));
    findings.extend(documents::check(&files));
    findings.extend(behaviours::check(&files)?);
    findings.extend(clippy_bans::check(&files)?);
    for finding in &findings {
        println!("{finding}");
    }
    ensure!(findings.is_empty(), "tidy found {} thing(s) to put right", findings.len());
    Ok(())
}

#[cfg(test)]
mod tests;
