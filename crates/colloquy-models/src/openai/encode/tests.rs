use colloquy::ports::{CallOptions, ModelCall, Sampling};
use colloquy_core::{
    message::Role,
    prepare::{PreparedConversation, PreparedTurn},
};
use colloquy_testkit::prefix::assert_prefix_stable;
use proptest::prelude::*;

use super::{LimitField, body};
use crate::openai::{Endpoint, Flavor};

fn endpoint(flavor: Flavor) -> Endpoint {
    Endpoint { base_url: "http://localhost/v1".into(), model: "tiny".into(), api_key: None, flavor }
}

fn call(system: &str, texts: &[&str]) -> ModelCall {
    let turns = texts.iter().enumerate().map(|(index, text)| PreparedTurn {
        role: if index % 2 == 0 { Role::User } else { Role::Assistant },
        text: (*text).into(),
    });
    ModelCall {
        prepared: PreparedConversation { system: system.into(), turns: turns.collect() },
        sampling: Sampling {
            temperature: 0.7,
            top_p: 0.95,
            top_k: Some(20),
            min_p: Some(0.05),
            presence_penalty: Some(1.5),
            repetition_penalty: 1.1,
            repetition_context_size: 64,
        },
        options: CallOptions { max_tokens: Some(256), window_tokens: Some(8_192) },
    }
}

/// The request with each member on a line of its own, in the order in which they are sent.
fn readable(body: &[u8]) -> String {
    let mut text = String::from_utf8(body.to_vec()).unwrap();
    for border in [r#"{"messages":"#, r#"{"role""#, r#"],"model""#] {
        text = text.replace(border, &format!("\n{border}"));
    }
    text.trim_start().to_owned()
}

#[test]
fn llama_is_sent_its_own_fields_too() {
    let call = call("Be brief.", &["The capital of \"France\"?", "Paris.\n", "And of Spain?"]);
    insta::assert_snapshot!(readable(&body(&call, &endpoint(Flavor::Llama), LimitField::MaxTokens)), @r#"
    {"messages":[
    {"role":"system","content":"Be brief."},
    {"role":"user","content":"The capital of \"France\"?"},
    {"role":"assistant","content":"Paris.\n"},
    {"role":"user","content":"And of Spain?"}
    ],"model":"tiny","stream":true,"stream_options":{"include_usage":true},"temperature":0.7,"top_p":0.95,"max_tokens":256,"presence_penalty":1.5,"top_k":20,"min_p":0.05,"repeat_penalty":1.1,"repeat_last_n":64,"cache_prompt":true,"return_progress":true}
    "#);
}

#[test]
fn an_unknown_server_is_sent_the_common_fields_only() {
    let call = call("Be brief.", &["Hello"]);
    insta::assert_snapshot!(readable(&body(&call, &endpoint(Flavor::Unknown), LimitField::MaxTokens)), @r#"
    {"messages":[
    {"role":"system","content":"Be brief."},
    {"role":"user","content":"Hello"}
    ],"model":"tiny","stream":true,"stream_options":{"include_usage":true},"temperature":0.7,"top_p":0.95,"max_tokens":256,"presence_penalty":1.5}
    "#);
}

#[test]
fn what_is_not_set_is_not_sent_and_an_empty_system_text_is_no_message() {
    let mut call = call("", &["Hello"]);
    call.options.max_tokens = None;
    call.sampling.presence_penalty = None;
    call.sampling.top_k = None;
    call.sampling.min_p = None;
    insta::assert_snapshot!(readable(&body(&call, &endpoint(Flavor::Llama), LimitField::MaxTokens)), @r#"
    {"messages":[
    {"role":"user","content":"Hello"}
    ],"model":"tiny","stream":true,"stream_options":{"include_usage":true},"temperature":0.7,"top_p":0.95,"repeat_penalty":1.1,"repeat_last_n":64,"cache_prompt":true,"return_progress":true}
    "#);
}

#[test]
fn the_limit_goes_under_one_name_only() {
    let call = call("", &["Hello"]);
    let body = body(&call, &endpoint(Flavor::Unknown), LimitField::MaxCompletionTokens);
    let text = String::from_utf8(body).unwrap();
    assert!(text.contains(r#""max_completion_tokens":256"#) && !text.contains("max_tokens"), "{text}");
}

proptest! {
    /// Invariant I3, as far as it is this module's.
    #[test]
    fn i3_a_longer_branch_keeps_the_bytes_of_a_shorter_one(
        system in ".{0,20}",
        texts in prop::collection::vec(".{0,30}", 1..8),
        temperature in 0.0..2.0,
    ) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let bodies: Vec<Vec<u8>> = (1..=texts.len())
            .map(|n_turns| {
                let mut call = call(&system, &texts[..n_turns]);
                // What follows the messages may change from request to request.
                call.sampling.temperature = temperature / n_turns as f64;
                body(&call, &endpoint(Flavor::Llama), LimitField::MaxTokens)
            })
            .collect();
        assert_prefix_stable(&bodies);
    }
}
