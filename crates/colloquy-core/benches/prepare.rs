//! What a further request of a long conversation costs to prepare, beside its first preparation in
//! the same run. `cargo xtask bench` prints it.
//!
//! Machines are shared, so what counts is the ratio; the limit on the time is the product's.
#![expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]
#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use colloquy_core::{
    block::{Block, ToolCall, ToolResult},
    control_tokens::ControlTokens,
    head::{Head, RenderedHead},
    message::{Kind, Message, MessageId, TurnId, Uid},
    prepare::{Audience, PreparedConversation, Preparer, Tail},
};

/// Messages before the question that is asked; in fours: question, call, results, answer.
const N_MESSAGES: usize = 10_000;
/// The median of so many is told.
const N_RUNS: usize = 31;
/// What a further request may cost.
const LIMIT: Duration = Duration::from_millis(5);

fn main() {
    let tokens = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"].map(str::to_owned).to_vec();
    let audience = Audience {
        control_tokens: Arc::new(ControlTokens::vocabulary(tokens)),
        origin: None,
        cache_system: false,
    };
    let head = Head::default().render(&audience.control_tokens);
    let mut branch: Vec<Message> = (0..=N_MESSAGES).map(|n| message(n, "said")).collect();

    let first = median((0..N_RUNS).map(|_| prepare(&mut Preparer::default(), &head, &branch, &audience)));
    let mut preparer = Preparer::default();
    prepare(&mut preparer, &head, &branch, &audience);
    let further = median((0..N_RUNS).map(|n| {
        branch[N_MESSAGES] = message(N_MESSAGES, &format!("said anew {n}"));
        prepare(&mut preparer, &head, &branch, &audience)
    }));

    let ratio = first.as_secs_f64() / further.as_secs_f64();
    let verdict = if further < LIMIT { "holds" } else { "MISSED" };
    println!("prepare, {N_MESSAGES} messages and a question");
    println!("  first preparation  {first:>10.3?}");
    println!("  further request    {further:>10.3?}  {ratio:.1} times less  limit {LIMIT:?}  {verdict}");
}

fn prepare(
    preparer: &mut Preparer,
    head: &RenderedHead,
    branch: &[Message],
    audience: &Audience,
) -> Duration {
    let tail = Tail { instructions: Some("Answer as JSON."), registry: None };
    let start = Instant::now();
    let prepared: PreparedConversation = black_box(preparer.prepare(head, black_box(branch), audience, tail));
    // What the caller does with the request, its drop included, is not the preparation.
    let took = start.elapsed();
    assert_eq!(prepared.turns.len(), branch.len(), "every message is a turn");
    took
}

fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn message(n: usize, word: &str) -> Message {
    let call_id = format!("call{}", n / 4);
    let prose = format!("{word} in message {n}, and a little more than that; ").repeat(8);
    let (kind, block) = match n % 4 {
        0 => (Kind::Question, Block::Text(prose)),
        1 => {
            let input = format!(r#"{{"query":"{prose}"}}"#);
            (Kind::Call, Block::ToolCall(ToolCall { id: call_id, name: "search".to_owned(), input }))
        }
        2 => {
            (Kind::Results, Block::ToolResult(ToolResult { call_id, text: prose.repeat(3), is_error: false }))
        }
        _ => (Kind::Answer, Block::Text(prose)),
    };
    Message {
        id: MessageId(i64::try_from(n).expect("BUG: a place in a branch is small")),
        uid: Uid([0; 16]),
        parent_id: None,
        depth: 0,
        turn_id: TurnId(1),
        step: 0,
        kind,
        app_authored: false,
        compactable: true,
        blocks: vec![block],
        origin: None,
        usage: None,
        finish_reason: None,
        created_at: 0,
        redacted_at: None,
    }
}
