//! The identifiers of calls as the Messages API takes them: letters, digits, `_` and `-`, unique in
//! a request.
//!
//! A call's own identifier is unique in its message only and may come from another provider. One
//! that is fine goes back as it came; what another becomes depends on nothing but the calls before
//! it, so the prefix of a request stays (I3).

use std::collections::{HashMap, HashSet};

/// What stands for an identifier that has no character left.
const NAMELESS: &str = "call";

/// The identifiers of one request, filled in the order of its calls.
#[derive(Debug, Default)]
pub(super) struct CallIds<'a> {
    taken: HashSet<String>,
    /// Under its own identifier, what the last call with it is sent as.
    sent_as: HashMap<&'a str, String>,
    /// How often an identifier has been asked for, so that a long run of equals stays cheap.
    n_equal: HashMap<String, u32>,
}

impl<'a> CallIds<'a> {
    /// What the next call is sent as.
    pub(super) fn of_call(&mut self, id: &'a str) -> String {
        let base = allowed(id);
        let n_equal = self.n_equal.entry(base.clone()).or_default();
        let sent = loop {
            *n_equal += 1;
            let candidate = if *n_equal == 1 { base.clone() } else { format!("{base}_{n_equal}") };
            if self.taken.insert(candidate.clone()) {
                break candidate;
            }
        };
        self.sent_as.insert(id, sent.clone());
        sent
    }

    /// What a result is sent as: the identifier of the call it answers, which came before it.
    pub(super) fn of_result(&self, call_id: &str) -> String {
        self.sent_as.get(call_id).cloned().unwrap_or_else(|| allowed(call_id))
    }
}

fn allowed(id: &str) -> String {
    let id: String =
        id.chars().map(|c| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' }).collect();
    if id.is_empty() { NAMELESS.to_owned() } else { id }
}

#[cfg(test)]
mod tests;
