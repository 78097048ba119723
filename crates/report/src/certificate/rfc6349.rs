//! An RFC 6349 run on a certificate: the window walk, the throughput trials, their course.

use super::{capital, named, of_steps, table};
use crate::chart::{HALF, course, walk};
use crate::document::{Block, Cell, Figure, Table, Tone, columns};
use crate::stored::fields::Fields;
use fp_model::Rate;

pub(super) fn blocks(steps: &[Fields<'_>]) -> Vec<Block> {
    let tcp = named(steps, "tcp");
    let role = |role: &str| -> Vec<Fields<'_>> {
        tcp.iter().copied().filter(|step| step.word("role") == role).collect()
    };
    let (walked, trials) = (role("walk"), role("throughput"));
    let mut blocks = Vec::new();
    blocks.extend(table(window_walk(&walked)));
    let bars: Vec<Figure> = ["download", "upload"]
        .into_iter()
        .filter_map(|direction| {
            let of = |step: &&Fields<'_>| step.word("flow_direction") == direction;
            walk::figure(direction, &walked.iter().filter(of).copied().collect::<Vec<_>>())
        })
        .collect();
    if !bars.is_empty() {
        blocks.push(Block::Figures(bars));
    }
    blocks.extend(of_steps(&trials, throughput));
    let baseline_us = named(steps, "baseline_rtt")
        .first()
        .and_then(|step| step.number("rtt_min_ms"))
        .map(|milliseconds| milliseconds * 1e3);
    let figures: Vec<Figure> = trials
        .iter()
        .filter_map(|step| {
            let asked = course::Asked { ideal_bps: step.number("ideal_bps"), baseline_us };
            course::figure(&name(*step), *step, &asked, HALF)
        })
        .collect();
    if !figures.is_empty() {
        blocks.push(Block::Figures(figures));
    }
    blocks
}

/// A trial in a few words.
fn name(step: Fields<'_>) -> String {
    let both =
        if step.word("direction") == "bidirectional" { ", both directions loaded" } else { "" };
    format!("{}{both}, {} sender", capital(step.word("flow_direction")), step.word("sender"))
}

/// Throughput as a share of the ideal.
fn share(step: Fields<'_>) -> String {
    share_of(step.number("throughput_bps"), step.number("ideal_bps"))
}

fn share_of(throughput: Option<f64>, ideal: Option<f64>) -> String {
    match (throughput, ideal) {
        (Some(throughput), Some(ideal)) => format!("{:.1} %", 100.0 * throughput / ideal.max(1.0)),
        _ => crate::text::unknown(),
    }
}

/// What the windows of a step of the walk allow; an older result has it as the ideal.
fn possible(step: Fields<'_>) -> Option<f64> {
    step.number("ideal_windows_bps").or(step.number("ideal_bps"))
}

fn rate(bps: Option<f64>) -> String {
    bps.map_or_else(crate::text::unknown, |bps| crate::text::rate(Rate::bps(bps.max(0.0) as u64)))
}

fn window_walk(steps: &[Fields<'_>]) -> Table {
    let row = |step: &Fields<'_>| {
        let fraction =
            step.number("window_fraction").map(|fraction| format!("{:.0} %", 100.0 * fraction));
        let cells = [
            step.word("flow_direction").to_owned(),
            fraction.unwrap_or_else(crate::text::unknown),
            step.grouped("connections"),
            step.grouped("window_bytes"),
            step.rate("throughput_bps"),
            rate(possible(*step)),
            share_of(step.number("throughput_bps"), possible(*step)),
        ];
        cells.map(Cell::new).to_vec()
    };
    Table {
        caption: String::from("Window walk"),
        columns: columns(&[
            "direction",
            ">of the path's window",
            ">connections",
            ">window (bytes)",
            ">throughput (l4)",
            ">ideal",
            ">share",
        ]),
        rows: steps.iter().map(row).collect(),
        note: Some(String::from(
            "Connections whose windows together are a quarter, half, three quarters and all of what \
             fills the path. Less than the ideal at a small window points at loss or delay.",
        )),
    }
}

/// In percent of a result from before it was kept in milliseconds.
fn buffer_delay(step: Fields<'_>) -> String {
    if step.number("buffer_delay_ms").is_none() {
        return step.decimals("buffer_delay_percent", 1, "%");
    }
    let grade = step.word("buffer_delay_grade");
    format!("{} {grade}", step.milliseconds("buffer_delay_ms")).trim_end().to_owned()
}

fn throughput(steps: &[Fields<'_>]) -> Table {
    let row = |step: &Fields<'_>| {
        let connections =
            format!("{} × {}", step.grouped("connections"), step.grouped("window_bytes"));
        let direction = match step.word("direction") {
            "bidirectional" => format!("both: {}", step.word("flow_direction")),
            direction => direction.to_owned(),
        };
        let cells = [
            direction,
            step.word("sender").to_owned(),
            step.word("congestion_control").to_owned(),
            connections,
            step.rate_within("throughput_bps"),
            step.rate("ideal_bps"),
            share(*step),
            step.decimals("transfer_time_ratio", 3, ""),
            step.decimals("efficiency_percent", 2, "%"),
            buffer_delay(*step),
            step.milliseconds("rtt_mean_ms"),
        ];
        cells.map(|text| Cell::toned(text, Tone::Neutral)).to_vec()
    };
    Table {
        caption: String::from("TCP throughput"),
        columns: columns(&[
            "direction",
            "sender",
            "control",
            ">connections × window",
            ">throughput (l4)",
            ">ideal",
            ">share",
            ">TTR",
            ">efficiency",
            ">buffer delay",
            ">RTT",
        ]),
        rows: steps.iter().map(row).collect(),
        note: Some(String::from(
            "TTR: transfer time ratio, how much longer than ideal. Efficiency: what share of the \
             bytes was not retransmitted. Buffer delay: how much the RTT grew under load, with the grade \
             of that from A+ (below 5 ms) to F (400 ms and more) where the windows fill the path. A bulk sender \
             always has more to send; a burst sender writes a window when the one before is \
             acknowledged.",
        )),
    }
}
