//! One streamed answer: its text to stdout, how it comes about to stderr.
//!
//! Ctrl-C asks the server to stop and then reads on until `done`, so that what was shown is what
//! was stored; a second Ctrl-C does not wait. An answer that cannot be written is stopped too.

use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::signal::unix::Signal;

use crate::cli::{CliError, client::Client, output};

/// What marks a stored answer as an error for clients of the page.
const SENTINEL: &str = "[ERROR_MESSAGE_SYSTEM]";

/// How an answer ended.
pub(super) enum Ended {
    /// It is whole, or as whole as the model would make it.
    Answered,
    /// A person stopped it.
    Stopped,
    /// It failed, and stderr has been told.
    Failed,
}

/// An event of the stream, as far as the terminal shows it.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(tag = "t", rename_all = "snake_case")]
enum Event {
    Answer {
        text: String,
    },
    Thinking {
        text: String,
    },
    Withdraw,
    ToolCall {
        name: String,
    },
    Progress {
        phase: String,
        #[serde(default)]
        done: u32,
        #[serde(default)]
        total: u32,
    },
    MemoryReload,
    Error {
        text: String,
        raw: Option<String>,
    },
    Done {
        outcome: String,
    },
    /// Something newer than this program: skipped, as the protocol asks of clients.
    #[serde(other)]
    Unknown,
}

/// Asks and shows the answer as it comes.
pub(super) async fn stream(
    client: &Client,
    conversation: i64,
    body: &Value,
    interrupts: &mut Signal,
) -> Result<Ended, CliError> {
    let path = format!("/erudi/conversations/{conversation}");
    let reply = client.send(Method::POST, &format!("{path}/query"), Some(body)).await?.accepted().await?;
    let mut lines = reply.lines();
    let mut screen = Screen::new();
    let mut is_stopped = false;
    loop {
        let line = tokio::select! {
            line = lines.next() => line,
            Some(()) = interrupts.recv() => {
                if is_stopped {
                    screen.end()?;
                    return Ok(Ended::Stopped);
                }
                is_stopped = true;
                let _: Value = client.post(&format!("{path}/stop"), &json!({})).await?;
                continue;
            }
        };
        let line = match line {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(error) => {
                screen.end()?;
                return Err(error);
            }
        };
        let event = serde_json::from_slice(&line)
            .map_err(|source| CliError::caused("understand an event of the answer", source))?;
        let shown = match screen.show(event) {
            Ok(shown) => shown,
            Err(error) => {
                // Nobody reads the rest. When the server cannot be told either, our end of the
                // connection is all it gets.
                let _ = client.post::<Value>(&format!("{path}/stop"), &json!({})).await;
                return Err(error);
            }
        };
        if let Some(outcome) = shown {
            screen.end()?;
            return Ok(ended(&outcome, screen.has_failed));
        }
    }
    screen.end()?;
    Err(CliError::Failed("the connection ended before the answer did; what was read is kept".into()))
}

fn ended(outcome: &str, has_failed: bool) -> Ended {
    match outcome {
        "stopped" => Ended::Stopped,
        "interrupted" => {
            if !has_failed {
                output::note("error: the answer was interrupted; what was read is kept");
            }
            Ended::Failed
        }
        _ if has_failed => Ended::Failed,
        _ => Ended::Answered,
    }
}

/// The text for people of a stored or streamed error.
pub(super) fn without_sentinel(text: &str) -> &str {
    text.strip_prefix(SENTINEL).map_or(text, str::trim_start)
}

/// What the engine said and the text for people does not end with: that is all of it, its first
/// line, or neither.
fn untold<'a>(text: &str, raw: &'a str) -> &'a str {
    let raw = raw.trim();
    let (first, rest) = raw.split_once('\n').unwrap_or((raw, ""));
    if text.ends_with(raw) {
        ""
    } else if text.ends_with(first.trim_end()) {
        rest
    } else {
        raw
    }
}

/// What is on the terminal right now.
struct Screen {
    /// A person watches stderr: reasoning and progress are worth showing.
    is_lively: bool,
    state: Shown,
    ends_in_newline: bool,
    has_failed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Nothing,
    /// A line on stderr that the next thing overwrites.
    Progress,
    Thinking,
    Answer,
}

impl Screen {
    fn new() -> Self {
        let is_lively = output::stderr_is_lively();
        Self { is_lively, state: Shown::Nothing, ends_in_newline: true, has_failed: false }
    }

    /// Shows one event; gives the outcome at the end.
    fn show(&mut self, event: Event) -> Result<Option<String>, CliError> {
        match event {
            Event::Answer { text } => {
                self.turn_to(Shown::Answer);
                self.ends_in_newline = text.ends_with('\n');
                output::print_raw(&text)?;
            }
            Event::Thinking { text } if self.is_lively => {
                self.turn_to(Shown::Thinking);
                output::steer_stderr(&output::dim(&text));
            }
            Event::Thinking { .. } | Event::Unknown => {}
            Event::Withdraw => self.withdraw()?,
            Event::ToolCall { name } => self.progress(&format!("using {name}")),
            Event::Progress { phase, done, total } => self.progress(&progress_text(&phase, done, total)),
            Event::MemoryReload => self.progress("the model had been unloaded; loading it again"),
            Event::Error { text, raw } => {
                self.end()?;
                self.has_failed = true;
                output::note(&format!("error: {}", without_sentinel(&text)));
                let rest = raw.as_deref().map_or("", |raw| untold(&text, raw));
                if !rest.is_empty() {
                    output::note_dim(rest);
                }
            }
            Event::Done { outcome } => return Ok(Some(outcome)),
        }
        Ok(None)
    }

    /// What is on stdout cannot be taken back, so whoever reads along is told.
    fn withdraw(&mut self) -> Result<(), CliError> {
        if self.state == Shown::Answer {
            self.end()?;
            output::note_dim("(that was said on the way to the answer, which follows)");
        }
        Ok(())
    }

    fn progress(&mut self, text: &str) {
        if self.is_lively && matches!(self.state, Shown::Nothing | Shown::Progress) {
            self.state = Shown::Progress;
            output::steer_stderr(&format!("\r\x1b[2K{}", output::dim(text)));
        }
    }

    fn turn_to(&mut self, next: Shown) {
        match (self.state, next) {
            (Shown::Progress, _) => output::steer_stderr("\r\x1b[2K"),
            (Shown::Thinking, Shown::Answer) => output::steer_stderr("\n\n"),
            (Shown::Nothing | Shown::Thinking | Shown::Answer, _) => {}
        }
        self.state = next;
    }

    /// Ends the line that is open, so that what follows starts on its own.
    fn end(&mut self) -> Result<(), CliError> {
        match self.state {
            Shown::Nothing => {}
            Shown::Progress => output::steer_stderr("\r\x1b[2K"),
            Shown::Thinking => output::steer_stderr("\n"),
            Shown::Answer if self.ends_in_newline => {}
            Shown::Answer => output::print("\n")?,
        }
        self.state = Shown::Nothing;
        self.ends_in_newline = true;
        Ok(())
    }
}

fn progress_text(phase: &str, done: u32, total: u32) -> String {
    match phase {
        "waiting" => "waiting for the engine".to_owned(),
        "loading" => "loading the model".to_owned(),
        "reading" if total > 0 => format!("reading the conversation: {done} of {total} tokens"),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_of_a_newer_server_is_skipped() {
        let read = |line: &str| serde_json::from_str::<Event>(line).expect("an event");
        assert_eq!(read(r#"{"t":"holograph","seq":7,"text":[1]}"#), Event::Unknown);
        assert_eq!(read(r#"{"t":"withdraw","seq":7,"from_seq":2,"to":"nothing"}"#), Event::Withdraw);
        assert_eq!(read(r#"{"t":"memory_reload","reason":"idle","seq":1}"#), Event::MemoryReload);
        assert_eq!(
            read(r#"{"t":"done","seq":9,"outcome":"answered","turn_id":"x"}"#),
            Event::Done { outcome: "answered".into() }
        );
    }

    #[test]
    fn what_the_text_ends_with_is_not_told_again() {
        assert_eq!(untold("It broke. It said: no such model", "no such model\n"), "");
        assert_eq!(
            untold("It broke. It said: exit status: 3", "exit status: 3\nan assert\na line\n"),
            "an assert\na line"
        );
        assert_eq!(untold("It broke. It said: a long li…", "a long line"), "a long line");
        assert_eq!(untold("It broke.", " \n"), "");
    }

    #[test]
    fn the_sentinel_is_not_for_people() {
        assert_eq!(without_sentinel("[ERROR_MESSAGE_SYSTEM] It broke."), "It broke.");
        assert_eq!(without_sentinel("It [ERROR_MESSAGE_SYSTEM] broke."), "It [ERROR_MESSAGE_SYSTEM] broke.");
    }
}
