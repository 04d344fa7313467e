//! `conversations`: what is kept, and taking it out or away.

use std::{
    io::{IsTerminal, Write},
    path::{Path, PathBuf},
};

use clap::{Subcommand, ValueEnum};
use futures::StreamExt;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{CliError, client::Client, output};
use crate::config::Config;

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
        output::print_json(&rows);
        return Ok(());
    }
    let rows: Vec<Row> =
        serde_json::from_value(rows).map_err(|source| CliError::caused("understand the server", source))?;
    if rows.is_empty() {
        output::note("There is no conversation yet; `colloquy chat` starts one.");
        return Ok(());
    }
    let rows: Vec<_> =
        rows.into_iter().map(|row| [row.id.to_string(), row.last_message_time, row.name]).collect();
    output::print(&output::table(["ID", "LAST MESSAGE", "NAME"], &rows));
    Ok(())
}

async fn show(client: &Client, id: i64, json: bool) -> Result<(), CliError> {
    let messages: Value = client.fetch(&format!("/erudi/conversations/{id}/fetch_messages")).await?;
    if json {
        output::print_json(&messages);
        return Ok(());
    }
    let messages: Vec<Message> = serde_json::from_value(messages)
        .map_err(|source| CliError::caused("understand the server", source))?;
    for message in messages {
        let who = if message.sender == "user" { "you" } else { "model" };
        output::print(&format!("[{}] {who}:\n{}\n\n", message.timestamp, message.content));
    }
    Ok(())
}

async fn export(client: &Client, id: i64, format: Format, file: Option<&Path>) -> Result<(), CliError> {
    let format = match format {
        Format::Json => "json",
        Format::Markdown => "markdown",
    };
    let path = format!("/erudi/conversations/{id}/export?format={format}");
    let mut chunks = client.send(Method::GET, &path, None).await?.accepted().await?.chunks();
    let Some(file) = file else {
        while let Some(chunk) = chunks.next().await {
            output::print_bytes(&chunk?);
        }
        return Ok(());
    };
    // Written beside and moved in place, so that a failure never leaves half an export behind or
    // takes an older one away.
    let failed = |source| CliError::caused(format!("write {}", file.display()), source);
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = file.file_name().ok_or_else(|| CliError::Usage(format!("{} is no file", file.display())))?;
    let beside = folder.join(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
    let written = async {
        let mut out = std::fs::File::create(&beside).map_err(failed)?;
        while let Some(chunk) = chunks.next().await {
            out.write_all(&chunk?).map_err(failed)?;
        }
        std::fs::rename(&beside, file).map_err(failed)
    }
    .await;
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}

async fn delete(client: &Client, id: i64, yes: bool) -> Result<(), CliError> {
    let path = format!("/erudi/conversations/{id}");
    let row: Row = client.fetch(&path).await?;
    if !yes && std::io::stdin().is_terminal() {
        output::print_to_stderr(&format!("Delete conversation {id} ({}) for good? [y/N] ", row.name));
        let mut answer = String::new();
        std::io::stdin()
            .read_line(&mut answer)
            .map_err(|source| CliError::caused("read the answer", source))?;
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            return Err(CliError::Failed("nothing was deleted".into()));
        }
    }
    client.send(Method::DELETE, &path, Some(&json!({}))).await?.accepted().await?;
    output::print(&format!("conversation {id} is deleted\n"));
    Ok(())
}
