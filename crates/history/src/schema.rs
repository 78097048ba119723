//! The tables, and how a history of an older fullpipe becomes one of this.

use rusqlite::{Connection, TransactionBehavior};

use crate::error::Cause;

/// In the file's header: "fpl1".
const APPLICATION: i64 = 0x6670_6c31;

/// Each makes the next format of the one before; the first makes format 1 of nothing. What has been
/// released is never changed.
const STEPS: [&str; 1] = [
    // Documents stand apart, so that a list reads past none of them.
    "CREATE TABLE run (
         place INTEGER PRIMARY KEY AUTOINCREMENT,
         id TEXT NOT NULL UNIQUE,
         started TEXT NOT NULL,
         method TEXT NOT NULL,
         far TEXT NOT NULL,
         verdict TEXT NOT NULL,
         duration_s REAL NOT NULL,
         figure_name TEXT,
         figure REAL,
         figure_unit TEXT,
         site TEXT,
         circuit TEXT,
         technician TEXT,
         order_number TEXT,
         label TEXT
     ) STRICT;
     CREATE INDEX run_by_time ON run (started, place);
     CREATE INDEX run_by_path ON run (method, far, figure_name, started, place, figure);
     CREATE TABLE document (
         place INTEGER PRIMARY KEY REFERENCES run (place) ON DELETE CASCADE,
         zlib BLOB NOT NULL
     ) STRICT;
     CREATE TABLE setting (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;",
];

/// Makes of the file what this program works with.
///
/// # Errors
/// That it is not ours, or of a newer program: then it is left as it is.
pub(crate) fn prepare(db: &mut Connection) -> Result<(), Cause> {
    let format = format(db)?;
    if format == 0 {
        // Both have to be said before the first table.
        db.execute_batch("PRAGMA auto_vacuum = INCREMENTAL")?;
        let _: String = db.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    }
    // A run that was told to be kept is there after a power cut as well.
    db.execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON")?;
    if (format as usize) < STEPS.len() { migrate(db, &STEPS) } else { Ok(()) }
}

/// The format of the file; 0 of an empty one.
fn format(db: &Connection) -> Result<u32, Cause> {
    let number = |pragma: &str| -> Result<i64, Cause> {
        Ok(db.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))?)
    };
    let (application, format) = (number("application_id")?, number("user_version")?);
    let is_empty = db.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))?;
    let known = STEPS.len() as u32;
    match (application, u32::try_from(format)) {
        (APPLICATION, Ok(found)) if found > known => Err(Cause::Newer { found, known }),
        (APPLICATION, Ok(found)) => Ok(found),
        (0, Ok(0)) if is_empty => Ok(0),
        _ => Err(Cause::NotOurs),
    }
}

/// All at once or not at all.
fn migrate(db: &mut Connection, steps: &[&str]) -> Result<(), Cause> {
    let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    let done: u32 = change.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    for step in steps.iter().skip(done as usize) {
        change.execute_batch(step)?;
    }
    change.execute_batch(&format!(
        "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {}",
        steps.len().max(done as usize)
    ))?;
    change.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> Connection {
        Connection::open_in_memory().unwrap()
    }

    #[test]
    fn an_empty_file_becomes_a_history_and_stays_one() {
        let mut db = memory();
        prepare(&mut db).unwrap();
        assert_eq!(format(&db).unwrap(), STEPS.len() as u32);
        prepare(&mut db).unwrap();
    }

    #[test]
    fn an_older_format_is_brought_forward_with_what_is_in_it() {
        let mut db = memory();
        migrate(&mut db, &STEPS).unwrap();
        db.execute_batch("INSERT INTO setting VALUES ('runs', 5)").unwrap();
        let later = [STEPS[0], "ALTER TABLE run ADD COLUMN place_of_test TEXT"];
        migrate(&mut db, &later).unwrap();
        let (version, runs): (u32, u32) = db
            .query_row(
                "SELECT (SELECT user_version FROM pragma_user_version), value FROM setting",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .unwrap();
        assert_eq!((version, runs), (2, 5));
        db.execute_batch("UPDATE run SET place_of_test = NULL").unwrap();
    }

    #[test]
    fn a_step_that_fails_leaves_the_format_as_it_was() {
        let mut db = memory();
        let broken = [STEPS[0], "ALTER TABLE run ADD COLUMN more TEXT; ALTER TABLE nowhere ADD x"];
        migrate(&mut db, &broken[..1]).unwrap();
        migrate(&mut db, &broken).unwrap_err();
        assert_eq!(format(&db).unwrap(), 1);
        db.execute_batch("UPDATE run SET more = NULL").unwrap_err();
    }

    #[test]
    fn a_newer_format_and_somebody_elses_file_are_refused() {
        let mut db = memory();
        prepare(&mut db).unwrap();
        db.execute_batch("PRAGMA user_version = 9").unwrap();
        let known = STEPS.len() as u32;
        assert!(matches!(prepare(&mut db), Err(Cause::Newer { found: 9, known: k }) if k == known));
        let mut foreign = memory();
        foreign.execute_batch("CREATE TABLE songs (title TEXT)").unwrap();
        assert!(matches!(prepare(&mut foreign), Err(Cause::NotOurs)));
    }
}
