//! Asks a binary whether it is an engine, and which of the newer flags it knows.
//!
//! An engine from the PATH may be years old: a flag it does not know would keep it from starting.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::{process::Command, time::timeout};

const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// A binary that has answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engine {
    /// Where it is.
    pub path: PathBuf,
    /// What it calls its version.
    pub version: String,
    /// The optional flags it knows.
    pub(crate) flags: Flags,
}

/// Flags that came to llama-server later than the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Flags {
    /// `--cache-ram`, the prompt cache in memory.
    pub(crate) cache_ram: bool,
    /// `--swa-full`, which keeps prefixes of sliding-window models.
    pub(crate) swa_full: bool,
    /// `--no-webui`.
    pub(crate) no_webui: bool,
    /// `--jinja`, templates in full.
    pub(crate) jinja: bool,
}

/// The binary is not a usable engine.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be used as the engine: {reason}", path.display())]
pub struct NotAnEngine {
    path: PathBuf,
    reason: String,
}

/// Runs `--version` and `--help` of the binary at `path`, ten seconds each at most.
pub async fn probe(path: &Path) -> Result<Engine, NotAnEngine> {
    let failed = |reason| NotAnEngine { path: path.to_owned(), reason };
    let version = output(path, "--version").await.map_err(failed)?;
    let version = version_line(&version).ok_or_else(|| failed("it does not say a version".into()))?;
    let help = output(path, "--help").await.map_err(failed)?;
    Ok(Engine { path: path.to_owned(), version, flags: flags(&help) })
}

async fn output(path: &Path, argument: &str) -> Result<String, String> {
    let mut command = Command::new(path);
    command.arg(argument).stdin(Stdio::null()).kill_on_drop(true);
    let Ok(output) = timeout(PROBE_TIMEOUT, command.output()).await else {
        return Err(format!("`{argument}` did not end within {} s", PROBE_TIMEOUT.as_secs()));
    };
    let output = output.map_err(|error| format!("it does not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("`{argument}` ended with {}", output.status));
    }
    // The version goes to one stream or the other, depending on the age of the engine.
    let both = [output.stdout, output.stderr].concat();
    Ok(String::from_utf8_lossy(&both).into_owned())
}

fn version_line(output: &str) -> Option<String> {
    let line = output.lines().find(|line| line.starts_with("version:"))?;
    Some(line.trim_start_matches("version:").trim().to_owned())
}

fn flags(help: &str) -> Flags {
    let knows = |flag: &str| help.split(|c: char| c.is_whitespace() || c == ',').any(|word| word == flag);
    Flags {
        cache_ram: knows("--cache-ram"),
        swa_full: knows("--swa-full"),
        no_webui: knows("--no-webui"),
        jinja: knows("--jinja"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_found_among_other_lines() {
        let output =
            "ggml: found 1 device\nversion: 0.6.0-dev (build 0, commit unknown)\nbuilt with GNU 12\n";
        assert_eq!(version_line(output).as_deref(), Some("0.6.0-dev (build 0, commit unknown)"));
        assert_eq!(version_line("usage: something else"), None);
    }

    #[test]
    fn a_flag_is_known_only_as_a_whole_word() {
        let help =
            "--jinja, --no-jinja   use jinja\n-cram, --cache-ram N  cache\n--no-webui-mcp-proxy  other\n";
        assert_eq!(flags(help), Flags { cache_ram: true, jinja: true, ..Flags::default() });
    }

    #[tokio::test]
    async fn a_program_that_is_no_engine_is_refused_with_the_reason() {
        let error = probe(Path::new("/bin/false")).await.unwrap_err();
        assert!(error.to_string().contains("exit status: 1"), "{error}");
        let error = probe(Path::new("/bin/true")).await.unwrap_err();
        assert!(error.to_string().contains("does not say a version"), "{error}");
        let error = probe(Path::new("/nowhere/llama-server")).await.unwrap_err();
        assert!(error.to_string().contains("does not start"), "{error}");
    }
}
