//! Rules for single files: length, module documentation, words that need a number or are refused,
//! and what would tie the repository to one machine.

use crate::files::SourceFile;

/// From here on a file is listed.
const LINES_LISTED: usize = 500;
/// From here on a file is refused.
const LINES_REFUSED: usize = 800;

/// Traces of the machine that a file was written on. Split, so that this file does not match.
const MACHINE_TRACES: [&str; 5] = [
    concat!("/work", "/main"),
    concat!("/work", "/shared"),
    concat!("/root", "/."),
    concat!(".cargo/", "registry"),
    concat!("index", "-url"),
];

/// The one place that crates come from.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The files that are getting long, longest first.
pub(super) fn long_files(files: &[SourceFile]) -> Vec<String> {
    let mut long: Vec<_> = files
        .iter()
        .filter(|file| file.path.ends_with(".rs"))
        .map(|file| (file.text.lines().count(), &file.path))
        .filter(|(n_lines, _)| *n_lines > LINES_LISTED)
        .collect();
    long.sort_unstable_by(|a, b| b.cmp(a));
    long.into_iter().map(|(n_lines, path)| format!("{path}: {n_lines} lines, over {LINES_LISTED}")).collect()
}

/// Checks each file on its own.
pub(super) fn check(files: &[SourceFile]) -> Vec<String> {
    files.iter().flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Vec<String> {
    let mut findings = Vec::new();
    if file.path == "Cargo.lock" {
        return foreign_sources(file);
    }
    if file.path.ends_with(".rs") {
        let n_lines = file.text.lines().count();
        if n_lines > LINES_REFUSED {
            findings.push(format!("{}: {n_lines} lines; no file may pass {LINES_REFUSED}", file.path));
        }
        if is_module(&file.path) && !opens_with_docs(&file.text) {
            findings.push(format!("{}:1: a module opens with `//!` and its purpose", file.path));
        }
    }
    for (at, line) in file.text.lines().enumerate() {
        findings.extend(check_line(&file.path, line).map(|what| format!("{}:{}: {what}", file.path, at + 1)));
    }
    findings
}

fn check_line(path: &str, line: &str) -> Option<String> {
    if let Some(trace) = MACHINE_TRACES.into_iter().find(|trace| line.contains(trace)) {
        return Some(format!("`{trace}` is true on one machine only"));
    }
    if !path.ends_with(".rs") {
        return None;
    }
    if line.contains(concat!("#[", "allow(")) || line.contains(concat!("#![", "allow(")) {
        return Some("use `#[expect(lint, reason = \"…\")]`, which says when it is no longer needed".into());
    }
    let marker = concat!("FIX", "ME");
    let after = line.split_once(marker)?.1;
    let has_number =
        after.strip_prefix("(#").is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()));
    (!has_number).then(|| format!("{marker} needs the number of its issue, as in {marker}(#12)"))
}

/// Tests need no module documentation: their names are sentences.
fn is_module(path: &str) -> bool {
    path.contains("src/") && !path.ends_with("/tests.rs") && !path.contains("/tests/")
}

fn opens_with_docs(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.starts_with("//!"))
}

fn foreign_sources(lock: &SourceFile) -> Vec<String> {
    lock.text
        .lines()
        .enumerate()
        .filter_map(|(at, line)| Some((at, line.strip_prefix("source = \"")?.trim_end_matches('"'))))
        .filter(|(_, source)| *source != CRATES_IO)
        .map(|(at, source)| format!("{}:{}: a crate comes from {source}", lock.path, at + 1))
        .collect()
}
