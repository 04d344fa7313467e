//! The store suite on SQLite, and what only a store in a file can get wrong.
#![expect(clippy::unwrap_used, reason = "these are tests: a call that fails fails the test")]

mod check;
mod crash;
mod erasure;
mod file;
mod said;
mod size;

use std::sync::Arc;

use colloquy_store_sqlite::SqliteStore;
use colloquy_testkit::store_suite::Fixture;

async fn open() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("colloquy.db")).await.unwrap();
    Fixture { store: Arc::new(store), keep: Box::new(folder) }
}

colloquy_testkit::store_suite!(crate::open);
