//! HTTP clients for model servers, and the question whether an address answers.
//!
//! Redirects are never followed, so a key goes to the address it was given for and nowhere else.
//! A server on this machine is reached directly, whatever proxy the environment names.

use std::{error::Error, net::IpAddr, sync::OnceLock, time::Duration};

use reqwest::{Client, ClientBuilder, Url, redirect};

/// Below the five seconds after which llama-server and uvicorn close an idle connection, so that
/// no request is sent on a connection that is being closed.
const LOOPBACK_IDLE: Duration = Duration::from_secs(4);
const OUTWARD_IDLE: Duration = Duration::from_secs(60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// One pool of connections for this machine and one for the rest of the world.
#[derive(Debug)]
pub struct HttpClients {
    loopback: Client,
    /// Built on first use: it reads the certificates of the system.
    outward: OnceLock<Client>,
}

/// The HTTP client cannot be set up.
#[derive(Debug, thiserror::Error)]
#[error("failed to set up the HTTP client")]
pub struct HttpClientError(#[from] reqwest::Error);

/// An address that does not answer; the message says why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Unreachable {
    /// What people are told.
    pub reason: String,
}

impl HttpClients {
    /// Sets up the client for this machine.
    pub fn new() -> Result<Self, HttpClientError> {
        // Fails only when the embedding program has installed its own provider, which then is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let loopback = loopback().pool_idle_timeout(LOOPBACK_IDLE).build()?;
        Ok(Self { loopback, outward: OnceLock::new() })
    }

    /// A client for an engine of ours, which keeps no connection: llama-server may close one after
    /// a stream, a request that is sent on it just then is lost, and a call of a local engine is
    /// not tried again. A new connection costs a tenth of a millisecond here.
    pub(crate) fn for_child(&self) -> Result<Client, HttpClientError> {
        Ok(loopback().pool_max_idle_per_host(0).build()?)
    }

    /// The client for a server at `base_url`.
    pub fn for_url(&self, base_url: &str) -> Result<Client, HttpClientError> {
        if is_loopback(base_url) {
            return Ok(self.loopback.clone());
        }
        if let Some(client) = self.outward.get() {
            return Ok(client.clone());
        }
        let client = outward()?;
        Ok(self.outward.get_or_init(|| client).clone())
    }
}

/// Whether anything answers at `base_url`: any HTTP response within `timeout` counts.
pub async fn probe(client: &Client, base_url: &str, timeout: Duration) -> Result<(), Unreachable> {
    let url = parse(base_url)?;
    let url = format!("{}/models", url.as_str().trim_end_matches('/'));
    match client.get(url).timeout(timeout).send().await {
        Ok(_) => Ok(()),
        Err(error) if error.is_timeout() => {
            let reason = format!("no answer from {} within {} s", shown(base_url), timeout.as_secs());
            Err(Unreachable { reason })
        }
        Err(error) => {
            let error = error.without_url();
            let mut innermost: &dyn Error = &error;
            while let Some(cause) = innermost.source() {
                innermost = cause;
            }
            Err(Unreachable { reason: format!("{} does not answer: {innermost}", shown(base_url)) })
        }
    }
}

fn base() -> ClientBuilder {
    Client::builder()
        .redirect(redirect::Policy::none())
        .referer(false)
        .tcp_nodelay(true)
        .connect_timeout(CONNECT_TIMEOUT)
        .user_agent(concat!("colloquy/", env!("CARGO_PKG_VERSION")))
}

/// Without roots a client starts on a machine that has no certificates at all.
fn loopback() -> ClientBuilder {
    base().no_proxy().tls_certs_only([])
}

fn outward() -> Result<Client, HttpClientError> {
    match base().pool_idle_timeout(OUTWARD_IDLE).build() {
        Ok(client) => Ok(client),
        Err(error) => {
            // A machine without certificates can still speak plain HTTP to its own network.
            tracing::warn!(error = &error as &dyn Error, "no certificates found, https will be refused");
            Ok(base().pool_idle_timeout(OUTWARD_IDLE).tls_certs_only([]).build()?)
        }
    }
}

fn parse(base_url: &str) -> Result<Url, Unreachable> {
    let refuse = |why: String| Err(Unreachable { reason: why });
    match Url::parse(base_url) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(url),
        Ok(_) => refuse(format!("{} does not start with http:// or https://", shown(base_url))),
        Err(error) => refuse(format!("{base_url:?} is not an address: {error}")),
    }
}

/// The address without the name and password that it may carry.
fn shown(base_url: &str) -> String {
    let Ok(mut url) = Url::parse(base_url) else { return base_url.to_owned() };
    // Refused only for addresses that cannot carry them.
    let _ = url.set_password(None);
    let _ = url.set_username("");
    url.to_string()
}

fn is_loopback(base_url: &str) -> bool {
    let Ok(url) = Url::parse(base_url) else { return false };
    let Some(host) = url.host_str() else { return false };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests;
