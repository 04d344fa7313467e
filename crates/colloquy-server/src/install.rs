//! Checks a model before it is installed, for the command line and the HTTP route alike.
//!
//! Nothing is stored here: what fails a check leaves no trace, so nothing is ever half installed.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use colloquy::ports::{EngineKind, NewLlm};
use colloquy_core::message::TimeMs;
use colloquy_models::{
    client::{HttpClients, probe},
    gguf::{self, GgufError},
};
use reqwest::Url;

/// How long an address may take to answer.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// A model that somebody wants to install.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Candidate {
    /// What people will call it.
    pub(crate) name: String,
    /// Where it is said to be.
    pub(crate) engine: EngineKind,
    /// The window that is declared for it; a GGUF file tells its own.
    pub(crate) context_window: Option<u32>,
}

/// Why a model cannot be installed, and which of its fields is to blame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub(crate) struct InstallError {
    field: &'static str,
    reason: String,
}

impl InstallError {
    fn new(field: &'static str, reason: impl Into<String>) -> Self {
        Self { field, reason: reason.into() }
    }

    /// The field's name on the wire.
    pub(crate) fn field(&self) -> &'static str {
        self.field
    }
}

/// Looks into the file or asks the address, and gives what is to be stored.
pub(crate) async fn check(
    candidate: Candidate,
    clients: &HttpClients,
    at: TimeMs,
) -> Result<NewLlm, InstallError> {
    let Candidate { name, engine, context_window } = candidate;
    if name.trim().is_empty() {
        return Err(InstallError::new("name", "must not be blank"));
    }
    let plain = NewLlm {
        name,
        engine,
        context_window,
        param_size: None,
        size_bytes: None,
        generation_config: None,
        make_default: false,
        created_at: at,
    };
    match &plain.engine {
        EngineKind::Llama { path } => {
            let header = read_header(PathBuf::from(path)).await?;
            Ok(NewLlm {
                context_window: header.context_length.or(plain.context_window),
                param_size: Some(header.parameters_billions),
                size_bytes: Some(header.file_bytes),
                generation_config: header.generation_config,
                ..plain
            })
        }
        EngineKind::OpenAi { base_url, model, api_key_env } => {
            check_names(base_url, model, api_key_env.as_deref())?;
            check_answers(clients, base_url).await?;
            Ok(plain)
        }
    }
}

async fn read_header(path: PathBuf) -> Result<gguf::Header, InstallError> {
    if !path.is_absolute() {
        return Err(InstallError::new("path", "must be an absolute path"));
    }
    // Reading a header is blocking IO, on a file that may lie on a slow disk.
    let header = tokio::task::spawn_blocking(move || open_header(&path)).await;
    header.map_err(|_| InstallError::new("path", "the file could not be looked into"))?
}

fn open_header(path: &Path) -> Result<gguf::Header, InstallError> {
    let unreadable = |error: std::io::Error| {
        InstallError::new("path", format!("{} cannot be read: {error}", path.display()))
    };
    // Opening a pipe would wait for its writer, so only a regular file is opened.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(InstallError::new("path", format!("{} is not a file", path.display())));
    }
    gguf::read(path).map_err(|error| match error {
        GgufError::Io(error) => unreadable(error),
        GgufError::NotGguf { .. }
        | GgufError::CutShort { .. }
        | GgufError::Version(_)
        | GgufError::BigEndian
        | GgufError::Damaged(_) => InstallError::new("path", format!("{}: {error}", path.display())),
    })
}

fn check_names(base_url: &str, model: &str, api_key_env: Option<&str>) -> Result<(), InstallError> {
    if model.trim().is_empty() {
        return Err(InstallError::new("model", "must not be blank"));
    }
    if let Ok(url) = Url::parse(base_url) {
        // An address is shown to whoever lists the models; a key must not be in it.
        if !url.username().is_empty() || url.password().is_some() {
            let reason = "must not carry a name or password; name an environment variable with api_key_env";
            return Err(InstallError::new("base_url", reason));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(InstallError::new("base_url", "must end where /chat/completions is appended"));
        }
    }
    let is_variable = |name: &str| {
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && name.starts_with(|c: char| !c.is_ascii_digit())
    };
    match api_key_env {
        Some(name) if !is_variable(name) => Err(InstallError::new(
            "api_key_env",
            "must be the name of an environment variable, not the key itself",
        )),
        Some(_) | None => Ok(()),
    }
}

async fn check_answers(clients: &HttpClients, base_url: &str) -> Result<(), InstallError> {
    let client =
        clients.for_url(base_url).map_err(|error| InstallError::new("base_url", error.to_string()))?;
    let answered = probe(&client, base_url, PROBE_TIMEOUT).await;
    answered.map_err(|unreachable| InstallError::new("base_url", unreachable.reason))
}
