//! What is appended to a committed history so that an unfinished turn ends as every branch must:
//! each call with its one result, and an assistant message last (I4, I5).
//!
//! The turn loop closes a stopped or failed turn with it, and recovery a turn whose process died.
//! It looks at the committed history only, so closing twice appends nothing the second time.

use crate::{
    block::ToolResult,
    curated::INTERRUPTED_ANSWER,
    message::{Kind, Message, Role},
};

/// What closes a turn, in the order it is appended.
#[derive(Debug, Clone, PartialEq)]
pub struct Closing {
    /// One result per call that has none yet, in the order of the calls; often none.
    pub results: Vec<ToolResult>,
    /// The text of the assistant message that ends the turn; never blank.
    pub text: String,
}

/// Closes the history `committed`, oldest first; `None` when it is closed already.
///
/// `finished` are results of tool runs that ended before their step was committed; they are used
/// instead of the interrupted text. `streamed_text` is the answer text that the reader has, or the
/// text of the error that ended the turn.
pub fn closing(committed: &[Message], finished: &[ToolResult], streamed_text: &str) -> Option<Closing> {
    let last = committed.last()?;
    if last.role() == Role::Assistant && last.calls().next().is_none() {
        return None;
    }
    let text = if streamed_text.trim().is_empty() { INTERRUPTED_ANSWER } else { streamed_text };
    Some(Closing { results: open_call_results(committed, finished), text: text.to_owned() })
}

/// Results for the calls that the end of the history leaves open.
fn open_call_results(committed: &[Message], finished: &[ToolResult]) -> Vec<ToolResult> {
    let Some(at) = committed.iter().rposition(|message| message.role() == Role::Assistant) else {
        return Vec::new();
    };
    let after = &committed[at + 1..];
    // A result belongs right behind its call, so behind a later question it is too late for one.
    if after.iter().any(|message| !matches!(message.kind, Kind::Results | Kind::Steer)) {
        return Vec::new();
    }
    let is_answered =
        |call_id: &str| after.iter().flat_map(Message::results).any(|result| result.call_id == call_id);
    committed[at]
        .calls()
        .filter(|call| !is_answered(&call.id))
        .map(|call| {
            finished
                .iter()
                .find(|result| result.call_id == call.id)
                .cloned()
                .unwrap_or_else(|| ToolResult::interrupted(&call.id))
        })
        .collect()
}

#[cfg(test)]
mod tests;
