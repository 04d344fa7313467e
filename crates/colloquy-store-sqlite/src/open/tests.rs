//! Migrations: those there are, and one of a later version, as far as this one can know it.

use colloquy::ports::{Principal, Store};
use colloquy_core::message::{ConversationId, Message};
use sqlx::{
    SqlSafeStr,
    migrate::{Migration, MigrationType, Migrator},
};

use super::*;

/// The version of the schema now.
const LATEST: i64 = 2;

/// The migrations of this version and one more.
fn and_then(sql: &'static str) -> Migrator {
    let next = Migration::new(LATEST + 1, "next".into(), MigrationType::Simple, sql.into_sql_str(), false);
    Migrator::with_migrations(MIGRATOR.iter().cloned().chain([next]).collect())
}

async fn names(folder: &Path) -> Vec<String> {
    let mut entries = tokio::fs::read_dir(folder).await.unwrap();
    let mut names = Vec::new();
    while let Some(entry) = entries.next_entry().await.unwrap() {
        names.push(entry.file_name().into_string().unwrap());
    }
    names.sort();
    names
}

#[tokio::test]
async fn a_migration_that_fails_leaves_the_file_as_it_was_and_can_be_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("colloquy.db");
    open(&path).await.unwrap().close().await;
    let broken = and_then("CREATE TABLE next (x) STRICT; PRAGMA user_version = 3;");
    for _ in 0..2 {
        open_with(&path, &broken).await.unwrap_err();
        assert_eq!(names(folder.path()).await, ["colloquy.db", "colloquy.db.backup-v2"]);
    }
    let good = and_then("CREATE TABLE next (x TEXT) STRICT; PRAGMA user_version = 3;");
    open_with(&path, &good).await.unwrap().close().await;
    assert!(names(folder.path()).await.contains(&"colloquy.db.backup-v2".to_owned()));
    // The version that knows no such migration is older now.
    let older = open(&path).await.map(drop).map_err(StoreError::from);
    assert!(matches!(older, Err(StoreError::Newer { .. })), "{older:?}");
    // The backup is a whole file of the version before.
    let backup = folder.path().join("colloquy.db.backup-v2");
    open(&backup).await.unwrap().close().await;
    tokio::fs::rename(&backup, folder.path().join("other.db")).await.unwrap();
    open_with(&path, &good).await.unwrap().close().await;
    assert_eq!(names(folder.path()).await, ["colloquy.db", "other.db"]);
}

#[tokio::test]
async fn a_migration_that_forgets_its_stamp_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("colloquy.db");
    let forgetful = and_then("CREATE TABLE next (x TEXT) STRICT;");
    let opened = open_with(&path, &forgetful).await.map(drop).map_err(StoreError::from);
    assert!(matches!(opened, Err(StoreError::Corrupt(_))), "{opened:?}");
}

#[tokio::test]
async fn a_file_that_was_cut_off_from_its_first_migration_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("colloquy.db");
    stamp::create(&path).await.unwrap();
    assert_eq!(stamp::inspect(&path, 1).await.unwrap(), Found::Ours);
    open(&path).await.unwrap().close().await;
    open(&path).await.unwrap().close().await;
    assert_eq!(names(folder.path()).await, ["colloquy.db"]);
}

#[tokio::test]
async fn commits_that_people_are_told_of_wait_for_the_disk_and_deletions_overwrite() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("colloquy.db")).await.unwrap();
    for (pool, synchronous) in [(&store.durable, 2), (&store.relaxed, 1)] {
        for (pragma, expected) in [
            ("PRAGMA synchronous", synchronous),
            ("PRAGMA secure_delete", 1),
            ("PRAGMA foreign_keys", 1),
            ("PRAGMA busy_timeout", 10_000),
        ] {
            let found: i64 = sqlx::query_scalar(pragma).fetch_one(pool).await.unwrap();
            assert_eq!(found, expected, "{pragma}");
        }
        let mode: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(pool).await.unwrap();
        assert_eq!(mode, "wal");
    }
}

/// What version 1 wrote: a call under its old tag, and artifacts of two conversations in no order
/// that their keys would give.
const OF_VERSION_1: &str = r#"
    INSERT INTO conversations (id, uid, principal, tip_id, version, created_at, last_message_at, name, settings)
    VALUES (1, x'0000000000000000000000000000000a', 'local', 4, 2, 0, 0, 'first', '{}'),
           (2, x'0000000000000000000000000000000b', 'local', NULL, 0, 0, 0, 'second', '{}');
    INSERT INTO turns (id, uid, conversation_id, question_id, state, fence, outcome, last_seq, created_at,
                       ended_at, request)
    VALUES (1, x'0000000000000000000000000000000a', 1, 1, 'over', 1, 'answered', 1, 0, 0, '{"v":1}');
    INSERT INTO messages (id, uid, conversation_id, parent_id, depth, turn_id, step, role, kind, app_authored,
                          compactable, created_at, usage, blocks)
    VALUES (1, x'00000000000000000000000000000001', 1, NULL, 0, 1, 0, 'user', 'question', 0, 1, 0, NULL,
            '{"v":1,"blocks":[{"t":"text","text":"Rain?"}]}'),
           (2, x'00000000000000000000000000000002', 1, 1, 1, 1, 0, 'assistant', 'call', 0, 1, 0,
            '{"v":1,"usage":{"prompt":12,"reused":0,"output":5},"finish":"tool_calls"}',
            '{"v":1,"blocks":[{"t":"reasoning","text":"hm"},
                              {"t":"tool_call","id":"c1","name":"web","input":{"q":1.5}}]}'),
           (3, x'00000000000000000000000000000003', 1, 2, 2, 1, 0, 'user', 'results', 1, 1, 0, NULL,
            '{"v":1,"blocks":[{"t":"tool_result","id":"c1","text":"rain","is_error":false}]}'),
           (4, x'00000000000000000000000000000004', 1, 3, 3, 1, 1, 'assistant', 'answer', 0, 1, 0, NULL,
            '{"v":1,"blocks":[{"t":"text","text":"Rain."}]}');
    INSERT INTO versions (conversation_id, version, tip_id, cause, turn_id, at)
    VALUES (1, 1, 1, 'turn', 1, 0), (1, 2, 4, 'turn', 1, 0);
    INSERT INTO artifacts (conversation_id, ref, alias, sha256, top_level, summaries)
    VALUES (1, '«artifact:note~zzzzzz»', 'note', x'01', 1, '{}'),
           (2, '«artifact:note~mmmmmm»', 'note', x'01', 1, '{}'),
           (1, '«artifact:note~aaaaaa»', 'note', x'02', 1, '{}');
"#;

#[tokio::test]
async fn a_file_of_the_first_version_is_brought_up_to_date_behind_a_backup() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("colloquy.db");
    let first = Migrator::with_migrations(MIGRATOR.iter().take(1).cloned().collect());
    let store = open_with(&path, &first).await.unwrap();
    sqlx::raw_sql(OF_VERSION_1).execute(&store.durable).await.unwrap();
    store.close().await;
    let store = open(&path).await.unwrap();
    let ordinals: Vec<(i64, i64)> =
        sqlx::query_as("SELECT conversation_id, ordinal FROM artifacts ORDER BY rowid")
            .fetch_all(&store.readers)
            .await
            .unwrap();
    assert_eq!(ordinals, [(1, 0), (2, 0), (1, 1)]);
    let view = store.load_view(&Principal::local(), ConversationId(1)).await.unwrap().unwrap();
    assert_eq!(view.messages.iter().map(Message::text).collect::<String>(), "Rain?Rain.");
    let call = view.messages[1].calls().next().unwrap();
    assert_eq!((call.id.as_str(), call.name.as_str(), call.input.as_str()), ("c1", "web", r#"{"q":1.5}"#));
    store.close().await;
    assert_eq!(names(folder.path()).await, ["colloquy.db", "colloquy.db.backup-v1"]);
}
