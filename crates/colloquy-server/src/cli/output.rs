//! Writing for people and for scripts: stdout is the result, stderr is everything else.
//!
//! A reader that closes its end (`| head`) is no error of ours: writing just ends.

use std::{
    error::Error,
    io::{self, IsTerminal, Write},
};

use serde::Serialize;

use crate::config;

/// Writes to stdout as it is and at once.
pub(super) fn print(text: &str) {
    print_bytes(text.as_bytes());
}

/// Writes to stdout as it is and at once.
pub(super) fn print_bytes(bytes: &[u8]) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
}

/// Writes a value to stdout as indented JSON.
pub(super) fn print_json(value: &impl Serialize) {
    let text = serde_json::to_string_pretty(value).expect("BUG: a value of ours is no JSON");
    print(&(text + "\n"));
}

/// Writes one line to stderr.
pub(super) fn note(line: &str) {
    print_to_stderr(&format!("{line}\n"));
}

/// Writes to stderr as it is and at once.
pub(super) fn print_to_stderr(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// Whether a person sees stderr, so that lines there may be overwritten.
pub(super) fn stderr_is_lively() -> bool {
    io::stderr().is_terminal() && !config::is_plain()
}

/// Text in a fainter hand, where stderr can show one.
pub(super) fn dim(text: &str) -> String {
    if stderr_is_lively() { format!("\x1b[2m{text}\x1b[0m") } else { text.to_owned() }
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

/// Rows under a heading, each column as wide as its widest cell.
pub(super) fn table<const N: usize>(heading: [&str; N], rows: &[[String; N]]) -> String {
    let mut widths = heading.map(|cell| cell.chars().count());
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: [&str; N]| {
        let cells = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    let mut text = line(heading);
    for row in rows {
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
}
