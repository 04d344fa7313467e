//! What the server adds to a model: the same answer through Colloquy and straight from the
//! scripted model, in turn, so that both see the same machine.

use std::time::Duration;

use colloquy_models::client::HttpClients;
use colloquy_testkit::scripted_server::{Reply, ScriptedServer};
use serde_json::{Value, json};

use crate::{
    host::{Timed, timed},
    start::Server,
    table::{Table, median},
};

const N_WORDS: usize = 2_000;

pub(crate) fn measure(table: &mut Table) {
    // The first event has nothing to do with what follows it: short answers keep the pairs close
    // together, so that both sides meet the machine awake. 500 words a second is faster than any
    // model here; unpaced shows our own work per piece, and what a pause adds to the first event.
    let short = pairs(20, Duration::ZERO, 101);
    let paced = pairs(N_WORDS, Duration::from_millis(2), 7);
    let first = |timed: &[Timed]| median(&timed.iter().map(|timed| timed.first_ms).collect::<Vec<_>>());
    let whole = |timed: &[Timed]| median(&timed.iter().map(|timed| timed.whole_ms).collect::<Vec<_>>());
    let unpaced = pairs(N_WORDS, Duration::ZERO, 41);
    let added = |(through, straight): &(Vec<Timed>, Vec<Timed>)| first(through) - first(straight);
    let told = |(through, straight): &(Vec<Timed>, Vec<Timed>)| {
        (format!("{:.2} ms", first(through)), format!("{:.2} ms straight", first(straight)))
    };
    let value = format!("{:+.2} ms", added(&short));
    let holds = added(&short) <= 2.0;
    table.row("first event through the server (101 pairs)", told(&short), (value, "+2 ms".into()), holds);
    // Each hand-over between threads then wakes a sleeping core, on a virtual machine slowly.
    let value = format!("{:+.2} ms", added(&unpaced));
    let figure = "the same after 0.1 s of idleness (41 pairs)";
    table.row(figure, told(&unpaced), (value, "none".into()), true);
    table.ratio(
        "2,000 words, 500 a second (7 pairs)",
        (format!("{:.0} ms", whole(&paced.0)), format!("{:.0} ms straight", whole(&paced.1))),
        whole(&paced.0) / whole(&paced.1),
        1.05,
    );
    let per_word_us = (whole(&unpaced.0) - whole(&unpaced.1)) * 1000.0 / N_WORDS as f64;
    table.row(
        "2,000 words, as fast as they come",
        (format!("{:.1} ms", whole(&unpaced.0)), format!("{:.1} ms straight", whole(&unpaced.1))),
        (format!("{per_word_us:+.1} us a word"), "+100 us a word".into()),
        per_word_us <= 100.0,
    );
}

/// Times through the real binary, a process of its own, and straight.
fn pairs(n_words: usize, gap: Duration, n_pairs: usize) -> (Vec<Timed>, Vec<Timed>) {
    let model = runtime();
    let scripted = model.block_on(ScriptedServer::always(Reply::words(n_words).every(gap), 0)).unwrap();
    let base_url = scripted.base_url().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let straight_url = format!("{base_url}/chat/completions");
    let straight_body = json!({
        "messages": [{"role": "system", "content": "You are helpful."}, {"role": "user", "content": "Go."}],
        "model": "scripted", "stream": true, "stream_options": {"include_usage": true},
    });
    let client = HttpClients::new().unwrap().for_url(&base_url).unwrap();
    let (mut through, mut straight) = (Vec::new(), Vec::new());
    runtime().block_on(async {
        let llm = json!({
            "name": "scripted", "engine": "openai", "base_url": base_url, "model": "scripted",
            "context_window": 8192,
        });
        post(&client, &server.url("/erudi/llms"), &llm).await;
        for n in 0..=n_pairs {
            // A fresh thread, so that both requests have the same size.
            let conversation = post(&client, &server.url("/erudi/conversations"), &json!({})).await;
            let query = server.url(&format!("/erudi/conversations/{}/query", conversation["id"]));
            let question = json!({"question": "Go."});
            let (ours, lines) = timed(&client, &query, &question, r#""answer""#).await;
            assert!(lines.contains(&format!("word{n_words}")), "the answer is whole");
            let (theirs, _) = timed(&client, &straight_url, &straight_body, "word1").await;
            // The first pair opens connections and files.
            if n > 0 {
                through.push(ours);
                straight.push(theirs);
            }
        }
    });
    (through, straight)
}

async fn post(client: &reqwest::Client, url: &str, body: &Value) -> Value {
    let request = client.post(url).header("content-type", "application/json").body(body.to_string());
    let response = request.send().await.unwrap();
    assert!(response.status().is_success(), "{}", response.status());
    serde_json::from_slice(&response.bytes().await.unwrap()).unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}
