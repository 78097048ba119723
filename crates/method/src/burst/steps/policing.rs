//! Bursts that are larger than the bucket, so that a policer must drop a part of each.

use alloc::string::ToString as _;
use alloc::vec::Vec;

use fp_model::figure::{
    Better, Block, Cell, Chart, Column, Drawn, Estimates, Info, Kind, Row, Shown, Steps, Table,
    Unit, infos,
};
use fp_model::{Direction, LayeredRate};

use super::{
    BURSTS, BurstTimes, CIR, CIR_LAYER, CONFIGURED_BURST, DEVIATION, DIRECTION, FLAW,
    FLOW_DIRECTION, FRAME, FRAMES_LOST, FRAMES_RECEIVED, FRAMES_SENT, Flaw, LINE_BURST_TIME, PASS,
    RX_BURST_MEAN, RX_BURST_TIME, TRIALS, TX_BURST, TX_BURST_TIME, WAY, caption, loaded,
};
use crate::formula::bounds::Bounds;
use crate::metric;

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
        is_judged: false,
        main: &["estimated_cbs_bytes"],
        columns: &infos(COLUMNS),
        facts: |_| Vec::new(),
        blocks: &[Block::Table(&TABLE), Block::Chart(Chart::Estimates(ESTIMATED))],
    },
    columns: COLUMNS,
};

const COLUMNS: &[Column<PolicingStep>; 21] = &[
    DIRECTION.of(|step| loaded(step.direction, step.bidirectional)),
    WAY.of(|step| step.direction.name().into()),
    FLOW_DIRECTION.of(|step| step.direction.name().into()),
    FRAME.of(|step| step.frame_bytes.into()),
    CIR.of(|step| step.cir.rate.into()),
    CIR_LAYER.of(|step| step.cir.layer.to_string().into()),
    CONFIGURED_BURST.of(|step| step.configured_burst_bytes.into()),
    TX_BURST.of(|step| step.tx_burst_bytes.into()),
    RX_BURST_MEAN.of(|step| step.rx_burst_bytes_mean.into()),
    FRAMES_SENT.of(|step| step.frames_sent.into()),
    FRAMES_RECEIVED.of(|step| step.frames_received.into()),
    FRAMES_LOST.of(|step| step.frames_lost().into()),
    BURSTS.of(|step| step.bursts.into()),
    Info::new("estimated_cbs_bytes", "estimated CBS", Unit::Bytes)
        .better(Better::Neither)
        .interval()
        .metric(metric::CBS)
        .of(|step| step.estimate.into()),
    DEVIATION.of(|step| step.deviation_percent.into()),
    TRIALS.of(|step| step.trials.into()),
    FLAW.of(|step| step.flaw.map(|flaw| flaw.to_string()).into()),
    PASS.of(|step| step.pass.into()),
    LINE_BURST_TIME.of(|step| Cell::ms(step.times.at_line_rate)),
    TX_BURST_TIME.of(|step| Cell::ms(step.times.sent)),
    RX_BURST_TIME.of(|step| step.times.received.map(Cell::ms).into()),
];

const ESTIMATED: Estimates = Estimates {
    caption: "Estimated CBS by frame length",
    name: Drawn { field: "frame_bytes", words: "frame (bytes)" },
    configured: "configured_burst_bytes",
    estimate: "estimated_cbs_bytes",
    tolerance: "tolerance_percent",
};

static TABLE: Table = Table {
    caption: |row| caption("Policing test", row),
    rows: Row::alone,
    columns: &[
        Shown::Field("frame_bytes"),
        Shown::Field("configured_burst_bytes"),
        Shown::Field("tx_burst_bytes"),
        Shown::As("rx_burst_bytes_mean", "mean received"),
        Shown::Figure("estimated CBS", |row| row.value("estimated_cbs_bytes")),
        Shown::Field("deviation_percent"),
        Shown::Figure("interval", |row| row.ends("estimated_cbs_bytes")),
        Shown::Field("bursts"),
        Shown::Result,
    ],
    note: |_| {
        "Bursts of about twice the CBS: what came through says how deep the bucket is. The \
         bucket is within the interval."
            .into()
    },
};
