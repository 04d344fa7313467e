//! Random programs of operations against a model of what must be stored after each (§ 3).

mod expected;

use std::sync::Arc;

use colloquy::ports::{NewMessage, Question, Store, StoreError, Take};
use colloquy_core::message::{Kind, MessageId};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};

use super::{
    Chat, Fixture, LEASE_MS, NOW, answer_to, artifacts::artifact, call, end, fences::tool_run, fresh_uid,
    message, principal, results, text,
};
use expected::{Expected, check};

/// What a test of every change runs; `PROPTEST_CASES` asks for another number.
const N_PROGRAMS: u32 = 24;

/// What proptest takes where the environment names no number.
const DEFAULT_CASES: u32 = 256;

/// One operation; what it does depends on where the conversation stands.
#[derive(Debug, Clone)]
enum Operation {
    Ask { text: String, n_before: usize },
    AskOnAnOldTip,
    Step,
    Steer(String),
    Learn { id: u8, json: String, top_level: bool },
    Forge,
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
        6 => (".{0,12}", 0..3_usize).prop_map(|(text, n_before)| Operation::Ask { text, n_before }),
        1 => Just(Operation::AskOnAnOldTip),
        3 => Just(Operation::Step),
        3 => ".{0,12}".prop_map(Operation::Steer),
        3 => (0..6_u8, ".{0,12}", any::<bool>())
            .prop_map(|(id, json, top_level)| Operation::Learn { id, json, top_level }),
        1 => Just(Operation::Forge),
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

/// Runs programs, each in a conversation of its own, and shrinks one that fails.
pub fn random_programs_keep_the_invariants<F: Future<Output = Fixture>>(open: impl FnOnce() -> F) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let fixture = runtime.block_on(open());
    let usual = Config::default();
    let cases = if usual.cases == DEFAULT_CASES { N_PROGRAMS } else { usual.cases };
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..usual });
    let program = prop::collection::vec(operation(), 1..32);
    let run = |program| {
        runtime.block_on(run_program(&fixture.store, program));
        Ok(())
    };
    if let Err(failure) = runner.run(&program, run) {
        panic!("{failure}");
    }
}

async fn run_program(store: &Arc<dyn Store>, program: Vec<Operation>) {
    let who = principal(&format!("{:?}", fresh_uid()));
    let mut chat = Chat::of(store, who.clone()).await;
    let mut expected = Expected::default();
    for operation in program {
        if matches!(operation, Operation::Delete) {
            assert!(store.delete_conversation(&who, chat.id).await.unwrap());
            assert_eq!(store.load_view(&who, chat.id).await.unwrap(), None);
            if let Some(asked) = expected.running.take() {
                let late = chat.commit(&asked.lease, answer_to(&asked, "late")).await;
                assert!(matches!(late, Err(StoreError::StaleOwner)), "{late:?}");
            }
            chat = Chat::of(store, who.clone()).await;
            expected = Expected::default();
        } else {
            apply(&chat, &mut expected, operation).await;
        }
        check(&chat, &expected).await;
    }
    // What one program leaves would slow down all that follow.
    assert!(store.delete_conversation(&who, chat.id).await.unwrap());
}

async fn apply(chat: &Chat<'_>, expected: &mut Expected, operation: Operation) {
    match operation {
        Operation::Ask { text, n_before } => ask(chat, expected, &text, n_before).await,
        Operation::AskOnAnOldTip => {
            let question = chat.question(Some(MessageId(i64::MAX)), "old");
            let refused = chat.append(question).await;
            match (&expected.running, refused) {
                (None, Err(StoreError::StaleParent { tip_id })) => assert_eq!(tip_id, expected.tip()),
                (Some(_), Err(StoreError::TurnInProgress { turn_uid: Some(_) })) => {}
                (_, other) => panic!("{other:?}"),
            }
        }
        Operation::Step => step(chat, expected).await,
        Operation::Steer(said) => steer(chat, expected, said).await,
        Operation::Learn { id, json, top_level } => learn(chat, expected, id, &json, top_level).await,
        Operation::Forge => forge(chat, expected).await,
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

async fn ask(chat: &Chat<'_>, expected: &mut Expected, asked: &str, n_before: usize) {
    let before = (0..n_before).map(|n| message(Kind::Announcement, text(&format!("tool {n}")))).collect();
    let result = chat.append(Question { before, ..chat.question(expected.tip(), asked) }).await;
    if expected.running.is_some() {
        assert!(matches!(result, Err(StoreError::TurnInProgress { .. })), "{result:?}");
        return;
    }
    let appended = result.unwrap();
    expected.version += 1;
    assert_eq!(appended.version, expected.version);
    expected.append(&appended.before);
    expected.append(std::slice::from_ref(&appended.message));
    expected.begin(appended);
}

/// Calls, then their results with what the inbox holds, as two commits.
async fn step(chat: &Chat<'_>, expected: &mut Expected) {
    let Some(asked) = expected.running.clone() else { return };
    let after_results = [results()].into_iter().chain(deliveries(expected)).collect();
    for messages in [vec![call()], after_results] {
        let parent_id = expected.tip().expect("BUG: a running turn has a question");
        let appended = chat.step(&asked, parent_id, messages).await.unwrap();
        expected.append(&appended);
        expected.version += 1;
    }
    expected.waiting.clear();
}

fn deliveries(expected: &Expected) -> Vec<NewMessage> {
    let deliver = |(ordinal, said): &(u32, String)| NewMessage {
        inbox_ordinal: Some(*ordinal),
        ..message(Kind::Steer, text(said))
    };
    expected.waiting.iter().map(deliver).collect()
}

async fn steer(chat: &Chat<'_>, expected: &mut Expected, said: String) {
    let Some(asked) = &expected.running else { return };
    let ordinal = chat.steer(asked, &said).await.unwrap();
    assert_eq!(ordinal, expected.n_accepted);
    expected.n_accepted += 1;
    expected.waiting.push((ordinal, said));
}

/// A tool returns an artifact: a new one, or one that is known with a tier of now.
async fn learn(chat: &Chat<'_>, expected: &mut Expected, id: u8, json: &str, top_level: bool) {
    let Some(asked) = &expected.running else { return };
    let mut learned = artifact("note", &format!("rand{id:02}"), json);
    let known = expected.artifacts.iter_mut().find(|known| known.reference == learned.reference);
    match known {
        Some(known) => {
            learned.json = Arc::clone(&known.json);
            learned.top_level = top_level;
            learned.summaries.insert("/text".into(), json.into());
            known.clone_from(&learned);
        }
        None => expected.artifacts.push(learned.clone()),
    }
    let run = tool_run(asked.turn_id);
    chat.store.finish_tool_run(&chat.who, &asked.lease, run, vec![learned]).await.unwrap();
}

/// Other bytes under a known reference.
async fn forge(chat: &Chat<'_>, expected: &Expected) {
    let Some((asked, known)) = expected.running.as_ref().zip(expected.artifacts.first()) else { return };
    let mut forged = known.clone();
    forged.json = format!("{}!", forged.json).into();
    let run = tool_run(asked.turn_id);
    let refused = chat.store.finish_tool_run(&chat.who, &asked.lease, run, vec![forged]).await;
    assert!(matches!(refused, Err(StoreError::Corrupt(_))), "{refused:?}");
}

async fn finish(chat: &Chat<'_>, expected: &mut Expected, answer: Option<&str>) {
    let Some(asked) = expected.running.take() else { return };
    let parent_id = expected.tip().expect("BUG: a running turn has a question");
    let kind = if answer.is_some() { Kind::Answer } else { Kind::Closing };
    let said = message(kind, text(answer.unwrap_or("closed")));
    let messages = deliveries(expected).into_iter().chain([said]).collect();
    let committed = chat.commit(&asked.lease, end(asked.turn_id, parent_id, messages)).await.unwrap();
    expected.version += 1;
    assert_eq!(committed.version, expected.version);
    expected.append(&committed.messages);
    expected.waiting.clear();
    let lease = asked.lease;
    expected.lost = Some((asked, lease));
}

async fn flush(chat: &Chat<'_>, expected: &mut Expected, pieces: &[String]) {
    let Some(asked) = &expected.running else { return };
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let chunk = super::fences::chunk(asked.lease, asked.turn_id, expected.n_events + 1, &pieces);
    assert_eq!(chat.store.append_events(vec![chunk]).await.unwrap(), []);
    expected.n_events += pieces.len() as u64;
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
    let late = chat.store.accept_steer(&chat.who, lease, asked.turn_id, text("late")).await;
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
