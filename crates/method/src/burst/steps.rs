//! What a burst test found, step by step, and how documents have it.

mod cbs;
mod discovery;
mod line;
mod policing;
mod rate;

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::time::Duration;

use fp_model::Direction;
use fp_model::figure::{Cell, Info, Row, Unit};

pub use cbs::{CBS, CbsStep};
pub(crate) use discovery::ON_THE_LINE;
pub use discovery::{
    Alone, Charge, DISCOVERY, Discovered, Discovery, Passed, SecondBucket, Together,
};
pub use line::{LINE, Line};
pub use policing::{POLICING, PolicingStep};
pub use rate::{RATE, RateStep};

use crate::path::{PATH_MTU, PathMtu};
use crate::verdict;

/// What a run found.
pub type Report = verdict::Report<Step>;

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    PathMtu(PathMtu),
    Line(Line),
    Cbs(CbsStep),
    Rate(RateStep),
    Policing(PolicingStep),
    Discovery(Discovery),
}

impl Step {
    /// As documents have it.
    pub fn row(&self) -> Row {
        match self {
            Self::PathMtu(mtu) => PATH_MTU.row(mtu),
            Self::Line(line) => LINE.row(line),
            Self::Cbs(step) => CBS.row(step),
            Self::Rate(step) => RATE.row(step),
            Self::Policing(step) => POLICING.row(step),
            Self::Discovery(step) => DISCOVERY.row(step),
        }
    }
}

/// From the first to the last frame of a burst, the middle one of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BurstTimes {
    /// On a line that is never idle.
    pub at_line_rate: Duration,
    pub sent: Duration,
    pub received: Option<Duration>,
}

/// Why a trial was not what was planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    FramesUnsent,
    /// By the tester itself.
    FramesDropped,
    /// So slow that the bucket was refilled meanwhile.
    SlowBursts,
    /// The sender was slower than the line, and how much of that the policer saw is not known, as an
    /// emulated network let frames go late; or it had some of them in another order.
    EmulationLate,
    /// Frames were lost, and bursts came so irregularly that the configured policer drops some.
    OffSchedule,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::FramesUnsent => "not all frames could be sent",
            Self::FramesDropped => "the tester itself dropped frames",
            Self::SlowBursts => "the sender could not send at line rate",
            Self::EmulationLate => {
                "this host was too slow for bursts at line rate and for emulating the network"
            }
            Self::OffSchedule => "bursts came late, and the next ones too early after them,",
        })
    }
}

// Columns that steps of several kinds have.
const DIRECTION: Info = Info::new("direction", "direction", Unit::Word);
const WAY: Info = Info::new("way", "direction", Unit::Word);
const FLOW_DIRECTION: Info = Info::new("flow_direction", "direction", Unit::Word);
const FRAME: Info = Info::new("frame_bytes", "frame", Unit::Bytes);
const CIR: Info = Info::new("cir_bps", "CIR", Unit::Rate);
const CIR_LAYER: Info = Info::new("cir_layer", "layer of the CIR", Unit::Word);
const CONFIGURED_BURST: Info = Info::new("configured_burst_bytes", "CBS", Unit::Bytes);
const TX_BURST: Info = Info::new("tx_burst_bytes", "burst sent", Unit::Bytes);
const RX_BURST_MEAN: Info = Info::new("rx_burst_bytes_mean", "mean burst received", Unit::Bytes);
const FRAMES_SENT: Info = Info::new("frames_sent", "frames sent", Unit::Count);
const FRAMES_RECEIVED: Info = Info::new("frames_received", "received", Unit::Count);
const FRAMES_LOST: Info = Info::new("frames_lost", "frames lost", Unit::Count);
const BURSTS: Info = Info::new("bursts", "bursts", Unit::Count);
const DEVIATION: Info = Info::new("deviation_percent", "deviation", Unit::Difference(2));
const TRIALS: Info = Info::new("trials", "trials", Unit::Count);
const FLAW: Info = Info::new("flaw", "flaw", Unit::Word);
const PASS: Info = Info::new("pass", "passed", Unit::Flag);
const LINE_BURST_TIME: Info =
    Info::new("line_burst_ms", "burst at the line's rate", Unit::Milliseconds);
const TX_BURST_TIME: Info = Info::new("tx_burst_ms", "sent in", Unit::Milliseconds);
const RX_BURST_TIME: Info = Info::new("rx_burst_ms", "received in", Unit::Milliseconds);

/// The direction of the trial in which a step of one direction was measured.
fn loaded(direction: Direction, bidirectional: bool) -> Cell {
    if bidirectional { "bidirectional".into() } else { direction.name().into() }
}

/// Of a table of one direction.
fn caption(test: &str, row: &Row) -> String {
    let both =
        if row.word("direction") == "bidirectional" { ", both directions loaded" } else { "" };
    let [direction, layer] = ["flow_direction", "cir_layer"].map(|field| row.word(field));
    format!("{test}, {direction}{both}, CIR {} ({layer})", row.shown("cir_bps"))
}
