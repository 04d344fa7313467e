//! The invariants that are about what a model sees, over random programs of operations on one
//! conversation. `PROPTEST_CASES` says how many.

use proptest::prelude::*;

use super::*;
use crate::{
    contract::LEGEND,
    head::{Notation, Put},
    objective::TOOL_WEIGHTS_SLOT,
};

/// One operation; what does not apply where the conversation stands does nothing.
#[derive(Debug, Clone)]
enum Operation {
    Put(String, String),
    Nuke,
    Declare(u8),
    Ask {
        typed: bool,
    },
    Answer,
    /// A step with calls, and tools that were declared while they ran.
    ToolRound {
        n_calls: u8,
        declares: Option<u8>,
        typed: bool,
    },
    Steer,
    /// The process ends and another one goes on.
    Restore,
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        3 => ("[abc]", "OBJ [xyz]{0,2}<s>").prop_map(|(key, value)| Operation::Put(key, value)),
        1 => Just(Operation::Nuke),
        3 => (0..6_u8).prop_map(Operation::Declare),
        5 => any::<bool>().prop_map(|typed| Operation::Ask { typed }),
        5 => Just(Operation::Answer),
        3 => (1..4_u8, prop::option::of(0..6_u8), any::<bool>())
            .prop_map(|(n_calls, declares, typed)| Operation::ToolRound { n_calls, declares, typed }),
        1 => Just(Operation::Steer),
        2 => Just(Operation::Restore),
    ]
}

/// A conversation as a runtime drives it: reconcile before a question and after results, then a
/// request.
#[derive(Default)]
struct Driven {
    head: Head,
    preparer: Preparer,
    branch: Vec<Message>,
    /// The last request, and whether the head was allowed to change since.
    last: Option<PreparedConversation>,
    may_differ: bool,
}

impl Driven {
    fn run(&mut self, operation: Operation) {
        let was_frozen = self.head.is_frozen();
        match operation {
            Operation::Put(key, value) => {
                let put = self.head.put(&key, text(&value));
                self.note(put, was_frozen);
            }
            Operation::Nuke => {
                let put = self.head.nuke();
                self.note(put, was_frozen);
            }
            Operation::Declare(n) => {
                self.head.declare(Arc::new(tool(&format!("tool{n}"), "d")));
            }
            Operation::Ask { typed } if !self.is_open() => {
                self.announce(typed);
                self.branch.push(said(Kind::Question, &format!("MSG {}", self.branch.len())));
                self.request(typed);
            }
            Operation::Answer if self.is_open() => {
                self.branch.push(Message {
                    origin: Some(origin("m")),
                    ..message(Kind::Answer, vec![signed("t"), text("MSG")])
                });
            }
            Operation::ToolRound { n_calls, declares, typed } if self.is_open() => {
                let ids: Vec<String> = (0..n_calls).map(|n| format!("c{n}")).collect();
                self.branch.push(message(Kind::Call, ids.iter().map(|id| call(id, "tool0", "{}")).collect()));
                self.branch
                    .push(message(Kind::Results, ids.iter().map(|id| result(id, "MSG <s>")).collect()));
                if let Some(n) = declares {
                    self.run(Operation::Declare(n));
                }
                self.announce(typed);
                self.request(typed);
            }
            Operation::Steer if self.is_open() => {
                self.branch.push(said(Kind::Steer, "MSG steer"));
                self.request(false);
            }
            Operation::Restore => {
                if self.is_open() {
                    self.branch.push(said(Kind::Closing, INTERRUPTED_ANSWER));
                }
                let (objective, palette) = self.head.to_store();
                self.head = Head::restored(objective, palette);
                self.preparer = Preparer::default();
            }
            Operation::Ask { .. } | Operation::Answer | Operation::ToolRound { .. } | Operation::Steer => {}
        }
    }

    /// Whether the last message waits for an answer.
    fn is_open(&self) -> bool {
        self.branch.last().is_some_and(|last| last.role() == Role::User)
    }

    fn note(&mut self, put: Put, was_frozen: bool) {
        assert!(!(was_frozen && put == Put::Placed), "a frozen head was changed");
        assert!(was_frozen || put != Put::Refused, "a free head refused");
        self.may_differ |= put == Put::Placed;
    }

    fn announce(&mut self, typed: bool) {
        let notation = if typed { Notation::Used } else { Notation::Unused };
        let announcement = self.head.reconcile(&self.branch, notation);
        if !announcement.is_empty() {
            self.branch.push(message(Kind::Announcement, announcement));
        }
        assert!(
            self.head.reconcile(&self.branch, notation).is_empty(),
            "reconciling twice told something twice"
        );
    }

    fn request(&mut self, typed: bool) {
        let (repaired, repairs) = repair(self.branch.clone());
        assert_eq!((repaired.as_slice(), repairs), (self.branch.as_slice(), Vec::new()));
        let rendered = self.head.render(&ControlTokens::KnownMarkers);
        let tail = Tail { instructions: typed.then_some("As JSON."), registry: Some("REGISTRY") };
        let next = self.preparer.prepare(&rendered, &self.branch, &audience(), tail);
        let anew = Preparer::default().prepare(&rendered, &self.branch, &audience(), tail);
        assert_eq!(next, anew, "what was kept shows");
        if let Some(last) = self.last.replace(next.clone()) {
            assert_prefix(&last, &next, self.may_differ);
        }
        self.may_differ = false;
    }
}

/// What remains of `last` without its volatile tail begins what remains of `next`.
fn assert_prefix(last: &PreparedConversation, next: &PreparedConversation, may_differ: bool) {
    if !may_differ {
        assert_eq!((&last.skills, &last.system, &last.palette), (&next.skills, &next.system, &next.palette));
    }
    let stable = |turn: &Arc<PreparedTurn>| (turn.role, turn.blocks[..turn.n_stable].to_vec());
    let mut kept: Vec<_> = last.turns.iter().map(stable).collect();
    kept.retain(|(_, blocks)| !blocks.is_empty());
    let n_kept = kept.len();
    let then: Vec<_> = next.turns.iter().map(stable).take(n_kept).collect();
    assert_eq!(kept, then);
}

fn driven(program: Vec<Operation>) -> Driven {
    let mut driven = Driven::default();
    for operation in program {
        driven.run(operation);
    }
    driven
}

fn blocks() -> impl Strategy<Value = Vec<Block>> {
    let block = prop_oneof![
        prop_oneof![Just(""), Just(" "), Just("word"), Just("<s>")].prop_map(text),
        prop_oneof![Just(" "), Just("{}")].prop_map(|json| Block::Json(json.into())),
        any::<bool>().prop_map(|is_signed| if is_signed { signed("t") } else { Block::reasoning("t") }),
        Just(Block::RedactedReasoning("x".into())),
        "[ab]".prop_map(|id| call(&id, "tool", "{}")),
        "[ab]".prop_map(|id| result(&id, "")),
        Just(Block::ToolDefinition(tool("tool", "d"))),
    ];
    prop::collection::vec(block, 0..4)
}

fn any_message() -> impl Strategy<Value = Message> {
    let kind = prop_oneof![
        Just(Kind::Question),
        Just(Kind::Steer),
        Just(Kind::Results),
        Just(Kind::Call),
        Just(Kind::Answer),
        Just(Kind::Closing),
        Just(Kind::Announcement),
    ];
    (kind, blocks(), any::<bool>()).prop_map(|(kind, blocks, is_own)| Message {
        origin: is_own.then(|| origin("m")),
        ..message(kind, blocks)
    })
}

proptest! {
    #[test]
    fn i1_system_content_is_the_objective_and_nothing_else(
        program in prop::collection::vec(operation(), 0..40),
    ) {
        let driven = driven(program);
        let Some(last) = driven.last else { return Ok(()) };
        prop_assert!(!last.system.contains("MSG") && !last.system.contains("REGISTRY"));
        for turn in &last.turns {
            for block in &turn.blocks {
                prop_assert!(block.as_text().is_none_or(|text| !text.contains("OBJ")), "{block:?}");
            }
        }
        // Slots are put in a free head only, so what it holds now is what it rendered.
        if driven.head.is_frozen() {
            let objective = driven.head.objective();
            let values: Vec<&str> = objective.iter().filter_map(|(_, value)| value.as_text()).collect();
            let expected = values.join("\n\n");
            prop_assert_eq!(last.system, ControlTokens::KnownMarkers.break_in(&expected));
            let n_tools = objective.tools().count();
            prop_assert_eq!(objective.find(TOOL_WEIGHTS_SLOT).is_some(), n_tools > 0);
        }
    }

    #[test]
    fn i2_a_head_that_has_rendered_never_changes(
        before in prop::collection::vec(operation(), 0..12),
        after in prop::collection::vec(operation(), 0..24),
    ) {
        let mut driven = driven(before);
        let rendered = driven.head.render(&ControlTokens::KnownMarkers);
        let objective = driven.head.objective().clone();
        for operation in after.into_iter().filter(|operation| !matches!(operation, Operation::Restore)) {
            driven.run(operation);
            prop_assert!(Arc::ptr_eq(&rendered, &driven.head.render(&ControlTokens::KnownMarkers)));
            prop_assert_eq!(&objective, driven.head.objective());
        }
    }

    // `Driven::request` compares each request with the one before it.
    #[test]
    fn i3_each_request_begins_as_the_one_before_ended(program in prop::collection::vec(operation(), 0..60)) {
        let driven = driven(program);
        let told = driven.head.announced(&driven.branch);
        let mut names: Vec<&str> = told.iter().map(|tool| tool.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        prop_assert_eq!(names.len(), told.len(), "a tool was announced twice");
        let n_legends = driven.branch.iter().flat_map(|message| &message.blocks)
            .filter(|block| block.as_text().is_some_and(|text| text.trim_end() == LEGEND.trim_end()))
            .count();
        prop_assert!(n_legends <= 1, "the legend was told {n_legends} times");
    }

    #[test]
    fn i5_a_mended_branch_starts_with_the_user_and_never_answers_itself(
        branch in prop::collection::vec(any_message(), 0..12),
    ) {
        let (branch, _) = repair(branch);
        let turns = prepare(&branch, Tail::default()).turns;
        prop_assert!(turns.first().is_none_or(|first| first.role == Role::User));
        for pair in turns.windows(2) {
            prop_assert!(pair.iter().any(|turn| turn.role == Role::User), "{pair:?}");
        }
        for turn in &turns {
            prop_assert!(!turn.blocks.is_empty() && turn.n_stable == turn.blocks.len());
            prop_assert!(turn.blocks.iter().all(|block| !matches!(block, Block::Value(_))));
        }
    }
}
