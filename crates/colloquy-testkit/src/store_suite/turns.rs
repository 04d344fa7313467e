//! The commits of a turn, and the branches that they add up to.

use std::sync::Arc;

use colloquy::{
    ports::{Commit, NewMessage, Page, Store, StoreError, TurnState},
    stream::StreamError,
};
use colloquy_core::{
    message::{FinishReason, Kind, LlmId, MessageId, Origin, Role, Usage},
    turn::{FailureCode, Outcome},
};

use super::{Chat, NOW, answer_to, assert_stale, call, end, fresh_uid, ids, message, results, text};

/// Question, then end: what each writes, and what can be read after each.
pub async fn a_turn_is_stored_commit_by_commit(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let question = chat.question(None, "Where is Paris?");
    let (turn_uid, message_uid) = (question.turn_uid, question.message_uid);
    let asked = chat.append(question).await.unwrap();
    assert_eq!(asked.version, 1);
    assert_eq!((asked.lease.conversation_id, asked.lease.holder), (chat.id, chat.holder));
    assert_eq!((asked.message.uid, asked.message.parent_id, asked.message.depth), (message_uid, None, 0));
    assert_eq!((asked.message.kind, asked.message.role()), (Kind::Question, Role::User));
    assert_eq!(chat.view().await.messages, std::slice::from_ref(&asked.message));
    let turn = store.find_turn(&chat.who, chat.id, turn_uid).await.unwrap().unwrap();
    assert_eq!((turn.id, turn.state, turn.outcome), (asked.turn_id, TurnState::Running, None));
    assert_eq!((turn.question_id, turn.ended_at), (Some(asked.message.id), None));
    assert_eq!(chat.list(Page::default()).await[0].outcome, None);

    let origin = Origin { llm_id: Some(LlmId(3)), dialect: "openai".into(), model: "m".into() };
    let usage = Usage {
        prompt_tokens: Some(12),
        reused_tokens: Some(0),
        cache_write_tokens: Some(7),
        ..Usage::default()
    };
    let answer = NewMessage {
        origin: Some(origin.clone()),
        usage: Some(usage),
        ..message(Kind::Answer, text("In France."))
    };
    let commit = end(asked.turn_id, asked.message.id, vec![answer]);
    let committed = chat.commit(&asked.lease, commit).await.unwrap();
    assert_eq!(committed.version, 2);
    let [answer] = committed.messages.as_slice() else { panic!("{committed:?}") };
    assert_eq!((answer.parent_id, answer.depth), (Some(asked.message.id), 1));
    assert_eq!((&answer.origin, answer.usage), (&Some(origin), Some(usage)));
    assert_eq!(answer.finish_reason, Some(FinishReason::Stop));
    let row = chat.row().await;
    assert_eq!((row.tip_id, row.version, row.last_message_at), (Some(answer.id), 2, NOW + 5));
    let turn = store.find_turn(&chat.who, chat.id, turn_uid).await.unwrap().unwrap();
    assert_eq!((turn.state, turn.outcome), (TurnState::Over, Some(Outcome::Answered)));
    assert_eq!((turn.last_seq, turn.ended_at), (2, Some(NOW + 5)));
    let list = chat.list(Page::default()).await;
    assert_eq!(ids(&list), [asked.message.id, answer.id]);
    assert_eq!((&list[1].message, list[1].turn_uid), (answer, turn_uid));
    assert_eq!((list[1].starred, &list[1].siblings), (false, &vec![answer.id]));
    let found = store.find_message(&chat.who, answer.id).await.unwrap();
    assert_eq!(found, Some((chat.id, list[1].clone())));
}

/// Told with the tip as it is, and nothing is written.
pub async fn a_question_on_an_old_tip_is_refused(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let (question, answer) = chat.turn("1", "one").await;
    let before = chat.row().await;
    for base_id in [None, Some(question), Some(MessageId(i64::MAX))] {
        match chat.append(chat.question(base_id, "2")).await {
            Err(StoreError::StaleParent { tip_id }) => assert_eq!(tip_id, Some(answer)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(chat.row().await, before);
    assert_eq!(chat.texts().await, ["1", "one"]);
    chat.turn("2", "two").await;
}

/// Whoever asks, and also once the lease has expired: the turn has to be closed first.
pub async fn a_second_question_is_refused_while_a_turn_runs(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let first = chat.question(None, "1");
    let running = first.turn_uid;
    let asked = chat.append(first).await.unwrap();
    for (holder, at) in [(chat.holder, NOW), (fresh_uid(), NOW), (fresh_uid(), NOW + 1_000_000)] {
        let mut second = chat.question(Some(asked.message.id), "2");
        (second.holder, second.at) = (holder, at);
        match chat.append(second).await {
            Err(StoreError::TurnInProgress { turn_uid }) => assert_eq!(turn_uid, Some(running)),
            other => panic!("{other:?}"),
        }
    }
    chat.answer(&asked, "one").await;
    assert_eq!(chat.texts().await, ["1", "one"]);
}

/// Its tip stays.
pub async fn a_commit_that_adds_no_message_still_ends_the_turn(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let asked = chat.ask("1").await;
    let commit = end(asked.turn_id, asked.message.id, Vec::new());
    let committed = chat.commit(&asked.lease, commit).await.unwrap();
    assert_eq!((committed.messages.len(), committed.version), (0, 2));
    let row = chat.row().await;
    assert_eq!((row.tip_id, row.last_message_at), (Some(asked.message.id), NOW));
    assert_stale(chat.commit(&asked.lease, answer_to(&asked, "late")).await);
}

/// With its error.
pub async fn every_outcome_comes_back(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let plain =
        [Outcome::Answered, Outcome::Truncated, Outcome::NoAnswer, Outcome::Stopped, Outcome::Interrupted];
    for outcome in plain.into_iter().chain(FailureCode::ALL.map(Outcome::Failed)) {
        let asked = chat.ask("?").await;
        let error = matches!(outcome, Outcome::Failed(_)).then(|| StreamError {
            code: "engine".into(),
            text: "it died".into(),
            raw: Some("segfault\u{0}".into()),
        });
        let closing = vec![message(Kind::Closing, text("sorry"))];
        let commit =
            Commit { outcome, error: error.clone(), ..end(asked.turn_id, asked.message.id, closing) };
        let committed = chat.commit(&asked.lease, commit).await.unwrap();
        let (_, stored) = store.find_message(&chat.who, committed.messages[0].id).await.unwrap().unwrap();
        assert_eq!((stored.outcome, &stored.error), (Some(outcome), &error));
        let turn = store.find_turn(&chat.who, chat.id, stored.turn_uid).await.unwrap().unwrap();
        assert_eq!((turn.outcome, turn.error), (Some(outcome), error));
    }
}

/// Whatever a person or a model can send.
pub async fn any_text_comes_back_unchanged(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let mut said = Vec::new();
    for piece in [
        "",
        "\u{0}",
        "a\u{0}b\u{1}\u{7f}\u{85}\u{2028}\u{fffd}\u{feff}",
        "👩🏽‍🚀 שלום \u{202e}مرحبا e\u{301} \u{10ffff}",
        "\r\n\t\\\"'`;--%_{}<|im_end|>",
        &"0123456789abcdef".repeat(2_049),
        &"☃".repeat(400_000),
    ] {
        chat.turn(piece, piece).await;
        said.extend([piece.to_owned(), piece.to_owned()]);
    }
    assert_eq!(chat.texts().await, said);
    let listed = chat.list(Page::default()).await;
    assert_eq!(listed.iter().map(|stored| stored.message.text()).collect::<Vec<_>>(), said);
}

/// At every size of page.
pub async fn messages_are_listed_oldest_first_in_pages_from_the_newest(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    for number in 0..3 {
        chat.turn(&format!("q{number}"), &format!("a{number}")).await;
    }
    let all = ids(&chat.list(Page::default()).await);
    assert!(all.is_sorted() && all.len() == 6);
    let list = async |limit, before: Option<MessageId>| {
        ids(&chat.list(Page { limit, before: before.map(|id| id.0) }).await)
    };
    assert_eq!(list(Some(0), None).await, []);
    assert_eq!(list(Some(1), None).await, all[5..]);
    assert_eq!(list(Some(4), None).await, all[2..]);
    assert_eq!(list(Some(6), None).await, all);
    assert_eq!(list(Some(u32::MAX), None).await, all);
    assert_eq!(list(Some(2), Some(all[2])).await, all[..2]);
    assert_eq!(list(None, Some(all[1])).await, all[..1]);
    assert_eq!(list(None, Some(all[0])).await, []);
}

/// And unstarring too. The view has the texts oldest first, whenever they were starred.
pub async fn a_star_is_idempotent_and_reaches_the_view(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let (question, answer) = chat.turn("remember", "I will").await;
    let star = async |id, at| store.set_star(&chat.who, id, at).await.unwrap();
    let version = chat.row().await.version;
    for id in [answer, question, answer] {
        assert_eq!(star(id, Some(NOW)).await, Some(chat.id));
    }
    assert_eq!(chat.view().await.starred, ["remember", "I will"]);
    assert!(chat.list(Page::default()).await.iter().all(|stored| stored.starred));
    for _ in 0..2 {
        assert_eq!(star(question, None).await, Some(chat.id));
    }
    assert_eq!(chat.view().await.starred, ["I will"]);
    assert_eq!(chat.row().await.version, version);
}

/// Deeper than any recursion or cascade would go, and committed at once.
pub async fn a_branch_of_ten_thousand_messages_is_read_and_extended(store: &Arc<dyn Store>) {
    const N_MESSAGES: usize = 10_000;
    let chat = Chat::new(store).await;
    let asked = chat.ask("deep").await;
    let pairs = (0..N_MESSAGES / 2 - 1).flat_map(|_| [call(), results()]);
    let messages = pairs.chain([message(Kind::Answer, text("done"))]).collect();
    let committed = chat.commit(&asked.lease, end(asked.turn_id, asked.message.id, messages)).await.unwrap();
    let tip = committed.messages.last().unwrap();
    assert_eq!(tip.depth as usize, N_MESSAGES - 1);
    let view = chat.view().await.messages;
    assert_eq!(view.len(), N_MESSAGES);
    assert!(view.windows(2).all(|pair| pair[1].parent_id == Some(pair[0].id)));
    assert_eq!(chat.list(Page::default()).await.len(), N_MESSAGES);
    assert_eq!(ids(&chat.list(Page { limit: Some(1), before: None }).await), [tip.id]);
    chat.turn("deeper", "yes").await;
    assert_eq!(chat.view().await.messages.len(), N_MESSAGES + 2);
    assert!(store.delete_conversation(&chat.who, chat.id).await.unwrap());
}
