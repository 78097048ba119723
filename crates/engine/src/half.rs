//! What one end saw of one flow; the near end joins two halves into a report.

use std::time::Duration;

use fp_model::{ConnectionsReport, Dscp, Family, Load, Receiver, Timing};
use fp_net::stream::{ReceivedFrames, SentFrames};
use fp_net::swarm::Counters;
use serde::{Deserialize, Serialize};

use crate::end::End;
use crate::readable::words;

/// The secret of one flow of one trial: whoever presents it on a data connection belongs to the
/// session that was told it over the control connection.
pub type FlowKey = [u8; 16];

/// A slot of the trial's grid as one end saw it. All halves of a flow have one entry for each slot
/// of `Timing::grid`, whatever the scheduler did: a slot that was cut late holds more and the next
/// one less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SenderSlot {
    pub sent_bytes: u64,
    pub retransmitted_bytes: u64,
    /// Mean over the connections.
    pub rtt_ns: Option<u64>,
    /// Sum over the connections.
    pub cwnd_bytes: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReceiverSlot {
    /// When the slot was really cut at its end, from the start of the trial.
    pub cut_ns: u64,
    pub received_bytes: u64,
    /// TCP connections in use, the most at one time.
    #[serde(default)]
    pub active_connections: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Half {
    TcpSender(TcpSenderHalf),
    TcpReceiver(TcpReceiverHalf),
    FramesSender(Box<FramesSenderHalf>),
    FramesReceiver(Box<FramesReceiverHalf>),
    BurstsSender(BurstsSenderHalf),
    BurstsReceiver(BurstsReceiverHalf),
    ProbesNear(ProbesNearHalf),
    ProbesFar(ProbesFarHalf),
    Connections(Box<ConnectionsHalf>),
}

impl Half {
    /// The runs of bursts that all halves of a trial have together: what fits a message.
    pub(crate) const RUNS_MAX: usize = 200_000;

    /// Makes all `halves` fit: each that has more than its share loses its last runs.
    pub(crate) fn bound_runs(halves: &mut [Self]) {
        let mut bursts: Vec<&mut BurstsReceiverHalf> =
            halves.iter_mut().filter_map(Self::bursts_received).collect();
        if bursts.iter().map(|half| half.runs()).sum::<usize>() > Self::RUNS_MAX {
            let share = Self::RUNS_MAX / bursts.len();
            bursts.iter_mut().for_each(|half| half.keep_runs(share));
        }
    }

    /// Of connections, by the end that opened them: whether they were ended before their time.
    pub(crate) fn is_stopped(&self) -> bool {
        match self {
            Self::Connections(half) => {
                half.client.as_ref().is_some_and(|client| client.stopped.is_some())
            }
            Self::TcpSender(_)
            | Self::TcpReceiver(_)
            | Self::FramesSender(_)
            | Self::FramesReceiver(_)
            | Self::BurstsSender(_)
            | Self::BurstsReceiver(_)
            | Self::ProbesNear(_)
            | Self::ProbesFar(_) => false,
        }
    }

    const fn bursts_received(&mut self) -> Option<&mut BurstsReceiverHalf> {
        match self {
            Self::BurstsReceiver(half) => Some(half),
            Self::TcpSender(_)
            | Self::TcpReceiver(_)
            | Self::FramesSender(_)
            | Self::FramesReceiver(_)
            | Self::BurstsSender(_)
            | Self::ProbesNear(_)
            | Self::ProbesFar(_)
            | Self::Connections(_) => None,
        }
    }

    /// A half that has one entry for each beat of the trial, as one that has one for each slot. That
    /// of a transfer, which may have ended early, keeps its beats where there are not too many.
    pub(crate) fn by_slots(mut self, timing: &Timing, load: &Load) -> Self {
        let beats = timing.beats_per_slot() as usize;
        let is_transfer = matches!(load, Load::Tcp(load) if load.transfer_bytes().is_some());
        match &mut self {
            Self::TcpSender(half) if is_transfer => {
                half.beats_per_slot = join_a_transfer(&mut half.slots, timing, SenderSlot::and);
            }
            Self::TcpReceiver(half) if is_transfer => {
                half.beats_per_slot = join_a_transfer(&mut half.slots, timing, ReceiverSlot::and);
            }
            Self::TcpSender(half) => join(&mut half.slots, beats, SenderSlot::and),
            Self::TcpReceiver(half) => join(&mut half.slots, beats, ReceiverSlot::and),
            Self::FramesSender(half) => join(&mut half.slots, beats, SenderSlot::and),
            Self::FramesReceiver(half) => join(&mut half.slots, beats, ReceiverSlot::and),
            Self::BurstsSender(half) => join(&mut half.slots, beats, SenderSlot::and),
            Self::BurstsReceiver(half) => join(&mut half.slots, beats, ReceiverSlot::and),
            // What was stopped has the beats until then.
            Self::Connections(half) => {
                join_more(&mut half.slots, timing, (1, beats as u32), ConnectionsSlot::and);
            }
            Self::ProbesNear(_) | Self::ProbesFar(_) => {}
        }
        self
    }
}

/// Joins pairs of entries until no more are left than a series has; how many beats each has then.
fn join_a_transfer<Seen: Copy>(
    entries: &mut Vec<Seen>,
    timing: &Timing,
    and: fn(Seen, Seen) -> Seen,
) -> u32 {
    let mut each = 1;
    while entries.len() > Timing::SLOTS_MAX + 1 {
        join_more(entries, timing, (each, 2 * each), and);
        each *= 2;
    }
    each
}

/// Joins entries of so many beats each to entries of more, in a half that has all of the trial or
/// only its beginning.
pub(crate) fn join_more<Seen: Copy>(
    entries: &mut Vec<Seen>,
    timing: &Timing,
    (from, to): (u32, u32),
    and: fn(Seen, Seen) -> Seen,
) {
    let active = timing.beats().len().saturating_sub(1);
    let is_whole = entries.len() > active.div_ceil(from as usize);
    let after = if is_whole { entries.pop() } else { None };
    let slots = entries.chunks((to / from) as usize);
    let joined = slots.filter_map(|slot| slot.iter().copied().reduce(and));
    *entries = joined.chain(after).collect();
}

/// Joins the entries of a slot, all but the last one, which is alone.
fn join<Seen: Copy>(entries: &mut Vec<Seen>, per_slot: usize, and: fn(Seen, Seen) -> Seen) {
    let Some((last, active)) = entries.split_last() else { return };
    let joined = active.chunks(per_slot).filter_map(|slot| slot.iter().copied().reduce(and));
    *entries = joined.chain([*last]).collect();
}

impl SenderSlot {
    /// Both, of which `next` is the later one.
    pub(crate) fn and(self, next: Self) -> Self {
        Self {
            sent_bytes: self.sent_bytes.saturating_add(next.sent_bytes),
            retransmitted_bytes: self.retransmitted_bytes.saturating_add(next.retransmitted_bytes),
            rtt_ns: next.rtt_ns.or(self.rtt_ns),
            cwnd_bytes: next.cwnd_bytes.or(self.cwnd_bytes),
        }
    }
}

impl ReceiverSlot {
    /// Both, of which `next` is the later one.
    pub(crate) fn and(self, next: Self) -> Self {
        Self {
            cut_ns: next.cut_ns,
            received_bytes: self.received_bytes.saturating_add(next.received_bytes),
            active_connections: self.active_connections.max(next.active_connections),
        }
    }
}

/// What became of many connections in a slot, as one end saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ConnectionsSlot {
    /// Open at its end; but for those that wait then, the others are what happened in it.
    pub(crate) active: u32,
    /// Asked for and not answered yet.
    #[serde(default)]
    pub(crate) pending: u32,
    pub(crate) attempted: u64,
    pub(crate) established: u64,
    pub(crate) closed: u64,
    pub(crate) failed: u64,
    pub(crate) transactions: u64,
    /// Payload that arrived at this end.
    pub(crate) received_bytes: u64,
}

impl ConnectionsSlot {
    /// Both, of which `next` is the later one.
    pub(crate) const fn and(self, next: Self) -> Self {
        Self {
            active: next.active,
            pending: next.pending,
            attempted: self.attempted.saturating_add(next.attempted),
            established: self.established.saturating_add(next.established),
            closed: self.closed.saturating_add(next.closed),
            failed: self.failed.saturating_add(next.failed),
            transactions: self.transactions.saturating_add(next.transactions),
            received_bytes: self.received_bytes.saturating_add(next.received_bytes),
        }
    }

    /// Of two parts of the connections at the same time.
    pub(crate) const fn beside(self, other: Self) -> Self {
        Self {
            active: self.active.saturating_add(other.active),
            pending: self.pending.saturating_add(other.pending),
            ..self.and(other)
        }
    }
}

/// One end of many connections.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ConnectionsHalf {
    /// What the end knows that opened them; of the other one `None`.
    pub(crate) client: Option<ConnectionsReport>,
    pub(crate) counters: Counters,
    pub(crate) sent_frames: u64,
    pub(crate) received_frames: u64,
    /// Frames that this end itself dropped.
    pub(crate) dropped_frames: u64,
    /// Of the threads beside that of the flow.
    pub(crate) longest_stall_ns: u64,
    pub(crate) busiest_thread: f64,
    pub(crate) slots: Vec<ConnectionsSlot>,
}

impl ConnectionsHalf {
    pub(crate) const fn longest_stall(&self) -> Duration {
        Duration::from_nanos(self.longest_stall_ns)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TcpSenderHalf {
    pub slots: Vec<SenderSlot>,
    /// Of the slots of a transfer, which may have ended before its trial.
    pub beats_per_slot: u32,
    /// By the connection's index.
    pub connections: Vec<TcpSenderConnection>,
    /// Frames that this end itself dropped, where they are not its host's.
    #[serde(default)]
    pub dropped_frames: u64,
}

/// One connection during the steady slots.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TcpSenderConnection {
    pub transmitted_bytes: u64,
    pub retransmitted_bytes: u64,
    pub rtt_mean_ns: Option<u64>,
    pub rtt_min_ns: Option<u64>,
    pub window_effective_bytes: Option<u64>,
    pub segment_bytes: Option<u32>,
    #[serde(deserialize_with = "words")]
    pub congestion_control: String,
    pub sent_segments: Option<u64>,
    pub receive_window_limited_ns: Option<u64>,
    pub send_buffer_limited_ns: Option<u64>,
    pub busy_ns: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TcpReceiverHalf {
    pub slots: Vec<ReceiverSlot>,
    /// Of the slots of a transfer, which may have ended before its trial.
    pub beats_per_slot: u32,
    /// Good bytes of each connection during the steady slots, by the connection's index.
    pub good_bytes: Vec<u64>,
    /// Segments in which they came, and with which code point, by the connection's index.
    pub received_segments: Vec<Option<u64>>,
    pub dscp_received: Vec<Option<Dscp>>,
    /// From the start of the trial to its end.
    pub whole_good_bytes: u64,
    /// From the start of the trial to the last byte.
    pub whole_until_ns: u64,
    /// Frames that this end itself dropped, where they are not its host's.
    #[serde(default)]
    pub dropped_frames: u64,
}

impl TcpReceiverHalf {
    /// Over IPv4 the kernel tells only of connections that it has accepted.
    pub(crate) fn with_known_markings(mut self, end: End, family: Family) -> Self {
        if (end, family) == (End::Near, Family::Ipv4) {
            self.dscp_received.fill(None);
        }
        self
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct FramesSenderHalf {
    pub(crate) frames: SentFrames,
    /// The frames were to leave whole, and the process may open no packet sockets.
    #[serde(default)]
    pub(crate) packet_sockets_refused: bool,
    pub(crate) slots: Vec<SenderSlot>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct FramesReceiverHalf {
    pub(crate) frames: ReceivedFrames,
    pub(crate) unshown: Unshown,
    pub(crate) receiver: Option<Receiver>,
    /// The process may not open packet sockets, so that frames are received without a ring.
    #[serde(default)]
    pub(crate) packet_sockets_refused: bool,
    pub(crate) slots: Vec<ReceiverSlot>,
}

/// Frames that reached this end and were not shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Unshown {
    /// For want of room in this host.
    pub(crate) dropped_frames: u64,
    /// With a wrong checksum.
    pub(crate) corrupt_frames: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct BurstsSenderHalf {
    pub(crate) planned_bursts: u32,
    /// Those that were sent, in the order in which they were due.
    pub(crate) bursts: Vec<SentBurst>,
    pub(crate) slots: Vec<SenderSlot>,
}

/// Times count from the instant at which the burst was due. A message has the values alone, which would
/// be three times as long with their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "SentNumbers", into = "SentNumbers")]
pub(crate) struct SentBurst {
    pub(crate) burst: u32,
    pub(crate) sent_frames: u32,
    pub(crate) from_ns: u64,
    pub(crate) until_ns: u64,
    /// The most that a frame of a paced burst was behind its rate.
    pub(crate) behind_ns: u64,
    /// The curve on which the frames of a paced burst left: frames, and when they did.
    pub(crate) departures: Vec<(u32, u64)>,
    /// No frame left earlier or later than the curve says by more than this, but those of slow calls.
    pub(crate) within_ns: u64,
    /// Calls of the kernel that took long: the first frame of each, how many frames it sent, and the
    /// nanosecond at which it ended.
    pub(crate) slow: Vec<(u32, u32, u64)>,
}

type SentNumbers = (u32, u32, u64, u64, u64, Vec<(u32, u64)>, u64, Vec<(u32, u32, u64)>);

impl From<SentNumbers> for SentBurst {
    fn from(numbers: SentNumbers) -> Self {
        let (burst, sent_frames, from_ns, until_ns, behind_ns, departures, within_ns, slow) =
            numbers;
        Self { burst, sent_frames, from_ns, until_ns, behind_ns, departures, within_ns, slow }
    }
}

impl From<SentBurst> for SentNumbers {
    fn from(sent: SentBurst) -> Self {
        let SentBurst { burst, sent_frames, from_ns, until_ns, behind_ns, .. } = sent;
        let (departures, within_ns, slow) = (sent.departures, sent.within_ns, sent.slow);
        (burst, sent_frames, from_ns, until_ns, behind_ns, departures, within_ns, slow)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct BurstsReceiverHalf {
    /// Those of which something arrived, in the order in which they were due.
    pub(crate) bursts: Vec<ReceivedBurst>,
    pub(crate) out_of_order_frames: u64,
    pub(crate) duplicate_frames: u64,
    pub(crate) corrupt_frames: u64,
    /// Frames that this end itself dropped.
    pub(crate) dropped_frames: u64,
    pub(crate) receiver: Option<Receiver>,
    pub(crate) slots: Vec<ReceiverSlot>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReceivedBurst {
    pub(crate) burst: u32,
    pub(crate) received_frames: u32,
    pub(crate) runs: Vec<ReceivedRun>,
    /// The numbers of frames that came more than once, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) twice: Vec<u32>,
}

impl BurstsReceiverHalf {
    /// With frames that came twice, which take the place of one each.
    pub(crate) fn runs(&self) -> usize {
        self.bursts.iter().map(|burst| burst.runs.len() + burst.twice.len()).sum()
    }

    /// Forgets the runs beyond the first ones, but not how many frames arrived.
    pub(crate) fn keep_runs(&mut self, mut at_most: usize) {
        for burst in &mut self.bursts {
            burst.runs.truncate(at_most);
            at_most -= burst.runs.len();
            burst.twice.truncate(at_most);
            at_most -= burst.twice.len();
        }
    }
}

type RunNumbers = (u32, u32, Option<Dscp>, i64, i64);

/// Frames one after the other. Times count from the instant at which the burst was due, by this
/// end's idea of the common start: where that is late, they may be negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "RunNumbers", into = "RunNumbers")]
pub(crate) struct ReceivedRun {
    pub(crate) first: u32,
    pub(crate) frames: u32,
    pub(crate) dscp: Option<Dscp>,
    pub(crate) from_ns: i64,
    pub(crate) until_ns: i64,
}

impl From<RunNumbers> for ReceivedRun {
    fn from((first, frames, dscp, from_ns, until_ns): RunNumbers) -> Self {
        Self { first, frames, dscp, from_ns, until_ns }
    }
}

impl From<ReceivedRun> for RunNumbers {
    fn from(run: ReceivedRun) -> Self {
        (run.first, run.frames, run.dscp, run.from_ns, run.until_ns)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProbesNearHalf {
    pub(crate) sent: u64,
    pub(crate) refused: u64,
    pub(crate) answered: u64,
    /// ICMP messages "packet too big" that came to this end.
    pub(crate) too_big_answers: u64,
    pub(crate) rtt: Option<fp_model::RttSummary>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProbesFarHalf {
    pub(crate) arrived: u64,
    /// ICMP messages "packet too big" that came to this end.
    pub(crate) too_big_answers: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beats_join_into_the_slots_of_the_grid() {
        // Slots of 300 ms, of two beats each: 720 s in 2,400 of them.
        let timing = Timing {
            warm_up: Duration::from_secs(60),
            steady: Duration::from_secs(660),
            settle: Duration::from_secs(1),
        };
        let beats = timing.beats();
        assert_eq!(beats.len(), 2 * 2400 + 1);
        let entry = |(index, beat): (usize, &fp_model::Slot)| ReceiverSlot {
            cut_ns: beat.end.as_nanos() as u64,
            received_bytes: index as u64,
            ..ReceiverSlot::default()
        };
        let slots = beats.iter().enumerate().map(entry).collect();
        let pace = fp_model::Pace::Constant { rate: fp_model::Rate::mbps(1) };
        let sizes = fp_model::FrameSizes::fixed(64);
        let load = Load::Frames(fp_model::FramesLoad::new(sizes, pace));
        let half = FramesReceiverHalf { slots, ..FramesReceiverHalf::default() };
        let Half::FramesReceiver(half) =
            Half::FramesReceiver(Box::new(half)).by_slots(&timing, &load)
        else {
            panic!("another kind of half")
        };
        let grid = timing.grid();
        assert_eq!(half.slots.len(), grid.len());
        for (slot, seen) in grid.iter().zip(&half.slots) {
            assert_eq!(u128::from(seen.cut_ns), slot.end.as_nanos());
        }
        // 0 + 1, 2 + 3 …, and the one that comes after alone.
        assert_eq!(half.slots[1].received_bytes, 5);
        assert_eq!(half.slots[2400].received_bytes, 4800);
    }

    #[test]
    fn a_transfer_that_ends_early_keeps_its_beats_unless_there_are_too_many() {
        // Five hours have slots of 7.5 s, of 38 beats each.
        let timing = Timing {
            warm_up: Duration::ZERO,
            steady: Duration::from_secs(5 * 3600),
            settle: Duration::from_secs(1),
        };
        let joined = |beats: usize| {
            let mut entries = vec![1_u64; beats];
            let each = join_a_transfer(&mut entries, &timing, |one, other| one + other);
            (each, entries.len(), entries.iter().sum::<u64>() as usize, entries.last().copied())
        };
        assert_eq!(joined(7), (1, 7, 7, Some(1)));
        // 2,401 are as many as a series has with what comes after it.
        assert_eq!(joined(2401), (1, 2401, 2401, Some(1)));
        assert_eq!(joined(2402), (2, 1201, 2402, Some(2)));
        // All of it, and what comes after stays alone: 2,400 · 38 in 1,425 slots of 64.
        assert_eq!(joined(91_201), (64, 1426, 91_201, Some(1)));
    }

    #[test]
    fn runs_beyond_what_fits_a_message_are_forgotten_and_their_frames_are_not() {
        let run = |first| ReceivedRun { first, frames: 1, dscp: None, from_ns: 0, until_ns: 0 };
        let burst = |burst| ReceivedBurst {
            burst,
            received_frames: 50_000,
            runs: (0..49_000).map(run).collect(),
            twice: (0..1000).collect(),
        };
        let half = |bursts| {
            let bursts = (0..bursts).map(burst).collect();
            Half::BurstsReceiver(BurstsReceiverHalf { bursts, ..BurstsReceiverHalf::default() })
        };
        let mut halves = vec![half(1), Half::ProbesFar(ProbesFarHalf::default()), half(4)];
        Half::bound_runs(&mut halves);
        let [Half::BurstsReceiver(small), _, Half::BurstsReceiver(large)] = halves.as_slice()
        else {
            panic!("the halves have changed places");
        };
        // Shares of 100,000 runs.
        assert_eq!((small.runs(), large.runs()), (50_000, 100_000));
        assert_eq!(large.bursts[3].received_frames, 50_000);
        let left = |burst: usize| (large.bursts[burst].runs.len(), large.bursts[burst].twice.len());
        assert_eq!((left(1), left(2)), ((49_000, 1000), (0, 0)));
    }
}
