use proptest::prelude::*;

use super::*;

fn thinking(n_chars: usize) -> TraceEvent {
    TraceEvent::Thinking { text: "a".repeat(n_chars) }
}

fn compaction(n_chars: usize) -> TraceEvent {
    TraceEvent::Compaction { summary: "s".repeat(n_chars) }
}

/// Characters of a `thinking` event around its text.
const FRAME_LEN: usize = r#"{"t": "thinking", "text": ""}"#.len();

/// Which events are kept, `None` being the marker.
fn kept(events: &[TraceEvent]) -> Vec<Option<usize>> {
    let position = |event| events.iter().position(|candidate| std::ptr::eq(candidate, event));
    capped(events)
        .into_iter()
        .map(|entry| match entry {
            TraceEntry::Event(event) => Some(position(event).unwrap()),
            TraceEntry::Truncated => None,
        })
        .collect()
}

#[test]
fn an_empty_trace_is_not_stored() {
    assert_eq!(stored_trace(&[]), None);
}

#[test]
fn a_trace_of_exactly_the_limit_is_stored_whole() {
    let fits = [thinking(TRACE_LEN_MAX - FRAME_LEN - 2)];
    assert_eq!(trace_len(&fits), TRACE_LEN_MAX);
    assert_eq!(kept(&fits), [Some(0)]);
    let over = [thinking(TRACE_LEN_MAX - FRAME_LEN - 1)];
    assert_eq!(kept(&over), [None, Some(0)]);
}

#[test]
fn the_oldest_steps_are_dropped_and_the_marker_counts() {
    let marker_len = r#"{"t": "truncated"}, "#.len();
    let newest = TRACE_LEN_MAX - 2 - marker_len - FRAME_LEN;
    assert_eq!(kept(&[thinking(1), thinking(FRAME_LEN), thinking(newest)]), [None, Some(2)]);
    let one_less = newest - FRAME_LEN - 2 - 5;
    assert_eq!(kept(&[thinking(99), thinking(5), thinking(one_less)]), [None, Some(1), Some(2)]);
}

#[test]
fn compactions_lead_and_are_never_dropped() {
    let events = [thinking(20_000), compaction(20_000), thinking(9), compaction(20_000), thinking(20_000)];
    assert_eq!(kept(&events), [Some(1), Some(3), None, Some(4)]);
}

#[test]
fn the_marker_stands_behind_compactions_only_where_a_step_was_dropped() {
    assert_eq!(kept(&[compaction(40_000)]), [Some(0)]);
    assert_eq!(kept(&[compaction(40_000), thinking(9)]), [Some(0), Some(1)]);
}

#[test]
fn lengths_are_those_of_escaped_ascii() {
    let len = |text: &str| string_len(text) - 2;
    assert_eq!((len("a"), len("\""), len("\n"), len("\u{1}"), len("\u{7f}")), (1, 2, 2, 6, 6));
    assert_eq!((len("é"), len("文"), len("🙂")), (6, 6, 12));
    let call = TraceEvent::ToolCall { name: "f".into(), args: json!({"a": [1, -2.5, null, true, false]}) };
    let stored = r#"{"t": "tool_call", "name": "f", "args": {"a": [1, -2.5, null, true, false]}}"#;
    assert_eq!(json_len(&call.to_json()), stored.len());
}

fn any_event() -> impl Strategy<Value = TraceEvent> {
    let text = (0_usize..12_000, prop::sample::select(&["a", "\"", "é", "🙂"][..]))
        .prop_map(|(n, unit)| unit.repeat(n));
    prop_oneof![
        text.clone().prop_map(|text| TraceEvent::Thinking { text }),
        text.clone().prop_map(|text| TraceEvent::ToolCall { name: "f".into(), args: json!({ "q": text }) }),
        text.clone().prop_map(|text| TraceEvent::ToolResult { name: "f".into(), text }),
        text.prop_map(|summary| TraceEvent::Compaction { summary }),
    ]
}

proptest! {
    #[test]
    fn a_capped_trace_fits_and_loses_only_its_oldest_steps(events in prop::collection::vec(any_event(), 0..12)) {
        let is_compaction = |at: usize| matches!(events[at], TraceEvent::Compaction { .. });
        let kept = kept(&events);
        let (leading, steps): (Vec<usize>, Vec<usize>) = kept.iter().flatten().partition(|&&at| is_compaction(at));
        let all_steps: Vec<usize> = (0..events.len()).filter(|&at| !is_compaction(at)).collect();

        prop_assert_eq!(leading, (0..events.len()).filter(|&at| is_compaction(at)).collect::<Vec<_>>());
        prop_assert!(all_steps.ends_with(&steps));
        prop_assert!(all_steps.is_empty() || !steps.is_empty());
        let entries = capped(&events);
        let len = array_len(entries.iter().map(|entry| json_len(&entry.to_json())));
        prop_assert!(len <= TRACE_LEN_MAX || steps.len() <= 1, "{len} characters with {} steps", steps.len());
        let is_whole = kept.len() == events.len() && kept.iter().all(Option::is_some);
        prop_assert!(is_whole || trace_len(&events) > TRACE_LEN_MAX);
    }
}
