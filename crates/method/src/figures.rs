//! The kinds of steps that documents know by their columns.

use fp_model::figure::Kind;

use crate::burst::{CBS, DISCOVERY, LINE, POLICING, RATE};
use crate::flow::{FLOW, PROFILE};
use crate::path::{BASELINE_RTT, PATH_MTU};
use crate::rfc2544::{BACK_TO_BACK, FRAME_LOSS, LATENCY, LINE_RATE, RECOVERY, THROUGHPUT};
use crate::rfc6349::{BOTTLENECK, TCP};
use crate::rfc7640::{CAPACITY, POLICER, QUEUE, SCHEDULER, SHAPER};
use crate::stress::STRESS;
use crate::y1564::{CONFIGURATION, PERFORMANCE};

/// The kinds of each method by its name in documents, in the order in which a document shows their steps.
static METHODS: [(&str, &[&Kind]); 7] = [
    ("rfc6349", &[&PATH_MTU.kind, &BASELINE_RTT.kind, &BOTTLENECK.kind, &TCP.kind]),
    ("flow", &[&PATH_MTU.kind, &FLOW.kind, &PROFILE.kind]),
    (
        "rfc2544",
        &[
            &PATH_MTU.kind,
            &BASELINE_RTT.kind,
            &LINE_RATE.kind,
            &THROUGHPUT.kind,
            &LATENCY.kind,
            &FRAME_LOSS.kind,
            &BACK_TO_BACK.kind,
            &RECOVERY.kind,
        ],
    ),
    ("y1564", &[&BASELINE_RTT.kind, &CONFIGURATION.kind, &PERFORMANCE.kind]),
    (
        "burst",
        &[&PATH_MTU.kind, &LINE.kind, &RATE.kind, &DISCOVERY.kind, &CBS.kind, &POLICING.kind],
    ),
    (
        "rfc7640",
        &[
            &BASELINE_RTT.kind,
            &POLICER.kind,
            &QUEUE.kind,
            &SCHEDULER.kind,
            &SHAPER.kind,
            &CAPACITY.kind,
        ],
    ),
    ("stress", &[&STRESS.kind]),
];

/// The kinds of the steps of a method; none of one that is not known.
pub fn of_method(name: &str) -> &'static [&'static Kind] {
    let method = METHODS.iter().find(|(method, _)| *method == name);
    method.map_or(&[], |(_, kinds)| kinds)
}

/// One of several methods comes again with each.
fn all() -> impl Iterator<Item = &'static Kind> {
    METHODS.iter().flat_map(|(_, kinds)| kinds.iter().copied())
}

/// All of them, each once.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    let is_first =
        |place: usize, kind: &Kind| all().position(|other| other.name == kind.name) == Some(place);
    all().enumerate().filter(move |(place, kind)| is_first(*place, kind)).map(|(_, kind)| kind)
}

/// The kind of the steps that have this name in documents.
pub fn kind(name: &str) -> Option<&'static Kind> {
    all().find(|kind| kind.name == name)
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec::Vec;

    use fp_model::figure::{Shown, Unit};

    use super::*;

    #[test]
    fn a_field_has_its_unit_among_its_words() {
        for info in kinds().flat_map(|kind| kind.columns) {
            let unit = match info.unit {
                Unit::Rate | Unit::RateOfLayer => "bps",
                Unit::Bytes | Unit::Amount => "bytes",
                Unit::Seconds => "s",
                Unit::Milliseconds => "ms",
                Unit::Microseconds => "us",
                Unit::PerSecond => "fps",
                Unit::Percent(_) | Unit::Difference(_) => "percent",
                Unit::Share(_)
                | Unit::Number(_)
                | Unit::Count
                | Unit::Word
                | Unit::Flag
                | Unit::Part(_)
                | Unit::Parts(_)
                | Unit::Series(_) => "",
            };
            let is_said = unit.is_empty() || info.field.split('_').any(|word| word == unit);
            assert!(is_said, "{} does not say {unit}", info.field);
        }
    }

    #[test]
    fn tables_show_fields_of_their_kind_or_of_rows_inside_of_it() {
        for kind in kinds() {
            let fields: Vec<String> = kind.fields().collect();
            for shown in kind.tables.iter().flat_map(|table| table.columns) {
                if let Shown::Field(field) | Shown::As(field, _) = shown {
                    let is_it = |path: &String| path.rsplit('.').next() == Some(*field);
                    assert!(fields.iter().any(is_it), "{field} of {}", kind.name);
                }
            }
        }
    }

    #[test]
    fn the_field_that_stands_for_a_step_is_a_column_of_it() {
        for (kind, field) in
            kinds().flat_map(|kind| kind.main.iter().map(move |field| (kind, field)))
        {
            let is_column = kind.columns.iter().any(|info| info.field == *field);
            assert!(is_column, "{field} of {}", kind.name);
        }
    }
}
