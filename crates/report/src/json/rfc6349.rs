//! The steps of an RFC 6349 run in JSON.

use fp_method::rfc6349::Step;
use serde_json::{Value, json};

use super::sample;

pub(super) fn step(step: &Step) -> Value {
    let mut fields = json!(step.row());
    if let Step::Tcp(tcp) = step {
        fields["series"] = tcp.series.iter().map(sample).collect();
    }
    fields
}
