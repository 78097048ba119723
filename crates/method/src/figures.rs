//! The kinds of steps that documents know by their columns.

use fp_model::figure::Kind;

use crate::burst::{CBS, DISCOVERY, LINE, POLICING, RATE};
use crate::flow::{FLOW, PROFILE};
use crate::path::{BASELINE_RTT, PATH_MTU};
use crate::rfc2544::{BACK_TO_BACK, FRAME_LOSS, LATENCY, LINE_RATE, RECOVERY, THROUGHPUT};
use crate::rfc6349::{BOTTLENECK, TCP};
use crate::stress::STRESS;
use crate::y1564::{CONFIGURATION, PERFORMANCE};

static KINDS: [&Kind; 20] = [
    &PATH_MTU.kind,
    &BASELINE_RTT.kind,
    &BOTTLENECK.kind,
    &TCP.kind,
    &FLOW.kind,
    &PROFILE.kind,
    &LINE_RATE.kind,
    &THROUGHPUT.kind,
    &LATENCY.kind,
    &FRAME_LOSS.kind,
    &BACK_TO_BACK.kind,
    &RECOVERY.kind,
    &CONFIGURATION.kind,
    &PERFORMANCE.kind,
    &LINE.kind,
    &RATE.kind,
    &STRESS.kind,
    &DISCOVERY.kind,
    &CBS.kind,
    &POLICING.kind,
];

/// All of them, in the order in which a document shows their steps.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().copied()
}

/// The kind of the steps that have this name in documents.
pub fn kind(name: &str) -> Option<&'static Kind> {
    kinds().find(|kind| kind.name == name)
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
        for field in kinds().flat_map(|kind| kind.main.iter().map(|field| kind.info(field).field)) {
            assert!(!field.is_empty());
        }
    }
}
