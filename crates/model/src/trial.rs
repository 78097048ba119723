//! A trial is a value: what to offer to the network, in which direction, for how long.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Dscp, Ecn, FrameSizes, PacketLayout, Rate};

/// One trial in the sense of RFC 2544 section 23: all of its flows at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// What the trial is for, in words for whoever watches.
    pub name: String,
    pub flows: Vec<FlowSpec>,
    pub timing: Timing,
}

/// The phases of a trial, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// Left out of the figures: slow start, learning, buckets draining, queues filling.
    #[serde(rename = "warm_up_ns", with = "nanos")]
    pub warm_up: Duration,
    /// What is measured.
    #[serde(rename = "steady_ns", with = "nanos")]
    pub steady: Duration,
    /// Waited for late frames and for the path to fall idle.
    #[serde(rename = "settle_ns", with = "nanos")]
    pub settle: Duration,
}

impl Timing {
    const SLOT: Duration = Duration::from_millis(50);
    const SLOTS_MAX: u128 = 2400;

    /// The slots of a series: both ends cut a trial at the same instants.
    ///
    /// Warm-up and steady time are each divided evenly into slots of about 50 ms, longer ones in a
    /// trial so long that its series would have more than 2,400; what comes after is one slot.
    pub fn grid(&self) -> Vec<Slot> {
        let slots_max = Self::SLOT.as_nanos() * Self::SLOTS_MAX;
        let stretch = (self.warm_up + self.steady).as_nanos().div_ceil(slots_max).max(1);
        let slot = Self::SLOT.as_nanos() * stretch;
        let phase = |from: Duration, lasts: Duration, steady: bool| {
            let count = lasts.as_nanos().div_ceil(slot) as u32;
            let cut = move |k: u32| from + lasts * k / count;
            (0..count).map(move |k| Slot { start: cut(k), end: cut(k + 1), steady })
        };
        let active = self.warm_up + self.steady;
        phase(Duration::ZERO, self.warm_up, false)
            .chain(phase(self.warm_up, self.steady, true))
            .chain([Slot { start: active, end: active + self.settle, steady: false }])
            .collect()
    }
}

impl Timing {
    const BEAT: Duration = Duration::from_millis(200);
    const BEATS_MAX: usize = 100_000;

    /// The slots of [`Self::grid`], long ones divided evenly into beats of at most 200 ms: what a
    /// trial is watched by while it runs. In a trial of more than five hours they grow, to two
    /// seconds after two days; what comes after the steady time is one beat.
    pub fn beats(&self) -> Vec<Slot> {
        let (grid, count) = (self.grid(), self.beats_per_slot());
        let Some((after, active)) = grid.split_last() else { return grid };
        let beats = active.iter().flat_map(|slot| {
            let cut = |k: u32| slot.start + (slot.end - slot.start) * k / count;
            (0..count).map(move |k| Slot { start: cut(k), end: cut(k + 1), steady: slot.steady })
        });
        beats.chain([*after]).collect()
    }

    /// How many beats a slot of the active time has.
    pub fn beats_per_slot(&self) -> u32 {
        let grid = self.grid();
        let active = grid.split_last().map_or(&[][..], |(_, active)| active);
        let longest = active.iter().map(|slot| slot.end - slot.start).max().unwrap_or_default();
        let wanted = longest.as_nanos().div_ceil(Self::BEAT.as_nanos()).max(1);
        let most = Self::BEATS_MAX / active.len().max(1);
        wanted.min(most as u128) as u32
    }

    /// How long a beat of the steady time lasts at most.
    pub fn beat(&self) -> Duration {
        let steady = self.beats().into_iter().filter(|beat| beat.steady);
        steady.map(|beat| beat.end - beat.start).max().unwrap_or_default()
    }
}

/// One slot of a trial's series, from the start of the trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub start: Duration,
    pub end: Duration,
    pub steady: bool,
}

/// A group of like connections, or one stream of frames.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowSpec {
    pub direction: Direction,
    pub family: Family,
    pub dscp: Dscp,
    /// Of UDP: TCP negotiates it, and its end's host says whether it does.
    #[serde(default, skip_serializing_if = "Ecn::is_not_ect")]
    pub ecn: Ecn,
    /// VLAN tags that the network puts on each frame, up to [`FlowSpec::VLAN_TAGS_MAX`]; the frame
    /// lengths of [`Load::Frames`] and [`Load::Bursts`] include them.
    #[serde(default, skip_serializing_if = "is_none")]
    pub vlan_tags: u8,
    /// The near end's port, and the first of as many as there are connections; `None` leaves the
    /// choice to its host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near_port: Option<u16>,
    /// How long after the start of the trial the flow begins; nothing is due before.
    #[serde(
        rename = "begins_ns",
        with = "nanos",
        default,
        skip_serializing_if = "Duration::is_zero"
    )]
    pub begins: Duration,
    pub load: Load,
}

impl FlowSpec {
    /// A customer's and a provider's tag: IEEE 802.1ad.
    pub const VLAN_TAGS_MAX: u8 = 2;

    /// Untagged, from any port, without ECN, from the start of the trial.
    pub const fn new(direction: Direction, family: Family, dscp: Dscp, load: Load) -> Self {
        Self {
            direction,
            family,
            dscp,
            ecn: Ecn::NotEct,
            vlan_tags: 0,
            near_port: None,
            begins: Duration::ZERO,
            load,
        }
    }

    /// What the packets bear in the IPv4 TOS or IPv6 traffic class octet.
    pub const fn traffic_class(&self) -> u8 {
        self.dscp.traffic_class() | self.ecn.code_point()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_none(vlan_tags: &u8) -> bool {
    *vlan_tags == 0
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Far end to near end.
    Download,
    /// Near end to far end.
    Upload,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Download => "download",
            Self::Upload => "upload",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    Ipv4,
    Ipv6,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
        })
    }
}

impl Family {
    /// The IP header without options or extensions.
    pub const fn ip_header_bytes(self) -> u32 {
        match self {
            Self::Ipv4 => 20,
            Self::Ipv6 => 40,
        }
    }

    /// What every path must carry: RFC 791 and RFC 8200 section 5.
    pub const fn min_mtu_bytes(self) -> u32 {
        match self {
            Self::Ipv4 => 68,
            Self::Ipv6 => 1280,
        }
    }
}

/// The whole repertoire of the engines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Load {
    Probes(ProbesLoad),
    Frames(FramesLoad),
    Bursts(BurstsLoad),
    Tcp(TcpLoad),
}

/// Single packets that may not be fragmented, each answered by the other end.
///
/// The near end always sends first and measures the round trip. On an upload flow its packets have
/// `packet_bytes` and the answers `answer_bytes`; on a download flow it is the other way round, so
/// that the direction of the flow is the one in which the size is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbesLoad {
    /// Length of the IP packet in the direction of the flow.
    pub packet_bytes: u32,
    /// Length of the IP packet in the other direction.
    pub answer_bytes: u32,
    pub count: u32,
    #[serde(rename = "interval_ns", with = "nanos")]
    pub interval: Duration,
}

/// UDP frames with sequence numbers, one way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FramesLoad {
    /// From destination address to FCS.
    #[serde(rename = "frame_bytes")]
    pub sizes: FrameSizes,
    /// Layer 2 rates: a frame is due when all frames before it have taken their time.
    pub pace: Pace,
}

impl FramesLoad {
    /// What the ends write at the beginning of each payload: mark, number and time of departure.
    pub const HEAD_BYTES: u32 = 18;

    /// The shortest frame that has room for it: 64 bytes over IPv4, and 84 over IPv6, whose headers
    /// alone take 66 with those of Ethernet and UDP; 4 more for each VLAN tag.
    pub const fn least_frame_bytes(family: Family, vlan_tags: u8) -> u32 {
        PacketLayout::udp_headers_bytes(family, vlan_tags) + Self::HEAD_BYTES
    }
}

/// Numbered UDP frames back to back, again and again, one way.
///
/// The first burst is due when the warm-up ends; those due after the steady time are not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BurstsLoad {
    /// From destination address to FCS.
    pub frame_bytes: u32,
    pub frames_per_burst: u32,
    pub bursts: u32,
    /// From the beginning of one burst to that of the next.
    #[serde(rename = "period_ns", with = "nanos")]
    pub period: Duration,
    /// Layer 1 rate within a burst; `None` is as fast as the host puts frames on its line.
    #[serde(rename = "rate_l1_bps")]
    pub rate_l1: Option<Rate>,
}

/// When frames are due, or how fast an application writes, from when the flow begins.
///
/// Chance is drawn from a seed: both ends and the simulation come to the same instants.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Pace {
    /// As much as the connection takes; frames always have a rate.
    #[default]
    Unlimited,
    Constant {
        #[serde(rename = "rate_bps")]
        rate: Rate,
    },
    /// One rate after the other; the last one stays.
    Steps { steps: Vec<Step> },
    /// Frames, or writes of one segment, independent of each other at this rate in the mean.
    Poisson {
        #[serde(rename = "rate_bps")]
        rate: Rate,
        seed: u64,
    },
    /// On at this rate, then off, in turn, for times that are distributed exponentially.
    OnOff {
        #[serde(rename = "rate_bps")]
        rate: Rate,
        #[serde(rename = "on_mean_ns", with = "nanos")]
        on_mean: Duration,
        #[serde(rename = "off_mean_ns", with = "nanos")]
        off_mean: Duration,
        seed: u64,
    },
}

impl Pace {
    pub const fn is_unlimited(&self) -> bool {
        matches!(self, Self::Unlimited)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    #[serde(rename = "rate_bps")]
    pub rate: Rate,
    #[serde(rename = "lasts_ns", with = "nanos")]
    pub lasts: Duration,
}

/// A group of TCP connections that all behave alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TcpLoad {
    pub connections: u32,
    /// Receive window of each connection.
    pub window_bytes: u64,
    /// Largest segment without TCP options: path MTU less the IP header and 20.
    pub mss_bytes: u32,
    pub sender: Sender,
    pub congestion_control: CongestionControl,
    /// Pacing limit of each connection, counted in payload as Linux does.
    #[serde(rename = "pacing_bps")]
    pub pacing: Option<Rate>,
    /// Payload that a bulk application writes to each connection: by every instant as much as this
    /// pace asks for, or what there has been room for.
    #[serde(default, skip_serializing_if = "Pace::is_unlimited")]
    pub pace: Pace,
}

/// How the application behind a connection writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sender {
    /// Always has more to send.
    Bulk,
    /// Writes one window when the one before has been acknowledged.
    Burst,
    /// The micro bursts of RFC 7640 appendix B.
    MicroBurst(MicroBursts),
}

/// Writes of one size on each connection, at fixed times whatever became of the one before, then
/// nothing more. A single one is the transfer of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MicroBursts {
    pub burst_bytes: u64,
    pub bursts: u32,
    /// From one to the next; the first is written when the trial starts.
    #[serde(rename = "interval_ns", with = "nanos")]
    pub interval: Duration,
}

impl MicroBursts {
    pub const fn bytes(&self) -> u64 {
        self.burst_bytes.saturating_mul(self.bursts as u64)
    }

    /// What is to have been written so long after the start.
    pub fn bytes_due(&self, elapsed: Duration) -> u64 {
        let begun = elapsed.as_nanos().checked_div(self.interval.as_nanos());
        let bursts = begun.map_or(self.bursts, |begun| {
            u32::try_from(begun + 1).map_or(self.bursts, |begun| begun.min(self.bursts))
        });
        Self { bursts, ..*self }.bytes()
    }

    /// When the first burst after `elapsed` is due; `None` when there is none.
    pub fn next_due(&self, elapsed: Duration) -> Option<Duration> {
        let begun = elapsed.as_nanos().checked_div(self.interval.as_nanos())? + 1;
        let next = u32::try_from(begun).ok().filter(|next| *next < self.bursts)?;
        self.interval.checked_mul(next)
    }
}

impl fmt::Display for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Bulk => "bulk",
            Self::Burst => "burst",
            Self::MicroBurst(_) => "micro-burst",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CongestionControl {
    Cubic,
    Reno,
    Bbr,
}

impl CongestionControl {
    /// The kernel's name of it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Reno => "reno",
            Self::Bbr => "bbr",
        }
    }
}

impl fmt::Display for CongestionControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Durations as whole nanoseconds in JSON.
pub(crate) mod nanos {
    use core::time::Duration;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        (time.as_nanos() as u64).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_nanos)
    }
}

/// The same for a duration that may be unknown.
pub(crate) mod nanos_if_known {
    use core::time::Duration;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        time: &Option<Duration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(|time| time.as_nanos() as u64).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(from)?.map(Duration::from_nanos))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_cuts_the_phases_without_gap_or_overlap() {
        let timing = Timing {
            warm_up: Duration::from_millis(730),
            steady: Duration::from_secs(2),
            settle: Duration::from_millis(300),
        };
        let grid = timing.grid();
        assert!(grid.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(grid.iter().filter(|slot| slot.steady).count(), 40);
        let steady_from = grid.iter().find(|slot| slot.steady).unwrap().start;
        assert_eq!(steady_from, timing.warm_up);
        assert_eq!(grid.last().unwrap().end, Duration::from_millis(3030));
    }

    #[test]
    fn micro_bursts_are_due_one_each_interval_and_then_no_more() {
        let at = Duration::from_millis;
        let pattern = MicroBursts { burst_bytes: 1000, bursts: 3, interval: at(10) };
        let due = [0, 9, 10, 20, 1000].map(|ms| pattern.bytes_due(at(ms)));
        assert_eq!(due, [1000, 1000, 2000, 3000, 3000]);
        let next = [0, 9, 10, 20].map(|ms| pattern.next_due(at(ms)));
        assert_eq!(next, [Some(at(10)), Some(at(10)), Some(at(20)), None]);
        let at_once = MicroBursts { interval: Duration::ZERO, ..pattern };
        assert_eq!((at_once.bytes_due(at(0)), at_once.next_due(at(0))), (3000, None));
    }

    #[test]
    fn a_day_has_no_more_slots_than_two_minutes() {
        let day = Timing {
            warm_up: Duration::ZERO,
            steady: Duration::from_secs(86_400),
            settle: Duration::ZERO,
        };
        assert!(day.grid().len() <= 2401);
    }

    #[test]
    fn beats_divide_the_slots_of_long_trials_and_are_those_of_short_ones() {
        let timing = |warm_up, steady| Timing {
            warm_up: Duration::from_secs(warm_up),
            steady: Duration::from_secs(steady),
            settle: Duration::from_secs(1),
        };
        assert_eq!(timing(2, 60).beats(), timing(2, 60).grid());
        // An hour has slots of 1.5 s, each of eight beats of 187.5 ms.
        let hour = timing(0, 3600);
        assert_eq!((hour.beats_per_slot(), hour.beat()), (8, Duration::from_micros(187_500)));
        let beats = hour.beats();
        assert_eq!(beats.len(), 2400 * 8 + 1);
        assert!(beats.windows(2).all(|pair| pair[0].end == pair[1].start));
        for (slot, of_slot) in hour.grid().iter().zip(beats.chunks(8)) {
            let (first, last) = (of_slot[0], of_slot[of_slot.len() - 1]);
            assert_eq!((first.start, last.end, first.steady), (slot.start, slot.end, slot.steady));
        }
        // Two days have slots of 72 s, of 41 beats each.
        let two_days = timing(10, 2 * 86_400);
        assert!(two_days.beats().len() <= 100_001);
        assert!(two_days.beat() < Duration::from_secs(2));
    }
}
