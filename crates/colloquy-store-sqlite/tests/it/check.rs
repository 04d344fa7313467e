//! Damage that somebody else did to the file: it is found, named, and never read as something empty.

use std::path::PathBuf;

use colloquy::ports::{Page, Principal, Question, Store, StoreError, StoredHead};
use colloquy_core::{block::Block, message::MessageId};
use colloquy_store_sqlite::{Finding, SqliteStore};
use sqlx::Connection;

use super::said::{artifact, ask, conversation, outsider, question, turn};

/// Two conversations at rest, the first of four messages, and one whose turn runs, with a head, two
/// artifacts and a message in its inbox.
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
    let question = Question {
        artifacts: vec![artifact("abc123", r#"{"text":"one"}"#), artifact("def456", r#"{"text":"two"}"#)],
        head: Some(StoredHead::default()),
        ..question(&store, third, 1, "4").await
    };
    let asked = store.append_question(&Principal::local(), third, question).await.unwrap();
    let said = vec![Block::Text("in French".into())];
    store.accept_steer(&Principal::local(), &asked.lease, asked.turn_id, said).await.unwrap();
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
        ("UPDATE messages SET role = 'user' WHERE id = 2", "every message can be read", "message 2"),
        ("UPDATE messages SET kind = 'dream' WHERE id = 2", "every message can be read", "message 2"),
        ("UPDATE messages SET usage = '{}' WHERE id = 2", "every message can be read", "message 2"),
        ("UPDATE messages SET origin = '{\"v\":9}' WHERE id = 2", "every message can be read", "message 2"),
        ("UPDATE messages SET step = -1 WHERE id = 2", "every message can be read", "message 2"),
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
        (
            "UPDATE messages SET kind = 'call', blocks =
             '{\"v\":1,\"blocks\":[{\"t\":\"call\",\"id\":\"c\",\"name\":\"n\",\"arguments\":\"{}\"}]}'
             WHERE id = 2",
            "one result",
            "message 2",
        ),
        ("UPDATE inbox SET blocks = '{\"v\":9}'", "inbox can be read", "message 0 of the inbox of turn 4"),
        ("UPDATE inbox SET message_id = 7", "inbox was delivered", "turn 4, inbox 0"),
        (
            "UPDATE turns SET state = 'over', outcome = 'answered', ended_at = 0 WHERE id = 4",
            "inbox was delivered",
            "turn 4, inbox 0",
        ),
        ("DELETE FROM artifacts WHERE ref LIKE '%abc123%'", "blob is referred to", "blob "),
        ("UPDATE artifacts SET ref = 'abc123' WHERE ordinal = 0", "artifact can be read", "abc123"),
        ("UPDATE artifacts SET alias = NULL WHERE ordinal = 1", "artifact can be read", "def456"),
        ("UPDATE artifacts SET summaries = '{}' WHERE ordinal = 0", "artifact can be read", "abc123"),
        ("UPDATE blobs SET bytes = x'ff'", "artifact can be read", "abc123"),
        (
            "UPDATE blobs SET bytes = x'7b7d'",
            "artifact can be read",
            "bytes of «artifact:note~abc123» have changed",
        ),
        ("UPDATE blobs SET principal = 'other'", "artifact can be read", "def456"),
        ("UPDATE conversation_heads SET seat = '{\"v\":9}'", "head can be read", "conversation 3"),
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
    let question = question(&store, first.id, 9, "?").await;
    named(store.append_question(&who, first.id, question).await.unwrap_err());
    assert_eq!(store.find_conversation(&who, first.id).await.unwrap(), Some(first));
}

// behaviours: 39
#[tokio::test]
async fn a_message_that_claims_to_be_the_systems_is_refused_and_never_relabelled() {
    for statement in [
        "PRAGMA ignore_check_constraints = ON; UPDATE messages SET role = 'system' WHERE id = 3",
        "UPDATE messages SET role = 'assistant' WHERE id = 3",
    ] {
        let (store, _folder, _) = damaged(statement).await;
        let who = Principal::local();
        let first = store.list_conversations(&who, Page::default()).await.unwrap().pop().unwrap();
        let refused = store.load_view(&who, first.id).await;
        assert!(matches!(refused, Err(StoreError::Corrupt(_))), "{refused:?}");
        let refused = store.find_message(&who, MessageId(3)).await;
        assert!(matches!(refused, Err(StoreError::Corrupt(_))), "{refused:?}");
        assert!(!store.check().await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_head_or_an_artifact_of_a_newer_version_is_named() {
    let who = Principal::local();
    let (store, _folder, _) = damaged("UPDATE conversation_heads SET seat = '{\"v\":9}'").await;
    let third = store.list_conversations(&who, Page::default()).await.unwrap()[0].id;
    match store.load_head(&who, third).await {
        Err(StoreError::Newer { what }) => assert_eq!(what, format!("the head of conversation {}", third.0)),
        other => panic!("{other:?}"),
    }
    let (store, _folder, _) = damaged("UPDATE artifacts SET summaries = '{\"v\":9}' WHERE ordinal = 1").await;
    match store.load_artifacts(&who, third).await {
        Err(StoreError::Newer { what }) => assert!(what.contains("def456"), "{what}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_artifact_whose_bytes_are_gone_is_an_error_and_not_left_out() {
    let who = Principal::local();
    let (store, _folder, _) = damaged("DELETE FROM blobs WHERE n_bytes = 14").await;
    let third = store.list_conversations(&who, Page::default()).await.unwrap()[0].id;
    let refused = store.load_artifacts(&who, third).await;
    assert!(matches!(refused, Err(StoreError::Corrupt(_))), "{refused:?}");
}

#[tokio::test]
async fn one_unreadable_turn_does_not_keep_the_others_from_being_recovered() {
    let (store, _folder, _) = damaged("UPDATE messages SET kind = 'dream' WHERE id = 7").await;
    let second = store.list_conversations(&Principal::local(), Page::default()).await.unwrap()[1].id;
    let asked = ask(&store, second, 2, "5").await;
    let open = store.open_turns(i64::MAX).await.unwrap();
    assert_eq!(open.iter().map(|open| open.turn.id).collect::<Vec<_>>(), [asked.turn_id]);
}
