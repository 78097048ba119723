//! RFC 2544 section 26.2.

use alloc::format;
use alloc::string::ToString as _;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::figure::{
    Better, Block, Cell, Column, Info, Kind, Row, Shown, Spread, Steps, Table, Unit, infos,
};

use super::FrameRate;
use crate::metric;
use crate::rfc2544::Way;

/// Section 26.2.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    pub way: Way,
    pub rate: FrameRate,
    pub clock: DelayClock,
    /// The mean of each repetition.
    pub means: Vec<Duration>,
    pub min: Duration,
    pub mean: Duration,
    pub max: Duration,
}

/// Whose clocks say how long a frame took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DelayClock {
    /// One way, by two clocks that agree to this.
    BothEnds { error: Duration },
    /// There and back, by one clock.
    RoundTrip,
}

pub static LATENCY: Steps<Latency> = Steps {
    kind: Kind {
        name: "rfc2544_latency",
        title: "latency",
        is_judged: true,
        main: &["latency_mean_ms"],
        columns: &infos(COLUMNS),
        facts: |_| Vec::new(),
        blocks: &[Block::Table(&TABLE)],
    },
    columns: COLUMNS,
};

const COLUMNS: &[Column<Latency>; 11] = &[
    Info::new("direction", "direction", Unit::Word).of(|found| found.way.to_string().into()),
    Info::new("frame_bytes", "frame", Unit::Bytes).of(|found| found.rate.frame_bytes.into()),
    Info::new("rate_fps", "frames/s", Unit::PerSecond)
        .of(|found| found.rate.frames_per_second().into()),
    Info::new("kind", "kind", Unit::Word).of(|found| match found.clock {
        DelayClock::BothEnds { .. } => ONE_WAY.into(),
        DelayClock::RoundTrip => "round_trip".into(),
    }),
    Info::new("clock_error_us", "error of the clocks", Unit::Microseconds).of(|found| match found
        .clock
    {
        DelayClock::BothEnds { error } => (error.as_nanos() as f64 / 1e3).into(),
        DelayClock::RoundTrip => Cell::Unknown,
    }),
    Info::new("definition", "definition", Unit::Word).of(|_| "store_and_forward".into()),
    Info::new("latency_min_ms", "min", Unit::Milliseconds).of(|found| Cell::ms(found.min)),
    Info::new("latency_mean_ms", "latency, mean", Unit::Milliseconds)
        .better(Better::Lower)
        .spread(Spread::Means("repetition_means_ms"))
        .metric(metric::LATENCY_MEAN)
        .of(|found| Cell::ms(found.mean)),
    Info::new("latency_max_ms", "latency, max", Unit::Milliseconds)
        .better(Better::Lower)
        .of(|found| Cell::ms(found.max)),
    Info::new("repetitions", "repetitions", Unit::Count).of(|found| found.means.len().into()),
    Info::new("repetition_means_ms", "mean of each repetition", Unit::Milliseconds)
        .list()
        .of(|found| Cell::List(found.means.iter().copied().map(Cell::ms).collect())),
];

const ONE_WAY: &str = "one_way";

static TABLE: Table = Table {
    caption: |_| "Latency at the throughput".into(),
    rows: Row::alone,
    columns: &[
        Shown::Field("direction"),
        Shown::Field("frame_bytes"),
        Shown::Field("rate_fps"),
        Shown::Figure("min", |row| row.one_way("latency_min_ms", "clock_error_us")),
        Shown::Figure("mean", |row| row.one_way("latency_mean_ms", "clock_error_us")),
        Shown::Figure("max", |row| row.one_way("latency_max_ms", "clock_error_us")),
        Shown::Field("repetitions"),
        Shown::Result,
    ],
    note: |row| match row.word("kind") {
        ONE_WAY => format!(
            "One way, store-and-forward; the clocks agree to {}.",
            row.shown("clock_error_us")
        ),
        _ => "Round trip, the other way idle; store-and-forward.".into(),
    },
};
