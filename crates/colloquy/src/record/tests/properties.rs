//! There and back again for any value, and no panic for any bytes.

use colloquy_core::{
    block::{Block, File, Image, Reasoning, Skill, ToolCall, ToolResult, ValueBlock},
    conversation::{Effort, Settings},
    message::{MessageId, Uid, Usage},
    objective::Objective,
    seat::Seat,
    tool::ToolDefinition,
    turn::Outcome,
};
use proptest::prelude::*;
use serde_json::json;

use super::{FINISH_REASONS, OUTCOMES, settings};
use crate::{
    ports::StoredHead,
    record::{
        HeadColumns, decode_blocks, decode_events, decode_head, decode_settings, decode_summaries,
        decode_usage, encode_blocks, encode_events, encode_head, encode_settings, encode_summaries,
        encode_usage,
    },
    stream::{Done, Progress, StreamError, StreamEvent, Withdrawn},
};

fn any_usage() -> impl Strategy<Value = Usage> {
    any::<[Option<u32>; 5]>().prop_map(|[predicted, prompt, reused, written, output]| Usage {
        predicted_tokens: predicted,
        prompt_tokens: prompt,
        reused_tokens: reused,
        cache_write_tokens: written,
        output_tokens: output,
    })
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => any::<String>(),
        1 => "[\u{0}-\u{1f}\u{7f}-\u{9f}\u{2028}\u{fffd}\u{10ffff}👩🏽\u{200d}\"\\\\]{0,8}",
        1 => (0..70_usize).prop_map(|n| "é".repeat(n)),
    ]
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    proptest::sample::select(OUTCOMES.map(|(outcome, _)| outcome).to_vec())
}

fn any_event() -> impl Strategy<Value = StreamEvent> {
    let error = (any_text(), any_text(), proptest::option::of(any_text()))
        .prop_map(|(code, text, raw)| StreamEvent::Error(StreamError { code, text, raw }));
    let done = (any::<[u8; 16]>(), any_outcome(), any::<i64>(), any::<Option<i64>>(), any_usage()).prop_map(
        |(uid, outcome, question, message, usage)| {
            StreamEvent::Done(Done {
                turn_uid: Uid(uid),
                outcome,
                question_id: MessageId(question),
                message_id: message.map(MessageId),
                usage,
            })
        },
    );
    let call = (any_text(), any_text(), any_text()).prop_map(|(id, name, input)| StreamEvent::ToolCall {
        id,
        name,
        input,
    });
    let result = (any_text(), any_text(), any_text(), any::<bool>())
        .prop_map(|(id, name, text, is_error)| StreamEvent::ToolResult { id, name, text, is_error });
    let withdraw = (any::<u64>(), any::<bool>()).prop_map(|(from_seq, narrated)| StreamEvent::Withdraw {
        from_seq,
        to: if narrated { Withdrawn::Thinking } else { Withdrawn::Nothing },
    });
    prop_oneof![
        1 => call,
        1 => result,
        1 => withdraw,
        1 => any_text().prop_map(|text| StreamEvent::Steer { text }),
        6 => any_text().prop_map(StreamEvent::Answer),
        3 => any_text().prop_map(StreamEvent::Thinking),
        1 => any::<[u32; 2]>().prop_map(|[done, total]| {
            StreamEvent::Progress(Progress::Reading { done, total })
        }),
        1 => Just(StreamEvent::Reload),
        1 => error,
        1 => done,
    ]
}

fn any_block() -> impl Strategy<Value = Block> {
    let maybe = || proptest::option::of(any_text());
    let bytes = || prop::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        any_text().prop_map(Block::Text),
        any_text().prop_map(Block::Json),
        any_text().prop_map(Block::RedactedReasoning),
        (any_text(), maybe()).prop_map(|(text, signature)| Block::Reasoning(Reasoning { text, signature })),
        (any_text(), any_text(), any_text())
            .prop_map(|(type_name, json, shown)| { Block::Value(ValueBlock { type_name, json, shown }) }),
        (any_text(), any_text(), maybe()).prop_map(|(name, description, schema)| {
            Block::ToolDefinition(ToolDefinition { name, description, schema })
        }),
        (any_text(), bytes(), maybe()).prop_map(|(media_type, bytes, description)| {
            Block::Image(Image { media_type, bytes: bytes.into(), description })
        }),
        (any_text(), bytes(), any_text()).prop_map(|(media_type, bytes, name)| {
            Block::File(File { media_type, bytes: bytes.into(), name })
        }),
        (any_text(), any_text(), any_text())
            .prop_map(|(name, description, body)| { Block::Skill(Skill { name, description, body }) }),
        (any_text(), any_text(), any_text()).prop_map(|(id, name, input)| Block::ToolCall(ToolCall {
            id,
            name,
            input
        })),
        (any_text(), any_text(), any::<bool>()).prop_map(|(call_id, text, is_error)| {
            Block::ToolResult(ToolResult { call_id, text, is_error })
        }),
    ]
}

fn is_stored(event: &StreamEvent) -> bool {
    !matches!(event, StreamEvent::Progress(_) | StreamEvent::Reload)
}

proptest! {
    #[test]
    fn events_come_back_piece_by_piece_with_their_numbers(
        first_seq in 1..1_000_000_u64,
        events in prop::collection::vec(any_event(), 0..40),
    ) {
        let read = decode_events(first_seq, &encode_events(&events)).unwrap();
        let expected = (first_seq..).zip(events).filter(|(_, event)| is_stored(event)).collect::<Vec<_>>();
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn blocks_come_back_as_they_were(blocks in prop::collection::vec(any_block(), 0..6)) {
        prop_assert_eq!(decode_blocks(&encode_blocks(&blocks)).unwrap(), blocks);
    }

    #[test]
    fn heads_come_back_with_their_keys_in_order(
        slots in prop::collection::vec((any_text(), any_block()), 0..6),
        tools in prop::collection::vec((any_text(), any_text(), proptest::option::of(any_text())), 0..4),
        prior_model in proptest::option::of(any_text()),
        cache_system in any::<bool>(),
        interactive in any::<bool>(),
    ) {
        let mut objective = Objective::default();
        for (key, value) in slots {
            objective.put(&key, value);
        }
        let tool = |(name, description, schema)| ToolDefinition { name, description, schema };
        let palette = tools.into_iter().map(tool).collect();
        let seat = Seat { interactive, ..Seat::default() };
        let head = StoredHead { objective, palette, seat, prior_model, cache_system };
        prop_assert_eq!(decode_head(&encode_head(&head)).unwrap(), head);
    }

    #[test]
    fn summaries_come_back_as_they_were(
        summaries in prop::collection::btree_map(any_text(), any_text(), 0..6),
    ) {
        prop_assert_eq!(decode_summaries(&encode_summaries(&summaries)).unwrap(), summaries);
    }

    #[test]
    fn settings_come_back_as_they_were(
        temperature in 0.0..=2.0_f64,
        top_p in 0.0..=1.0_f64,
        custom_prompt in any_text(),
        level in 0..5_usize,
        max_tokens in any::<u32>(),
        web_search_enabled in any::<bool>(),
    ) {
        let settings = Settings {
            temperature,
            top_p,
            custom_prompt,
            max_tokens,
            web_search_enabled,
            reasoning_effort: Effort::ALL[level],
            ..settings()
        };
        prop_assert_eq!(decode_settings(&encode_settings(&settings)).unwrap(), settings);
    }

    #[test]
    fn usage_comes_back_as_it_was(
        usage in proptest::option::of(any_usage()),
        finish in proptest::option::of(proptest::sample::select(FINISH_REASONS.to_vec())),
    ) {
        let read = encode_usage(usage, finish).map(|json| decode_usage(&json).unwrap());
        prop_assert_eq!(read.unwrap_or_default(), (usage, finish));
    }

    #[test]
    fn no_stored_bytes_make_the_reader_panic(bytes in any_text(), cuts in "[a-zA-Z0-9.]{0,12}") {
        let json = json!({"v": 1, "e": [{"t": "answer", "x": bytes, "n": cuts}], "blocks": [{"t": cuts}]});
        let _ = decode_events(u64::MAX, &json.to_string());
        let _ = decode_blocks(&json.to_string());
        let _ = decode_blocks(&bytes);
        let column = json!({"v": 1, "slots": [{"key": bytes, "value": {"t": cuts}}], "tools": [cuts]}).to_string();
        let _ = decode_head(&HeadColumns { objective: column.clone(), palette: column.clone(), seat: column });
    }
}
