//! What became of the frames of a service.

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::figure::{Better, Cell, Column, Info, Part, SLOT, Spread, Unit, and, infos};
use fp_model::{Dscp, Rate, Sample};

use crate::metric;
use crate::y1564::availability::Availability;

/// What became of the frames of one colour.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    pub sent_frames: u64,
    pub received_frames: u64,
    pub out_of_order_frames: Option<u64>,
    pub duplicate_frames: Option<u64>,
    /// Information rate at layer 2: frames sent in the steady time and received, over the steady time.
    pub ir_l2: Rate,
    /// Information rate of the slowest and of the fastest second; `None` where there was no whole second.
    pub ir_span_l2: Option<IrSpan>,
    /// Utilized line rate: the same frames with preamble and inter-frame gap.
    pub ulr_l1: Rate,
    /// Frame loss ratio in available time; `None` where nothing was sent in it.
    pub flr: Option<f64>,
    /// The loss ratio that this number of frames rules out with 95 % confidence if none of them is lost.
    pub flr_resolution: Option<f64>,
    pub ftd: Option<Ftd>,
    /// Frame delay variation: the 99.9th percentile of the delay less its minimum; `None` where the delays of single
    /// frames are not known.
    pub fdv: Option<Duration>,
    /// `None` of a test shorter than the ten seconds that change the state.
    pub availability: Option<Availability>,
    /// Frames received by code point; empty where the receiver cannot see it.
    pub dscp_received: Vec<(Dscp, u64)>,
    /// Slots of the steady time.
    pub series: Vec<Sample>,
}

impl Figures {
    pub const fn lost_frames(&self) -> u64 {
        self.sent_frames.saturating_sub(self.received_frames)
    }
}

/// Layer 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IrSpan {
    pub min: Rate,
    pub max: Rate,
}

/// Frame transfer delay, one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ftd {
    pub min: Duration,
    pub mean: Duration,
    pub max: Duration,
    /// Largest error of each of them, the same for all: the uncertainty of the offset of the two clocks.
    pub error: Duration,
}

pub(super) const INFOS: &[Info; 20] = &infos(COLUMNS);

pub(super) const COLUMNS: &[Column<Figures>; 20] = &[
    Info::new("sent_frames", "sent", Unit::Count).of(|frames| frames.sent_frames.into()),
    Info::new("received_frames", "received", Unit::Count)
        .of(|frames| frames.received_frames.into()),
    Info::new("lost_frames", "lost", Unit::Count).of(|frames| frames.lost_frames().into()),
    Info::new("out_of_order_frames", "out of order", Unit::Count)
        .of(|frames| frames.out_of_order_frames.into()),
    Info::new("duplicate_frames", "duplicates", Unit::Count)
        .of(|frames| frames.duplicate_frames.into()),
    Info::new("ir_bps", "information rate (l2)", Unit::Rate)
        .better(Better::Higher)
        .spread(Spread::Throughput)
        .metric(metric::INFORMATION_RATE_L2)
        .of(|frames| frames.ir_l2.into()),
    Info::new("ir_min_bps", "slowest second", Unit::Rate)
        .of(|frames| frames.ir_span_l2.map(|span| span.min).into()),
    Info::new("ir_max_bps", "fastest second", Unit::Rate)
        .of(|frames| frames.ir_span_l2.map(|span| span.max).into()),
    Info::new("ulr_l1_bps", "ULR (l1)", Unit::Rate).of(|frames| frames.ulr_l1.into()),
    Info::new("flr", "frame loss ratio", Unit::Share(3))
        .better(Better::Lower)
        .metric(metric::FRAME_LOSS)
        .of(|frames| frames.flr.into()),
    Info::new("flr_resolution", "loss ratio ruled out", Unit::Share(3))
        .of(|frames| frames.flr_resolution.into()),
    Info::new("ftd_ms", "frame transfer delay", Unit::Milliseconds)
        .better(Better::Lower)
        .metric(metric::FRAME_DELAY)
        .of(|frames| frames.ftd.map(|ftd| Cell::ms(ftd.mean)).into()),
    Info::new("ftd_min_ms", "smallest delay", Unit::Milliseconds)
        .of(|frames| frames.ftd.map(|ftd| Cell::ms(ftd.min)).into()),
    Info::new("ftd_max_ms", "largest delay", Unit::Milliseconds)
        .of(|frames| frames.ftd.map(|ftd| Cell::ms(ftd.max)).into()),
    Info::new("ftd_error_ms", "error of the delay", Unit::Milliseconds)
        .of(|frames| frames.ftd.map(|ftd| Cell::ms(ftd.error)).into()),
    Info::new("fdv_ms", "frame delay variation", Unit::Milliseconds)
        .better(Better::Lower)
        .metric(metric::FRAME_DELAY_VARIATION)
        .of(|frames| frames.fdv.map(Cell::ms).into()),
    Info::new("availability_percent", "availability", Unit::Percent(3))
        .better(Better::Higher)
        .metric(metric::AVAILABILITY)
        .of(|frames| frames.availability.and_then(|known| known.percent()).into()),
    Info::new("unavailable_s", "seconds unavailable", Unit::Count)
        .of(|frames| frames.availability.map(|known| known.unavailable_seconds).into()),
    Info::new("severely_errored_s", "seconds severely errored", Unit::Count)
        .of(|frames| frames.availability.map(|known| known.severely_errored_seconds).into()),
    Info::new("dscp_received", "DSCP received", Unit::Parts(DSCPS))
        .of(|frames| Cell::parts(DSCPS, DSCP, &frames.dscp_received)),
];

static DSCPS: &[Info] = &infos(DSCP);
const DSCP: &[Column<(Dscp, u64)>; 2] = &[
    Info::new("dscp", "DSCP", Unit::Count).of(|(dscp, _)| (*dscp).into()),
    Info::new("frames", "frames", Unit::Count).of(|(_, frames)| (*frames).into()),
];

pub(super) const SERIES: Info = Info::new("series", "course", Unit::Series(SLOT));

/// Of one colour beside another, which has no criteria and is not compared.
pub(super) static COLOUR: &[Info] = &and::<_, _, 1, 21>(&uncompared(*INFOS), &[SERIES]);

const fn uncompared<const N: usize>(mut infos: [Info; N]) -> [Info; N] {
    let mut place = 0;
    while place < N {
        infos[place] = infos[place].better(Better::NotCompared);
        place += 1;
    }
    infos
}

pub(super) fn colour(frames: &Figures) -> Part {
    let mut part = Part::of(COLOUR, COLUMNS, frames);
    part.cells.push(frames.series.as_slice().into());
    part
}

/// Of a service without frames: the figures that services are compared by are not known of it, the others are none
/// of its own.
pub(super) fn no_cells() -> impl Iterator<Item = Cell> {
    let cell = |info: &Info| match info.better {
        Better::NotCompared => Cell::Absent,
        Better::Higher | Better::Lower | Better::Neither => Cell::Unknown,
    };
    INFOS.iter().map(cell)
}
