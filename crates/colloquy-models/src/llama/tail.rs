//! The last lines a child said, for the error that tells of its end.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

const LINES_MAX: usize = 20;
/// What is kept of one line.
const LINE_CHARS_MAX: usize = 400;

/// A bounded record of lines; the oldest goes first.
#[derive(Debug, Default)]
pub(super) struct Tail(Mutex<VecDeque<String>>);

impl Tail {
    pub(super) fn push(&self, line: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(line.chars().take(LINE_CHARS_MAX).collect());
    }

    /// All lines, oldest first, one per line.
    pub(super) fn text(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_twenty_lines_are_kept_and_long_ones_are_cut() {
        let tail = Tail::default();
        (0..LINES_MAX + 1).for_each(|n| tail.push(&format!("line {n}")));
        assert_eq!(tail.text().lines().count(), LINES_MAX);
        assert!(tail.text().starts_with("line 1\n") && tail.text().ends_with("line 20"));

        tail.push(&"ü".repeat(LINE_CHARS_MAX + 1));
        assert_eq!(tail.text().lines().last().unwrap().chars().count(), LINE_CHARS_MAX);
    }
}
