//! A data folder of its own, and the binary run on it.

use std::{
    path::{Path, PathBuf},
    process::{Output, Stdio},
    time::Duration,
};

use colloquy_testkit::scripted_server::ScriptedServer;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

/// Longer than anything may take; a test that waits for it fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// One home with one data folder.
pub(crate) struct Place {
    home: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { home: tempfile::tempdir().expect("a temporary home"), variables: Vec::new() }
    }

    /// A place whose default model is the scripted server.
    pub(crate) async fn with_model(server: &ScriptedServer) -> Self {
        let place = Self::new();
        place.add_model(server).await;
        place
    }

    pub(crate) async fn add_model(&self, server: &ScriptedServer) {
        let url = server.base_url();
        let line = ["models", "add", "--base-url", &url, "--model", "scripted", "--window", "8192"];
        self.run(&line).await.succeeds();
    }

    /// Sets a variable for every command that is run here from now on.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.home.path().join("data")
    }

    /// Writes a file into the data folder.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::create_dir_all(self.data_dir()).expect("the data folder");
        std::fs::write(self.data_dir().join(name), bytes).expect("a file in the data folder");
    }

    /// The binary with these arguments.
    pub(crate) fn command(&self, line: &[&str]) -> Command {
        self.other(env!("CARGO_BIN_EXE_colloquy"), line)
    }

    /// Any program, with nothing of the developer's own environment in it.
    pub(crate) fn other(&self, program: &str, line: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(line)
            .current_dir(self.home.path())
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.home.path())
            .env("COLLOQUY_DATA_DIR", self.data_dir())
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    pub(crate) async fn run(&self, line: &[&str]) -> Ran {
        let output = tokio::time::timeout(PATIENCE, self.command(line).output()).await;
        Ran::new(line, output.expect("a command that ends").expect("a command that starts"))
    }

    pub(crate) async fn run_with_stdin(&self, line: &[&str], stdin: &str) -> Ran {
        let mut child = self.command(line).stdin(Stdio::piped()).spawn().expect("a command that starts");
        let mut pipe = child.stdin.take().expect("a piped stdin");
        pipe.write_all(stdin.as_bytes()).await.expect("a command that reads");
        drop(pipe);
        let output = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
        Ran::new(line, output.expect("a command that ends").expect("its output"))
    }

    /// Starts `serve` on a free port and waits until it is ready.
    pub(crate) async fn serve(&self) -> Served {
        self.serve_with(&["--port", "0"]).await
    }

    pub(crate) async fn serve_with(&self, flags: &[&str]) -> Served {
        let line = [&["serve"], flags].concat();
        let child = self.command(&line).spawn().expect("a server that starts");
        Served::ready(child).await
    }

    /// Runs a command and reads its stdout as JSON.
    pub(crate) async fn json(&self, line: &[&str]) -> serde_json::Value {
        let ran = self.run(line).await;
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error} in {ran:?}"))
    }
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ran {
    #[expect(dead_code, reason = "read by people, in the message of a failed assertion")]
    line: String,
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    fn new(line: &[&str], output: Output) -> Self {
        Self {
            line: line.join(" "),
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("text on stdout"),
            stderr: String::from_utf8(output.stderr).expect("text on stderr"),
        }
    }

    #[track_caller]
    pub(crate) fn succeeds(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// Asserts the exit code, and that stderr says all of `words`.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is not in {self:?}");
        }
        self
    }
}

/// A running server; killed when it is dropped.
pub(crate) struct Served {
    child: Child,
    /// What it printed when it was ready.
    pub(crate) ready: String,
    stdout: Lines<BufReader<ChildStdout>>,
}

impl Served {
    async fn ready(mut child: Child) -> Self {
        let mut stdout = BufReader::new(child.stdout.take().expect("a piped stdout")).lines();
        let line =
            tokio::time::timeout(PATIENCE, stdout.next_line()).await.expect("a server that gets ready");
        let Some(ready) = line.expect("a readable stdout") else {
            let output = child.wait_with_output().await.expect("its output");
            panic!("the server ended: {}", String::from_utf8_lossy(&output.stderr));
        };
        Self { child, ready, stdout }
    }

    pub(crate) fn url(&self) -> &str {
        self.ready.strip_prefix("listening on ").expect("the ready line")
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id().expect("a running server")
    }

    pub(crate) async fn kill(mut self) {
        self.child.kill().await.expect("a killed server");
    }

    /// Sends SIGTERM and waits for the end.
    pub(crate) async fn terminate(mut self) -> Ended {
        signal(self.pid(), "TERM").await;
        let started = tokio::time::Instant::now();
        let status = tokio::time::timeout(PATIENCE, self.child.wait()).await.expect("a server that ends");
        let took = started.elapsed();
        let mut stderr = String::new();
        let mut pipe = self.child.stderr.take().expect("a piped stderr");
        pipe.read_to_string(&mut stderr).await.expect("text on stderr");
        let rest = self.stdout.next_line().await.expect("a readable stdout");
        Ended { code: status.expect("a status").code(), took, more_stdout: rest, stderr }
    }
}

/// How a server ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) took: Duration,
    pub(crate) more_stdout: Option<String>,
    pub(crate) stderr: String,
}

/// Sends a signal by name to one process.
pub(crate) async fn signal(pid: u32, name: &str) {
    let line = format!("kill -{name} {pid}");
    let status = Command::new("sh").args(["-c", &line]).status().await.expect("a shell");
    assert!(status.success(), "{line}");
}

/// The permission bits of a file.
pub(crate) fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).expect("the file").permissions().mode() & 0o777
}
