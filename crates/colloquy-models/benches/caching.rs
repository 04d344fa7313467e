//! What the input of a tool loop costs with the marks of the Anthropic dialect, beside the placement
//! of the original, which marks the first text of the earliest turns, and beside no caching.
//! `cargo xtask bench` prints it.
//!
//! The requests are those that the dialect sends to a scripted server; the bills are the published
//! rules, see [`colloquy_testkit::billing`].
#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::sync::Arc;

use colloquy::ports::{CallOptions, Model, ModelCall, Sampling};
use colloquy_core::{
    block::{Block, ToolCall, ToolResult},
    message::Role,
    prepare::{PreparedConversation, PreparedTurn},
    seat::ModelSpec,
    tool::ToolDefinition,
};
use colloquy_models::anthropic::{Anthropic, Caching, Endpoint};
use colloquy_testkit::{
    billing::{Bill, Cache, MARKS_MAX},
    scripted_server::{Reply, ScriptedServer},
};
use futures::TryStreamExt;
use serde_json::{Map, Value, json};

const N_ROUNDS: usize = 40;
/// Between one request and the next; an entry of the cache lives longer.
const ROUND_MS: i64 = 20_000;
/// What a rule or a result is made of, and how often it comes in one.
const SENTENCE: &str = "The zebra crossed the river before the rain came and did not look back. ";
const SYSTEM_SENTENCES: usize = 100;
const RESULT_SENTENCES: usize = 30;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    println!("caching, the input of a tool loop of {N_ROUNDS} rounds in the price of plain tokens");
    for n_calls in [1, 12] {
        let requests = requests(n_calls).await;
        let original: Vec<Value> = requests.iter().map(marked_as_the_original).collect();
        let unmarked: Vec<Value> = requests.iter().map(without_marks).collect();
        let none = billed(&unmarked).cost();
        println!("  calls in a round: {n_calls}");
        let placements = [("colloquy", &requests), ("original", &original), ("no caching", &unmarked)];
        for (name, requests) in placements {
            let bill = billed(requests);
            let Bill { plain_tokens, written_tokens, read_tokens } = bill;
            println!(
                "    {name:<10} {:>9.0}  {:>5.1} %  plain {plain_tokens:>8}  written {written_tokens:>8}  read {read_tokens:>8}",
                bill.cost(),
                100.0 * bill.cost() / none,
            );
        }
    }
}

fn billed(requests: &[Value]) -> Bill {
    let mut cache = Cache::default();
    let at = (0..).step_by(ROUND_MS as usize);
    let bills = requests.iter().zip(at).map(|(request, at)| cache.bill(request, at));
    bills.map(|bill| bill.expect("the provider takes the marks")).sum()
}

/// The bodies of the requests of a loop that calls so many tools in each round.
async fn requests(n_calls: usize) -> Vec<Value> {
    let server = ScriptedServer::always(Reply::answer("Read on."), 0).await.expect("a free port");
    let endpoint = Endpoint {
        base_url: server.base_url(),
        model: "claude".into(),
        api_key: None,
        caching: Caching::Marks,
        extra: Map::new(),
    };
    let model = Anthropic::new(endpoint, ModelSpec::default()).expect("a client");
    let mut turns = vec![turn(Role::User, vec![Block::Text("What became of the zebra?".into())])];
    for round in 0..=N_ROUNDS {
        let chunks = model.call(call(turns.clone())).await.expect("the server answers");
        chunks.try_collect::<Vec<_>>().await.expect("the answer is whole");
        turns.extend(round_of(round, n_calls));
    }
    let body = |body: Vec<u8>| serde_json::from_slice(&body).expect("a body is JSON");
    server.bodies().into_iter().map(body).collect()
}

fn call(turns: Vec<Arc<PreparedTurn>>) -> ModelCall {
    let schema = r#"{"type":"object","properties":{"page":{"type":"integer"}},"required":["page"]}"#;
    let read_page = ToolDefinition {
        name: "read_page".into(),
        description: "Reads a page of the book.".into(),
        schema: Some(schema.into()),
    };
    ModelCall {
        prepared: PreparedConversation {
            system: SENTENCE.repeat(SYSTEM_SENTENCES),
            cache_system: true,
            palette: vec![read_page],
            turns,
            ..PreparedConversation::default()
        },
        sampling: Sampling {
            temperature: 0.7,
            top_p: 1.0,
            top_k: None,
            min_p: None,
            presence_penalty: None,
            repetition_penalty: 1.0,
            repetition_context_size: 0,
        },
        options: CallOptions::default(),
    }
}

fn round_of(round: usize, n_calls: usize) -> [Arc<PreparedTurn>; 2] {
    let id = |at: usize| format!("call_{round}_{at}");
    let calls = (0..n_calls).map(|at| {
        let input = json!({"page": round * n_calls + at}).to_string();
        Block::ToolCall(ToolCall { id: id(at), name: "read_page".into(), input })
    });
    let said = std::iter::once(Block::Text("I read on.".into())).chain(calls).collect();
    let text = SENTENCE.repeat(RESULT_SENTENCES);
    let result = |at| Block::ToolResult(ToolResult { call_id: id(at), text: text.clone(), is_error: false });
    [turn(Role::Assistant, said), turn(Role::User, (0..n_calls).map(result).collect())]
}

fn turn(role: Role, blocks: Vec<Block>) -> Arc<PreparedTurn> {
    Arc::new(PreparedTurn { role, n_stable: blocks.len(), blocks })
}

/// The system's mark, and one on the first text of each turn that has one, until none is left.
fn marked_as_the_original(request: &Value) -> Value {
    let mut request = without_marks(request);
    let last_of_system = blocks_of(&mut request["system"]).last_mut().expect("the loop has a system text");
    mark(last_of_system);
    let first_texts = blocks_of(&mut request["messages"]).iter_mut().filter_map(|message| {
        blocks_of(&mut message["content"]).iter_mut().find(|block| block["type"] == "text")
    });
    first_texts.take(MARKS_MAX - 1).for_each(mark);
    request
}

fn without_marks(request: &Value) -> Value {
    let mut request = request.clone();
    let unmark = |block: &mut Value| {
        block.as_object_mut().expect("a block is an object").remove("cache_control");
    };
    blocks_of(&mut request["system"]).iter_mut().for_each(unmark);
    for message in blocks_of(&mut request["messages"]) {
        blocks_of(&mut message["content"]).iter_mut().for_each(unmark);
    }
    request
}

fn mark(block: &mut Value) {
    block["cache_control"] = json!({"type": "ephemeral"});
}

fn blocks_of(list: &mut Value) -> &mut Vec<Value> {
    list.as_array_mut().expect("a list of blocks")
}
