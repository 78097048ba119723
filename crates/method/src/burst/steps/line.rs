//! How fast the line in front of everything is.

use alloc::format;
use alloc::string::String;
use alloc::vec;

use fp_model::figure::{Column, Info, Kind, Row, Steps, Unit, infos};
use fp_model::{Direction, Rate};

/// How fast frames follow each other in a burst that the sender does not hold back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub direction: Direction,
    pub rate_l1: Rate,
    /// Where frames come unevenly it may be as fast as this.
    pub fastest_l1: Rate,
    /// With which it was measured.
    pub frame_bytes: u32,
}

pub static LINE: Steps<Line> = Steps {
    kind: Kind {
        name: "line",
        title: "line",
        is_judged: false,
        main: &["rate_l1_bps"],
        columns: &infos(COLUMNS),
        facts: |row| vec![("line", sentence(row))],
        blocks: &[],
    },
    columns: COLUMNS,
};

use crate::metric;

const COLUMNS: &[Column<Line>; 4] = &[
    Info::new("direction", "direction", Unit::Word).of(|line| line.direction.name().into()),
    Info::new("rate_l1_bps", "line (l1)", Unit::Rate)
        .metric(metric::RATE_L1)
        .of(|line| line.rate_l1.into()),
    Info::new("rate_l1_bps_at_most", "line at most (l1)", Unit::Rate)
        .of(|line| line.fastest_l1.into()),
    Info::new("frame_bytes", "frame", Unit::Bytes).of(|line| line.frame_bytes.into()),
];

fn sentence(row: &Row) -> String {
    let [rate, fastest] = ["rate_l1_bps", "rate_l1_bps_at_most"]
        .map(|field| row.number(field).map_or(0.0, |known| known.value));
    let faster = match fastest - rate > Unit::Rate.negligible(rate) {
        true => format!(", or up to {}", row.shown("rate_l1_bps_at_most")),
        false => String::new(),
    };
    format!("{} (l1){faster}", row.shown("rate_l1_bps"))
}
