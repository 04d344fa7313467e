//! The default store: one SQLite file, one process.
//!
//! Everything that a person was told of is committed with `synchronous=FULL` over one writing
//! connection; events and the starts of tool runs go over a second one with `NORMAL`, which a
//! killed process survives and a power cut may not. Reads have connections of their own. All
//! three see whole transactions only. Nothing here decides: rows in, rows out, fences checked.
#![warn(missing_docs)]

mod artifacts;
mod check;
mod conversations;
mod events;
mod fault;
mod heads;
mod inbox;
mod leases;
mod llms;
mod messages;
mod open;
mod open_turns;
mod store;
mod tool_runs;
mod turns;

use std::path::{Path, PathBuf};

use colloquy::ports::StoreError;
use sqlx::{Sqlite, SqlitePool, Transaction};

pub use check::Finding;
use fault::Outcome;

/// A durable store in one SQLite file. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    /// The one connection for commits that must survive a power cut.
    durable: SqlitePool,
    /// The one connection for writes that only a killed process must not lose.
    relaxed: SqlitePool,
    readers: SqlitePool,
    /// The folder of the file, absolute: model files in it are named relative to it, so that the
    /// folder can be moved.
    folder: PathBuf,
}

impl SqliteStore {
    /// Opens the file, creates it when there is none, and brings an older one up to date, with a
    /// backup beside it that stays until the next start finds nothing to do.
    ///
    /// [`StoreError::Newer`] for the file of a newer version and [`StoreError::Corrupt`] for one
    /// that is not Colloquy's; neither is touched.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(open::open(path).await?)
    }

    /// Closes every connection, which folds the write-ahead log into the file. Calls under way
    /// end first, later ones fail. Idempotent.
    pub async fn close(&self) {
        self.readers.close().await;
        self.relaxed.close().await;
        self.durable.close().await;
    }

    /// Checks the invariants of the stored tree and the file itself. Reads everything.
    pub async fn check(&self) -> Result<Vec<Finding>, StoreError> {
        Ok(check::check(&self.readers).await?)
    }

    /// A transaction that survives a power cut once it is committed. Takes the write lock at
    /// once, so that no later statement of it can find the file busy.
    async fn begin_durable(&self) -> Outcome<Transaction<'static, Sqlite>> {
        begin(&self.durable).await
    }

    /// A transaction that survives a killed process once it is committed.
    async fn begin_relaxed(&self) -> Outcome<Transaction<'static, Sqlite>> {
        begin(&self.relaxed).await
    }

    /// A consistent view for several reads.
    async fn begin_read(&self) -> Outcome<Transaction<'static, Sqlite>> {
        Ok(self.readers.begin().await?)
    }
}

/// Begins a write. A full disk makes SQLite roll back by itself, after which the connection still
/// counts a transaction: such a one is closed, and the write begins on a fresh one.
async fn begin(pool: &SqlitePool) -> Outcome<Transaction<'static, Sqlite>> {
    const BEGIN: &str = "BEGIN IMMEDIATE";
    match pool.begin_with(BEGIN).await {
        Err(sqlx::Error::InvalidSavePointStatement) => {
            pool.acquire().await?.close().await?;
            Ok(pool.begin_with(BEGIN).await?)
        }
        begun => Ok(begun?),
    }
}

/// A number that goes into a column.
fn stored(number: u64) -> Outcome<i64> {
    i64::try_from(number).map_err(|_| fault::Fault::corrupt(format!("{number} does not fit a column")))
}

/// A number that comes out of a column.
fn narrowed<T: TryFrom<i64>>(row: &str, number: i64) -> Outcome<T> {
    T::try_from(number).map_err(|_| fault::Fault::corrupt(format!("{row}: {number} is out of range")))
}

/// A uid that comes out of a column.
fn uid(row: &str, bytes: &[u8]) -> Outcome<colloquy_core::message::Uid> {
    let bytes = bytes.try_into().map_err(|_| fault::Fault::corrupt(format!("{row}: a uid has 16 bytes")))?;
    Ok(colloquy_core::message::Uid(bytes))
}

#[cfg(test)]
mod tests;
