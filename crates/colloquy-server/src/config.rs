//! Every setting of the program, read once: flag, then environment, then `config.toml`, then
//! default. `--x-y` is `COLLOQUY_X_Y` is `x_y`.
//!
//! A setting is in [`SETTINGS`] only if something reads it. This is the one place that looks at
//! the environment; everything else is handed values.

mod flags;
mod layers;

use std::{
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
};

use colloquy::Timing;

pub use flags::SettingFlags;
pub use layers::{ConfigError, Environment, Shown, Source};

use crate::data_dir::DataDir;
use layers::Layers;

/// The port that is tried first when none is asked for.
pub const FIRST_PORT: u16 = 27182;
/// The last port that is tried.
pub const LAST_PORT: u16 = 27199;

const DAY_S: u64 = 86_400;

/// One setting as it is documented.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Its name in `config.toml`; flag and variable follow from it.
    pub key: &'static str,
    /// What stands for its value in `--help`.
    pub value: &'static str,
    /// One sentence for `--help`.
    pub help: &'static str,
}

const fn setting(key: &'static str, value: &'static str, help: &'static str) -> Setting {
    Setting { key, value, help }
}

/// All settings, in the order in which they are shown.
pub const SETTINGS: &[Setting] = &[
    setting("data_dir", "DIR", "The folder that holds everything [default: ~/.local/share/colloquy]"),
    setting("cache_dir", "DIR", "Where setup downloads and builds [default: ~/.cache/colloquy]"),
    setting("host", "ADDRESS", "The address to listen on [default: 127.0.0.1]"),
    setting("port", "PORT", "The port to listen on [default: the first free one of 27182-27199]"),
    setting("token", "TOKEN", "Ask every client for this token; better set as COLLOQUY_TOKEN"),
    setting("allowed_hosts", "NAMES", "More names this server may be called by, separated by commas"),
    setting("allowed_origins", "URLS", "Web origins that may call it, separated by commas"),
    setting("llama_server", "PATH", "The llama-server to run [default: the one on the PATH, else our own]"),
    setting("max_tokens", "N", "Pin the token limit of every model call [default: no limit is sent]"),
    setting("idle_unload_s", "SECONDS", "Unload a model that nobody used for so long [default: 300]"),
    setting("idle_tick_s", "SECONDS", "How often to look for an idle model [default: 30]"),
    setting("parallel_remote", "N", "How many turns run at once on other servers [default: 64]"),
    setting("retry_pause_ms", "MS", "Pause before another server is asked again [default: 500]"),
    setting("heartbeat_s", "SECONDS", "Send a blank line on a stream silent for so long [default: 15]"),
    setting("flush_ms", "MS", "How often an unfinished answer is saved [default: 250]"),
    setting("lease_s", "SECONDS", "How long a conversation is owned without a sign of life [default: 10]"),
    setting("lease_heartbeat_s", "SECONDS", "How often that sign is given [default: 3]"),
    setting("event_keep_s", "SECONDS", "How long a finished turn can be streamed again [default: 3600]"),
    setting("sweep_s", "SECONDS", "How often what is past that time is removed [default: 300]"),
];

/// A secret. It has no `Display`, and `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// The secret itself, for comparing and for sending.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The port to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// The first free one from [`FIRST_PORT`] to [`LAST_PORT`].
    FirstFree,
    /// This one or none; 0 leaves the choice to the system.
    Exactly(u16),
}

/// How the server is reached and by whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpConfig {
    /// The address to listen on.
    pub host: IpAddr,
    /// The port to listen on.
    pub port: Port,
    /// What every client has to show.
    pub token: Option<Token>,
    /// More names for `Host`.
    pub allowed_hosts: Vec<String>,
    /// Web origins that may call.
    pub allowed_origins: Vec<String>,
    /// After how many silent seconds a stream carries a blank line.
    pub heartbeat_s: u64,
}

/// How models run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineConfig {
    /// The binary to run, when one is named.
    pub llama_server: Option<PathBuf>,
    /// After how many idle seconds its model is unloaded.
    pub idle_unload_s: u64,
    /// How often that is looked at.
    pub idle_tick_s: u64,
    /// How many turns run at once on other servers.
    pub parallel_remote: u64,
}

/// All settings of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The folder that holds everything; absolute.
    pub data_dir: PathBuf,
    /// Where `setup` downloads and builds; absolute.
    pub cache_dir: PathBuf,
    /// How the server is reached.
    pub http: HttpConfig,
    /// How models run.
    pub engine: EngineConfig,
    /// How often and how long.
    pub timing: Timing,
    /// Pins the token limit of every call.
    pub max_tokens: Option<u32>,
    /// Each setting as it was found, for `doctor`; holds no secret.
    pub shown: Vec<Shown>,
}

impl Config {
    /// Reads all settings. `environment` gives the variables, so that tests decide them.
    pub fn read(flags: &SettingFlags, environment: &Environment<'_>) -> Result<Self, ConfigError> {
        let mut layers = Layers::new(flags, environment);
        let data_dir = folder(&mut layers, environment, "data_dir", ["XDG_DATA_HOME", ".local/share"])?;
        layers.read_file(&DataDir::at(&data_dir).config_file())?;
        let cache_dir = folder(&mut layers, environment, "cache_dir", ["XDG_CACHE_HOME", ".cache"])?;

        let http = http_config(&mut layers)?;
        let engine = EngineConfig {
            llama_server: layers.path("llama_server")?,
            idle_unload_s: layers.number("idle_unload_s", 300, 1..=DAY_S)?,
            idle_tick_s: layers.number("idle_tick_s", 30, 1..=DAY_S)?,
            parallel_remote: layers.number("parallel_remote", 64, 1..=4_096)?,
        };
        let timing = timing(&mut layers)?;
        let max_tokens = layers.optional_number("max_tokens", 1..=1_048_576)?;
        Ok(Self { data_dir, cache_dir, http, engine, timing, max_tokens, shown: layers.into_shown() })
    }

    /// Reads all settings of this process.
    pub fn of_process(flags: &SettingFlags) -> Result<Self, ConfigError> {
        Self::read(flags, &process_variable)
    }
}

/// A folder of ours: where it is set, else below the variable of the desktop's convention, else
/// below the home.
fn folder(
    layers: &mut Layers<'_>,
    environment: &Environment<'_>,
    key: &'static str,
    [convention, below_home]: [&str; 2],
) -> Result<PathBuf, ConfigError> {
    if let Some(named) = layers.path(key)? {
        return Ok(named);
    }
    let base = |variable: &str| environment(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = base(convention).or_else(|| Some(base("HOME")?.join(below_home)));
    let found = base.ok_or(ConfigError::NoHome { key })?.join("colloquy");
    layers.show_default(key, found.display().to_string());
    Ok(found)
}

fn http_config(layers: &mut Layers<'_>) -> Result<HttpConfig, ConfigError> {
    let host = layers.parsed("host", "an IP address such as 127.0.0.1", "127.0.0.1", |text| match text {
        "localhost" => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        address => address.parse().ok(),
    })?;
    let port = match layers.optional_number("port", 0..=u64::from(u16::MAX))? {
        Some(port) => Port::Exactly(port),
        None => Port::FirstFree,
    };
    Ok(HttpConfig {
        host,
        port,
        token: layers.secret("token")?.map(Token),
        allowed_hosts: layers.list("allowed_hosts", "names without scheme or port", is_host_name)?,
        allowed_origins: layers.list("allowed_origins", "origins such as https://example.org", is_origin)?,
        heartbeat_s: layers.number("heartbeat_s", 15, 1..=3_600)?,
    })
}

fn timing(layers: &mut Layers<'_>) -> Result<Timing, ConfigError> {
    let lease_s = layers.number("lease_s", 10, 2..=3_600)?;
    Ok(Timing {
        flush_ms: layers.number("flush_ms", 250, 1..=60_000)?,
        lease_ms: lease_s * 1_000,
        // A lease that is not renewed before it ends would be lost by its healthy owner.
        lease_heartbeat_ms: layers.number("lease_heartbeat_s", 3.min(lease_s - 1), 1..=lease_s - 1)? * 1_000,
        event_keep_ms: layers.number("event_keep_s", 3_600, 0..=365 * DAY_S)? * 1_000,
        sweep_ms: layers.number("sweep_s", 300, 1..=DAY_S)? * 1_000,
        retry_pause_ms: layers.number("retry_pause_ms", 500, 0..=60_000)?,
    })
}

fn is_host_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._[]".contains(&byte))
        || text.parse::<IpAddr>().is_ok()
}

fn is_origin(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")) else {
        return false;
    };
    !rest.is_empty() && !rest.contains(['/', '?', '#', '@']) && !rest.contains(char::is_whitespace)
}

/// Whether the person asked for plain output (no-color.org: present and not empty).
pub(crate) fn is_plain() -> bool {
    process_variable("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Whether this process could open a window.
pub(crate) fn has_display() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| process_variable(name).is_some_and(|value| !value.is_empty()))
}

#[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
fn process_variable(name: &str) -> Option<String> {
    match std::env::var(name) {
        Ok(value) => Some(value),
        Err(std::env::VarError::NotPresent) => None,
        Err(std::env::VarError::NotUnicode(value)) => Some(value.to_string_lossy().into_owned()),
    }
}

#[cfg(test)]
mod tests;
