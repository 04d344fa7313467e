//! Runs vector files: each holds `cases`, inputs with the outputs they must give, for one pure
//! function. The same code serves `cargo xtask vectors DIR` and the tests, which run the copies
//! that lie beside each crate.

mod closing_messages;
mod context_overflow;
mod first_chunk_budget;
mod prompt_tiers;
mod sampling_defaults;
mod think_splitter;
mod trace_cap;

use std::{
    fs,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

/// What a case came to.
pub(crate) struct Verdict {
    /// What the file says.
    pub(crate) expected: Value,
    /// What the function gave.
    pub(crate) got: Value,
}

type Function = fn(&Value) -> Result<Verdict>;

/// The functions that exist, by the name of their file.
const FUNCTIONS: [(&str, Function); 7] = [
    ("closing_messages", closing_messages::check),
    ("context_overflow", context_overflow::check),
    ("first_chunk_budget", first_chunk_budget::check),
    ("prompt_tiers", prompt_tiers::check),
    ("sampling_defaults", sampling_defaults::check),
    ("think_splitter", think_splitter::check),
    ("trace_cap", trace_cap::check),
];

/// What a folder of vectors came to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    n_passed: usize,
    n_failed: usize,
    /// What a person should see, a line or more each.
    remarks: Vec<String>,
}

/// Runs the files of a folder. The tally is the last word, so failing cases are told by the exit
/// code and not by an error.
pub(crate) fn run(dir: &Path) -> Result<ExitCode> {
    let tally = tally(dir)?;
    for remark in &tally.remarks {
        println!("{remark}");
    }
    println!("{} passed, {} failed", tally.n_passed, tally.n_failed);
    Ok(if tally.n_failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn tally(dir: &Path) -> Result<Tally> {
    let mut tally = Tally::default();
    let mut without_function = Vec::new();
    for path in vector_files(dir)? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match FUNCTIONS.iter().find(|(file, _)| *file == name) {
            Some((_, function)) => tally.run_file(&path, &name, *function),
            None => without_function.push(name),
        }
    }
    if !without_function.is_empty() {
        tally.remarks.push(format!("no function yet: {}", without_function.join(", ")));
    }
    Ok(tally)
}

fn vector_files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir).with_context(|| format!("{} cannot be read", dir.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            paths.push(path);
        }
    }
    ensure!(!paths.is_empty(), "{} holds no *.json file", dir.display());
    paths.sort();
    Ok(paths)
}

impl Tally {
    fn run_file(&mut self, path: &Path, name: &str, function: Function) {
        match cases(path) {
            Ok(cases) => {
                for (at, case) in cases.iter().enumerate() {
                    let label = case["name"].as_str().map_or_else(|| format!("#{at}"), str::to_owned);
                    self.run_case(&format!("{name}/{label}"), case, function);
                }
            }
            Err(error) => self.fail(format!("FAILED {name}: {error:#}")),
        }
    }

    fn run_case(&mut self, label: &str, case: &Value, function: Function) {
        // A panic is one failed case, not the end of the run.
        match panic::catch_unwind(AssertUnwindSafe(|| function(case))) {
            Ok(Ok(Verdict { expected, got })) if expected == got => self.n_passed += 1,
            Ok(Ok(Verdict { expected, got })) => {
                self.fail(format!("FAILED {label}\n  expected {expected}\n  got      {got}"));
            }
            Ok(Err(error)) => self.fail(format!("FAILED {label}: not a case of this function: {error:#}")),
            Err(_) => self.fail(format!("FAILED {label}: the function panicked")),
        }
    }

    fn fail(&mut self, remark: String) {
        self.n_failed += 1;
        self.remarks.push(remark);
    }
}

fn cases(path: &Path) -> Result<Vec<Value>> {
    let mut file: Value = serde_json::from_slice(&fs::read(path)?).context("not JSON")?;
    match file["cases"].take() {
        Value::Array(cases) => Ok(cases),
        _ => anyhow::bail!("it has no list of `cases`"),
    }
}

/// A number of tokens that may be unknown, which a file writes as null or as zero and less.
fn known_tokens(tokens: Option<i64>) -> Option<u32> {
    tokens.and_then(|tokens| u32::try_from(tokens).ok())
}

/// Reads the input of a case as the type that the function's module declares.
fn input<T: serde::de::DeserializeOwned>(case: &Value) -> Result<T> {
    Ok(T::deserialize(case)?)
}

#[cfg(test)]
mod tests;
