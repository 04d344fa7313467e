use super::*;
use crate::block::Reasoning;

fn verdict() -> Value {
    json!({ "verdict": "it holds", "mark": "CONFIRMED", "sources": [], "reasoning": "two papers agree" })
}

fn thought(text: &str) -> Block {
    Block::Reasoning(Reasoning { text: text.to_owned(), signature: None })
}

#[test]
fn prose_is_the_answer_as_it_was_written() {
    let reply = [thought("hm"), text(" {not json} "), text("at all")];
    let reading = read(&Contract::Text, NATIVE, &reply).unwrap();
    assert_eq!(reading, answered(json!(" {not json} at all"), "hm"));
}

// behaviours: 60
#[test]
fn calls_that_came_as_such_are_kept_under_their_ids_whoever_they_call() {
    for signals in [NATIVE, TEXT] {
        let reply = [call("toolu_1", "search", "{\"q\":1}"), call("toolu_2", "unheard_of", "{broken")];
        let reading = read(&typed::<Verdict>(), signals, &reply).unwrap();
        let calls: Vec<Block> = reading.calls.iter().cloned().map(Block::ToolCall).collect();
        assert_eq!(calls, reply);
        assert!(!reading.is_final);
    }
}

// behaviours: 64
#[test]
fn a_reply_with_a_call_is_never_final_whatever_it_says() {
    let final_answer = json!({ "final_answer": true, "answer": verdict() }).to_string();
    for contract in [Contract::Text, typed::<Verdict>()] {
        for signals in [NATIVE, TEXT] {
            let reading =
                read(&contract, signals, &[text(&final_answer), call("1", "search", "{}")]).unwrap();
            assert!(!reading.is_final && reading.answer.is_none() && reading.calls.len() == 1);
            assert_eq!(reading.reasoning, "", "JSON is no reasoning");
        }
    }
}

// behaviours: 65
#[test]
fn calls_alone_are_not_final_and_nothing_at_all_is_final_without_an_answer() {
    for signals in [NATIVE, NO_TOOLS, TEXT] {
        let calls = read(&typed::<Verdict>(), signals, &[call("1", "search", "{}")]).unwrap();
        assert!(!calls.is_final && calls.answer.is_none());
        for reply in [vec![], vec![text(" \n")], vec![thought("hm")]] {
            let nothing = read(&typed::<Verdict>(), signals, &reply).unwrap();
            assert!(nothing.is_final && nothing.answer.is_none() && nothing.calls.is_empty());
        }
    }
}

/// Reference § 29.20: the original raised the answer's error before any tool ran.
#[test]
fn an_answer_of_a_refused_shape_does_not_keep_the_calls_beside_it_from_running() {
    let wrong = json!({ "final_answer": true, "answer": { "verdict": 7 } }).to_string();
    for signals in [NATIVE, TEXT] {
        for words in [&wrong[..], "{\"verdict\": 7}", "{{{", "let me look"] {
            let reading =
                read(&typed::<Verdict>(), signals, &[text(words), call("1", "search", "{}")]).unwrap();
            assert_eq!(reading.calls.len(), 1, "{words}");
        }
    }
}

#[test]
fn a_bare_object_is_the_answer() {
    let reading = read(&typed::<Verdict>(), NATIVE, &[text(&verdict().to_string())]).unwrap();
    assert_eq!(reading, answered(verdict(), ""));
}

// behaviours: 72
#[test]
fn the_reasoning_is_what_was_thought_else_the_prose_around_the_answer() {
    let reply = text(&format!("Both agree [1].\n```json\n{}\n```\nThat is all.", verdict()));
    let reading = read(&typed::<Verdict>(), NATIVE, std::slice::from_ref(&reply)).unwrap();
    assert_eq!(reading, answered(verdict(), "Both agree [1].\nThat is all."));
    let reading = read(&typed::<Verdict>(), NATIVE, &[thought("they agree"), reply]).unwrap();
    assert_eq!(reading, answered(verdict(), "they agree"));
}

// behaviours: 73
#[test]
fn json_is_never_the_reasoning() {
    for reply in [format!("{}", verdict()), format!("{} {}", json!({ "a": 1 }), verdict())] {
        let reading = read(&typed::<Verdict>(), NO_TOOLS, &[text(&reply)]).unwrap();
        assert_eq!(reading.reasoning, "", "{reply}");
    }
    for words in ["{\"a\": 1}", "[{\"a\": 1}]", "{\"a\": [1, 2", "```json\n{\"a\": 1}\n```"] {
        let reading = read(&typed::<Verdict>(), NATIVE, &[text(words), call("1", "search", "{}")]).unwrap();
        assert_eq!(reading.reasoning, "", "{words}");
    }
    let reading =
        read(&typed::<Verdict>(), NATIVE, &[text("I look [it] up"), call("1", "search", "{}")]).unwrap();
    assert_eq!(reading.reasoning, "I look [it] up");
}

// behaviours: 68
#[test]
fn a_word_that_an_enum_does_not_have_is_refused_by_path_with_those_it_has() {
    let mut wrong = verdict();
    wrong["mark"] = "MAYBE".into();
    let violations = read(&typed::<Verdict>(), NATIVE, &[text(&wrong.to_string())]).unwrap_err();
    assert_eq!(violations, ["mark must be one of CONFIRMED, REFUTED, not another text"]);
}

#[test]
fn everything_that_is_wrong_is_listed_and_nothing_quoted() {
    let wrong = json!({ "verdict": ["hush"], "mark": "hush", "sources": [1] }).to_string();
    let violations = read(&typed::<Verdict>(), NATIVE, &[text(&wrong)]).unwrap_err();
    let expected = [
        "verdict must be text, not a list",
        "mark must be one of CONFIRMED, REFUTED, not another text",
        "sources[0] must be text, not a number",
        "reasoning is missing: it must be text",
    ];
    assert_eq!(violations, expected);
}

// behaviours: 71
#[test]
fn a_required_text_that_is_blank_is_missing_and_a_required_list_may_be_empty() {
    let mut blank = verdict();
    blank["verdict"] = " \n".into();
    let violations = read(&typed::<Verdict>(), NATIVE, &[text(&blank.to_string())]).unwrap_err();
    assert_eq!(violations, ["verdict is missing: it must be text that is not blank"]);
    blank["verdict"] = "x".into();
    blank["note"] = "".into();
    assert!(read(&typed::<Verdict>(), NATIVE, &[text(&blank.to_string())]).is_ok(), "note is not required");
}

#[test]
fn blank_texts_are_found_at_any_depth_up_to_the_limit() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Part {
        name: String,
        parts: Vec<Part>,
    }
    let leaf = |name: &str| json!({ "name": name, "parts": [] });
    let whole = json!({ "name": "w", "parts": [leaf("a"), { "name": "b", "parts": [leaf(" ")] }] });
    let violations = read(&typed::<Part>(), NO_TOOLS, &[text(&whole.to_string())]).unwrap_err();
    assert_eq!(violations, ["parts[1].parts[0].name is missing: it must be text that is not blank"]);
    let many = json!({ "name": "w", "parts": vec![leaf(""); ERRORS_MAX + 1] });
    let violations = read(&typed::<Part>(), NO_TOOLS, &[text(&many.to_string())]).unwrap_err();
    assert_eq!(violations.len(), ERRORS_MAX);
}

#[test]
fn a_reply_without_json_is_refused_also_when_it_was_thought_about() {
    for reply in [vec![text("It holds.")], vec![thought("hm"), text("It holds.")]] {
        let violations = read(&typed::<Verdict>(), thinking(NATIVE), &reply).unwrap_err();
        assert_eq!(violations, ["the reply holds no JSON object or list"]);
    }
    let violations = read(&typed::<Verdict>(), NATIVE, &[text("{\"verdict\" \"hush\"}")]).unwrap_err();
    assert_eq!(
        violations,
        ["the JSON of the reply cannot be read: a colon is missing after a name, at byte 11 of 18"]
    );
}

#[test]
fn reasoning_that_was_not_asked_for_is_filled_in_with_what_was_thought() {
    let mut written = verdict();
    written.as_object_mut().unwrap().remove("reasoning");
    let wrapped = json!({ "Verdict": written });
    for reply in [&written, &wrapped] {
        let reply = [thought("they agree"), text(&reply.to_string())];
        let answer = read(&typed::<Verdict>(), thinking(NATIVE), &reply).unwrap().answer.unwrap();
        assert_eq!(answer["reasoning"], "they agree");
        assert_eq!(answer["verdict"], "it holds");
    }
    let answer = read(&typed::<Verdict>(), thinking(NATIVE), &[text(&written.to_string())]).unwrap().answer;
    assert_eq!(answer.unwrap()["reasoning"], "", "a block without text still is one");
    let own = read(&typed::<Verdict>(), thinking(NATIVE), &[text(&verdict().to_string())]).unwrap().answer;
    assert_eq!(own, Some(verdict()), "what the model wrote anyway is kept");
    assert!(read(&typed::<Verdict>(), NATIVE, &[text(&written.to_string())]).is_err(), "it was asked for");
}

#[test]
fn a_value_that_is_no_object_is_read_inside_one_and_alone() {
    for reply in ["{\"answer\": 42}", "So: {\"answer\": \"42\"}", "42", " 42\n"] {
        let reading = read(&typed::<i32>(), NO_TOOLS, &[text(reply)]).unwrap();
        assert_eq!(reading.answer, Some(json!(42)), "{reply}");
    }
    for reply in ["{\"value\": 42}", "{\"answer\": 4.2}", "\"many\""] {
        let violations = read(&typed::<i32>(), NO_TOOLS, &[text(reply)]).unwrap_err();
        assert!(violations[0].starts_with("answer must be a whole number"), "{violations:?}");
    }
    assert_eq!(
        read(&typed::<i32>(), NO_TOOLS, &[text("about 42")]).unwrap_err(),
        ["the reply holds no JSON object or list"]
    );
    let nothing = read(&typed::<Option<Verdict>>(), NO_TOOLS, &[text("{\"answer\": null}")]).unwrap();
    assert_eq!(nothing.answer, Some(Value::Null));
}

#[test]
fn a_list_is_read_beside_an_object_and_is_no_reasoning() {
    let reading = read(&typed::<Vec<i32>>(), NO_TOOLS, &[text("As in {\"a\": 1}: [1, 2]")]).unwrap();
    assert_eq!(reading, answered(json!([1, 2]), "As in\n:"));
}
