//! What stands for a run: the bucket as it was found, else as it was estimated, else the burst that came through.

use alloc::format;
use alloc::string::String;

use fp_model::figure::{Headline, Kind, Row, Unit};

use super::{CBS, DISCOVERY, POLICING};
use crate::definition::Found;

pub(super) fn headline(steps: &[Row]) -> Option<Headline> {
    let first = |kind: &Kind, field: &str, name: &str| {
        let bytes = kind.among(steps).find_map(|step| step.number(field))?.value;
        Some(Headline::new(name, bytes, Headline::BYTES))
    };
    first(&DISCOVERY.kind, "cbs_bytes", "CBS")
        .or_else(|| first(&POLICING.kind, "estimated_cbs_bytes", "CBS"))
        .or_else(|| first(&CBS.kind, "rx_burst_bytes_mean", "burst passed"))
}

pub(super) fn sentence(found: &Found<'_>) -> Option<String> {
    POLICING.kind.among(found.steps).next().and_then(figure)
}

/// The estimated CBS with its interval, beside the one that was sold.
pub(super) fn figure(step: &Row) -> Option<String> {
    if !POLICING.kind.is_of(step) {
        return None;
    }
    let bytes = |bytes: f64| Unit::Count.shown(bytes.max(0.0));
    let found = step.number("estimated_cbs_bytes")?;
    let sold = bytes(step.estimate("configured_burst_bytes")?);
    let ends = found.at_least.zip(found.at_most);
    let ends = ends.map(|(least, most)| format!(" ({} to {})", bytes(least), bytes(most)));
    Some(format!("CBS {} B{} for {sold} B sold", bytes(found.value), ends.unwrap_or_default()))
}
