use colloquy::ports::ModelChunk;
use colloquy_core::message::{FinishReason, Usage};

use super::{CallKey, Reading, finish_reason};

/// How an answer ends that was given `limit`, said `word` and reported `output` tokens.
fn end(limit: Option<u32>, word: Option<&str>, output: Option<u32>) -> FinishReason {
    let mut reading = Reading::new(limit);
    if let Some(word) = word {
        reading.finish_with(finish_reason(word));
    }
    reading.usage.output_tokens = output;
    reading.complete();
    match reading.pop() {
        Some(ModelChunk::End { finish_reason, .. }) => finish_reason,
        other => panic!("{other:?}"),
    }
}

// behaviours: 160, 161
#[test]
fn an_answer_that_reached_its_limit_was_cut_whatever_the_server_calls_it() {
    for word in [None, Some("stop"), Some("eos"), Some("tool_calls"), Some("length")] {
        assert_eq!(end(Some(16_000), word, Some(16_000)), FinishReason::Length, "{word:?}");
        assert_eq!(end(Some(16_000), word, Some(16_001)), FinishReason::Length, "{word:?}");
    }
    for word in [None, Some("stop"), Some("eos")] {
        assert_eq!(end(Some(16_000), word, Some(15_999)), FinishReason::Stop, "{word:?}");
    }
}

#[test]
fn without_a_limit_or_a_count_nothing_counts_as_cut() {
    assert_eq!(end(None, Some("stop"), Some(16_000)), FinishReason::Stop);
    assert_eq!(end(Some(0), Some("stop"), Some(0)), FinishReason::Stop);
    assert_eq!(end(Some(16_000), Some("stop"), None), FinishReason::Stop);
}

#[test]
fn a_refusal_stays_one_at_the_limit() {
    assert_eq!(end(Some(9), Some("refusal"), Some(9)), FinishReason::Refusal);
}

#[test]
fn the_words_of_every_wire_mean_the_same() {
    for (words, expected) in [
        (&["length", "max_tokens", "max_token", "model_length"][..], FinishReason::Length),
        (&["tool_calls", "tool_use", "function_call"], FinishReason::ToolCalls),
        (&["content_filter", "content_filtered", "guardrail_intervened", "refusal"], FinishReason::Refusal),
        (&["stop", "end_turn", "complete", "stop_sequence", "finished", "eos", ""], FinishReason::Stop),
    ] {
        for word in words {
            assert_eq!(finish_reason(word), expected, "{word}");
        }
    }
}

#[test]
fn the_first_reason_stays_and_the_end_is_given_once() {
    let mut reading = Reading::new(None);
    reading.finish_with(FinishReason::ToolCalls);
    reading.finish_with(FinishReason::Length);
    assert!(reading.has_finished() && !reading.is_over());
    reading.complete();
    reading.complete();
    let end = ModelChunk::End { finish_reason: FinishReason::ToolCalls, usage: Usage::default() };
    assert_eq!((reading.pop(), reading.pop(), reading.is_over()), (Some(end), None, true));
}

#[test]
fn empty_pieces_are_dropped_and_begin_nothing() {
    let mut reading = Reading::new(None);
    reading.push(ModelChunk::Text(String::new()));
    reading.push(ModelChunk::Reasoning(String::new()));
    reading.progress(3, 9);
    assert!(!reading.has_begun());
    assert_eq!((reading.pop(), reading.pop()), (Some(ModelChunk::Reading { done: 3, total: 9 }), None));
    reading.call_piece(CallKey::Last, None, None, "");
    assert!(reading.has_begun());
}
