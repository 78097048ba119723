//! What was measured before: the document of every run, and an index by which it is found again.
//!
//! The history is one SQLite file. A run is kept in one transaction: whoever is killed at whatever
//! moment leaves it whole or absent, and two processes may write at once. The index holds what a
//! list shows, so that a list reads no document. It knows nothing of methods and figures: what a
//! run is about is told by whoever keeps it.
//!
//! Documents are compressed and stored apart from the index. A lock file lets one process at a time
//! open and migrate the file.

#![forbid(unsafe_code)]

mod entry;
mod error;
mod filter;
mod packed;
mod retention;
mod schema;

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

pub use entry::{Entry, Figure, LABELS, Labels};
pub use error::Error;
pub use filter::Filter;
pub use retention::Retention;

/// The file in the history's folder.
pub const FILE: &str = "history.db";

/// Whoever opens the history holds this file meanwhile.
const DOOR: &str = "history.lock";

/// How long a process waits for another one that writes.
const PATIENCE: Duration = Duration::from_secs(10);

/// The history of one user.
#[derive(Debug)]
pub struct History {
    db: Connection,
    file: PathBuf,
}

/// What became of a run that was to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    New,
    /// The same document was there already.
    Already,
}

impl History {
    /// The history in `folder`, which is made where it is missing, for its user alone.
    ///
    /// # Errors
    /// What is wrong with the folder or the file, and what to do.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        let unusable = |source| Error::Folder { folder: folder.to_owned(), source };
        made.map_err(unusable)?;
        // SQLite gives its own files the rights of the first one.
        let mut options = fs::OpenOptions::new();
        options.append(true).create(true).mode(0o600);
        let file = folder.join(FILE);
        options.open(&file).map_err(unusable)?;
        // Two processes that both make the history would stand in each other's way. Not the history
        // itself is locked: SQLite loses its locks on a file that its process closes once more.
        let door = options.open(folder.join(DOOR)).map_err(unusable)?;
        door.lock().map_err(unusable)?;
        let db = open(&file).map_err(|error| error.at(&file))?;
        Ok(Self { db, file })
    }

    /// The history in `folder`, if there is one.
    ///
    /// # Errors
    /// As of [`History::open`].
    pub fn open_if_there(folder: &Path) -> Result<Option<Self>, Error> {
        if folder.join(FILE).exists() { Self::open(folder).map(Some) } else { Ok(None) }
    }

    /// Keeps a run, and lets go of what is too old or too much by now.
    ///
    /// # Errors
    /// Why it could not be kept; then nothing has changed.
    pub fn keep(&mut self, entry: &Entry, document: &[u8]) -> Result<Kept, Error> {
        let run = (entry.clone(), document.to_owned());
        let new = self.keep_all([run], &entry.started)?;
        Ok(if new == 1 { Kept::New } else { Kept::Already })
    }

    /// Keeps all of these runs or none; how many were new. `now` is RFC 3339.
    ///
    /// # Errors
    /// Why they could not be kept; then nothing has changed.
    pub fn keep_all(
        &mut self,
        runs: impl IntoIterator<Item = (Entry, Vec<u8>)>,
        now: &str,
    ) -> Result<usize, Error> {
        self.try_to_keep(runs, now).map_err(|error| error.at(&self.file))
    }

    fn try_to_keep(
        &mut self,
        runs: impl IntoIterator<Item = (Entry, Vec<u8>)>,
        now: &str,
    ) -> Result<usize, error::Cause> {
        let change = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut new = 0;
        for (entry, document) in runs {
            match document_of(&change, &entry.id)? {
                Some(there) if there == document => continue,
                Some(_) => return Err(error::Cause::IdTaken { id: entry.id }),
                None => {}
            }
            entry.insert(&change)?;
            let packed = packed::pack(&document);
            let place = change.last_insert_rowid();
            change.execute("INSERT INTO document VALUES (?, ?)", params![place, packed])?;
            new += 1;
        }
        Retention::load(&change)?.apply(&change, now)?;
        change.commit()?;
        // Pages that were let go of are given back bit by bit.
        self.db.execute_batch("PRAGMA incremental_vacuum(64)")?;
        Ok(new)
    }

    /// The latest runs that `filter` lets pass, newest first.
    ///
    /// # Errors
    /// Why the history could not be read.
    pub fn latest(&self, filter: &Filter, most: usize) -> Result<Vec<Entry>, Error> {
        filter.latest(&self.db, most).map_err(|error| error.at(&self.file))
    }

    /// How many runs `filter` lets pass.
    ///
    /// # Errors
    /// Why the history could not be read.
    pub fn count(&self, filter: &Filter) -> Result<u64, Error> {
        filter.count(&self.db).map_err(|error| error.at(&self.file))
    }

    /// The main figure of the runs of the same method to the same far end up to `entry`, at most
    /// `most`, oldest first; `entry` is the last of them.
    ///
    /// # Errors
    /// Why the history could not be read.
    pub fn course(&self, entry: &Entry, most: usize) -> Result<Vec<f64>, Error> {
        entry.course(&self.db, most).map_err(|error| error.at(&self.file))
    }

    /// The run that `name` stands for: `last`, `last~2` for the one two before, an id or as much of
    /// its beginning as no other run has.
    ///
    /// # Errors
    /// That there is none or more than one; why the history could not be read.
    pub fn find(&self, name: &str) -> Result<Entry, Error> {
        entry::find(&self.db, name).map_err(|error| error.at(&self.file))
    }

    /// The document of a run, to the byte as it was kept.
    ///
    /// # Errors
    /// That there is none; why the history could not be read.
    pub fn document(&self, id: &str) -> Result<Vec<u8>, Error> {
        let found = document_of(&self.db, id);
        let found = found.map_err(|error| error.at(&self.file))?;
        found.ok_or_else(|| Error::Unknown { name: id.to_owned() })
    }

    /// What is kept.
    ///
    /// # Errors
    /// Why the history could not be read.
    pub fn retention(&self) -> Result<Retention, Error> {
        Retention::load(&self.db).map_err(|error| error.at(&self.file))
    }

    /// From now on keeps this much, and lets go of the rest; how many runs went. `now` is RFC 3339.
    ///
    /// # Errors
    /// Why that could not be done; then nothing has changed.
    pub fn retain(&mut self, retention: Retention, now: &str) -> Result<usize, Error> {
        retention.store(&mut self.db, now).map_err(|error| error.at(&self.file))
    }

    /// The file with everything in it.
    pub fn file(&self) -> &Path {
        &self.file
    }
}

fn open(file: &Path) -> Result<Connection, error::Cause> {
    let mut db = Connection::open(file)?;
    db.busy_timeout(PATIENCE)?;
    schema::prepare(&mut db)?;
    Ok(db)
}

fn document_of(db: &Connection, id: &str) -> Result<Option<Vec<u8>>, error::Cause> {
    let mut statement =
        db.prepare("SELECT zlib FROM document WHERE place = (SELECT place FROM run WHERE id = ?)")?;
    let packed: Option<Vec<u8>> = statement.query_row([id], |row| row.get(0)).optional()?;
    packed.map(|packed| packed::unpack(&packed)).transpose()
}
