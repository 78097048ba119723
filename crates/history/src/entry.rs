//! What the index knows of a run.

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::error::Cause;

/// A run in a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    pub id: String,
    /// RFC 3339, UTC, so that text sorts by time.
    pub started: String,
    pub method: String,
    /// The far end, or the emulated network.
    pub far: String,
    pub verdict: String,
    pub duration_s: f64,
    /// The one figure that stands for the run; `None` where it found none.
    pub figure: Option<Figure>,
    pub labels: Labels,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it is, in words.
    pub name: String,
    pub value: f64,
    pub unit: String,
}

/// What the user calls a run by, in the order of [`LABELS`].
pub type Labels = [Option<String>; LABELS.len()];

/// The names of labels.
pub const LABELS: [&str; 5] = ["site", "circuit", "technician", "order", "label"];

/// The columns of the index in the order in which an entry is read; `order` is a word of SQL.
pub(crate) const COLUMNS: &str = "id, started, method, far, verdict, duration_s, figure_name, \
    figure, figure_unit, site, circuit, technician, order_number, label";

impl Entry {
    pub(crate) fn insert(&self, db: &Connection) -> Result<(), Cause> {
        let figure = self.figure.as_ref();
        let marks = "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?";
        let mut statement = db.prepare(&format!("INSERT INTO run ({COLUMNS}) VALUES ({marks})"))?;
        let [site, circuit, technician, order, label] = &self.labels;
        statement.execute(params![
            self.id,
            self.started,
            self.method,
            self.far,
            self.verdict,
            self.duration_s,
            figure.map(|figure| &figure.name),
            figure.map(|figure| figure.value),
            figure.map(|figure| &figure.unit),
            site,
            circuit,
            technician,
            order,
            label,
        ])?;
        Ok(())
    }

    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let figure = match (row.get(6)?, row.get(7)?, row.get(8)?) {
            (Some(name), Some(value), Some(unit)) => Some(Figure { name, value, unit }),
            _ => None,
        };
        Ok(Self {
            id: row.get(0)?,
            started: row.get(1)?,
            method: row.get(2)?,
            far: row.get(3)?,
            verdict: row.get(4)?,
            duration_s: row.get(5)?,
            figure,
            labels: [row.get(9)?, row.get(10)?, row.get(11)?, row.get(12)?, row.get(13)?],
        })
    }

    pub(crate) fn course(&self, db: &Connection, most: usize) -> Result<Vec<f64>, Cause> {
        let Some(figure) = &self.figure else { return Ok(Vec::new()) };
        let mut statement = db.prepare(COURSE)?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let found = statement.query_map(
            params![self.method, self.far, figure.name, self.started, self.id, most],
            |row| row.get(0),
        )?;
        let mut course = found.collect::<rusqlite::Result<Vec<f64>>>()?;
        course.reverse();
        Ok(course)
    }
}

/// The main figure of the runs of the same kind up to one, newest first.
pub(crate) const COURSE: &str = "SELECT figure FROM run \
    WHERE method = ?1 AND far = ?2 AND figure_name = ?3 AND figure IS NOT NULL \
    AND (started, place) <= (?4, (SELECT place FROM run WHERE id = ?5)) \
    ORDER BY started DESC, place DESC LIMIT ?6";

/// More would not help to choose.
const AMBIGUOUS_SHOWN: usize = 5;

pub(crate) fn find(db: &Connection, name: &str) -> Result<Entry, Cause> {
    match before_last(name) {
        Some(before) => last(db, before, name),
        None => by_id(db, name),
    }
}

/// How many runs before the last one.
fn before_last(name: &str) -> Option<u32> {
    match name.strip_prefix("last")?.strip_prefix('~') {
        Some(count) => count.parse().ok(),
        None => (name == "last").then_some(0),
    }
}

fn last(db: &Connection, before: u32, name: &str) -> Result<Entry, Cause> {
    let sql = format!(
        "SELECT {COLUMNS} FROM run ORDER BY started DESC, place DESC LIMIT 1 OFFSET {before}"
    );
    let found = db.query_row(&sql, [], Entry::read).optional()?;
    found.ok_or_else(|| match before {
        0 => Cause::Empty,
        _ => Cause::Unknown { name: name.to_owned() },
    })
}

fn by_id(db: &Connection, name: &str) -> Result<Entry, Cause> {
    let unknown = || Cause::Unknown { name: name.to_owned() };
    // Beyond the last id that begins so: no id has a character above all others.
    let beyond = format!("{name}\u{10ffff}");
    let sql = format!("SELECT {COLUMNS} FROM run WHERE id >= ? AND id < ? ORDER BY id LIMIT ?");
    let mut statement = db.prepare(&sql)?;
    let most = AMBIGUOUS_SHOWN as i64 + 1;
    let found = statement.query_map(params![name, beyond, most], Entry::read)?;
    let mut found = found.collect::<rusqlite::Result<Vec<Entry>>>()?;
    if name.is_empty() {
        return Err(unknown());
    }
    if let Some(exact) = found.iter().position(|entry| entry.id == name) {
        return Ok(found.swap_remove(exact));
    }
    match found.len() {
        0 => Err(unknown()),
        1 => Ok(found.remove(0)),
        _ => {
            let mut ids: Vec<String> = found.into_iter().map(|entry| entry.id).collect();
            if ids.len() > AMBIGUOUS_SHOWN {
                ids.truncate(AMBIGUOUS_SHOWN);
                ids.push(String::from("…"));
            }
            Err(Cause::Ambiguous { name: name.to_owned(), ids })
        }
    }
}
