//! What a model saw, one line per message, for snapshots.

use std::fmt;

use colloquy_core::{
    message::Role,
    prepare::{PreparedConversation, PreparedTurn},
};

/// Renders `01 system …`, `02 user …` and so on; line breaks in a text are shown as `\n`.
///
/// An empty system text has no line, as it has no message on the wire.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'a>(pub &'a PreparedConversation);

impl fmt::Display for Recorded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let system = Some(("system", &self.0.system)).filter(|(_, text)| !text.is_empty());
        let turns = self.0.turns.iter().map(|turn| (word(turn), &turn.text));
        for (index, (role, text)) in system.into_iter().chain(turns).enumerate() {
            writeln!(f, "{:02} {role} {}", index + 1, one_line(text))?;
        }
        Ok(())
    }
}

fn word(turn: &PreparedTurn) -> &'static str {
    match turn.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

fn one_line(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

#[cfg(test)]
mod tests;
