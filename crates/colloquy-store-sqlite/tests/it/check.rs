//! Damage that somebody else did to the file: it is found, named, and never read as something empty.

use std::path::PathBuf;

use colloquy::ports::{Page, Principal, Question, Store, StoreError};
use colloquy_core::message::MessageId;
use colloquy_store_sqlite::{Finding, SqliteStore};
use sqlx::Connection;

use super::said::{ask, conversation, outsider, turn, uid};

/// Two conversations at rest, the first of four messages, and one whose turn runs.
async fn damaged(statement: &'static str) -> (SqliteStore, tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("colloquy.db");
    let store = SqliteStore::open(&path).await.unwrap();
    let first = conversation(&store, 1).await;
    turn(&store, first, 1, "1", "one").await;
    turn(&store, first, 2, "2", "two").await;
    let second = conversation(&store, 2).await;
    turn(&store, second, 1, "3", "three").await;
    let third = conversation(&store, 3).await;
    ask(&store, third, 1, "4").await;
    assert_eq!(store.check().await.unwrap(), []);
    let mut outsider = outsider(&path).await;
    sqlx::raw_sql(statement).execute(&mut outsider).await.unwrap();
    outsider.close().await.unwrap();
    (store, folder, path)
}

async fn findings(statement: &'static str) -> Vec<(String, String)> {
    let (store, _folder, _) = damaged(statement).await;
    let findings = store.check().await.unwrap();
    findings.into_iter().map(|Finding { check, subject }| (check.to_owned(), subject)).collect()
}

#[tokio::test]
async fn every_broken_invariant_is_found_and_named() {
    for (statement, check, subject) in [
        ("UPDATE messages SET depth = 7 WHERE id = 2", "one less deep", "message 2"),
        ("UPDATE messages SET parent_id = 5 WHERE id = 4", "same conversation", "message 4"),
        ("UPDATE messages SET turn_id = 3 WHERE id = 1", "turn of its conversation", "message 1"),
        ("UPDATE messages SET role = 'user' WHERE id = 2", "fixes its role", "message 2"),
        ("UPDATE messages SET role = 'user', kind = 'question' WHERE id = 2", "alternate", "message 2"),
        ("UPDATE messages SET kind = 'steer' WHERE id = 1", "begins with", "message 1"),
        ("UPDATE conversations SET tip_id = 5 WHERE id = 1", "tip is a message", "conversation 1"),
        ("UPDATE conversations SET tip_id = 3 WHERE id = 1", "at rest", "conversation 1"),
        ("UPDATE turns SET outcome = NULL WHERE id = 2", "has an outcome", "turn 2"),
        ("UPDATE turns SET question_id = 6 WHERE id = 1", "has its question", "turn 1"),
        ("DELETE FROM versions WHERE conversation_id = 1 AND version = 2", "version", "conversation 1"),
        ("DELETE FROM leases WHERE conversation_id = 3", "lease", "turn 4"),
        ("UPDATE messages SET parent_id = 99 WHERE id = 2", "refers to exists", "messages 2"),
        ("UPDATE messages SET blocks = '{\"v\":1' WHERE id = 2", "can be read", "message 2"),
        (
            "UPDATE messages SET kind = 'call', blocks =
             '{\"v\":1,\"blocks\":[{\"t\":\"tool_call\",\"id\":\"c\",\"name\":\"n\",\"input\":{}}]}'
             WHERE id = 2",
            "one result",
            "message 2",
        ),
    ] {
        let findings = findings(statement).await;
        let found = findings.iter().any(|(broken, row)| broken.contains(check) && row.contains(subject));
        assert!(found, "{statement}: {findings:?}");
    }
}

#[tokio::test]
async fn a_message_of_a_newer_version_is_named_and_nothing_is_appended_below_it() {
    let (store, _folder, _) =
        damaged("UPDATE messages SET blocks = '{\"v\":1,\"blocks\":[{\"t\":\"hologram\"}]}' WHERE id = 4")
            .await;
    let who = Principal::local();
    let first = store.list_conversations(&who, Page::default()).await.unwrap().pop().unwrap();
    let named = |error: StoreError| match error {
        StoreError::Newer { what } => assert_eq!(what, "message 4"),
        other => panic!("{other:?}"),
    };
    named(store.list_messages(&who, first.id, Page::default()).await.unwrap_err());
    named(store.load_view(&who, first.id).await.unwrap_err());
    named(store.find_message(&who, MessageId(4)).await.unwrap_err());
    let question = Question {
        holder: uid(1),
        lease_ms: 1,
        turn_uid: uid(90),
        base_id: Some(MessageId(4)),
        message_uid: uid(91),
        blocks: Vec::new(),
        app_authored: false,
        request: String::new(),
        llm_id: None,
        at: 0,
    };
    named(store.append_question(&who, first.id, question).await.unwrap_err());
    assert_eq!(store.find_conversation(&who, first.id).await.unwrap(), Some(first));
}

#[tokio::test]
async fn one_unreadable_turn_does_not_keep_the_others_from_being_recovered() {
    let (store, _folder, _) = damaged("UPDATE messages SET kind = 'dream' WHERE id = 7").await;
    let second = store.list_conversations(&Principal::local(), Page::default()).await.unwrap()[1].id;
    let asked = ask(&store, second, 2, "5").await;
    let open = store.open_turns(i64::MAX).await.unwrap();
    assert_eq!(open.iter().map(|open| open.turn.id).collect::<Vec<_>>(), [asked.turn_id]);
}
