use serde_json::{Value, json};

use super::{Bill, Cache, LIFETIME_MS, Refused};

/// Blocks of 100 tokens, numbered, with marks on those.
fn blocks(n_blocks: usize, marks: &[usize]) -> Vec<Value> {
    let block = |at: usize| {
        let empty = json!({"type": "text", "text": ""}).to_string().len();
        let mut block = json!({"type": "text", "text": format!("{at:0width$}", width = 400 - empty)});
        if marks.contains(&at) {
            block["cache_control"] = json!({"type": "ephemeral"});
        }
        block
    };
    (0..n_blocks).map(block).collect()
}

fn request(n_blocks: usize, marks: &[usize]) -> Value {
    json!({"messages": [{"role": "user", "content": blocks(n_blocks, marks)}]})
}

fn bill(plain_tokens: u64, written_tokens: u64, read_tokens: u64) -> Bill {
    Bill { plain_tokens, written_tokens, read_tokens }
}

// behaviours: 204
#[test]
fn a_thousand_tokens_written_cost_as_1250_and_a_thousand_read_as_100() {
    let mut cache = Cache::new(0);
    let written = cache.bill(&request(10, &[9]), 0).unwrap();
    assert_eq!((written, written.cost()), (bill(0, 1_000, 0), 1_250.0));
    let read = cache.bill(&request(10, &[9]), 1).unwrap();
    assert_eq!((read, read.cost()), (bill(0, 0, 1_000), 100.0));
}

#[test]
fn what_is_behind_the_last_mark_is_plain_and_without_marks_everything_is() {
    let mut cache = Cache::new(0);
    assert_eq!(cache.bill(&request(10, &[6]), 0), Ok(bill(300, 700, 0)));
    assert_eq!(cache.bill(&request(12, &[6, 9]), 0), Ok(bill(200, 300, 700)));
    // An entry is found from a mark only.
    let unmarked = cache.bill(&request(12, &[]), 0).unwrap();
    assert_eq!((unmarked, unmarked.total_tokens()), (bill(1_200, 0, 0), 1_200));
}

#[test]
fn an_entry_is_found_nineteen_blocks_before_a_mark_and_no_further() {
    for (mark, expected) in [(23, bill(0, 1_900, 500)), (24, bill(0, 2_500, 0))] {
        let mut cache = Cache::new(0);
        cache.bill(&request(5, &[4]), 0).unwrap();
        assert_eq!(cache.bill(&request(mark + 1, &[mark]), 0), Ok(expected), "a mark on block {mark}");
    }
}

#[test]
fn an_entry_lives_five_minutes_from_its_last_use() {
    let mut cache = Cache::new(0);
    let request = request(10, &[9]);
    let (read, written) = (Ok(bill(0, 0, 1_000)), Ok(bill(0, 1_000, 0)));
    assert_eq!(cache.bill(&request, 0), written);
    assert_eq!(cache.bill(&request, LIFETIME_MS - 1), read);
    assert_eq!(cache.bill(&request, 2 * LIFETIME_MS - 2), read);
    assert_eq!(cache.bill(&request, 3 * LIFETIME_MS - 2), written);
}

#[test]
fn a_prefix_below_the_least_is_not_kept() {
    for (least, again) in [(1_000, bill(0, 0, 1_000)), (1_001, bill(1_000, 0, 0))] {
        let mut cache = Cache::new(least);
        cache.bill(&request(10, &[9]), 0).unwrap();
        assert_eq!(cache.bill(&request(10, &[9]), 0), Ok(again), "at least {least}");
    }
}

#[test]
fn a_changed_block_ends_the_prefix() {
    let mut cache = Cache::new(0);
    cache.bill(&request(10, &[3, 9]), 0).unwrap();
    let mut changed = request(10, &[3, 9]);
    changed["messages"][0]["content"][5]["text"] = json!("other");
    let bill = cache.bill(&changed, 0).unwrap();
    assert_eq!(bill.read_tokens, 400, "{bill:?}");
}

#[test]
fn tools_are_read_before_the_system_text_and_both_before_messages() {
    let whole = json!({
        "tools": [{"name": "a"}],
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": "Hello"}],
    });
    let mut cache = Cache::new(0);
    let first = cache.bill(&whole, 0).unwrap();
    assert!(first.written_tokens > 0 && first.plain_tokens > 0, "{first:?}");
    for (pointer, is_read) in
        [("/messages/0/content", true), ("/system/0/text", false), ("/tools/0/name", false)]
    {
        let mut changed = whole.clone();
        *changed.pointer_mut(pointer).unwrap() = json!("other");
        let bill = cache.bill(&changed, 0).unwrap();
        assert_eq!(bill.read_tokens > 0, is_read, "{pointer}: {bill:?}");
    }
}

#[test]
fn another_tool_choice_leaves_the_entries_of_the_head_only() {
    let mut request = request(10, &[9]);
    request["system"] = json!([{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}]);
    let mut cache = Cache::new(0);
    cache.bill(&request, 0).unwrap();
    request["tool_choice"] = json!({"type": "none"});
    let bill = cache.bill(&request, 0).unwrap();
    assert_eq!((bill.written_tokens, bill.read_tokens > 0), (1_000, true), "{bill:?}");
}

#[test]
fn what_the_provider_refuses_is_refused() {
    let mut cache = Cache::default();
    assert!(cache.bill(&request(9, &[0, 1, 2, 3]), 0).is_ok());
    let refused = cache.bill(&request(9, &[0, 1, 2, 3, 4]), 0);
    assert_eq!(refused, Err(Refused::TooManyMarks { n_marks: 5 }));
    let marked = |block: Value| {
        let mut block = block;
        block["cache_control"] = json!({"type": "ephemeral"});
        json!({"messages": [{"role": "assistant", "content": [block]}]})
    };
    let thinking = marked(json!({"type": "thinking", "thinking": "a", "signature": "b"}));
    assert_eq!(cache.bill(&thinking, 0), Err(Refused::MarkedReasoning));
    let empty = marked(json!({"type": "text", "text": ""}));
    assert_eq!(cache.bill(&empty, 0), Err(Refused::MarkedEmptyText));
}
