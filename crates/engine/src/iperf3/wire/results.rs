//! The results that the two ends tell each other when a test is over.

use serde::{Deserialize, Serialize};

use super::{STREAMS_MAX, whole, whole_if_there};

/// What one end saw, as it goes over the wire.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Percent of one processor.
    pub cpu_util_total: f64,
    pub cpu_util_user: f64,
    pub cpu_util_system: f64,
    /// 1 or 0 of an end that sends, -1 of one that only receives.
    #[serde(deserialize_with = "whole")]
    pub sender_has_retransmits: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_used: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_output_text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_output_json: Option<serde_json::Value>,
    pub streams: Vec<StreamResult>,
}

/// One stream as one end saw it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamResult {
    #[serde(deserialize_with = "whole")]
    pub id: i64,
    /// Payload after the omitted time.
    #[serde(deserialize_with = "whole")]
    pub bytes: i64,
    /// Segments; -1 where they are not known.
    #[serde(deserialize_with = "whole")]
    pub retransmits: i64,
    /// Seconds.
    pub jitter: f64,
    /// Datagrams lost, those of the omitted time included.
    #[serde(deserialize_with = "whole")]
    pub errors: i64,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole_if_there")]
    pub omitted_errors: Option<i64>,
    /// Datagrams sent, or the highest number received; those of the omitted time included.
    #[serde(deserialize_with = "whole")]
    pub packets: i64,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole_if_there")]
    pub omitted_packets: Option<i64>,
    /// Seconds from the end of the omitted time.
    #[serde(default)]
    pub start_time: f64,
    #[serde(default)]
    pub end_time: f64,
}

/// What is wrong with results.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    #[error("they are not in the form of iperf3: {0}")]
    Form(#[from] serde_json::Error),
    #[error("they have {0} streams")]
    Streams(usize),
    #[error("their stream {id} has {figure}")]
    Figure { id: i64, figure: &'static str },
}

impl Results {
    /// A client reads no more than this, with whatever a server says of itself.
    pub const OF_SERVER_BYTES_MAX: usize = 4 << 20;
    /// Twice 128 streams at less than 500 bytes each.
    pub const OF_CLIENT_BYTES_MAX: usize = 128 << 10;

    /// # Errors
    /// What no end can have counted.
    pub fn read(json: &[u8]) -> Result<Self, ResultsError> {
        let results: Self = serde_json::from_slice(json)?;
        if results.streams.len() > 2 * STREAMS_MAX as usize {
            return Err(ResultsError::Streams(results.streams.len()));
        }
        for stream in &results.streams {
            if let Some(figure) = stream.impossible_figure() {
                return Err(ResultsError::Figure { id: stream.id, figure });
            }
        }
        Ok(results)
    }

    pub fn stream(&self, id: u32) -> Option<&StreamResult> {
        self.streams.iter().find(|stream| stream.id == i64::from(id))
    }
}

impl StreamResult {
    fn impossible_figure(&self) -> Option<&'static str> {
        let omitted = self.omitted_packets.unwrap_or(0);
        if self.bytes < 0 {
            Some("less than no bytes")
        } else if self.packets < 0 || !(0..=self.packets).contains(&omitted) {
            Some("less than no packets")
        } else if !(self.jitter.is_finite() && self.jitter >= 0.0) {
            Some("a jitter that is none")
        } else if !(self.end_time.is_finite() && self.start_time.is_finite()) {
            Some("no end in time")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn results_of_3_12_are_read() {
        // As a packaged server of that version sent them.
        let json = br#"{"cpu_util_total":12.5,"cpu_util_user":1,"cpu_util_system":11.5,
            "sender_has_retransmits":-1,"congestion_used":"cubic","streams":[{"id":1,
            "bytes":1310720,"retransmits":18446744073709551615,"jitter":0,"errors":0,"packets":0,"start_time":0,
            "end_time":1.000123}]}"#;
        let results = Results::read(json).unwrap();
        let stream = results.stream(1).unwrap();
        assert_eq!((stream.bytes, stream.omitted_packets), (1_310_720, None));
        assert_eq!(stream.retransmits, -1);
        assert_eq!(results.stream(2), None);
    }

    #[test]
    fn a_number_of_the_wrong_kind_is_refused_and_not_guessed() {
        let with = |stream: &str| {
            let head = r#"{"cpu_util_total":0,"cpu_util_user":0,"cpu_util_system":0,
                "sender_has_retransmits":0,"streams":[{"id":1,"retransmits":0,"errors":0,"#;
            Results::read(format!("{head}{stream}}}]}}").as_bytes())
        };
        assert!(with(r#""bytes":1e3,"packets":0,"jitter":0"#).is_ok());
        for wrong in [
            r#""bytes":"9","packets":0,"jitter":0"#,
            r#""bytes":-1,"packets":0,"jitter":0"#,
            r#""bytes":1e300,"packets":0,"jitter":0"#,
            r#""bytes":1,"packets":5,"omitted_packets":6,"jitter":0"#,
            r#""bytes":1,"packets":0,"jitter":-0.5"#,
            r#""bytes":1,"packets":0"#,
        ] {
            assert!(with(wrong).is_err(), "{wrong}");
        }
    }

    prop_compose! {
        fn any_stream()(
            id in 1..260_i64, bytes in 0..i64::MAX, retransmits in -1..i64::MAX,
            jitter in 0.0..1e6_f64, errors: i64, packets in 0..i64::MAX,
            omitted in prop::option::of(0.0..=1.0_f64), end_time in 0.0..1e6_f64,
        ) -> StreamResult {
            StreamResult {
                id, bytes, retransmits, jitter, errors, packets, end_time, start_time: 0.0,
                omitted_errors: omitted.map(|_| 0),
                omitted_packets: omitted.map(|share| (packets as f64 * share * 0.99) as i64),
            }
        }
    }

    proptest! {
        #[test]
        fn results_come_back_as_they_went(
            streams in prop::collection::vec(any_stream(), 0..9),
            cpu_util_total in 0.0..100.0_f64,
            server_output_text in prop::option::of(".{0,99}"),
        ) {
            let results = Results {
                cpu_util_total, server_output_text, streams, ..Results::default()
            };
            let json = serde_json::to_vec(&results).unwrap();
            prop_assert_eq!(Results::read(&json).unwrap(), results);
        }

        #[test]
        fn garbage_gives_an_error_and_no_panic(json in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(Results::read(&json).is_err());
        }

        #[test]
        fn damaged_results_give_an_error_or_results_that_can_be(
            stream in any_stream(), at in 0..200_usize, byte: u8,
        ) {
            let results = Results { streams: vec![stream], ..Results::default() };
            let mut json = serde_json::to_vec(&results).unwrap();
            let at = at % json.len();
            json[at] = byte;
            if let Ok(results) = Results::read(&json) {
                prop_assert!(results.streams.iter().all(|s| s.bytes >= 0 && s.jitter >= 0.0));
            }
        }
    }
}
