use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::{
    block::ValueBlock,
    fixtures::{message, said},
};

fn text(text: &str) -> Block {
    Block::Text(text.to_owned())
}

fn tool(name: &str) -> ToolDefinition {
    ToolDefinition { name: name.into(), description: format!("{name} things"), schema: Some("{}".into()) }
}

fn skill(name: &str, body: &str) -> Skill {
    Skill { name: name.into(), description: String::new(), body: body.into() }
}

fn declare(head: &mut Head, name: &str) -> bool {
    head.declare(Arc::new(tool(name)))
}

fn render(head: &mut Head) -> Arc<RenderedHead> {
    head.render(&ControlTokens::KnownMarkers)
}

/// The head of a conversation that rendered with that task.
fn rendered_with(task: &str) -> Head {
    let mut head = Head::default();
    assert_eq!(head.put("task", text(task)), Put::Placed);
    render(&mut head);
    head
}

/// What a store gives back of it.
fn restored(head: &Head) -> Head {
    let (objective, palette) = head.to_store();
    Head::restored(objective, palette)
}

fn spoken() -> Vec<Message> {
    vec![said(Kind::Question, "q"), said(Kind::Answer, "a")]
}

fn names(tools: &[ToolDefinition]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

fn texts(blocks: &[Block]) -> Vec<&str> {
    blocks.iter().filter_map(Block::as_text).collect()
}

// behaviours: 1
#[test]
fn before_the_first_render_a_slot_is_refreshed_in_place() {
    let mut head = Head::default();
    for (key, value) in [("a", "one"), ("b", "two"), ("a", "three")] {
        assert_eq!(head.put(key, text(value)), Put::Placed);
    }
    assert_eq!(render(&mut head).system, "three\n\ntwo");
}

// behaviours: 3, 4, 5
#[test]
fn a_head_that_has_rendered_refuses_every_change_and_keeps_its_bytes() {
    let mut head = rendered_with("Be brief.");
    let before = render(&mut head);
    assert_eq!(head.put("task", text("Be long.")), Put::Refused);
    assert_eq!(head.put("more", text("And loud.")), Put::Refused);
    assert_eq!(head.admit(skill("charts", "how")), Put::Refused);
    assert_eq!(head.nuke(), Put::Refused);
    assert_eq!(render(&mut head), before);
    assert_eq!(head.objective().text(), "Be brief.", "what is stored is what was rendered");
}

#[test]
fn putting_what_renders_alike_is_free_for_ever() {
    let value =
        |json: &str| Block::Value(ValueBlock { type_name: "T".into(), json: json.into(), shown: "x".into() });
    let mut head = Head::default();
    assert_eq!(head.nuke(), Put::Unchanged, "there is nothing to empty");
    assert_eq!(head.put("value", value("1")), Put::Placed);
    assert_eq!(head.put("value", value("2")), Put::Placed, "the whole value counts while that is free");
    render(&mut head);
    assert_eq!(head.put("value", value("3")), Put::Unchanged);
    assert_eq!(head.put("value", text("x")), Put::Unchanged);
    assert_eq!(head.put("value", text(" ")), Put::Unchanged);
}

#[test]
fn other_control_tokens_do_not_move_a_head_that_has_rendered() {
    let mut head = Head::default();
    assert_eq!(head.put("task", text("no <|end|> here")), Put::Placed);
    let first = head.render(&ControlTokens::KnownMarkers);
    assert_eq!(first.system, "no <\u{2060}|end|> here");
    let again = head.render(&ControlTokens::vocabulary(vec!["here".into()]));
    assert!(Arc::ptr_eq(&first, &again));
}

#[test]
fn control_tokens_are_broken_in_everything_of_a_head_and_across_its_seams() {
    let mut head = Head::default();
    assert_eq!(head.put("a", text("ends with x")), Put::Placed);
    assert_eq!(head.put("b", text("y begins")), Put::Placed);
    assert_eq!(head.admit(skill("s", "xy")), Put::Placed);
    let forged =
        ToolDefinition { name: "xy".into(), description: "xy".into(), schema: Some(r#"{"xy":1}"#.into()) };
    assert!(head.declare(Arc::new(forged)));
    assert!(head.reconcile(&[], Notation::Unused).is_empty());
    let control = ControlTokens::vocabulary(vec!["x\n\ny".into(), "xy".into()]);
    let rendered = head.render(&control);
    assert!(rendered.system.starts_with("ends with x\u{2060}\n\ny begins"), "{}", rendered.system);
    assert_eq!(rendered.skills[0].body, "x\u{2060}y");
    let shown = &rendered.palette[0];
    assert_eq!(
        (shown.description.as_str(), shown.schema.as_deref()),
        ("x\u{2060}y", Some("{\"x\u{2060}y\":1}"))
    );
    assert_eq!(shown.name, "xy", "calls come under the declared name");
}

#[test]
fn a_skill_is_admitted_once_per_name_and_stands_apart_from_the_text() {
    let mut head = Head::default();
    assert_eq!(head.admit(skill("charts", "first")), Put::Placed);
    assert_eq!(head.admit(skill("charts", "second")), Put::Unchanged);
    assert_eq!(render(&mut head).skills, [skill("charts", "first")]);
    assert_eq!(render(&mut head).system, "");
    assert_eq!(head.admit(skill("charts", "third")), Put::Unchanged);
}

// behaviours: 7
#[test]
fn what_was_emptied_gets_its_companions_back_while_their_cause_remains() {
    let mut head = Head::default();
    declare(&mut head, "search");
    for _ in 0..2 {
        assert!(head.reconcile(&[], Notation::Used).is_empty());
        assert!(head.objective().find(LEGEND_SLOT).is_some());
        assert_eq!(names(&head.announced(&[])), ["search"]);
        assert_eq!(head.nuke(), Put::Placed);
        assert!(head.objective().is_empty());
    }
    // A stored head that was emptied has no prefix left to protect, so they return to the head.
    let mut stored = rendered_with("task");
    declare(&mut stored, "search");
    let mut head = restored(&stored);
    assert_eq!(head.nuke(), Put::Placed);
    assert!(head.reconcile(&spoken(), Notation::Used).is_empty());
    assert_eq!(names(&head.announced(&[])), ["search"]);
}

// behaviours: 8
#[test]
fn a_restored_head_is_free_until_its_own_first_render() {
    let mut head = restored(&rendered_with("old"));
    assert!(!head.is_frozen());
    assert_eq!(head.put("task", text("new")), Put::Placed);
    assert_eq!(render(&mut head).system, "new");
    assert_eq!(head.put("task", text("newer")), Put::Refused);
}

// behaviours: 9
#[test]
fn a_stored_head_comes_back_with_its_keys_its_order_and_its_tools() {
    let mut head = Head::default();
    for key in ["task", "extra"] {
        assert_eq!(head.put(key, text(key)), Put::Placed);
    }
    declare(&mut head, "search");
    head.reconcile(&[], Notation::Unused);
    let before = render(&mut head);

    let mut head = restored(&head);
    let keys: Vec<&str> = head.objective().iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["task", "extra", TOOL_WEIGHTS_SLOT, "tool:search"]);
    assert!(!declare(&mut head, "search"), "its tool is declared");
    assert_eq!(head.put("task", text("Task")), Put::Placed);
    assert_eq!(head.put("task", text("task")), Put::Placed);
    assert!(head.reconcile(&spoken(), Notation::Unused).is_empty());
    assert_eq!(render(&mut head), before);
}

// behaviours: 15
#[test]
fn the_legend_is_in_the_head_when_the_first_question_uses_the_notation() {
    let mut head = rendered_once(Notation::Used);
    assert_eq!(head.objective().find(LEGEND_SLOT), Some(&text(LEGEND)));
    assert_eq!(render(&mut head).system, LEGEND);
}

// behaviours: 16, 20
#[test]
fn plain_prose_without_tools_has_neither_legend_nor_guidance() {
    let mut head = rendered_once(Notation::Unused);
    assert!(head.objective().is_empty());
    assert_eq!(render(&mut head).system, "");
    assert!(head.reconcile(&spoken(), Notation::Unused).is_empty());
}

fn rendered_once(notation: Notation) -> Head {
    let mut head = Head::default();
    assert!(head.reconcile(&[], notation).is_empty());
    render(&mut head);
    head
}

// behaviours: 17
#[test]
fn a_late_notation_brings_the_legend_in_the_stream_once() {
    let mut head = rendered_once(Notation::Unused);
    let before = render(&mut head);
    let announced = head.reconcile(&spoken(), Notation::Used);
    assert_eq!(announced, [text(LEGEND)]);
    assert_eq!(render(&mut head), before);

    let told = [spoken(), vec![message(Kind::Announcement, announced)]].concat();
    assert!(head.reconcile(&told, Notation::Used).is_empty());
    let pasted = [spoken(), vec![said(Kind::Question, LEGEND)]].concat();
    assert_eq!(head.reconcile(&pasted, Notation::Used), [text(LEGEND)], "a person's paste tells nothing");
}

// behaviours: 19
#[test]
fn the_guidance_stands_right_before_the_first_tool_of_the_head() {
    let mut head = Head::default();
    assert_eq!(head.put("task", text("task")), Put::Placed);
    declare(&mut head, "search");
    declare(&mut head, "fetch");
    assert!(head.reconcile(&[], Notation::Unused).is_empty());
    let rendered = render(&mut head);
    assert_eq!(rendered.system, format!("task\n\n{TOOL_WEIGHTS}"));
    assert_eq!(names(&rendered.palette), ["search", "fetch"]);
}

// Reference § 29, 17: the original's first late tool came without guidance.
// behaviours: 21
#[test]
fn the_first_tool_after_the_freeze_brings_the_guidance_with_it_and_a_second_does_not() {
    let mut head = rendered_with("task");
    declare(&mut head, "search");
    let first = head.reconcile(&spoken(), Notation::Unused);
    let lead_in = "Additional tools now available: search.";
    assert_eq!(
        first,
        [text(&format!("{TOOL_WEIGHTS}\n\n")), text(lead_in), Block::ToolDefinition(tool("search"))]
    );
    let told = [spoken(), vec![message(Kind::Announcement, first)]].concat();
    declare(&mut head, "fetch");
    declare(&mut head, "count");
    let second = head.reconcile(&told, Notation::Unused);
    assert_eq!(texts(&second), ["Additional tools now available: fetch, count."]);
    assert_eq!(second.len(), 3);
}

#[test]
fn legend_and_tools_of_one_moment_are_announced_together_in_that_order() {
    let mut head = rendered_with("task");
    declare(&mut head, "search");
    let blocks = head.reconcile(&spoken(), Notation::Used);
    let legend = format!("{LEGEND}\n\n");
    let guidance = format!("{TOOL_WEIGHTS}\n\n");
    assert_eq!(texts(&blocks), [&legend, &guidance, "Additional tools now available: search."]);
    let told = [spoken(), vec![message(Kind::Announcement, blocks)]].concat();
    assert!(head.reconcile(&told, Notation::Used).is_empty());
}

// behaviours: 23
#[test]
fn stored_companions_are_brought_up_to_date_in_place_while_that_is_free() {
    let mut objective = Objective::default();
    for (key, value) in [(LEGEND_SLOT, "old legend"), (TOOL_WEIGHTS_SLOT, "old guidance"), ("task", "task")] {
        objective.put(key, text(value));
    }
    let mut head = Head::restored(objective, Vec::new());
    assert!(head.reconcile(&spoken(), Notation::Used).is_empty());
    assert_eq!(render(&mut head).system, format!("{LEGEND}\n\n{TOOL_WEIGHTS}\n\ntask"));
}

/// A tool that counts how often it is asked what it does.
#[derive(Default)]
struct Counting(AtomicUsize);

impl DeclaredTool for Counting {
    fn name(&self) -> &str {
        "search"
    }

    fn definition(&self) -> ToolDefinition {
        self.0.fetch_add(1, Ordering::Relaxed);
        tool("search")
    }
}

// behaviours: 24, 25
#[test]
fn a_declared_tool_is_asked_at_the_first_render_and_never_again() {
    let counting = Arc::new(Counting::default());
    let n_asked = || counting.0.load(Ordering::Relaxed);
    let mut head = Head::default();
    assert!(head.declare(Arc::clone(&counting) as Arc<dyn DeclaredTool>));
    assert!(!declare(&mut head, "search"));
    assert_eq!((n_asked(), head.announced(&[]).len()), (0, 0));

    for _ in 0..3 {
        head.reconcile(&[], Notation::Unused);
        render(&mut head);
        head.to_store();
    }
    assert_eq!(n_asked(), 1);
}

// behaviours: 27
#[test]
fn a_tool_is_never_redefined() {
    let mut head = Head::default();
    let described = |description: &str| ToolDefinition { description: description.into(), ..tool("search") };
    assert!(head.declare(Arc::new(described("original"))));
    assert!(!head.declare(Arc::new(described("other"))));
    head.reconcile(&[], Notation::Unused);
    assert_eq!(render(&mut head).palette, [described("original")]);
    assert!(!head.declare(Arc::new(described("other"))));
}

// behaviours: 28
#[test]
fn a_tool_after_the_freeze_is_one_message_and_leaves_the_head_alone() {
    let mut head = Head::default();
    declare(&mut head, "search");
    head.reconcile(&[], Notation::Unused);
    let before = render(&mut head);
    declare(&mut head, "fetch");
    let announced = head.reconcile(&spoken(), Notation::Unused);
    assert_eq!(
        announced,
        [text("Additional tools now available: fetch."), Block::ToolDefinition(tool("fetch"))]
    );
    assert_eq!(render(&mut head), before);
    assert_eq!(names(&before.palette), ["search"]);
}

// behaviours: 31
#[test]
fn what_was_announced_is_read_off_the_head_and_the_messages() {
    let mut head = Head::default();
    declare(&mut head, "search");
    head.reconcile(&[], Notation::Unused);
    render(&mut head);
    declare(&mut head, "fetch");
    let announced = head.reconcile(&spoken(), Notation::Unused);
    let told = [spoken(), vec![message(Kind::Announcement, announced.clone())]].concat();
    assert_eq!(names(&head.announced(&told)), ["search", "fetch"]);
    assert_eq!(names(&head.announced(&spoken())), ["search"], "a branch without the message was not told");
    assert_eq!(head.reconcile(&spoken(), Notation::Unused), announced, "so it is told there as well");
}

// Reference § 29, 18: a new tool of a restored conversation goes to the stream.
// behaviours: 32, 33
#[test]
fn a_restored_conversation_that_has_spoken_is_told_of_a_new_tool_in_the_stream() {
    let mut head = Head::default();
    declare(&mut head, "a");
    head.reconcile(&[], Notation::Unused);
    let before = render(&mut head);

    let mut head = restored(&head);
    assert!(!declare(&mut head, "a"));
    assert!(declare(&mut head, "b"));
    let announced = head.reconcile(&spoken(), Notation::Used);
    let lead_in = "Additional tools now available: b.";
    assert_eq!(announced, [text(&format!("{LEGEND}\n\n")), text(lead_in), Block::ToolDefinition(tool("b"))]);
    assert_eq!(render(&mut head), before, "the stored prefix stays");
}

#[test]
fn a_restored_conversation_that_never_spoke_takes_a_new_tool_into_the_head() {
    let mut head = restored(&rendered_with("task"));
    declare(&mut head, "b");
    assert!(head.reconcile(&[said(Kind::Question, "q")], Notation::Used).is_empty());
    assert_eq!(names(&render(&mut head).palette), ["b"]);
}

#[test]
fn a_tool_that_was_announced_in_the_stream_stays_there_after_a_restore() {
    let mut head = rendered_with("task");
    declare(&mut head, "late");
    let announced = head.reconcile(&spoken(), Notation::Unused);
    let told = [spoken(), vec![message(Kind::Announcement, announced)]].concat();
    let mut head = restored(&head);
    assert!(head.reconcile(&told, Notation::Unused).is_empty());
    assert_eq!(render(&mut head).palette, []);
}

#[test]
fn the_companions_hold_no_control_token() {
    for companion in [LEGEND, TOOL_WEIGHTS] {
        assert_eq!(ControlTokens::KnownMarkers.break_in(companion), companion);
    }
}
