//! When a child is ready, and what it then says of its model.

use std::time::Duration;

use colloquy_core::seat::ToolWire;
use reqwest::Client;
use serde::Deserialize;
use tokio::time::{sleep, timeout};

use super::{Child, Ended};

const POLL_INTERVAL: Duration = Duration::from_millis(50);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// What an engine says of the model it has loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Loaded {
    /// The window of its one slot.
    pub(crate) window_tokens: u32,
    /// Whether the model's template can render tools. The engine drops them silently where it
    /// cannot, so a template of which nothing is said is taken for one that cannot.
    pub(crate) tools: ToolWire,
}

impl Child {
    /// Waits until the model is loaded and says what it is. Dropping the future leaves the child
    /// loading, so that who asks next waits for less.
    pub(crate) async fn ready(&self, client: &Client, limit: Duration) -> Result<Loaded, Ended> {
        let loaded = self.loaded.get_or_try_init(|| async {
            tokio::select! {
                // The end comes first: what answers on the port of an ended child is not the child.
                biased;
                how = self.ended() => Err(how),
                loaded = timeout(limit, self.poll(client)) => loaded.unwrap_or_else(|_| {
                    Err(Ended(format!("llama-server was not ready within {} s", limit.as_secs())))
                }),
            }
        });
        loaded.await.copied()
    }

    async fn poll(&self, client: &Client) -> Result<Loaded, Ended> {
        while !self.is_healthy(client).await {
            sleep(POLL_INTERVAL).await;
        }
        self.read_props(client).await.map_err(|error| Ended(format!("llama-server's /props: {error}")))
    }

    async fn is_healthy(&self, client: &Client) -> bool {
        let request = client.get(format!("{}/health", self.root_url)).timeout(ANSWER_TIMEOUT);
        request.send().await.is_ok_and(|response| response.status().is_success())
    }

    async fn read_props(&self, client: &Client) -> Result<Loaded, String> {
        let request = client.get(format!("{}/props", self.root_url)).bearer_auth(&self.api_key);
        let response = request.timeout(ANSWER_TIMEOUT).send().await.map_err(|error| error.to_string())?;
        if !response.status().is_success() {
            return Err(format!("status {}", response.status().as_u16()));
        }
        let body = response.bytes().await.map_err(|error| error.to_string())?;
        loaded(&body).ok_or_else(|| "no window in the answer".into())
    }
}

#[derive(Deserialize)]
struct Props {
    default_generation_settings: Settings,
    #[serde(default)]
    chat_template_caps: TemplateCaps,
}

#[derive(Deserialize)]
struct Settings {
    n_ctx: u32,
}

#[derive(Deserialize, Default)]
struct TemplateCaps {
    #[serde(default)]
    supports_tools: bool,
}

fn loaded(props: &[u8]) -> Option<Loaded> {
    let props: Props = serde_json::from_slice(props).ok()?;
    let window_tokens = Some(props.default_generation_settings.n_ctx).filter(|tokens| *tokens > 0)?;
    let tools = if props.chat_template_caps.supports_tools { ToolWire::Native } else { ToolWire::Text };
    Some(Loaded { window_tokens, tools })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_the_one_of_a_slot_and_tools_are_native_where_the_template_has_them() {
        let cases = [
            ("", ToolWire::Text),
            (r#","chat_template_caps":{"supports_tools":false}"#, ToolWire::Text),
            (r#","chat_template_caps":{"supports_tools":true,"supports_tool_calls":true}"#, ToolWire::Native),
        ];
        for (caps, tools) in cases {
            let props = format!(r#"{{"default_generation_settings":{{"n_ctx":8192,"params":{{}}}}{caps}}}"#);
            assert_eq!(loaded(props.as_bytes()), Some(Loaded { window_tokens: 8_192, tools }), "{caps}");
        }
    }

    #[test]
    fn an_answer_without_a_window_is_not_believed() {
        for props in ["{}", "not json", r#"{"default_generation_settings":{"n_ctx":0}}"#] {
            assert_eq!(loaded(props.as_bytes()), None, "{props}");
        }
    }
}
