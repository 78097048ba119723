//! RFC 2544 section 26.1.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use fp_model::Layer;
use fp_model::figure::{
    Better, Block, Cell, Chart, Column, Drawn, Info, Kind, Known, Part, Reached, Row, Shown, Steps,
    Table, Unit, infos,
};

use super::trial::{TRIAL, TRIALS};
use super::{FrameRate, TrialRow};
use crate::metric;
use crate::mlr::{Goal, GoalResult};
use crate::rfc2544::Way;

/// What ended a search upwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The network lost frames of the next higher rate.
    Network,
    /// The medium carries no more: the theoretical maximum was reached.
    Line,
    /// The tester could not send or receive more.
    Tester,
    /// The plan forbids to send more.
    RateCap,
    /// Frames of this length do not fit the path: nothing was sent.
    PathMtu,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Network => "network",
            Self::Line => "line",
            Self::Tester => "tester",
            Self::RateCap => "rate_cap",
            Self::PathMtu => "path_mtu",
        })
    }
}

/// Section 26.1.
#[derive(Clone, Debug, PartialEq)]
pub struct Throughput {
    pub way: Way,
    pub frame_bytes: u32,
    /// Each way; `None` where no rate passed.
    pub found: Option<FrameRate>,
    /// The interval that holds it, as far as it is known: from what a trial as short as these cannot
    /// forgive ...
    pub at_least: Option<FrameRate>,
    /// ... to the least that was too much.
    pub at_most: Option<FrameRate>,
    /// The most that the line carries; `None` where that is not known.
    pub theoretical: Option<FrameRate>,
    pub limit: Limit,
    pub trials: Vec<TrialRow>,
    /// What an MLRsearch says of each of its goals.
    pub goals: Vec<(Goal, GoalResult)>,
}

impl Throughput {
    pub fn percent_of_line(&self) -> Option<f64> {
        Some(self.found?.percent_of(self.theoretical?.rate_l1))
    }
}

pub static THROUGHPUT: Steps<Throughput> = Steps {
    kind: Kind {
        name: "rfc2544_throughput",
        title: "throughput",
        is_judged: true,
        main: &["rate_l2_bps"],
        columns: &infos(COLUMNS),
        facts: |_| Vec::new(),
        blocks: &[Block::Table(&TABLE), Block::Chart(Chart::Reached(RATES))],
    },
    columns: COLUMNS,
};

const COLUMNS: &[Column<Throughput>; 10] = &[
    Info::new("direction", "direction", Unit::Word).of(|found| found.way.to_string().into()),
    Info::new("frame_bytes", "frame", Unit::Bytes).of(|found| found.frame_bytes.into()),
    Info::new("rate_l1_bps", "rate (l1)", Unit::Rate)
        .interval()
        .metric(metric::RATE_L1)
        .of(|found| found.within(|rate| rate.at(Layer::L1))),
    Info::new("rate_l2_bps", "throughput (l2)", Unit::Rate)
        .better(Better::Higher)
        .metric(metric::RATE_L2)
        .of(|found| found.found.map(|rate| rate.at(Layer::L2)).into()),
    Info::new("rate_fps", "frames/s", Unit::PerSecond)
        .interval()
        .of(|found| found.within(|rate| rate.frames_per_second())),
    Info::new("percent_of_line", "of the line", Unit::Percent(2))
        .of(|found| found.percent_of_line().into()),
    Info::new("theoretical_fps", "theoretical", Unit::PerSecond)
        .of(|found| found.theoretical.map(|rate| rate.frames_per_second()).into()),
    Info::new("limit", "ended by", Unit::Word).of(|found| found.limit.to_string().into()),
    Info::new("goals", "goals", Unit::Parts(GOALS)).of(|found| {
        let goal = |(goal, result): &(Goal, GoalResult)| {
            Part::of(GOALS, GOAL, &OfLength(found.frame_bytes, *goal, *result))
        };
        Cell::Parts(found.goals.iter().map(goal).collect())
    }),
    Info::new("trials", "trials", Unit::Parts(TRIALS))
        .of(|found| Cell::parts(TRIALS, TRIAL, &found.trials)),
];

impl Throughput {
    /// With the ends of its interval, which may be known where no rate passed.
    fn within<T: Into<Cell>>(&self, of: impl Fn(FrameRate) -> T) -> Cell
    where
        Known<T>: Into<Cell>,
    {
        let rates = [self.found, self.at_least, self.at_most].map(|rate| rate.map(&of));
        let [found, at_least, at_most] = rates;
        Cell::known(found, [at_least, at_most])
    }
}

//= rfc2544 26.1
const RATES: Reached = Reached {
    caption: "Throughput by frame length",
    unit: "frames/s",
    across: Drawn { field: "frame_bytes", words: "frame (bytes)" },
    possible: Drawn { field: "theoretical_fps", words: "theoretical" },
    reached: Drawn { field: "rate_fps", words: "throughput" },
};

//= rfc2544 26.1
static TABLE: Table = Table {
    caption: |_| "Throughput".into(),
    rows: Row::alone,
    columns: &[
        Shown::Field("direction"),
        Shown::Field("frame_bytes"),
        Shown::Figure("frames/s", |row| row.value("rate_fps")),
        Shown::Field("theoretical_fps"),
        Shown::As("rate_l2_bps", "rate (l2)"),
        Shown::Figure("rate (l1)", |row| row.value("rate_l1_bps")),
        Shown::Field("percent_of_line"),
        Shown::Limit("ended by", ended_by, |row| row.word("limit") == "tester"),
        Shown::Result,
    ],
    note: |_| String::new(),
};

fn ended_by(row: &Row) -> String {
    match row.word("limit") {
        "tester" => "tester limit",
        "rate_cap" => "rate cap",
        "line" => "line",
        "path_mtu" => "does not fit the path",
        _ => "loss",
    }
    .into()
}

/// A goal of an MLRsearch at a frame length in bytes.
struct OfLength(u32, Goal, GoalResult);

impl OfLength {
    fn fps(&self, rate_l1: Option<fp_model::Rate>) -> Cell {
        let rate = |rate_l1| FrameRate { frame_bytes: self.0, rate_l1 };
        rate_l1.map(|rate_l1| rate(rate_l1).frames_per_second()).into()
    }
}

const GOAL: &[Column<OfLength>; 10] = &[
    Info::new("loss_ratio", "loss ratio", Unit::Share(4))
        .of(|OfLength(_, goal, _)| goal.loss_ratio.into()),
    Info::new("exceed_ratio", "exceed ratio", Unit::Share(4))
        .of(|OfLength(_, goal, _)| goal.exceed_ratio.into()),
    Info::new("initial_s", "first trials", Unit::Seconds)
        .of(|OfLength(_, goal, _)| Cell::s(goal.initial_duration)),
    Info::new("final_s", "full trials", Unit::Seconds)
        .of(|OfLength(_, goal, _)| Cell::s(goal.final_duration)),
    Info::new("sum_s", "sum of trials", Unit::Seconds)
        .of(|OfLength(_, goal, _)| Cell::s(goal.duration_sum)),
    Info::new("width", "width", Unit::Share(4)).of(|OfLength(_, goal, _)| goal.width.into()),
    Info::new("relevant_lower_bound_fps", "relevant lower bound", Unit::PerSecond)
        .of(|goal| goal.fps(goal.2.lower)),
    Info::new("relevant_upper_bound_fps", "relevant upper bound", Unit::PerSecond)
        .of(|goal| goal.fps(goal.2.upper)),
    Info::new("conditional_throughput_fps", "conditional throughput", Unit::PerSecond)
        .of(|goal| goal.fps(goal.2.conditional_throughput)),
    Info::new("regular", "regular", Unit::Flag)
        .of(|OfLength(_, _, result)| result.is_regular.into()),
];

static GOALS: &[Info] = &infos(GOAL);
