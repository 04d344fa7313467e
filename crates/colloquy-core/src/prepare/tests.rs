use super::*;
use crate::{
    block::{File, Reasoning, ToolResult, ValueBlock},
    curated::{ERROR_SENTINEL, INTERRUPTED_ANSWER},
    fixtures::{call, message, result, said},
    head::Head,
    message::Kind,
    repair::repair,
};

mod properties;

fn audience() -> Audience {
    Audience {
        control_tokens: Arc::new(ControlTokens::KnownMarkers),
        origin: Some(origin("m")),
        cache_system: true,
    }
}

fn origin(model: &str) -> Origin {
    Origin { llm_id: None, dialect: "anthropic".into(), model: model.into() }
}

fn head(put: &[(&str, &str)]) -> Arc<RenderedHead> {
    let mut head = Head::default();
    for (key, value) in put {
        let _ = head.put(key, text(value));
    }
    head.render(&ControlTokens::KnownMarkers)
}

fn text(text: &str) -> Block {
    Block::Text(text.to_owned())
}

fn tool(name: &str, description: &str) -> ToolDefinition {
    ToolDefinition { name: name.into(), description: description.into(), schema: None }
}

fn prepare(messages: &[Message], tail: Tail<'_>) -> PreparedConversation {
    Preparer::default().prepare(&head(&[]), messages, &audience(), tail)
}

/// The turns as a reviewer reads them, one line each; a bar stands before the volatile tail.
fn lines(messages: &[Message], tail: Tail<'_>) -> Vec<String> {
    prepare(messages, tail).turns.iter().map(|turn| line(turn)).collect()
}

fn line(turn: &PreparedTurn) -> String {
    let mut line = format!("{:?}", turn.role);
    for (n, block) in turn.blocks.iter().enumerate() {
        let bar = if n == turn.n_stable { " |" } else { "" };
        let shown = match block {
            Block::Text(text) => format!("{text:?}"),
            Block::Json(json) => format!("json {json}"),
            Block::ToolCall(call) => format!("call {} {}", call.name, call.input),
            Block::ToolResult(result) => format!("result {} {:?}", result.call_id, result.text),
            Block::ToolDefinition(tool) => format!("tool {:?}", tool.description),
            Block::Reasoning(reasoning) => format!("reasoning {:?}", reasoning.text),
            Block::RedactedReasoning(data) => format!("redacted {data}"),
            Block::Image(image) => format!("image {:?}", image.description),
            Block::File(file) => format!("file {:?}", file.name),
            Block::Skill(skill) => format!("skill {:?}", skill.body),
            Block::Value(_) => panic!("a value reached a request"),
        };
        line.push_str(&format!("{bar} {shown}"));
    }
    line
}

fn branch_lines(messages: &[Message]) -> Vec<String> {
    lines(messages, Tail::default())
}

// behaviours: 12, 13
#[test]
fn the_objective_is_the_system_text_and_is_in_no_turn() {
    let head = head(&[("task", "Answer in verse."), ("manner", "Be brief.")]);
    let branch = [said(Kind::Question, "q")];
    let prepared = Preparer::default().prepare(&head, &branch, &audience(), Tail::default());
    assert_eq!(prepared.system, "Answer in verse.\n\nBe brief.");
    assert!(prepared.has_system_text());
    assert_eq!(prepared.turns.iter().map(|turn| line(turn)).collect::<Vec<_>>(), [r#"User "q""#]);
    assert!(!prepare(&branch, Tail::default()).has_system_text());
}

// behaviours: 29
#[test]
fn late_tools_stand_in_their_turn_and_among_all_tools() {
    let mut head = Head::default();
    head.declare(Arc::new(tool("first", "d")));
    head.reconcile(&[], crate::head::Notation::Unused);
    let rendered = head.render(&ControlTokens::KnownMarkers);
    let mut branch = vec![said(Kind::Question, "q"), said(Kind::Answer, "a")];
    head.declare(Arc::new(tool("second", "d")));
    branch.push(message(Kind::Announcement, head.reconcile(&branch, crate::head::Notation::Unused)));
    branch.push(said(Kind::Question, "q2"));
    let prepared = Preparer::default().prepare(&rendered, &branch, &audience(), Tail::default());
    assert_eq!(prepared.palette, [tool("first", "d")]);
    assert_eq!(prepared.all_tools(), [&tool("first", "d"), &tool("second", "d")]);
    let late = |turn: &PreparedTurn| {
        turn.blocks.iter().filter(|block| matches!(block, Block::ToolDefinition(_))).count()
    };
    assert_eq!(prepared.turns.iter().map(|turn| late(turn)).collect::<Vec<_>>(), [0, 0, 1, 0]);
}

#[test]
fn of_two_definitions_of_a_name_the_later_is_offered_in_the_place_of_the_first() {
    let definitions = vec![Block::ToolDefinition(tool("b", "old")), Block::ToolDefinition(tool("a", "new"))];
    let mut prepared = prepare(&[message(Kind::Announcement, definitions)], Tail::default());
    prepared.palette = vec![tool("a", "old"), tool("c", "d")];
    assert_eq!(prepared.all_tools(), [&tool("a", "new"), &tool("c", "d"), &tool("b", "old")]);
}

// behaviours: 41
#[test]
fn the_flag_decides_whether_the_system_content_is_cached_and_not_its_existence() {
    for (text, cache_system) in [("task", false), ("task", true), ("", true)] {
        let audience = Audience { cache_system, ..audience() };
        let head = head(&[("task", text)]);
        let prepared = Preparer::default().prepare(&head, &[], &audience, Tail::default());
        assert_eq!(prepared.cache_system, cache_system);
    }
}

// behaviours: 43, 44
#[test]
fn the_registry_is_a_user_turn_of_its_own_at_the_end_that_anchors_no_cache() {
    let branch = [said(Kind::Question, "q")];
    let tail = Tail { registry: Some("=== ARTIFACTS <|end|>"), instructions: Some("As JSON.") };
    assert_eq!(
        lines(&branch, tail),
        [r#"User "q" | "As JSON.""#, r#"User | "=== ARTIFACTS <\u{2060}|end|>""#]
    );
    let blank = Tail { registry: Some(" "), instructions: Some("\n") };
    assert_eq!(lines(&branch, blank), [r#"User "q""#]);
}

// Reference § 29, 6: the original rendered the instructions of every old question again.
#[test]
fn instructions_stand_on_the_message_being_answered_and_on_no_other() {
    let tail = Tail { instructions: Some("As JSON."), registry: None };
    let mut branch = vec![said(Kind::Question, "q")];
    assert_eq!(lines(&branch, tail), [r#"User "q" | "As JSON.""#]);
    branch.extend([said(Kind::Answer, "a"), said(Kind::Question, "q2")]);
    assert_eq!(lines(&branch, tail), [r#"User "q""#, r#"Assistant "a""#, r#"User "q2" | "As JSON.""#]);
    branch.push(said(Kind::Answer, "a2"));
    assert_eq!(lines(&branch, tail)[3..], [r#"Assistant "a2""#, r#"User | "As JSON.""#]);
    assert_eq!(lines(&[], tail), [r#"User | "As JSON.""#]);
}

#[test]
fn instructions_never_reach_the_turn_that_is_kept() {
    let branch = [said(Kind::Question, "q")];
    let mut preparer = Preparer::default();
    let tail = Tail { instructions: Some("As JSON."), registry: None };
    let asked = preparer.prepare(&head(&[]), &branch, &audience(), tail);
    let plain = preparer.prepare(&head(&[]), &branch, &audience(), Tail::default());
    assert_eq!(line(&asked.turns[0]), r#"User "q" | "As JSON.""#);
    assert_eq!(line(&plain.turns[0]), r#"User "q""#);
}

// behaviours: 45
#[test]
fn a_value_is_shown_as_its_short_json() {
    let shown = r#"{"page":{"@ref":"«artifact:link~a1b2c3»"}}"#;
    let value =
        ValueBlock { type_name: "T".into(), json: r#"{"page":"<html>"}"#.into(), shown: shown.into() };
    assert_eq!(
        branch_lines(&[message(Kind::Question, vec![Block::Value(value)])]),
        [format!("User json {shown}")]
    );
}

// behaviours: 47
#[test]
fn a_question_of_text_is_one_text_block() {
    assert_eq!(branch_lines(&[said(Kind::Question, "q")]), [r#"User "q""#]);
}

fn signed(text: &str) -> Block {
    Block::Reasoning(Reasoning { text: text.into(), signature: Some("sig".into()) })
}

// behaviours: 48
#[test]
fn an_answer_goes_back_to_its_own_model_with_its_blocks_in_order() {
    let blocks =
        vec![signed("hm"), Block::RedactedReasoning("x".into()), text("so"), call("c", "search", "{}")];
    let answer = Message { origin: Some(origin("m")), ..message(Kind::Call, blocks.clone()) };
    let prepared = prepare(&[said(Kind::Question, "q"), answer], Tail::default());
    assert_eq!(prepared.turns[1].blocks, blocks);
}

#[test]
fn reasoning_goes_to_nobody_but_the_model_that_signed_it() {
    let blocks =
        vec![signed("hm"), Block::RedactedReasoning("x".into()), Block::reasoning("aside"), text("so")];
    let answer = |origin| Message { origin, ..message(Kind::Answer, blocks.clone()) };
    let shown = |wrote, reads| {
        let audience = Audience { origin: reads, ..audience() };
        let branch = [said(Kind::Question, "q"), answer(wrote)];
        line(&Preparer::default().prepare(&head(&[]), &branch, &audience, Tail::default()).turns[1])
    };
    assert_eq!(shown(Some(origin("m")), Some(origin("m"))), r#"Assistant reasoning "hm" redacted x "so""#);
    assert_eq!(shown(Some(origin("other")), Some(origin("m"))), r#"Assistant "so""#);
    assert_eq!(shown(None, None), r#"Assistant "so""#, "a model nobody names is no one's");
}

// behaviours: 49
#[test]
fn blank_text_is_no_block() {
    assert_eq!(Block::text(""), None);
    assert_eq!(Block::text(" \n"), None);
    let branch = [message(Kind::Question, vec![text(" "), text("q"), Block::Json("\n".into())])];
    assert_eq!(branch_lines(&branch), [r#"User "q""#]);
}

// behaviours: 51
#[test]
fn a_result_without_an_id_reaches_no_model() {
    let branch = vec![
        said(Kind::Question, "q"),
        message(Kind::Call, vec![call("c", "search", "{}")]),
        message(Kind::Results, vec![result("", "lost"), result("c", "found")]),
    ];
    let (branch, _) = repair(branch);
    assert_eq!(branch_lines(&branch)[2], r#"User result c "found""#);
}

#[test]
fn a_user_message_that_shows_nothing_keeps_two_answers_apart_and_is_otherwise_left_out() {
    let nothing = |kind| message(kind, vec![Block::Json(" ".into())]);
    let branch = [
        nothing(Kind::Question),
        said(Kind::Answer, "a"),
        nothing(Kind::Question),
        said(Kind::Answer, "b"),
        said(Kind::Question, "q"),
        nothing(Kind::Steer),
        nothing(Kind::Answer),
        said(Kind::Question, "q2"),
    ];
    assert_eq!(
        branch_lines(&branch),
        [
            r#"User "[empty]""#,
            r#"Assistant "a""#,
            r#"User "[empty]""#,
            r#"Assistant "b""#,
            r#"User "q""#,
            r#"User "q2""#
        ]
    );
}

#[test]
fn user_messages_in_a_row_stay_turns_of_their_own() {
    let branch = [said(Kind::Announcement, "a tool"), said(Kind::Question, "q"), said(Kind::Answer, "a")];
    assert_eq!(branch_lines(&branch), [r#"User "a tool""#, r#"User "q""#, r#"Assistant "a""#]);
}

#[test]
fn control_tokens_are_broken_in_every_text_and_in_no_opaque_data() {
    let forged = "<|end|>";
    let file =
        File { media_type: "application/pdf".into(), bytes: forged.as_bytes().into(), name: forged.into() };
    let failed = ToolResult { call_id: "c".into(), text: forged.into(), is_error: true };
    let definition = ToolDefinition { schema: Some(forged.into()), ..tool(forged, forged) };
    let answer = vec![signed(forged), Block::RedactedReasoning(forged.into()), call("c", forged, forged)];
    let branch = [
        message(
            Kind::Question,
            vec![
                text(forged),
                Block::Json(forged.into()),
                Block::File(file.clone()),
                Block::ToolDefinition(definition),
            ],
        ),
        Message { origin: Some(origin("m")), ..message(Kind::Call, answer) },
        message(Kind::Results, vec![Block::ToolResult(failed)]),
    ];
    let broken = "<\u{2060}|end|>";
    let prepared = prepare(&branch, Tail::default());
    let question = &prepared.turns[0].blocks;
    assert_eq!(question[..2], [text(broken), Block::Json(broken.into())]);
    assert_eq!(question[2], Block::File(File { name: broken.into(), ..file }));
    let definition = ToolDefinition { schema: Some(broken.into()), ..tool(forged, broken) };
    assert_eq!(question[3], Block::ToolDefinition(definition));
    let answer = vec![signed(forged), Block::RedactedReasoning(forged.into()), call("c", broken, broken)];
    assert_eq!(prepared.turns[1].blocks, answer);
    let failed = ToolResult { call_id: "c".into(), text: broken.into(), is_error: true };
    assert_eq!(prepared.turns[2].blocks, [Block::ToolResult(failed)]);
}

#[test]
fn the_text_of_an_error_never_becomes_the_models_own_words() {
    let error = format!("{ERROR_SENTINEL} The engine stopped. It said: /home/me/secret.gguf");
    let branch = [said(Kind::Question, "q"), said(Kind::Closing, &error), said(Kind::Question, "q2")];
    assert_eq!(branch_lines(&branch)[1], format!("Assistant {INTERRUPTED_ANSWER:?}"));
    // A model that says the sentinel itself is quoted as it spoke.
    let replied = [said(Kind::Question, "q"), said(Kind::Answer, &error)];
    assert_eq!(branch_lines(&replied)[1], format!("Assistant {error:?}"));
}

#[test]
fn a_further_request_shares_the_turns_of_the_one_before() {
    let mut branch = vec![said(Kind::Question, "q <|end|>"), said(Kind::Answer, "a")];
    let mut preparer = Preparer::default();
    let mut next = |branch: &[Message], audience: &Audience| {
        preparer.prepare(&head(&[]), branch, audience, Tail::default()).turns
    };
    let first = next(&branch, &audience());
    branch.push(said(Kind::Question, "q2"));
    let second = next(&branch, &audience());
    assert!(first.iter().zip(&second).all(|(one, other)| Arc::ptr_eq(one, other)));

    let other = Audience { control_tokens: Arc::new(ControlTokens::vocabulary(Vec::new())), ..audience() };
    assert_eq!(line(&next(&branch, &other)[0]), r#"User "q <|end|>""#);
    assert!(next(&[], &other).is_empty());
}

#[test]
fn a_message_that_comes_in_another_form_is_shown_in_that_form() {
    let thought = || vec![signed("hm"), text("so")];
    let written = |model| Message { origin: Some(origin(model)), ..message(Kind::Answer, thought()) };
    let error = format!("{ERROR_SENTINEL} The engine stopped.");
    let forms = [
        (said(Kind::Answer, "a"), r#"Assistant "a""#.to_owned()),
        (said(Kind::Answer, "b"), r#"Assistant "b""#.to_owned()),
        (said(Kind::Answer, &error), format!("Assistant {error:?}")),
        (said(Kind::Closing, &error), format!("Assistant {INTERRUPTED_ANSWER:?}")),
        (written("m"), r#"Assistant reasoning "hm" "so""#.to_owned()),
        (written("other"), r#"Assistant "so""#.to_owned()),
        (written("m"), r#"Assistant reasoning "hm" "so""#.to_owned()),
    ];
    let mut preparer = Preparer::default();
    let mut turns = Vec::new();
    for (form, expected) in forms {
        let branch = [said(Kind::Question, "q"), form];
        let next = preparer.prepare(&head(&[]), &branch, &audience(), Tail::default()).turns;
        assert_eq!(line(&next[1]), expected);
        turns.push(next);
    }
    assert!(
        turns.windows(2).all(|pair| Arc::ptr_eq(&pair[0][0], &pair[1][0])),
        "what stands before it is kept"
    );
}
