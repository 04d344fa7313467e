//! `conversations`: what is kept, and taking it out or away.

mod outfile;

use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
};

use clap::{Subcommand, ValueEnum};
use futures::StreamExt;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{CliError, client::Client, controls, output};
use crate::config::Config;
use outfile::Outfile;

/// List, show, export and delete conversations.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List the conversations, the newest first
    #[command(after_help = "Example:
  colloquy conversations list --json")]
    List {
        /// Print the server's own documents
        #[arg(long)]
        json: bool,
    },
    /// Show the messages of one conversation
    #[command(after_help = "Example:
  colloquy conversations show 12")]
    Show {
        /// Its number
        id: i64,
        /// Print the server's own documents
        #[arg(long)]
        json: bool,
    },
    /// Write one conversation out
    #[command(after_help = "Examples:
  colloquy conversations export 12 -o 12.json
  colloquy conversations export 12 --format markdown")]
    Export {
        /// Its number
        id: i64,
        /// json loses nothing, markdown is for reading
        #[arg(long, value_enum, default_value_t = Format::Json)]
        format: Format,
        /// The file to write [default: stdout]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Delete one conversation for good
    #[command(after_help = "Example:
  colloquy conversations delete 12 --yes")]
    Delete {
        /// Its number
        id: i64,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

/// How a conversation is written out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Everything there is.
    Json,
    /// The text, for people.
    Markdown,
}

#[derive(Debug, Deserialize)]
struct Row {
    id: i64,
    name: String,
    last_message_time: String,
}

#[derive(Debug, Deserialize)]
struct Message {
    sender: String,
    content: String,
    timestamp: String,
}

pub(super) async fn run(command: Command, config: &Config) -> Result<(), CliError> {
    let client = Client::connect(config).await?;
    let result = match command {
        Command::List { json } => list(&client, json).await,
        Command::Show { id, json } => show(&client, id, json).await,
        Command::Export { id, format, output } => export(&client, id, format, output.as_deref()).await,
        Command::Delete { id, yes } => delete(&client, id, yes).await,
    };
    client.close().await;
    result
}

async fn list(client: &Client, json: bool) -> Result<(), CliError> {
    let rows: Value = client.fetch("/erudi/conversations").await?;
    if json {
        return output::print_json(&rows);
    }
    let rows: Vec<Row> =
        serde_json::from_value(rows).map_err(|source| CliError::caused("understand the server", source))?;
    if rows.is_empty() {
        output::note("There is no conversation yet; `colloquy chat` starts one.");
        return Ok(());
    }
    let rows: Vec<_> =
        rows.into_iter().map(|row| [row.id.to_string(), row.last_message_time, row.name]).collect();
    output::print(&output::table(["ID", "LAST MESSAGE", "NAME"], &rows))
}

async fn show(client: &Client, id: i64, json: bool) -> Result<(), CliError> {
    let messages: Value = client.fetch(&format!("/erudi/conversations/{id}/fetch_messages")).await?;
    if json {
        return output::print_json(&messages);
    }
    let messages: Vec<Message> = serde_json::from_value(messages)
        .map_err(|source| CliError::caused("understand the server", source))?;
    for message in messages {
        let who = if message.sender == "user" { "you" } else { "model" };
        output::print(&format!("[{}] {who}:\n{}\n\n", message.timestamp, message.content))?;
    }
    Ok(())
}

async fn export(client: &Client, id: i64, format: Format, file: Option<&Path>) -> Result<(), CliError> {
    let name = match format {
        Format::Json => "json",
        Format::Markdown => "markdown",
    };
    let path = format!("/erudi/conversations/{id}/export?format={name}");
    let mut chunks = client.send(Method::GET, &path, None).await?.accepted().await?.chunks();
    let Some(file) = file else {
        if output::stdout_is_terminal() {
            let mut whole = Vec::new();
            while let Some(chunk) = chunks.next().await {
                whole.extend_from_slice(&chunk?);
            }
            let text = String::from_utf8_lossy(&whole);
            return match format {
                Format::Json => output::print_json_text(&text),
                Format::Markdown => output::print(&text),
            };
        }
        while let Some(chunk) = chunks.next().await {
            output::print_bytes(&chunk?)?;
        }
        return Ok(());
    };
    let failed = |source| CliError::caused(format!("write {}", file.display()), source);
    let mut out = Outfile::open(file).map_err(failed)?;
    while let Some(chunk) = chunks.next().await {
        out.write(&chunk?).map_err(failed)?;
    }
    out.finish().map_err(failed)
}

async fn delete(client: &Client, id: i64, yes: bool) -> Result<(), CliError> {
    let path = format!("/erudi/conversations/{id}");
    let row: Row = client.fetch(&path).await?;
    if !yes && std::io::stdin().is_terminal() {
        let name = controls::visible_in_line(&row.name);
        output::steer_stderr(&format!("Delete conversation {id} ({name}) for good? [y/N] "));
        let mut answer = String::new();
        std::io::stdin()
            .read_line(&mut answer)
            .map_err(|source| CliError::caused("read the answer", source))?;
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            return Err(CliError::Failed("nothing was deleted".into()));
        }
    }
    client.send(Method::DELETE, &path, Some(&json!({}))).await?.accepted().await?;
    output::print(&format!("conversation {id} is deleted\n"))
}
