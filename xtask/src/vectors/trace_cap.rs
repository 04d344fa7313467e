//! `colloquy_core::trace`: which events of a long trace are kept. `kept_stored` is an older rule.

use anyhow::Result;
use colloquy_core::trace::{TraceEntry, TraceEvent, capped, trace_len};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Verdict;

#[derive(Deserialize)]
struct Case {
    events: Vec<Event>,
}

#[derive(Deserialize)]
struct Event {
    t: Tag,
    n: usize,
    unit: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Tag {
    Thinking,
    ToolCall,
    ToolResult,
    Compaction,
}

pub(super) fn check(case: &Value) -> Result<Verdict> {
    let Case { events } = super::input(case)?;
    let events: Vec<TraceEvent> = events.into_iter().map(Event::build).collect();
    let kept: Vec<Value> = capped(&events)
        .into_iter()
        .map(|entry| match entry {
            TraceEntry::Event(event) => events.iter().position(|built| std::ptr::eq(built, event)).into(),
            TraceEntry::Truncated => "truncated".into(),
        })
        .collect();
    let kept = if kept.is_empty() { Value::Null } else { Value::Array(kept) };
    Ok(Verdict {
        expected: json!({"len": case["serialized_len"], "kept": case["kept_seed"]}),
        got: json!({"len": trace_len(&events), "kept": kept}),
    })
}

impl Event {
    fn build(self) -> TraceEvent {
        let text = self.unit.repeat(self.n);
        let name = "web_search".to_owned();
        match self.t {
            Tag::Thinking => TraceEvent::Thinking { text },
            Tag::ToolCall => TraceEvent::ToolCall { name, args: json!({ "query": text }) },
            Tag::ToolResult => TraceEvent::ToolResult { name, text },
            Tag::Compaction => TraceEvent::Compaction { summary: text },
        }
    }
}
