//! What became of a trial, flow by flow, as both ends saw it.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::in_json::{is_default, nanos, nanos_if_known};
use crate::{ConnectionsReport, Dscp, FramesReport, Interruption, Rate};

/// One report for each flow of the trial, in the trial's order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// When the trial began, from when the testbed was ready. Of a trial that was repeated, when its
    /// last attempt began.
    #[serde(
        rename = "began_ns",
        with = "nanos_if_known",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub began: Option<Duration>,
    pub flows: Vec<FlowReport>,
    pub near: TesterHealth,
    pub far: TesterHealth,
    /// What an emulated network knows against itself; a real one has no such knowledge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulation: Option<Emulation>,
    /// `None` where the far end does not tell, and where there is one clock for both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks: Option<Clocks>,
    /// When an end did not hear the other for [`DEAD_MAN`](crate::contact::DEAD_MAN) or longer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interruptions: Vec<Interruption>,
    /// The most trials of other near ends that ran at the far end at one time during this one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub other_trials: u32,
    /// When the trial was broken off, from its start. The flows then have what both ends had reported
    /// until that time, without what an end reports only at the end of a trial.
    #[serde(
        rename = "broken_off_ns",
        with = "nanos_if_known",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub broken_off: Option<Duration>,
}

impl Observation {
    /// With the time at which its trial began, from when the testbed was ready.
    #[must_use]
    pub fn begun(mut self, began: Duration) -> Self {
        self.began = Some(began);
        for interruption in &mut self.interruptions {
            interruption.began.get_or_insert(began);
        }
        self
    }

    /// The longest that a thread of either end was kept from running.
    pub fn longest_stall(&self) -> Duration {
        self.near.longest_stall.max(self.far.longest_stall)
    }

    /// Share of one processor that the busiest thread of either end used, 0 to 1.
    pub const fn busiest_thread(&self) -> f64 {
        self.near.busiest_thread.max(self.far.busiest_thread)
    }

    /// Packets that either end dropped itself.
    pub const fn dropped_packets(&self) -> u64 {
        self.near.dropped_packets.saturating_add(self.far.dropped_packets)
    }
}

/// How the two ends' clocks stood to each other during a trial. Each counts from when its host began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    /// The far end's less the near end's.
    pub offset_ns: i64,
    /// Times since the start are apart at the two ends by no more than this.
    #[serde(rename = "error_ns", with = "nanos")]
    pub error: Duration,
}

/// How late an emulated network let go the frames of one trial, both directions together: what it
/// delays beyond its file is the doing of its host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Emulation {
    /// Of 99 of 100 frames at most.
    #[serde(rename = "late_p99_ns", with = "nanos")]
    pub late_p99: Duration,
    #[serde(rename = "late_max_ns", with = "nanos")]
    pub late_max: Duration,
    /// By how much at most a frame left its end before one that the network had before it: to the
    /// network it was late by as much.
    #[serde(rename = "overtaken_max_ns", with = "nanos", default)]
    pub overtaken_max: Duration,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum FlowReport {
    Probes(ProbesReport),
    Frames(FramesReport),
    Bursts(BurstsReport),
    Tcp(TcpReport),
    Connections(ConnectionsReport),
}

impl FlowReport {
    pub const fn probes(&self) -> Option<&ProbesReport> {
        if let Self::Probes(report) = self { Some(report) } else { None }
    }

    pub const fn frames(&self) -> Option<&FramesReport> {
        if let Self::Frames(report) = self { Some(report) } else { None }
    }

    pub const fn bursts(&self) -> Option<&BurstsReport> {
        if let Self::Bursts(report) = self { Some(report) } else { None }
    }

    pub const fn tcp(&self) -> Option<&TcpReport> {
        if let Self::Tcp(report) = self { Some(report) } else { None }
    }
}

/// How probes fared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbesReport {
    /// Probes that left the near end.
    pub sent: u64,
    /// Probes that the near end's own kernel refused because they do not fit its interface.
    pub refused: u64,
    /// Distinct probes that reached the far end.
    pub arrived: u64,
    /// Distinct probes whose answer came back.
    pub answered: u64,
    /// ICMP messages "packet too big" that an end received for them.
    pub too_big_answers: u64,
    /// Without the time the far end took to answer.
    pub rtt: Option<RttSummary>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub by: ProbedBy,
}

/// What stood for the probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbedBy {
    /// UDP, which the far end answers itself.
    #[default]
    Datagrams,
    /// TCP to a far end that does not know of probes: its kernel's answers to the handshakes of
    /// connections, and whether full segments were acknowledged or came.
    Tcp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RttSummary {
    #[serde(rename = "min_ns", with = "nanos")]
    pub min: Duration,
    #[serde(rename = "mean_ns", with = "nanos")]
    pub mean: Duration,
    #[serde(rename = "p99_ns", with = "nanos")]
    pub p99: Duration,
    #[serde(rename = "max_ns", with = "nanos")]
    pub max: Duration,
    pub samples: u64,
}

impl RttSummary {
    /// Of all `samples`; `None` where there are none. The 99th percentile is the smallest sample
    /// that at least 99 % of them do not exceed.
    pub fn of(mut samples: Vec<Duration>) -> Option<Self> {
        samples.sort_unstable();
        let (min, max) = (*samples.first()?, *samples.last()?);
        let count = samples.len() as u128;
        let sum: u128 = samples.iter().map(Duration::as_nanos).sum();
        let rank = (samples.len() * 99).div_ceil(100);
        Some(Self {
            min,
            mean: Duration::from_nanos((sum / count) as u64),
            p99: samples[rank - 1],
            max,
            samples: count as u64,
        })
    }
}

/// How bursts fared, one way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BurstsReport {
    /// Bursts due in the steady time.
    pub planned_bursts: u32,
    /// In the order in which they were due; those that were not sent at all are left out.
    pub bursts: Vec<BurstReport>,
    pub out_of_order_frames: u64,
    pub duplicate_frames: u64,
    /// Frames that arrived spoilt.
    pub corrupt_frames: u64,
    /// Bytes of layer 2 frames.
    pub series: Vec<Sample>,
}

/// One burst. Times are on the near end's clock, from the instant at which the burst was due.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BurstReport {
    /// Place among the planned bursts.
    pub burst: u32,
    pub sent_frames: u32,
    /// Frames that arrived, each counted once.
    pub received_frames: u32,
    /// When the first and the last frame left.
    #[serde(rename = "sent_from_ns", with = "nanos")]
    pub sent_from: Duration,
    #[serde(rename = "sent_until_ns", with = "nanos")]
    pub sent_until: Duration,
    /// By how much at most a frame left later than the rate of the burst says; a sender makes up for
    /// it. None where the burst has no rate.
    #[serde(rename = "behind_ns", with = "nanos", default)]
    pub behind: Duration,
    /// The curve on which the frames left, from the first frame to the last; empty where the burst has
    /// no rate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub departures: Vec<Departure>,
    /// No frame left further from that curve than this, but those of slow calls.
    #[serde(
        rename = "departures_within_ns",
        with = "nanos",
        default,
        skip_serializing_if = "Duration::is_zero"
    )]
    pub departures_within: Duration,
    /// In the order of their frames.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slow_calls: Vec<SlowCall>,
    /// The frames that arrived, in the order of their numbers. Of a trial with very many runs the
    /// last ones are left out: then they have fewer frames together than were received.
    pub arrived: Vec<ArrivedRun>,
    /// The numbers of those that came more than once, in their order; bounded like the runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub twice: Vec<u32>,
}

impl BurstReport {
    /// From when the first frame left to when the last one did.
    pub const fn sent_in(&self) -> Duration {
        self.sent_until.saturating_sub(self.sent_from)
    }

    /// From the arrival of the first frame to that of the last; `None` where none arrived.
    pub fn arrived_in(&self) -> Option<Duration> {
        self.arrived.last()?.until.checked_sub(self.arrived.first()?.from)
    }
}

/// A frame of a burst and when it left; those up to the next one that is told of left evenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Departure {
    /// Its number in the burst, from 0.
    pub frame: u32,
    /// As [`BurstReport::sent_from`].
    #[serde(rename = "at_ns", with = "nanos")]
    pub at: Duration,
}

/// Successive frames that the sender gave to its kernel by one call which took long: each of them left
/// between what the curve of departures says and the end of that call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowCall {
    /// The number of its first frame in the burst, from 0.
    pub first: u32,
    pub frames: u32,
    /// As [`BurstReport::sent_from`].
    #[serde(rename = "until_ns", with = "nanos")]
    pub until: Duration,
}

/// Successive frames of a burst that all arrived, with the same code point.
///
/// A run is cut after [`ArrivedRun::FRAMES_MAX`] frames, and where nothing arrived for longer than
/// [`ArrivedRun::SILENCE_MAX`], so that runs draw the curve of arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrivedRun {
    /// The number of its first frame in the burst, from 0.
    pub first: u32,
    pub frames: u32,
    /// As received; `None` where the receiver cannot see it.
    pub dscp: Option<Dscp>,
    /// When its first and its last frame arrived.
    #[serde(rename = "from_ns", with = "nanos")]
    pub from: Duration,
    #[serde(rename = "until_ns", with = "nanos")]
    pub until: Duration,
}

impl ArrivedRun {
    pub const FRAMES_MAX: u32 = 32;
    pub const SILENCE_MAX: Duration = Duration::from_millis(1);
}

/// How a group of TCP connections fared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TcpReport {
    pub connections: Vec<ConnectionReport>,
    /// From the start of the trial to its end, warm-up included; payload bytes, all connections.
    pub series: Vec<Sample>,
    /// Payload that all connections delivered from first to last byte, warm-up included.
    pub whole_good_bytes: u64,
    /// From the start of the trial, when senders may begin, to the last byte of that.
    #[serde(rename = "whole_until_ns", with = "nanos")]
    pub whole_until: Duration,
}

/// One connection during the steady time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConnectionReport {
    /// Payload received once and in order.
    pub good_bytes: u64,
    /// Payload sent, retransmissions included; `None` where the sender does not tell.
    pub transmitted_bytes: Option<u64>,
    /// Of a sender that counts segments alone, as many full ones.
    pub retransmitted_bytes: Option<u64>,
    /// Of the round trips that the sender's stack measured.
    #[serde(rename = "rtt_mean_ns", with = "nanos_if_known")]
    pub rtt_mean: Option<Duration>,
    #[serde(rename = "rtt_min_ns", with = "nanos_if_known")]
    pub rtt_min: Option<Duration>,
    /// Largest window that the receiver advertised, as the sender's kernel read it.
    pub window_effective_bytes: Option<u64>,
    /// Payload of a full segment, options taken off.
    pub segment_bytes: Option<u32>,
    /// As the kernel says after it was set.
    pub congestion_control: String,
    #[serde(rename = "receive_window_limited_ns", with = "nanos_if_known")]
    pub receive_window_limited: Option<Duration>,
    #[serde(rename = "send_buffer_limited_ns", with = "nanos_if_known")]
    pub send_buffer_limited: Option<Duration>,
    /// Time with data to send.
    #[serde(rename = "busy_ns", with = "nanos_if_known")]
    pub busy: Option<Duration>,
    /// Segments with payload, as the sender's kernel counts them, retransmissions included.
    #[serde(default)]
    pub sent_segments: Option<u64>,
    /// The same, as the receiver's kernel counts them.
    #[serde(default)]
    pub received_segments: Option<u64>,
    /// With what code point the sender's packets arrive; `None` where the receiver's kernel does
    /// not say.
    #[serde(default)]
    pub dscp_received: Option<Dscp>,
}

/// One slot of a series; times are on the near end's clock, from the start of the trial. What one
/// end alone could tell is `None` where it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    #[serde(rename = "at_ns", with = "nanos")]
    pub at: Duration,
    #[serde(rename = "lasts_ns", with = "nanos")]
    pub lasts: Duration,
    /// In the steady time.
    pub steady: bool,
    pub sent_bytes: Option<u64>,
    pub received_bytes: Option<u64>,
    pub retransmitted_bytes: Option<u64>,
    /// Mean over the connections.
    #[serde(rename = "rtt_ns", with = "nanos_if_known")]
    pub rtt: Option<Duration>,
    /// Sum over the connections.
    pub cwnd_bytes: Option<u64>,
    /// TCP connections in use, the most at one time: each from its first byte at the receiver to its
    /// end.
    #[serde(default)]
    pub active_connections: Option<u32>,
}

impl Sample {
    /// After the start of the trial.
    pub fn ends(&self) -> Duration {
        self.at + self.lasts
    }

    /// Neighbours of `samples` joined in pairs until there are no more than `most`.
    pub fn joined(mut samples: Vec<Self>, most: usize) -> Vec<Self> {
        while samples.len() > most.max(1) {
            let pairs = samples.chunks(2);
            samples = pairs.filter_map(|pair| pair.iter().copied().reduce(Self::and)).collect();
        }
        samples
    }

    /// The sum of two slots, `next` being the later one. A count that is unknown of either is unknown of the sum.
    #[must_use]
    pub fn and(self, next: Self) -> Self {
        let added = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_add(other?));
        Self {
            at: self.at,
            lasts: self.lasts + next.lasts,
            steady: self.steady,
            sent_bytes: added(self.sent_bytes, next.sent_bytes),
            received_bytes: added(self.received_bytes, next.received_bytes),
            retransmitted_bytes: added(self.retransmitted_bytes, next.retransmitted_bytes),
            rtt: next.rtt.or(self.rtt),
            cwnd_bytes: next.cwnd_bytes.or(self.cwnd_bytes),
            active_connections: self.active_connections.max(next.active_connections),
        }
    }

    /// The same for frames and bursts, which are never sent again.
    #[must_use]
    pub fn of_frames(self) -> Self {
        Self { retransmitted_bytes: None, ..self }
    }

    pub fn received_rate(&self) -> Option<Rate> {
        self.received_bytes.map(|bytes| Rate::over(bytes, self.lasts))
    }
}

/// What an end knows against its own figures of one trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TesterHealth {
    /// Frames or packets that this end itself dropped: socket buffers, rings.
    pub dropped_packets: u64,
    /// The longest that a thread of the trial was kept from running.
    #[serde(rename = "longest_stall_ns", with = "nanos")]
    pub longest_stall: Duration,
    /// Share of one processor that the busiest thread of the trial used, 0 to 1.
    pub busiest_thread: f64,
    /// By what this end received frames or bursts, if it did: the slowest, where flows differ.
    pub receiver: Option<Receiver>,
    /// Whole frames were to be sent or received, and this end may not open packet sockets: they went
    /// through UDP sockets.
    #[serde(default, skip_serializing_if = "is_false")]
    pub packet_sockets_refused: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

/// How an end takes frames from its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Receiver {
    /// By a system call for each batch.
    Socket,
    /// From memory that it shares with the kernel.
    Ring,
}

/// What is known of the host at one end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    pub name: String,
    pub kernel: String,
    pub processors: u32,
    pub version: String,
    /// What its kernel counts time by, and the congestion control that its TCP has unless told
    /// otherwise; empty where it does not say.
    #[serde(default)]
    pub clock_source: String,
    #[serde(default)]
    pub congestion_control: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_99th_percentile_of_a_hundred_samples_is_the_99th() {
        let samples = (1..=100).rev().map(Duration::from_millis).collect();
        let rtt = RttSummary::of(samples).unwrap();
        assert_eq!(rtt.p99, Duration::from_millis(99));
        assert_eq!(rtt.mean, Duration::from_micros(50_500));
        assert_eq!((rtt.min, rtt.max), (Duration::from_millis(1), Duration::from_millis(100)));
        assert_eq!(RttSummary::of(Vec::new()), None);
    }
}
