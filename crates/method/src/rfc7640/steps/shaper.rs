//! A shaper.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::figure::{
    Better, Block, Cell, Column, Info, Kind, Part, Row, Steps, Unit, and, cells, infos,
};
use fp_model::{Direction, Rate};

use super::stateful::{self, PATTERNS, Stateful};
use super::stateless::{self, BURSTS, Stateless};
use super::{DIRECTION, FRAME, QUEUE_BYTES, shaped};

/// What was found of a shaper (section 6.3.1).
#[derive(Clone, Debug, PartialEq)]
pub struct ShaperStep {
    pub direction: Direction,
    pub frame_bytes: u32,
    pub rate_l2: Rate,
    pub bc_bytes: u64,
    pub be_bytes: u64,
    pub queue_bytes: u64,
    pub stateless: Stateless,
    pub trains: Trains,
    pub stateful: Vec<Stateful>,
}

/// The trains of frames that leave a shaper: medians of all runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trains {
    /// SR: layer 2 rate of the second half of a burst.
    pub rate_l2: Option<Rate>,
    /// Bytes received of a burst beyond that rate: an estimate of Bc and Be together.
    pub bucket_bytes: Option<u64>,
    /// The smallest of these estimates of all runs.
    pub bucket_least_bytes: Option<u64>,
    /// Bytes that leave back to back after a pause.
    pub first_train_bytes: Option<u64>,
    /// SBB: bytes that leave back to back afterwards.
    pub train_bytes: Option<u64>,
    /// SBI: from the start of such a train to the start of the next.
    pub train_interval: Option<Duration>,
}

pub static SHAPER: Steps<ShaperStep> = Steps {
    kind: Kind {
        name: "rfc7640_shaper",
        title: "shaper",
        is_judged: true,
        main: &["sr_l2_bps"],
        columns: &and::<_, _, 6, 14>(&infos(COLUMNS), &infos(TRAIN)),
        facts,
        blocks: &[Block::Table(&BURSTS), Block::Table(&PATTERNS)],
    },
    columns: COLUMNS,
};

pub(super) fn row(step: &ShaperStep) -> Row {
    SHAPER.row_and(step, cells(TRAIN, &step.trains).collect())
}

const COLUMNS: &[Column<ShaperStep>; 8] = &[
    DIRECTION.of(|step| step.direction.name().into()),
    FRAME.of(|step| step.frame_bytes.into()),
    RATE.of(|step| step.rate_l2.into()),
    BC.of(|step| step.bc_bytes.into()),
    BE.of(|step| step.be_bytes.into()),
    QUEUE_BYTES.of(|step| step.queue_bytes.into()),
    Info::new("stateless", "bursts", Unit::Part(stateless::INFOS))
        .of(|step| stateless::cell(&step.stateless)),
    Info::new("stateful", "TCP patterns", Unit::Parts(stateful::INFOS))
        .of(|step| stateful::cell(&step.stateful)),
];

pub(super) const RATE: Info = Info::new("rate_l2_bps", "shaper rate, configured (l2)", Unit::Rate);
pub(super) const BC: Info = Info::new("bc_bytes", "Bc", Unit::Bytes);
pub(super) const BE: Info = Info::new("be_bytes", "Be", Unit::Bytes);

pub(super) static TRAINS: &[Info] = &infos(TRAIN);
const TRAIN: &[Column<Trains>; 6] = &[
    Info::new("sr_l2_bps", "shaper rate (l2)", Unit::Rate)
        .better(Better::Neither)
        .of(|trains| trains.rate_l2.into()),
    Info::new("first_train_bytes", "at first together", Unit::Bytes)
        .of(|trains| trains.first_train_bytes.into()),
    Info::new("bucket_estimate_bytes", "shaper bucket", Unit::Bytes)
        .of(|trains| trains.bucket_bytes.into()),
    Info::new("bucket_estimate_least_bytes", "shaper bucket at least", Unit::Bytes)
        .of(|trains| trains.bucket_least_bytes.into()),
    Info::new("sbb_bytes", "SBB", Unit::Bytes).of(|trains| trains.train_bytes.into()),
    Info::new("sbi_us", "SBI", Unit::Microseconds)
        .of(|trains| trains.train_interval.map(Cell::us).into()),
];

pub(super) fn trains_cell(trains: &Trains) -> Cell {
    Cell::part(TRAINS, TRAIN, trains)
}

fn facts(row: &Row) -> Vec<(&'static str, String)> {
    let asked = format!("{}, frames of {}", shaped(row), row.shown("frame_bytes"));
    [("shaper", asked), ("shaper rate (SR)", found(row))].into()
}

/// Its rate, its trains and its bucket, of a step or of one of its classes.
pub(super) fn found(trains: &Part) -> String {
    let [rate, train, interval, first, bucket] =
        ["sr_l2_bps", "sbb_bytes", "sbi_us", "first_train_bytes", "bucket_estimate_bytes"]
            .map(|field| trains.shown(field));
    format!(
        "{rate} l2, SBB {train} each SBI {interval}; at first {first} together, as from a bucket of {bucket}"
    )
}
