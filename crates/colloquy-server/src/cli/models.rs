//! `models`: what is installed, and installing more.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{CliError, client::Client, output};
use crate::config::Config;

/// List, add and remove models, and choose the default one.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List the installed models, the newest first
    #[command(after_help = "Examples:
  colloquy models list
  colloquy models list --json | jq '.[].name'")]
    List {
        /// Print the server's own documents
        #[arg(long)]
        json: bool,
    },
    Add(Add),
    /// Remove a model; its file and its conversations stay
    #[command(after_help = "Example:
  colloquy models remove qwen3")]
    Remove {
        /// Its name or number
        model: String,
    },
    /// Choose the model of new conversations
    #[command(after_help = "Example:
  colloquy models default qwen3")]
    Default {
        /// Its name or number
        model: String,
    },
}

/// Install a GGUF file, or a model on any OpenAI-compatible server.
///
/// A file that is not GGUF or is cut short, and an address that does not answer, are refused.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("kind").required(true).args(["gguf", "base_url"]), after_help = "Examples:
  colloquy models add --gguf ~/models/Qwen3-4B-Q4_K_M.gguf --name qwen3 --default
  colloquy models add --base-url http://127.0.0.1:8000/v1 --model Qwen/Qwen3-8B --window 32768
  colloquy models add --base-url https://api.example.com/v1 --model large --window 131072 \\
      --api-key-env EXAMPLE_API_KEY")]
pub(super) struct Add {
    /// A file with weights; it stays where it is
    #[arg(long, value_name = "PATH")]
    gguf: Option<PathBuf>,
    /// Where the server answers; /chat/completions is appended
    #[arg(long, value_name = "URL", requires = "model", requires = "window")]
    base_url: Option<String>,
    /// The model's name on that server
    #[arg(long, value_name = "NAME", conflicts_with = "gguf")]
    model: Option<String>,
    /// Its context window in tokens
    #[arg(long, value_name = "N", conflicts_with = "gguf", value_parser = clap::value_parser!(u32).range(1..))]
    window: Option<u32>,
    /// The environment variable of the server process that holds the key
    #[arg(long, value_name = "VAR", conflicts_with = "gguf")]
    api_key_env: Option<String>,
    /// What to call it here [default: the file's or the model's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Make it the model of new conversations
    #[arg(long)]
    default: bool,
    /// Print the server's own document
    #[arg(long)]
    json: bool,
}

/// An installed model, as far as commands look at it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Llm {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) engine: String,
    pub(super) is_default: bool,
    pub(super) context_window: Option<u32>,
    pub(super) base_url: Option<String>,
    /// The file of a local model.
    pub(super) link: Option<String>,
    description: String,
}

impl Llm {
    /// What its server wants people to know of it.
    pub(super) fn notice(&self) -> Option<&str> {
        Some(self.description.as_str()).filter(|text| !text.is_empty())
    }
}

pub(super) async fn run(command: Command, config: &Config) -> Result<(), CliError> {
    let client = Client::connect(config).await?;
    let result = match command {
        Command::List { json: true } => {
            client.fetch("/erudi/llms").await.and_then(|llms: Value| output::print_json(&llms))
        }
        Command::List { json: false } => list(&client).await.and_then(|llms| output::print(&listing(&llms))),
        Command::Add(add) => self::add(&client, add).await,
        Command::Remove { model } => remove(&client, &model).await,
        Command::Default { model } => choose(&client, &model).await,
    };
    client.close().await;
    result
}

/// All installed models, the newest first.
pub(super) async fn list(client: &Client) -> Result<Vec<Llm>, CliError> {
    client.fetch("/erudi/llms").await
}

/// The model of that name, else the one of that number.
pub(super) async fn find(client: &Client, wanted: &str) -> Result<Llm, CliError> {
    let llms = list(client).await?;
    let by_name = llms.iter().find(|llm| llm.name == wanted);
    let by_id = || wanted.parse().ok().and_then(|id: i64| llms.iter().find(|llm| llm.id == id));
    by_name.or_else(by_id).cloned().ok_or_else(|| {
        let names: Vec<_> = llms.iter().map(|llm| llm.name.as_str()).collect();
        let known = if names.is_empty() {
            "none is installed".into()
        } else {
            format!("there are {}", names.join(", "))
        };
        CliError::Failed(format!("no model is called {wanted}; {known}"))
    })
}

fn listing(llms: &[Llm]) -> String {
    if llms.is_empty() {
        return "No model is installed; run `colloquy setup` or `colloquy models add`.\n".into();
    }
    let rows: Vec<_> = llms
        .iter()
        .map(|llm| {
            [
                llm.id.to_string(),
                llm.name.clone(),
                llm.engine.clone(),
                llm.context_window.map_or_else(|| "?".into(), |window| window.to_string()),
                if llm.is_default { "default".into() } else { String::new() },
                llm.base_url.clone().or_else(|| llm.link.clone()).unwrap_or_default(),
            ]
        })
        .collect();
    output::table(["ID", "NAME", "ENGINE", "WINDOW", "", "WHERE"], &rows)
}

/// Installs a GGUF file under a name; also what `setup` does with its model.
pub(super) async fn add_gguf(client: &Client, name: &str, path: &str) -> Result<Value, CliError> {
    client.post("/erudi/llms", &json!({ "name": name, "engine": "llama", "path": path })).await
}

async fn add(client: &Client, add: Add) -> Result<(), CliError> {
    let added = match (&add.gguf, &add.base_url) {
        (Some(path), _) => {
            // The server may run elsewhere: a relative path would mean another file to it.
            let path =
                std::path::absolute(path).map_err(|source| CliError::caused("find the file", source))?;
            let Some(text) = path.to_str() else {
                return Err(CliError::Usage(format!("the path {} is not UTF-8", path.display())));
            };
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("model");
            add_gguf(client, add.name.as_deref().unwrap_or(stem), text).await?
        }
        (None, base_url) => {
            let name = add.name.as_deref().or(add.model.as_deref());
            let mut body = json!({
                "name": name,
                "engine": "openai",
                "base_url": base_url,
                "model": add.model,
                "context_window": add.window,
            });
            if let Some(variable) = &add.api_key_env {
                body["api_key_env"] = variable.as_str().into();
            }
            client.post("/erudi/llms", &body).await?
        }
    };
    let id = added["id"].as_i64().unwrap_or_default();
    let added: Value = if add.default { make_default(client, id).await? } else { added };
    if add.json {
        output::print_json(&added)
    } else {
        let is_default = if added["is_default"] == true { ", the default" } else { "" };
        output::print(&format!(
            "{} is installed as model {id}{is_default}\n",
            added["name"].as_str().unwrap_or("it")
        ))
    }
}

async fn remove(client: &Client, wanted: &str) -> Result<(), CliError> {
    let llm = find(client, wanted).await?;
    let path = format!("/erudi/llms/{}", llm.id);
    client.send(Method::DELETE, &path, Some(&json!({}))).await?.accepted().await?;
    output::print(&format!("{} is removed; its conversations stay\n", llm.name))
}

async fn choose(client: &Client, wanted: &str) -> Result<(), CliError> {
    let llm = find(client, wanted).await?;
    make_default(client, llm.id).await?;
    output::print(&format!("new conversations use {}\n", llm.name))
}

/// Makes a model the default and gives its document.
pub(super) async fn make_default(client: &Client, id: i64) -> Result<Value, CliError> {
    let path = format!("/erudi/llms/{id}");
    client.send(Method::POST, &format!("{path}/default"), Some(&json!({}))).await?.accepted().await?;
    client.fetch(&path).await
}
