use super::*;
use crate::seat::ToolWire;

const TEXT: Signals = Signals { tools: ToolWire::Text, has_tools: true, thinking_active: false };

fn tool(name: &str, schema: Option<&str>) -> ToolDefinition {
    ToolDefinition { name: name.into(), description: String::new(), schema: schema.map(str::to_owned) }
}

#[test]
fn an_envelope_is_an_answer_or_calls_of_the_tools_there_are() {
    let search = tool("search", Some(r#"{"type":"object","properties":{"q":{"type":"string"}}}"#));
    let deep = tool("deep", Some(r##"{"$ref":"#/$defs/Node","$defs":{"Node":{}}}"##));
    let schema = of(&Contract::Text, TEXT, &[&search, &deep, &tool("now", None)], ToolChoice::Auto).unwrap();
    let [answer, calls] = schema["anyOf"].as_array().unwrap().as_slice() else { panic!("{schema}") };
    assert_eq!(answer["properties"]["answer"], json!({"type": "string"}));
    let calls = calls["properties"]["tool_calls"]["items"]["anyOf"].as_array().unwrap();
    let names: Vec<&Value> = calls.iter().map(|call| &call["properties"]["name"]["const"]).collect();
    assert_eq!(names, ["search", "deep", "now"]);
    assert_eq!(calls[0]["properties"]["input"]["properties"]["q"], json!({"type": "string"}));
    // A reference to the root of another document would lead nowhere.
    assert_eq!(calls[1]["properties"]["input"], json!({}));
    assert_eq!(calls[2]["required"], json!(["input", "name"]));
}

#[test]
fn a_reply_that_must_be_an_answer_cannot_be_calls_and_the_reverse() {
    let schema = of(&Contract::Text, TEXT, &[&tool("search", None)], ToolChoice::None).unwrap();
    assert_eq!(schema["properties"]["final_answer"], json!({"const": true}));
    assert_eq!(schema["additionalProperties"], json!(false));
    let schema = of(&Contract::Text, TEXT, &[&tool("search", None)], ToolChoice::Required).unwrap();
    assert_eq!(schema["properties"]["final_answer"], json!({"const": false}));
}

#[test]
fn prose_and_calls_on_a_wire_that_carries_tools_are_held_to_nothing() {
    let native = Signals { tools: ToolWire::Native, ..TEXT };
    assert_eq!(of(&Contract::Text, native, &[&tool("search", None)], ToolChoice::Auto), None);
}
