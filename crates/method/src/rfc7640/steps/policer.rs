//! A policer.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use fp_model::figure::{Better, Block, Column, Info, Kind, Row, Steps, Unit, infos};
use fp_model::{Direction, Rate};

use super::stateless::{self, BURSTS, Stateless};
use super::{BSA, DIRECTION, FRAME, Hunt, committed, hunt};
use crate::formula::bounds::Bounds;

/// Section 6.1.1.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicerStep {
    pub direction: Direction,
    pub frame_bytes: u32,
    pub cir_l2: Rate,
    pub cbs_bytes: u64,
    pub eir_l2: Rate,
    pub ebs_bytes: u64,
    /// Bursts no larger than the buckets.
    pub compliant: Stateless,
    /// Layer 2 rate of the frames of a burst, the smaller of those at both ends.
    pub burst_rate_l2: Option<Rate>,
    /// Bursts larger than the buckets and the tokens that come in meanwhile; `None` where bursts are no faster than
    /// the policer, which then drops nothing.
    pub excess: Option<Stateless>,
    pub hunt: Hunt,
    /// CIR and EIR together, in bits per second of layer 2; `None` where that cannot be told.
    pub rate: Option<Bounds>,
    /// The same of CBS and EBS, in bytes.
    pub depth: Option<Bounds>,
}

pub static POLICER: Steps<PolicerStep> = Steps {
    kind: Kind {
        name: "rfc7640_policer",
        title: "policer",
        is_judged: true,
        main: &["bsa_bytes"],
        columns: &infos(COLUMNS),
        facts,
        blocks: &[Block::Table(&BURSTS)],
    },
    columns: COLUMNS,
};

const COLUMNS: &[Column<PolicerStep>; 13] = &[
    DIRECTION.of(|step| step.direction.name().into()),
    FRAME.of(|step| step.frame_bytes.into()),
    CIR.of(|step| step.cir_l2.into()),
    CBS.of(|step| step.cbs_bytes.into()),
    EIR.of(|step| step.eir_l2.into()),
    EBS.of(|step| step.ebs_bytes.into()),
    Info::new("burst_rate_l2_bps", "rate within bursts (l2)", Unit::Rate)
        .of(|step| step.burst_rate_l2.into()),
    Info::new("compliant", "compliant", Unit::Part(stateless::INFOS))
        .of(|step| stateless::cell(&step.compliant)),
    Info::new("excess", "in excess", Unit::Part(stateless::INFOS))
        .of(|step| step.excess.as_ref().map(stateless::cell).into()),
    Info::new("hunt", "burst hunt", Unit::Part(hunt::INFOS)).of(|step| hunt::cell(&step.hunt)),
    BSA.better(Better::Neither).of(|step| step.hunt.bsa_bytes.into()),
    Info::new("rate_estimate_l2_bps", "rate of the policer (l2)", Unit::Rate)
        .better(Better::Neither)
        .interval()
        .of(|step| step.rate.into()),
    Info::new("depth_estimate_bytes", "bucket", Unit::Bytes)
        .better(Better::Neither)
        .interval()
        .of(|step| step.depth.into()),
];

pub(super) const CIR: Info = Info::new("cir_l2_bps", "CIR (l2)", Unit::Rate);
pub(super) const CBS: Info = Info::new("cbs_bytes", "CBS", Unit::Bytes);
pub(super) const EIR: Info = Info::new("eir_l2_bps", "EIR (l2)", Unit::Rate);
pub(super) const EBS: Info = Info::new("ebs_bytes", "EBS", Unit::Bytes);

fn facts(row: &Row) -> Vec<(&'static str, String)> {
    let asked = format!("{}, frames of {}", committed(row), row.shown("frame_bytes"));
    let known = |name, field| row.number(field).map(|_| (name, row.between(field)));
    let rate = known("rate of the policer", "rate_estimate_l2_bps");
    let rate = rate.map(|(name, text)| (name, format!("{text} l2")));
    let bucket = known("bucket", "depth_estimate_bytes");
    [Some(("policer", asked)), hunt::fact(row), rate, bucket].into_iter().flatten().collect()
}
