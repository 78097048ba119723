//! What the line carries.

use alloc::format;
use alloc::string::{String, ToString as _};
use core::fmt;

use fp_model::figure::{Column, Info, Kind, Row, Steps, Unit, infos};
use fp_model::{Direction, Rate};

use super::FrameRate;

use crate::metric;

/// What the medium carries in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineRate {
    pub direction: Direction,
    /// `None` where it is neither known nor that of an Ethernet.
    pub line_l1: Option<Rate>,
    pub source: LineSource,
    /// The longest frames, at the highest rate that came through.
    pub reached: FrameRate,
    pub trials: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineSource {
    Given,
    /// What came through when more was offered.
    Found,
    /// The tester could not send enough to reach the limit of the path.
    TesterLimit,
    /// The plan forbids to send enough.
    RateCap,
}

impl fmt::Display for LineSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Given => "given",
            Self::Found => "found",
            Self::TesterLimit => "tester_limit",
            Self::RateCap => "rate_cap",
        })
    }
}

pub static LINE_RATE: Steps<LineRate> = Steps {
    kind: Kind {
        name: "line_rate",
        title: "line rate",
        is_judged: false,
        main: &["rate_l1_bps"],
        columns: &infos(COLUMNS),
        facts: |row| alloc::vec![("line rate", sentence(row))],
        blocks: &[],
    },
    columns: COLUMNS,
};

const COLUMNS: &[Column<LineRate>; 6] = &[
    Info::new("direction", "direction", Unit::Word).of(|line| line.direction.name().into()),
    Info::new("rate_l1_bps", "line (l1)", Unit::Rate)
        .metric(metric::RATE_L1)
        .of(|line| line.line_l1.into()),
    Info::new("source", "source", Unit::Word).of(|line| line.source.to_string().into()),
    Info::new("reached_l1_bps", "came through (l1)", Unit::Rate)
        .of(|line| line.reached.rate_l1.into()),
    Info::new("frame_bytes", "frame", Unit::Bytes).of(|line| line.reached.frame_bytes.into()),
    Info::new("trials", "trials", Unit::Count).of(|line| line.trials.into()),
];

fn sentence(row: &Row) -> String {
    let reached = row.shown("reached_l1_bps");
    let known = row.number("rate_l1_bps").map(|_| format!("{} l1", row.shown("rate_l1_bps")));
    match (row.word("source"), known) {
        ("given", known) => format!("{}, given", known.unwrap_or_default()),
        ("found", Some(known)) => format!("{known}, found: {reached} came through"),
        ("found", None) => {
            format!("no Ethernet's: {reached} l1 came through; give it with --line-rate")
        }
        ("tester_limit", _) => {
            format!("not known: the tester could send no more than {reached} l1")
        }
        _ => format!("not known: the cap of {reached} l1 came through"),
    }
}
