//! What two ends do when they no longer hear each other.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::in_json::{nanos, nanos_if_known};
use crate::{Load, TcpEngine, Trial};

/// How long a sender may go on without having heard its peer: three heartbeats, so that it stops
/// within a second of the peer's end, though the last heartbeat was on its way for a while.
pub const DEAD_MAN: Duration = Duration::from_millis(750);
/// A peer that has been silent for this long is given up, unless the trial that runs is to go on.
pub const GIVEN_UP_AFTER: Duration = Duration::from_millis(2500);

/// A time in which one end did not hear the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interruption {
    /// When the attempt at the trial began, counted as [`Observation::began`](crate::Observation).
    #[serde(
        rename = "began_ns",
        with = "nanos_if_known",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub began: Option<Duration>,
    /// After the start of the attempt; zero also if it began before.
    #[serde(rename = "at_ns", with = "nanos")]
    pub at: Duration,
    #[serde(rename = "silent_ns", with = "nanos")]
    pub silent: Duration,
    /// The trial was broken off by it and repeated: the interruption is of the first attempt, and the
    /// observation of the second.
    #[serde(rename = "repeated")]
    pub is_repeated: bool,
}

impl Trial {
    /// Whether a far end that sends such a trial pauses while it does not hear the near end, so that
    /// the trial may go on through an outage.
    pub fn survives_silence(&self) -> bool {
        self.flows.iter().all(|flow| match &flow.load {
            Load::Frames(_) | Load::Probes(_) => true,
            Load::Tcp(load) => matches!(load.engine, TcpEngine::Kernel),
            Load::Bursts(_) | Load::Connections(_) => false,
        })
    }
}
