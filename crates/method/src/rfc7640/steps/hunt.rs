//! The search for the longest burst without loss.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use fp_model::figure::{Cell, Column, Info, Part, Row, Unit, infos};

use super::BSA;

/// The burst hunt of section 5.1.1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hunt {
    /// BSA: the largest burst without loss; `None` where every burst lost frames.
    pub bsa_bytes: Option<u64>,
    /// Whether a larger burst lost frames; otherwise the BSA is a lower bound.
    pub is_limit: bool,
    /// Bursts in the order in which they were tried.
    pub trials: Vec<HuntTrial>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HuntTrial {
    pub burst_bytes: u64,
    pub lost_frames: u64,
}

pub(super) static INFOS: &[Info] = &infos(COLUMNS);

const COLUMNS: &[Column<Hunt>; 3] = &[
    BSA.of(|hunt| hunt.bsa_bytes.into()),
    Info::new("is_limit", "is the limit", Unit::Flag).of(|hunt| hunt.is_limit.into()),
    Info::new("trials", "trials", Unit::Parts(TRIALS))
        .of(|hunt| Cell::parts(TRIALS, TRIAL, &hunt.trials)),
];

static TRIALS: &[Info] = &infos(TRIAL);
const TRIAL: &[Column<HuntTrial>; 2] = &[
    Info::new("burst_bytes", "burst", Unit::Bytes).of(|trial| trial.burst_bytes.into()),
    Info::new("lost_frames", "lost", Unit::Count).of(|trial| trial.lost_frames.into()),
];

pub(super) fn cell(hunt: &Hunt) -> Cell {
    Cell::part(INFOS, COLUMNS, hunt)
}

/// The burst size achieved, of a step or of one of its classes.
pub(super) fn achieved(of: &Part) -> Option<String> {
    let hunt = of.part("hunt")?;
    let at_least = if hunt.flag("is_limit") == Some(true) { "" } else { "at least " };
    let trials = hunt.parts("trials").len();
    Some(format!("{at_least}{} (burst hunt of {trials} trials)", hunt.shown("bsa_bytes")))
}

/// The same as a fact.
pub(super) fn fact(row: &Row) -> Option<(&'static str, String)> {
    Some(("burst size achieved (BSA)", achieved(row)?))
}
