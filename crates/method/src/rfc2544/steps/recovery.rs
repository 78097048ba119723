//! RFC 2544 section 26.5.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::figure::{
    Better, Block, Cell, Column, Info, Kind, Row, Shown, Steps, Table, Unit, infos,
};

use super::FrameRate;
use crate::rfc2544::Way;

/// Section 26.5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recovery {
    pub way: Way,
    pub overload: FrameRate,
    pub reduced: FrameRate,
    /// From the reduction to the last loss; `None` where the overload lost nothing either.
    pub recovery: Option<Duration>,
    pub lost_in_overload_frames: u64,
    pub lost_after_frames: u64,
    /// The most that a frame was late: by about twice that the recovery may be too long.
    pub sent_late_max: Duration,
    pub tester_limit: bool,
}

pub static RECOVERY: Steps<Recovery> = Steps {
    kind: Kind {
        name: "rfc2544_recovery",
        title: "recovery",
        is_judged: true,
        main: &["recovery_ms"],
        columns: &infos(COLUMNS),
        facts: |_| Vec::new(),
        blocks: &[Block::Table(&TABLE)],
    },
    columns: COLUMNS,
};

const COLUMNS: &[Column<Recovery>; 9] = &[
    Info::new("direction", "direction", Unit::Word).of(|found| found.way.to_string().into()),
    Info::new("frame_bytes", "frame", Unit::Bytes).of(|found| found.overload.frame_bytes.into()),
    Info::new("overload_fps", "overload (frames/s)", Unit::PerSecond)
        .of(|found| found.overload.frames_per_second().into()),
    Info::new("reduced_fps", "reduced (frames/s)", Unit::PerSecond)
        .of(|found| found.reduced.frames_per_second().into()),
    Info::new("recovery_ms", "recovery", Unit::Milliseconds)
        .better(Better::Lower)
        .of(|found| found.recovery.map(Cell::ms).into()),
    Info::new("lost_in_overload_frames", "lost in the overload", Unit::Count)
        .of(|found| found.lost_in_overload_frames.into()),
    Info::new("lost_after_frames", "lost after it", Unit::Count)
        .of(|found| found.lost_after_frames.into()),
    Info::new("sent_late_max_ms", "sent late by", Unit::Milliseconds)
        .of(|found| Cell::ms(found.sent_late_max)),
    Info::new("tester_limit", "tester limit", Unit::Flag).of(|found| found.tester_limit.into()),
];

static TABLE: Table = Table {
    caption: |_| "System recovery".into(),
    rows: Row::alone,
    columns: &[
        Shown::Field("direction"),
        Shown::Field("frame_bytes"),
        Shown::Field("overload_fps"),
        Shown::Field("reduced_fps"),
        Shown::Figure("recovered after", |row| match row.number("recovery_ms") {
            Some(_) => row.shown("recovery_ms"),
            None => "– (nothing was lost)".into(),
        }),
        Shown::Words("", |row| match row.flag("tester_limit") {
            Some(true) => "tester limit".into(),
            Some(false) | None => String::new(),
        }),
        Shown::Result,
    ],
    note: |_| String::new(),
};
