//! What a run of flows found, step by step, and how documents have it.

mod flow;
mod profile;
mod tables;

use fp_model::figure::Row;

pub(super) use flow::{Arrived, shown};
pub use flow::{Carried, Connection, FLOW, FlowStep, Part, RateByLayer, Transport};
pub use profile::{Interval, Limit, PROFILE, ProfileStep};

use super::path::PathStep;
use crate::path::PATH_MTU;

/// Steps, verdict, self-checks and remarks of a run.
pub type Report = crate::verdict::Report<Step>;

#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a run has a handful of them")]
pub enum Step {
    Path(PathStep),
    Flow(FlowStep),
    Profile(ProfileStep),
}

impl Step {
    /// As documents have it.
    pub fn row(&self) -> Row {
        match self {
            Self::Path(path) => PATH_MTU.row_and(&path.mtu, [path.family.name().into()].into()),
            Self::Flow(flow) => FLOW.row(flow),
            Self::Profile(profile) => PROFILE.row(profile),
        }
    }
}
