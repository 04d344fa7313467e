//! `chat`: one question from the command line, or a conversation at the terminal.

mod answer;
mod prompt;

use std::io::{IsTerminal, Read};

use clap::Args;
use futures::FutureExt;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{CliError, client::Client, models, output};
use crate::{config::Config, data_dir::DataDir};
use answer::Ended;
use prompt::{Prompt, Typed};

/// How many messages of a conversation are shown when it is gone on with.
const N_SHOWN: u32 = 20;
/// Longest question that is read from stdin, so that a wrong file is refused before it is sent.
const STDIN_BYTES_MAX: u64 = 900 * 1024;

/// Talk to a model: one question, or a conversation in the terminal.
///
/// With QUESTION, or when stdin is not a terminal, one question is asked and the answer alone is
/// written to stdout. Otherwise a prompt opens: Ctrl-C stops an answer, Ctrl-D leaves.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  colloquy chat
  colloquy chat --conversation 12
  colloquy chat --system 'Answer in one sentence.' 'What is a lease?'
  git diff | colloquy chat --model qwen3 > review.txt")]
pub(super) struct Arguments {
    /// Go on with this conversation instead of a new one
    #[arg(long, value_name = "ID")]
    conversation: Option<i64>,
    /// The model to use, by name or number [default: the default model]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// What the model is told before everything else
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    /// The question [default: stdin, or a prompt when stdin is a terminal]
    question: Option<String>,
}

/// What the two ways of asking share.
struct Chat {
    client: Client,
    conversation: i64,
    /// Replaces the conversation's own system text while this command runs.
    system: Option<String>,
    interrupts: Signal,
}

pub(super) async fn run(arguments: Arguments, config: &Config) -> Result<(), CliError> {
    let question = match &arguments.question {
        Some(question) => Some(question.clone()),
        None if std::io::stdin().is_terminal() => None,
        None => Some(question_from_stdin()?),
    };
    if question.as_ref().is_some_and(|question| question.trim().is_empty()) {
        return Err(CliError::Usage("the question is empty".into()));
    }
    // Listened to from the start, so that Ctrl-C never ends us without closing the answer.
    let mut interrupts =
        signal(SignalKind::interrupt()).map_err(|source| CliError::caused("listen to Ctrl-C", source))?;
    let client = unless_interrupted(&mut interrupts, Client::connect(config)).await?;
    let conversation = match unless_interrupted(&mut interrupts, conversation(&client, &arguments)).await {
        Ok(conversation) => conversation,
        Err(error) => {
            client.close().await;
            return Err(error);
        }
    };
    let mut chat = Chat { client, conversation, system: arguments.system, interrupts };
    let result = match question {
        Some(question) => chat.ask_once(&question).await,
        None => chat.converse(&DataDir::at(&config.data_dir), arguments.conversation.is_some()).await,
    };
    chat.client.close().await;
    result
}

/// Does `effect`, which has nothing to close, until it is done or Ctrl-C is pressed.
async fn unless_interrupted<T>(
    interrupts: &mut Signal,
    effect: impl Future<Output = Result<T, CliError>>,
) -> Result<T, CliError> {
    tokio::select! {
        result = effect => result,
        Some(()) = interrupts.recv() => Err(CliError::Interrupted),
    }
}

/// Forgets a Ctrl-C that came when no answer ran: it was meant for one that is over.
fn forget(interrupts: &mut Signal) {
    while let Some(Some(())) = interrupts.recv().now_or_never() {}
}

fn question_from_stdin() -> Result<String, CliError> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .take(STDIN_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| CliError::caused("read the question from stdin", source))?;
    if bytes.len() as u64 > STDIN_BYTES_MAX {
        return Err(CliError::Usage(format!("the question on stdin is longer than {STDIN_BYTES_MAX} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| CliError::Usage("the question on stdin is not UTF-8 text".into()))
}

#[derive(Deserialize)]
struct Conversation {
    id: i64,
}

/// The conversation to go on with, changed as asked, or a new one.
async fn conversation(client: &Client, arguments: &Arguments) -> Result<i64, CliError> {
    let llm_id = match &arguments.model {
        Some(name) => Some(models::find(client, name).await?.id),
        None => None,
    };
    if let Some(id) = arguments.conversation {
        let path = format!("/erudi/conversations/{id}");
        let found: Conversation = match llm_id {
            Some(llm_id) => {
                client.send(Method::PATCH, &path, Some(&json!({ "llm_id": llm_id }))).await?.json().await?
            }
            None => client.fetch(&path).await?,
        };
        return Ok(found.id);
    }
    if llm_id.is_none() && !models::list(client).await?.iter().any(|llm| llm.is_default) {
        return Err(CliError::Failed(
            "no model is installed; run `colloquy setup` for a small one, or `colloquy models add`".into(),
        ));
    }
    let mut create = json!({});
    if let Some(llm_id) = llm_id {
        create["llm_id"] = llm_id.into();
    }
    if let Some(system) = &arguments.system {
        create["custom_prompt"] = system.as_str().into();
    }
    let created: Conversation = client.post("/erudi/conversations", &create).await?;
    Ok(created.id)
}

impl Chat {
    async fn ask(&mut self, question: &str) -> Result<Ended, CliError> {
        let mut body = json!({ "question": question });
        if let Some(system) = &self.system {
            body["custom_prompt"] = system.as_str().into();
        }
        answer::stream(&self.client, self.conversation, &body, &mut self.interrupts).await
    }

    async fn ask_once(&mut self, question: &str) -> Result<(), CliError> {
        match self.ask(question).await? {
            Ended::Answered => Ok(()),
            Ended::Stopped => Err(CliError::Interrupted),
            Ended::Failed => Err(CliError::Told),
        }
    }

    /// The prompt. A failed or stopped answer ends the answer, never the conversation.
    async fn converse(&mut self, data_dir: &DataDir, is_continued: bool) -> Result<(), CliError> {
        self.greet(is_continued).await?;
        let mut prompt = Prompt::open(data_dir.chat_history())?;
        let mut was_interrupted = false;
        loop {
            let typed;
            (prompt, typed) = prompt.next().await?;
            match typed {
                Typed::Text(text) if text.trim().is_empty() => was_interrupted = false,
                Typed::Text(text) => {
                    was_interrupted = false;
                    forget(&mut self.interrupts);
                    match self.ask(&text).await {
                        Ok(Ended::Stopped) => output::note_dim("(stopped)"),
                        Ok(Ended::Answered | Ended::Failed) => {}
                        // Nothing that is said from here on would be seen.
                        Err(error @ CliError::Stdout(_)) => return Err(error),
                        Err(error) => {
                            output::note(&format!("error: {}", error.told().unwrap_or_default()));
                        }
                    }
                }
                Typed::Interrupt if was_interrupted => return Ok(()),
                Typed::Interrupt => {
                    was_interrupted = true;
                    output::note_dim("(Ctrl-C again or Ctrl-D leaves)");
                }
                Typed::End => return Ok(()),
            }
        }
    }

    async fn greet(&self, is_continued: bool) -> Result<(), CliError> {
        let id = self.conversation;
        let Value::Object(row) = self.client.fetch(&format!("/erudi/conversations/{id}")).await? else {
            return Err(CliError::Failed("the server sent no conversation".into()));
        };
        let llms = models::list(&self.client).await?;
        let llm = llms.into_iter().find(|llm| Some(llm.id) == row.get("llm_id").and_then(Value::as_i64));
        if is_continued {
            self.show_history().await?;
        }
        match llm {
            Some(llm) => {
                output::note_dim(&format!(
                    "conversation {id} with {}; Ctrl-C stops an answer, Ctrl-D leaves",
                    llm.name
                ));
                if let Some(notice) = llm.notice() {
                    output::note_dim(notice);
                }
            }
            None => output::note(
                "this conversation's model was removed; go on with another: colloquy chat --conversation ID --model NAME",
            ),
        }
        Ok(())
    }

    async fn show_history(&self) -> Result<(), CliError> {
        #[derive(Deserialize)]
        struct Message {
            sender: String,
            content: String,
        }
        let path = format!("/erudi/conversations/{}/fetch_messages?limit={N_SHOWN}", self.conversation);
        let messages: Vec<Message> = self.client.fetch(&path).await?;
        for message in messages {
            let text = answer::without_sentinel(&message.content);
            match message.sender.as_str() {
                "user" => output::note(&format!("{}{text}", prompt::MARK)),
                _ => output::note(&format!("{text}\n")),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_ctrl_c_that_came_between_two_answers_is_forgotten() {
        let mut interrupts = signal(SignalKind::interrupt()).unwrap();
        let mut told = signal(SignalKind::interrupt()).unwrap();
        let line = format!("kill -INT {}", std::process::id());
        assert!(tokio::process::Command::new("sh").args(["-c", &line]).status().await.unwrap().success());
        // Both are told at once, so from here on it is pending.
        told.recv().await;
        forget(&mut interrupts);
        assert!(interrupts.recv().now_or_never().is_none());
    }
}
