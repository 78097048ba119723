//! What the user asks of a run of very many connections.

use core::fmt;
use core::time::Duration;

use fp_model::{ConnectionsLoad, ConnectionsStage, Direction, Dscp, Family};
use serde::{Deserialize, Serialize};

use crate::formula::seconds;

/// Every input of a run after defaults were filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Who opens: the near end uploads, the far end downloads.
    pub direction: Direction,
    pub family: Family,
    pub dscp: Dscp,
    pub load: ConnectionsLoad,
    /// Waited for the last connections to close.
    #[serde(rename = "settle_s", with = "seconds")]
    pub settle: Duration,
    pub criteria: Criteria,
}

/// Criteria beside those that always hold: the number of connections asked for is reached, and their traffic is
/// carried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Criteria {
    /// How far the number of open connections may be above or below the one to be held, in percent of it.
    pub held_tolerance_percent: f64,
    /// The most connections that may fail, in percent of those asked for.
    pub failed_max_percent: f64,
    /// The least number of connections established in the best second.
    #[serde(rename = "setup_rate_min_cps")]
    pub setup_rate_min: Option<u32>,
    #[serde(rename = "handshake_p99_max_s", with = "seconds::if_known")]
    pub handshake_p99_max: Option<Duration>,
}

impl Default for Criteria {
    fn default() -> Self {
        Self {
            held_tolerance_percent: 0.1,
            failed_max_percent: 0.1,
            setup_rate_min: None,
            handshake_p99_max: None,
        }
    }
}

/// Why a plan cannot be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanError {
    NoConnections,
    NoTime,
    TooLong { lasts: Duration },
    TooSlow { rate: u32, wanted: u32, possible: u32 },
    NoRate,
}

impl Plan {
    /// What a trial may last.
    pub const LASTS_MAX: Duration = Duration::from_secs(86_400);

    /// # Errors
    /// What of the plan cannot be run over any path.
    pub fn check(&self) -> Result<(), PlanError> {
        let load = &self.load;
        let (wanted, lasts) = (load.connections_peak(), load.lasts());
        if wanted == 0 {
            return Err(PlanError::NoConnections);
        }
        if lasts.is_zero() {
            return Err(PlanError::NoTime);
        }
        if lasts > Self::LASTS_MAX {
            return Err(PlanError::TooLong { lasts });
        }
        match load.setup_rate_max {
            Some(0) => Err(PlanError::NoRate),
            Some(rate) => {
                let possible = most_by_rate(&load.stages, rate);
                if possible < wanted {
                    return Err(PlanError::TooSlow { rate, wanted, possible });
                }
                Ok(())
            }
            None => Ok(()),
        }
    }
}

/// How many connections there can be at most where so many are set up in a second: never more than
/// a stage asks for at its end.
fn most_by_rate(stages: &[ConnectionsStage], rate: u32) -> u32 {
    let (mut open, mut most) = (0_u32, 0_u32);
    for stage in stages {
        let added = u128::from(rate) * stage.lasts.as_nanos() / 1_000_000_000;
        let added = u32::try_from(added).unwrap_or(u32::MAX);
        open = open.saturating_add(added).min(stage.connections);
        most = most.max(open);
    }
    most
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoConnections => {
                f.write_str("no stage asks for a connection: ask for at least one")
            }
            Self::NoTime => f.write_str("the stages take no time: give them some"),
            Self::TooLong { lasts } => write!(
                f,
                "the stages take {} s together, and a trial lasts 24 h (86400 s) at most",
                lasts.as_secs()
            ),
            Self::TooSlow { rate, wanted, possible } => write!(
                f,
                "at {rate} connections/s the stages leave time for {possible} of {wanted} \
                 connections: allow more in a second, or give more time"
            ),
            Self::NoRate => f.write_str("at 0 connections/s none is ever set up: allow more"),
        }
    }
}

impl core::error::Error for PlanError {}
