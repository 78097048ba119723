//! Patterns of bursts over TCP.

use alloc::format;
use alloc::string::String;
use core::time::Duration;

use fp_model::Dscp;
use fp_model::figure::{Cell, Column, Info, Part, Row, Shown, Table, Unit, infos};

use super::{DSCP, title};

/// A test pattern over TCP: the stateful metrics of section 4.2.
#[derive(Clone, Debug, PartialEq)]
pub struct Stateful {
    pub pattern: Pattern,
    pub dscp: Dscp,
    pub connections: u32,
    pub window_bytes: u64,
    pub bdp_bytes: u64,
    /// Sum of all windows, as a multiple of the bandwidth-delay product.
    pub window_factor: f64,
    pub burst_bytes: u64,
    pub bursts: u32,
    pub interval: Duration,
    /// Payload that all connections of a run are to carry.
    pub pattern_bytes: u64,
    pub runs: u32,
    /// Runs that ended before all payload was received.
    pub unfinished_runs: u32,
    /// TTPET: from the first to the last byte; of the runs that finished.
    pub ttpet: Option<Ttpet>,
    /// TTPET at the full rate of the path.
    pub ideal_ttpet: Duration,
    pub transmitted_bytes: Option<u64>,
    pub retransmitted_bytes: Option<u64>,
    pub efficiency_percent: Option<f64>,
    pub buffer_delay_percent: Option<f64>,
    pub congestion_control: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    Bulk,
    MicroBurst,
}

impl Pattern {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bulk => "bulk",
            Self::MicroBurst => "micro-burst",
        }
    }
}

/// TCP test pattern execution time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ttpet {
    pub mean: Duration,
    pub min: Duration,
    pub max: Duration,
}

pub(super) static INFOS: &[Info] = &infos(COLUMNS);

//= rfc7640 4.2
const COLUMNS: &[Column<Stateful>; 21] = &[
    Info::new("pattern", "pattern", Unit::Word).of(|seen| seen.pattern.name().into()),
    DSCP.of(|seen| seen.dscp.into()),
    Info::new("connections", "connections", Unit::Count).of(|seen| seen.connections.into()),
    Info::new("window_bytes", "window", Unit::Bytes).of(|seen| seen.window_bytes.into()),
    Info::new("bdp_bytes", "BDP", Unit::Bytes).of(|seen| seen.bdp_bytes.into()),
    Info::new("window_factor", "× BDP", Unit::Number(2)).of(|seen| seen.window_factor.into()),
    Info::new("burst_bytes", "burst", Unit::Bytes).of(|seen| seen.burst_bytes.into()),
    Info::new("bursts", "bursts", Unit::Count).of(|seen| seen.bursts.into()),
    Info::new("interval_ms", "interval", Unit::Milliseconds).of(|seen| Cell::ms(seen.interval)),
    Info::new("pattern_bytes", "payload of a run", Unit::Bytes)
        .of(|seen| seen.pattern_bytes.into()),
    Info::new("runs", "runs", Unit::Count).of(|seen| seen.runs.into()),
    Info::new("unfinished_runs", "runs unfinished", Unit::Count)
        .of(|seen| seen.unfinished_runs.into()),
    Info::new("ttpet_mean_ms", "TTPET mean", Unit::Milliseconds)
        .of(|seen| seen.ttpet.map(|ttpet| Cell::ms(ttpet.mean)).into()),
    Info::new("ttpet_min_ms", "min", Unit::Milliseconds)
        .of(|seen| seen.ttpet.map(|ttpet| Cell::ms(ttpet.min)).into()),
    Info::new("ttpet_max_ms", "max", Unit::Milliseconds)
        .of(|seen| seen.ttpet.map(|ttpet| Cell::ms(ttpet.max)).into()),
    Info::new("ttpet_ideal_ms", "ideal", Unit::Milliseconds).of(|seen| Cell::ms(seen.ideal_ttpet)),
    Info::new("transmitted_bytes", "transmitted", Unit::Bytes)
        .of(|seen| seen.transmitted_bytes.into()),
    Info::new("retransmitted_bytes", "retransmitted", Unit::Bytes)
        .of(|seen| seen.retransmitted_bytes.into()),
    Info::new("efficiency_percent", "efficiency", Unit::Percent(2))
        .of(|seen| seen.efficiency_percent.into()),
    Info::new("buffer_delay_percent", "buffer delay", Unit::Percent(1))
        .of(|seen| seen.buffer_delay_percent.into()),
    Info::new("congestion_control", "control", Unit::Word)
        .of(|seen| seen.congestion_control.clone().into()),
];

pub(super) fn cell(patterns: &[Stateful]) -> Cell {
    Cell::parts(INFOS, COLUMNS, patterns)
}

pub(super) static PATTERNS: Table = Table {
    caption: |row| title(row, "TCP patterns"),
    rows: |row| row.each("stateful"),
    columns: &[
        Shown::Field("pattern"),
        Shown::Field("dscp"),
        Shown::Figure("connections × window", |seen| {
            format!("{} × {}", seen.shown("connections"), seen.grouped("window_bytes"))
        }),
        Shown::Field("window_factor"),
        Shown::Figure("bursts × bytes", |seen| {
            format!("{} × {}", seen.shown("bursts"), seen.grouped("burst_bytes"))
        }),
        Shown::Field("ttpet_mean_ms"),
        Shown::Field("ttpet_min_ms"),
        Shown::Field("ttpet_max_ms"),
        Shown::Field("ttpet_ideal_ms"),
        Shown::Field("efficiency_percent"),
        Shown::Field("buffer_delay_percent"),
    ],
    note: unfinished,
};

fn unfinished(row: &Row) -> String {
    let late = |seen: &Part| {
        seen.number("unfinished_runs").filter(|runs| runs.value > 0.0)?;
        let [pattern, dscp, late, runs] =
            ["pattern", "dscp", "unfinished_runs", "runs"].map(|field| seen.text(field));
        Some(format!(
            " Of {pattern} with DSCP {dscp}, {late} of {runs} runs had not ended after twice the ideal time."
        ))
    };
    let late: String = row.parts("stateful").iter().filter_map(late).collect();
    format!("TTPET: the time that a TCP pattern took to end.{late}")
}
