//! The settings as command-line flags, made from the one table so that no setting is without one.

use std::collections::BTreeMap;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::SETTINGS;

const ALLOW_ORIGIN: &str = "allow_origin";

/// What was given on the command line, before it is understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingFlags {
    values: BTreeMap<&'static str, String>,
    /// Origins of `--allow-origin`, added to those of the setting.
    allow_origin: Vec<String>,
}

impl SettingFlags {
    /// Sets one flag; for tests and for programs that build their own command line.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.values.insert(key, value.into());
        self
    }

    pub(super) fn value(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// What `--allow-origin` adds to a list.
    pub(super) fn added(&self, key: &str) -> &[String] {
        if key == "allowed_origins" { &self.allow_origin } else { &[] }
    }
}

impl FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for setting in SETTINGS {
            if let Some(value) = matches.get_one::<String>(setting.key) {
                self.values.insert(setting.key, value.clone());
            }
        }
        self.allow_origin.extend(matches.get_many::<String>(ALLOW_ORIGIN).unwrap_or_default().cloned());
        Ok(())
    }
}

impl Args for SettingFlags {
    fn augment_args(command: Command) -> Command {
        let flags = SETTINGS.iter().map(|setting| {
            base(setting.key, setting.value, setting.help)
                .hide_short_help(!matches!(setting.key, "data_dir" | "host" | "port" | "token"))
        });
        command.args(flags).arg(
            base(ALLOW_ORIGIN, "URL", "Add one web origin that may call the server; may be repeated")
                .action(ArgAction::Append)
                .hide_short_help(true),
        )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn base(key: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(key)
        .long(key.replace('_', "-"))
        .value_name(value)
        .help(help)
        .help_heading("Settings (also COLLOQUY_… variables and config.toml)")
        .global(true)
}
