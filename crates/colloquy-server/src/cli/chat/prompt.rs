//! The line that is typed: editing, and what was typed before, kept in the data folder.

use std::path::PathBuf;

use rustyline::{DefaultEditor, error::ReadlineError};

use crate::cli::CliError;

/// What stands before a question.
pub(super) const MARK: &str = "> ";

/// What came of waiting for a line.
pub(super) enum Typed {
    /// A line.
    Text(String),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// An editor with its history.
pub(super) struct Prompt {
    editor: DefaultEditor,
    history: PathBuf,
}

impl Prompt {
    /// A history that cannot be read starts empty.
    pub(super) fn open(history: PathBuf) -> Result<Self, CliError> {
        let mut editor =
            DefaultEditor::new().map_err(|source| CliError::caused("use the terminal", source))?;
        let _ = editor.load_history(&history);
        Ok(Self { editor, history })
    }

    /// Waits for a line on a thread of its own, since the terminal cannot be waited for otherwise.
    pub(super) async fn next(self) -> Result<(Self, Typed), CliError> {
        tokio::task::spawn_blocking(move || self.read_line())
            .await
            .map_err(|source| CliError::caused("read from the terminal", source))?
    }

    fn read_line(mut self) -> Result<(Self, Typed), CliError> {
        let typed = match self.editor.readline(MARK) {
            Ok(line) => {
                if !line.trim().is_empty() && self.editor.add_history_entry(&line).unwrap_or(false) {
                    // Kept line by line, so that a killed terminal loses none. The editor creates
                    // the file for its owner only.
                    let _ = self.editor.append_history(&self.history);
                }
                Typed::Text(line)
            }
            Err(ReadlineError::Interrupted) => Typed::Interrupt,
            Err(ReadlineError::Eof) => Typed::End,
            Err(source) => return Err(CliError::caused("read from the terminal", source)),
        };
        Ok((self, typed))
    }
}
