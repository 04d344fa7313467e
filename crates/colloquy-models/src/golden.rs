//! Nine calls that every dialect shows as golden requests, and the form in which they are read.
//!
//! Each is named after what it shows. A dialect that needs other options for a case changes them on
//! its copy; the conversations are the same for all.

use std::{fmt::Write, sync::Arc};

use colloquy::ports::{CallOptions, ModelCall, ResponseFormat, Sampling};
use colloquy_core::{
    block::{Block, File, Image, Reasoning, Skill, ToolCall, ToolResult},
    message::Role,
    prepare::{PreparedConversation, PreparedTurn},
    seat::Thinking,
    tool::ToolDefinition,
};
use serde_json::json;

/// The nine cases, each under its name.
pub(crate) fn all() -> [(&'static str, ModelCall); 9] {
    [
        ("plain", plain()),
        ("tools", tools()),
        ("late tools", late_tools()),
        ("images", images()),
        ("files", files()),
        ("thinking", thinking()),
        ("artifacts", artifacts()),
        ("typed answer", typed_answer()),
        ("correction", correction()),
    ]
}

/// A skill, a system text and a conversation of three turns.
pub(crate) fn plain() -> ModelCall {
    let mut call = call([
        user([text("The capital of \"France\"?")]),
        assistant([text("Paris.\n")]),
        user([text("And of Spain?")]),
    ]);
    call.prepared.skills.push(Skill {
        name: "geography".into(),
        description: "When asked about places.".into(),
        body: "Name the country too.".into(),
    });
    call
}

/// Two tools, one without input, both called at once beside narration; one failed, and the person
/// said something while they ran.
pub(crate) fn tools() -> ModelCall {
    let mut call = call([
        user([text("Is it warmer in Paris or in Rome?")]),
        assistant([
            text("Let me look."),
            tool_call("call_1", "get_weather", r#"{"city": "Paris"}"#),
            tool_call("call_2", "list_cities", "{}"),
        ]),
        user([
            text("In celsius, please."),
            tool_result("call_1", r#"{"celsius":18}"#),
            failed_result("call_2", "The list is not available."),
        ]),
    ]);
    let list_cities =
        ToolDefinition { name: "list_cities".into(), description: "Known cities.".into(), schema: None };
    call.prepared.palette = vec![get_weather(), list_cities];
    call
}

/// A tool of the head and one that was announced in the conversation, in front of its question.
pub(crate) fn late_tools() -> ModelCall {
    let search = ToolDefinition {
        name: "search".into(),
        description: "Searches the web.".into(),
        schema: Some(
            r#"{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}"#.into(),
        ),
    };
    let mut call = call([
        user([text("Hello")]),
        assistant([text("Hello.")]),
        user([text("Another tool is there now:"), Block::ToolDefinition(search)]),
        user([text("Who won?")]),
    ]);
    call.prepared.palette = vec![get_weather()];
    call
}

/// A picture that every wire with vision takes, and one that none does.
pub(crate) fn images() -> ModelCall {
    let image = |media_type: &str, description: Option<&str>| {
        Block::Image(Image {
            media_type: media_type.into(),
            bytes: Arc::from(*b"pixels"),
            description: description.map(str::to_owned),
        })
    };
    call([user([text("What is on these?"), image("image/png", None), image("image/tiff", Some("a zebra"))])])
}

/// A document, a picture sent as a file, and an archive.
pub(crate) fn files() -> ModelCall {
    let file = |media_type: &str, name: &str| {
        Block::File(File { media_type: media_type.into(), bytes: Arc::from(*b"bytes"), name: name.into() })
    };
    call([user([
        text("Summarise these."),
        file("application/pdf", "report_2.pdf"),
        file("image/jpeg", "photo.jpg"),
        file("application/zip", "all.zip"),
    ])])
}

/// Reasoning that was signed, withheld and not signed, in front of a call.
pub(crate) fn thinking() -> ModelCall {
    let signed = Reasoning { text: "The weather is needed.".into(), signature: Some("c2lnbmVk".into()) };
    let mut call = call([
        user([text("Do I need a coat in Paris?")]),
        assistant([
            Block::Reasoning(signed),
            Block::RedactedReasoning("d2l0aGhlbGQ=".into()),
            tool_call("call_1", "get_weather", r#"{"city":"Paris"}"#),
        ]),
        user([tool_result("call_1", r#"{"celsius":4}"#)]),
    ]);
    call.prepared.palette = vec![get_weather()];
    call.options.thinking = Thinking::Adaptive { effort: "medium" };
    call
}

/// A value that holds an artifact by reference, and the registry at the very end.
pub(crate) fn artifacts() -> ModelCall {
    let registry = "=== ARTIFACT REGISTRY ===\nlink:cite~ab12cd {\"title\":\"On Zebras\"}";
    call([
        user([Block::Json(r#"{"topic":"zebras","source":{"@ref":"«artifact:link:cite~ab12cd»"}}"#.into())]),
        volatile_user([text(registry)]),
    ])
}

/// A question whose answer has a type: instructions behind it, and the schema beside it.
pub(crate) fn typed_answer() -> ModelCall {
    let mut call = call([PreparedTurn {
        n_stable: 1,
        ..user([text("How large is Paris?"), text("Answer with one JSON object.")])
    }]);
    let schema = json!({
        "type": "object",
        "properties": { "inhabitants": { "type": "integer" } },
        "required": ["inhabitants"],
    });
    call.options.response_format = Some(ResponseFormat { name: "City<Size>".into(), schema });
    call
}

/// A reply of the wrong shape with an open call, which the correction answers first.
pub(crate) fn correction() -> ModelCall {
    let mut call = call([
        user([text("How large is Paris?")]),
        assistant([
            text(r#"{"inhabitants":"many"}"#),
            tool_call("call_1", "get_weather", "{\"city\": \"Par"),
        ]),
        user([
            failed_result("call_1", "The tool was not run: the reply was refused."),
            text("The reply was refused: inhabitants: must be an integer. Reply again."),
        ]),
    ]);
    call.prepared.palette = vec![get_weather()];
    call
}

/// A body with every member on a line of its own, in the order and with the bytes that are sent.
pub(crate) fn readable(body: &[u8]) -> String {
    let body = str::from_utf8(body).expect("a body is text");
    let (mut text, mut depth, mut in_string, mut escaped) = (String::new(), 0_usize, false, false);
    for (at, c) in body.char_indices() {
        let before = body[..at].chars().next_back();
        let opens = |c: Option<char>| matches!(c, Some('{' | '['));
        match c {
            _ if in_string => {
                in_string = escaped || c != '"';
                escaped = !escaped && c == '\\';
                text.push(c);
            }
            '}' | ']' => {
                depth -= 1;
                if !opens(before) {
                    line(&mut text, depth);
                }
                text.push(c);
            }
            _ => {
                if opens(before) {
                    line(&mut text, depth);
                }
                in_string = c == '"';
                depth += usize::from(opens(Some(c)));
                text.push(c);
                match c {
                    ',' => line(&mut text, depth),
                    ':' => text.push(' '),
                    _ => {}
                }
            }
        }
    }
    text
}

fn line(text: &mut String, depth: usize) {
    write!(text, "\n{:1$}", "", depth * 2).expect("a string takes everything");
}

pub(crate) fn get_weather() -> ToolDefinition {
    let schema = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;
    ToolDefinition {
        name: "get_weather".into(),
        description: "Current weather in a city.".into(),
        schema: Some(schema.into()),
    }
}

/// A call with the options that the cases share.
pub(crate) fn call(turns: impl IntoIterator<Item = PreparedTurn>) -> ModelCall {
    ModelCall {
        prepared: PreparedConversation {
            system: "Be brief.".into(),
            cache_system: true,
            turns: turns.into_iter().map(Arc::new).collect(),
            ..PreparedConversation::default()
        },
        sampling: Sampling {
            temperature: 0.7,
            top_p: 0.95,
            top_k: Some(20),
            min_p: Some(0.05),
            presence_penalty: Some(1.5),
            repetition_penalty: 1.1,
            repetition_context_size: 64,
        },
        options: CallOptions {
            max_tokens: Some(1_024),
            window_tokens: Some(8_192),
            ..CallOptions::default()
        },
    }
}

pub(crate) fn user<const N: usize>(blocks: [Block; N]) -> PreparedTurn {
    PreparedTurn { role: Role::User, blocks: blocks.into(), n_stable: N }
}

/// A turn that the next request does not hold again.
pub(crate) fn volatile_user<const N: usize>(blocks: [Block; N]) -> PreparedTurn {
    PreparedTurn { n_stable: 0, ..user(blocks) }
}

pub(crate) fn assistant<const N: usize>(blocks: [Block; N]) -> PreparedTurn {
    PreparedTurn { role: Role::Assistant, ..user(blocks) }
}

pub(crate) fn text(text: &str) -> Block {
    Block::Text(text.into())
}

pub(crate) fn tool_call(id: &str, name: &str, input: &str) -> Block {
    Block::ToolCall(ToolCall { id: id.into(), name: name.into(), input: input.into() })
}

pub(crate) fn tool_result(call_id: &str, text: &str) -> Block {
    Block::ToolResult(ToolResult { call_id: call_id.into(), text: text.into(), is_error: false })
}

pub(crate) fn failed_result(call_id: &str, text: &str) -> Block {
    Block::ToolResult(ToolResult { call_id: call_id.into(), text: text.into(), is_error: true })
}

#[test]
fn a_body_is_shown_with_its_own_bytes_and_order() {
    let body = r#"{"b":[1,{"a":"x, {y}: \"z\\"}],"e":{},"f":[],"a":null}"#;
    let shown = "{\n  \"b\": [\n    1,\n    {\n      \"a\": \"x, {y}: \\\"z\\\\\"\n    }\n  ],\n  \"e\": {},\n  \"f\": [],\n  \"a\": null\n}";
    assert_eq!(readable(body.as_bytes()), shown);
}
