use proptest::prelude::*;

use super::*;

const READY: TurnEvent = TurnEvent::EngineReady { can_escalate: false };
const PLAIN: SamplePlan = SamplePlan {
    attempt: 1,
    after: None,
    anew: false,
    escalated: false,
    thinking_off: false,
    closing_step: false,
};

fn call(said: Said, finish_reason: FinishReason) -> Sampled {
    let has_text = said == Said::Answer;
    Sampled { said, has_text, finish_reason, usage: Usage::default() }
}

fn sampled(said: Said, finish_reason: FinishReason) -> TurnEvent {
    TurnEvent::Sampled(call(said, finish_reason))
}

fn answer() -> TurnEvent {
    sampled(Said::Answer, FinishReason::Stop)
}

fn calls() -> TurnEvent {
    sampled(Said::Calls, FinishReason::ToolCalls)
}

fn off_contract() -> TurnEvent {
    TurnEvent::OffContract {
        sampled: call(Said::Answer, FinishReason::Stop),
        detail: "answer.x is missing".into(),
    }
}

fn failed_with(failure: Failure, after_first_chunk: bool) -> TurnEvent {
    TurnEvent::Failed { failure, after_first_chunk }
}

fn transient() -> Failure {
    Failure::Transient { detail: "busy".into() }
}

/// Runs the events on a fresh turn and gives the last effect.
fn run(rules: Rules, events: impl IntoIterator<Item = TurnEvent>) -> (Turn, TurnEffect) {
    let mut turn = Turn::new(rules);
    let mut last = TurnEffect::Rest;
    for event in events {
        last = turn.handle(event).unwrap();
    }
    (turn, last)
}

/// A turn whose model was called once, on the server and without room for more.
fn sampling(event: TurnEvent) -> TurnEffect {
    run(Rules::server(Locality::Local), [TurnEvent::Started, READY, event]).1
}

fn outcome(effect: &TurnEffect) -> Option<Outcome> {
    if let TurnEffect::Close(ending) = effect { Some(ending.outcome) } else { None }
}

#[test]
fn a_plain_answer_takes_the_shortest_path() {
    let mut turn = Turn::new(Rules::server(Locality::Local));
    assert_eq!(turn.handle(TurnEvent::Started), Ok(TurnEffect::LoadEngine));
    assert_eq!(turn.handle(READY), Ok(TurnEffect::Sample(PLAIN)));
    assert_eq!(turn.handle(answer()), Ok(TurnEffect::PollInbox));
    let end = turn.handle(TurnEvent::InboxClosed).unwrap();
    assert_eq!(outcome(&end), Some(Outcome::Answered));
    assert_eq!(turn.state(), State::Over(Outcome::Answered));
}

#[test]
fn the_finish_reason_decides_how_a_call_without_an_answer_ends() {
    let end = |said, reason| outcome(&sampling(sampled(said, reason))).unwrap();
    assert_eq!(end(Said::Answer, FinishReason::Length), Outcome::Truncated);
    assert_eq!(end(Said::Nothing, FinishReason::Stop), Outcome::NoAnswer);
    assert_eq!(end(Said::Reasoning, FinishReason::Stop), Outcome::NoAnswer);
    assert_eq!(end(Said::Nothing, FinishReason::Length), Outcome::NoAnswer);
    assert_eq!(end(Said::Answer, FinishReason::Refusal), Outcome::Failed(FailureCode::Refusal));
    assert_eq!(end(Said::Calls, FinishReason::Refusal), Outcome::Failed(FailureCode::Refusal));
}

#[test]
fn each_failure_ends_the_turn_under_its_own_code() {
    let detail = String::new;
    for (failure, code) in [
        (Failure::Overflow { prompt_tokens: Some(9), window_tokens: Some(8) }, FailureCode::Overflow),
        (Failure::Engine { detail: detail() }, FailureCode::Engine),
        (transient(), FailureCode::Model),
        (Failure::Refused { detail: detail() }, FailureCode::Model),
        (Failure::OffContract { detail: detail() }, FailureCode::Model),
        (Failure::ContentRefused { detail: detail() }, FailureCode::Refusal),
        (Failure::Silent { waited_s: 120 }, FailureCode::Silence),
        (Failure::ToolLimit { n_steps: 8 }, FailureCode::ToolLimit),
        (Failure::Internal, FailureCode::Internal),
    ] {
        assert_eq!(outcome(&sampling(failed_with(failure, true))), Some(Outcome::Failed(code)));
    }
}

#[test]
fn a_remote_call_that_fails_before_its_first_chunk_is_tried_three_times_in_all() {
    let mut events = vec![TurnEvent::Started, READY];
    for attempt in 2..=TRIES_MAX {
        events.push(failed_with(transient(), false));
        let (_, effect) = run(Rules::server(Locality::Remote), events.clone());
        assert_eq!(effect, TurnEffect::Sample(SamplePlan { attempt, after: Some(Passing::Fault), ..PLAIN }));
    }
    events.push(failed_with(transient(), false));
    let (_, effect) = run(Rules::server(Locality::Remote), events);
    assert_eq!(outcome(&effect), Some(Outcome::Failed(FailureCode::Model)));
}

#[test]
fn a_busy_server_is_tried_again_with_its_own_pause() {
    let busy = Failure::Busy { passing: Passing::Overload, detail: "529".into() };
    let events = [TurnEvent::Started, READY, failed_with(busy, false)];
    let (_, effect) = run(Rules::server(Locality::Remote), events);
    let after = Some(Passing::Overload);
    assert_eq!(effect, TurnEffect::Sample(SamplePlan { attempt: 2, after, ..PLAIN }));
}

#[test]
fn a_call_is_never_repeated_once_text_was_shown_nor_on_a_local_engine() {
    let end = |locality, after| {
        let events = [TurnEvent::Started, READY, failed_with(transient(), after)];
        outcome(&run(Rules::server(locality), events).1)
    };
    assert_eq!(end(Locality::Remote, true), Some(Outcome::Failed(FailureCode::Model)));
    assert_eq!(end(Locality::Local, false), Some(Outcome::Failed(FailureCode::Model)));
}

#[test]
fn calls_are_stored_then_run_then_answered_then_the_model_is_asked_again() {
    let mut turn = run(Rules::server(Locality::Local), [TurnEvent::Started, READY]).0;
    assert_eq!(turn.handle(calls()), Ok(TurnEffect::CallTools));
    assert_eq!(turn.handle(TurnEvent::ToolsReturned), Ok(TurnEffect::AppendResults { deliver_inbox: true }));
    assert_eq!(turn.handle(TurnEvent::Stored), Ok(TurnEffect::Sample(PLAIN)));
}

#[test]
fn a_cut_off_tool_call_is_never_run() {
    let cut = sampled(Said::Calls, FinishReason::Length);
    assert_eq!(outcome(&sampling(cut.clone())), Some(Outcome::NoAnswer));
    let ready = TurnEvent::EngineReady { can_escalate: true };
    let (mut turn, effect) = run(Rules::server(Locality::Local), [TurnEvent::Started, ready, cut.clone()]);
    assert_eq!(effect, TurnEffect::Sample(SamplePlan { anew: true, escalated: true, ..PLAIN }));
    assert_eq!(outcome(&turn.handle(cut).unwrap()), Some(Outcome::NoAnswer));
}

// behaviours: 159
#[test]
fn a_cut_answer_is_asked_for_once_more_at_the_ceiling_and_not_at_all_when_it_was_there() {
    let cut = || sampled(Said::Answer, FinishReason::Length);
    assert_eq!(outcome(&sampling(cut())), Some(Outcome::Truncated));
    let ready = TurnEvent::EngineReady { can_escalate: true };
    let (mut turn, effect) = run(Rules::chat(Locality::Remote), [TurnEvent::Started, ready, cut()]);
    assert_eq!(effect, TurnEffect::Sample(SamplePlan { anew: true, escalated: true, ..PLAIN }));
    assert_eq!(outcome(&turn.handle(cut()).unwrap()), Some(Outcome::Truncated));
}

#[test]
fn reasoning_that_spent_the_budget_is_switched_off_once() {
    let spent = || sampled(Said::Reasoning, FinishReason::Length);
    let (mut turn, effect) = run(Rules::server(Locality::Local), [TurnEvent::Started, READY, spent()]);
    assert_eq!(effect, TurnEffect::Sample(SamplePlan { anew: true, thinking_off: true, ..PLAIN }));
    assert_eq!(outcome(&turn.handle(spent()).unwrap()), Some(Outcome::NoAnswer));
}

// behaviours: 277
#[test]
fn a_chat_that_gets_nothing_nudges_once_and_then_gives_up() {
    let nothing = || sampled(Said::Nothing, FinishReason::Stop);
    let (mut turn, effect) = run(Rules::chat(Locality::Local), [TurnEvent::Started, READY, nothing()]);
    assert_eq!(effect, TurnEffect::AppendNudge);
    assert_eq!(turn.handle(TurnEvent::Stored), Ok(TurnEffect::Sample(PLAIN)));
    assert_eq!(outcome(&turn.handle(nothing()).unwrap()), Some(Outcome::NoAnswer));
}

// behaviours: 75
#[test]
fn two_corrections_are_sent_and_the_third_answer_off_its_contract_fails_the_turn() {
    let mut turn = run(Rules::objective(Locality::Remote), [TurnEvent::Started, READY]).0;
    for _ in 0..CORRECTIONS_MAX {
        assert_eq!(turn.handle(off_contract()), Ok(TurnEffect::AppendCorrection));
        assert_eq!(turn.handle(TurnEvent::Stored), Ok(TurnEffect::Sample(PLAIN)));
    }
    let TurnEffect::Close(ending) = turn.handle(off_contract()).unwrap() else { panic!() };
    assert_eq!(ending.failure, Some(Failure::OffContract { detail: "answer.x is missing".into() }));
}

#[test]
fn an_answer_that_was_cut_is_not_corrected() {
    let cut = TurnEvent::OffContract {
        sampled: call(Said::Answer, FinishReason::Length),
        detail: "no JSON".into(),
    };
    assert_eq!(outcome(&sampling(cut)), Some(Outcome::Truncated));
}

/// One step that runs tools, after which the model is asked again or the turn ends.
fn tool_step(turn: &mut Turn) -> TurnEffect {
    assert_eq!(turn.handle(calls()), Ok(TurnEffect::CallTools));
    turn.handle(TurnEvent::ToolsReturned).unwrap();
    turn.handle(TurnEvent::Stored).unwrap()
}

// behaviours: 276
#[test]
fn a_chat_runs_tools_25_times_and_then_takes_one_closing_call() {
    let mut turn = run(Rules::chat(Locality::Local), [TurnEvent::Started, READY]).0;
    for _ in 1..25 {
        assert_eq!(tool_step(&mut turn), TurnEffect::Sample(PLAIN));
    }
    assert_eq!(turn.handle(calls()), Ok(TurnEffect::CallTools));
    // What arrived meanwhile waits for the answer: it is not pushed into the closing call.
    assert_eq!(turn.handle(TurnEvent::ToolsReturned), Ok(TurnEffect::AppendResults { deliver_inbox: false }));
    let closing = SamplePlan { closing_step: true, ..PLAIN };
    assert_eq!(turn.handle(TurnEvent::Stored), Ok(TurnEffect::Sample(closing)));
    let code = Outcome::Failed(FailureCode::ToolLimit);
    assert_eq!(outcome(&turn.clone().handle(calls()).unwrap()), Some(code));
    assert_eq!(turn.handle(answer()), Ok(TurnEffect::PollInbox));
}

// behaviours: 275
#[test]
fn a_single_objective_fails_after_50_steps() {
    let mut turn = run(Rules::objective(Locality::Local), [TurnEvent::Started, READY]).0;
    for _ in 1..50 {
        assert_eq!(tool_step(&mut turn), TurnEffect::Sample(PLAIN));
    }
    let TurnEffect::Close(ending) = tool_step(&mut turn) else { panic!() };
    assert_eq!(ending.failure, Some(Failure::ToolLimit { n_steps: 50 }));
}

#[test]
fn a_server_turn_runs_tools_8_times() {
    let mut turn = run(Rules::server(Locality::Local), [TurnEvent::Started, READY]).0;
    for _ in 1..8 {
        assert_eq!(tool_step(&mut turn), TurnEffect::Sample(PLAIN));
    }
    assert_eq!(tool_step(&mut turn), TurnEffect::Sample(SamplePlan { closing_step: true, ..PLAIN }));
}

#[test]
fn narration_beside_a_call_in_the_closing_step_is_the_answer() {
    let mut turn = run(Rules::server(Locality::Local), [TurnEvent::Started, READY]).0;
    for _ in 0..8 {
        tool_step(&mut turn);
    }
    let narrated = Sampled { has_text: true, ..call(Said::Calls, FinishReason::ToolCalls) };
    assert_eq!(turn.handle(TurnEvent::Sampled(narrated)), Ok(TurnEffect::PollInbox));
}

#[test]
fn a_message_that_arrived_keeps_the_turn_going_with_all_its_steps() {
    let mut turn = run(Rules::server(Locality::Local), [TurnEvent::Started, READY]).0;
    for _ in 0..8 {
        tool_step(&mut turn);
    }
    assert_eq!(turn.handle(answer()), Ok(TurnEffect::PollInbox));
    assert_eq!(turn.handle(TurnEvent::InboxHeld), Ok(TurnEffect::AppendFollowUp));
    assert_eq!(turn.handle(TurnEvent::Stored), Ok(TurnEffect::Sample(PLAIN)));
    assert_eq!(tool_step(&mut turn), TurnEffect::Sample(PLAIN));
}

/// A turn in each of the states it can be stopped in.
fn stages() -> Vec<Vec<TurnEvent>> {
    let started = [TurnEvent::Started, READY];
    let then = |more: &[TurnEvent]| started.iter().chain(more).cloned().collect::<Vec<_>>();
    vec![
        vec![],
        vec![TurnEvent::Started],
        then(&[]),
        then(&[calls()]),
        then(&[calls(), TurnEvent::ToolsReturned]),
        then(&[answer()]),
    ]
}

#[test]
fn a_stop_ends_a_turn_wherever_it_is_and_a_second_one_does_nothing() {
    for stage in stages() {
        let events = stage.into_iter().chain([TurnEvent::StopAsked]);
        let (mut turn, effect) = run(Rules::chat(Locality::Local), events);
        assert_eq!(outcome(&effect), Some(Outcome::Stopped));
        assert_eq!(turn.handle(TurnEvent::StopAsked), Ok(TurnEffect::Rest));
        assert_eq!(turn.handle(TurnEvent::LeaseLost), Ok(TurnEffect::Rest));
    }
}

#[test]
fn a_lost_lease_writes_nothing_wherever_it_is_lost() {
    for stage in stages() {
        let events = stage.into_iter().chain([TurnEvent::LeaseLost]);
        let (turn, effect) = run(Rules::chat(Locality::Local), events);
        assert_eq!(effect, TurnEffect::Abandon);
        assert_eq!(turn.state(), State::Over(Outcome::Interrupted));
    }
}

fn any_event() -> impl Strategy<Value = TurnEvent> {
    let reason = prop::sample::select(vec![
        FinishReason::Stop,
        FinishReason::Length,
        FinishReason::ToolCalls,
        FinishReason::Refusal,
    ]);
    let said = prop::sample::select(vec![Said::Nothing, Said::Reasoning, Said::Answer, Said::Calls]);
    prop_oneof![
        1 => Just(TurnEvent::Started),
        1 => any::<bool>().prop_map(|can_escalate| TurnEvent::EngineReady { can_escalate }),
        6 => (said, reason).prop_map(|(said, reason)| sampled(said, reason)),
        1 => Just(off_contract()),
        1 => any::<bool>().prop_map(|after| failed_with(transient(), after)),
        1 => Just(failed_with(Failure::Internal, false)),
        3 => Just(TurnEvent::ToolsReturned),
        6 => Just(TurnEvent::Stored),
        1 => Just(TurnEvent::InboxClosed),
        1 => Just(TurnEvent::InboxHeld),
        1 => Just(TurnEvent::StopAsked),
        1 => Just(TurnEvent::LeaseLost),
    ]
}

proptest! {
    #[test]
    fn any_order_of_events_ends_a_turn_at_most_once_and_a_refused_event_changes_nothing(
        remote in any::<bool>(),
        program in any::<bool>(),
        events in prop::collection::vec(any_event(), 0..200),
    ) {
        let locality = if remote { Locality::Remote } else { Locality::Local };
        let rules = if program { Rules::chat(locality) } else { Rules::server(locality) };
        let mut turn = Turn::new(rules);
        let mut n_ends = 0;
        let mut n_tool_steps = 0;
        for event in events {
            let before = turn.clone();
            match turn.handle(event) {
                Err(_) => prop_assert_eq!(&turn, &before),
                Ok(TurnEffect::Close(_) | TurnEffect::Abandon) => n_ends += 1,
                Ok(TurnEffect::Rest) => prop_assert_eq!(&turn, &before),
                Ok(TurnEffect::CallTools) => n_tool_steps += 1,
                Ok(TurnEffect::AppendFollowUp) => n_tool_steps = 0,
                Ok(
                    TurnEffect::LoadEngine
                    | TurnEffect::Sample(_)
                    | TurnEffect::AppendResults { .. }
                    | TurnEffect::AppendCorrection
                    | TurnEffect::AppendNudge
                    | TurnEffect::PollInbox,
                ) => {}
            }
            prop_assert!(n_tool_steps <= rules.steps_max);
        }
        prop_assert!(n_ends <= 1);
        prop_assert_eq!(n_ends == 1, matches!(turn.state(), State::Over(_)));
    }
}
