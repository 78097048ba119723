//! Bursts as large as the CBS.

use alloc::string::ToString as _;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::figure::{
    Better, Block, Cell, Column, Info, Kind, Row, Shown, Steps, Table, Unit, infos,
};
use fp_model::{Direction, LayeredRate};

use super::{
    BURSTS, BurstTimes, CIR, CIR_LAYER, CONFIGURED_BURST, DIRECTION, FLAW, FLOW_DIRECTION, FRAME,
    FRAMES_LOST, FRAMES_RECEIVED, FRAMES_SENT, Flaw, LINE_BURST_TIME, PASS, RX_BURST_MEAN,
    RX_BURST_TIME, TRIALS, TX_BURST, TX_BURST_TIME, WAY, caption, loaded,
};

/// A CBS test with frames of one length: bursts as large as the CBS, as often as the CIR allows.
#[derive(Clone, Debug, PartialEq)]
pub struct CbsStep {
    pub direction: Direction,
    /// The other direction was loaded in the same trial.
    pub bidirectional: bool,
    pub frame_bytes: u32,
    pub cir: LayeredRate,
    pub configured_burst_bytes: u64,
    /// Whole frames, layer 2.
    pub tx_burst_bytes: u64,
    pub rx_burst_bytes_mean: f64,
    pub frames_sent: u64,
    pub frames_received: u64,
    pub bursts: u32,
    /// From one burst to the next.
    pub period: Duration,
    pub times: BurstTimes,
    /// Frames that came marked otherwise than the first of their burst.
    pub frames_marked: u64,
    pub trials: u32,
    /// Why the last trial says nothing, if it does not.
    pub flaw: Option<Flaw>,
    /// `None` where the trials say nothing.
    pub pass: Option<bool>,
}

impl CbsStep {
    pub const fn frames_lost(&self) -> u64 {
        self.frames_sent.saturating_sub(self.frames_received)
    }
}

pub static CBS: Steps<CbsStep> = Steps {
    kind: Kind {
        name: "cbs",
        title: "CBS",
        is_judged: false,
        main: &["rx_burst_bytes_mean"],
        columns: &infos(COLUMNS),
        facts: |_| Vec::new(),
        blocks: &[Block::Table(&TABLE)],
    },
    columns: COLUMNS,
};

const COLUMNS: &[Column<CbsStep>; 21] = &[
    DIRECTION.of(|step| loaded(step.direction, step.bidirectional)),
    WAY.of(|step| step.direction.name().into()),
    FLOW_DIRECTION.of(|step| step.direction.name().into()),
    FRAME.of(|step| step.frame_bytes.into()),
    CIR.of(|step| step.cir.rate.into()),
    CIR_LAYER.of(|step| step.cir.layer.to_string().into()),
    CONFIGURED_BURST.of(|step| step.configured_burst_bytes.into()),
    TX_BURST.of(|step| step.tx_burst_bytes.into()),
    RX_BURST_MEAN.better(Better::Higher).of(|step| step.rx_burst_bytes_mean.into()),
    FRAMES_SENT.of(|step| step.frames_sent.into()),
    FRAMES_RECEIVED.of(|step| step.frames_received.into()),
    FRAMES_LOST.better(Better::Lower).of(|step| step.frames_lost().into()),
    Info::new("frames_marked", "marked", Unit::Count).of(|step| step.frames_marked.into()),
    BURSTS.of(|step| step.bursts.into()),
    Info::new("period_ms", "from one burst to the next", Unit::Milliseconds)
        .of(|step| Cell::ms(step.period)),
    TRIALS.of(|step| step.trials.into()),
    FLAW.of(|step| step.flaw.map(|flaw| flaw.to_string()).into()),
    PASS.of(|step| step.pass.into()),
    LINE_BURST_TIME.of(|step| Cell::ms(step.times.at_line_rate)),
    TX_BURST_TIME.of(|step| Cell::ms(step.times.sent)),
    RX_BURST_TIME.of(|step| step.times.received.map(Cell::ms).into()),
];

static TABLE: Table = Table {
    caption: |row| caption("CBS test", row),
    rows: Row::alone,
    columns: &[
        Shown::Field("frame_bytes"),
        Shown::Field("configured_burst_bytes"),
        Shown::Field("tx_burst_bytes"),
        Shown::As("rx_burst_bytes_mean", "mean received"),
        Shown::Field("frames_sent"),
        Shown::Field("frames_received"),
        Shown::As("frames_lost", "lost"),
        Shown::Field("bursts"),
        Shown::Field("tx_burst_ms"),
        Shown::As("rx_burst_ms", "received in"),
        Shown::Result,
    ],
    note: |_| {
        "Bursts of the committed burst size, as often as the CIR allows: none may lose a frame. \
         Bytes of layer 2 with FCS."
            .into()
    },
};
