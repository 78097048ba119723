//! A burst test on a certificate: the tables of the CBS and the policing test, what was discovered.

use fp_method::signed;

use super::{known, named, status, table};
use crate::chart::buckets;
use crate::document::{Block, Cell, Fact, Table, columns};
use crate::stored::fields::Fields;
use crate::text::{self, carried, grouped, unknown};

pub(super) fn blocks(steps: &[Fields<'_>], plan: Fields<'_>) -> Vec<Block> {
    let mut blocks = Vec::new();
    let found = named(steps, "discovery");
    for step in &found {
        blocks.push(Block::Facts(discovered(*step)));
    }
    let cbs = named(steps, "cbs");
    let policing = named(steps, "policing");
    for direction in ["download", "upload"] {
        blocks.extend(table(cbs_table(&towards(&cbs, direction), direction)));
        blocks.extend(table(policing_table(&towards(&policing, direction), direction)));
    }
    let rates = named(steps, "rate");
    if !rates.is_empty() {
        blocks.push(Block::Facts(rates.into_iter().map(refill).collect()));
    }
    let figures = buckets::figures(&policing, plan.number("tolerance_percent"));
    if !figures.is_empty() {
        blocks.push(Block::Figures(figures));
    }
    blocks
}

fn towards<'a>(steps: &[Fields<'a>], direction: &str) -> Vec<Fields<'a>> {
    steps.iter().copied().filter(|step| step.word("flow_direction") == direction).collect()
}

fn kilobytes(step: Fields<'_>, field: &str) -> String {
    step.number(field).map_or_else(unknown, |bytes| format!("{:.3}", bytes / 1e3))
}

fn megabits(step: Fields<'_>, field: &str) -> String {
    step.number(field).map_or_else(unknown, |bps| format!("{:.3}", bps / 1e6))
}

fn both(steps: &[Fields<'_>]) -> &'static str {
    let is_both = steps.first().is_some_and(|step| step.word("direction") == "bidirectional");
    if is_both { ", both directions loaded" } else { "" }
}

fn cbs_table(steps: &[Fields<'_>], direction: &str) -> Table {
    let row = |step: &Fields<'_>| {
        let mut cells = vec![status(*step, "?")];
        let texts = [
            step.grouped("frame_bytes"),
            megabits(*step, "cir_bps"),
            step.grouped("configured_burst_bytes"),
            kilobytes(*step, "tx_burst_bytes"),
            kilobytes(*step, "rx_burst_bytes_mean"),
            step.grouped("frames_sent"),
            step.grouped("frames_received"),
            step.grouped("frames_lost"),
            step.grouped("bursts"),
        ];
        cells.extend(texts.map(Cell::new));
        cells
    };
    Table {
        caption: format!("CBS test, {direction}{}", both(steps)),
        columns: columns(&[
            "outcome",
            ">frame (bytes)",
            ">CIR (Mbit/s)",
            ">CBS (bytes)",
            ">burst sent (kB)",
            ">mean received (kB)",
            ">frames sent",
            ">received",
            ">lost",
            ">bursts",
        ]),
        rows: steps.iter().map(row).collect(),
        note: Some(String::from(
            "Bursts of the committed burst size, as often as the CIR allows: none may lose a frame. \
             Bytes of layer 2 with FCS, 1 kB is 1000 bytes.",
        )),
    }
}

fn policing_table(steps: &[Fields<'_>], direction: &str) -> Table {
    let row = |step: &Fields<'_>| {
        let mut cells = vec![status(*step, "?")];
        let deviation = step.number("deviation_percent");
        let texts = [
            step.grouped("frame_bytes"),
            step.grouped("configured_burst_bytes"),
            kilobytes(*step, "tx_burst_bytes"),
            kilobytes(*step, "rx_burst_bytes_mean"),
            step.grouped("estimated_cbs_bytes"),
            deviation.map_or_else(unknown, |percent| format!("{} %", signed(percent, 2))),
            interval(*step, "estimated_cbs_bytes"),
            step.grouped("bursts"),
        ];
        cells.extend(texts.map(Cell::new));
        cells
    };
    Table {
        caption: format!("Policing test, {direction}{}", both(steps)),
        columns: columns(&[
            "outcome",
            ">frame (bytes)",
            ">CBS (bytes)",
            ">burst sent (kB)",
            ">mean received (kB)",
            ">estimated CBS (bytes)",
            ">deviation",
            ">interval (bytes)",
            ">bursts",
        ]),
        rows: steps.iter().map(row).collect(),
        note: Some(String::from(
            "Bursts of about twice the CBS: what came through says how deep the bucket is. The \
             bucket is within the interval.",
        )),
    }
}

/// The bounds around an estimate.
pub(super) fn interval(step: Fields<'_>, field: &str) -> String {
    let bound = |ending: &str| step.number(&format!("{field}_{ending}"));
    match (bound("at_least"), bound("at_most")) {
        (Some(least), Some(most)) => {
            let [least, most] = [least, most].map(|bytes| grouped(bytes.max(0.0).round() as u64));
            format!("{least} … {most}")
        }
        _ => unknown(),
    }
}

fn refill(step: Fields<'_>) -> Fact {
    let waits = step.number("waited_ms").is_some();
    let is_known = step.flag("pass").is_some() || !step.word("excess").is_empty();
    let what = match (waits, is_known) {
        (true, _) => "Shaper passes",
        (false, true) => "Policer passes",
        (false, false) => "Passes",
    };
    let name = format!("{what}, {}", step.word("flow_direction"));
    let waited = match waits {
        true => format!("; what exceeds it waits up to {}", step.milliseconds("waited_ms")),
        false => String::new(),
    };
    let text = match (step.number("measured_cir_bps"), step.number("deviation_percent")) {
        (Some(_), Some(deviation)) => format!(
            "{} ({}), {} % from the CIR{waited}",
            step.rate("measured_cir_bps"),
            step.word("cir_layer"),
            signed(deviation, 2)
        ),
        _ if is_known => String::from("nothing was dropped"),
        _ => String::from("what limits, if anything does, is not known"),
    };
    Fact { name, text }
}

fn discovered(step: Fields<'_>) -> Vec<Fact> {
    let direction = step.word("direction");
    let rates = |field: &str| {
        let bound = |ending: &str| step.rate(&format!("{field}_{ending}"));
        format!("{} ({} … {})", step.rate(field), bound("at_least"), bound("at_most"))
    };
    let bytes = |field: &str| format!("{} bytes ({})", step.grouped(field), interval(step, field));
    let lost = || {
        let percent = step.number("loss_percent").unwrap_or_default();
        text::lost(percent, step.bounds("loss_percent"), step.number("loss_counted_frames"))
    };
    let facts = match step.word("found") {
        "no_policer" => known([
            ("Found", Some(String::from("no policer"))),
            (
                "Passed at line rate",
                Some(format!("{} bytes, {}", step.grouped("sent_bytes"), lost())),
            ),
        ]),
        "policer" => known([
            ("Found", Some(String::from("a policer"))),
            ("CIR", Some(rates("cir_bps"))),
            ("CBS", Some(bytes("cbs_bytes"))),
            ("Excess bucket", Some(excess(step))),
        ]),
        "unknown" => known([
            ("Found", Some(String::from("a limit, of which kind is not known"))),
            ("Rate", Some(rates("rate_bps"))),
        ]),
        _ => known([
            ("Found", Some(String::from("a shaper or a line"))),
            ("Rate", Some(rates("rate_bps"))),
            ("Bucket", Some(bytes("bucket_bytes"))),
            (
                "Queue",
                Some(format!(
                    "frames waited up to {}, {} were lost{}",
                    step.milliseconds("delay_ms"),
                    step.decimals("loss_percent", 2, "%"),
                    carried(step.number("carried_bytes").map(|bytes| bytes as u64))
                )),
            ),
        ]),
    };
    let mut all: Vec<Fact> = facts
        .into_iter()
        .map(|fact| Fact { name: format!("{}, {direction}", fact.name), text: fact.text })
        .collect();
    let found_by =
        format!("{} trials, {} of sending", step.grouped("trials"), step.seconds("sending_s"));
    all.push(Fact { name: format!("Found by, {direction}"), text: found_by });
    all
}

fn excess(step: Fields<'_>) -> String {
    let bucket = step.inside("excess");
    if bucket.0.is_object() {
        return format!(
            "EIR {}, EBS {} bytes",
            bucket.rate("eir_bps"),
            bucket.grouped("ebs_bytes")
        );
    }
    match step.number("excess_shown_from_cbs_bytes") {
        Some(_) => format!(
            "none; would have shown behind a CBS above {} bytes",
            step.grouped("excess_shown_from_cbs_bytes")
        ),
        None => crate::text::NOT_EXCLUDED.to_owned(),
    }
}
