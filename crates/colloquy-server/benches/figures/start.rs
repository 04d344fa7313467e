//! How soon the real binary serves, and what it weighs when nobody talks to it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::table::{Table, median, ms};

const N_STARTS: usize = 9;

pub(crate) fn measure(table: &mut Table) {
    let folder = tempfile::tempdir().unwrap();
    let mut starts = Vec::new();
    let mut megabytes = Vec::new();
    for _ in 0..N_STARTS {
        let (server, started_ms) = start(folder.path());
        starts.push(started_ms);
        settle();
        megabytes.push(resident_kb(server.child.id()) as f64 / 1024.0);
    }
    let bare = median(&(0..N_STARTS).map(|_| bare_ms()).collect::<Vec<_>>());
    table.row(
        "start to /healthz (9 starts)",
        (format!("{:.0} ms", median(&starts)), format!("{bare:.0} ms for `colloquy --version`")),
        (format!("{:.0} ms", median(&starts)), "200 ms".into()),
        median(&starts) <= 200.0,
    );
    table.row(
        "memory of an idle server without a model",
        (format!("{:.1} MB", median(&megabytes)), "the limit".into()),
        (format!("{:.1} MB", median(&megabytes)), "60 MB".into()),
        median(&megabytes) <= 60.0,
    );
}

/// Long enough for whatever the start left to do in the background.
#[expect(clippy::disallowed_methods, reason = "memory at rest has no event to wait for")]
fn settle() {
    std::thread::sleep(Duration::from_millis(500));
}

/// The real binary, serving a folder. Ends with the benchmark, whatever happens.
pub(crate) struct Server {
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Starts it and waits until it says where it listens.
    pub(crate) fn start(folder: &std::path::Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_colloquy"))
            .args(["serve", "--port", "0", "--data-dir"])
            .arg(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        let mut server = Self { child, address: String::new() };
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        server.address = line.trim().rsplit_once("http://").expect("it says where it listens").1.to_owned();
        server
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

/// Starts a server and waits until it is healthy.
fn start(folder: &std::path::Path) -> (Server, f64) {
    let started = Instant::now();
    let server = Server::start(folder);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let host = &server.address;
    write!(stream, "GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    (server, ms(started.elapsed()))
}

fn bare_ms() -> f64 {
    let started = Instant::now();
    let status = Command::new(env!("CARGO_BIN_EXE_colloquy")).arg("--version").stdout(Stdio::null()).status();
    assert!(status.unwrap().success());
    ms(started.elapsed())
}

fn resident_kb(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
