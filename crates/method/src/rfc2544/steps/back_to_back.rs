//! RFC 2544 section 26.4, as RFC 9004 has it.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use fp_model::figure::{
    Better, Block, Cell, Column, Info, Kind, Row, Shown, Spread, Steps, Table, Unit, infos, unknown,
};

use crate::rfc2544::Way;

/// Section 26.4, as RFC 9004 has it.
#[derive(Clone, Debug, PartialEq)]
pub struct BackToBack {
    pub way: Way,
    pub frame_bytes: u32,
    /// Why there is no figure.
    pub skipped: Option<Skipped>,
    /// The longest burst of each repetition, in frames.
    pub longest_frames: Vec<u64>,
    /// The longest burst that was tried.
    pub limit_frames: u64,
    /// Bounds of the search closer than this are not told apart.
    pub step_frames: u64,
    pub trials: u32,
    pub figures: Option<BurstFigures>,
}

impl BackToBack {
    //= rfc9004 6.2
    /// The buffers hold more than the longest burst that was tried, or almost that: how much more is
    /// not known.
    pub fn is_at_limit(&self) -> bool {
        let longest = self.longest_frames.iter().max();
        longest.is_some_and(|frames| *frames as f64 >= 0.95 * self.limit_frames as f64)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// The throughput is what the line carries: no burst fills a buffer.
    NoOverload,
    /// Nobody said what the line carries.
    LineUnknown,
    /// Bursts at the rate of the line would be faster than the plan allows.
    RateCap,
    /// No rate passed without loss.
    NoThroughput,
    /// No burst passed without loss.
    NoBurst,
    /// The tester could not send its bursts as fast as the line is.
    TesterLimit,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::NoOverload => "the throughput is the line's",
            Self::LineUnknown => "the line rate is not known: give it with --line-rate",
            Self::RateCap => "the line is faster than what may be sent: see --yes-saturate",
            Self::NoThroughput => "no rate passed",
            Self::NoBurst => "no burst passed",
            Self::TesterLimit => "the tester cannot send as fast as the line is",
        })
    }
}

/// Over the repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstFigures {
    pub average_frames: f64,
    pub min_frames: u64,
    pub max_frames: u64,
    pub deviation_frames: f64,
    pub implied_buffer: Duration,
    pub corrected_buffer: Duration,
}

pub static BACK_TO_BACK: Steps<BackToBack> = Steps {
    kind: Kind {
        name: "rfc2544_back_to_back",
        title: "back to back",
        is_judged: true,
        main: &["average_frames"],
        columns: &infos(COLUMNS),
        facts: |_| Vec::new(),
        blocks: &[Block::Table(&TABLE)],
    },
    columns: COLUMNS,
};

const COLUMNS: &[Column<BackToBack>; 14] = &[
    Info::new("direction", "direction", Unit::Word).of(|found| found.way.to_string().into()),
    Info::new("frame_bytes", "frame", Unit::Bytes).of(|found| found.frame_bytes.into()),
    Info::new("skipped", "not applicable", Unit::Word)
        .of(|found| found.skipped.map(|reason| reason.to_string()).into()),
    Info::new("repetitions", "repetitions", Unit::Count)
        .of(|found| found.longest_frames.len().into()),
    Info::new("average_frames", "back-to-back frames", Unit::Number(1))
        .better(Better::Higher)
        .spread(Spread::Deviation("deviation_frames"))
        .of(|found| found.figures.map(|figures| figures.average_frames).into()),
    Info::new("min_frames", "min", Unit::Count)
        .of(|found| found.figures.map(|figures| figures.min_frames).into()),
    Info::new("max_frames", "max", Unit::Count)
        .of(|found| found.figures.map(|figures| figures.max_frames).into()),
    Info::new("deviation_frames", "deviation", Unit::Number(1))
        .of(|found| found.figures.map(|figures| figures.deviation_frames).into()),
    Info::new("implied_buffer_s", "implied buffer", Unit::Seconds)
        .of(|found| found.filled().map(|figures| Cell::s(figures.implied_buffer)).into()),
    Info::new("corrected_buffer_s", "corrected buffer", Unit::Seconds)
        .of(|found| found.filled().map(|figures| Cell::s(figures.corrected_buffer)).into()),
    Info::new("longest_frames", "longest burst of each repetition", Unit::Count)
        .list()
        .of(|found| Cell::List(found.longest_frames.iter().copied().map(Cell::from).collect())),
    Info::new("limit_frames", "longest burst tried", Unit::Count)
        .of(|found| found.limit_frames.into()),
    Info::new("step_frames", "resolution", Unit::Count).of(|found| found.step_frames.into()),
    Info::new("trials", "trials", Unit::Count).of(|found| found.trials.into()),
];

impl BackToBack {
    /// The figures of buffers that a burst filled.
    fn filled(&self) -> Option<BurstFigures> {
        self.figures.filter(|_| !self.is_at_limit())
    }
}

//= rfc9004 6.4
static TABLE: Table = Table {
    caption: |_| "Back-to-back frames (RFC 9004)".into(),
    rows: Row::alone,
    columns: &[
        Shown::Field("direction"),
        Shown::Field("frame_bytes"),
        Shown::As("average_frames", "average"),
        Shown::Field("min_frames"),
        Shown::Field("max_frames"),
        Shown::Field("deviation_frames"),
        Shown::Figure("repetitions", |row| match row.number("average_frames") {
            Some(_) => row.shown("repetitions"),
            None => unknown(),
        }),
        Shown::Field("corrected_buffer_s"),
        Shown::Words("", |row| match row.word("skipped") {
            "" => String::new(),
            reason => format!("not applicable: {reason}"),
        }),
        Shown::Result,
    ],
    note: |_| String::new(),
};
