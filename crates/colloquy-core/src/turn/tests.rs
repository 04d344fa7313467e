use proptest::prelude::*;

use super::*;

fn sampled(has_text: bool, finish_reason: FinishReason) -> TurnEvent {
    TurnEvent::Sampled(Sampled { has_text, finish_reason, usage: Usage::default() })
}

fn failed_with(failure: Failure, after_first_chunk: bool) -> TurnEvent {
    TurnEvent::Failed { failure, after_first_chunk }
}

fn transient() -> Failure {
    Failure::Transient { detail: "busy".into() }
}

/// Runs the events on a fresh turn and gives the last effect.
fn run(locality: Locality, events: Vec<TurnEvent>) -> (Turn, TurnEffect) {
    let mut turn = Turn::new(locality);
    let mut last = TurnEffect::Rest;
    for event in events {
        last = turn.handle(event).unwrap();
    }
    (turn, last)
}

fn sampling(event: TurnEvent) -> TurnEffect {
    run(Locality::Local, vec![TurnEvent::Started, TurnEvent::EngineReady, event]).1
}

fn outcome(effect: &TurnEffect) -> Option<Outcome> {
    match effect {
        TurnEffect::Close(ending) => Some(ending.outcome),
        TurnEffect::LoadEngine | TurnEffect::Sample { .. } | TurnEffect::Abandon | TurnEffect::Rest => None,
    }
}

#[test]
fn a_plain_answer_takes_the_shortest_path() {
    let mut turn = Turn::new(Locality::Local);
    assert_eq!(turn.handle(TurnEvent::Started), Ok(TurnEffect::LoadEngine));
    assert_eq!(turn.handle(TurnEvent::EngineReady), Ok(TurnEffect::Sample { attempt: 1 }));
    let end = turn.handle(sampled(true, FinishReason::Stop)).unwrap();
    assert_eq!(outcome(&end), Some(Outcome::Answered));
    assert_eq!(turn.state(), State::Over(Outcome::Answered));
}

#[test]
fn the_finish_reason_decides_how_a_sampled_turn_ends() {
    let end = |has_text, reason| outcome(&sampling(sampled(has_text, reason))).unwrap();
    assert_eq!(end(true, FinishReason::Length), Outcome::Truncated);
    assert_eq!(end(false, FinishReason::Stop), Outcome::NoAnswer);
    assert_eq!(end(false, FinishReason::Length), Outcome::NoAnswer);
    assert_eq!(end(true, FinishReason::ToolCalls), Outcome::Answered);
    assert_eq!(end(true, FinishReason::Refusal), Outcome::Failed(FailureCode::Refusal));
}

#[test]
fn each_failure_ends_the_turn_under_its_own_code() {
    let code = |failure| outcome(&sampling(failed_with(failure, true))).unwrap();
    let detail = String::new;
    assert_eq!(
        code(Failure::Overflow { prompt_tokens: Some(9), window_tokens: Some(8) }),
        Outcome::Failed(FailureCode::Overflow)
    );
    assert_eq!(code(Failure::Engine { detail: detail() }), Outcome::Failed(FailureCode::Engine));
    assert_eq!(code(transient()), Outcome::Failed(FailureCode::Model));
    assert_eq!(code(Failure::Refused { detail: detail() }), Outcome::Failed(FailureCode::Model));
    assert_eq!(code(Failure::ContentRefused { detail: detail() }), Outcome::Failed(FailureCode::Refusal));
    assert_eq!(code(Failure::Silent { waited_s: 120 }), Outcome::Failed(FailureCode::Silence));
    assert_eq!(code(Failure::Internal), Outcome::Failed(FailureCode::Internal));
}

#[test]
fn a_remote_call_that_fails_before_its_first_chunk_is_tried_three_times_in_all() {
    let mut events = vec![TurnEvent::Started, TurnEvent::EngineReady];
    for attempt in 2..=TRIES_MAX {
        events.push(failed_with(transient(), false));
        let (_, effect) = run(Locality::Remote, events.clone());
        assert_eq!(effect, TurnEffect::Sample { attempt });
    }
    events.push(failed_with(transient(), false));
    let (_, effect) = run(Locality::Remote, events);
    assert_eq!(outcome(&effect), Some(Outcome::Failed(FailureCode::Model)));
}

#[test]
fn a_call_is_never_repeated_once_text_was_shown_nor_on_a_local_engine() {
    let events = |after| vec![TurnEvent::Started, TurnEvent::EngineReady, failed_with(transient(), after)];
    let failed = Some(Outcome::Failed(FailureCode::Model));
    assert_eq!(outcome(&run(Locality::Remote, events(true)).1), failed);
    assert_eq!(outcome(&run(Locality::Local, events(false)).1), failed);
}

#[test]
fn a_stop_ends_a_turn_wherever_it_is_and_a_second_one_does_nothing() {
    for n_before in 0..=2 {
        let mut events = vec![TurnEvent::Started, TurnEvent::EngineReady];
        events.truncate(n_before);
        events.push(TurnEvent::StopAsked);
        let (mut turn, effect) = run(Locality::Local, events);
        assert_eq!(outcome(&effect), Some(Outcome::Stopped));
        assert_eq!(turn.handle(TurnEvent::StopAsked), Ok(TurnEffect::Rest));
        assert_eq!(turn.handle(TurnEvent::LeaseLost), Ok(TurnEffect::Rest));
    }
}

#[test]
fn a_lost_lease_writes_nothing() {
    let (turn, effect) = run(Locality::Local, vec![TurnEvent::Started, TurnEvent::LeaseLost]);
    assert_eq!(effect, TurnEffect::Abandon);
    assert_eq!(turn.state(), State::Over(Outcome::Interrupted));
}

fn any_event() -> impl Strategy<Value = TurnEvent> {
    let reason = prop::sample::select(vec![
        FinishReason::Stop,
        FinishReason::Length,
        FinishReason::ToolCalls,
        FinishReason::Refusal,
    ]);
    prop_oneof![
        Just(TurnEvent::Started),
        Just(TurnEvent::EngineReady),
        (any::<bool>(), reason).prop_map(|(has_text, reason)| sampled(has_text, reason)),
        any::<bool>().prop_map(|after| failed_with(transient(), after)),
        Just(failed_with(Failure::Internal, false)),
        Just(TurnEvent::StopAsked),
        Just(TurnEvent::LeaseLost),
    ]
}

proptest! {
    #[test]
    fn any_order_of_events_ends_a_turn_at_most_once_and_a_refused_event_changes_nothing(
        remote in any::<bool>(),
        events in prop::collection::vec(any_event(), 0..24),
    ) {
        let locality = if remote { Locality::Remote } else { Locality::Local };
        let mut turn = Turn::new(locality);
        let mut n_ends = 0;
        let mut n_samples = 0;
        for event in events {
            let before = turn.clone();
            match turn.handle(event) {
                Err(_) => prop_assert_eq!(&turn, &before),
                Ok(TurnEffect::Close(_) | TurnEffect::Abandon) => n_ends += 1,
                Ok(TurnEffect::Sample { .. }) => n_samples += 1,
                Ok(TurnEffect::Rest) => prop_assert_eq!(&turn, &before),
                Ok(TurnEffect::LoadEngine) => {}
            }
        }
        prop_assert!(n_ends <= 1);
        prop_assert!(n_samples <= TRIES_MAX);
        prop_assert_eq!(n_ends == 1, matches!(turn.state(), State::Over(_)));
    }
}
