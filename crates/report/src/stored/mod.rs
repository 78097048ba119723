//! A result document read back: from the history, from a file, from another machine.

pub(crate) mod fields;
pub(crate) mod headline;

use serde_json::Value;

use crate::Labels;
pub use headline::Headline;

/// The formats that can be read.
const SCHEMA: &str = "fullpipe.result/";
const KNOWN: u32 = 1;

/// A result document, as it was written and as what it says.
#[derive(Clone, Debug)]
pub struct Stored {
    text: String,
    value: Value,
}

/// Why a text is no result that could be read; follows the name of its file.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    #[error("ends in the middle: what is missing was never written or has been cut off")]
    CutOff,
    #[error("is no result of fullpipe: {0}")]
    NoJson(serde_json::Error),
    #[error("is no result of fullpipe: it says no `schema`")]
    NotOurs,
    #[error("is a `{0}`, not a result: name a result, as `-o` and the history keep them")]
    AnotherKind(String),
    #[error("is a `{0}` of a newer fullpipe, this one reads `fullpipe.result/1`: update fullpipe")]
    Newer(String),
    #[error("is no whole result: it has no `{0}`")]
    Lacks(&'static str),
}

/// Without these nothing can be said of a run.
const NEEDED: [&str; 4] = ["id", "method", "started", "across"];

impl Stored {
    /// # Errors
    /// Why `text` is no result of this or an older fullpipe.
    pub fn read(text: String) -> Result<Self, StoredError> {
        let value: Value = serde_json::from_str(&text).map_err(|error| {
            if error.is_eof() { StoredError::CutOff } else { StoredError::NoJson(error) }
        })?;
        let schema = value["schema"].as_str().ok_or(StoredError::NotOurs)?;
        let version = schema.strip_prefix(SCHEMA).and_then(|number| number.parse::<u32>().ok());
        match version {
            Some(1..=KNOWN) => {}
            Some(_) => return Err(StoredError::Newer(schema.to_owned())),
            None if schema.starts_with("fullpipe.") => {
                return Err(StoredError::AnotherKind(schema.to_owned()));
            }
            None => return Err(StoredError::NotOurs),
        }
        if let Some(field) = NEEDED.iter().find(|field| !value[**field].is_string()) {
            return Err(StoredError::Lacks(field));
        }
        if !value["verdict"]["status"].is_string() {
            return Err(StoredError::Lacks("verdict"));
        }
        if !value["steps"].is_array() {
            return Err(StoredError::Lacks("steps"));
        }
        Ok(Self { text, value })
    }

    /// To the byte as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub const fn value(&self) -> &Value {
        &self.value
    }

    pub fn id(&self) -> &str {
        self.word("id")
    }

    pub fn method(&self) -> &str {
        self.word("method")
    }

    /// RFC 3339, UTC.
    pub fn started(&self) -> &str {
        self.word("started")
    }

    /// What stood between the ends.
    pub fn across(&self) -> &str {
        self.word("across")
    }

    pub fn verdict(&self) -> &str {
        self.value["verdict"]["status"].as_str().unwrap_or_default()
    }

    pub fn duration_s(&self) -> f64 {
        self.value["duration_s"].as_f64().unwrap_or_default()
    }

    /// Of an older document, none.
    pub fn labels(&self) -> Labels {
        serde_json::from_value(self.value["labels"].clone()).unwrap_or_default()
    }

    /// The one figure that stands for the run.
    pub fn headline(&self) -> Option<Headline> {
        headline::of(&self.value)
    }

    fn word(&self, field: &str) -> &str {
        self.value[field].as_str().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"{"schema":"fullpipe.result/1","id":"1-2","method":"flow","started":"2026-01-01T00:00:00Z","across":"lab ideal","verdict":{"status":"info"},"steps":[]}"#;

    fn refused(text: &str) -> String {
        Stored::read(text.to_owned()).unwrap_err().to_string()
    }

    #[test]
    fn a_result_is_read_and_keeps_its_bytes() {
        let stored = Stored::read(WHOLE.to_owned()).unwrap();
        assert_eq!(stored.text(), WHOLE);
        assert_eq!((stored.id(), stored.method()), ("1-2", "flow"));
        assert_eq!((stored.verdict(), stored.labels()), ("info", Labels::default()));
        assert!(stored.headline().is_none());
    }

    #[test]
    fn every_beginning_of_a_result_is_called_cut_off() {
        for end in 0..WHOLE.len() {
            assert!(refused(&WHOLE[..end]).starts_with("ends in the middle"), "{end}");
        }
    }

    #[test]
    fn what_is_no_result_is_told_by_what_it_is() {
        assert!(refused("<html>").contains("no result of fullpipe"));
        assert!(refused("{}").contains("no `schema`"));
        assert!(refused(&WHOLE.replace("fullpipe.result/1", "else/1")).contains("no `schema`"));
        assert!(refused(&WHOLE.replace("result/1", "run/1")).contains("`fullpipe.run/1`"));
        assert!(refused(&WHOLE.replace("result/1", "result/2")).contains("newer fullpipe"));
        assert!(refused(&WHOLE.replace("\"id\"", "\"di\"")).contains("no `id`"));
        assert!(refused(&WHOLE.replace("\"steps\":[]", "\"steps\":3")).contains("no `steps`"));
    }
}
