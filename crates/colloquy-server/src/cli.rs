//! The command line: what can be typed, and how a run ends.
//!
//! Exit 0 done, 1 failed, 2 wrong usage, 130 interrupted. Results go to stdout, everything else to
//! stderr. Every command but `serve` speaks the HTTP API, to a running server or in process.

mod chat;
mod client;
mod controls;
mod conversations;
mod doctor;
mod models;
mod output;
mod serve;
mod setup;

use std::{io, process::ExitCode, time::Duration};

use clap::{Parser, Subcommand};

use crate::config::{Config, ConfigError, SettingFlags};

/// Conversations with language models, kept on this machine.
#[derive(Debug, Parser)]
#[command(name = "colloquy", version, max_term_width = 100, after_help = EXAMPLES)]
struct CommandLine {
    #[command(flatten)]
    settings: SettingFlags,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  colloquy setup                    get an engine and a small model, once
  colloquy serve --open             serve the web page and the HTTP API
  colloquy chat                     talk in the terminal
  colloquy chat 'What is a lease?'  one question, the answer on stdout
  colloquy doctor                   what is installed, what is wrong, what to do";

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Arguments),
    Chat(chat::Arguments),
    Setup(setup::Arguments),
    #[command(subcommand)]
    Models(models::Command),
    #[command(subcommand)]
    Conversations(conversations::Command),
    Doctor(doctor::Arguments),
}

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
enum CliError {
    /// The settings cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// What was typed cannot be meant.
    #[error("{0}")]
    Usage(String),
    /// It was tried and did not work; the text is for people and says what to do.
    #[error("{0}")]
    Failed(String),
    /// It was tried and did not work, because of something below.
    #[error("failed to {what}")]
    Caused {
        /// What was tried.
        what: String,
        /// Why it did not work.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server wants a token that was not shown; the text says so.
    #[error("{0}")]
    TokenNeeded(String),
    /// The result could not be written, or not all of it.
    #[error("failed to write to stdout")]
    Stdout(#[source] io::Error),
    /// The reason has been told already.
    #[error("told")]
    Told,
    /// A person pressed Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

impl CliError {
    fn caused(what: impl Into<String>, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Caused { what: what.into(), source: source.into() }
    }

    fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::Usage(_) => 2,
            Self::Failed(_) | Self::Caused { .. } | Self::TokenNeeded(_) | Self::Stdout(_) | Self::Told => 1,
            Self::Interrupted => 130,
        }
    }

    /// The whole chain in one line, for people; nothing where nothing is left to say.
    fn told(&self) -> Option<String> {
        match self {
            Self::Told | Self::Interrupted => None,
            // Who closed the pipe (`| head`) has read enough and wants to hear no more.
            Self::Stdout(source) if source.kind() == io::ErrorKind::BrokenPipe => None,
            Self::Config(_)
            | Self::Usage(_)
            | Self::Failed(_)
            | Self::Caused { .. }
            | Self::TokenNeeded(_)
            | Self::Stdout(_) => Some(output::chain(self)),
        }
    }
}

/// Runs the command that this process was started with.
pub fn run() -> ExitCode {
    let line = match CommandLine::try_parse() {
        Ok(line) => line,
        // Help and version are "errors" that belong on stdout with exit 0; clap knows which.
        Err(error) => {
            return match error.print() {
                Err(source) if !error.use_stderr() => exit_code(Err(CliError::Stdout(source))),
                Ok(()) | Err(_) => ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2)),
            };
        }
    };
    exit_code(run_line(line))
}

/// What the result is to programs. To people, a failure is told.
fn exit_code(result: Result<(), CliError>) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    if let Some(text) = error.told() {
        output::note(&format!("error: {text}"));
    }
    ExitCode::from(error.exit_code())
}

fn run_line(line: CommandLine) -> Result<(), CliError> {
    let config = match (Config::of_process(&line.settings), &line.command) {
        (Ok(config), _) => config,
        (Err(error), Command::Doctor(arguments)) => return doctor::run_without_config(arguments, error),
        (Err(error), _) => return Err(error.into()),
    };
    let n_workers = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 4);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(n_workers)
        .enable_all()
        .build()
        .map_err(|source| CliError::caused("start the program's threads", source))?;
    let result = runtime.block_on(dispatch(line.command, config));
    // A connection that outlived its grace, or a prompt that waits for a key, must not hold us up.
    runtime.shutdown_timeout(Duration::from_millis(100));
    result
}

async fn dispatch(command: Command, config: Config) -> Result<(), CliError> {
    match command {
        Command::Serve(arguments) => serve::run(arguments, &config).await,
        Command::Chat(arguments) => chat::run(arguments, &config).await,
        Command::Setup(arguments) => setup::run(arguments, &config).await,
        Command::Models(command) => models::run(command, &config).await,
        Command::Conversations(command) => conversations::run(command, &config).await,
        Command::Doctor(arguments) => doctor::run(arguments, &config).await,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn every_command_teaches_with_an_example() {
        let mut line = CommandLine::command();
        line.build();
        for command in line.get_subcommands().filter(|command| command.get_name() != "help") {
            let leaves: Vec<_> = command.get_subcommands().filter(|leaf| leaf.get_name() != "help").collect();
            for command in if leaves.is_empty() { vec![command] } else { leaves } {
                let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.contains("colloquy "), "{} has no example", command.get_name());
            }
        }
    }

    #[test]
    fn an_error_is_told_with_its_causes_in_one_line() {
        let cause = std::io::Error::other("disk on fire");
        let error = CliError::caused("open the store", cause);
        assert_eq!(error.told().as_deref(), Some("failed to open the store: disk on fire"));
        assert_eq!(error.exit_code(), 1);
        assert_eq!(CliError::Interrupted.told(), None);
        assert_eq!(CliError::Interrupted.exit_code(), 130);
        assert_eq!(CliError::Usage("no".into()).exit_code(), 2);
    }
}
