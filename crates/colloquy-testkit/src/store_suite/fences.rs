//! One owner at a time: leases, fences, and what a late writer is told.

use std::sync::Arc;

use colloquy::ports::{
    AppendedQuestion, EventChunk, Lease, Page, StepCommit, Store, StoreError, Take, ToolRun, ToolRunState,
};
use colloquy::stream::StreamEvent;
use colloquy_core::message::{Kind, TurnId};

use super::{Chat, LEASE_MS, NOW, answer_to, artifacts::artifact, assert_stale, fresh_uid, message, text};

pub(super) fn tool_run(turn_id: TurnId) -> ToolRun {
    ToolRun {
        turn_id,
        step: 0,
        call_id: "c1\u{0}é".into(),
        name: "clock".into(),
        input: "{}".into(),
        state: ToolRunState::Started,
        result: None,
        is_error: false,
        started_at: NOW,
        finished_at: None,
    }
}

pub(super) fn chunk(lease: Lease, turn_id: TurnId, first_seq: u64, pieces: &[&str]) -> EventChunk {
    let events = pieces.iter().map(|piece| StreamEvent::Answer((*piece).into())).collect();
    EventChunk { lease, turn_id, first_seq, events }
}

/// Tries every fenced write and expects each to be refused.
pub(super) async fn assert_every_write_is_stale(chat: &Chat<'_>, asked: &AppendedQuestion, lease: &Lease) {
    let (store, who, turn_id) = (chat.store, &chat.who, asked.turn_id);
    let step = message(Kind::Call, text("late"));
    let step = StepCommit { turn_id, parent_id: asked.message.id, messages: vec![step], at: NOW };
    assert_stale(store.append_step(who, lease, step).await);
    assert_stale(store.accept_steer(who, lease, turn_id, text("late")).await);
    assert_stale(store.commit_turn(who, lease, answer_to(asked, "late")).await);
    assert_stale(store.start_tool_runs(who, lease, vec![tool_run(turn_id)]).await);
    assert_stale(
        store.finish_tool_run(who, lease, tool_run(turn_id), vec![artifact("late", "000000", "{}")]).await,
    );
    let refused = store.append_events(vec![chunk(*lease, turn_id, 1, &["late"])]).await.unwrap();
    assert_eq!(refused, [turn_id]);
    let lost = store.renew_leases(vec![*lease], NOW + LEASE_MS).await.unwrap();
    assert_eq!(lost, [*lease]);
}

/// An older fence, another holder, a fence that nobody was given: nothing is written.
pub async fn i7_every_fenced_write_of_a_stale_owner_is_refused(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let asked = chat.ask("1").await;
    let before = chat.row().await;
    let taken = store
        .take_lease(&chat.who, chat.id, Take::ByForce, fresh_uid(), NOW + LEASE_MS)
        .await
        .unwrap()
        .unwrap();
    assert!(taken.fence > asked.lease.fence);
    let lease = asked.lease;
    for stale in [
        lease,
        Lease { holder: fresh_uid(), fence: taken.fence, ..lease },
        Lease { fence: taken.fence + 1, ..taken },
        Lease { fence: taken.fence, ..lease },
    ] {
        assert_every_write_is_stale(&chat, &asked, &stale).await;
    }
    assert_eq!(chat.row().await, before);
    assert_eq!(chat.texts().await, ["1"]);
    let dead = store.open_turns(NOW + LEASE_MS).await.unwrap();
    assert!(dead[0].events.is_empty() && dead[0].tool_runs.is_empty() && dead[0].inbox.is_empty());
    assert_eq!(store.load_artifacts(&chat.who, chat.id).await.unwrap(), []);
    // The new owner is not in the way of itself.
    chat.commit(&taken, answer_to(&asked, "one")).await.unwrap();
    assert_eq!(chat.texts().await, ["1", "one"]);
}

/// At the very millisecond.
pub async fn another_holder_waits_until_the_lease_has_expired(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let held =
        store.take_lease(&chat.who, chat.id, Take::ByForce, fresh_uid(), NOW + 50).await.unwrap().unwrap();
    let at = |at| colloquy::ports::Question { at, ..chat.question(None, "1") };
    let refused = chat.append(at(NOW + 49)).await;
    assert!(matches!(refused, Err(StoreError::TurnInProgress { turn_uid: None })), "{refused:?}");
    assert!(chat.list(Page::default()).await.is_empty());
    let asked = chat.append(at(NOW + 50)).await.unwrap();
    assert!(asked.lease.fence > held.fence);
    assert_eq!(store.renew_leases(vec![held], NOW + LEASE_MS).await.unwrap(), [held]);
}

/// So that what the turn before still has in hand is stale.
pub async fn the_fence_grows_with_every_turn_of_the_same_holder(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let first = chat.ask("1").await;
    chat.answer(&first, "one").await;
    let second = chat.ask("2").await;
    assert!(second.lease.fence > first.lease.fence);
    assert_every_write_is_stale(&chat, &second, &first.lease).await;
    chat.answer(&second, "two").await;
    assert_eq!(chat.texts().await, ["1", "one", "2", "two"]);
}

/// Anybody may take it at once.
pub async fn a_committed_turn_gives_its_lease_back_and_takes_no_more_writes(store: &Arc<dyn Store>) {
    let mut chat = Chat::new(store).await;
    let asked = chat.ask("1").await;
    chat.answer(&asked, "one").await;
    assert_stale(chat.commit(&asked.lease, answer_to(&asked, "again")).await);
    assert_stale(store.start_tool_runs(&chat.who, &asked.lease, vec![tool_run(asked.turn_id)]).await);
    assert_eq!(store.renew_leases(vec![asked.lease], NOW + LEASE_MS).await.unwrap(), [asked.lease]);
    chat.holder = fresh_uid();
    chat.turn("2", "two").await;
    assert_eq!(chat.texts().await, ["1", "one", "2", "two"]);
}

/// A lease of one conversation is no key to another.
pub async fn a_lease_covers_only_the_turns_of_its_conversation(store: &Arc<dyn Store>) {
    let (one, two) = (Chat::new(store).await, Chat::new(store).await);
    let (here, there) = (one.ask("here").await, two.ask("there").await);
    assert_stale(one.commit(&here.lease, answer_to(&there, "?")).await);
    assert_stale(store.start_tool_runs(&one.who, &here.lease, vec![tool_run(there.turn_id)]).await);
    assert_stale(store.accept_steer(&one.who, &here.lease, there.turn_id, text("?")).await);
    let refused = store.append_events(vec![chunk(here.lease, there.turn_id, 1, &["?"])]).await.unwrap();
    assert_eq!(refused, [there.turn_id]);
    assert_eq!((one.texts().await, two.texts().await), (vec!["here".into()], vec!["there".into()]));
}

/// And extends the others, never shortening one.
pub async fn renewing_reports_the_leases_that_are_lost(store: &Arc<dyn Store>) {
    let (one, two) = (Chat::new(store).await, Chat::new(store).await);
    let (kept, lost) = (one.ask("1").await.lease, two.ask("1").await.lease);
    store.take_lease(&two.who, two.id, Take::ByForce, fresh_uid(), NOW).await.unwrap();
    assert_eq!(store.renew_leases(vec![kept, lost], NOW + 3 * LEASE_MS).await.unwrap(), [lost]);
    assert_eq!(store.renew_leases(vec![kept], NOW).await.unwrap(), []);
    assert_eq!(store.renew_leases(Vec::new(), NOW).await.unwrap(), []);
    let dead = async |now| {
        store.open_turns(now).await.unwrap().iter().map(|open| open.turn.conversation_id).collect::<Vec<_>>()
    };
    assert_eq!(dead(NOW + 3 * LEASE_MS - 1).await, [two.id]);
    assert_eq!(dead(NOW + 3 * LEASE_MS).await, [one.id, two.id]);
}
