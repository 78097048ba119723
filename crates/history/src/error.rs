//! What can be wrong with a history, each as a sentence with its remedy.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Why something could not be done with the history.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "cannot use {} for the history: {source}; name a folder that may be written to in \
         $FULLPIPE_DATA",
        folder.display()
    )]
    Folder { folder: PathBuf, source: io::Error },
    #[error(
        "the history {} was written by a newer fullpipe (format {found}, this one knows {known}): \
         update fullpipe, or name another folder in $FULLPIPE_DATA",
        file.display()
    )]
    Newer { file: PathBuf, found: u32, known: u32 },
    #[error(
        "{} is no history of fullpipe, and is left as it is: name another folder in $FULLPIPE_DATA",
        file.display()
    )]
    NotOurs { file: PathBuf },
    #[error(
        "the history {} is damaged ({what}): move it away, then a new one is begun",
        file.display()
    )]
    Damaged { file: PathBuf, what: String },
    #[error("no place is left for the history {}: free some, or name another folder in \
             $FULLPIPE_DATA", file.display())]
    Full { file: PathBuf },
    #[error(
        "the history {} may not be written to: give this user the right to, or name another \
         folder in $FULLPIPE_DATA",
        file.display()
    )]
    ReadOnly { file: PathBuf },
    #[error("another process has been writing to the history {} for too long: try again", file.display())]
    Busy { file: PathBuf },
    #[error("cannot use the history {}: {source}", file.display())]
    Other { file: PathBuf, source: rusqlite::Error },
    #[error("a run {id} with another content is in the history already: nothing was changed")]
    IdTaken { id: String },
    #[error(
        "there is neither a run '{name}' in the history nor a file of that name: `fullpipe history` \
             lists what was kept"
    )]
    Unknown { name: String },
    #[error("'{name}' is the beginning of several runs: {}", ids.join(", "))]
    Ambiguous { name: String, ids: Vec<String> },
    #[error("the history is empty: a run is kept when it ends, unless --no-save is given")]
    Empty,
}

/// The same before it is known of which file.
#[derive(Debug)]
pub(crate) enum Cause {
    Sql(rusqlite::Error),
    Newer { found: u32, known: u32 },
    NotOurs,
    Spoilt,
    IdTaken { id: String },
    Unknown { name: String },
    Ambiguous { name: String, ids: Vec<String> },
    Empty,
}

impl From<rusqlite::Error> for Cause {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl Cause {
    pub(crate) fn at(self, file: &Path) -> Error {
        let file = file.to_owned();
        match self {
            Self::Sql(source) => of_sql(source, file),
            Self::Newer { found, known } => Error::Newer { file, found, known },
            Self::NotOurs => Error::NotOurs { file },
            Self::Spoilt => {
                Error::Damaged { file, what: String::from("a document cannot be unpacked") }
            }
            Self::IdTaken { id } => Error::IdTaken { id },
            Self::Unknown { name } => Error::Unknown { name },
            Self::Ambiguous { name, ids } => Error::Ambiguous { name, ids },
            Self::Empty => Error::Empty,
        }
    }
}

fn of_sql(source: rusqlite::Error, file: PathBuf) -> Error {
    match source.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => Error::NotOurs { file },
        Some(ErrorCode::DatabaseCorrupt) => Error::Damaged { file, what: source.to_string() },
        Some(ErrorCode::DiskFull) => Error::Full { file },
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            Error::ReadOnly { file }
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy { file },
        Some(_) | None => Error::Other { file, source },
    }
}
