//! Content blocks: the eleven tags, and one that is only read.

use colloquy_core::{
    block::{Block, File, Image, Reasoning, Skill, ToolCall, ToolResult, ValueBlock},
    tool::ToolDefinition,
};

use super::{damaged, newer};
use crate::record::{decode_blocks, encode_blocks};

/// Every tag with all that it can hold, and what is written of it.
fn every_block() -> [(Block, &'static str); 15] {
    let tool = |schema: Option<&str>| {
        Block::ToolDefinition(ToolDefinition {
            name: "web".into(),
            description: "Searches.".into(),
            schema: schema.map(str::to_owned),
        })
    };
    let image = |bytes: &[u8], description: Option<&str>| {
        let description = description.map(str::to_owned);
        Block::Image(Image { media_type: "image/png".into(), bytes: bytes.into(), description })
    };
    let reasoning = |text: &str, signature: Option<&str>| {
        Block::Reasoning(Reasoning { text: text.into(), signature: signature.map(str::to_owned) })
    };
    [
        (Block::Text("Grüße\n\u{0}".into()), r#"{"t":"text","text":"Grüße\n\u0000"}"#),
        (
            Block::Value(ValueBlock { type_name: "Note".into(), json: "{}".into(), shown: "[]".into() }),
            r#"{"t":"value","type":"Note","json":"{}","shown":"[]"}"#,
        ),
        (Block::Json(r#"{ "z":1.0}"#.into()), r#"{"t":"json","text":"{ \"z\":1.0}"}"#),
        (
            tool(Some(r#"{"type":"object"}"#)),
            r#"{"t":"tool","name":"web","description":"Searches.","schema":"{\"type\":\"object\"}"}"#,
        ),
        (tool(None), r#"{"t":"tool","name":"web","description":"Searches."}"#),
        (
            image(&[0, 255, 62, 63], Some("a cat")),
            r#"{"t":"image","media":"image/png","bytes":"AP8+Pw==","description":"a cat"}"#,
        ),
        (image(&[], None), r#"{"t":"image","media":"image/png","bytes":""}"#),
        (
            Block::File(File {
                media_type: "application/pdf".into(),
                bytes: [37, 80, 68].as_slice().into(),
                name: "a.pdf".into(),
            }),
            r#"{"t":"file","media":"application/pdf","name":"a.pdf","bytes":"JVBE"}"#,
        ),
        (
            Block::ToolCall(ToolCall {
                id: "c1".into(),
                name: "web".into(),
                input: r#"{ "q" : 1.50"#.into(),
            }),
            r#"{"t":"call","id":"c1","name":"web","arguments":"{ \"q\" : 1.50"}"#,
        ),
        (
            Block::ToolResult(ToolResult { call_id: "c1".into(), text: "rain".into(), is_error: true }),
            r#"{"t":"tool_result","id":"c1","text":"rain","is_error":true}"#,
        ),
        (reasoning("hm", None), r#"{"t":"reasoning","text":"hm"}"#),
        (reasoning("", Some("EqQ/+==")), r#"{"t":"reasoning","text":"","signature":"EqQ/+=="}"#),
        (Block::RedactedReasoning("EmwKA/+=".into()), r#"{"t":"redacted","data":"EmwKA/+="}"#),
        (
            Block::Skill(Skill { name: "sums".into(), description: String::new(), body: "Carry.".into() }),
            r#"{"t":"skill","name":"sums","description":"","body":"Carry."}"#,
        ),
        (Block::Text(String::new()), r#"{"t":"text","text":""}"#),
    ]
}

fn message_of(stored: &str) -> String {
    format!(r#"{{"v":1,"blocks":[{stored}]}}"#)
}

#[test]
fn every_block_is_written_and_read_as_it_always_was() {
    for (block, stored) in every_block() {
        assert_eq!(encode_blocks(std::slice::from_ref(&block)), message_of(stored));
        assert_eq!(decode_blocks(&message_of(stored)).unwrap(), [block]);
    }
    let (blocks, stored): (Vec<_>, Vec<_>) = every_block().into_iter().unzip();
    assert_eq!(decode_blocks(&message_of(&stored.join(","))).unwrap(), blocks);
    assert_eq!(decode_blocks(&message_of("")).unwrap(), []);
}

#[test]
fn calls_that_were_stored_with_a_json_value_are_still_read() {
    for (input, arguments) in [
        (r#"{"q":1.5,"deep":[null,{"é":"\u0000"}]}"#, r#"{"deep":[null,{"é":"\u0000"}],"q":1.5}"#),
        ("null", "null"),
        (r#""text""#, r#""text""#),
        ("1e300", "1e300"),
    ] {
        let stored = format!(r#"{{"t":"tool_call","id":"c1","name":"web","input":{input}}}"#);
        let blocks = decode_blocks(&message_of(&stored)).unwrap();
        let [Block::ToolCall(call)] = blocks.as_slice() else { panic!("{blocks:?}") };
        assert_eq!((call.id.as_str(), call.name.as_str()), ("c1", "web"));
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&call.input), value(arguments));
        // From now on it is stored as it was read.
        assert_eq!(decode_blocks(&encode_blocks(&blocks)).unwrap(), blocks);
    }
}

#[test]
fn a_typed_value_of_a_type_that_nobody_knows_any_more_keeps_its_json() {
    let stored = message_of(r#"{"t":"value","type":"Forgotten","json":"{ \"a\":1.0}","shown":"[]"}"#);
    let value =
        ValueBlock { type_name: "Forgotten".into(), json: r#"{ "a":1.0}"#.into(), shown: "[]".into() };
    assert_eq!(decode_blocks(&stored).unwrap(), [Block::Value(value)]);
}

// behaviours: 240
#[test]
fn an_unknown_block_or_version_is_never_an_empty_message() {
    newer(decode_blocks(r#"{"v":2,"blocks":"of another shape"}"#));
    newer(decode_blocks(r#"{"v":1,"blocks":[{"t":"text","text":"a"},{"t":"hologram","x":1}]}"#));
    // What a newer version adds to a tag that is known is ignored: it would have raised the version.
    let more = r#"{"t":"text","text":"a","later":[{}]}"#;
    assert_eq!(decode_blocks(&message_of(more)).unwrap(), [Block::Text("a".into())]);
}

#[test]
fn damaged_blocks_are_told_from_newer_ones_and_their_text_is_not_quoted() {
    damaged(decode_blocks(""));
    damaged(decode_blocks(r#"{"blocks":[]}"#));
    let error = decode_blocks(r#"{"v":1,"blocks":"my secret"}"#).unwrap_err();
    assert!(!error.to_string().contains("secret"), "{error}");
    let error = decode_blocks(&message_of(r#"{"t":"file","media":"a/b","name":"n","bytes":"secret!"}"#));
    let error = error.unwrap_err().to_string();
    assert!(error.ends_with("the bytes of a block are not base64"), "{error}");
}

#[test]
fn a_block_without_one_of_its_members_is_damaged() {
    for (_, stored) in every_block() {
        let whole: serde_json::Map<_, _> = serde_json::from_str(stored).unwrap();
        for member in whole.keys().filter(|member| *member != "t") {
            let mut lacking = whole.clone();
            lacking.remove(member);
            let read = decode_blocks(&message_of(&serde_json::to_string(&lacking).unwrap()));
            if is_optional(&whole["t"], member) {
                assert_eq!(read.unwrap().len(), 1);
            } else {
                let error = read.unwrap_err().to_string();
                assert!(error.ends_with(&format!("a block has no {member}")), "{error}");
            }
        }
    }
    damaged(decode_blocks(&message_of(r#"{"t":"tool_call","id":"a","name":"b"}"#)));
}

fn is_optional(tag: &serde_json::Value, member: &str) -> bool {
    [("tool", "schema"), ("image", "description"), ("reasoning", "signature")]
        .iter()
        .any(|optional| *optional == (tag.as_str().unwrap(), member))
}
