//! `serve`: one process that owns the data folder and answers HTTP until it is told to end.
//!
//! The order matters. Lock, then recovery, then listening: nobody is served a conversation whose
//! dead turn is not closed. At the end: stop accepting, close the running turns so that their
//! streams end, let the connections finish, end the engine; all of it within ten seconds.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    process::Stdio,
    time::Duration,
};

use axum::serve::ListenerExt;
use clap::Args;
use serde_json::json;
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
};
use tokio_util::sync::CancellationToken;

use super::{CliError, output};
use crate::{
    assembly::Assembly,
    config::{self, Config, FIRST_PORT, HttpConfig, LAST_PORT, Port},
    data_dir::{DataDir, LockError, ServerNote},
    logging,
};

/// How long running turns and the engine may take to end.
const CLOSING: Duration = Duration::from_secs(8);
/// How long connections may take after that.
const DRAINING: Duration = Duration::from_secs(1);

/// Serve the web page and the HTTP API.
///
/// When it is ready it prints one line, `listening on http://…`, to stdout. It ends on Ctrl-C or
/// SIGTERM, closing what runs; a second signal ends it at once.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  colloquy serve
  colloquy serve --open
  colloquy serve --port 8080 --data-dir /srv/colloquy
  COLLOQUY_TOKEN=a-long-secret colloquy serve --host 0.0.0.0")]
pub(super) struct Arguments {
    /// Open the page in a browser
    #[arg(long)]
    open: bool,
    /// Print the ready line as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: Arguments, config: &Config) -> Result<(), CliError> {
    refuse_open_door(&config.http)?;
    let data_dir = DataDir::at(&config.data_dir);
    data_dir.create().map_err(|source| CliError::caused("create the data folder", source))?;
    let lock = data_dir.lock().map_err(|error| match error {
        LockError::Held(holder) => CliError::Failed(format!(
            "{} is in use by {holder}; use that one, or another folder with --data-dir",
            config.data_dir.display()
        )),
        LockError::Io(source) => CliError::caused("lock the data folder", source),
    })?;
    logging::start(Some(&data_dir)).map_err(|source| CliError::caused("start", source))?;
    let mut signals = Signals::new().map_err(|source| CliError::caused("listen to signals", source))?;

    // Bound before the slower rest, so that a taken port is told without touching anything.
    let listener = bind(&config.http).await?;
    let address = listener.local_addr().map_err(|source| CliError::caused("listen", source))?;
    let note = ServerNote {
        pid: std::process::id(),
        url: format!("http://{}", SocketAddr::new(reachable(address.ip()), address.port())),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let assembly = Assembly::open(config, lock)
        .await
        .map_err(|source| CliError::caused("open the data folder", source))?;
    let router = assembly.router(config, Some(address));
    let published = data_dir
        .publish(assembly.lock(), &note)
        .map_err(|source| CliError::caused("write server.json", source))?;

    let ending = CancellationToken::new();
    let listener = listener.tap_io(|connection| {
        // Each event is a small packet of its own and must not wait for the next one.
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "a connection keeps its delay");
        }
    });
    let serving = axum::serve(listener, router).with_graceful_shutdown(ending.clone().cancelled_owned());
    let mut serving = std::pin::pin!(serving.into_future());
    if let Err(error) = announce(&arguments, &note, address, config) {
        // Whoever waits for the line would wait for ever.
        assembly.close().await;
        return Err(error);
    }
    match assembly.notice().await {
        Ok(notice) => notice.iter().for_each(|notice| output::note(notice)),
        Err(error) => tracing::warn!(error = &error as &dyn std::error::Error, "the models cannot be read"),
    }

    tokio::select! {
        result = &mut serving => return result.map_err(|source| CliError::caused("serve", source)),
        () = signals.next() => {}
    }
    output::note("ending: closing what runs (once more to end at once)");
    let closing = async {
        ending.cancel();
        let closing = tokio::time::timeout(CLOSING, assembly.close());
        let draining = async { tokio::time::timeout(CLOSING + DRAINING, serving).await };
        let (closed, _) = tokio::join!(closing, draining);
        closed.is_ok()
    };
    let closed = tokio::select! {
        closed = closing => closed,
        () = signals.next() => return Err(CliError::Interrupted),
    };
    drop(published);
    if !closed {
        return Err(CliError::Failed("not everything ended in time; the next start closes the rest".into()));
    }
    Ok(())
}

/// An address that others reach needs a token: on loopback the machine's user is the boundary,
/// beyond it there is none.
fn refuse_open_door(http: &HttpConfig) -> Result<(), CliError> {
    if http.host.is_loopback() || http.token.is_some() {
        return Ok(());
    }
    Err(CliError::Usage(format!(
        "{} can be reached by others, who could read and change everything; set COLLOQUY_TOKEN (or --token) \
         to a secret that every client then has to show, or listen on 127.0.0.1",
        http.host
    )))
}

async fn bind(http: &HttpConfig) -> Result<TcpListener, CliError> {
    let ports = match http.port {
        Port::Exactly(port) => port..=port,
        Port::FirstFree => FIRST_PORT..=LAST_PORT,
    };
    for port in ports.clone() {
        match TcpListener::bind((http.host, port)).await {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(source) => return Err(CliError::caused(format!("listen on {}:{port}", http.host), source)),
        }
    }
    Err(CliError::Failed(match http.port {
        Port::Exactly(port) => {
            format!("port {port} is taken by another program; choose another, or leave --port out")
        }
        Port::FirstFree => {
            format!("the ports {FIRST_PORT} to {LAST_PORT} are all taken; name a free one with --port")
        }
    }))
}

/// The address under which this machine reaches a server bound to `ip`.
fn reachable(ip: IpAddr) -> IpAddr {
    if ip.is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { ip }
}

fn announce(
    arguments: &Arguments,
    note: &ServerNote,
    address: SocketAddr,
    config: &Config,
) -> Result<(), CliError> {
    let url = format!("http://{address}");
    if arguments.json {
        let line = json!({ "url": url, "version": note.version, "data_dir": config.data_dir });
        output::print_json_text(&format!("{line}\n"))?;
    } else {
        output::print(&format!("listening on {url}\n"))?;
    }
    tracing::info!(url, pid = note.pid, version = note.version, "serving");
    if arguments.open {
        open_browser(&note.url);
    }
    Ok(())
}

/// Opens the page where there is a display. A machine without one, or without a browser, still
/// has the line with the address.
fn open_browser(url: &str) {
    if !config::has_display() {
        output::note(&format!("there is no display here; open {url} in a browser"));
        return;
    }
    let opened = std::process::Command::new("xdg-open")
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Err(error) = opened {
        output::note(&format!("open {url} in a browser (none could be started: {error})"));
    }
}

/// SIGTERM and Ctrl-C, which mean the same here.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
