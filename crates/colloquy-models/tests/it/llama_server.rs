//! A real `llama-server` without the engines around it, for the wires that they do not speak.

use std::process::Stdio;

use tokio::{
    io::{AsyncBufReadExt, BufReader},
    net::TcpListener,
    process::{Child, Command},
};
use tokio_util::task::AbortOnDropHandle;

use crate::{
    real::{MODEL, installed},
    stage::soon,
};

/// A template whose tool calls begin with a token that a bias can force.
pub(crate) const FORCING_TEMPLATE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/qwen3_issue_marker.jinja");

/// A server with SmolLM2. Dropping it ends it.
pub(crate) struct LlamaServer {
    /// Ends where the routes of the OpenAI and Anthropic APIs are appended.
    pub(crate) base_url: String,
    _child: Child,
    _reader: AbortOnDropHandle<()>,
}

impl LlamaServer {
    /// Starts one, with a chat template of its own or the model's, and waits until it is ready.
    pub(crate) async fn start(template: Option<&str>) -> Self {
        Self::start_with(template, &[]).await
    }

    /// As [`Self::start`], with further arguments.
    pub(crate) async fn start_with(template: Option<&str>, arguments: &[&str]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        let mut command = Command::new(installed("engine/llama-server"));
        command.arg("--model").arg(installed(MODEL));
        command.args(["--host", "127.0.0.1", "--port", &port.to_string()]);
        command.args(["--ctx-size", "4096", "--parallel", "1", "--jinja"]);
        command.args(arguments);
        if let Some(template) = template {
            command.args(["--chat-template-file", template]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        soon(async {
            loop {
                let line = lines.next_line().await.unwrap();
                if line.expect("the engine ended before it was ready").contains("listening on http://") {
                    return;
                }
            }
        })
        .await;
        // What it says from here on is read, or a full pipe would stop it.
        let reader = tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Self {
            base_url: format!("http://127.0.0.1:{port}/v1"),
            _child: child,
            _reader: AbortOnDropHandle::new(reader),
        }
    }
}
