//! Opening the file: whose it is, which version it has, a backup, the migrations, the connections.
//!
//! Nothing is written before the file is known to be ours and not newer than this program.

mod backup;
mod stamp;

use std::{path::Path, time::Duration};

use colloquy::ports::StoreError;
use sqlx::{
    ConnectOptions, SqlitePool,
    migrate::{MigrateError, Migrator},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use crate::{
    SqliteStore,
    fault::{Fault, Outcome},
};
use stamp::Found;

static MIGRATOR: Migrator = sqlx::migrate!();

/// Connections for reads. Each is a thread; more only wait for the same disk.
const N_READERS: u32 = 4;

/// How long a statement waits for another's write lock before the store is called unavailable.
/// Writes take milliseconds; a checkpoint on a slow disk may take seconds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// The log is cut down to this size once it has been folded into the file.
const LOG_BYTES_MAX: &str = "16777216";

pub(crate) async fn open(path: &Path) -> Outcome<SqliteStore> {
    open_with(path, &MIGRATOR).await
}

async fn open_with(path: &Path, migrator: &Migrator) -> Outcome<SqliteStore> {
    let found = stamp::inspect(path, latest(migrator)).await?;
    if found == Found::Nothing {
        stamp::create(path).await?;
    }
    let durable = one_writer(path, SqliteSynchronous::Full).await?;
    let opened = bring_up_to_date(&durable, path, migrator, found).await;
    if opened.is_err() {
        // Whoever tries again finds no connection of ours in its way.
        durable.close().await;
    }
    let migrated = opened?;
    let relaxed = one_writer(path, SqliteSynchronous::Normal).await?;
    let readers = SqlitePoolOptions::new()
        .max_connections(N_READERS)
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_with(options(path).pragma("query_only", "ON"))
        .await?;
    if !migrated {
        backup::remove_all(path).await?;
    }
    let folder = std::path::absolute(path).map_err(|error| StoreError::Unavailable(error.into()))?;
    let folder = folder.parent().map(Path::to_owned).unwrap_or_default();
    Ok(SqliteStore { durable, relaxed, readers, folder })
}

/// Migrates the file, after a backup, unless it is of the latest version. Gives whether it did.
async fn bring_up_to_date(
    durable: &SqlitePool,
    path: &Path,
    migrator: &Migrator,
    found: Found,
) -> Outcome<bool> {
    let latest = latest(migrator);
    let version = stamp::version(&mut *durable.acquire().await?).await?;
    let pending = version < latest;
    if pending {
        if found == Found::Ours {
            backup::make(durable, path, version).await?;
        }
        migrator.run(durable).await.map_err(failed_migration)?;
        let reached = stamp::version(&mut *durable.acquire().await?).await?;
        if reached != latest {
            return Err(Fault::corrupt(format!("the migrations ended at version {reached}, not {latest}")));
        }
    }
    // Words of a conversation that was deleted right before a crash may still be in the log.
    fold_log(durable).await?;
    Ok(pending)
}

fn latest(migrator: &Migrator) -> i64 {
    migrator.iter().map(|migration| migration.version).max().unwrap_or_default()
}

/// Folds the write-ahead log into the file and truncates it. Gives up, with a warning, when
/// readers keep it in use: the next deletion or start does it then.
pub(crate) async fn fold_log(pool: &SqlitePool) -> Outcome<()> {
    let (busy, _, _): (i64, i64, i64) =
        sqlx::query_as("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(pool).await?;
    if busy != 0 {
        tracing::warn!("the write-ahead log is in use and could not be truncated yet");
    }
    Ok(())
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(false)
        .journal_mode(SqliteJournalMode::Wal)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT)
        .pragma("secure_delete", "ON")
        .pragma("temp_store", "MEMORY")
        .pragma("trusted_schema", "OFF")
        .pragma("journal_size_limit", LOG_BYTES_MAX)
        .disable_statement_logging()
}

async fn one_writer(path: &Path, synchronous: SqliteSynchronous) -> Outcome<SqlitePool> {
    Ok(SqlitePoolOptions::new()
        .max_connections(1)
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_with(options(path).synchronous(synchronous))
        .await?)
}

fn failed_migration(error: MigrateError) -> Fault {
    match error {
        MigrateError::VersionMissing(version) => {
            StoreError::Newer { what: format!("the database (migration {version})") }.into()
        }
        MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _) => cause.into(),
        other => StoreError::Corrupt(other.into()).into(),
    }
}

#[cfg(test)]
mod tests;
