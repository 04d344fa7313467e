//! What a command says: stdout is the result, stderr is everything else.
//!
//! A result that cannot be written is an error, so that nobody takes a cut one for whole. What is
//! said on stderr is a courtesy and may get lost. Text from elsewhere never steers a terminal: see
//! [`controls`](super::controls).

use std::{
    error::Error,
    io::{self, IsTerminal, Write},
};

use serde::Serialize;

use super::{CliError, controls};
use crate::config;

/// Writes text for people to stdout, at once.
pub(super) fn print(text: &str) -> Result<(), CliError> {
    print_bytes(controls::visible(text).as_bytes())
}

/// Writes text to stdout as it is where a program reads it, and harmless where a person does.
pub(super) fn print_raw(text: &str) -> Result<(), CliError> {
    if stdout_is_terminal() { print(text) } else { print_bytes(text.as_bytes()) }
}

/// Writes to stdout as it is and at once. Not for a terminal.
pub(super) fn print_bytes(bytes: &[u8]) -> Result<(), CliError> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(CliError::Stdout)
}

/// Writes a value to stdout as indented JSON.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), CliError> {
    let text = serde_json::to_string_pretty(value).expect("BUG: a value of ours is no JSON");
    print_json_text(&(text + "\n"))
}

/// Writes a JSON document to stdout, with controls as JSON itself escapes them.
pub(super) fn print_json_text(text: &str) -> Result<(), CliError> {
    print_bytes(controls::visible_in_json(text).as_bytes())
}

/// Whether a person sees stdout.
pub(super) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Writes one line to stderr.
pub(super) fn note(line: &str) {
    steer_stderr(&format!("{}\n", controls::visible(line)));
}

/// Writes one line to stderr in a fainter hand, where there is one.
pub(super) fn note_dim(line: &str) {
    steer_stderr(&format!("{}\n", dim(line)));
}

/// Writes to stderr as it is and at once: for what moves the cursor. What is not ours has been
/// made visible before.
pub(super) fn steer_stderr(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// Whether a person sees stderr, so that lines there may be overwritten.
pub(super) fn stderr_is_lively() -> bool {
    io::stderr().is_terminal() && !config::is_plain()
}

/// Text in a fainter hand, where stderr can show one.
pub(super) fn dim(text: &str) -> String {
    let text = controls::visible(text);
    if stderr_is_lively() { format!("\x1b[2m{text}\x1b[0m") } else { text.into_owned() }
}

/// An error with its causes, outermost first.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        // A transparent wrapper repeats what is below it.
        if !text.ends_with(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}

/// Rows under a heading, each column as wide as its widest cell and each row one line.
pub(super) fn table<const N: usize>(heading: [&str; N], rows: &[[String; N]]) -> String {
    let rows: Vec<[String; N]> = rows
        .iter()
        .map(|row| row.each_ref().map(|cell| controls::visible_in_line(cell).into_owned()))
        .collect();
    let mut widths = heading.map(|cell| cell.chars().count());
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: [&str; N]| {
        let cells = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    let mut text = line(heading);
    for row in &rows {
        text += &line(std::array::from_fn(|n| row[n].as_str()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_in_characters() {
        let rows = [["1".to_owned(), "Übergröße".to_owned()], ["12".to_owned(), "b".to_owned()]];
        assert_eq!(table(["ID", "NAME"], &rows), "ID  NAME\n1   Übergröße\n12  b\n");
    }

    #[test]
    fn a_cell_is_never_more_than_its_line() {
        let rows = [["1".to_owned(), "a\n2   b\x1b[2J".to_owned()]];
        assert_eq!(table(["ID", "NAME"], &rows), "ID  NAME\n1   a\\n2   b\\u{1b}[2J\n");
    }
}
