//! Which runs are asked for.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::entry::{COLUMNS, Entry, LABELS, Labels};
use crate::error::Cause;

/// Runs that meet all of this.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub method: Option<String>,
    /// A part of the far end's name.
    pub far: Option<String>,
    pub verdict: Option<String>,
    /// RFC 3339, UTC.
    pub since: Option<String>,
    /// RFC 3339, UTC; not itself.
    pub until: Option<String>,
    /// Parts of labels.
    pub labels: Labels,
}

impl Filter {
    pub(crate) fn latest(&self, db: &Connection, most: usize) -> Result<Vec<Entry>, Cause> {
        let (condition, mut values) = self.condition();
        let sql = format!(
            "SELECT {COLUMNS} FROM run{condition} ORDER BY started DESC, place DESC LIMIT ?"
        );
        values.push(Value::Integer(i64::try_from(most).unwrap_or(i64::MAX)));
        let mut statement = db.prepare(&sql)?;
        let entries = statement.query_map(params_from_iter(values), Entry::read)?;
        Ok(entries.collect::<rusqlite::Result<Vec<_>>>()?)
    }

    pub(crate) fn count(&self, db: &Connection) -> Result<u64, Cause> {
        let (condition, values) = self.condition();
        let mut statement = db.prepare(&format!("SELECT count(*) FROM run{condition}"))?;
        let count: i64 = statement.query_row(params_from_iter(values), |row| row.get(0))?;
        Ok(count.unsigned_abs())
    }

    /// The part of a statement behind the table's name, and what its marks stand for.
    fn condition(&self) -> (String, Vec<Value>) {
        let whole = [("method", &self.method), ("verdict", &self.verdict)];
        let labels = LABELS.iter().map(|name| if *name == "order" { "order_number" } else { name });
        let part = std::iter::once(("far", &self.far)).chain(labels.zip(&self.labels));
        let bounds = [("started >= ?", &self.since), ("started < ?", &self.until)];
        let mut terms = Vec::new();
        let mut values = Vec::new();
        let mut add = |term: String, value: &Option<String>| {
            if let Some(value) = value {
                terms.push(term);
                values.push(Value::Text(value.clone()));
            }
        };
        whole.iter().for_each(|(column, value)| add(format!("{column} = ?"), value));
        part.for_each(|(column, value)| {
            add(format!("instr(lower({column}), lower(?)) > 0"), value);
        });
        bounds.iter().for_each(|(term, value)| add(String::from(*term), value));
        if terms.is_empty() {
            return (String::new(), values);
        }
        (format!(" WHERE {}", terms.join(" AND ")), values)
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::params;

    use super::*;
    use crate::entry::COURSE;
    use crate::schema;

    /// How SQLite goes about a statement.
    fn plan(db: &Connection, sql: &str, values: &[&dyn rusqlite::ToSql]) -> String {
        let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps = statement.query_map(values, |row| row.get::<_, String>(3)).unwrap();
        steps.collect::<rusqlite::Result<Vec<_>>>().unwrap().join("; ")
    }

    #[test]
    fn a_list_and_its_courses_read_no_more_than_they_show() {
        let mut db = Connection::open_in_memory().unwrap();
        schema::prepare(&mut db).unwrap();
        let latest = "SELECT id FROM run ORDER BY started DESC, place DESC LIMIT 20";
        let found = plan(&db, latest, &[]);
        assert!(found.contains("USING INDEX run_by_time") && !found.contains("TEMP"), "{found}");
        let values = params!["flow", "far", "payload", "now", "id", 12];
        let found = plan(&db, COURSE, values);
        assert!(found.contains("USING COVERING INDEX run_by_path"), "{found}");
        assert!(!found.contains("TEMP") && !found.contains("SCAN"), "{found}");
    }
}
