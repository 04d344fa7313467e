//! Messages between a question and its answer, and in front of the question.

use std::sync::Arc;

use colloquy::ports::{Commit, NewMessage, Page, Question, StepCommit, Store, StoreError};
use colloquy_core::message::{Kind, MessageId};

use super::{Chat, NOW, answer_to, call, end, ids, message, results, text};

fn steer(said: &str) -> NewMessage {
    message(Kind::Steer, text(said))
}

/// Each in a commit of its own, and each moves the tip.
pub async fn tool_steps_stand_between_the_question_and_the_answer(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let asked = chat.ask("What time is it?").await;
    let step = async |parent_id, new, at| {
        let step = StepCommit { turn_id: asked.turn_id, parent_id, messages: vec![new], at };
        store.append_step(&chat.who, &asked.lease, step).await.unwrap().remove(0)
    };
    let call = step(asked.message.id, call(), NOW + 1).await;
    assert_eq!(chat.row().await.last_message_at, NOW + 1);
    let results = step(call.id, NewMessage { step: 1, ..results() }, NOW + 2).await;
    assert_eq!(chat.tip().await, Some(results.id));
    let commit = end(asked.turn_id, results.id, vec![message(Kind::Answer, text("Noon."))]);
    let committed = chat.commit(&asked.lease, commit).await.unwrap();
    let view = chat.view().await.messages;
    assert_eq!(view, [asked.message.clone(), call.clone(), results.clone(), committed.messages[0].clone()]);
    assert_eq!(view.iter().map(|message| message.depth).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!((call.calls().count(), results.results().count(), results.step), (1, 1, 1));
    assert_eq!(chat.row().await.version, committed.version);
    assert!(committed.version >= 4);
}

/// One below the other, and the version counts once.
pub async fn messages_of_one_step_are_appended_together_or_not_at_all(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let asked = chat.ask("1").await;
    let refused = NewMessage { inbox_ordinal: Some(7), ..steer("nobody said this") };
    let step = chat.step(&asked, asked.message.id, vec![call(), results(), refused]).await;
    assert!(matches!(step, Err(StoreError::Corrupt(_))), "{step:?}");
    assert_eq!(chat.view().await.messages, std::slice::from_ref(&asked.message));
    assert_eq!(chat.row().await.version, asked.version);

    let step = chat.step(&asked, asked.message.id, vec![call(), results(), steer("and in Rome?")]).await;
    let step = step.unwrap();
    assert_eq!(step.iter().map(|message| message.depth).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(step[0].parent_id, Some(asked.message.id));
    assert!(step.windows(2).all(|pair| pair[1].parent_id == Some(pair[0].id)));
    assert_eq!(chat.view().await.messages[1..], step);
    let row = chat.row().await;
    assert_eq!((row.version, row.tip_id), (asked.version + 1, Some(step[2].id)));
}

/// The running turn writes at the tip or nowhere.
pub async fn a_step_below_anything_but_the_tip_is_refused(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let (_, answer) = chat.turn("1", "one").await;
    let asked = chat.ask("2").await;
    let tip = asked.message.id;
    let step = chat.step(&asked, answer, vec![call()]).await;
    assert!(matches!(step, Err(StoreError::StaleParent { tip_id }) if tip_id == Some(tip)), "{step:?}");
    let commit = Commit { parent_id: answer, ..answer_to(&asked, "two") };
    let commit = chat.commit(&asked.lease, commit).await;
    assert!(matches!(commit, Err(StoreError::StaleParent { tip_id }) if tip_id == Some(tip)), "{commit:?}");
    chat.answer(&asked, "two").await;
    assert_eq!(chat.texts().await, ["1", "one", "2", "two"]);
}

/// Committed with it: whoever reads the question has read them.
pub async fn announcements_stand_in_front_of_their_question(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let (_, answer) = chat.turn("1", "one").await;
    let announcement = |said| message(Kind::Announcement, text(said));
    let before = vec![announcement("a tool"), announcement("a legend")];
    let question = Question { before, ..chat.question(Some(answer), "2") };
    let turn_uid = question.turn_uid;
    let asked = chat.append(question).await.unwrap();
    let [tool, legend] = asked.before.as_slice() else { panic!("{:?}", asked.before) };
    assert_eq!((tool.parent_id, legend.parent_id), (Some(answer), Some(tool.id)));
    assert_eq!((asked.message.parent_id, asked.message.depth), (Some(legend.id), 4));
    assert!(asked.before.iter().all(|message| message.turn_id == asked.turn_id && message.app_authored));
    assert_eq!(chat.texts().await, ["1", "one", "a tool", "a legend", "2"]);
    assert_eq!((chat.row().await.version, asked.version), (3, 3));
    let turn = store.find_turn(&chat.who, chat.id, turn_uid).await.unwrap().unwrap();
    assert_eq!(turn.question_id, Some(asked.message.id));
    chat.answer(&asked, "two").await;
}

/// A page is full all the same, and an export has everything.
pub async fn what_the_program_said_is_seen_by_the_model_and_not_listed(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let (question, answer) = chat.turn("1", "one").await;
    let own = Question {
        app_authored: true,
        before: vec![message(Kind::Announcement, text("a tool"))],
        ..chat.question(Some(answer), "go on")
    };
    let asked = chat.append(own).await.unwrap();
    let nudge = NewMessage { app_authored: true, ..steer("answer now") };
    let steps = vec![call(), results(), nudge, call(), results(), steer("in French")];
    let steps = chat.step(&asked, asked.message.id, steps).await.unwrap();
    let step = |n: usize| steps[n].id;
    let closing = vec![message(Kind::Closing, text("sorry"))];
    let closed = chat.commit(&asked.lease, end(asked.turn_id, step(5), closing)).await.unwrap();
    let closing = closed.messages[0].id;

    let listed = [question, answer, step(0), step(1), step(3), step(4), step(5), closing];
    assert_eq!(ids(&chat.list(Page::default()).await), listed);
    for n in 0..=listed.len() {
        let page = chat.list(Page { limit: Some(n as u32), before: None }).await;
        assert_eq!(ids(&page), listed[listed.len() - n..]);
    }
    let whole: Vec<MessageId> = chat.view().await.messages.iter().map(|message| message.id).collect();
    assert_eq!(whole.len(), 2 + 2 + 6 + 1);
    assert_eq!(ids(&store.list_branch(&chat.who, chat.id).await.unwrap().unwrap()), whole);
    for hidden in [asked.before[0].id, asked.message.id, step(2)] {
        let (_, found) = store.find_message(&chat.who, hidden).await.unwrap().unwrap();
        assert!(found.message.app_authored);
    }
}

/// Whoever appends it says so.
pub async fn what_compaction_must_keep_is_marked_for_good(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let asked = chat.ask("1").await;
    let kept = NewMessage { compactable: false, ..steer("never forget this") };
    let step = chat.step(&asked, asked.message.id, vec![call(), results(), kept]).await.unwrap();
    let marks = |messages: &[colloquy_core::message::Message]| {
        messages.iter().map(|message| message.compactable).collect::<Vec<_>>()
    };
    assert_eq!(marks(&step), [true, true, false]);
    assert_eq!(marks(&chat.view().await.messages), [true, true, true, false]);
}
