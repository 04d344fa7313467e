use std::sync::Arc;

use colloquy::ports::{CallOptions, ModelCall, Sampling};
use colloquy_core::{
    block::{Block, File, Skill, ToolCall, ToolResult},
    message::Role,
    prepare::{PreparedConversation, PreparedTurn},
    seat::Thinking,
    tool::ToolDefinition,
};
use serde_json::{Value, json};

use super::{Takes, body};
use crate::golden;

fn turn(role: Role, blocks: Vec<Block>) -> Arc<PreparedTurn> {
    let n_stable = blocks.len();
    Arc::new(PreparedTurn { role, blocks, n_stable })
}

fn user(text: &str) -> Arc<PreparedTurn> {
    turn(Role::User, vec![Block::Text(text.into())])
}

fn tool(name: &str) -> ToolDefinition {
    ToolDefinition { name: name.into(), description: "Does it.".into(), schema: None }
}

fn model_call(turns: Vec<Arc<PreparedTurn>>) -> ModelCall {
    let prepared = PreparedConversation { turns, ..PreparedConversation::default() };
    ModelCall { prepared, options: CallOptions::default(), ..golden::call([]) }
}

fn encode_taking(call: &ModelCall, takes: Takes) -> Value {
    serde_json::from_slice(&body(call, takes).body).unwrap()
}

fn encode(call: &ModelCall) -> Value {
    encode_taking(call, Takes::Both)
}

#[test]
fn the_nine_requests_are_as_reviewed() {
    for (name, call) in golden::all() {
        insta::assert_snapshot!(name.replace(' ', "_"), golden::readable(&body(&call, Takes::Both).body));
    }
}

// behaviours: 199
#[test]
fn the_text_forms_of_the_palette_are_one_system_block_behind_the_skills_and_the_system_text() {
    let mut call = model_call(vec![user("Look.")]);
    call.prepared.skills =
        vec![Skill { name: "a".into(), description: "When it rains.".into(), body: "Do so.".into() }];
    call.prepared.system = "Be kind.".into();
    call.prepared.palette = vec![tool("search"), tool("fetch")];
    let body = encode(&call);
    assert_eq!(
        body["system"],
        json!([
            {"text": "[Skill: a]\nWhen it rains.\n\nDo so."},
            {"text": "Be kind."},
            {"text": "Available tools:\n\nsearch: Does it.\n\nfetch: Does it."},
        ])
    );
    assert_eq!(body["toolConfig"], Value::Null);
    assert_eq!(body.to_string().matches("search: Does it.").count(), 1);
}

#[test]
fn without_a_head_there_is_no_system_member() {
    assert_eq!(encode(&model_call(vec![user("Look.")]))["system"], Value::Null);
}

// behaviours: 200
#[test]
fn calls_and_results_are_text_where_they_stand() {
    let call = ToolCall { id: "id1".into(), name: "search".into(), input: r#"{"q":"x"}"#.into() };
    let result = ToolResult { call_id: "id1".into(), text: r#"{"n":1}"#.into(), is_error: false };
    let body = encode(&model_call(vec![
        user("Look."),
        turn(Role::Assistant, vec![Block::Text("I look.".into()), Block::ToolCall(call)]),
        turn(Role::User, vec![Block::ToolResult(result), Block::ToolDefinition(tool("late"))]),
    ]));
    assert_eq!(
        body["messages"],
        json!([
            {"role": "user", "content": [{"text": "Look."}]},
            {"role": "assistant", "content": [{"text": "I look."}, {"text": "[Tool Use search] {\"q\":\"x\"}"}]},
            {"role": "user", "content": [{"text": "[Tool Result id1] {\"n\":1}"}, {"text": "late: Does it."}]},
        ])
    );
}

#[test]
fn turns_of_one_role_are_one_message_whose_blocks_stay_apart() {
    let body = encode(&model_call(vec![
        user("one"),
        user("two"),
        turn(Role::Assistant, vec![Block::reasoning("unsigned")]),
        user("three"),
        turn(Role::Assistant, vec![Block::Text("four".into())]),
    ]));
    assert_eq!(
        body["messages"],
        json!([
            {"role": "user", "content": [{"text": "one"}, {"text": "two"}, {"text": "three"}]},
            {"role": "assistant", "content": [{"text": "four"}]},
        ])
    );
}

#[test]
fn names_of_documents_are_unique_over_the_whole_request() {
    let csv = |text: &str| {
        let file = File { media_type: "text/csv".into(), bytes: Arc::from(*b"a"), name: "a.csv".into() };
        turn(Role::User, vec![Block::Text(text.into()), Block::File(file)])
    };
    let call =
        model_call(vec![csv("one"), turn(Role::Assistant, vec![Block::Text("two".into())]), csv("three")]);
    let body = encode(&call);
    let name = |message: usize| body["messages"][message]["content"][1]["document"]["name"].as_str().unwrap();
    assert_eq!((name(0), name(2)), ("a csv", "a csv 2"));
}

// behaviours: 152
#[test]
fn the_token_limit_is_the_number_that_was_reserved() {
    let mut call = model_call(vec![user("Look.")]);
    assert_eq!(encode(&call)["inferenceConfig"]["maxTokens"], Value::Null);
    for reserve in [1, 24_192, u32::MAX] {
        call.options.max_tokens = Some(reserve);
        assert_eq!(encode(&call)["inferenceConfig"]["maxTokens"], json!(reserve));
    }
}

#[test]
fn sampling_is_what_the_model_takes() {
    let mut call = model_call(vec![user("Look.")]);
    assert_eq!(encode(&call)["inferenceConfig"], json!({"temperature": 0.7, "topP": 0.95}));
    assert_eq!(encode_taking(&call, Takes::Temperature)["inferenceConfig"], json!({"temperature": 0.7}));
    assert_eq!(encode_taking(&call, Takes::NoSampling)["inferenceConfig"], json!({}));
    call.sampling = Sampling { temperature: 1.3, top_p: 1.0, ..call.sampling };
    assert_eq!(encode(&call)["inferenceConfig"], json!({"temperature": 1.0}));
}

#[test]
fn thinking_is_asked_for_in_the_words_of_the_models_own_provider() {
    fn check(thinking: Thinking, fields: Value, is_sampled: bool) {
        let mut call = model_call(vec![user("Look.")]);
        call.options.thinking = thinking;
        let body = encode(&call);
        assert_eq!(body["additionalModelRequestFields"], fields);
        assert_eq!(body["inferenceConfig"]["temperature"].is_number(), is_sampled, "{thinking:?}");
    }
    check(Thinking::Unset, Value::Null, true);
    check(Thinking::Off, Value::Null, true);
    check(Thinking::Effort { effort: "low" }, json!({"reasoning_effort": "low"}), true);
    let budget = json!({"thinking": {"type": "enabled", "budget_tokens": 2_048}});
    check(Thinking::Budget { tokens: 2_048 }, budget, false);
    let adaptive = json!({
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": "high"},
    });
    check(Thinking::Adaptive { effort: "high" }, adaptive, false);
}

#[test]
fn a_new_turn_changes_nothing_that_stood_before_it() {
    let turns = [
        user("one"),
        turn(Role::Assistant, vec![Block::Text("two".into())]),
        turn(Role::User, vec![Block::ToolDefinition(tool("late"))]),
        user("three"),
        turn(Role::Assistant, vec![Block::Text("four".into())]),
    ];
    let blocks = |n_turns: usize| {
        let body = encode(&model_call(turns[..n_turns].to_vec()));
        let of_message = |message: &Value| {
            let role = message["role"].clone();
            message["content"]
                .as_array()
                .unwrap()
                .iter()
                .map(move |block| (role.clone(), block.clone()))
                .collect()
        };
        let messages: Vec<Vec<(Value, Value)>> =
            body["messages"].as_array().unwrap().iter().map(of_message).collect();
        messages.concat()
    };
    for n_turns in 1..turns.len() {
        assert!(blocks(n_turns + 1).starts_with(&blocks(n_turns)), "after {n_turns} turns");
    }
}
