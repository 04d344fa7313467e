//! Artifacts: what stands behind a reference stays (I11), and goes with its last conversation.

use std::{collections::BTreeMap, sync::Arc};

use colloquy::ports::{Question, Store, StoreError, ToolRun, ToolRunState};
use colloquy_core::artifact::{Artifact, ArtifactRef, Registry};

use super::{Chat, NOW, answer_to, fences::tool_run, fresh_uid, principal};

/// A listed artifact of that content.
pub(super) fn artifact(alias: &str, id: &str, json: &str) -> Artifact {
    Artifact {
        reference: ArtifactRef::of(alias, id).unwrap(),
        alias: alias.into(),
        json: json.into(),
        summaries: BTreeMap::new(),
        top_level: true,
    }
}

async fn of(chat: &Chat<'_>) -> Vec<Artifact> {
    chat.store.load_artifacts(&chat.who, chat.id).await.unwrap()
}

/// A turn whose question has these.
async fn ask_with(chat: &Chat<'_>, artifacts: Vec<Artifact>) {
    let question = Question { artifacts, ..chat.question(chat.tip().await, "?") };
    let asked = chat.append(question).await.unwrap();
    chat.answer(&asked, "!").await;
}

/// Neither the alphabet's nor the size's, whatever each was stored with.
pub async fn artifacts_come_back_in_the_order_of_their_registration(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let all: Vec<Artifact> = ["zzzzzz", "aaaaaa", "mmmmmm", "000000", "yyyyyy", "bbbbbb"]
        .into_iter()
        .enumerate()
        .map(|(n, id)| Artifact {
            top_level: n % 2 == 0,
            ..artifact(if n % 3 == 0 { "note" } else { "a:b" }, id, &format!("{{\"n\":{n}}}"))
        })
        .collect();
    ask_with(&chat, all[..3].to_vec()).await;
    let asked = chat.ask("?").await;
    for new in &all[3..] {
        let run = ToolRun { call_id: new.reference.as_str().into(), ..tool_run(asked.turn_id) };
        store.finish_tool_run(&chat.who, &asked.lease, run, vec![new.clone()]).await.unwrap();
    }
    assert_eq!(of(&chat).await, all);
    // What is known already keeps its place.
    chat.answer(&asked, "!").await;
    ask_with(&chat, all.iter().rev().cloned().collect()).await;
    assert_eq!(of(&chat).await, all);
    assert_eq!(Registry::restored(of(&chat).await).listed().count(), 3);
}

/// Whatever the text, and however long: nothing of it is parsed on the way.
pub async fn i11_the_bytes_of_an_artifact_come_back_as_they_were(store: &Arc<dyn Store>) {
    let every_char: String = ('\0'..=char::MAX).collect();
    let megabyte: String = every_char.chars().cycle().take(1 << 20).collect();
    let texts =
        ["", "{}", " { \"b\" : 1.0, \"a\" : 1e2 } ", "not JSON \u{0}\r\n\u{feff}", &every_char, &megabyte];
    let all: Vec<Artifact> =
        texts.iter().enumerate().map(|(n, text)| artifact("note", &format!("byte{n:02}"), text)).collect();
    let chat = Chat::new(store).await;
    ask_with(&chat, all.clone()).await;
    assert!(of(&chat).await == all, "the bytes have changed");
}

/// Nothing of the call that brings them is stored; the bytes stay.
pub async fn i11_other_bytes_under_a_known_reference_are_refused(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let first = artifact("note", "abc123", r#"{"text":"one"}"#);
    let asked =
        chat.append(Question { artifacts: vec![first.clone()], ..chat.question(None, "?") }).await.unwrap();
    let other_bytes = artifact("note", "abc123", r#"{"text":"two"}"#);
    let other_type = Artifact { alias: "link".into(), ..first.clone() };
    for forged in [other_bytes, other_type] {
        let with = vec![artifact("note", "new000", "{}"), forged];
        let finished = ToolRun { state: ToolRunState::Finished, ..tool_run(asked.turn_id) };
        let refused = store.finish_tool_run(&chat.who, &asked.lease, finished, with.clone()).await;
        assert!(matches!(refused, Err(StoreError::Corrupt(_))), "{refused:?}");
        assert_eq!(of(&chat).await, std::slice::from_ref(&first));
        assert_eq!(chat.open_turn().await.tool_runs, []);
    }
    chat.answer(&asked, "!").await;
    let forged = vec![artifact("note", "abc123", "3")];
    let refused = chat.append(Question { artifacts: forged, ..chat.question(chat.tip().await, "?") }).await;
    assert!(matches!(refused, Err(StoreError::Corrupt(_))), "{refused:?}");
    assert_eq!(chat.texts().await, ["?", "!"]);
    assert_eq!(of(&chat).await, [first]);
}

/// So that a result which survives its process names nothing that did not.
pub async fn an_artifact_is_stored_with_the_result_that_names_it(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let asked = chat.ask("?").await;
    let made = artifact("note", "abc123", "{}");
    let started = tool_run(asked.turn_id);
    store.start_tool_runs(&chat.who, &asked.lease, vec![started.clone()]).await.unwrap();
    assert_eq!(of(&chat).await, []);
    let finished = ToolRun {
        state: ToolRunState::Finished,
        result: Some(made.reference.as_str().into()),
        finished_at: Some(NOW + 1),
        ..started
    };
    store.finish_tool_run(&chat.who, &asked.lease, finished.clone(), vec![made.clone()]).await.unwrap();
    assert_eq!(chat.open_turn().await.tool_runs, [finished]);
    assert_eq!(of(&chat).await, [made]);
}

/// Its summaries, and whether it is listed.
pub async fn what_a_conversation_learns_of_an_artifact_replaces_what_it_knew(store: &Arc<dyn Store>) {
    let chat = Chat::new(store).await;
    let first = Artifact { top_level: false, ..artifact("note", "abc123", r#"{"text":"long"}"#) };
    ask_with(&chat, vec![first.clone(), artifact("note", "other0", "{}")]).await;
    let summaries = BTreeMap::from([("/text".into(), "short \u{0}é".into()), (String::new(), "".into())]);
    let learned = Artifact { summaries, top_level: true, ..first };
    ask_with(&chat, vec![learned.clone()]).await;
    assert_eq!(of(&chat).await[0], learned);
    let again = Artifact { summaries: BTreeMap::from([("/text".into(), "shorter".into())]), ..learned };
    ask_with(&chat, vec![again.clone()]).await;
    assert_eq!(of(&chat).await, [again, artifact("note", "other0", "{}")]);
}

/// Also those of another principal.
pub async fn conversations_share_bytes_and_deleting_one_leaves_the_other(store: &Arc<dyn Store>) {
    let shared = artifact("note", "abc123", r#"{"text":"shared"}"#);
    let own = artifact("note", "own000", r#"{"text":"own"}"#);
    let (one, two) = (Chat::new(store).await, Chat::new(store).await);
    let other = Chat::of(store, principal(&format!("{:?}", fresh_uid()))).await;
    for chat in [&one, &two, &other] {
        ask_with(chat, vec![shared.clone(), own.clone()]).await;
    }
    assert!(store.delete_conversation(&one.who, one.id).await.unwrap());
    assert_eq!(of(&two).await, [shared.clone(), own.clone()]);
    assert!(store.delete_conversation(&two.who, two.id).await.unwrap());
    assert_eq!(of(&other).await, [shared.clone(), own]);
    // What was deleted can come back.
    let again = Chat::new(store).await;
    ask_with(&again, vec![shared.clone()]).await;
    assert_eq!(of(&again).await, [shared]);
}

/// Identifiers are drawn in each conversation for itself.
pub async fn one_reference_may_stand_for_different_bytes_in_two_conversations(store: &Arc<dyn Store>) {
    let (one, two) = (Chat::new(store).await, Chat::new(store).await);
    let (here, there) = (artifact("note", "abc123", "1"), artifact("note", "abc123", "2"));
    ask_with(&one, vec![here.clone()]).await;
    let asked = two.ask("?").await;
    store
        .finish_tool_run(&two.who, &asked.lease, tool_run(asked.turn_id), vec![there.clone()])
        .await
        .unwrap();
    two.commit(&asked.lease, answer_to(&asked, "!")).await.unwrap();
    assert_eq!((of(&one).await, of(&two).await), (vec![here], vec![there]));
}
