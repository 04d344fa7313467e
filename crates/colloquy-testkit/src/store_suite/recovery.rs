//! Turns whose process died, and the tool runs that must not happen twice.

use std::sync::Arc;

use colloquy::{
    ports::{Commit, InboxMessage, Store, Take, ToolRun, ToolRunState, TurnState},
    stream::StreamEvent,
};
use colloquy_core::{
    message::{Kind, LlmId},
    turn::Outcome,
};

use super::{
    Chat, LEASE_MS, NOW, end,
    fences::{chunk, tool_run},
    fresh_uid, message, principal, text,
};

/// Whose it is, its branch, its runs and its events, each in order.
pub async fn a_dead_turn_comes_with_all_that_closing_it_needs(store: &Arc<dyn Store>) {
    let chat = Chat::of(store, principal("anne")).await;
    chat.turn("1", "one").await;
    let mut question = chat.question(chat.tip().await, "2");
    question.llm_id = Some(LlmId(7));
    let turn_uid = question.turn_uid;
    let asked = chat.append(question).await.unwrap();
    let step = message(Kind::Call, text("let me see"));
    chat.step(&asked, asked.message.id, vec![step]).await.unwrap();
    let second = ToolRun { call_id: "c2".into(), ..tool_run(asked.turn_id) };
    let runs = vec![second.clone(), tool_run(asked.turn_id)];
    store.start_tool_runs(&chat.who, &asked.lease, runs).await.unwrap();
    let finished = ToolRun {
        state: ToolRunState::Finished,
        result: Some("noon\u{0}".into()),
        is_error: true,
        finished_at: Some(NOW + 1),
        ..tool_run(asked.turn_id)
    };
    store.finish_tool_run(&chat.who, &asked.lease, finished.clone(), Vec::new()).await.unwrap();
    assert_eq!(chat.steer(&asked, "in French").await.unwrap(), 0);
    store.append_events(vec![chunk(asked.lease, asked.turn_id, 3, &["b"])]).await.unwrap();
    store.append_events(vec![chunk(asked.lease, asked.turn_id, 1, &["a", "ä"])]).await.unwrap();

    let dead = store.open_turns(NOW + LEASE_MS).await.unwrap();
    let [open] = dead.as_slice() else { panic!("{dead:?}") };
    assert_eq!((&open.principal, open.llm_id), (&chat.who, Some(LlmId(7))));
    assert_eq!((open.turn.uid, open.turn.state), (turn_uid, TurnState::Running));
    assert_eq!((open.turn.conversation_id, open.turn.last_seq), (chat.id, 3));
    assert_eq!(open.messages, chat.view().await.messages);
    assert_eq!(open.messages.len(), 4);
    assert_eq!(open.tool_runs, [finished, second]);
    let pieces = ["a", "ä", "b"].map(|piece| StreamEvent::Answer(piece.into()));
    assert_eq!(open.events, pieces);
    assert_eq!(open.inbox, [InboxMessage { ordinal: 0, blocks: text("in French") }]);
}

/// Nor is one that is over.
pub async fn a_turn_whose_lease_holds_is_not_dead(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let asked = chat.ask("1").await;
    assert_eq!(store.open_turns(NOW + LEASE_MS - 1).await.unwrap(), []);
    assert_eq!(store.open_turns(NOW + LEASE_MS).await.unwrap().len(), 1);
    store.renew_leases(vec![asked.lease], NOW + 2 * LEASE_MS).await.unwrap();
    assert_eq!(store.open_turns(NOW + LEASE_MS).await.unwrap(), []);
    chat.answer(&asked, "one").await;
    assert_eq!(store.open_turns(i64::MAX).await.unwrap(), []);
}

/// After which the conversation goes on.
pub async fn a_dead_turn_is_closed_by_who_takes_its_lease(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let asked = chat.ask("1").await;
    store.start_tool_runs(&chat.who, &asked.lease, vec![tool_run(asked.turn_id)]).await.unwrap();
    let lease = store
        .take_lease(&chat.who, chat.id, Take::ByForce, fresh_uid(), NOW + LEASE_MS)
        .await
        .unwrap()
        .unwrap();
    let closing = vec![message(Kind::Closing, text("[The answer was interrupted.]"))];
    let commit = Commit { outcome: Outcome::Interrupted, ..end(asked.turn_id, asked.message.id, closing) };
    chat.commit(&lease, commit).await.unwrap();
    assert_eq!(store.open_turns(i64::MAX).await.unwrap(), []);
    chat.turn("2", "two").await;
    assert_eq!(chat.texts().await, ["1", "[The answer was interrupted.]", "2", "two"]);
}

/// A list of dead turns grows old: who acts on it takes nothing that has changed since.
pub async fn a_lease_is_taken_only_as_it_was_seen(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let asked = chat.ask("1").await;
    let seen = store.open_turns(NOW + LEASE_MS).await.unwrap()[0].take;
    let take =
        async |take| store.take_lease(&chat.who, chat.id, take, fresh_uid(), NOW + LEASE_MS).await.unwrap();
    // Its owner came back to life.
    store.renew_leases(vec![asked.lease], NOW + 2 * LEASE_MS).await.unwrap();
    assert_eq!(take(seen).await, None);
    // Somebody else was quicker.
    let seen = store.open_turns(i64::MAX).await.unwrap()[0].take;
    let lease = take(seen).await.unwrap();
    assert_eq!(take(seen).await, None);
    // It is closed, and the next turn has begun.
    let seen = store.open_turns(i64::MAX).await.unwrap()[0].take;
    let closing = vec![message(Kind::Closing, text("[The answer was interrupted.]"))];
    let commit = Commit { outcome: Outcome::Interrupted, ..end(asked.turn_id, asked.message.id, closing) };
    chat.commit(&lease, commit).await.unwrap();
    assert_eq!(take(seen).await, None);
    let next = chat.ask("2").await;
    assert_eq!(take(seen).await, None);
    chat.answer(&next, "two").await;
    assert_eq!(chat.texts().await, ["1", "[The answer was interrupted.]", "2", "two"]);
}

/// Its result stays, whatever is written after it.
pub async fn a_tool_run_that_has_ended_is_not_started_again(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let asked = chat.ask("1").await;
    let started = tool_run(asked.turn_id);
    let finished = ToolRun {
        state: ToolRunState::Finished,
        result: Some("noon".into()),
        finished_at: Some(NOW + 1),
        ..started.clone()
    };
    for run in [started.clone(), started.clone()] {
        store.start_tool_runs(&chat.who, &asked.lease, vec![run]).await.unwrap();
    }
    store.finish_tool_run(&chat.who, &asked.lease, finished.clone(), Vec::new()).await.unwrap();
    store.start_tool_runs(&chat.who, &asked.lease, vec![started]).await.unwrap();
    let dead = store.open_turns(i64::MAX).await.unwrap();
    assert_eq!(dead[0].tool_runs, [finished]);
}
