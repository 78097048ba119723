//! What a run of very many connections found.

use fp_model::{ConnectionsReport, Direction, Family, Rate};

use super::limit::Limit;
use crate::verdict;

/// Steps, verdict, self-checks and remarks of a run.
pub type Report = verdict::Report<Step>;

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    Stress(StressStep),
}

/// How the connections fared.
#[derive(Clone, Debug, PartialEq)]
pub struct StressStep {
    pub direction: Direction,
    pub family: Family,
    /// The largest number that a stage asks for.
    pub connections_target: u32,
    /// Payload that arrived, both ways together.
    pub good_bytes: u64,
    /// Of that, over the time of all stages, or of those until it was stopped.
    pub throughput_l4: Rate,
    /// Where the number stopped growing, if it did before the one asked for.
    pub limit: Option<Limit>,
    pub counted: ConnectionsReport,
}

impl StressStep {
    /// Of the connections that were asked for.
    pub fn failed_percent(&self) -> f64 {
        100.0 * self.counted.failed.total() as f64 / self.counted.attempted.max(1) as f64
    }

    pub const fn is_reached(&self) -> bool {
        self.counted.active_peak >= self.connections_target
    }
}
