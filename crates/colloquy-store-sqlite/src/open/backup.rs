//! The copy of the file that is made before it is migrated: `NAME.backup-vN` beside it, where N
//! is the version it still has. Written under another name first, so that it is whole or absent.

use std::{
    io,
    path::{Path, PathBuf},
};

use colloquy::ports::StoreError;
use sqlx::SqlitePool;

use super::stamp::create_private;
use crate::fault::Outcome;

const PART: &str = ".part";

/// Copies the file. One that is there from an earlier try at the same migration is replaced.
pub(super) async fn make(pool: &SqlitePool, path: &Path, version: i64) -> Outcome<()> {
    let unavailable = |error: io::Error| StoreError::Unavailable(error.into());
    let kept = beside(path, &format!("{}{version}", infix(path)));
    let part = beside(path, &format!("{}{version}{PART}", infix(path)));
    remove(&part).await.map_err(unavailable)?;
    // SQLite fills an empty file as it would a new one, and keeps its permissions.
    create_private(&part).await.map_err(unavailable)?;
    sqlx::query("VACUUM INTO ?").bind(part.to_string_lossy().into_owned()).execute(pool).await?;
    publish(&part, &kept).await.map_err(unavailable)?;
    tracing::info!(backup = %kept.display(), "copied the database before its migration");
    Ok(())
}

/// Removes the backups of migrations that have proved good, and what a crash left of one.
pub(super) async fn remove_all(path: &Path) -> Outcome<()> {
    let unavailable = |error: io::Error| StoreError::Unavailable(error.into());
    let infix = infix(path);
    let mut entries = tokio::fs::read_dir(folder(path)).await.map_err(unavailable)?;
    while let Some(entry) = entries.next_entry().await.map_err(unavailable)? {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(&infix)) else { continue };
        let version = rest.strip_suffix(PART).unwrap_or(rest);
        if !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()) {
            remove(&entry.path()).await.map_err(unavailable)?;
        }
    }
    Ok(())
}

/// VACUUM does not wait for the disk, so the copy is synced before it gets its name.
async fn publish(part: &Path, kept: &Path) -> io::Result<()> {
    tokio::fs::OpenOptions::new().write(true).open(part).await?.sync_all().await?;
    tokio::fs::rename(part, kept).await?;
    #[cfg(unix)]
    tokio::fs::File::open(folder(kept)).await?.sync_all().await?;
    Ok(())
}

async fn remove(path: &Path) -> io::Result<()> {
    match tokio::fs::remove_file(path).await {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn infix(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!("{name}.backup-v")
}

fn beside(path: &Path, name: &str) -> PathBuf {
    path.with_file_name(name)
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
