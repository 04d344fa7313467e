use proptest::prelude::*;

use super::*;
use crate::{
    block::{File, Image},
    fixtures::{message, said},
    message::Kind,
};

const DEPTHS: [Depth; 5] =
    [Depth::Immediate, Depth::Quick, Depth::Standard, Depth::Thorough, Depth::UltraThorough];

fn spec(thinking: ThinkingMode, max_output: u32) -> ModelSpec {
    ModelSpec { max_output: Some(max_output), thinking, ..ModelSpec::default() }
}

fn tokens(n_tokens: u32) -> OutputSize {
    OutputSize::Tokens(NonZeroU32::new(n_tokens).unwrap())
}

/// A conversation that declares both.
fn declared(depth: Depth, output: OutputSize) -> Layers {
    let conversation = Seat { depth: Some(depth), output: Some(output), ..Seat::default() };
    Layers { conversation, ..Layers::default() }
}

fn output(size: OutputSize, spec: &ModelSpec) -> u32 {
    resolve(&declared(Depth::Immediate, size), spec, false).unwrap().output
}

/// What is booked for reasoning beside a small answer, by depth.
fn headroom(spec: &ModelSpec) -> [u32; 5] {
    DEPTHS.map(|depth| {
        let allowance = resolve(&declared(depth, tokens(1)), spec, false).unwrap();
        allowance.reserve - allowance.output
    })
}

fn thinking(spec: &ModelSpec, has_tools: bool) -> [Thinking; 5] {
    DEPTHS.map(|depth| resolve(&declared(depth, tokens(1)), spec, has_tools).unwrap().thinking)
}

// behaviours: 137, 139
#[test]
fn what_nobody_declares_is_refused_and_never_invented() {
    let refused = |seat: Seat| {
        let layers = Layers { conversation: seat, ..Layers::default() };
        resolve(&layers, &spec(ThinkingMode::None, 100), false).unwrap_err().to_string()
    };
    let nobody = "neither the request, the conversation nor the model's binding declares";
    assert_eq!(refused(Seat::default()), format!("{nobody} an output size"));
    let output = Some(OutputSize::Compact);
    assert_eq!(refused(Seat { output, ..Seat::default() }), format!("{nobody} a depth"));
}

// behaviours: 140, 145
#[test]
fn a_rung_is_its_number_up_to_what_the_model_can_emit() {
    let large = spec(ThinkingMode::None, 100_000);
    let sizes = [
        OutputSize::Verdict,
        OutputSize::Compact,
        OutputSize::Standard,
        OutputSize::Extended,
        OutputSize::Max,
    ];
    assert_eq!(sizes.map(|size| output(size, &large)), [1_024, 4_096, 16_384, 32_768, 100_000]);
    assert_eq!(output(tokens(9_000), &large), 9_000);
    let small = spec(ThinkingMode::None, 10_000);
    assert_eq!(sizes.map(|size| output(size, &small)), [1_024, 4_096, 10_000, 10_000, 10_000]);
}

// behaviours: 144
#[test]
fn a_request_above_the_models_maximum_is_given_the_maximum() {
    let spec = spec(ThinkingMode::None, 10_000);
    assert_eq!(
        [9_999, 10_000, 10_001, u32::MAX].map(|n| output(tokens(n), &spec)),
        [9_999, 10_000, 10_000, 10_000]
    );
}

#[test]
fn an_entrys_own_sizes_replace_the_rungs() {
    let spec = ModelSpec { output_budgets: Some([1, 2, 3, 4]), ..spec(ThinkingMode::None, 8) };
    let sizes = [
        OutputSize::Verdict,
        OutputSize::Compact,
        OutputSize::Standard,
        OutputSize::Extended,
        OutputSize::Max,
    ];
    assert_eq!(sizes.map(|size| output(size, &spec)), [1, 2, 3, 4, 8]);
}

#[test]
fn a_model_of_unknown_maximum_is_given_the_rung_and_its_window_as_the_most() {
    let unknown = ModelSpec { thinking: ThinkingMode::Extended, ..ModelSpec::default() };
    assert_eq!(output(OutputSize::Extended, &unknown), 32_768);
    assert_eq!(headroom(&unknown), [0, 1_024, 1_024, 1_024, 1_024]);
    let refused = resolve(&declared(Depth::Immediate, OutputSize::Max), &unknown, false).unwrap_err();
    assert!(refused.to_string().ends_with("and the model's own maximum is not known"), "{refused}");

    let windowed = ModelSpec { context_window: Some(32_000), ..unknown };
    assert_eq!(output(OutputSize::Max, &windowed), 32_000);
    assert_eq!(headroom(&windowed), [0, 2_000, 4_000, 8_000, 8_000]);
    assert_eq!(
        resolve(&declared(Depth::Quick, OutputSize::Verdict), &windowed, false).unwrap().ceiling,
        None
    );
}

// behaviours: 141, 143
#[test]
fn the_most_particular_layer_that_declares_decides() {
    let binding = Seat { depth: Some(Depth::Immediate), output: Some(tokens(1)), ..Seat::default() };
    let conversation = Seat { depth: Some(Depth::Quick), output: Some(tokens(2)), ..Seat::default() };
    let spec = spec(ThinkingMode::ReasoningEffort, 100_000);
    let given = |layers: Layers| {
        let allowance = resolve(&layers, &spec, false).unwrap();
        (allowance.output, allowance.reserve - allowance.output)
    };
    let by_binding = Layers { binding, ..Layers::default() };
    assert_eq!(given(by_binding), (1, 1_024));
    let by_conversation = Layers { conversation, ..by_binding };
    assert_eq!(given(by_conversation), (2, 6_250));
    // Only the message being answered is a layer; what an earlier one asked is nowhere to be found.
    assert_eq!(given(Layers { request: Some(tokens(64_000)), ..by_conversation }), (64_000, 6_250));
}

// behaviours: 147, 148, 149
#[test]
fn deeper_thought_is_booked_a_larger_part_of_the_models_maximum() {
    assert_eq!(headroom(&spec(ThinkingMode::Extended, 64_000)), [0, 4_000, 8_000, 16_000, 16_000]);
    assert_eq!(headroom(&spec(ThinkingMode::Adaptive, 64_000)), [0, 4_000, 8_000, 16_000, 16_000]);
    assert_eq!(headroom(&spec(ThinkingMode::ReasoningEffort, 64_000)), [1_024, 4_000, 8_000, 16_000, 16_000]);
    assert_eq!(headroom(&spec(ThinkingMode::Extended, 10_000)), [0, 1_024, 1_250, 2_500, 2_500]);
    assert_eq!(headroom(&spec(ThinkingMode::None, 64_000)), [0; 5]);
    let own = ModelSpec {
        thinking_budgets: Some([0, 1_024, 2_000, 3_000, 4_000]),
        ..spec(ThinkingMode::Extended, 64_000)
    };
    assert_eq!(headroom(&own), [0, 1_024, 2_000, 3_000, 4_000]);
}

// behaviours: 151
#[test]
fn an_immediate_answer_of_an_adaptive_model_is_booked_the_answer_alone() {
    let layers = declared(Depth::Immediate, OutputSize::Compact);
    let expected = Allowance {
        output: 4_096,
        reserve: 4_096,
        ceiling: Some(64_000),
        thinking: Thinking::Off,
        thinking_active: false,
    };
    assert_eq!(resolve(&layers, &spec(ThinkingMode::Adaptive, 64_000), false), Ok(expected));
}

#[test]
fn answer_and_thought_together_stay_within_the_models_maximum() {
    let layers = declared(Depth::Thorough, OutputSize::Max);
    let allowance = resolve(&layers, &spec(ThinkingMode::Extended, 64_000), false).unwrap();
    assert_eq!((allowance.output, allowance.reserve), (64_000, 64_000));
    assert_eq!(allowance.thinking, Thinking::Budget { tokens: 16_000 });
}

#[test]
fn a_thinking_budget_leaves_room_to_answer_or_is_not_given() {
    let given = |size, max_output| {
        let layers = declared(Depth::Quick, size);
        let allowance = resolve(&layers, &spec(ThinkingMode::Extended, max_output), false).unwrap();
        (allowance.thinking, allowance.thinking_active, allowance.reserve)
    };
    assert_eq!(given(OutputSize::Max, 1_025), (Thinking::Budget { tokens: 1_024 }, true, 1_025));
    assert_eq!(given(OutputSize::Max, 1_024), (Thinking::Off, false, 1_024));
    assert_eq!(given(tokens(1), 1_024), (Thinking::Off, false, 1), "nothing is booked for no reasoning");
}

// behaviours: 185
#[test]
fn effort_is_told_in_three_words() {
    assert_eq!(DEPTHS.map(Depth::effort), ["low", "low", "medium", "high", "high"]);
    let by_effort = DEPTHS.map(|depth| Thinking::Effort { effort: depth.effort() });
    assert_eq!(thinking(&spec(ThinkingMode::ReasoningEffort, 64_000), true), by_effort);
    let adaptive = thinking(&spec(ThinkingMode::Adaptive, 64_000), true);
    assert_eq!(adaptive[0], Thinking::Off);
    assert_eq!(adaptive[1..], ["low", "medium", "high", "high"].map(|effort| Thinking::Adaptive { effort }));
    assert_eq!(thinking(&spec(ThinkingMode::None, 64_000), false), [Thinking::Unset; 5]);
}

#[test]
fn a_block_comes_back_from_a_model_that_thinks_by_budget_or_of_its_own_accord() {
    let active = |mode| {
        DEPTHS.map(|depth| {
            resolve(&declared(depth, tokens(1)), &spec(mode, 64_000), false).unwrap().thinking_active
        })
    };
    for mode in [ThinkingMode::Extended, ThinkingMode::Adaptive] {
        assert_eq!(active(mode), [false, true, true, true, true]);
    }
    for mode in [ThinkingMode::None, ThinkingMode::ReasoningEffort] {
        assert_eq!(active(mode), [false; 5]);
    }
}

#[test]
fn tools_switch_the_reasoning_off_of_a_model_that_suspends_it() {
    let suspending = |mode| ModelSpec { tools_suspend_reasoning: true, ..spec(mode, 64_000) };
    let by_effort = suspending(ThinkingMode::ReasoningEffort);
    assert_eq!(thinking(&by_effort, true), [Thinking::Effort { effort: "none" }; 5]);
    assert_eq!(thinking(&by_effort, false)[2], Thinking::Effort { effort: "medium" });
    for mode in [ThinkingMode::Extended, ThinkingMode::Adaptive] {
        assert_eq!(thinking(&suspending(mode), true), [Thinking::Off; 5]);
    }
    let allowance = resolve(&declared(Depth::Thorough, tokens(7)), &by_effort, true).unwrap();
    assert_eq!(
        (allowance.reserve, allowance.thinking_active),
        (7, false),
        "nothing is booked for no reasoning"
    );
}

#[test]
fn an_over_qualified_model_may_serve_and_the_ceiling_is_no_rung() {
    let rungs = [Grade::Micro, Grade::Small, Grade::Medium, Grade::Large, Grade::Xl, Grade::Mega];
    for (n, rung) in rungs.into_iter().enumerate() {
        for (m, floor) in rungs.into_iter().enumerate() {
            assert_eq!(rung.serves(floor), n >= m, "{rung:?} for {floor:?}");
        }
        assert!(!rung.serves(Grade::Ceiling) && !Grade::Ceiling.serves(rung));
    }
    assert!(Grade::Ceiling.serves(Grade::Ceiling));
}

#[test]
fn a_single_turn_thinks_not_at_all_and_stops_at_its_backstop() {
    let conversation = Seat::single_turn(NonZeroU32::new(200).unwrap());
    let layers = Layers { conversation, ..Layers::default() };
    let allowance = resolve(&layers, &spec(ThinkingMode::Extended, 64_000), false).unwrap();
    assert_eq!((allowance.output, allowance.reserve, allowance.thinking), (200, 200, Thinking::Off));
    assert!(conversation.grade.is_none() && !conversation.interactive);
}

fn image() -> Block {
    Block::Image(Image { media_type: "image/png".into(), bytes: vec![1].into(), description: None })
}

fn file() -> Block {
    Block::File(File { media_type: "application/pdf".into(), bytes: vec![1].into(), name: "a.pdf".into() })
}

// behaviours: 156, 157
#[test]
fn inputs_are_what_the_users_side_carries_anywhere() {
    let asked = [
        message(Kind::Question, vec![image()]),
        said(Kind::Answer, "a"),
        message(Kind::Results, vec![file()]),
    ];
    assert_eq!(carried_inputs(&asked), CarriedInputs { images: true, documents: true });
    assert_eq!(carried_inputs(&asked[..2]), CarriedInputs { images: true, documents: false });
    let drawn = [said(Kind::Question, "draw"), message(Kind::Answer, vec![image()])];
    assert_eq!(carried_inputs(&drawn), CarriedInputs::default());
    assert_eq!(carried_inputs(&[]), CarriedInputs::default());
}

fn faults(spec: &ModelSpec) -> Vec<String> {
    spec.check().iter().map(ToString::to_string).collect()
}

#[test]
fn an_entrys_own_sizes_are_each_between_one_and_its_maximum() {
    let sized = |sizes| ModelSpec { output_budgets: Some(sizes), ..spec(ThinkingMode::None, 100) };
    assert_eq!(faults(&sized([1, 1, 1, 100])), [""; 0]);
    let refused = ["output_budgets must each be from 1 to max_output, which is 100"];
    assert_eq!(faults(&sized([0, 1, 1, 1])), refused);
    assert_eq!(faults(&sized([1, 1, 1, 101])), refused);
    let unknown = ModelSpec { max_output: None, ..sized([1, 2, 3, u32::MAX]) };
    assert_eq!(faults(&unknown), [""; 0]);
    assert_eq!(
        faults(&ModelSpec { output_budgets: Some([0; 4]), ..unknown }),
        ["output_budgets must each be at least 1"]
    );
}

#[test]
fn an_entrys_own_thinking_budgets_fit_how_it_thinks() {
    let budgeted =
        |mode, budgets| faults(&ModelSpec { thinking_budgets: Some(budgets), ..spec(mode, 2_000) });
    assert_eq!(budgeted(ThinkingMode::Extended, [0, 1_024, 1_024, 2_000, 2_000]), [""; 0]);
    assert_eq!(budgeted(ThinkingMode::ReasoningEffort, [1_024, 1_024, 1_024, 2_000, 2_000]), [""; 0]);
    let refused = ["thinking_budgets must each be from 1024 to max_output, which is 2000"];
    assert_eq!(budgeted(ThinkingMode::Adaptive, [0, 1_023, 1_024, 1_024, 1_024]), refused);
    assert_eq!(budgeted(ThinkingMode::Adaptive, [0, 1_024, 1_024, 1_024, 2_001]), refused);
    assert_eq!(budgeted(ThinkingMode::ReasoningEffort, [0, 1_024, 1_024, 1_024, 1_024]), refused);
    assert_eq!(
        budgeted(ThinkingMode::Extended, [1_024; 5]),
        ["thinking_budgets must begin with 0, for an immediate answer without thinking"]
    );
    assert_eq!(
        budgeted(ThinkingMode::None, [0, 1_024, 1_024, 1_024, 1_024]),
        ["thinking_budgets must be left out for a model that does not think"]
    );
}

#[test]
fn a_limit_of_nothing_is_refused() {
    let spec = ModelSpec { context_window: Some(0), max_output: Some(0), ..ModelSpec::default() };
    assert_eq!(faults(&spec), ["context_window must be at least 1", "max_output must be at least 1"]);
}

fn modes() -> impl Strategy<Value = ThinkingMode> {
    prop::sample::select(vec![
        ThinkingMode::None,
        ThinkingMode::Extended,
        ThinkingMode::Adaptive,
        ThinkingMode::ReasoningEffort,
    ])
}

proptest! {
    #[test]
    fn an_allowance_always_holds_the_answer_and_fits_the_model(
        mode in modes(),
        depth in prop::sample::select(DEPTHS.to_vec()),
        max_output in 1..200_000_u32,
        declared_tokens in 1..=u32::MAX,
        has_tools in any::<bool>(),
        tools_suspend_reasoning in any::<bool>(),
    ) {
        let spec = ModelSpec { tools_suspend_reasoning, ..spec(mode, max_output) };
        let allowance = resolve(&declared(depth, tokens(declared_tokens)), &spec, has_tools).unwrap();
        prop_assert_eq!(allowance.output, declared_tokens.min(max_output));
        prop_assert!(allowance.output <= allowance.reserve && allowance.reserve <= max_output);
        match allowance.thinking {
            Thinking::Budget { tokens } => prop_assert!((1_024..allowance.reserve).contains(&tokens)),
            Thinking::Unset | Thinking::Off => prop_assert_eq!(allowance.reserve, allowance.output),
            Thinking::Adaptive { .. } | Thinking::Effort { .. } => {}
        }
    }
}

proptest! {
    // behaviours: 59
    #[test]
    fn what_is_asked_of_the_thinking_and_what_the_contract_leaves_out_agree(
        mode in prop::sample::select(vec![
            ThinkingMode::None,
            ThinkingMode::Extended,
            ThinkingMode::Adaptive,
            ThinkingMode::ReasoningEffort,
        ]),
        depth in prop::sample::select(vec![
            Depth::Immediate,
            Depth::Quick,
            Depth::Standard,
            Depth::Thorough,
            Depth::UltraThorough,
        ]),
        max_output in prop::option::of(1..200_000_u32),
        has_tools in any::<bool>(),
    ) {
        let spec = ModelSpec { thinking: mode, max_output, ..ModelSpec::default() };
        let seat = Seat { depth: Some(depth), output: Some(OutputSize::Compact), ..Seat::default() };
        let layers = Layers { conversation: seat, ..Layers::default() };
        let allowance = resolve(&layers, &spec, has_tools).unwrap();
        let asks = matches!(allowance.thinking, Thinking::Budget { .. } | Thinking::Adaptive { .. });
        prop_assert_eq!(allowance.thinking_active, asks);
    }
}
