//! Bursts that are larger than the bucket, so that a policer must drop a part of each.

use alloc::format;
use alloc::string::ToString as _;
use alloc::vec::Vec;

use fp_model::figure::{Better, Cell, Column, Info, Kind, Shown, Steps, Table, Unit, infos};
use fp_model::{Direction, LayeredRate};

use super::{BurstTimes, Flaw, both_loaded, loaded};
use crate::formula::bounds::Bounds;

/// A policing test with frames of one length: bursts of which a policer must drop a part.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicingStep {
    pub direction: Direction,
    pub bidirectional: bool,
    pub frame_bytes: u32,
    pub cir: LayeredRate,
    pub configured_burst_bytes: u64,
    pub tx_burst_bytes: u64,
    pub rx_burst_bytes_mean: f64,
    pub frames_sent: u64,
    /// That the policer passed as conforming.
    pub frames_received: u64,
    pub bursts: u32,
    pub times: BurstTimes,
    /// By the trains; `None` where they do not tell.
    pub estimate: Option<Bounds>,
    pub deviation_percent: Option<f64>,
    pub trials: u32,
    pub flaw: Option<Flaw>,
    /// `None` where the interval lies neither within nor beyond the tolerance.
    pub pass: Option<bool>,
}

impl PolicingStep {
    pub const fn frames_lost(&self) -> u64 {
        self.frames_sent.saturating_sub(self.frames_received)
    }
}

pub static POLICING: Steps<PolicingStep> = Steps {
    kind: Kind {
        name: "policing",
        title: "policing",
        main: &["estimated_cbs_bytes"],
        columns: &infos(COLUMNS),
        facts: |_| Vec::new(),
        tables: &[&TABLE],
    },
    columns: COLUMNS,
};

const COLUMNS: &[Column<PolicingStep>; 21] = &[
    Info::new("direction", "direction", Unit::Word)
        .of(|step| loaded(step.direction, step.bidirectional)),
    Info::new("way", "direction", Unit::Word).of(|step| step.direction.name().into()),
    Info::new("flow_direction", "direction", Unit::Word).of(|step| step.direction.name().into()),
    Info::new("frame_bytes", "frame", Unit::Bytes).of(|step| step.frame_bytes.into()),
    Info::new("cir_bps", "CIR", Unit::Rate).of(|step| step.cir.rate.into()),
    Info::new("cir_layer", "layer of the CIR", Unit::Word)
        .of(|step| step.cir.layer.to_string().into()),
    Info::new("configured_burst_bytes", "CBS", Unit::Bytes)
        .of(|step| step.configured_burst_bytes.into()),
    Info::new("tx_burst_bytes", "burst sent", Unit::Bytes).of(|step| step.tx_burst_bytes.into()),
    Info::new("rx_burst_bytes_mean", "mean burst received", Unit::Bytes)
        .of(|step| step.rx_burst_bytes_mean.into()),
    Info::new("frames_sent", "frames sent", Unit::Count).of(|step| step.frames_sent.into()),
    Info::new("frames_received", "received", Unit::Count).of(|step| step.frames_received.into()),
    Info::new("frames_lost", "frames lost", Unit::Count).of(|step| step.frames_lost().into()),
    Info::new("bursts", "bursts", Unit::Count).of(|step| step.bursts.into()),
    Info::new("estimated_cbs_bytes", "estimated CBS", Unit::Bytes)
        .better(Better::Neither)
        .interval()
        .metric("cbs_bytes", "Committed burst size as estimated")
        .of(|step| step.estimate.into()),
    Info::new("deviation_percent", "deviation", Unit::Difference(2))
        .of(|step| step.deviation_percent.into()),
    Info::new("trials", "trials", Unit::Count).of(|step| step.trials.into()),
    Info::new("flaw", "flaw", Unit::Word).of(|step| step.flaw.map(|flaw| flaw.to_string()).into()),
    Info::new("pass", "passed", Unit::Flag).of(|step| step.pass.into()),
    Info::new("line_burst_ms", "burst at the line's rate", Unit::Milliseconds)
        .of(|step| Cell::ms(step.times.at_line_rate)),
    Info::new("tx_burst_ms", "sent in", Unit::Milliseconds).of(|step| Cell::ms(step.times.sent)),
    Info::new("rx_burst_ms", "received in", Unit::Milliseconds)
        .of(|step| step.times.received.map(Cell::ms).into()),
];

static TABLE: Table = Table {
    caption: |row| {
        let (direction, both) = (row.word("flow_direction"), both_loaded(row));
        format!(
            "Policing test, {direction}{both}, CIR {} ({})",
            row.shown("cir_bps"),
            row.word("cir_layer")
        )
    },
    shows: |_| true,
    columns: &[
        Shown::Field("frame_bytes"),
        Shown::Field("configured_burst_bytes"),
        Shown::Field("tx_burst_bytes"),
        Shown::As("rx_burst_bytes_mean", "mean received"),
        Shown::Figure("estimated CBS", |row| row.value("estimated_cbs_bytes")),
        Shown::Field("deviation_percent"),
        Shown::Figure("interval", |row| row.ends("estimated_cbs_bytes")),
        Shown::Field("bursts"),
    ],
    note: |_| {
        "Bursts of about twice the CBS: what came through says how deep the bucket is. The \
         bucket is within the interval."
            .into()
    },
};
