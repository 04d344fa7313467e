use std::sync::Arc;

use colloquy::ports::{CallOptions, ModelCall, ResponseFormat, ToolChoice};
use colloquy_core::{
    block::{Block, File, Image, Skill, ToolCall, ToolResult},
    message::Role,
    prepare::{PreparedConversation, PreparedTurn},
    seat::{ModelSpec, Thinking, ThinkingMode, ToolWire},
    tool::ToolDefinition,
    turn::Failure,
};
use serde_json::{Map, Value, json};

use super::{FORMAT_NAME_CHARS_MAX, Takes, body, format_name};
use crate::{golden, responses::Endpoint};

const ALL: Takes = Takes { sampling: true, encrypted_reasoning: true };

fn turn(role: Role, blocks: Vec<Block>) -> Arc<PreparedTurn> {
    let n_stable = blocks.len();
    Arc::new(PreparedTurn { role, blocks, n_stable })
}

fn user(text: &str) -> Arc<PreparedTurn> {
    turn(Role::User, vec![Block::Text(text.into())])
}

fn search() -> ToolDefinition {
    let schema = json!({
        "type": "object",
        "properties": {"q": {"$ref": "#/$defs/Q"}},
        "$defs": {"Q": {"type": "string"}},
    });
    ToolDefinition {
        name: "search".into(),
        description: "Searches.".into(),
        schema: Some(schema.to_string()),
    }
}

fn call_block(id: &str) -> Block {
    Block::ToolCall(ToolCall { id: id.into(), name: "search".into(), input: r#"{"q": "x"}"#.into() })
}

fn result_block(id: &str) -> Block {
    Block::ToolResult(ToolResult { call_id: id.into(), text: "found".into(), is_error: false })
}

fn model_call(turns: Vec<Arc<PreparedTurn>>) -> ModelCall {
    let prepared = PreparedConversation { turns, ..PreparedConversation::default() };
    ModelCall { prepared, options: CallOptions::default(), ..golden::call([]) }
}

fn bytes_with(call: &ModelCall, spec: &ModelSpec, takes: Takes) -> Result<Vec<u8>, Failure> {
    let endpoint = Endpoint {
        base_url: "http://x/v1".into(),
        model: "gpt".into(),
        api_key: None,
        extra: Map::from_iter([("service_tier".to_owned(), json!("flex"))]),
    };
    body(call, &endpoint, spec, takes)
}

fn encode_with(call: &ModelCall, spec: &ModelSpec, takes: Takes) -> Value {
    serde_json::from_slice(&bytes_with(call, spec, takes).unwrap()).unwrap()
}

fn encode(call: &ModelCall) -> Value {
    encode_with(call, &ModelSpec::default(), ALL)
}

fn reasoning_spec() -> ModelSpec {
    ModelSpec { thinking: ThinkingMode::ReasoningEffort, ..ModelSpec::default() }
}

#[test]
fn the_nine_requests_are_as_reviewed() {
    let endpoint =
        Endpoint { base_url: String::new(), model: "gpt".into(), api_key: None, extra: Map::new() };
    let spec = ModelSpec { json_schema: true, ..reasoning_spec() };
    for (name, mut call) in golden::all() {
        if name == "thinking" {
            on_this_wire(&mut call);
        }
        let body = body(&call, &endpoint, &spec, ALL).unwrap();
        insta::assert_snapshot!(name.replace(' ', "_"), golden::readable(&body));
    }
}

/// Effort and withheld reasoning in the words of this API.
fn on_this_wire(thinking: &mut ModelCall) {
    thinking.options.thinking = Thinking::Effort { effort: "medium" };
    let item = r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}"#;
    for turn in &mut thinking.prepared.turns {
        for block in &mut Arc::make_mut(turn).blocks {
            if let Block::RedactedReasoning(data) = block {
                *data = item.into();
            }
        }
    }
}

// behaviours: 196
#[test]
fn a_tool_round_is_reasoning_message_call_output_message_and_nothing_is_stored() {
    let reasoning = r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}"#;
    let assistant =
        vec![Block::RedactedReasoning(reasoning.into()), Block::Text("I look.".into()), call_block("call_1")];
    let results = vec![Block::Text("And?".into()), result_block("call_1")];
    let body =
        encode(&model_call(vec![user("Look."), turn(Role::Assistant, assistant), turn(Role::User, results)]));
    let expected = json!([
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look."}]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "call_1", "name": "search", "arguments": "{\"q\": \"x\"}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "found"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And?"}]},
    ]);
    assert_eq!(body["input"], expected);
    assert_eq!(body["store"], json!(false));
    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
    assert_eq!(body["service_tier"], json!("flex"));
}

#[test]
fn a_reasoning_item_goes_back_byte_for_byte() {
    let item = r#"{ "type":"reasoning",  "id":"rs_\u0031","encrypted_content":"g/+=", "summary":[] }"#;
    let assistant = turn(Role::Assistant, vec![Block::RedactedReasoning(item.into())]);
    let bytes = bytes_with(&model_call(vec![user("Look."), assistant]), &ModelSpec::default(), ALL).unwrap();
    let body = String::from_utf8(bytes).unwrap();
    assert!(body.contains(item), "{body}");
}

#[test]
fn what_another_wire_keeps_as_opaque_reasoning_is_not_sent() {
    let blocks = [r#""text""#, "EqQBCgIYAhIM", r#"{"type":"message"}"#]
        .map(|data| Block::RedactedReasoning(data.into()))
        .into_iter()
        .chain([Block::reasoning("unsigned"), Block::Text("Hi.".into())]);
    let body = encode(&model_call(vec![user("Look."), turn(Role::Assistant, blocks.collect())]));
    assert_eq!(
        body["input"][1],
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]})
    );
    assert_eq!(body["input"].as_array().unwrap().len(), 2);
}

#[test]
fn turns_of_one_role_stay_apart_and_an_empty_one_is_skipped() {
    let announcement = turn(Role::User, vec![Block::ToolDefinition(search())]);
    let body = encode(&model_call(vec![user("one"), announcement, user("two")]));
    let texts: Vec<_> = body["input"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["content"][0]["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["one", "two"]);
}

#[test]
fn tools_are_flat_and_whole_and_late_ones_stand_among_them() {
    let late = ToolDefinition { name: "late".into(), description: "Comes late.".into(), schema: None };
    let mut call = model_call(vec![user("Look."), turn(Role::User, vec![Block::ToolDefinition(late)])]);
    call.prepared.palette = vec![search()];
    assert_eq!(
        encode(&call)["tools"],
        json!([
            {
                "type": "function",
                "name": "search",
                "description": "Searches.",
                "parameters": {
                    "type": "object",
                    "properties": {"q": {"$ref": "#/$defs/Q"}},
                    "$defs": {"Q": {"type": "string"}},
                },
                "strict": false,
            },
            {
                "type": "function",
                "name": "late",
                "description": "Comes late.",
                "parameters": {"type": "object", "properties": {}},
                "strict": false,
            },
        ])
    );
}

#[test]
fn a_tool_whose_schema_is_not_json_is_refused_by_name() {
    let mut call = model_call(vec![user("Look.")]);
    call.prepared.palette = vec![ToolDefinition { schema: Some("{".into()), ..search() }];
    let Err(Failure::Refused { detail }) = bytes_with(&call, &ModelSpec::default(), ALL) else {
        panic!("it was encoded");
    };
    assert!(detail.contains("search") && detail.contains("not JSON"), "{detail}");
}

#[test]
fn the_choice_of_tools_is_said_where_there_are_any_and_it_is_not_the_models() {
    let mut call = model_call(vec![user("Look.")]);
    call.options.tool_choice = ToolChoice::None;
    assert_eq!(encode(&call)["tool_choice"], Value::Null);
    call.prepared.palette = vec![search()];
    assert_eq!(encode(&call)["tool_choice"], json!("none"));
    call.options.tool_choice = ToolChoice::Required;
    assert_eq!(encode(&call)["tool_choice"], json!("required"));
    call.options.tool_choice = ToolChoice::Auto;
    assert_eq!(encode(&call)["tool_choice"], Value::Null);
}

#[test]
fn a_model_without_tools_reads_of_them_as_text() {
    let spec = ModelSpec { tools: ToolWire::Text, ..ModelSpec::default() };
    let mut call = model_call(vec![
        user("Look."),
        turn(Role::Assistant, vec![call_block("c1")]),
        turn(Role::User, vec![result_block("c1")]),
    ]);
    call.prepared.palette = vec![search()];
    let body = encode_with(&call, &spec, ALL);
    assert_eq!(body["tools"], Value::Null);
    assert!(body["instructions"].as_str().unwrap().contains("search: Searches."), "{body}");
    assert_eq!(body["input"][1]["content"][0]["text"], json!("[Tool Use search] {\"q\": \"x\"}"));
    assert_eq!(body["input"][2]["content"][0]["text"], json!("[Tool Result c1] found"));
}

#[test]
fn skills_come_before_the_system_text_in_the_instructions() {
    let mut call = model_call(vec![user("Look.")]);
    assert_eq!(encode(&call)["instructions"], Value::Null);
    let skill = |name: &str, description: &str| Skill {
        name: name.into(),
        description: description.into(),
        body: "Do so.".into(),
    };
    call.prepared.skills = vec![skill("a", "When it rains."), skill("b", "")];
    call.prepared.system = "Be kind.".into();
    assert_eq!(
        encode(&call)["instructions"],
        json!("[Skill: a]\nWhen it rains.\n\nDo so.\n\n[Skill: b]\nDo so.\n\nBe kind.")
    );
}

#[test]
fn pictures_and_pdfs_are_sent_and_other_files_are_named() {
    let image = |media_type: &str| {
        Block::Image(Image { media_type: media_type.into(), bytes: Arc::from(*b"bytes"), description: None })
    };
    let file = |media_type: &str, name: &str| {
        Block::File(File { media_type: media_type.into(), bytes: Arc::from(*b"bytes"), name: name.into() })
    };
    let blocks = vec![
        Block::Text("See.".into()),
        image("image/png"),
        image("image/tiff"),
        file("image/webp", "a.webp"),
        file("application/pdf", "b.pdf"),
        file("application/zip", "c.zip"),
    ];
    let body = encode(&model_call(vec![turn(Role::User, blocks)]));
    let picture = |media_type: &str| json!({"type": "input_image", "detail": "auto", "image_url": format!("data:{media_type};base64,Ynl0ZXM=")});
    let expected = json!([
        {"type": "input_text", "text": "See."},
        picture("image/png"),
        {"type": "input_text", "text": "[image image/tiff]"},
        picture("image/webp"),
        {"type": "input_file", "filename": "b.pdf", "file_data": "data:application/pdf;base64,Ynl0ZXM="},
        {"type": "input_text", "text": "[file c.zip (application/zip)]"},
    ]);
    assert_eq!(body["input"][0]["content"], expected);
}

// behaviours: 152
#[test]
fn the_token_limit_is_the_number_that_was_reserved() {
    let mut call = model_call(vec![user("Look.")]);
    assert_eq!(encode(&call)["max_output_tokens"], Value::Null);
    for reserve in [1, 24_192, u32::MAX] {
        call.options.max_tokens = Some(reserve);
        assert_eq!(encode(&call)["max_output_tokens"], json!(reserve));
    }
}

#[test]
fn a_model_that_is_told_to_reason_is_not_told_how_to_sample() {
    let mut call = model_call(vec![user("Look.")]);
    let members = |call: &ModelCall, spec: &ModelSpec, takes| {
        let body = encode_with(call, spec, takes);
        (body["reasoning"].clone(), body["temperature"].clone(), body["top_p"].clone())
    };
    let plain = ModelSpec::default();
    let none = Value::Null;
    assert_eq!(members(&call, &plain, ALL), (none.clone(), json!(0.7), json!(0.95)));
    let refuses = Takes { sampling: false, ..ALL };
    assert_eq!(members(&call, &plain, refuses), (none.clone(), none.clone(), none.clone()));

    call.options.thinking = Thinking::Effort { effort: "low" };
    let low = json!({"effort": "low"});
    assert_eq!(members(&call, &reasoning_spec(), ALL), (low, none.clone(), none.clone()));
    call.options.thinking = Thinking::Adaptive { effort: "high" };
    let high = json!({"effort": "high", "summary": "auto"});
    assert_eq!(members(&call, &reasoning_spec(), ALL), (high, none.clone(), none.clone()));
    call.options.thinking = Thinking::Effort { effort: "none" };
    assert_eq!(members(&call, &reasoning_spec(), ALL), (json!({"effort": "none"}), json!(0.7), json!(0.95)));
    call.options.thinking = Thinking::Off;
    assert_eq!(members(&call, &reasoning_spec(), ALL), (json!({"effort": "none"}), json!(0.7), json!(0.95)));
    assert_eq!(members(&call, &plain, ALL), (none.clone(), json!(0.7), json!(0.95)));
    call.options.thinking = Thinking::Budget { tokens: 2_048 };
    assert_eq!(members(&call, &plain, ALL), (none, json!(0.7), json!(0.95)));
}

#[test]
fn encrypted_reasoning_is_asked_for_until_the_model_says_it_has_none() {
    let call = model_call(vec![user("Look.")]);
    let body = encode_with(&call, &ModelSpec::default(), Takes { encrypted_reasoning: false, ..ALL });
    assert_eq!(body["include"], Value::Null);
}

#[test]
fn an_answer_is_held_to_its_schema_where_the_server_can() {
    let mut call = model_call(vec![user("Look.")]);
    let schema = json!({"type": "object"});
    call.options.response_format = Some(ResponseFormat { name: "My Answer".into(), schema: schema.clone() });
    let spec = ModelSpec { json_schema: true, ..ModelSpec::default() };
    assert_eq!(
        encode_with(&call, &spec, ALL)["text"],
        json!({"format": {"type": "json_schema", "name": "My_Answer", "schema": schema, "strict": false}})
    );
    assert_eq!(encode(&call)["text"], json!({"format": {"type": "json_object"}}));
}

#[test]
fn the_name_of_a_format_is_cut_to_what_the_api_takes() {
    assert_eq!(format_name("Größe<T>"), "Gr__e_T_");
    assert_eq!(format_name(""), "answer");
    assert_eq!(format_name(&"a".repeat(FORMAT_NAME_CHARS_MAX + 1)), "a".repeat(FORMAT_NAME_CHARS_MAX));
    assert_eq!(format_name(&"a".repeat(FORMAT_NAME_CHARS_MAX)), "a".repeat(FORMAT_NAME_CHARS_MAX));
}

#[test]
fn the_next_request_begins_with_the_bytes_of_this_one() {
    let turns = [
        user("Look."),
        turn(Role::Assistant, vec![Block::Text("I look.".into()), call_block("c1")]),
        turn(Role::User, vec![result_block("c1")]),
        turn(Role::Assistant, vec![Block::Text("Done.".into())]),
    ];
    let bytes = |n_turns: usize| {
        let mut call = model_call(turns[..n_turns].to_vec());
        call.prepared.system = "Be kind.".into();
        // Late tools and other options do not reach into what stands before them.
        call.prepared.palette = if n_turns == turns.len() { vec![search()] } else { vec![] };
        String::from_utf8(bytes_with(&call, &ModelSpec::default(), ALL).unwrap()).unwrap()
    };
    for n_turns in 1..turns.len() {
        let (before, after) = (bytes(n_turns), bytes(n_turns + 1));
        // The members behind the items hold no `]`.
        let end = before.rfind("],\"model\"").unwrap();
        assert!(after.starts_with(&before[..end]), "{before}\n{after}");
    }
}
