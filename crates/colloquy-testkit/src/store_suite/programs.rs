//! Random programs of operations against a model of what must be stored after each (§ 3).

use std::sync::Arc;

use colloquy::ports::{AppendedQuestion, Lease, Page, Store, StoreError, Take};
use colloquy_core::message::{Kind, MessageId, Role};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};

use super::{Chat, Fixture, LEASE_MS, NOW, answer_to, end, fresh_uid, ids, message, principal, text};

/// What a test of every change runs; `PROPTEST_CASES` asks for another number.
const N_PROGRAMS: u32 = 24;

/// One operation; what it does depends on where the conversation stands.
#[derive(Debug, Clone)]
enum Operation {
    Ask(String),
    AskOnAnOldTip,
    Step,
    Answer(String),
    EndWithoutAnswer,
    Flush(Vec<String>),
    Crash,
    WriteLate,
    Star(usize),
    Unstar(usize),
    Delete,
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => ".{0,12}".prop_map(Operation::Ask),
        1 => Just(Operation::AskOnAnOldTip),
        3 => Just(Operation::Step),
        6 => ".{0,12}".prop_map(Operation::Answer),
        1 => Just(Operation::EndWithoutAnswer),
        2 => prop::collection::vec(".{0,4}", 0..4).prop_map(Operation::Flush),
        1 => Just(Operation::Crash),
        2 => Just(Operation::WriteLate),
        2 => any::<usize>().prop_map(Operation::Star),
        1 => any::<usize>().prop_map(Operation::Unstar),
        1 => Just(Operation::Delete),
    ]
}

/// What the store must say.
#[derive(Debug, Default)]
struct Expected {
    branch: Vec<(MessageId, Kind, String)>,
    starred: Vec<MessageId>,
    running: Option<AppendedQuestion>,
    version: i64,
    next_seq: u64,
    /// The newest lease that is known to have been lost.
    lost: Option<(AppendedQuestion, Lease)>,
}

/// Runs programs, each in a conversation of its own, and shrinks one that fails.
pub fn random_programs_keep_the_invariants<F: Future<Output = Fixture>>(open: impl FnOnce() -> F) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let fixture = runtime.block_on(open());
    let usual = Config::default();
    let cases = if usual.cases == DEFAULT_CASES { N_PROGRAMS } else { usual.cases };
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..usual });
    let program = prop::collection::vec(operation(), 1..24);
    let run = |program| {
        runtime.block_on(run_program(&fixture.store, program));
        Ok(())
    };
    if let Err(failure) = runner.run(&program, run) {
        panic!("{failure}");
    }
}

/// What proptest takes where the environment names no number.
const DEFAULT_CASES: u32 = 256;

async fn run_program(store: &Arc<dyn Store>, program: Vec<Operation>) {
    let who = principal(&format!("{:?}", fresh_uid()));
    let mut chat = Chat::of(store, who.clone()).await;
    let mut expected = Expected { next_seq: 1, ..Expected::default() };
    for operation in program {
        if matches!(operation, Operation::Delete) {
            assert!(store.delete_conversation(&who, chat.id).await.unwrap());
            assert_eq!(store.load_view(&who, chat.id).await.unwrap(), None);
            if let Some(asked) = expected.running.take() {
                let late = chat.commit(&asked.lease, answer_to(&asked, "late")).await;
                assert!(matches!(late, Err(StoreError::StaleOwner)), "{late:?}");
            }
            chat = Chat::of(store, who.clone()).await;
            expected = Expected { next_seq: 1, ..Expected::default() };
        } else {
            apply(&chat, &mut expected, operation).await;
        }
        check(&chat, &expected).await;
    }
}

async fn apply(chat: &Chat<'_>, expected: &mut Expected, operation: Operation) {
    match operation {
        Operation::Ask(asked) => ask(chat, expected, &asked).await,
        Operation::AskOnAnOldTip => {
            let question = chat.question(Some(MessageId(i64::MAX)), "old");
            let refused = chat.append(question).await;
            match (&expected.running, refused) {
                (None, Err(StoreError::StaleParent { tip_id })) => {
                    assert_eq!(tip_id, expected.branch.last().map(|(id, _, _)| *id));
                }
                (Some(_), Err(StoreError::TurnInProgress { turn_uid: Some(_) })) => {}
                (_, other) => panic!("{other:?}"),
            }
        }
        Operation::Step => step(chat, expected).await,
        Operation::Answer(answer) => finish(chat, expected, Some(&answer)).await,
        Operation::EndWithoutAnswer => finish(chat, expected, None).await,
        Operation::Flush(pieces) => flush(chat, expected, &pieces).await,
        Operation::Crash => crash(chat, expected).await,
        Operation::WriteLate => write_late(chat, expected).await,
        Operation::Star(index) => star(chat, expected, index, true).await,
        Operation::Unstar(index) => star(chat, expected, index, false).await,
        Operation::Delete => unreachable!("BUG: the caller deletes"),
    }
}

async fn ask(chat: &Chat<'_>, expected: &mut Expected, asked: &str) {
    let base_id = expected.branch.last().map(|(id, _, _)| *id);
    let result = chat.append(chat.question(base_id, asked)).await;
    if expected.running.is_some() {
        assert!(matches!(result, Err(StoreError::TurnInProgress { .. })), "{result:?}");
        return;
    }
    let appended = result.unwrap();
    expected.version += 1;
    assert_eq!(appended.version, expected.version);
    expected.branch.push((appended.message.id, Kind::Question, asked.into()));
    expected.next_seq = 1;
    expected.running = Some(appended);
}

/// A call and its results, as two commits.
async fn step(chat: &Chat<'_>, expected: &mut Expected) {
    let Some(asked) = &expected.running else { return };
    for kind in [Kind::Call, Kind::Results] {
        let parent = expected.branch.last().expect("BUG: a running turn has a question").0;
        let new = message(kind, text("step"));
        let appended =
            chat.store.append_step(&chat.who, &asked.lease, asked.turn_id, parent, new, NOW).await.unwrap();
        expected.branch.push((appended.id, kind, "step".into()));
        expected.version += 1;
    }
}

async fn finish(chat: &Chat<'_>, expected: &mut Expected, answer: Option<&str>) {
    let Some(asked) = expected.running.take() else { return };
    let parent = expected.branch.last().expect("BUG: a running turn has a question").0;
    let kind = if answer.is_some() { Kind::Answer } else { Kind::Closing };
    let said = answer.unwrap_or("closed");
    let commit = end(asked.turn_id, parent, vec![message(kind, text(said))]);
    let committed = chat.commit(&asked.lease, commit).await.unwrap();
    expected.version += 1;
    assert_eq!(committed.version, expected.version);
    expected.branch.push((committed.messages[0].id, kind, said.into()));
    let lease = asked.lease;
    expected.lost = Some((asked, lease));
}

async fn flush(chat: &Chat<'_>, expected: &mut Expected, pieces: &[String]) {
    let Some(asked) = &expected.running else { return };
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let chunk = super::fences::chunk(asked.lease, asked.turn_id, expected.next_seq, &pieces);
    assert_eq!(chat.store.append_events(vec![chunk]).await.unwrap(), []);
    expected.next_seq += pieces.len() as u64;
}

/// The owner dies, and another takes the lease and goes on in its place.
async fn crash(chat: &Chat<'_>, expected: &mut Expected) {
    let lease =
        chat.store.take_lease(&chat.who, chat.id, Take::ByForce, fresh_uid(), NOW + LEASE_MS).await.unwrap();
    let lease = lease.expect("BUG: the conversation exists");
    if let Some(asked) = &mut expected.running {
        let old = std::mem::replace(&mut asked.lease, lease);
        expected.lost = Some((asked.clone(), old));
    } else {
        // Nobody runs anything: give it back, so that the next question is not refused.
        assert_eq!(chat.store.renew_leases(vec![lease], NOW).await.unwrap(), []);
        let again = chat.store.take_lease(&chat.who, chat.id, Take::ByForce, chat.holder, NOW).await.unwrap();
        assert!(again.is_some_and(|again| again.fence > lease.fence));
    }
}

async fn write_late(chat: &Chat<'_>, expected: &Expected) {
    let Some((asked, lease)) = &expected.lost else { return };
    let late = chat.commit(lease, answer_to(asked, "late")).await;
    assert!(matches!(late, Err(StoreError::StaleOwner)), "{late:?}");
}

async fn star(chat: &Chat<'_>, expected: &mut Expected, index: usize, starred: bool) {
    let Some(index) = index.checked_rem(expected.branch.len()) else { return };
    let id = expected.branch[index].0;
    let found = chat.store.set_star(&chat.who, id, starred.then_some(NOW)).await.unwrap();
    assert_eq!(found, Some(chat.id));
    expected.starred.retain(|other| *other != id);
    if starred {
        expected.starred.push(id);
    }
}

async fn check(chat: &Chat<'_>, expected: &Expected) {
    let row = chat.row().await;
    assert_eq!(row.tip_id, expected.branch.last().map(|(id, _, _)| *id));
    assert_eq!(row.version, expected.version);
    let view = chat.view().await;
    let seen = view.messages.iter().map(|message| (message.id, message.kind, message.text()));
    assert_eq!(seen.collect::<Vec<_>>(), expected.branch);
    for (depth, message) in view.messages.iter().enumerate() {
        assert_eq!(message.depth as usize, depth);
        let parent = depth.checked_sub(1).map(|above| view.messages[above].id);
        assert_eq!(message.parent_id, parent);
        let role = if depth.is_multiple_of(2) { Role::User } else { Role::Assistant };
        assert_eq!(message.role(), role, "roles alternate");
    }
    if expected.running.is_none() {
        let tip = view.messages.last().map(|message| message.kind);
        assert!(matches!(tip, None | Some(Kind::Answer | Kind::Closing)), "{tip:?}");
    }
    let list = chat.list(Page::default()).await;
    assert_eq!(ids(&list), expected.branch.iter().map(|(id, _, _)| *id).collect::<Vec<_>>());
    for stored in &list {
        assert_eq!(stored.siblings, [stored.message.id]);
        assert_eq!(stored.starred, expected.starred.contains(&stored.message.id));
    }
    let open = chat.store.open_turns(i64::MAX).await.unwrap();
    let open: Vec<_> = open.into_iter().filter(|open| open.turn.conversation_id == chat.id).collect();
    match &expected.running {
        None => assert_eq!(open, []),
        Some(asked) => {
            assert_eq!((open.len(), open[0].turn.id), (1, asked.turn_id));
            assert_eq!(open[0].events.len() as u64 + 1, expected.next_seq);
            assert_eq!(open[0].messages, view.messages);
        }
    }
}
