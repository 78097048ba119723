//! One-way streams of numbered frames: when each is due, and what both ends make of those that travel.
//!
//! Both ends of the engine and those of the simulator keep count by the same code. It is told of
//! frames and of times since the start of the trial, by the clock of the end that it works for.
//!
//! Each frame says how many frames before it were never sent, so that a host that cannot keep up is
//! not taken for a network that loses. Random departures follow from the seed in the trial: both
//! ends, the simulation and a second run draw the same instants.

mod arrivals;
mod curve;
mod delays;
mod departures;
mod deviations;
mod losses;
mod moved;
mod pace_segments;
mod pending;
mod poisson;
mod report;
mod schedule;
mod sequence;
mod span;
mod writes;

pub use arrivals::{Arrival, ArrivalTally, DelayStatistics, ReceivedFrames};
pub use curve::DepartureCurve;
pub use departures::{DepartureTally, SentFrames};
pub use moved::{BURST_LATENESS_MAX, MovedBursts};
pub use pace_segments::PACE_SEGMENTS_MAX;
pub use pending::PendingFrames;
pub use report::frames_report;
pub use schedule::{Cursor, Due, Schedule};
pub use sequence::{Arrived, SeenSequences};
pub use writes::{PacedWrites, Unit};
