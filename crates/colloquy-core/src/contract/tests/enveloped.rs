use super::*;

fn reply(envelope: &Value) -> Vec<Block> {
    vec![text(&envelope.to_string())]
}

fn calls(calls: Value) -> Result<Reading, Vec<String>> {
    read(&typed::<Verdict>(), TEXT, &reply(&json!({ "final_answer": false, "tool_calls": calls })))
}

#[test]
fn an_envelope_holds_the_answer_and_why() {
    let answer = json!({ "verdict": "v", "mark": "REFUTED", "sources": ["a"], "reasoning": "own" });
    let envelope = json!({ "final_answer": true, "answer": answer, "reasoning": "two sources" });
    assert_eq!(read(&typed::<Verdict>(), TEXT, &reply(&envelope)).unwrap(), answered(answer, "two sources"));
    let envelope = json!({ "final_answer": "yes", "answer": "prose", "tool_calls": [], "reasoning": null });
    assert_eq!(read(&Contract::Text, TEXT, &reply(&envelope)).unwrap(), answered(json!("prose"), ""));
}

// behaviours: 61
#[test]
fn calls_written_as_text_get_ids_of_their_name_and_place() {
    let reading = calls(json!([
        { "name": "search", "input": { "q": "b", "a": 1 } },
        { "name": "fetch" },
        { "name": " search ", "id": "mine", "input": "{\"q\": 2}" },
    ]));
    let reading = reading.unwrap();
    let call = |id: &str, name: &str, input: &str| ToolCall {
        id: id.into(),
        name: name.into(),
        input: input.into(),
    };
    let expected = [
        call("search#1", "search", r#"{"a":1,"q":"b"}"#),
        call("fetch#2", "fetch", "{}"),
        call("search#3", "search", r#"{"q": 2}"#),
    ];
    assert_eq!(reading.calls, expected);
    assert!(!reading.is_final && reading.answer.is_none());
}

#[test]
fn calls_of_both_kinds_in_one_reply_have_ids_of_their_own() {
    let written = json!({ "final_answer": false, "tool_calls": [{ "name": "search", "input": {} }] });
    let mixed = [call("toolu_1", "fetch", "{}"), text(&written.to_string())];
    let reading = read(&typed::<Verdict>(), TEXT, &mixed).unwrap();
    let ids: Vec<&str> = reading.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["toolu_1", "search#2"]);
}

// behaviours: 63
#[test]
fn a_call_written_without_a_name_or_with_an_unknown_one_is_refused() {
    let missing = "tool_calls[0].name is missing";
    for wrong in [json!([{ "input": {} }]), json!([{ "name": null }]), json!([{ "name": " " }])] {
        assert!(calls(wrong.clone()).unwrap_err()[0].starts_with(missing), "{wrong}");
    }
    let violations = calls(json!([{ "name": "search" }, { "name": "hush" }])).unwrap_err();
    assert_eq!(violations, ["tool_calls[1].name must be the name of a declared tool"]);
    let many = calls(vec![json!({ "name": "hush" }); ERRORS_MAX + 1].into()).unwrap_err();
    assert_eq!(many.len(), ERRORS_MAX);
}

#[test]
fn calls_make_an_envelope_that_says_final_not_final() {
    let envelope =
        json!({ "final_answer": true, "answer": { "verdict": 7 }, "tool_calls": [{ "name": "search" }] });
    let reading = read(&typed::<Verdict>(), TEXT, &reply(&envelope)).unwrap();
    assert!(!reading.is_final && reading.answer.is_none() && reading.calls.len() == 1);
}

// behaviours: 67
#[test]
fn an_answer_that_is_no_text_is_refused_the_same_way_whatever_it_is() {
    for contract in [Contract::Text, typed::<String>()] {
        let kinds = [
            (json!({ "hush": 1 }), "an object"),
            (json!(["hush"]), "a list"),
            (json!(1), "a number"),
            (json!(true), "true or false"),
        ];
        for (wrong, found) in kinds {
            let envelope = json!({ "final_answer": true, "answer": wrong });
            let violations = read(&contract, TEXT, &reply(&envelope)).unwrap_err();
            assert_eq!(violations, [format!("answer must be text, not {found}")]);
        }
        let empty = json!({ "final_answer": true, "answer": "" });
        assert_eq!(read(&contract, TEXT, &reply(&empty)).unwrap(), answered(json!(""), ""));
    }
}

// behaviours: 69
#[test]
fn an_answer_that_is_null_or_absent_is_no_answer_and_no_error() {
    for envelope in [json!({ "final_answer": true, "answer": null }), json!({ "final_answer": true })] {
        for contract in [Contract::Text, typed::<Verdict>()] {
            let reading = read(&contract, TEXT, &reply(&envelope)).unwrap();
            assert_eq!(reading.answer, None);
            assert!(reading.calls.is_empty());
        }
    }
}

#[test]
fn an_answer_that_is_not_final_is_none_yet_and_is_not_checked() {
    let envelope = json!({ "final_answer": false, "answer": { "verdict": 7 }, "reasoning": "so far" });
    let reading = read(&typed::<Verdict>(), TEXT, &reply(&envelope)).unwrap();
    assert_eq!(reading, Reading { answer: None, calls: vec![], reasoning: "so far".into(), is_final: false });
}

#[test]
fn an_envelope_that_says_nothing_of_being_final_is_refused() {
    let violations = read(&typed::<Verdict>(), TEXT, &reply(&json!({ "verdict": "v" }))).unwrap_err();
    assert_eq!(violations, ["final_answer is missing: it must be true or false"]);
    let violations = read(&Contract::Text, TEXT, &[text("It holds.")]).unwrap_err();
    assert_eq!(violations, ["the reply holds no JSON object or list"]);
}

#[test]
fn a_field_of_the_answer_is_named_by_its_path_in_the_answer() {
    let answer = json!({ "verdict": "v", "mark": "hush", "sources": [], "reasoning": "r" });
    let envelope = json!({ "final_answer": true, "answer": answer });
    let violations = read(&typed::<Verdict>(), TEXT, &reply(&envelope)).unwrap_err();
    assert_eq!(violations, ["mark must be one of CONFIRMED, REFUTED, not another text"]);
}

#[test]
fn reasoning_comes_from_the_block_then_the_envelope_then_the_prose() {
    let envelope = |reasoning: &str| {
        let answer = json!({ "final_answer": true, "answer": "a", "reasoning": reasoning });
        text(&format!("Well. {answer}"))
    };
    let reasoning = |reply: &[Block]| read(&Contract::Text, TEXT, reply).unwrap().reasoning;
    assert_eq!(reasoning(&[Block::reasoning("thought"), envelope("said")]), "thought");
    assert_eq!(reasoning(&[Block::reasoning(" "), envelope("said")]), "said");
    assert_eq!(reasoning(&[envelope(" ")]), "Well.");
}

#[test]
fn the_bytes_of_a_tools_arguments_are_json_that_reads_back() {
    let input = json!({ "text": "a \"b\" \\ \u{1} é", "n": 1.5, "deep": [{ "x": null }] });
    let reading = calls(json!([{ "name": "search", "input": input }])).unwrap();
    assert_eq!(lenient::parse_json(&reading.calls[0].input), Ok(input));
}
