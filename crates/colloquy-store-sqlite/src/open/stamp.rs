//! Whose a file is and which version it has: SQLite's application id and user version.
//!
//! The header is read as plain bytes first, so that a file which is not ours, or is newer, is
//! refused without a lock, a log or a byte of change.

use std::{io::ErrorKind, path::Path};

use colloquy::ports::StoreError;
use sqlx::{
    ConnectOptions, Connection, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteSynchronous},
};
use tokio::io::AsyncReadExt;

use crate::fault::{Fault, Outcome};

/// `Clqy`, in the four bytes that SQLite keeps for the program a file belongs to.
const APPLICATION_ID: i32 = 0x436c_7179;

const HEADER_BYTES: usize = 100;
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// No file, or one without a byte: what a crash leaves that came before the first write.
    Nothing,
    /// A file of ours that this version can read or migrate.
    Ours,
}

/// Looks at the file and refuses it unless it is ours and at most of version `latest`.
pub(super) async fn inspect(path: &Path, latest: i64) -> Outcome<Found> {
    let Some(header) = header(path).await? else { return Ok(Found::Nothing) };
    let number = |at: usize| i32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let (user_version, application_id) = (number(60), number(68));
    if application_id != APPLICATION_ID {
        return Err(Fault::corrupt(format!("{} is the database of another program", path.display())));
    }
    refuse_newer(path, user_version.into(), latest)?;
    if has_log(path).await? {
        // A newer program that died may have left its stamp in the log alone. A connection that
        // only reads cannot fold the log into the file.
        let mut connection = SqliteConnectOptions::new()
            .filename(path)
            .read_only(true)
            .disable_statement_logging()
            .connect()
            .await?;
        let version = version(&mut connection).await;
        connection.close().await?;
        refuse_newer(path, version?, latest)?;
    }
    Ok(Found::Ours)
}

/// Creates the file with our id in it, readable by its owner only.
///
/// The id is written while the file still has a rollback journal, so that the first page is never
/// in the file without it.
pub(super) async fn create(path: &Path) -> Outcome<()> {
    create_private(path).await.map_err(|error| StoreError::Unavailable(error.into()))?;
    let mut connection = SqliteConnectOptions::new()
        .filename(path)
        .synchronous(SqliteSynchronous::Full)
        .pragma("application_id", APPLICATION_ID.to_string())
        .disable_statement_logging()
        .connect()
        .await?;
    // An id alone makes no page: the version does, and both go out with it.
    sqlx::query("PRAGMA user_version = 0").execute(&mut connection).await?;
    connection.close().await?;
    Ok(())
}

/// The version of the schema, as the migrations stamp it.
pub(super) async fn version(connection: &mut SqliteConnection) -> Outcome<i64> {
    Ok(sqlx::query_scalar("PRAGMA user_version").fetch_one(connection).await?)
}

/// Makes an empty file that only its owner can read; one that is there keeps its bytes.
pub(super) async fn create_private(path: &Path) -> std::io::Result<()> {
    let mut options = tokio::fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    options.mode(0o600);
    options.open(path).await.map(drop)
}

fn refuse_newer(path: &Path, version: i64, latest: i64) -> Outcome<()> {
    if version > latest {
        let what = format!("{} (version {version}, this program knows {latest})", path.display());
        return Err(StoreError::Newer { what }.into());
    }
    Ok(())
}

/// The first bytes of the file; `None` when it does not exist or is empty.
async fn header(path: &Path) -> Outcome<Option<[u8; HEADER_BYTES]>> {
    let unavailable = |error: std::io::Error| StoreError::Unavailable(error.into());
    let foreign = || Fault::corrupt(format!("{} is not a SQLite database", path.display()));
    let mut file = match tokio::fs::File::open(path).await {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unavailable(error).into()),
    };
    if file.metadata().await.map_err(unavailable)?.len() == 0 {
        return Ok(None);
    }
    let mut header = [0; HEADER_BYTES];
    match file.read_exact(&mut header).await {
        Ok(_) if header.starts_with(MAGIC) => Ok(Some(header)),
        Ok(_) => Err(foreign()),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(foreign()),
        Err(error) => Err(unavailable(error).into()),
    }
}

async fn has_log(path: &Path) -> Outcome<bool> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    match tokio::fs::metadata(&log).await {
        Ok(found) => Ok(found.len() > 0),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::Unavailable(error.into()).into()),
    }
}
