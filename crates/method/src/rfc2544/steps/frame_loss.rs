//! RFC 2544 section 26.3.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use fp_model::figure::{
    Block, Cell, Chart, Column, Curves, Drawn, Info, Kind, Part, Row, Shown, Steps, Table, Unit,
    and, infos,
};

use super::trial::{INFOS, TRIAL};
use super::{FrameRate, TrialRow};
use crate::rfc2544::Way;

/// Section 26.3.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameLoss {
    pub way: Way,
    pub frame_bytes: u32,
    /// The rate that stands for 100 %.
    pub highest: FrameRate,
    /// From the highest rate downwards.
    pub trials: Vec<TrialRow>,
}

pub static FRAME_LOSS: Steps<FrameLoss> = Steps {
    kind: Kind {
        name: "rfc2544_frame_loss",
        title: "frame loss",
        is_judged: true,
        main: &[],
        columns: &infos(COLUMNS),
        facts: |_| Vec::new(),
        blocks: &[Block::Table(&TABLE), Block::Chart(Chart::Curves(LOSSES))],
    },
    columns: COLUMNS,
};

const COLUMNS: &[Column<FrameLoss>; 4] = &[
    Info::new("direction", "direction", Unit::Word).of(|found| found.way.to_string().into()),
    Info::new("frame_bytes", "frame", Unit::Bytes).of(|found| found.frame_bytes.into()),
    Info::new("highest_fps", "highest (frames/s)", Unit::PerSecond)
        .of(|found| found.highest.frames_per_second().into()),
    Info::new("trials", "trials", Unit::Parts(TRIALS)).of(|found| {
        let trial = |trial: &TrialRow| {
            let Part { mut cells, .. } = Part::of(INFOS, TRIAL, trial);
            cells.push(trial.offered.percent_of(found.highest.rate_l1).into());
            Part { columns: TRIALS, cells }
        };
        Cell::Parts(found.trials.iter().map(trial).collect())
    }),
];

static TRIALS: &[Info] = &and::<_, _, 1, 16>(
    INFOS,
    &[Info::new("percent_of_highest", "of the highest", Unit::Percent(0))],
);

//= rfc2544 26.3
const LOSSES: Curves = Curves {
    caption: "Frame loss by offered rate",
    points: "trials",
    across: Drawn { field: "percent_of_highest", words: "offered (% of the highest rate)" },
    up: Drawn { field: "loss_percent", words: "lost (%)" },
    name: "frame_bytes",
};

//= rfc2544 26.3
/// One row for each length.
static TABLE: Table = Table {
    caption: |_| "Frame loss".into(),
    rows: Row::alone,
    columns: &[
        Shown::Field("direction"),
        Shown::Field("frame_bytes"),
        Shown::Field("highest_fps"),
        Shown::Words("lost at each share of the highest rate", shares),
        Shown::Result,
    ],
    note: |_| String::new(),
};

fn shares(row: &Row) -> String {
    let trial = |trial: &Part| {
        let limit = if trial.flag("tester_limit") == Some(true) { " (tester limit)" } else { "" };
        format!("{}: {}{limit}", trial.shown("percent_of_highest"), trial.shown("loss_percent"))
    };
    row.parts("trials").iter().map(trial).collect::<Vec<_>>().join(", ")
}
