//! Clippy reads only the nearest `clippy.toml`, so the core's file must repeat the root's bans.

use anyhow::{Context as _, Result};
use toml::{Table, Value};

use crate::files::SourceFile;

const ROOT: &str = "clippy.toml";
const CORE: &str = "crates/colloquy-core/clippy.toml";

/// Checks that whatever the root's file bans or sets, the core's does too.
pub(super) fn check(files: &[SourceFile]) -> Result<Vec<String>> {
    let (root, core) = (table(files, ROOT)?, table(files, CORE)?);
    let mut findings = Vec::new();
    for (key, value) in &root {
        match value {
            Value::Array(bans) => {
                let core_bans = core.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                let is_missing = |ban: &&Value| !core_bans.iter().any(|other| path(other) == path(ban));
                findings.extend(
                    bans.iter()
                        .filter(is_missing)
                        .map(|ban| format!("{CORE}: {key} lacks {} of {ROOT}", path(ban))),
                );
            }
            value if core.get(key) != Some(value) => {
                findings.push(format!("{CORE}: {key} differs from {ROOT}"))
            }
            _ => {}
        }
    }
    Ok(findings)
}

fn table(files: &[SourceFile], path: &str) -> Result<Table> {
    let file = files.iter().find(|file| file.path == path).with_context(|| format!("{path} is missing"))?;
    file.text.parse().with_context(|| format!("{path} cannot be read"))
}

/// What a ban is about: it is written as a path, or as a table with one.
fn path(ban: &Value) -> &str {
    ban.as_str().or_else(|| ban.get("path")?.as_str()).unwrap_or_default()
}
