//! What may go wrong with the hosts at both ends of a simulation, and with the host of an emulated
//! network. Everything is plain data; the default is a quiet host.
//!
//! Late frames are caught up by the engine's rules (`stream::PendingFrames`, `MovedBursts`), and
//! hosts report at the engine's instants. Each self-check of the tester has a trouble that triggers
//! it (`crates/fullpipe/tests/pure/host_trouble`).

use alloc::vec::Vec;
use core::time::Duration;

use crate::link::random::{Purpose, Random};

/// The troubles of all hosts of a trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trouble {
    pub near: HostTrouble,
    pub far: HostTrouble,
    /// The program that emulates the network stands still: frames that should leave the network
    /// meanwhile leave it when it goes on, and the observation says how late they were. `None` for a
    /// real network, which says nothing of itself. [`Stops::part`] and [`Stops::is_counted`] are
    /// without meaning here.
    pub network: Option<Stops>,
}

/// The troubles of the host at one end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostTrouble {
    /// When the host stands still.
    pub stops: Vec<Stops>,
    /// At most how many packets its threads send in a second; `None`: any number. Frames, bursts,
    /// probes, connections of the program's own TCP and the segments of the kernel's TCP count.
    pub sends_per_second: Option<u64>,
    /// How it takes packets from its kernel; `None`: at once, however many there are.
    pub intake: Option<Intake>,
    pub clock: ClockTrouble,
    /// Of the packets that its own TCP receives, one in this many has its payload changed after the
    /// checksum was found right, as by bad memory; `None`: none.
    pub payload_spoilt_one_in: Option<u64>,
    /// So many frames more than have arrived it claims to have received, in each flow of frames.
    pub claims_frames: u64,
}

/// Intervals in which a host, or a part of it, stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stops {
    /// When the first one begins, counted from the beginning of the simulation: its clock goes on
    /// from trial to trial.
    pub from: Duration,
    /// How long each lasts.
    pub lasts: Duration,
    /// From the beginning of one to that of the next, more than `lasts`; `None`: there is one.
    pub every: Option<Duration>,
    pub part: Part,
    /// Whether the host's statistics count the time as waited for a processor. They do where other
    /// programs had it; they do not where a process was stopped by a signal, or a virtual machine
    /// by its host.
    pub is_counted: bool,
}

/// What of a host stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The threads of the program. The kernel goes on: it stamps what arrives, keeps it for as long
    /// as there is room, acknowledges TCP until the receive buffer is full, and sends what the
    /// program has written.
    Program,
    /// Everything: packets that arrive wait in the network interface and are stamped when the host
    /// goes on.
    Host,
}

/// How a program takes packets from its kernel, and how many wait for it at most. What finds no room
/// is dropped by the host. It concerns frames, bursts, probes and the program's own TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intake {
    /// What the program takes in a second at most.
    pub packets_per_second: u64,
    /// Packets for which there is room in the ring or the socket buffer.
    pub room_packets: u64,
    /// Whether the host says how many it dropped. One that does not is taken for a network that
    /// loses.
    pub is_counted: bool,
}

/// How far the clock of a host is from true time. Times count from the start of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockTrouble {
    /// The agreed start of each trial is by this clock so many nanoseconds in the past already, or
    /// still to come: what the ends do not know of each other's clocks.
    pub ahead_ns: i64,
    /// By how many nanoseconds in a second the clock is too fast; negative: too slow.
    pub drift_ns_per_s: i64,
    /// Once in the simulation arrivals are stamped wrongly.
    pub stamps: Option<WrongStamps>,
    /// By how much at most, as the ends claim, their times are apart; `None`: the truth. The greater
    /// of both ends' claims counts.
    pub claimed_error: Option<Duration>,
}

/// The wall clock, by which the kernel stamps arrivals, was set: until the receiver has compared it
/// with the monotonic clock again, arrivals are wrong by as much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongStamps {
    /// Since the beginning of the simulation.
    pub from: Duration,
    pub lasts: Duration,
    /// Too late; negative: too early.
    pub by_ns: i64,
}

/// How bad the troubles are that are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Those of an ordinary host that does other things too: stops of up to 4 ms, a clock that is
    /// apart by microseconds and drifts by up to 20 ppm.
    Mild,
    /// Those of a virtual machine on a crowded host: stops of up to 100 ms several times a second,
    /// buffers that overflow, a clock that drifts by up to 200 ppm.
    Heavy,
}

impl Trouble {
    /// Troubles of both ends, the same for the same seed.
    pub fn drawn(seed: u64, severity: Severity) -> Self {
        Self {
            near: HostTrouble::drawn(seed, severity),
            far: HostTrouble::drawn(!seed, severity),
            network: None,
        }
    }
}

impl HostTrouble {
    /// An honest host: what goes wrong is counted, and the clocks' error is the true one.
    pub fn drawn(seed: u64, severity: Severity) -> Self {
        let mut random = Random::new(seed, 0, Purpose::Trouble);
        let mut between = |least: u64, most: u64| least + random.next() % (most - least + 1);
        let (stop_us, every_ms, drift, ahead_ns, takes) = match severity {
            Severity::Mild => ((50, 4_000), (40, 2_000), 20_000, 20_000, (2_000_000, 4_000_000)),
            Severity::Heavy => {
                ((1_000, 100_000), (150, 1_000), 200_000, 2_000_000, (100_000, 1_000_000))
            }
        };
        let part = if between(0, 1) == 0 { Part::Program } else { Part::Host };
        let stops = Stops {
            from: Duration::from_micros(between(0, 1_000_000)),
            lasts: Duration::from_micros(between(stop_us.0, stop_us.1)),
            every: Some(Duration::from_millis(between(every_ms.0, every_ms.1))),
            part,
            is_counted: true,
        };
        let either_way = |drawn: u64, most: i64| drawn as i64 - most;
        Self {
            stops: Vec::from([stops]),
            intake: Some(Intake {
                packets_per_second: between(takes.0, takes.1),
                room_packets: between(500, 10_000),
                is_counted: true,
            }),
            clock: ClockTrouble {
                ahead_ns: either_way(between(0, 2 * ahead_ns as u64), ahead_ns),
                drift_ns_per_s: either_way(between(0, 2 * drift as u64), drift),
                ..ClockTrouble::default()
            },
            ..Self::default()
        }
    }
}

impl Stops {
    /// When the stop is over that covers this time, if one does.
    pub(crate) fn end_of_stop_at(&self, time: Duration) -> Option<Duration> {
        let since = time.checked_sub(self.from)?;
        let begun = self.from
            + self.every.map_or(Duration::ZERO, |every| {
                every * (since.as_nanos() / every.as_nanos().max(1)) as u32
            });
        let end = begun + self.lasts;
        (time < end).then_some(end)
    }

    /// How much of this interval it stood still.
    pub(crate) fn within(&self, from: Duration, until: Duration) -> Duration {
        self.by(until).saturating_sub(self.by(from))
    }

    /// How long it has stood still in all by this time.
    fn by(&self, time: Duration) -> Duration {
        let since = time.saturating_sub(self.from);
        let Some(every) = self.every else { return since.min(self.lasts) };
        let whole = (since.as_nanos() / every.as_nanos().max(1)) as u32;
        self.lasts * whole + (since - every * whole).min(self.lasts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    const STOPS: Stops = Stops {
        from: ms(10),
        lasts: ms(4),
        every: Some(ms(40)),
        part: Part::Program,
        is_counted: true,
    };

    #[test]
    fn a_stop_covers_its_beginning_and_not_its_end() {
        let ends = [9, 10, 13, 14, 49, 50, 53].map(|at| STOPS.end_of_stop_at(ms(at)));
        let [first, second] = [Some(ms(14)), Some(ms(54))];
        assert_eq!(ends, [None, first, first, None, None, second, second]);
        let once = Stops { every: None, ..STOPS };
        assert_eq!(once.end_of_stop_at(ms(50)), None);
    }

    #[test]
    fn stops_add_up_to_their_share_of_an_interval() {
        // From 10 to 14, 50 to 54 and 90 to 94 ms.
        assert_eq!(STOPS.within(ms(0), ms(100)), ms(12));
        assert_eq!(STOPS.within(ms(12), ms(51)), ms(3));
        assert_eq!(Stops { every: None, ..STOPS }.within(ms(0), ms(100)), ms(4));
    }

    #[test]
    fn the_same_seed_draws_the_same_troubles() {
        let drawn = |seed| Trouble::drawn(seed, Severity::Heavy);
        assert_eq!(drawn(3), drawn(3));
        assert_ne!(drawn(3), drawn(4));
        assert_ne!(drawn(3).near, drawn(3).far);
    }
}
