//! Stream events of a turn, as one chunk of consecutive numbers.
//!
//! Nearly all bytes of a chunk are answer text, cut into pieces of a few letters, so a run of
//! pieces is stored as one text and the lengths it is cut at: about a byte a piece. Events that
//! are never stored keep their numbers: they leave a gap, and [`decode_events`] numbers the rest.

use colloquy_core::message::{MessageId, Uid};
use serde::{Deserialize, Serialize};

use super::{RecordError, VERSION, decode_outcome, encode_outcome, read, step::UsageForm, write};
use crate::stream::{Done, StreamError, StreamEvent, Withdrawn};

const WHAT: &str = "the events of a turn";

/// Lengths 1 to 52 are one letter each; any other is its decimal digits and a dot.
const LETTERS: &[u8; 52] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

#[derive(Serialize)]
struct Written {
    v: u32,
    e: Vec<Run>,
}

#[derive(Serialize)]
#[serde(tag = "t", rename_all = "snake_case")]
enum Run {
    /// Pieces of the answer: the text `x`, cut at the lengths `n`; without `n`, one piece.
    Answer {
        x: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        n: Option<String>,
    },
    /// Pieces of the reasoning, in the same way.
    Thinking {
        x: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        n: Option<String>,
    },
    /// Answer text from the number `from` on is taken back.
    Withdraw {
        from: u64,
        to: &'static str,
    },
    Call {
        id: String,
        name: String,
        arguments: String,
    },
    ToolResult {
        id: String,
        name: String,
        text: String,
        is_error: bool,
    },
    Steer {
        text: String,
    },
    /// As many numbers without a stored event.
    Gap {
        count: u64,
    },
    Error {
        code: String,
        text: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        raw: Option<String>,
    },
    Done {
        turn: String,
        outcome: &'static str,
        question: i64,
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<i64>,
        usage: UsageForm,
    },
}

#[derive(Deserialize)]
struct Stored {
    e: Vec<StoredRun>,
}

/// Every member that any tag has, so that an unknown tag is told from a damaged run.
#[derive(Deserialize)]
struct StoredRun {
    t: String,
    x: Option<String>,
    n: Option<String>,
    from: Option<u64>,
    to: Option<String>,
    id: Option<String>,
    name: Option<String>,
    arguments: Option<String>,
    is_error: Option<bool>,
    count: Option<u64>,
    code: Option<String>,
    text: Option<String>,
    raw: Option<String>,
    turn: Option<String>,
    outcome: Option<String>,
    question: Option<i64>,
    message: Option<i64>,
    usage: Option<UsageForm>,
}

/// The stored form of a chunk of consecutive events.
pub fn encode_events(events: &[StreamEvent]) -> String {
    let mut runs = Vec::new();
    let mut rest = events;
    while let Some(first) = rest.first() {
        let (run, taken) = match first {
            StreamEvent::Answer(_) => {
                let (x, n, taken) = pieces(rest.iter().map_while(answer_piece));
                (Run::Answer { x, n }, taken)
            }
            StreamEvent::Thinking(_) => {
                let (x, n, taken) = pieces(rest.iter().map_while(thinking_piece));
                (Run::Thinking { x, n }, taken)
            }
            StreamEvent::Withdraw { from_seq, to } => {
                (Run::Withdraw { from: *from_seq, to: withdrawn_name(*to) }, 1)
            }
            StreamEvent::ToolCall { id, name, input } => {
                (Run::Call { id: id.clone(), name: name.clone(), arguments: input.clone() }, 1)
            }
            StreamEvent::ToolResult { id, name, text, is_error } => {
                let (id, name, text) = (id.clone(), name.clone(), text.clone());
                (Run::ToolResult { id, name, text, is_error: *is_error }, 1)
            }
            StreamEvent::Steer { text } => (Run::Steer { text: text.clone() }, 1),
            StreamEvent::Progress(_) | StreamEvent::Reload => {
                let unstored =
                    |event: &&StreamEvent| matches!(event, StreamEvent::Progress(_) | StreamEvent::Reload);
                let taken = rest.iter().take_while(unstored).count();
                (Run::Gap { count: taken as u64 }, taken)
            }
            StreamEvent::Error(StreamError { code, text, raw }) => {
                (Run::Error { code: code.clone(), text: text.clone(), raw: raw.clone() }, 1)
            }
            StreamEvent::Done(done) => (done_run(done), 1),
        };
        runs.push(run);
        rest = &rest[taken..];
    }
    write(&Written { v: VERSION, e: runs })
}

/// The events of a stored chunk with their numbers; those that are never stored are left out.
pub fn decode_events(first_seq: u64, json: &str) -> Result<Vec<(u64, StreamEvent)>, RecordError> {
    let mut events = Vec::new();
    let mut seq = first_seq;
    for run in read::<Stored>(WHAT, json)?.e {
        if run.t == "gap" {
            seq = seq.saturating_add(need(run.count, "count")?);
            continue;
        }
        for event in events_of(run)? {
            events.push((seq, event));
            seq = seq.saturating_add(1);
        }
    }
    Ok(events)
}

fn answer_piece(event: &StreamEvent) -> Option<&str> {
    if let StreamEvent::Answer(piece) = event { Some(piece) } else { None }
}

fn thinking_piece(event: &StreamEvent) -> Option<&str> {
    if let StreamEvent::Thinking(piece) = event { Some(piece) } else { None }
}

fn withdrawn_name(withdrawn: Withdrawn) -> &'static str {
    match withdrawn {
        Withdrawn::Thinking => "thinking",
        Withdrawn::Nothing => "nothing",
    }
}

fn withdrawn_from_name(name: &str) -> Result<Withdrawn, RecordError> {
    match name {
        "thinking" => Ok(Withdrawn::Thinking),
        "nothing" => Ok(Withdrawn::Nothing),
        unknown => Err(RecordError::tag(WHAT, unknown)),
    }
}

fn done_run(done: &Done) -> Run {
    let Done { turn_uid, outcome, question_id, message_id, usage } = done;
    Run::Done {
        turn: hex::encode(turn_uid.0),
        outcome: encode_outcome(*outcome),
        question: question_id.0,
        message: message_id.map(|id| id.0),
        usage: UsageForm::of(*usage),
    }
}

fn events_of(run: StoredRun) -> Result<Vec<StreamEvent>, RecordError> {
    let event = match run.t.as_str() {
        "answer" => return texts(run).map(|pieces| pieces.into_iter().map(StreamEvent::Answer).collect()),
        "thinking" => {
            return texts(run).map(|pieces| pieces.into_iter().map(StreamEvent::Thinking).collect());
        }
        "withdraw" => StreamEvent::Withdraw {
            from_seq: need(run.from, "from")?,
            to: withdrawn_from_name(&need(run.to, "to")?)?,
        },
        "call" => StreamEvent::ToolCall {
            id: need(run.id, "id")?,
            name: need(run.name, "name")?,
            input: need(run.arguments, "arguments")?,
        },
        "tool_result" => StreamEvent::ToolResult {
            id: need(run.id, "id")?,
            name: need(run.name, "name")?,
            text: need(run.text, "text")?,
            is_error: need(run.is_error, "is_error")?,
        },
        "steer" => StreamEvent::Steer { text: need(run.text, "text")? },
        "error" => StreamEvent::Error(StreamError {
            code: need(run.code, "code")?,
            text: need(run.text, "text")?,
            raw: run.raw,
        }),
        "done" => StreamEvent::Done(Done {
            turn_uid: uid(&need(run.turn, "turn")?)?,
            outcome: decode_outcome(&need(run.outcome, "outcome")?)?,
            question_id: MessageId(need(run.question, "question")?),
            message_id: run.message.map(MessageId),
            usage: need(run.usage, "usage")?.usage(),
        }),
        unknown => return Err(RecordError::tag(WHAT, unknown)),
    };
    Ok(vec![event])
}

/// The joined text of a run, the lengths to cut it at, and how many pieces it took.
fn pieces<'a>(run: impl Iterator<Item = &'a str>) -> (String, Option<String>, usize) {
    let mut text = String::new();
    let mut lengths = String::new();
    let mut taken = 0;
    for piece in run {
        text.push_str(piece);
        match piece.len().checked_sub(1).and_then(|index| LETTERS.get(index)) {
            Some(letter) => lengths.push(char::from(*letter)),
            None => lengths.push_str(&format!("{}.", piece.len())),
        }
        taken += 1;
    }
    (text, (taken > 1).then_some(lengths), taken)
}

fn texts(run: StoredRun) -> Result<Vec<String>, RecordError> {
    let text = need(run.x, "x")?;
    let Some(lengths) = run.n else { return Ok(vec![text]) };
    let uneven = || RecordError::damaged(WHAT, "a text and its cuts do not fit");
    let mut pieces = Vec::new();
    let mut rest = text.as_str();
    let mut digits: Option<usize> = None;
    for letter in lengths.bytes() {
        let length = match (letter, digits.take()) {
            (b'0'..=b'9', tens) => {
                let shifted = tens.unwrap_or(0).checked_mul(10).ok_or_else(uneven)?;
                digits = Some(shifted.checked_add(usize::from(letter - b'0')).ok_or_else(uneven)?);
                continue;
            }
            (b'.', Some(length)) => length,
            (b'a'..=b'z', None) => usize::from(letter - b'a') + 1,
            (b'A'..=b'Z', None) => usize::from(letter - b'A') + 27,
            _ => return Err(uneven()),
        };
        let (piece, after) = rest.split_at_checked(length).ok_or_else(uneven)?;
        pieces.push(piece.to_owned());
        rest = after;
    }
    if rest.is_empty() && digits.is_none() { Ok(pieces) } else { Err(uneven()) }
}

fn need<T>(member: Option<T>, name: &str) -> Result<T, RecordError> {
    member.ok_or_else(|| RecordError::damaged(WHAT, format!("an event has no {name}")))
}

fn uid(digits: &str) -> Result<Uid, RecordError> {
    let mut bytes = [0; 16];
    hex::decode_to_slice(digits, &mut bytes)
        .map_err(|_| RecordError::damaged(WHAT, "a turn is not 32 hex digits"))?;
    Ok(Uid(bytes))
}
