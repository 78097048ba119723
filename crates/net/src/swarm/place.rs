//! Where a connection lives, and the list of places that are free.

use fp_model::Time;

use crate::tcp::Connection;
use crate::tcp::connection::State;

/// A connection with what its application and its shard know of it.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) connection: Option<Connection>,
    /// When the connection was asked for, in microseconds; once it is established, when that was, in
    /// ticks.
    pub(super) since: u32,
    /// When the application does something next, in ticks, or of a client that waits for a response
    /// when it asked, in microseconds. Of a free place, the one that is free next.
    pub(super) due: u32,
    /// Of a message that arrives, what is missing.
    pub(super) left: u32,
    /// Which of the place's address pairs the connection has; of a translated client, its port.
    pub(super) turn: u16,
    pub(super) phase: Phase,
    /// Its place in the mix.
    pub(super) behaviour: u8,
}

const _: () = assert!(size_of::<Place>() <= 80, "with 12 bytes of the wheel, less than 96 in all");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Free,
    /// A connection has failed here, and the next one is not tried at once.
    Resting,
    /// Asked for and not established.
    Pending,
    Open,
    /// Open until another is established in its stead.
    Retiring,
    /// One end has closed it.
    Closing,
}

impl Place {
    pub(super) const fn new(turn: u16) -> Self {
        Self { connection: None, since: 0, due: 0, left: 0, turn, phase: Phase::Free, behaviour: 0 }
    }

    pub(super) fn state(&self) -> Option<State> {
        self.connection.as_ref().map(Connection::state)
    }

    pub(super) const fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Retiring)
    }
}

/// Free places: those that were never used in their order, then whichever has been free longest.
#[derive(Debug)]
pub(super) struct FreePlaces {
    fresh: u32,
    first: u32,
    last: u32,
}

const NOBODY: u32 = u32::MAX;

impl FreePlaces {
    pub(super) const fn new() -> Self {
        Self { fresh: 0, first: NOBODY, last: NOBODY }
    }

    pub(super) fn take(&mut self, places: &[Place]) -> Option<u32> {
        if (self.fresh as usize) < places.len() {
            self.fresh += 1;
            return Some(self.fresh - 1);
        }
        let first = (self.first != NOBODY).then_some(self.first)?;
        self.first = places[first as usize].due;
        Some(first)
    }

    pub(super) fn is_empty(&self, places: &[Place]) -> bool {
        self.fresh as usize == places.len() && self.first == NOBODY
    }

    pub(super) fn give(&mut self, index: u32, places: &mut [Place]) {
        places[index as usize].due = NOBODY;
        if self.first == NOBODY {
            self.first = index;
        } else {
            places[self.last as usize].due = index;
        }
        self.last = index;
    }
}

/// Instants in few bits, on circles of 49 days and of 71 minutes.
pub(super) const fn tick(now: Time) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}

/// The first tick that does not begin before.
pub(super) const fn tick_after(at: Time) -> u32 {
    at.as_nanos().div_ceil(1_000_000) as u32
}

pub(super) const fn micros(now: Time) -> u32 {
    (now.as_nanos() / 1000) as u32
}
