//! When a child is ready, and with which window.

use std::time::Duration;

use reqwest::Client;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::{Child, Ended};

const POLL_INTERVAL: Duration = Duration::from_millis(50);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

impl Child {
    /// Waits until the model is loaded and gives its window. Dropping the future leaves the child
    /// loading, so that who asks next waits for less.
    pub(crate) async fn ready(&self, client: &Client, limit: Duration) -> Result<u32, Ended> {
        let window = self.window.get_or_try_init(|| async {
            tokio::select! {
                // The end comes first: what answers on the port of an ended child is not the child.
                biased;
                how = self.ended() => Err(how),
                window = timeout(limit, self.poll(client)) => window.unwrap_or_else(|_| {
                    Err(Ended(format!("llama-server was not ready within {} s", limit.as_secs())))
                }),
            }
        });
        window.await.copied()
    }

    async fn poll(&self, client: &Client) -> Result<u32, Ended> {
        while !self.is_healthy(client).await {
            sleep(POLL_INTERVAL).await;
        }
        self.read_window(client).await.map_err(|error| Ended(format!("llama-server's /props: {error}")))
    }

    async fn is_healthy(&self, client: &Client) -> bool {
        let request = client.get(format!("{}/health", self.root_url)).timeout(ANSWER_TIMEOUT);
        request.send().await.is_ok_and(|response| response.status().is_success())
    }

    async fn read_window(&self, client: &Client) -> Result<u32, String> {
        let request = client.get(format!("{}/props", self.root_url)).bearer_auth(&self.api_key);
        let response = request.timeout(ANSWER_TIMEOUT).send().await.map_err(|error| error.to_string())?;
        if !response.status().is_success() {
            return Err(format!("status {}", response.status().as_u16()));
        }
        let body = response.bytes().await.map_err(|error| error.to_string())?;
        window_of(&body).ok_or_else(|| "no window in the answer".into())
    }
}

fn window_of(props: &[u8]) -> Option<u32> {
    let props: Value = serde_json::from_slice(props).ok()?;
    let window = props.pointer("/default_generation_settings/n_ctx")?.as_u64()?;
    u32::try_from(window).ok().filter(|tokens| *tokens > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_the_one_of_a_slot() {
        let props = br#"{"default_generation_settings":{"n_ctx":8192,"params":{}},"total_slots":1}"#;
        assert_eq!(window_of(props), Some(8_192));
        for props in ["{}", "not json", r#"{"default_generation_settings":{"n_ctx":0}}"#] {
            assert_eq!(window_of(props.as_bytes()), None, "{props}");
        }
    }
}
