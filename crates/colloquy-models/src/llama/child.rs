//! One `llama-server` process: started, watched until it is ready, ended.
//!
//! **It never outlives us**, also not when we are killed. The kernel sees to that: the child asks
//! for SIGKILL at the death of its parent (`setpriv --pdeathsig`, of util-linux, because asking
//! from Rust would need unsafe code), and the setting survives the `exec` that follows. Linux
//! counts the death of the *thread* that started it, so a thread of its own starts each child and
//! lives as long as the child does. A parent that died before the request took hold is noticed by
//! comparing its process id. A pipe that closes with the parent was the alternative; it needs a
//! process between the two, which can be killed itself.
//!
//! The child has its own process group: Ctrl-C in a terminal is for us, not for it.

use std::{
    ffi::OsString,
    fmt, io,
    net::TcpListener,
    process::{self, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use colloquy::ports::{IdSource, OsIds};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader},
    process::Command,
    sync::{OnceCell, watch},
    time::timeout,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Plan, probe::Engine, tail::Tail};

mod ready;

pub(crate) use ready::Loaded;

/// Compares the parent's process id, then becomes the engine.
const BECOME_ENGINE: &str = r#"[ "$PPID" = "$0" ] || exit 1; exec "$@""#;
const LINE_BYTES_MAX: u64 = 8 << 10;
/// How long the output is read after the end, for what was still in the pipes.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A running, loading or ended engine. Dropping it ends the process.
pub(crate) struct Child {
    /// Where it listens, up to the root of its OpenAI routes.
    pub(crate) base_url: String,
    /// The key that it asks for.
    pub(crate) api_key: String,
    root_url: String,
    /// Set once the model is ready.
    loaded: OnceCell<Loaded>,
    ended: watch::Receiver<Option<Ended>>,
    end: CancellationToken,
    _end_on_drop: DropGuard,
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the key.
        f.debug_struct("Child").field("root_url", &self.root_url).finish_non_exhaustive()
    }
}

/// How a child ended, for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Ended(pub(crate) String);

impl Child {
    /// Starts a process on a free port of the loopback interface, with a fresh key.
    pub(crate) fn start(engine: &Engine, plan: &Plan) -> io::Result<Self> {
        let port = free_port()?;
        let api_key = hex::encode(OsIds.uid().0);
        let command = command(engine, plan.arguments(port, engine.flags), &api_key);
        let end = CancellationToken::new();
        let (tell_ended, ended) = watch::channel(None);
        let owner = Owner { command, end: end.clone(), tail: Arc::default(), tell_ended };
        thread::Builder::new().name("llama-server".into()).spawn(|| owner.run())?;
        let root_url = format!("http://127.0.0.1:{port}");
        Ok(Self {
            base_url: format!("{root_url}/v1"),
            api_key,
            root_url,
            loaded: OnceCell::new(),
            ended,
            _end_on_drop: end.clone().drop_guard(),
            end,
        })
    }

    /// What the engine said of its model, once that is loaded.
    pub(crate) fn loaded(&self) -> Option<Loaded> {
        self.loaded.get().copied()
    }

    /// Whether the process has ended or was told to. Whoever told it may have been dropped before
    /// it was gone, so one that is ending still runs, and is of no use to a new turn.
    pub(crate) fn is_ending(&self) -> bool {
        self.end.is_cancelled() || self.ended.borrow().is_some()
    }

    /// Waits until the process has ended by itself or was ended.
    pub(crate) async fn ended(&self) -> Ended {
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(how)) => how.clone(),
            // The owner always says how; without it there is no process either.
            Ok(None) | Err(_) => Ended("llama-server has ended".into()),
        }
    }

    /// Kills the process and waits until it is gone. It has nothing to save.
    pub(crate) async fn end(&self) {
        self.end.cancel();
        self.ended().await;
    }
}

/// The kernel's pick. Another program could take it before the child does, which then ends, and
/// the next turn tries another.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn command(engine: &Engine, arguments: Vec<OsString>, api_key: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "sh", "-c", BECOME_ENGINE]);
    command.arg(process::id().to_string()).arg(&engine.path).args(arguments);
    // Variables of this prefix would change where it listens, what it loads and what it logs.
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"LLAMA_") {
            command.env_remove(name);
        }
    }
    // In the environment, since a command line shows in every list of processes.
    command.env("LLAMA_API_KEY", api_key);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true);
    command
}

/// The thread that starts the process, and ends when it does.
struct Owner {
    command: Command,
    end: CancellationToken,
    tail: Arc<Tail>,
    tell_ended: watch::Sender<Option<Ended>>,
}

impl Owner {
    fn run(self) {
        let Self { command, end, tail, tell_ended } = self;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let how = match runtime {
            Ok(runtime) => runtime.block_on(live(command, &end, &tail)),
            Err(error) => format!("no thread can watch llama-server: {error}"),
        };
        let asked_for = end.is_cancelled();
        tracing::info!(target: "llama_server", asked_for, "{}", how.lines().next().unwrap_or_default());
        tell_ended.send_replace(Some(Ended(how)));
    }
}

/// Runs the process to its end and says how it ended.
async fn live(mut command: Command, end: &CancellationToken, tail: &Tail) -> String {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return "llama-server is started by `setpriv`, which is missing: apt-get install util-linux"
                .into();
        }
        Err(error) => return format!("llama-server could not be started: {error}"),
    };
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let reading = async { tokio::join!(read_lines(stdout, tail), read_lines(stderr, tail)) };
    tokio::pin!(reading);
    let ending = async {
        tokio::select! {
            status = child.wait() => status,
            () = end.cancelled() => {
                child.start_kill()?;
                child.wait().await
            }
        }
    };
    tokio::pin!(ending);
    let status = tokio::select! {
        status = &mut ending => {
            // What holds the pipes open now is no child of ours.
            let _ = timeout(LAST_WORDS, reading).await;
            status
        }
        _ = &mut reading => ending.await,
    };
    let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
    format!("llama-server ended with {status}\n{}", tail.text()).trim_end().to_owned()
}

/// Writes every line to the log and to the tail. The engine logs numbers, never texts of messages.
async fn read_lines(output: Option<impl AsyncRead + Unpin>, tail: &Tail) {
    let Some(output) = output else { return };
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut output).take(LINE_BYTES_MAX).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let text = String::from_utf8_lossy(&line);
                let text = text.trim_end();
                tracing::info!(target: "llama_server", "{text}");
                tail.push(text);
            }
        }
    }
}
