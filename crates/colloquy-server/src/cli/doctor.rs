//! `doctor`: what is installed, which model answers, what is wrong and what to do about it.
//!
//! It looks and never mends. A check that fails always names the way out, and one that could not be
//! made is left out: what is unknown is not called wrong.

mod way_out;

use std::path::{Path, PathBuf};

use clap::Args;
use colloquy_models::llama;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{CliError, client::Client, models::Llm, output};
use crate::config::{Config, ConfigError};
use way_out::way_out;

/// Say what is installed, what is wrong and what to do.
///
/// Exit 1 when something is wrong.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  colloquy doctor
  colloquy doctor --check
  colloquy doctor --json | jq '.checks[] | select(.ok | not)'")]
pub(super) struct Arguments {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Also read every conversation, and check the database when no server holds it
    #[arg(long)]
    check: bool,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    detail: String,
    /// What to do; present exactly when it is not ok.
    fix: Option<String>,
}

impl Check {
    fn good(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, ok: true, detail: detail.into(), fix: None }
    }

    fn bad(name: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, ok: false, detail: detail.into(), fix: Some(fix.into()) }
    }
}

/// The document of `--json`.
#[derive(Debug, Serialize)]
struct Report {
    ok: bool,
    version: &'static str,
    /// Unknown when the settings cannot be read.
    data_dir: Option<PathBuf>,
    config: Map<String, Value>,
    engine: EngineReport,
    models: Value,
    default_model: Option<String>,
    window: Option<u32>,
    checks: Vec<Check>,
}

#[derive(Debug, Serialize)]
struct EngineReport {
    path: Option<PathBuf>,
    version: Option<String>,
    ok: bool,
}

pub(super) async fn run(arguments: Arguments, config: &Config) -> Result<(), CliError> {
    let report = examine(config, arguments.check).await;
    if arguments.json {
        output::print_json(&report)?;
    } else {
        output::print(&text(&report))?;
    }
    if report.ok { Ok(()) } else { Err(CliError::Told) }
}

/// What there is to say when the settings cannot be used: scripts get their document all the same.
pub(super) fn run_without_config(arguments: &Arguments, error: ConfigError) -> Result<(), CliError> {
    let is_unreadable = matches!(error, ConfigError::Unreadable { .. });
    let error = CliError::from(error);
    if arguments.json {
        let check = if is_unreadable {
            unreadable("config", &error)
        } else {
            Check::bad("config", error.told().unwrap_or_default(), "correct the setting that is named here")
        };
        output::print_json(&Report {
            ok: false,
            version: env!("CARGO_PKG_VERSION"),
            data_dir: None,
            config: Map::new(),
            engine: EngineReport { path: None, version: None, ok: false },
            models: json!([]),
            default_model: None,
            window: None,
            checks: vec![check],
        })?;
    }
    Err(error)
}

async fn examine(config: &Config, reads_everything: bool) -> Report {
    let mut checks = Vec::new();
    let documents = look_inside(config, reads_everything, &mut checks).await;
    let llms: Option<Vec<Llm>> =
        documents.as_ref().and_then(|documents| serde_json::from_value(documents.clone()).ok());
    let engine = engine(config).await;
    checks.extend(engine_check(&engine, llms.as_deref()));
    if let Some(llms) = &llms {
        checks.extend(model_checks(llms).await);
    }
    let default = llms.iter().flatten().find(|llm| llm.is_default);
    Report {
        ok: checks.iter().all(|check| check.ok),
        version: env!("CARGO_PKG_VERSION"),
        data_dir: Some(config.data_dir.clone()),
        config: settings(config),
        engine: EngineReport {
            ok: engine.is_ok(),
            path: engine.as_ref().ok().map(|engine| engine.path.clone()),
            version: engine.as_ref().ok().map(|engine| engine.version.clone()),
        },
        default_model: default.map(|llm| llm.name.clone()),
        window: default.and_then(|llm| llm.context_window),
        models: documents.unwrap_or_else(|| json!([])),
        checks,
    }
}

/// Looks at what is kept, and gives the documents of the models, if they can be read.
async fn look_inside(config: &Config, reads_everything: bool, checks: &mut Vec<Check>) -> Option<Value> {
    let client = match Client::connect(config).await {
        Ok(client) => client,
        Err(error) => {
            checks.push(unreadable("data", &error));
            return None;
        }
    };
    let place = match client.server_url() {
        Some(url) => format!("served at {url}"),
        None => "no server runs; opened by this command".to_owned(),
    };
    checks.push(Check::good("data", place));
    let documents = match client.fetch("/erudi/llms").await {
        Ok(documents) => Some(documents),
        Err(error) => {
            checks.push(unreadable("models", &error));
            None
        }
    };
    // Who is not let in would be told the same once more.
    if reads_everything && documents.is_some() {
        checks.push(read_everything(&client).await);
    }
    if reads_everything {
        checks.extend(invariants(&client).await);
    }
    client.close().await;
    documents
}

fn unreadable(name: &'static str, error: &CliError) -> Check {
    Check::bad(name, error.told().unwrap_or_default(), way_out(error))
}

fn settings(config: &Config) -> Map<String, Value> {
    let one = |shown: &crate::config::Shown| {
        (shown.key.to_owned(), json!({ "value": shown.value, "source": shown.source.to_string() }))
    };
    config.shown.iter().map(one).collect()
}

/// The engine that a local model would run on, or why there is none.
async fn engine(config: &Config) -> Result<llama::Engine, String> {
    let path = llama::find(config.engine.llama_server.as_deref(), &config.data_dir)
        .map_err(|error| error.to_string())?;
    llama::probe(&path).await.map_err(|error| error.to_string())
}

/// A missing engine is a fault unless every model is somebody else's server. Where the models are
/// unknown, so is whether it is missed.
fn engine_check(engine: &Result<llama::Engine, String>, llms: Option<&[Llm]>) -> Option<Check> {
    let is_needed = llms
        .map(|llms| llms.is_empty() || llms.iter().any(|llm| llm.link.is_some() && llm.engine == "llama"));
    Some(match (engine, is_needed) {
        (Ok(engine), _) => Check::good("engine", format!("{} ({})", engine.path.display(), engine.version)),
        (Err(reason), Some(true)) => {
            Check::bad("engine", reason, "run `colloquy setup`, or name one with --llama-server PATH")
        }
        (Err(reason), Some(false)) => Check::good("engine", format!("{reason}; no installed model needs it")),
        (Err(_), None) => return None,
    })
}

async fn model_checks(llms: &[Llm]) -> Vec<Check> {
    let mut checks = Vec::new();
    if llms.is_empty() {
        checks.push(Check::bad(
            "models",
            "no model is installed",
            "run `colloquy setup` for a small one, or `colloquy models add`",
        ));
    } else if let Some(default) = llms.iter().find(|llm| llm.is_default) {
        let notice = default.notice().map(|notice| format!("; {notice}")).unwrap_or_default();
        checks.push(Check::good(
            "models",
            format!("{} installed, {} is the default{notice}", llms.len(), default.name),
        ));
    } else {
        checks.push(Check::bad("models", "no model is the default", "run `colloquy models default NAME`"));
    }
    for llm in llms {
        checks.extend(weights(llm).await);
    }
    checks
}

/// Reads the header of a local model's file again: disks fill up and files move.
async fn weights(llm: &Llm) -> Option<Check> {
    let path = PathBuf::from(llm.link.as_ref().filter(|_| llm.engine == "llama")?);
    let read = tokio::task::spawn_blocking(move || colloquy_models::gguf::read(&path)).await.ok()?;
    Some(match read {
        Ok(_) => Check::good("weights", format!("{} is whole", llm.name)),
        Err(error) => Check::bad(
            "weights",
            format!("{}: {}", llm.name, output::chain(&error)),
            format!("put the file back, or run `colloquy models remove {}` and add it again", llm.name),
        ),
    })
}

/// Reads every message, so that a damaged one is found before it is missed.
async fn read_everything(client: &Client) -> Check {
    let reading = async {
        let rows: Vec<Value> = client.fetch("/erudi/conversations").await?;
        let mut n_messages = 0;
        for row in &rows {
            let path = format!("/erudi/conversations/{}/fetch_messages", row["id"]);
            n_messages += client.fetch::<Vec<Value>>(&path).await?.len();
        }
        Ok::<_, CliError>(format!("{} conversations with {n_messages} messages can be read", rows.len()))
    };
    match reading.await {
        Ok(detail) => Check::good("conversations", detail),
        Err(error) => unreadable("conversations", &error),
    }
}

/// Checks the database from inside. A server that runs keeps it to itself.
async fn invariants(client: &Client) -> Option<Check> {
    let found = client.assembly()?.check().await;
    let fix = "keep a copy of the data folder and report this; nothing was changed";
    Some(match found {
        Ok(findings) if findings.is_empty() => Check::good("invariants", "the database is as it should be"),
        Ok(findings) => {
            let first = &findings[0];
            let detail = format!(
                "{} findings, the first: not so that {} ({})",
                findings.len(),
                first.check,
                first.subject
            );
            Check::bad("invariants", detail, fix)
        }
        Err(error) => Check::bad("invariants", output::chain(&error), fix),
    })
}

fn text(report: &Report) -> String {
    let data_dir = report.data_dir.as_deref().unwrap_or(Path::new("?")).display();
    let mut text = format!("colloquy {} on {data_dir}\n\n", report.version);
    for check in &report.checks {
        let mark = if check.ok { "ok  " } else { "FAIL" };
        text += &format!("{mark}  {}: {}\n", check.name, check.detail);
        if let Some(fix) = &check.fix {
            text += &format!("      fix: {fix}\n");
        }
    }
    if let Some(model) = &report.default_model {
        let window = report.window.map_or_else(|| "unknown".into(), |window| window.to_string());
        text += &format!("\ndefault model {model}, window {window} tokens\n");
    }
    text += "\nSettings\n";
    for (key, setting) in &report.config {
        let value = setting["value"].as_str().unwrap_or("-");
        text += &format!("  {key} = {value}  ({})\n", setting["source"].as_str().unwrap_or_default());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn llm(engine: &str) -> Llm {
        let document = json!({
            "id": 1,
            "name": "m",
            "engine": engine,
            "is_default": true,
            "link": "/no/such/file.gguf",
            "description": "m is a toy",
        });
        serde_json::from_value(document).unwrap()
    }

    #[test]
    fn a_missing_engine_is_a_fault_only_where_one_is_needed() {
        let missing = Err("none".to_owned());
        let is_ok = |llms: Option<&[Llm]>| engine_check(&missing, llms).map(|check| check.ok);
        assert_eq!(is_ok(Some(&[])), Some(false));
        assert_eq!(is_ok(Some(&[llm("llama"), llm("openai")])), Some(false));
        assert_eq!(is_ok(Some(&[llm("openai")])), Some(true));
        assert_eq!(is_ok(None), None, "nobody knows");
    }

    #[tokio::test]
    async fn a_missing_file_is_a_fault_with_a_way_out() {
        let checks = model_checks(&[llm("llama")]).await;
        assert_eq!(checks.iter().map(|check| check.ok).collect::<Vec<_>>(), [true, false]);
        assert_eq!(checks[0].detail, "1 installed, m is the default; m is a toy");
        assert!(checks[1].fix.as_ref().is_some_and(|fix| fix.contains("models remove m")));
        assert_eq!(
            model_checks(&[llm("openai")]).await.len(),
            1,
            "somebody else's weights are not ours to read"
        );
    }
}
