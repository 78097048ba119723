//! A result document read back: from the history, from a file, from another machine.

pub(crate) mod fields;

use fp_method::methods::Method;
use fp_model::figure::Headline;
use serde_json::Value;

use crate::{Labels, read};

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

    /// The one figure that stands for the run; `None` where it found no such figure.
    pub fn headline(&self) -> Option<Headline> {
        headline(&self.value)
    }

    fn word(&self, field: &str) -> &str {
        self.value[field].as_str().unwrap_or_default()
    }
}

fn headline(result: &Value) -> Option<Headline> {
    let method = Method::named(result["method"].as_str()?)?;
    (method.headline)(&read::rows(result))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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

    #[test]
    fn a_test_of_tcp_stands_for_its_first_direction_alone() {
        let tcp = |role: &str, direction: &str, bps: u64| json!({"name": "tcp", "role": role, "direction": direction, "throughput_bps": bps});
        let steps = [
            tcp("walk", "download", 1),
            tcp("throughput", "bidirectional", 2),
            tcp("throughput", "download", 37_100_000),
            tcp("throughput", "upload", 4),
        ];
        let found = headline(&json!({"method": "rfc6349", "steps": steps})).unwrap();
        assert_eq!(found.shown(), "37.10 Mbit/s");
        assert_eq!(found.name, "TCP throughput (l4), download");
    }

    #[test]
    fn the_name_of_a_rate_names_its_layer() {
        let name = |method: &str, step: Value| {
            headline(&json!({"method": method, "steps": [step]})).unwrap().name
        };
        let mut flow = json!({"name": "flow", "direction": "upload", "rate_bps": 1});
        assert_eq!(name("flow", flow.clone()), "payload (l4), upload", "of both transports");
        flow["transport"] = "udp".into();
        assert_eq!(name("flow", flow), "UDP payload (l4), upload");
        let frames = json!({"name": "rfc2544_throughput", "frame_bytes": 1518, "rate_l2_bps": 1});
        assert_eq!(name("rfc2544", frames), "throughput (l2) of 1518 bytes");
        let service = json!({"name": "y1564_performance", "ir_bps": 1});
        assert_eq!(name("y1564", service), "information rate (l2)");
        assert_eq!(
            name("rfc7640", json!({"name": "rfc7640_shaper", "sr_l2_bps": 1})),
            "shaper rate (l2)"
        );
    }

    #[test]
    fn a_run_that_found_nothing_has_no_figure() {
        let methods =
            ["rfc6349", "flow", "rfc2544", "y1564", "burst", "rfc7640", "stress", "later"];
        for method in methods {
            assert_eq!(headline(&json!({"method": method, "steps": [{"name": "path_mtu"}]})), None);
        }
    }

    #[test]
    fn a_load_of_connections_stands_for_how_many_there_were() {
        let steps = [json!({"name": "stress", "connections_peak": 65_536})];
        let found = headline(&json!({"method": "stress", "steps": steps})).unwrap();
        assert_eq!(found.shown(), "65,536 connections");
        assert_eq!(found.name, "open at once");
    }

    #[test]
    fn a_bucket_that_was_found_counts_more_than_a_burst_that_passed() {
        let steps = [
            json!({"name": "cbs", "rx_burst_bytes_mean": 64_000.0}),
            json!({"name": "policing", "estimated_cbs_bytes": 64_123.4}),
        ];
        let found =
            |steps: &[Value]| headline(&json!({"method": "burst", "steps": steps})).unwrap();
        assert_eq!(found(&steps).shown(), "64,123 B");
        assert_eq!(found(&steps[..1]).name, "burst passed");
    }
}
