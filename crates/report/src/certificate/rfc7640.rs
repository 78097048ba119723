//! An RFC 7640 run on a certificate: a table for each kind of device, bursts first, then TCP.

use super::table;
use crate::document::{Block, Cell, Fact, Table, columns};
use crate::stored::fields::Fields;
use crate::text::{grouped, unknown};

pub(super) fn blocks(steps: &[Fields<'_>]) -> Vec<Block> {
    let mut blocks = Vec::new();
    for step in steps.iter().filter(|step| step.word("name").starts_with("rfc7640_")) {
        let title = format!("{}, {}", device(step.word("name")), step.word("direction"));
        let facts = facts(*step);
        if !facts.is_empty() {
            blocks.push(Block::Facts(facts));
        }
        blocks.extend(table(bursts(&title, *step)));
        blocks.extend(table(patterns(&title, *step)));
    }
    blocks
}

fn device(name: &str) -> String {
    let device = name.trim_start_matches("rfc7640_");
    device.get(..1).unwrap_or_default().to_uppercase() + device.get(1..).unwrap_or_default()
}

/// What was configured and the figures that stand for the device.
fn facts(step: Fields<'_>) -> Vec<Fact> {
    let bytes = |field: &str| step.number(field).map(|_| format!("{} bytes", step.grouped(field)));
    let rate = |field: &str| step.number(field).map(|_| format!("{} l2", step.rate(field)));
    let bsa = bytes("bsa_bytes").map(|text| {
        let is_limit = step.inside("hunt").flag("is_limit") == Some(true);
        if is_limit { text } else { format!("at least {text}") }
    });
    let train = step.number("sbi_us").map(|_| {
        format!("{} bytes each {}", step.grouped("sbb_bytes"), step.microseconds("sbi_us"))
    });
    let within = |text: Option<String>, field: &str| {
        text.map(|text| format!("{text} ({})", interval(step, field)))
    };
    let where_ = format!("{}, {}", device(step.word("name")), step.word("direction"));
    let mut facts = super::known([
        ("CIR", rate("cir_l2_bps")),
        ("CBS", bytes("cbs_bytes")),
        ("Queue", bytes("queue_bytes")),
        ("Bottleneck bandwidth", rate("bandwidth_l2_bps")),
        ("Shaper rate, configured", rate("rate_l2_bps")),
        ("Burst size achieved (BSA)", bsa),
        ("Rate of the policer", within(rate("rate_estimate_l2_bps"), "rate_estimate_l2_bps")),
        ("Bucket", within(bytes("depth_estimate_bytes"), "depth_estimate_bytes")),
        ("Shaper rate (SR)", rate("sr_l2_bps")),
        ("Shaper bursts (SBB, SBI)", train),
        ("Shaper bucket", bytes("bucket_estimate_bytes")),
    ]);
    if !facts.is_empty() {
        facts.insert(0, Fact::new("Device", where_));
    }
    facts
}

fn bursts(title: &str, step: Fields<'_>) -> Table {
    let mut rows = Vec::new();
    let mut add = |name: &str, seen: Fields<'_>| {
        if seen.0.is_object() {
            rows.push(stateless(name, seen));
        }
    };
    add("compliant", step.inside("compliant"));
    add("in excess", step.inside("excess"));
    add("bursts", step.inside("stateless"));
    for class in step.each("classes") {
        let name = format!("DSCP {}", class.grouped("dscp"));
        add(&name, class.inside("stateless"));
        add(&name, class.inside("compliant"));
        add(&format!("{name}, in excess"), class.inside("excess"));
    }
    Table {
        caption: format!("{title}: bursts"),
        columns: columns(&[
            "load",
            ">burst (bytes)",
            ">interval",
            ">bursts",
            ">whole",
            ">frames sent",
            ">lost",
            ">out of order",
            ">delay min",
            ">mean",
            ">PDV 99 %",
        ]),
        rows,
        note: None,
    }
}

fn stateless(name: &str, seen: Fields<'_>) -> Vec<Cell> {
    let cells = [
        name.to_owned(),
        seen.grouped("burst_bytes"),
        seen.milliseconds("interval_ms"),
        seen.grouped("bursts"),
        seen.grouped("whole_bursts"),
        seen.grouped("frames_sent"),
        seen.grouped("lost_frames"),
        seen.grouped("out_of_order_frames"),
        seen.milliseconds("delay_min_ms"),
        seen.milliseconds("delay_mean_ms"),
        seen.milliseconds("delay_variation_p99_ms"),
    ];
    cells.map(Cell::new).to_vec()
}

fn patterns(title: &str, step: Fields<'_>) -> Table {
    let row = |seen: Fields<'_>| {
        let connections =
            format!("{} × {}", seen.grouped("connections"), seen.grouped("window_bytes"));
        let name = match seen.word("pattern") {
            "" => unknown(),
            name => name.to_owned(),
        };
        let cells = [
            name,
            seen.grouped("dscp"),
            connections,
            seen.decimals("window_factor", 2, ""),
            seen.grouped("burst_bytes"),
            seen.milliseconds("ttpet_mean_ms"),
            seen.milliseconds("ttpet_min_ms"),
            seen.milliseconds("ttpet_max_ms"),
            seen.milliseconds("ttpet_ideal_ms"),
            seen.decimals("efficiency_percent", 2, "%"),
            seen.decimals("buffer_delay_percent", 1, "%"),
        ];
        cells.map(Cell::new).to_vec()
    };
    Table {
        caption: format!("{title}: TCP patterns"),
        columns: columns(&[
            "pattern",
            ">DSCP",
            ">connections × window",
            ">× BDP",
            ">bytes each",
            ">TTPET mean",
            ">min",
            ">max",
            ">ideal",
            ">efficiency",
            ">buffer delay",
        ]),
        rows: step.each("stateful").map(row).collect(),
        note: Some(String::from("TTPET: the time that a TCP pattern took to end.")),
    }
}

/// The bounds around an estimate.
fn interval(step: Fields<'_>, field: &str) -> String {
    let bound = |ending: &str| step.number(&format!("{field}_{ending}"));
    match (bound("at_least"), bound("at_most")) {
        (Some(least), Some(most)) => {
            let [least, most] = [least, most].map(|bytes| grouped(bytes.max(0.0).round() as u64));
            format!("{least} … {most}")
        }
        _ => unknown(),
    }
}
