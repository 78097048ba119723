//! Bursts without connections.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::RttSummary;
use fp_model::figure::{Cell, Column, Info, Part, Row, Shown, Table, Unit, and, infos};

use super::title;

/// Bursts of one size and what became of them: the stateless metrics of section 4.1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stateless {
    /// Size of a burst in whole frames of layer 2.
    pub burst_bytes: u64,
    /// Ti, from the start of a burst to the start of the next.
    pub interval: Duration,
    pub runs: u32,
    /// Bursts of all runs; the counts below are of all runs, too.
    pub bursts: u64,
    /// Bursts received without loss.
    pub whole_bursts: u64,
    pub sent_frames: u64,
    pub received_frames: u64,
    pub received_bytes: u64,
    /// LP: frames not received before the loss time-out.
    pub lost_frames: u64,
    /// OOS: frames received out of sequence.
    pub out_of_order_frames: u64,
    pub duplicate_frames: u64,
    pub corrupt_frames: u64,
    /// PD: one-way packet delay.
    pub delay: Option<RttSummary>,
    /// PDV: the 99th percentile of the packet delay less its minimum.
    pub delay_variation_p99: Option<Duration>,
    /// Time after the last burst was due until which a frame counts as received.
    pub loss_timeout: Duration,
    /// Trials that were run again since the tester disturbed them.
    pub repeated_trials: u32,
    /// Trials that the tester disturbed in every repetition.
    pub spoilt_trials: u32,
}

impl Stateless {
    pub fn received_burst_bytes_mean(&self) -> u64 {
        self.received_bytes.checked_div(self.bursts).unwrap_or_default()
    }

    pub const fn is_lossless(&self) -> bool {
        self.lost_frames == 0 && self.sent_frames > 0
    }
}

pub(super) static INFOS: &[Info] = &infos(COLUMNS);

//= rfc7640 4.1
const COLUMNS: &[Column<Stateless>; 20] = &[
    Info::new("burst_bytes", "burst", Unit::Bytes).of(|seen| seen.burst_bytes.into()),
    Info::new("interval_ms", "interval", Unit::Milliseconds).of(|seen| Cell::ms(seen.interval)),
    Info::new("runs", "runs", Unit::Count).of(|seen| seen.runs.into()),
    Info::new("bursts", "bursts", Unit::Count).of(|seen| seen.bursts.into()),
    Info::new("whole_bursts", "whole", Unit::Count).of(|seen| seen.whole_bursts.into()),
    Info::new("rx_burst_bytes_mean", "mean burst received", Unit::Bytes)
        .of(|seen| seen.received_burst_bytes_mean().into()),
    Info::new("frames_sent", "frames sent", Unit::Count).of(|seen| seen.sent_frames.into()),
    Info::new("frames_received", "received", Unit::Count).of(|seen| seen.received_frames.into()),
    Info::new("lost_frames", "lost", Unit::Count).of(|seen| seen.lost_frames.into()),
    Info::new("out_of_order_frames", "out of order", Unit::Count)
        .of(|seen| seen.out_of_order_frames.into()),
    Info::new("duplicate_frames", "duplicates", Unit::Count)
        .of(|seen| seen.duplicate_frames.into()),
    Info::new("corrupt_frames", "corrupt", Unit::Count).of(|seen| seen.corrupt_frames.into()),
    Info::new("delay_min_ms", "delay min", Unit::Milliseconds)
        .of(|seen| seen.delay.map(|delay| Cell::ms(delay.min)).into()),
    Info::new("delay_mean_ms", "mean", Unit::Milliseconds)
        .of(|seen| seen.delay.map(|delay| Cell::ms(delay.mean)).into()),
    Info::new("delay_p99_ms", "99 %", Unit::Milliseconds)
        .of(|seen| seen.delay.map(|delay| Cell::ms(delay.p99)).into()),
    Info::new("delay_max_ms", "max", Unit::Milliseconds)
        .of(|seen| seen.delay.map(|delay| Cell::ms(delay.max)).into()),
    Info::new("delay_variation_p99_ms", "PDV 99 %", Unit::Milliseconds)
        .of(|seen| seen.delay_variation_p99.map(Cell::ms).into()),
    Info::new("loss_timeout_ms", "loss time-out", Unit::Milliseconds)
        .of(|seen| Cell::ms(seen.loss_timeout)),
    Info::new("repeated_trials", "run again", Unit::Count).of(|seen| seen.repeated_trials.into()),
    Info::new("spoilt_trials", "disturbed", Unit::Count).of(|seen| seen.spoilt_trials.into()),
];

pub(super) fn cell(seen: &Stateless) -> Cell {
    Cell::part(INFOS, COLUMNS, seen)
}

/// Under what these bursts were.
static NAMED: &[Info] =
    &and::<_, _, 20, 21>(&[Info::new("load", "load", Unit::Word)], &infos(COLUMNS));

pub(super) static BURSTS: Table = Table {
    caption: |row| title(row, "bursts"),
    rows: |row| {
        let named = |(name, part): (String, &Part)| row.inside(NAMED, name, part);
        loads(row).into_iter().map(named).collect()
    },
    columns: &[
        Shown::Words("load", |row| row.word("load").into()),
        Shown::Field("burst_bytes"),
        Shown::Field("interval_ms"),
        Shown::Field("bursts"),
        Shown::Field("whole_bursts"),
        Shown::Field("frames_sent"),
        Shown::Field("lost_frames"),
        Shown::Field("out_of_order_frames"),
        Shown::Field("delay_min_ms"),
        Shown::Field("delay_mean_ms"),
        Shown::Field("delay_variation_p99_ms"),
        Shown::Result,
    ],
    note: repeated,
};

/// What was offered, of the step itself and of its classes.
fn loads(row: &Row) -> Vec<(String, &Part)> {
    let mut loads = Vec::new();
    let own = [("compliant", "compliant"), ("excess", "in excess"), ("stateless", "bursts")];
    for (field, name) in own {
        loads.extend(load(row, field).map(|part| (String::from(name), part)));
    }
    let classes = if row.has("classes") { row.parts("classes") } else { &[] };
    for class in classes {
        let dscp = format!("DSCP {}", class.shown("dscp"));
        for (field, suffix) in [("stateless", ""), ("compliant", ""), ("excess", ", in excess")] {
            loads.extend(load(class, field).map(|part| (format!("{dscp}{suffix}"), part)));
        }
    }
    loads
}

fn load<'a>(of: &'a Part, field: &str) -> Option<&'a Part> {
    of.has(field).then(|| of.part(field)).flatten()
}

fn repeated(row: &Row) -> String {
    let again =
        |(_, part): &(String, &Part)| part.number("repeated_trials").map(|count| count.value);
    match loads(row).iter().filter_map(again).sum::<f64>() {
        0.0 => String::new(),
        trials => format!("{trials} trials were run again."),
    }
}
