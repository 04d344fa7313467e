//! The real engine and SmolLM2, from the cache folder that `setup` fills. Their absence is a
//! failure that names the command, not a skipped test.

use std::{
    env,
    io::{self, Write},
    path::PathBuf,
    sync::OnceLock,
    time::Instant,
};

use colloquy::ports::{LlmRow, ModelChunk, Models, Opened};
use colloquy_core::control_tokens::ControlTokens;
use colloquy_models::{
    engines::{Engines, EnginesConfig},
    gguf, llama,
};
use futures::StreamExt;
use tokio::sync::watch;

use crate::stage::{ask, call, llama as llama_row, open, soon};

pub(crate) const MODEL: &str = "models/SmolLM2-135M-Instruct.Q4_1.gguf";

fn cache() -> PathBuf {
    let folder = |name| env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    folder("COLLOQUY_CACHE_DIR")
        .or_else(|| Some(folder("XDG_CACHE_HOME")?.join("colloquy")))
        .or_else(|| Some(folder("HOME")?.join(".cache/colloquy")))
        .expect("HOME is set")
}

pub(crate) fn installed(name: &str) -> PathBuf {
    let path = cache().join(name);
    let hint = "cargo run -p colloquy-server -- setup";
    assert!(path.is_file(), "{} is missing; run `{hint}`", path.display());
    path
}

fn engines() -> (Engines, LlmRow) {
    let config = EnginesConfig {
        llama_server: Some(installed("engine/llama-server")),
        ..EnginesConfig::new("/nowhere".into())
    };
    (Engines::new(config).unwrap(), llama_row(installed(MODEL)))
}

#[test]
fn the_header_of_the_default_model_is_read() {
    let header = gguf::read(&installed(MODEL)).unwrap();
    assert_eq!(header.architecture.as_deref(), Some("llama"));
    assert_eq!(header.context_length, Some(8_192));
    assert_eq!(header.quantisation, Some("Q4_1"));
    assert!((0.13..0.14).contains(&header.parameters_billions), "{}", header.parameters_billions);
    assert_eq!(header.cache_bytes_per_token, Some(30 * 3 * 128 * 2));
    assert!(!header.sliding_window && header.chat_template.unwrap().contains("<|im_start|>"));
    for token in ["<|im_start|>", "<|im_end|>", "<|endoftext|>"] {
        assert!(header.control_tokens.iter().any(|known| known == token), "{token}");
    }
}

#[tokio::test]
async fn the_engine_says_its_version() {
    let engine = llama::probe(&installed("engine/llama-server")).await.unwrap();
    assert!(!engine.version.is_empty());
}

#[tokio::test]
async fn smollm2_knows_the_capital_of_france() {
    let (engines, model) = engines();
    let opened = open(&engines, &model).await.0.unwrap();
    assert_eq!(opened.spec.context_window, Some(8_192));
    assert!(matches!(*opened.control_tokens, ControlTokens::Vocabulary(_)));
    let answer = ask(&opened, "What is the capital of France?").await.unwrap();
    assert!(answer.contains("Paris"), "{answer}");
    engines.shut_down().await;
}

#[tokio::test]
async fn a_stop_is_heard_while_tokens_flow_and_while_a_prompt_is_read() {
    let mut log = Log::follow();
    let (engines, model) = engines();
    let opened = open(&engines, &model).await.0.unwrap();

    // While tokens flow: at the first one.
    let stopped_at = stop_at(&opened, "Tell a long story of a zebra called Quagga.", |chunk| {
        matches!(chunk, ModelChunk::Text(_))
    });
    let stopped_at = stopped_at.await;
    log.wait_for("cancel task", 1).await;
    let decoding = stopped_at.elapsed();
    assert!(!ask(&opened, "Say yes.").await.unwrap().is_empty());

    // While a prompt is read: at the first report, of some 6,000 tokens.
    let long = "zebra ".repeat(3_000);
    let stopped_at = stop_at(&opened, &long, |chunk| matches!(chunk, ModelChunk::Reading { .. })).await;
    log.wait_for("cancel task", 2).await;
    let reading = stopped_at.elapsed();
    assert!(!ask(&opened, "Say yes.").await.unwrap().is_empty());

    eprintln!("stop heard after {decoding:?} while decoding, {reading:?} while reading");
    assert!(!log.text().to_lowercase().contains("zebra"), "the log holds text of a message");
    engines.shut_down().await;
}

/// Drops the call at the first chunk that `until` picks, and gives the moment.
async fn stop_at(opened: &Opened, question: &str, until: impl Fn(&ModelChunk) -> bool) -> Instant {
    let mut chunks = soon(opened.model.call(call(question))).await.unwrap();
    loop {
        let chunk = soon(chunks.next()).await.expect("the call ended by itself").unwrap();
        assert!(!matches!(chunk, ModelChunk::End { .. }), "the call ended by itself");
        if until(&chunk) {
            return Instant::now();
        }
    }
}

/// Everything that the engines of this process log.
struct Log(watch::Receiver<String>);

impl Log {
    fn follow() -> Self {
        static LINES: OnceLock<watch::Sender<String>> = OnceLock::new();
        let sender = LINES.get_or_init(|| {
            let (sender, _) = watch::channel(String::new());
            let writer = sender.clone();
            let subscriber =
                tracing_subscriber::fmt().with_ansi(false).with_writer(move || LogWriter(writer.clone()));
            subscriber.init();
            sender
        });
        Self(sender.subscribe())
    }

    /// Waits until the log holds `text` for the `n`-th time.
    async fn wait_for(&mut self, text: &str, n: usize) {
        soon(self.0.wait_for(|log| log.matches(text).count() >= n)).await.unwrap();
    }

    fn text(&self) -> String {
        self.0.borrow().clone()
    }
}

struct LogWriter(watch::Sender<String>);

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send_modify(|log| log.push_str(&String::from_utf8_lossy(bytes)));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
