use colloquy::ports::{ModelCall, ToolChoice};
use colloquy_core::{
    block::{Block, Reasoning},
    prepare::PreparedTurn,
    seat::{ModelSpec, Thinking, ToolWire},
    tool::ToolDefinition,
    turn::Failure,
};
use colloquy_testkit::billing::{Bill, Cache};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{MAX_TOKENS, Takes, body};
use crate::{
    anthropic::{Caching, Endpoint, tests::endpoint},
    golden::{self, assistant, failed_result, text, tool_call, tool_result, user, volatile_user},
};

const ALL: Takes = Takes { top_p: true, sampling: true, format: true };

fn encode_for(call: &ModelCall, endpoint: &Endpoint, spec: &ModelSpec, takes: Takes) -> Value {
    serde_json::from_slice(&body(call, endpoint, spec, takes).unwrap().body).unwrap()
}

fn encode(call: &ModelCall) -> Value {
    encode_for(call, &endpoint(), &ModelSpec::default(), ALL)
}

fn tool(name: &str, schema: Option<&str>) -> ToolDefinition {
    ToolDefinition { name: name.into(), description: "Does it.".into(), schema: schema.map(str::to_owned) }
}

/// The blocks that carry a mark, as `system 0` or `message 1 block 2`.
fn marked(body: &Value) -> Vec<String> {
    let blocks = |owner: String, list: &Value| {
        let list = list.as_array().cloned().unwrap_or_default();
        let marked = list.into_iter().enumerate().filter(|(_, block)| !block["cache_control"].is_null());
        marked.map(|(at, _)| format!("{owner}{at}")).collect::<Vec<_>>()
    };
    let mut marked = blocks("system ".into(), &body["system"]);
    for (at, message) in body["messages"].as_array().unwrap().iter().enumerate() {
        marked.extend(blocks(format!("message {at} block "), &message["content"]));
    }
    marked
}

#[test]
fn the_nine_requests_are_as_reviewed() {
    for (name, call) in golden::all() {
        let body = body(&call, &endpoint(), &ModelSpec { json_schema: true, ..ModelSpec::default() }, ALL);
        insta::assert_snapshot!(name.replace(' ', "_"), golden::readable(&body.unwrap().body));
    }
}

// behaviours: 177
#[test]
fn skills_come_before_the_system_text_and_the_mark_is_on_the_last_of_the_blocks() {
    let system = encode(&golden::plain())["system"].clone();
    let skill = "[Skill: geography]\nWhen asked about places.\n\nName the country too.";
    let expected = json!([
        {"type": "text", "text": skill},
        {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}},
    ]);
    assert_eq!(system, expected);
    let mut call = golden::plain();
    call.prepared.system = String::new();
    assert_eq!(marked(&encode(&call))[0], "system 0");
    call.prepared.skills.clear();
    assert_eq!(encode(&call)["system"], Value::Null);
}

// behaviours: 171
#[test]
fn the_system_content_is_marked_when_that_is_asked_for() {
    for cache_system in [true, false] {
        let mut call = golden::plain();
        call.prepared.cache_system = cache_system;
        let n_marked = marked(&encode(&call)).iter().filter(|mark| mark.starts_with("system")).count();
        assert_eq!(n_marked, usize::from(cache_system));
    }
}

#[test]
fn a_server_without_marks_gets_none() {
    let unmarked = Endpoint { caching: Caching::Unmarked, ..endpoint() };
    assert_eq!(marked(&encode_for(&golden::tools(), &unmarked, &ModelSpec::default(), ALL)), [""; 0]);
}

// behaviours: 172
#[test]
fn a_long_conversation_has_four_marks_and_the_first_is_the_systems() {
    let turns = (0..6).flat_map(|_| [user([text("Go on.")]), assistant([text("Yes.")])]);
    let call = golden::call(turns.chain([user([text("And?")])]));
    let expected = ["system 0", "message 8 block 0", "message 10 block 0", "message 12 block 0"];
    assert_eq!(marked(&encode(&call)), expected);
}

// behaviours: 176
#[test]
fn results_carry_the_marks_of_a_tool_loop_and_reasoning_none() {
    let signed = || Block::Reasoning(Reasoning { text: "Hm.".into(), signature: Some("c2ln".into()) });
    let how_to_answer = PreparedTurn { n_stable: 1, ..user([tool_result("b", "19"), text("how to answer")]) };
    let mut call = golden::call([
        user([text("Look.")]),
        assistant([signed(), tool_call("a", "f", "{}")]),
        user([tool_result("a", "18")]),
        assistant([signed()]),
        how_to_answer,
        volatile_user([text("registry")]),
    ]);
    call.prepared.palette = vec![tool("f", None)];
    assert_eq!(marked(&encode(&call)), ["system 0", "message 2 block 0", "message 4 block 0"]);
}

// behaviours: 179
#[test]
fn a_late_tool_stands_once_and_behind_those_of_the_head() {
    let body = encode(&golden::late_tools());
    let names: Vec<_> = body["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["get_weather", "search"]);
    assert!(!body["messages"].to_string().contains("Searches the web."), "{body}");
}

#[test]
fn a_schema_is_sent_as_it_was_declared_and_one_that_is_no_json_names_its_tool() {
    let schema =
        r##"{"$defs":{"A":{"type":"string"}}, "type":"object","properties":{"a":{"$ref":"#/$defs/A"}}}"##;
    let mut call = golden::plain();
    call.prepared.palette = vec![tool("f", Some(schema)), tool("g", None)];
    let sent = body(&call, &endpoint(), &ModelSpec::default(), ALL).unwrap().body;
    assert!(String::from_utf8(sent).unwrap().contains(schema));
    assert_eq!(encode(&call)["tools"][1]["input_schema"], json!({"type": "object", "properties": {}}));

    call.prepared.palette = vec![tool("broken", Some("{"))];
    let refused = body(&call, &endpoint(), &ModelSpec::default(), ALL).map(|encoded| encoded.body);
    assert!(
        matches!(&refused, Err(Failure::Refused { detail }) if detail.contains("tool broken")),
        "{refused:?}"
    );
}

// behaviours: 180
#[test]
fn turns_of_one_role_in_a_row_stay_messages_of_their_own() {
    let turns = [user([text("one")]), user([text("two")]), assistant([Block::reasoning("unsigned")])];
    let body = encode(&golden::call(turns));
    let roles: Vec<_> = body["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "user"]);
}

// behaviours: 181
#[test]
fn an_immediate_answer_has_its_limit_and_no_thinking() {
    for thinking in [Thinking::Off, Thinking::Unset] {
        let mut call = golden::plain();
        (call.options.max_tokens, call.options.thinking) = (Some(16_000), thinking);
        let body = encode(&call);
        assert_eq!((&body["max_tokens"], &body["thinking"]), (&json!(16_000), &Value::Null));
        assert_eq!(body["output_config"], Value::Null);
    }
}

#[test]
fn a_limit_is_always_sent() {
    let mut call = golden::plain();
    call.options.max_tokens = None;
    assert_eq!(encode(&call)["max_tokens"], json!(MAX_TOKENS));
    let spec = ModelSpec { max_output: Some(64_000), ..ModelSpec::default() };
    assert_eq!(encode_for(&call, &endpoint(), &spec, ALL)["max_tokens"], json!(64_000));
}

// behaviours: 184
#[test]
fn a_model_that_thinks_is_not_told_how_to_sample() {
    fn check(thinking: Thinking, field: Value, config: Value, is_sampled: bool) {
        let mut call = golden::plain();
        (call.options.thinking, call.options.max_tokens) = (thinking, Some(4_096));
        let body = encode(&call);
        assert_eq!((&body["thinking"], &body["output_config"]), (&field, &config), "{thinking:?}");
        for member in ["temperature", "top_p", "top_k"] {
            assert_eq!(body[member].is_number(), is_sampled, "{member} with {thinking:?}");
        }
    }
    let enabled = |tokens: u32| json!({"type": "enabled", "budget_tokens": tokens});
    check(Thinking::Budget { tokens: 2_048 }, enabled(2_048), Value::Null, false);
    // One token at least is left for the answer.
    check(Thinking::Budget { tokens: 4_096 }, enabled(4_095), Value::Null, false);
    let adaptive = json!({"type": "adaptive", "display": "summarized"});
    check(Thinking::Adaptive { effort: "high" }, adaptive, json!({"effort": "high"}), false);
    check(Thinking::Effort { effort: "medium" }, Value::Null, json!({"effort": "medium"}), true);
    check(Thinking::Effort { effort: "none" }, Value::Null, json!({"effort": "low"}), true);
    check(Thinking::Off, Value::Null, Value::Null, true);
}

#[test]
fn a_budget_that_the_limit_leaves_no_room_for_is_none() {
    for (limit, is_thinking) in [(1_024, false), (1_025, true)] {
        let mut call = golden::plain();
        (call.options.thinking, call.options.max_tokens) = (Thinking::Budget { tokens: 9_000 }, Some(limit));
        assert_eq!(encode(&call)["thinking"].is_object(), is_thinking, "{limit}");
    }
}

#[test]
fn sampling_is_what_the_model_takes_in_the_range_of_the_api() {
    let sampling = |temperature: f64, top_p: f64, takes: Takes| {
        let mut call = golden::plain();
        (call.sampling.temperature, call.sampling.top_p) = (temperature, top_p);
        let body = encode_for(&call, &endpoint(), &ModelSpec::default(), takes);
        json!([body["temperature"], body["top_p"], body["top_k"]])
    };
    assert_eq!(sampling(0.7, 0.95, ALL), json!([0.7, 0.95, 20]));
    assert_eq!(sampling(1.3, 1.0, ALL), json!([1.0, null, 20]));
    assert_eq!(sampling(0.7, 0.95, Takes { top_p: false, ..ALL }), json!([0.7, null, 20]));
    assert_eq!(sampling(0.7, 0.95, Takes { sampling: false, ..ALL }), json!([null, null, null]));
}

#[test]
fn whether_tools_may_be_called_is_said_where_there_are_any() {
    let choice = |call: &ModelCall, choice: ToolChoice| {
        let mut call = call.clone();
        (call.options.tool_choice, call.options.thinking) = (choice, Thinking::Adaptive { effort: "low" });
        let body = encode(&call);
        (body["tool_choice"].clone(), body["thinking"].is_object())
    };
    assert_eq!(choice(&golden::tools(), ToolChoice::Auto), (Value::Null, true));
    assert_eq!(choice(&golden::tools(), ToolChoice::None), (json!({"type": "none"}), true));
    assert_eq!(choice(&golden::tools(), ToolChoice::Required), (json!({"type": "any"}), false));
    assert_eq!(choice(&golden::plain(), ToolChoice::Required), (Value::Null, true));
}

#[test]
fn a_schema_holds_the_answer_where_the_model_takes_one() {
    let call = golden::typed_answer();
    let schema = &call.options.response_format.as_ref().unwrap().schema;
    let format = json!({"type": "json_schema", "schema": schema});
    assert_eq!(encode(&call)["output_config"], json!({"format": format}));
    let without = encode_for(&call, &endpoint(), &ModelSpec::default(), Takes { format: false, ..ALL });
    assert_eq!(without["output_config"], Value::Null);
}

#[test]
fn tools_are_text_for_a_model_that_has_none_and_where_those_that_were_called_are_gone() {
    let spec = ModelSpec { tools: ToolWire::Text, ..ModelSpec::default() };
    let mut orphaned = golden::tools();
    orphaned.prepared.palette.clear();
    for body in [encode_for(&golden::tools(), &endpoint(), &spec, ALL), encode(&orphaned)] {
        assert_eq!((&body["tools"], &body["tool_choice"]), (&Value::Null, &Value::Null));
        let call = &body["messages"][1]["content"][1];
        assert_eq!(call, &json!({"type": "text", "text": "[Tool Use get_weather] {\"city\": \"Paris\"}"}));
    }
}

#[test]
fn members_beyond_those_of_a_call_are_sent_too() {
    let extra = json!({"metadata": {"user_id": "7"}}).as_object().unwrap().clone();
    let body = encode_for(&golden::plain(), &Endpoint { extra, ..endpoint() }, &ModelSpec::default(), ALL);
    assert_eq!(body["metadata"], json!({"user_id": "7"}));
}

/// What one step of a loop adds: the assistant's turn and the user's side that follows it.
#[derive(Debug, Clone)]
struct Step {
    thinks: bool,
    narrates: bool,
    n_calls: usize,
    /// The person speaks while tools run, or asks the next question where none ran.
    speaks: bool,
    has_tail: bool,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Beyond the look-back of 20 blocks, too.
    let n_calls = prop_oneof![3 => 0_usize..4, 1 => 4_usize..45];
    let step = (any::<bool>(), any::<bool>(), n_calls, any::<bool>(), any::<bool>());
    let step = step.prop_map(|(thinks, narrates, n_calls, speaks, has_tail)| Step {
        thinks,
        narrates,
        n_calls,
        speaks,
        has_tail,
    });
    prop::collection::vec(step, 1..14)
}

fn take_step(turns: &mut Vec<PreparedTurn>, step: &Step) {
    // Identifiers that come again in every step, as some engines mint them.
    let id = |at: usize| format!("call_{at}");
    let mut said = Vec::new();
    if step.thinks {
        let signature = Some("c2lnbmVk".into());
        said.push(Block::Reasoning(Reasoning { text: "Let me think.".into(), signature }));
    }
    if step.narrates || step.n_calls == 0 {
        said.push(text("I look it up."));
    }
    said.extend((0..step.n_calls).map(|at| tool_call(&id(at), "get_weather", "{\"city\":\"Paris\"}")));
    turns.push(PreparedTurn { n_stable: said.len(), blocks: said, ..assistant([]) });
    let mut results: Vec<Block> =
        (0..step.n_calls).map(|at| tool_result(&id(at), "{\"celsius\":18}")).collect();
    if let Some(first) = results.first_mut() {
        *first = failed_result(&id(0), "The tool failed.");
    }
    if !results.is_empty() {
        turns.push(PreparedTurn { n_stable: results.len(), blocks: results, ..user([]) });
    }
    if step.speaks || step.n_calls == 0 {
        turns.push(user([text("In celsius, please.")]));
    }
}

/// The body of a request, with what the next one does not hold again at its end.
fn request(turns: &[PreparedTurn], has_tail: bool) -> Value {
    let mut turns = turns.to_vec();
    if has_tail {
        turns.last_mut().unwrap().blocks.push(text("Answer with one JSON object."));
        turns.push(volatile_user([text("=== ARTIFACT REGISTRY ===")]));
    }
    let mut call = golden::call(turns);
    call.prepared.palette = vec![golden::get_weather()];
    encode(&call)
}

/// The system content and the messages of a request without their marks, up to where they go on.
fn prefix(turns: &[PreparedTurn]) -> String {
    let body = request(turns, false);
    let unmarked = |list: &Value| {
        let mut blocks = list.as_array().unwrap().clone();
        for block in &mut blocks {
            block.as_object_mut().unwrap().remove("cache_control");
        }
        Value::Array(blocks).to_string()
    };
    let mut prefix = unmarked(&body["system"]);
    for message in body["messages"].as_array().unwrap() {
        prefix.push_str(&message["role"].to_string());
        prefix.push_str(&unmarked(&message["content"]));
    }
    prefix
}

#[test]
fn a_turn_that_is_rewritten_once_leaves_what_stood_before_it_in_the_cache() {
    let mut cache = Cache::new(0);
    let mut bill = |turns: &[PreparedTurn]| cache.bill(&request(turns, false), 0).unwrap();
    let mut turns = vec![user([text("Is it warmer in Paris or in Rome?")])];
    let settled = bill(&turns).total_tokens();
    // More blocks than a look-back reaches over.
    let many = Step { thinks: false, narrates: true, n_calls: 30, speaks: false, has_tail: false };
    let answer = Step { n_calls: 0, speaks: true, ..many.clone() };
    for step in [&answer, &many] {
        take_step(&mut turns, step);
        bill(&turns);
    }
    take_step(&mut turns, &answer);
    turns[2] = user([text("In celsius, please, without the pages that were found.")]);
    assert_eq!(bill(&turns).read_tokens, settled);
}

proptest! {
    #[test]
    fn every_request_of_a_loop_reads_from_the_cache_all_that_the_one_before_kept(steps in steps()) {
        let mut turns = vec![user([text("Is it warmer in Paris or in Rome?")])];
        let mut cache = Cache::new(0);
        let mut kept_tokens = 0;
        let has_tails = steps.iter().map(|step| step.has_tail).chain([false]);
        for (at, has_tail) in has_tails.enumerate() {
            let bill = cache.bill(&request(&turns, has_tail), 0);
            let Bill { plain_tokens, written_tokens, read_tokens } = bill.expect("the provider takes the marks");
            prop_assert_eq!(read_tokens, kept_tokens, "request {}", at);
            // The new question or the new results are kept for the next request, to the last block.
            prop_assert!(written_tokens > 0);
            prop_assert_eq!(plain_tokens > 0, has_tail, "request {}", at);
            kept_tokens = written_tokens + read_tokens;
            if let Some(step) = steps.get(at) {
                take_step(&mut turns, step);
            }
        }
    }

    #[test]
    fn but_for_its_marks_a_request_is_a_prefix_of_the_next(steps in steps()) {
        let mut turns = vec![user([text("Is it warmer in Paris or in Rome?")])];
        let mut before = prefix(&turns);
        for step in &steps {
            take_step(&mut turns, step);
            let after = prefix(&turns);
            prop_assert!(after.starts_with(&before), "{}\n{}", before, after);
            before = after;
        }
    }
}
