//! What a person can do about a data folder that cannot be used: one thing for each cause.

use std::{
    error::Error,
    io::{self, ErrorKind},
};

use colloquy::ports::StoreError;

use crate::cli::CliError;

const ROOM: &str = "free some space on the disk of the data folder and try again";
const OTHERS: &str = "see logs/colloquy.log in the data folder; a copy of the folder loses nothing";

/// What to do about `error`.
pub(super) fn way_out(error: &CliError) -> &'static str {
    match error {
        CliError::TokenNeeded(_) => "set COLLOQUY_TOKEN to the token of the server",
        CliError::Config(_)
        | CliError::Usage(_)
        | CliError::Failed(_)
        | CliError::Caused { .. }
        | CliError::Stdout(_)
        | CliError::Told
        | CliError::Interrupted => {
            // The store's own word comes before that of what is below it.
            let store = causes(error).find_map(|cause| cause.downcast_ref::<StoreError>().and_then(of_store));
            let below =
                || causes(error).find_map(|cause| cause.downcast_ref::<io::Error>().and_then(of_files));
            store.or_else(below).unwrap_or(OTHERS)
        }
    }
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (**error).source())
}

fn of_store(error: &StoreError) -> Option<&'static str> {
    match error {
        StoreError::Newer { .. } => {
            Some("install the newer Colloquy that wrote it, or use another --data-dir")
        }
        StoreError::Corrupt(_) => Some(
            "restore colloquy.db from a copy (colloquy.db.backup-v* beside it, if there is one); the damaged \
             file is left as it is",
        ),
        StoreError::DiskFull => Some(ROOM),
        // What is below may know more; else somebody has to look at the file.
        StoreError::Unavailable(_) if causes(error).any(|cause| cause.is::<io::Error>()) => None,
        StoreError::Unavailable(_) => {
            Some("see that you may read and write colloquy.db and the folder it is in, then try again")
        }
        StoreError::StaleOwner
        | StoreError::TurnInProgress { .. }
        | StoreError::StaleParent { .. }
        | StoreError::NoSuchConversation
        | StoreError::NameTaken => None,
    }
}

fn of_files(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            Some("make the data folder readable and writable for you, or use another --data-dir")
        }
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists | ErrorKind::IsADirectory => Some(
            "the path of the data folder is a file, or a folder is where a file of it belongs: move that \
             away, or use another --data-dir",
        ),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Some(ROOM),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out_of(cause: impl Error + Send + Sync + 'static) -> &'static str {
        way_out(&CliError::caused("open the data folder", cause))
    }

    #[test]
    fn each_cause_has_one_of_its_own() {
        let of_kind = |kind| out_of(io::Error::from(kind));
        assert!(of_kind(ErrorKind::PermissionDenied).contains("writable"));
        assert!(of_kind(ErrorKind::NotADirectory).contains("is a file"));
        assert_eq!(of_kind(ErrorKind::StorageFull), ROOM);
        assert_eq!(out_of(StoreError::DiskFull), ROOM);
        assert_eq!(of_kind(ErrorKind::TimedOut), OTHERS);
        let refused = io::Error::from(ErrorKind::PermissionDenied);
        assert!(out_of(StoreError::Unavailable(refused.into())).contains("writable"));
        assert!(out_of(StoreError::Unavailable("unable to open".into())).contains("read and write"));
        assert!(out_of(StoreError::Newer { what: "it".into() }).contains("newer Colloquy"));
        assert!(way_out(&CliError::TokenNeeded("no".into())).contains("COLLOQUY_TOKEN"));
    }
}
