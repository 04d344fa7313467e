//! Migrations of later versions, as far as the first one can know them.

use sqlx::{
    SqlSafeStr,
    migrate::{Migration, MigrationType, Migrator},
};

use super::*;

/// The migrations of this version and one more.
fn and_then(sql: &'static str) -> Migrator {
    let second = Migration::new(2, "second".into(), MigrationType::Simple, sql.into_sql_str(), false);
    Migrator::with_migrations(MIGRATOR.iter().cloned().chain([second]).collect())
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
    let broken = and_then("CREATE TABLE second (x) STRICT; PRAGMA user_version = 2;");
    for _ in 0..2 {
        open_with(&path, &broken).await.unwrap_err();
        assert_eq!(names(folder.path()).await, ["colloquy.db", "colloquy.db.backup-v1"]);
    }
    let good = and_then("CREATE TABLE second (x TEXT) STRICT; PRAGMA user_version = 2;");
    open_with(&path, &good).await.unwrap().close().await;
    assert!(names(folder.path()).await.contains(&"colloquy.db.backup-v1".to_owned()));
    // The version that knows no second migration is older now.
    let older = open(&path).await.map(drop).map_err(StoreError::from);
    assert!(matches!(older, Err(StoreError::Newer { .. })), "{older:?}");
    // The backup is a whole file of the version before.
    let backup = folder.path().join("colloquy.db.backup-v1");
    open(&backup).await.unwrap().close().await;
    tokio::fs::rename(&backup, folder.path().join("other.db")).await.unwrap();
    open_with(&path, &good).await.unwrap().close().await;
    assert_eq!(names(folder.path()).await, ["colloquy.db", "other.db"]);
}

#[tokio::test]
async fn a_migration_that_forgets_its_stamp_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("colloquy.db");
    let forgetful = and_then("CREATE TABLE second (x TEXT) STRICT;");
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
