//! What a test with the fake engine needs: a data folder, models, and the sight of every process.

use std::{
    env, fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use colloquy::ports::{
    CallOptions, EngineKind, LlmRow, LoadNotice, ModelCall, ModelChunk, ModelError, Models, Opened, Sampling,
};
use colloquy_core::{
    block::Block,
    message::{LlmId, Role},
    prepare::{PreparedConversation, PreparedTurn},
};
use colloquy_models::engines::{Engines, EnginesConfig};
use futures::StreamExt;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::timeout,
};

use crate::fake;

/// A folder with an engine, and the other end of every engine's lifeline.
pub(crate) struct Stage {
    pub(crate) folder: TempDir,
    starts: TcpListener,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let starts = TcpListener::bind("127.0.0.1:0").await.unwrap();
        write_engine(&folder.path().join("engine/llama-server"), &starts.local_addr().unwrap().to_string());
        Self { folder, starts }
    }

    pub(crate) fn config(&self) -> EnginesConfig {
        EnginesConfig {
            llama_server: Some(self.folder.path().join("engine/llama-server")),
            ..EnginesConfig::new(self.folder.path().to_owned())
        }
    }

    pub(crate) fn engines(&self) -> Engines {
        Engines::new(self.config()).unwrap()
    }

    /// A model whose file is a GGUF header and nothing else.
    pub(crate) fn model(&self, name: &str) -> LlmRow {
        let path = self.folder.path().join(format!("{name}.gguf"));
        fs::write(&path, [&b"GGUF\x03\0\0\0"[..], &[0; 16]].concat()).unwrap();
        llama(path)
    }

    /// The next engine that starts.
    pub(crate) async fn next_start(&self) -> Lifeline {
        let (stream, _) = soon(self.starts.accept()).await.unwrap();
        let mut stream = BufReader::new(stream);
        let mut arguments = String::new();
        soon(stream.read_line(&mut arguments)).await.unwrap();
        Lifeline { arguments: arguments.trim_end().to_owned(), stream }
    }
}

/// A connection that lives as long as one engine.
pub(crate) struct Lifeline {
    pub(crate) arguments: String,
    stream: BufReader<TcpStream>,
}

impl Lifeline {
    /// Lets a slow model finish loading.
    pub(crate) async fn finish_loading(&mut self) {
        self.stream.get_mut().write_all(b"ready\n").await.unwrap();
    }

    /// Waits until the process is gone.
    pub(crate) async fn gone(mut self) {
        let mut rest = String::new();
        // A reset is an end as good as any.
        let _ = soon(self.stream.read_line(&mut rest)).await;
        assert_eq!(rest, "");
    }
}

pub(crate) fn llama(path: PathBuf) -> LlmRow {
    row(EngineKind::Llama { path: path.to_str().unwrap().to_owned() })
}

pub(crate) fn row(engine: EngineKind) -> LlmRow {
    LlmRow {
        id: LlmId(1),
        name: "a model".into(),
        engine,
        context_window: Some(2_048),
        param_size: None,
        size_bytes: None,
        generation_config: None,
        is_default: true,
        created_at: 0,
    }
}

/// Opens a model and gives what the reader was told meanwhile.
pub(crate) async fn open<'a>(
    engines: &Engines,
    llm: impl Into<Option<&'a LlmRow>>,
) -> (Result<Opened, ModelError>, Vec<LoadNotice>) {
    let (notices, mut told) = mpsc::channel(8);
    let opened = soon(engines.admit(llm.into()).unwrap().open(notices)).await;
    let mut all = Vec::new();
    while let Some(notice) = told.recv().await {
        all.push(notice);
    }
    (opened, all)
}

pub(crate) fn call(question: &str) -> ModelCall {
    ModelCall {
        prepared: PreparedConversation {
            system: "Answer.".into(),
            turns: vec![Arc::new(PreparedTurn {
                role: Role::User,
                blocks: vec![Block::Text(question.into())],
                n_stable: 1,
            })],
            ..PreparedConversation::default()
        },
        sampling: Sampling {
            temperature: 0.0,
            top_p: 1.0,
            top_k: None,
            min_p: None,
            presence_penalty: None,
            repetition_penalty: 1.1,
            repetition_context_size: 64,
        },
        options: CallOptions { max_tokens: Some(200), ..CallOptions::default() },
    }
}

/// Asks to the end and gives the text.
pub(crate) async fn ask(opened: &Opened, question: &str) -> Result<String, ModelError> {
    let mut chunks = soon(opened.model.call(call(question))).await?;
    let mut text = String::new();
    while let Some(chunk) = soon(chunks.next()).await {
        match chunk? {
            ModelChunk::Text(piece) => text.push_str(&piece),
            ModelChunk::Reading { .. }
            | ModelChunk::Reasoning(_)
            | ModelChunk::ReasoningSignature(_)
            | ModelChunk::RedactedReasoning(_)
            | ModelChunk::ToolCall(_)
            | ModelChunk::End { .. } => (),
        }
    }
    Ok(text)
}

/// A bound on a test that would hang.
pub(crate) async fn soon<F: Future>(future: F) -> F::Output {
    timeout(Duration::from_secs(60), future).await.expect("nothing happened for a minute")
}

/// Written by another process: a file that this one has open for writing, even for a moment, is
/// inherited by whatever another test starts just then, and cannot be run.
fn write_engine(path: &Path, lifeline: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let script = format!(
        r#"#!/bin/sh
case "$1" in
--version) echo "version: fake"; exit ;;
--help) echo "--jinja --cache-ram --swa-full --no-webui"; exit ;;
esac
case "$*" in */lingering.gguf*) sleep 2 & ;; esac
{}="$*" {}={lifeline} exec '{}' --exact fake::fake_llama_server --nocapture
"#,
        fake::ARGUMENTS,
        fake::LIFELINE,
        env::current_exe().unwrap().display(),
    );
    let mut writer = Command::new("sh");
    writer.args(["-c", r#"cat > "$0" && chmod 755 "$0""#]).arg(path).stdin(Stdio::piped());
    let mut writer = writer.spawn().unwrap();
    writer.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success());
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o755);
}
