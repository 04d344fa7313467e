//! How a failure of SQLite or of a stored form becomes a [`StoreError`].
//!
//! [`Fault`] exists because neither side of the conversion is ours: inside the crate `?` makes
//! faults, and the `Store` implementation turns them into the port's error.

use colloquy::{ports::StoreError, record::RecordError};
use sqlx::error::DatabaseError;

/// A [`StoreError`] on its way out.
#[derive(Debug)]
pub(crate) struct Fault(StoreError);

/// The result of everything inside this crate.
pub(crate) type Outcome<T> = Result<T, Fault>;

impl Fault {
    /// What is stored contradicts itself.
    pub(crate) fn corrupt(why: impl Into<String>) -> Self {
        Self(StoreError::Corrupt(why.into().into()))
    }

    /// A stored form cannot be read; `row` names it, as in "message 7".
    pub(crate) fn record(row: &str, error: RecordError) -> Self {
        Self(match error {
            RecordError::Newer { .. } => StoreError::Newer { what: row.to_owned() },
            RecordError::Damaged { .. } => StoreError::Corrupt(format!("{row}: {error}").into()),
        })
    }

    /// What is wrong with the row that it names, for a report about the whole file.
    pub(crate) fn of_row(&self) -> String {
        if let StoreError::Corrupt(cause) = &self.0 { cause.to_string() } else { self.0.to_string() }
    }

    /// Whether a turn runs on the conversation.
    pub(crate) fn is_turn_in_progress(&self) -> bool {
        matches!(self.0, StoreError::TurnInProgress { .. })
    }

    /// Whether only the row that it names is affected, rather than the whole file.
    pub(crate) fn is_of_one_row(&self) -> bool {
        match &self.0 {
            StoreError::Newer { .. } | StoreError::Corrupt(_) => true,
            StoreError::StaleOwner
            | StoreError::TurnInProgress { .. }
            | StoreError::StaleParent { .. }
            | StoreError::NoSuchConversation
            | StoreError::NameTaken
            | StoreError::DiskFull
            | StoreError::Unavailable(_) => false,
        }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self(error)
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        fault.0
    }
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        let unreadable = match &error {
            sqlx::Error::Database(cause) => {
                if let Some(conflict) = conflict(cause.as_ref()) {
                    return Self(conflict);
                }
                is_damage(cause.as_ref())
            }
            sqlx::Error::ColumnDecode { .. }
            | sqlx::Error::Decode(_)
            | sqlx::Error::ColumnNotFound(_)
            | sqlx::Error::ColumnIndexOutOfBounds { .. }
            | sqlx::Error::TypeNotFound { .. } => true,
            _ => false,
        };
        if let sqlx::Error::Database(cause) = &error
            && primary_code(cause.as_ref()) == SQLITE_FULL
        {
            return Self(StoreError::DiskFull);
        }
        Self(if unreadable {
            StoreError::Corrupt(error.into())
        } else {
            StoreError::Unavailable(error.into())
        })
    }
}

/// The conflict that a broken unique constraint stands for. SQLite names its columns.
fn conflict(error: &dyn DatabaseError) -> Option<StoreError> {
    let columns = error.message().strip_prefix("UNIQUE constraint failed: ")?;
    match columns {
        "llms.principal, llms.name" => Some(StoreError::NameTaken),
        "turns.conversation_id" => Some(StoreError::TurnInProgress { turn_uid: None }),
        _ => None,
    }
}

/// Whether SQLite says that the file is damaged or is no database, or a constraint was broken that
/// only rows which contradict each other can break.
fn is_damage(error: &dyn DatabaseError) -> bool {
    const SQLITE_CORRUPT: i32 = 11;
    const SQLITE_CONSTRAINT: i32 = 19;
    const SQLITE_NOTADB: i32 = 26;
    [SQLITE_CORRUPT, SQLITE_CONSTRAINT, SQLITE_NOTADB].contains(&primary_code(error))
}

const SQLITE_FULL: i32 = 13;

/// SQLite's code of an error; the low byte of an extended code is the primary one.
fn primary_code(error: &dyn DatabaseError) -> i32 {
    error.code().and_then(|code| code.parse::<i32>().ok()).unwrap_or_default() & 0xff
}
