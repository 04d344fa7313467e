use std::sync::Arc;

use colloquy::ports::{ModelCall, ToolChoice};
use colloquy_core::{
    seat::{self, Depth, Layers, ModelSpec, OutputSize, Seat, Thinking, ThinkingMode, ToolWire},
    turn::Failure,
};
use colloquy_testkit::prefix::assert_prefix_stable;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::LimitField;
use crate::{
    golden::{self, all, assistant, readable, text, tool_call, tool_result, user},
    openai::{ChatWire, Endpoint, Flavor},
    wire::Wire,
};

fn endpoint(flavor: Flavor) -> Endpoint {
    Endpoint { flavor, ..Endpoint::new("http://localhost/v1", "tiny") }
}

fn body(call: &ModelCall, flavor: Flavor) -> Vec<u8> {
    body_of(call, flavor, ModelSpec::default())
}

fn body_of(call: &ModelCall, flavor: Flavor, spec: ModelSpec) -> Vec<u8> {
    ChatWire::new(endpoint(flavor), Arc::new(spec)).request(call).unwrap().body
}

fn sent(call: &ModelCall, flavor: Flavor) -> Value {
    serde_json::from_slice(&body(call, flavor)).unwrap()
}

#[test]
fn the_golden_requests_to_llama() {
    for (name, call) in all() {
        insta::assert_snapshot!(
            format!("llama_{}", name.replace(' ', "_")),
            readable(&body(&call, Flavor::Llama))
        );
    }
}

#[test]
fn the_golden_requests_to_openai() {
    let spec = ModelSpec { thinking: ThinkingMode::ReasoningEffort, ..ModelSpec::default() };
    for (name, call) in all() {
        let body = body_of(&call, Flavor::OpenAi, spec.clone());
        insta::assert_snapshot!(format!("openai_{}", name.replace(' ', "_")), readable(&body));
    }
}

#[test]
fn an_unknown_server_is_sent_the_common_fields_only() {
    let mut call = golden::plain();
    call.options.thinking = Thinking::Off;
    let sent = sent(&call, Flavor::Unknown);
    let names: Vec<&str> = sent.as_object().unwrap().keys().map(String::as_str).collect();
    let common = [
        "max_tokens",
        "messages",
        "model",
        "presence_penalty",
        "stream",
        "stream_options",
        "temperature",
        "top_p",
    ];
    assert_eq!(names, common);
}

#[test]
fn what_is_not_set_is_not_sent_and_an_empty_system_text_is_no_message() {
    let mut call = golden::call([user([text("Hello")])]);
    call.prepared.system.clear();
    call.options.max_tokens = None;
    call.sampling.presence_penalty = None;
    call.sampling.top_k = None;
    call.sampling.min_p = None;
    insta::assert_snapshot!(String::from_utf8(body(&call, Flavor::Llama)).unwrap(), @r#"{"messages":[{"role":"user","content":"Hello"}],"model":"tiny","stream":true,"stream_options":{"include_usage":true},"temperature":0.7,"top_p":0.95,"repeat_penalty":1.1,"repeat_last_n":64,"cache_prompt":true,"return_progress":true}"#);
}

// behaviours: 187
#[test]
fn an_objective_and_two_turns_are_three_messages() {
    let call = golden::call([user([text("Hello")]), assistant([text("Hello.")])]);
    for flavor in [Flavor::Llama, Flavor::OpenAi, Flavor::Unknown] {
        assert_eq!(sent(&call, flavor)["messages"].as_array().unwrap().len(), 3, "{flavor:?}");
    }
}

// behaviours: 188
#[test]
fn a_turn_that_only_calls_has_no_content() {
    let sent = sent(&golden::thinking(), Flavor::OpenAi);
    let calls = &sent["messages"][2];
    assert_eq!(calls["tool_calls"][0]["function"]["name"], "get_weather");
    assert!(calls.get("content").is_none(), "{calls}");
}

// behaviours: 189
#[test]
fn the_results_of_a_turn_come_before_its_text() {
    let turn = user([text("In celsius."), tool_result("a", "18"), tool_result("b", "20")]);
    let calls = assistant([tool_call("a", "one", "{}"), tool_call("b", "one", "{}")]);
    let sent = sent(&golden::call([user([text("Hello")]), calls, turn]), Flavor::OpenAi);
    let messages = sent["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool", "user"]);
    assert_eq!((&messages[3]["tool_call_id"], &messages[4]["content"]), (&json!("a"), &json!("20")));
    assert_eq!(messages[5]["content"], "In celsius.");
}

/// The function of a call as it is sent again.
fn replayed(name: &str, input: &str, flavor: Flavor) -> Value {
    let call = golden::call([user([text("Hello")]), assistant([tool_call("a", name, input)])]);
    sent(&call, flavor)["messages"][2]["tool_calls"][0]["function"].take()
}

#[test]
fn arguments_go_back_as_they_were_written_where_the_server_takes_any() {
    for written in [r#"{"city": "Par"#, "", " {\n}", "[1]", "no JSON \u{1f600}"] {
        assert_eq!(replayed("one", written, Flavor::OpenAi)["arguments"], written);
    }
}

#[test]
fn a_template_is_given_objects_only() {
    for (written, arguments) in [
        (" {\"city\":\n1}", " {\"city\":\n1}"),
        ("", "{}"),
        (" \n", "{}"),
        (r#"{"city": "Par"#, r#"{"unreadable":"{\"city\": \"Par"}"#),
        ("[1]", r#"{"unreadable":"[1]"}"#),
        ("7", r#"{"unreadable":"7"}"#),
    ] {
        for flavor in [Flavor::Llama, Flavor::Unknown] {
            assert_eq!(replayed("one", written, flavor)["arguments"], arguments);
        }
    }
}

#[test]
fn a_name_goes_back_such_that_every_server_takes_it() {
    let longest = "n".repeat(64);
    for (written, name) in [
        ("get-weather_2", "get-weather_2"),
        ("", "unnamed"),
        ("functions.get weather", "functions_get_weather"),
        ("Vec<é>", "Vec___"),
        (&longest, &longest),
        (&format!("{longest}n"), &longest),
    ] {
        assert_eq!(replayed(written, "{}", Flavor::OpenAi)["name"], name);
    }
}

fn resolved(depth: Depth, spec: &ModelSpec, has_tools: bool) -> ModelCall {
    let conversation = Seat { depth: Some(depth), output: Some(OutputSize::Standard), ..Seat::default() };
    let layers = Layers { conversation, ..Layers::default() };
    let allowance = seat::resolve(&layers, spec, has_tools).unwrap();
    let mut call = if has_tools { golden::tools() } else { golden::plain() };
    call.options.max_tokens = Some(allowance.reserve);
    call.options.thinking = allowance.thinking;
    call
}

fn reasoning_model() -> ModelSpec {
    ModelSpec {
        max_output: Some(128_000),
        thinking: ThinkingMode::ReasoningEffort,
        tools_suspend_reasoning: true,
        ..ModelSpec::default()
    }
}

// behaviours: 191
#[test]
fn the_limit_of_a_reasoning_model_is_its_answer_and_the_headroom_of_its_depth() {
    let spec = reasoning_model();
    let call = resolved(Depth::Immediate, &spec, false);
    let reserve = call.options.max_tokens.unwrap();
    assert!(reserve > 16_384, "{reserve} has no headroom");
    let sent: Value = serde_json::from_slice(&body_of(&call, Flavor::OpenAi, spec)).unwrap();
    assert_eq!(sent["max_completion_tokens"], reserve);
    assert!(sent.get("max_tokens").is_none() && sent.get("temperature").is_none(), "{sent}");
}

// behaviours: 192
#[test]
fn tools_switch_reasoning_off_where_they_suspend_it() {
    for (has_tools, effort) in [(true, "none"), (false, "low")] {
        let spec = reasoning_model();
        let call = resolved(Depth::Immediate, &spec, has_tools);
        let sent: Value = serde_json::from_slice(&body_of(&call, Flavor::OpenAi, spec)).unwrap();
        assert_eq!(sent["reasoning_effort"], effort, "tools: {has_tools}");
    }
}

#[test]
fn thinking_is_switched_off_in_the_template_of_llama() {
    let mut call = golden::plain();
    for (thinking, kwargs) in [
        (Thinking::Off, json!({ "enable_thinking": false })),
        (Thinking::Unset, Value::Null),
        (Thinking::Budget { tokens: 1_024 }, Value::Null),
    ] {
        call.options.thinking = thinking;
        let sent = sent(&call, Flavor::Llama);
        assert_eq!(sent["chat_template_kwargs"], kwargs, "{thinking:?}");
        assert!(sent.get("reasoning_effort").is_none(), "{sent}");
    }
}

#[test]
fn the_palette_is_sent_whatever_the_choice_and_no_choice_without_it() {
    for (choice, word) in
        [(ToolChoice::Auto, None), (ToolChoice::None, Some("none")), (ToolChoice::Required, Some("required"))]
    {
        for (mut call, n_tools) in [(golden::tools(), 2), (golden::plain(), 0)] {
            call.options.tool_choice = choice;
            let sent = sent(&call, Flavor::Llama);
            assert_eq!(sent["tools"].as_array().map_or(0, Vec::len), n_tools);
            assert_eq!(sent["tool_choice"].as_str(), word.filter(|_| n_tools > 0), "{choice:?}");
        }
    }
}

#[test]
fn llama_is_never_sent_a_schema_beside_tools() {
    let mut call = golden::typed_answer();
    call.prepared.palette.push(golden::get_weather());
    assert!(sent(&call, Flavor::Llama).get("response_format").is_none());
    assert!(sent(&call, Flavor::OpenAi).get("response_format").is_some());
}

#[test]
fn a_model_without_tools_is_told_of_them_in_text() {
    let spec = ModelSpec { tools: ToolWire::Text, ..ModelSpec::default() };
    let sent = body_of(&golden::tools(), Flavor::Llama, spec);
    let sent: Value = serde_json::from_slice(&sent).unwrap();
    assert!(sent.get("tools").is_none() && sent.get("tool_choice").is_none(), "{sent}");
    let messages = sent["messages"].as_array().unwrap();
    assert!(messages.iter().all(|message| message.get("tool_calls").is_none() && message["role"] != "tool"));
    assert!(messages[0]["content"].as_str().unwrap().contains("get_weather: Current weather"));
    assert!(messages[2]["content"].as_str().unwrap().contains("[Tool Use list_cities] {}"));
    assert!(messages[3]["content"].as_str().unwrap().contains(r#"[Tool Result call_1] {"celsius":18}"#));
}

#[test]
fn a_schema_that_is_no_json_is_refused_by_the_name_of_its_tool() {
    let mut call = golden::tools();
    call.prepared.palette[0].schema = Some("{".into());
    let refused = ChatWire::new(endpoint(Flavor::Llama), Arc::default()).request(&call).err();
    let Some(Failure::Refused { detail }) = refused else { panic!("{refused:?}") };
    assert!(detail.contains("get_weather"), "{detail}");
}

#[test]
fn a_late_definition_of_a_tool_takes_the_place_of_the_first() {
    let mut call = golden::late_tools();
    let mut again = golden::get_weather();
    again.description = "Weather, said better.".into();
    call.prepared.turns.push(Arc::new(user([colloquy_core::block::Block::ToolDefinition(again)])));
    let sent = sent(&call, Flavor::Llama);
    let tools: Vec<_> = sent["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]).collect();
    assert_eq!(tools.len(), 2);
    assert_eq!(
        (&tools[0]["description"], &tools[1]["name"]),
        (&json!("Weather, said better."), &json!("search"))
    );
}

#[test]
fn members_of_a_program_stand_behind_our_own() {
    let extra: Map<String, Value> = [("logit_bias".to_owned(), json!([[8, 30]]))].into_iter().collect();
    let endpoint = Endpoint { extra, ..endpoint(Flavor::Llama) };
    let body = ChatWire::new(endpoint, Arc::default()).request(&golden::plain()).unwrap().body;
    assert!(body.ends_with(br#","logit_bias":[[8,30]]}"#));
}

#[test]
fn the_limit_goes_under_one_name_only() {
    let body =
        |field| super::body(&golden::plain(), &endpoint(Flavor::Unknown), &ModelSpec::default(), field);
    for (field, name) in
        [(LimitField::MaxTokens, "max_tokens"), (LimitField::MaxCompletionTokens, "max_completion_tokens")]
    {
        let sent: Value = serde_json::from_slice(&body(field).unwrap()).unwrap();
        let names: Vec<_> =
            sent.as_object().unwrap().keys().filter(|name| name.ends_with("_tokens")).collect();
        assert_eq!(names, [name]);
        assert_eq!(sent[name], 1_024);
    }
}

proptest! {
    /// Invariant I3, as far as it is this module's: with tool rounds, late tools and pictures.
    #[test]
    fn i3_a_longer_branch_keeps_the_bytes_of_a_shorter_one(
        texts in prop::collection::vec(".{0,30}", 1..8),
        temperature in 0.0..2.0,
        is_template in any::<bool>(),
    ) {
        let flavor = if is_template { Flavor::Llama } else { Flavor::OpenAi };
        let rounds = texts.iter().enumerate().map(|(n, said)| {
            let id = format!("call_{n}");
            let [.., image] = &golden::images().prepared.turns[0].blocks[..2] else { unreachable!() };
            [
                user([text(said), image.clone()]),
                assistant([text(said), tool_call(&id, "one", said)]),
                user([tool_result(&id, said)]),
                assistant([text("done")]),
            ]
        });
        let turns: Vec<_> = rounds.flatten().collect();
        let bodies: Vec<Vec<u8>> = (0..=turns.len())
            .map(|n_turns| {
                let mut call = golden::call(turns[..n_turns].iter().cloned());
                // What follows the messages may change from request to request.
                call.sampling.temperature = temperature / (n_turns + 1) as f64;
                if n_turns > 4 {
                    call.prepared.palette.push(golden::get_weather());
                }
                body(&call, flavor)
            })
            .collect();
        assert_prefix_stable(&bodies);
    }
}
