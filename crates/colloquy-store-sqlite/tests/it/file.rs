//! Whose file is opened, which version, and what is kept of it before it changes.

use std::path::{Path, PathBuf};

use colloquy::ports::StoreError;
use colloquy_store_sqlite::SqliteStore;
use sqlx::Connection;

use super::said::{bytes_on_disk, conversation, outsider, texts, turn};

struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn db(&self) -> PathBuf {
        self.folder.path().join("colloquy.db")
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

async fn stamp(path: &Path, statement: &'static str) {
    let mut outsider = outsider(path).await;
    sqlx::raw_sql(statement).execute(&mut outsider).await.unwrap();
    outsider.close().await.unwrap();
}

#[tokio::test]
async fn what_was_said_is_there_after_the_file_is_closed_and_opened_again() {
    let folder = Folder::new();
    let store = SqliteStore::open(&folder.db()).await.unwrap();
    let id = conversation(&store, 1).await;
    turn(&store, id, 1, "question", "answer").await;
    store.close().await;
    store.close().await;
    assert_eq!(folder.names(), ["colloquy.db"], "closing folds the log into the file");
    let store = SqliteStore::open(&folder.db()).await.unwrap();
    assert_eq!(texts(&store, id).await, ["question", "answer"]);
    assert_eq!(store.check().await.unwrap(), []);
}

#[tokio::test]
async fn an_empty_file_is_a_new_one() {
    let folder = Folder::new();
    std::fs::write(folder.db(), "").unwrap();
    let store = SqliteStore::open(&folder.db()).await.unwrap();
    conversation(&store, 1).await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_new_file_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let store = SqliteStore::open(&folder.db()).await.unwrap();
    conversation(&store, 1).await;
    for name in folder.names() {
        let mode = std::fs::metadata(folder.folder.path().join(&name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name} is readable by others");
    }
}

#[tokio::test]
async fn a_file_of_a_newer_version_is_refused_and_not_touched() {
    let folder = Folder::new();
    let store = SqliteStore::open(&folder.db()).await.unwrap();
    let id = conversation(&store, 1).await;
    turn(&store, id, 1, "question", "answer").await;
    store.close().await;
    stamp(&folder.db(), "PRAGMA user_version = 99").await;
    let before = bytes_on_disk(&folder.db());
    match SqliteStore::open(&folder.db()).await {
        Err(StoreError::Newer { what }) => assert!(what.contains("colloquy.db"), "{what}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(bytes_on_disk(&folder.db()), before);
    assert_eq!(folder.names(), ["colloquy.db"]);
}

#[tokio::test]
async fn a_newer_stamp_that_is_only_in_the_log_is_seen_too() {
    let folder = Folder::new();
    let copy = Folder::new();
    SqliteStore::open(&folder.db()).await.unwrap().close().await;
    let mut newer = outsider(&folder.db()).await;
    sqlx::raw_sql("PRAGMA user_version = 99").execute(&mut newer).await.unwrap();
    // What a newer program leaves that is killed here: it has not folded its log.
    for name in ["colloquy.db", "colloquy.db-wal"] {
        std::fs::copy(folder.folder.path().join(name), copy.folder.path().join(name)).unwrap();
    }
    let before = bytes_on_disk(&copy.db());
    let opened = SqliteStore::open(&copy.db()).await;
    assert!(matches!(opened, Err(StoreError::Newer { .. })), "{opened:?}");
    assert_eq!(bytes_on_disk(&copy.db()), before);
}

#[tokio::test]
async fn a_file_of_another_program_is_refused_and_not_touched() {
    let folder = Folder::new();
    let mut other = sqlx::sqlite::SqliteConnectOptions::new().filename(folder.db()).create_if_missing(true);
    other = other.pragma("application_id", "7");
    let mut other = sqlx::ConnectOptions::connect(&other).await.unwrap();
    sqlx::raw_sql("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
        .execute(&mut other)
        .await
        .unwrap();
    other.close().await.unwrap();
    let sqlite = std::fs::read(folder.db()).unwrap();
    let garbage = b"GGUF\x03\0\0\0".repeat(64);
    for bytes in [sqlite.as_slice(), garbage.as_slice(), b"short", &sqlite[..99]] {
        std::fs::write(folder.db(), bytes).unwrap();
        let opened = SqliteStore::open(&folder.db()).await;
        assert!(matches!(opened, Err(StoreError::Corrupt(_))), "{opened:?}");
        assert_eq!(std::fs::read(folder.db()).unwrap(), bytes);
        assert!(!folder.names().iter().any(|name| name.starts_with("colloquy.db-")));
    }
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_an_error_and_nothing_is_made() {
    let folder = Folder::new();
    let opened = SqliteStore::open(&folder.folder.path().join("missing/colloquy.db")).await;
    assert!(matches!(opened, Err(StoreError::Unavailable(_))), "{opened:?}");
    assert!(folder.names().is_empty());
}

#[tokio::test]
async fn a_backup_is_made_before_a_migration_and_kept_until_the_next_good_start() {
    let folder = Folder::new();
    // A file of ours from before the first migration, with something in it.
    SqliteStore::open(&folder.db()).await.unwrap().close().await;
    std::fs::remove_file(folder.db()).unwrap();
    std::fs::write(folder.db(), "").unwrap();
    stamp(
        &folder.db(),
        "PRAGMA application_id = 1131180409; CREATE TABLE older (x); INSERT INTO older VALUES ('kept');",
    )
    .await;
    let store = SqliteStore::open(&folder.db()).await.unwrap();
    let id = conversation(&store, 1).await;
    store.close().await;
    assert_eq!(folder.names(), ["colloquy.db", "colloquy.db.backup-v0"]);
    let mut backup = outsider(&folder.db().with_file_name("colloquy.db.backup-v0")).await;
    let kept: String = sqlx::query_scalar("SELECT x FROM older").fetch_one(&mut backup).await.unwrap();
    let application_id: i64 =
        sqlx::query_scalar("PRAGMA application_id").fetch_one(&mut backup).await.unwrap();
    assert_eq!((kept.as_str(), application_id), ("kept", 1_131_180_409));
    backup.close().await.unwrap();

    std::fs::write(folder.db().with_file_name("colloquy.db.backup-v0.part"), "cut short").unwrap();
    std::fs::write(folder.db().with_file_name("colloquy.db.backup-vmine"), "not ours").unwrap();
    let store = SqliteStore::open(&folder.db()).await.unwrap();
    assert_eq!(texts(&store, id).await, [""; 0]);
    store.close().await;
    assert_eq!(folder.names(), ["colloquy.db", "colloquy.db.backup-vmine"]);
}
