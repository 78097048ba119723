//! The ground truth of a lab: what became of every frame, including those the lab itself lost.
//!
//! The links count frames by cause, per direction and DSCP. `--truth FILE` writes the counts, so
//! that a measurement can be compared with what the network did.

use fp_net::link::{LatenessSummary, Truth};
use serde::Serialize;

use super::GatewayTruth;

/// Both directions of an emulated path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabTruth {
    pub schema: &'static str,
    pub network: String,
    pub seed: u64,
    pub near_to_far: DirectionTruth,
    pub far_to_near: DirectionTruth,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<GatewayTruth>,
}

/// What the links of one direction did, and what went wrong beside them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionTruth {
    #[serde(flatten)]
    pub links: Truth,
    /// Frames sent into the path that the lab was too busy to take: they are not in `offered`.
    pub lab_overrun_frames: u64,
    /// Frames that passed the path and that the receiving host was too busy to take: they are in
    /// `passed`.
    pub lab_undelivered_frames: u64,
    /// How late frames were released.
    pub lateness: LatenessSummary,
}

impl LabTruth {
    pub(super) const SCHEMA: &'static str = "fullpipe.truth/1";

    /// Whether the network did what its file says and lost nothing else.
    pub fn is_faithful(&self) -> bool {
        self.frames_lost_by_the_lab() == 0
    }

    /// Frames that no link of the network dropped and that got lost all the same.
    pub fn frames_lost_by_the_lab(&self) -> u64 {
        let ways = [&self.near_to_far, &self.far_to_near];
        ways.map(|way| way.lab_overrun_frames + way.lab_undelivered_frames).iter().sum()
    }
}
