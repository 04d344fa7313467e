//! Where a request is marked for the provider's cache (runtime reference § 13).
//!
//! The provider writes an entry at each mark, and looks for one at a mark and the 19 blocks before
//! it. A request ends where a user's side ends, so every place where an earlier request had its last
//! mark can be told from the turns alone: it is where the turns before an assistant turn end. A mark
//! there finds that entry however many blocks a step adds, and nothing has to be remembered between
//! requests.

use colloquy_core::message::Role;

/// How many marks turns get; the fourth is the system prefix's.
pub(super) const TURN_MARKS_MAX: usize = 3;

/// What of a turn decides about its marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outline {
    pub(super) role: Role,
    /// Whether it holds the result of a tool.
    pub(super) has_results: bool,
    /// The last of its blocks that the next request holds as well and that can carry a mark.
    pub(super) anchor: Option<usize>,
}

/// A marked block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mark {
    /// Its turn's index.
    pub(super) turn: usize,
    /// Its own index in the turn.
    pub(super) block: usize,
}

/// The marks of a request with these turns, in order and each once.
///
/// The last is the one that the next request finds, the one before it finds the last mark of the
/// previous request. The first finds what was settled when the question before this turn's was
/// asked: the first request of a turn may rewrite that question and what followed it once, and what
/// stands before them is then still read from the cache.
pub(super) fn place(turns: &[Outline]) -> Vec<Mark> {
    let newest = last_anchor(turns);
    let before_last_answer = before_last_assistant(turns);
    let previous = before_last_answer.and_then(last_anchor);
    let settled = before_last_answer
        .and_then(|turns| turns_before_last_question(turns))
        .and_then(before_last_assistant)
        .and_then(last_anchor);
    let mut marks: Vec<Mark> = [settled, previous, newest].into_iter().flatten().collect();
    marks.dedup();
    debug_assert!(marks.len() <= TURN_MARKS_MAX && marks.is_sorted());
    marks
}

fn last_anchor(turns: &[Outline]) -> Option<Mark> {
    let anchored = turns.iter().enumerate().rev();
    anchored.filter_map(|(turn, outline)| Some(Mark { turn, block: outline.anchor? })).next()
}

/// The turns of the request that the last assistant turn answered.
fn before_last_assistant(turns: &[Outline]) -> Option<&[Outline]> {
    let at = turns.iter().rposition(|turn| turn.role == Role::Assistant)?;
    Some(&turns[..at])
}

/// The turns before the last question, with what was announced in front of it.
fn turns_before_last_question(turns: &[Outline]) -> Option<&[Outline]> {
    let follows_answer =
        |at: usize| at.checked_sub(1).is_none_or(|before| turns[before].role == Role::Assistant);
    let begins = |at: &usize| turns[*at].role == Role::User && !turns[*at].has_results && follows_answer(*at);
    (0..turns.len()).rev().find(begins).map(|at| &turns[..at])
}

#[cfg(test)]
mod tests;
