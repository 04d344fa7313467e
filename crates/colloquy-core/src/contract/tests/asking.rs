use super::*;

/// All instructions there are, for each contract and under all signals.
fn all_instructions() -> Vec<String> {
    let contracts = [Contract::Text, typed::<Verdict>(), typed::<i32>(), typed::<Vec<Verdict>>()];
    let signals = [NATIVE, NO_TOOLS, TEXT].into_iter().flat_map(|signals| [signals, thinking(signals)]);
    let pairs = signals.flat_map(|signals| contracts.iter().map(move |contract| (contract, signals)));
    pairs.filter_map(|(contract, signals)| contract.instructions(signals)).collect()
}

/// The shape at the end of the instructions.
fn shape(contract: &Contract, signals: Signals) -> Value {
    let instructions = contract.instructions(signals).unwrap();
    serde_json::from_str(instructions.lines().last().unwrap()).unwrap()
}

fn fields(shape: &Value) -> Vec<&str> {
    shape["@fields"].as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn prose_is_asked_for_with_no_words_at_all() {
    for signals in [NATIVE, NO_TOOLS, thinking(NATIVE), Signals { has_tools: false, ..TEXT }] {
        assert_eq!(Contract::Text.instructions(signals), None);
        assert!(Contract::Text.streams(signals) && !Contract::Text.uses_notation(signals));
    }
}

// behaviours: 52
#[test]
fn where_the_wire_carries_tools_nothing_asks_for_calls_in_the_text() {
    let instructions = typed::<Verdict>().instructions(NATIVE).unwrap();
    assert!(!instructions.contains("tool_calls") && !instructions.contains("final_answer"), "{instructions}");
    assert!(instructions.contains("use your tools"), "{instructions}");
}

// behaviours: 53
#[test]
fn an_envelope_asks_for_calls_exactly_where_tools_are_text_and_there_are_any() {
    let asks_for_calls = |signals| {
        let instructions = typed::<Verdict>().instructions(signals).unwrap();
        instructions.contains("tool_calls")
    };
    assert!(asks_for_calls(TEXT));
    assert!(!asks_for_calls(Signals { has_tools: false, ..TEXT }));
    assert!(!asks_for_calls(NO_TOOLS));
    assert!(!typed::<Verdict>().instructions(NO_TOOLS).unwrap().contains("use your tools"));
}

// behaviours: 55
#[test]
fn where_a_reasoning_block_comes_nobody_is_asked_for_reasoning() {
    for signals in [NATIVE, NO_TOOLS, TEXT] {
        let instructions = typed::<Verdict>().instructions(thinking(signals)).unwrap();
        assert!(!instructions.contains("reasoning"), "{instructions}");
    }
    assert!(fields(&shape(&typed::<Verdict>(), NATIVE)).contains(&"reasoning"));
}

// behaviours: 56
#[test]
fn reasoning_is_left_out_of_an_envelope_too() {
    let envelope = shape(&typed::<Verdict>(), thinking(TEXT));
    assert_eq!(fields(&envelope), ["answer", "final_answer", "tool_calls"]);
    assert_eq!(fields(&envelope["@fields"]["answer"]), ["mark", "note", "sources", "verdict"]);
    let envelope = shape(&typed::<Verdict>(), TEXT);
    assert_eq!(fields(&envelope), ["answer", "final_answer", "reasoning", "tool_calls"]);
    assert!(fields(&envelope["@fields"]["answer"]).contains(&"reasoning"));
    assert_eq!(fields(&envelope["@fields"]["tool_calls"]), ["input", "name"]);
}

#[test]
fn reasoning_that_could_not_be_filled_in_is_asked_for() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Steps {
        reasoning: Vec<String>,
    }
    assert_eq!(fields(&shape(&typed::<Steps>(), thinking(NATIVE))), ["reasoning"]);
}

// behaviours: 57
#[test]
fn no_text_asks_for_a_thought_process() {
    let texts = all_instructions();
    assert_eq!(texts.len(), 20);
    for text in texts.iter().map(String::as_str).chain([LEGEND]) {
        let text = text.to_lowercase();
        for words in ["thought process", "chain of thought", "step by step", "think aloud"] {
            assert!(!text.contains(words), "{words} in {text}");
        }
    }
}

#[test]
fn prose_in_an_envelope_is_a_text_under_answer() {
    let envelope = shape(&Contract::Text, TEXT);
    assert_eq!(envelope["@fields"]["answer"]["@type"], "string");
    assert!(Contract::Text.uses_notation(TEXT) && !Contract::Text.streams(TEXT));
}

#[test]
fn a_value_that_is_no_object_is_asked_for_inside_one() {
    let wrapped = shape(&typed::<i32>(), NO_TOOLS);
    assert_eq!(wrapped["@fields"]["answer"], json!({ "@type": "integer", "@required": true }));
    let list = typed::<Vec<i32>>().instructions(NO_TOOLS).unwrap();
    assert!(list.starts_with("Reply with one JSON list and nothing else"), "{list}");
}

#[test]
fn a_server_is_held_to_the_shape_that_the_model_is_told() {
    let held = |contract: &Contract, signals| contract.reply_schema(signals, &[], ToolChoice::Auto);
    let schema = held(&typed::<Verdict>(), thinking(NO_TOOLS)).unwrap();
    assert_eq!(schema["required"], json!(["verdict", "mark", "sources"]));
    let schema = held(&typed::<i32>(), NO_TOOLS).unwrap();
    assert_eq!(schema["required"], json!(["answer"]));
    assert_eq!(held(&typed::<Verdict>(), NATIVE), None, "a reply may be calls");
    assert_eq!(held(&Contract::Text, NO_TOOLS), None);
}

#[test]
fn the_same_contract_is_asked_for_in_the_same_bytes() {
    assert_eq!(all_instructions(), all_instructions());
}

#[test]
fn the_legend_explains_every_key_and_its_example_holds() {
    for key in ["@type", "@description", "@required", "@examples", "@values", "@fields"] {
        assert!(LEGEND.contains(&format!("\n{key}: ")), "{key}");
    }
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Note {
        text: String,
    }
    #[derive(JsonSchema)]
    #[serde(rename_all = "UPPERCASE")]
    #[expect(dead_code, reason = "only described")]
    enum Mood {
        Good,
        Bad,
    }
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only described")]
    struct Review {
        title: String,
        #[schemars(range(min = 1, max = 5))]
        stars: u8,
        mood: Option<Mood>,
        notes: Option<Vec<Note>>,
    }
    let contract = typed::<Review>();
    let instance = LEGEND.lines().last().unwrap();
    let shown = LEGEND.lines().find(|line| line.starts_with("{\"@type\":\"Review\"")).unwrap();
    assert_eq!(contract.instructions(NO_TOOLS).unwrap().lines().last(), Some(shown));
    assert!(read(&contract, NO_TOOLS, &[text(instance)]).is_ok());
}

#[test]
fn a_correction_lists_what_is_wrong_and_asks_for_the_whole_reply() {
    let refused = Refused { violations: vec!["a is missing".into(), "b must be text, not a list".into()] };
    let expected = "Your reply cannot be used as it is:\n- a is missing\n- b must be text, not a list\n\
        Reply again, whole, in the shape that was asked for.";
    assert_eq!(Contract::correction(&refused), expected);
    assert_eq!(refused.to_string(), "a is missing; b must be text, not a list");
}
