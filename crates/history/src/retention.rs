//! How much is kept: by count and by age.

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

use crate::error::Cause;

/// What is kept; the older runs go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// At most so many runs.
    pub runs: u64,
    /// None that began more days ago; `None` for however old.
    pub days: Option<u64>,
}

impl Default for Retention {
    fn default() -> Self {
        Self { runs: 10_000, days: None }
    }
}

impl Retention {
    pub(crate) fn load(db: &Connection) -> Result<Self, Cause> {
        let usual = Self::default();
        Ok(Self {
            runs: setting(db, "runs")?.unwrap_or(usual.runs),
            days: setting(db, "days")?.filter(|days| *days > 0),
        })
    }

    pub(crate) fn store(self, db: &mut Connection, now: &str) -> Result<usize, Cause> {
        let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (name, value) in [("runs", self.runs), ("days", self.days.unwrap_or(0))] {
            let value = i64::try_from(value).unwrap_or(i64::MAX);
            change.execute(
                "INSERT INTO setting VALUES (?1, ?2) \
                 ON CONFLICT (name) DO UPDATE SET value = ?2",
                params![name, value],
            )?;
        }
        let gone = self.apply(&change, now)?;
        change.commit()?;
        Ok(gone)
    }

    /// Lets go of what is beyond as seen from `now`, RFC 3339; how many runs went.
    pub(crate) fn apply(self, change: &Transaction<'_>, now: &str) -> Result<usize, Cause> {
        let runs = i64::try_from(self.runs).unwrap_or(i64::MAX);
        let mut gone = change.execute(
            "DELETE FROM run WHERE place IN \
             (SELECT place FROM run ORDER BY started DESC, place DESC LIMIT -1 OFFSET ?)",
            [runs],
        )?;
        if let Some(days) = self.days {
            gone += change.execute(
                "DELETE FROM run \
                 WHERE started < strftime('%Y-%m-%dT%H:%M:%SZ', ?, '-' || ? || ' days')",
                params![now, i64::try_from(days).unwrap_or(i64::MAX)],
            )?;
        }
        Ok(gone)
    }
}

fn setting(db: &Connection, name: &str) -> Result<Option<u64>, Cause> {
    let mut statement = db.prepare("SELECT value FROM setting WHERE name = ?")?;
    let value: Option<i64> = statement.query_row([name], |row| row.get(0)).optional()?;
    Ok(value.and_then(|value| u64::try_from(value).ok()))
}
