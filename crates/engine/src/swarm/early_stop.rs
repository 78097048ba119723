//! The end of a shard's connections before their time: closed, waited for, and no longer than need be.

use std::time::Duration;

use fp_model::{StoppedConnections, Time};
use fp_net::swarm::{Counters, Role, Stop};

use super::Driver;
use crate::frame_io::FrameIo;

/// What resets may take to the other end; nobody answers them.
const RESETS_ON_THEIR_WAY: Duration = Duration::from_millis(200);

/// A shard that was told to stop.
#[derive(Debug)]
pub(super) struct EarlyStop {
    stop: Stop,
    role: Role,
    at: Time,
    active: u32,
    /// Since when it depends on the other end alone.
    waiting_since: Option<Time>,
}

impl EarlyStop {
    pub(super) fn begin<Port: FrameIo>(
        driver: &mut Driver<Port>,
        (role, stop): (Role, Stop),
        now: Time,
    ) -> Self {
        let active = driver.shard().counters().active;
        driver.stop(stop);
        Self { stop, role, at: now, active, waiting_since: None }
    }

    /// Whether all is closed, or what is left has been waited for: `settle` at most.
    pub(super) fn is_over<Port: FrameIo>(
        &mut self,
        driver: &Driver<Port>,
        settle: Duration,
        now: Time,
    ) -> bool {
        if driver.is_over() {
            return true;
        }
        let Counters { active, pending, .. } = *driver.shard().counters();
        // The client has its own to close first, at a rate; the server is told when that is done.
        if self.role == Role::Client && (active > 0 || pending > 0) {
            return false;
        }
        let patience = match self.stop {
            Stop::RampDown => settle,
            Stop::Abort => settle.min(RESETS_ON_THEIR_WAY),
        };
        now.since(*self.waiting_since.get_or_insert(now)) >= patience
    }

    /// What came of it, `now` that it is over.
    pub(super) fn ended(&self, start: Time, now: Time) -> StoppedConnections {
        StoppedConnections {
            at: self.at.since(start),
            until: now.since(start),
            active: self.active,
            is_abort: self.stop == Stop::Abort,
        }
    }
}

/// What came of two shards of the same end; one of them may have been done before it was told.
pub(super) fn beside(
    one: Option<StoppedConnections>,
    other: Option<StoppedConnections>,
) -> Option<StoppedConnections> {
    let (Some(one), Some(other)) = (one, other) else { return one.or(other) };
    Some(StoppedConnections {
        at: one.at.min(other.at),
        until: one.until.max(other.until),
        active: one.active.saturating_add(other.active),
        is_abort: one.is_abort || other.is_abort,
    })
}
