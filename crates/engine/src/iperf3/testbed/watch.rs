//! What this end's kernel counts of the connections of a trial while it runs.

use std::net::TcpStream;
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use fp_model::{Direction, Sample, Slot, TcpReport, Time, Timing, Trial};

use super::Iperf3Testbed;
use super::session::{Session, host};
use super::tcp::{Flow, LOOK_UP};
use crate::Lease;
use crate::half::{Half, ReceiverSlot, TcpReceiverHalf, TcpSenderHalf};
use crate::iperf3::client::ClientError;
use crate::iperf3::wire::StreamResult;
use crate::near::join;
use crate::os::clock;
use crate::os::tcp::{self, TcpInfo};
use crate::os::wake::{Interest, wait};

/// What this end's kernel knows of all connections, slot by slot: of uploads, what the far end's
/// has acknowledged is what it received.
pub(super) struct Watch<'a> {
    trial: &'a Trial,
    grid: Vec<Slot>,
    /// It may be over before its time.
    is_transfer: bool,
    start: Time,
    cut: usize,
    flows: Vec<Watched>,
    /// A server sends from when the test begins, and the trial may begin later.
    has_begun: bool,
    has_ended: bool,
}

struct Watched {
    place: usize,
    direction: Direction,
    streams: Vec<TcpStream>,
    ids: Vec<u32>,
    /// By stream: at the start, at the beginning and the end of the steady time, and at the last
    /// cut.
    marks: Vec<[Mark; 4]>,
    slots: Vec<ReceiverSlot>,
}

/// Payload of a connection, from its beginning.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    sent_bytes: u64,
    retransmitted_bytes: u64,
    acknowledged_bytes: u64,
    received_bytes: u64,
    retransmitted_segments: u32,
    rtt: Option<Duration>,
    cwnd_bytes: u64,
}

impl Mark {
    fn of(stream: &TcpStream) -> Option<Self> {
        let info: TcpInfo = tcp::info(stream).ok()?;
        let once = info.sent_bytes.saturating_sub(info.retransmitted_bytes);
        Some(Self {
            sent_bytes: info.sent_bytes,
            retransmitted_bytes: info.retransmitted_bytes,
            // The kernel counts handshake and end for a byte each.
            acknowledged_bytes: info.acked_bytes.saturating_sub(1).min(once),
            received_bytes: info.received_bytes,
            retransmitted_segments: info.total_retrans_segments,
            rtt: (info.rtt_us > 0).then(|| Duration::from_micros(info.rtt_us.into())),
            cwnd_bytes: u64::from(info.snd_cwnd_segments) * u64::from(info.snd_mss_bytes),
        })
    }
}

impl<'a> Watch<'a> {
    pub(super) fn new(flows: &[Flow<'_>], trial: &'a Trial, start: Time) -> Self {
        let watched = |flow: &Flow<'_>| {
            // A descriptor more of each: where the host has none left, the flow's thread says so.
            let streams: Vec<_> =
                flow.streams.iter().filter_map(|stream| stream.try_clone().ok()).collect();
            let marks = streams.iter().map(|stream| [Mark::of(stream).unwrap_or_default(); 4]);
            Watched {
                place: flow.place,
                direction: flow.spec.direction,
                marks: marks.collect(),
                streams,
                ids: flow.ids.clone(),
                slots: Vec::new(),
            }
        };
        let is_transfer = flows.iter().all(|flow| flow.load.transfer_bytes().is_some());
        Self {
            trial,
            grid: if is_transfer { trial.timing.beats() } else { trial.timing.grid() },
            is_transfer,
            start,
            cut: 0,
            flows: flows.iter().map(watched).collect(),
            has_begun: start <= clock::now(),
            has_ended: false,
        }
    }

    /// Until all flows are over, which is after the steady time.
    pub(super) fn until_over<T>(
        &mut self,
        bed: &mut Iperf3Testbed,
        session: &mut Session,
        lease: &Lease,
        threads: &[ScopedJoinHandle<'_, T>],
        is_broken: &AtomicBool,
    ) -> Result<(), ClientError> {
        let Timing { warm_up, steady, .. } = self.trial.timing;
        let steady_end = self.start + warm_up + steady;
        loop {
            let now = clock::now();
            if bed.options.stop.is_set() {
                return Err(ClientError::Stopped);
            }
            if !self.has_ended {
                session.listen()?;
            }
            lease.renew(now);
            self.begin_once(now);
            self.cut_what_is_over(bed, now);
            let over = threads.iter().all(ScopedJoinHandle::is_finished);
            let sent = threads.iter().zip(&self.flows).all(|(thread, flow)| {
                flow.direction == Direction::Download || thread.is_finished()
            });
            if now >= steady_end && sent {
                self.say_end_once(session)?;
            }
            if over || is_broken.load(Ordering::Relaxed) {
                self.cut_the_rest(bed, now);
                return Ok(());
            }
            let begins = Some(self.start).filter(|_| !self.has_begun);
            let slot_ends = self.grid.get(self.cut).map(|slot| self.start + slot.end);
            let due = begins.or(slot_ends);
            let left = due.map_or(LOOK_UP, |due| due.since(now)).min(LOOK_UP);
            let control = [(session.control.as_fd(), Interest::Read)];
            // What it says after the end is for later.
            let sources = if self.has_ended { &[][..] } else { &control[..] };
            wait(sources, left).map_err(|source| host("wait for the iperf3 server", source))?;
        }
    }

    /// What came before the start is of no slot.
    fn begin_once(&mut self, now: Time) {
        if !self.has_begun && now >= self.start {
            self.has_begun = true;
            self.flows.iter_mut().for_each(Watched::begin);
        }
    }

    pub(super) fn say_end_once(&mut self, session: &mut Session) -> Result<(), ClientError> {
        if std::mem::replace(&mut self.has_ended, true) {
            return Ok(());
        }
        session.say_end()
    }

    /// All but the last slot, which ends with the flows.
    fn cut_what_is_over(&mut self, bed: &mut Iperf3Testbed, now: Time) {
        while self.cut + 1 < self.grid.len() && self.start + self.grid[self.cut].end <= now {
            self.cut_next(bed, now);
        }
    }

    /// Of a transfer there is nothing more.
    fn cut_the_rest(&mut self, bed: &mut Iperf3Testbed, now: Time) {
        while self.cut < self.grid.len() {
            self.cut_next(bed, now);
            if self.is_transfer {
                return;
            }
        }
    }

    fn cut_next(&mut self, bed: &mut Iperf3Testbed, now: Time) {
        let slot = self.grid[self.cut];
        let begins_steady = self.grid.get(self.cut + 1).is_some_and(|next| next.steady);
        let (at, cut) = (self.start + slot.start, now.since(self.start));
        for flow in &mut self.flows {
            let sample = flow.cut(slot, cut, begins_steady && !slot.steady);
            let lasts = now.since(at);
            let sample = Sample { at: slot.start, lasts, steady: slot.steady, ..sample };
            bed.sampled(self.trial, flow.place, sample);
        }
        self.cut += 1;
    }

    /// As the server is told.
    pub(super) fn results(&self) -> Vec<StreamResult> {
        let steady = self.trial.timing.steady;
        let lasted = if self.is_transfer { self.lasted() } else { steady }.as_secs_f64();
        let result = |direction, [_, from, to, _]: &[Mark; 4], id: u32| {
            let (bytes, retransmits) = match direction {
                Direction::Upload => (
                    to.acknowledged_bytes - from.acknowledged_bytes,
                    i64::from(to.retransmitted_segments - from.retransmitted_segments),
                ),
                Direction::Download => (to.received_bytes - from.received_bytes, -1),
            };
            StreamResult {
                id: id.into(),
                bytes: i64::try_from(bytes).unwrap_or(i64::MAX),
                retransmits,
                end_time: lasted,
                ..StreamResult::default()
            }
        };
        let flows = self.flows.iter();
        flows
            .flat_map(|flow| {
                let marks = flow.marks.iter().zip(&flow.ids);
                marks.map(|(marks, id)| result(flow.direction, marks, *id))
            })
            .collect()
    }

    /// From the start to the last look.
    fn lasted(&self) -> Duration {
        let cuts = self.flows.iter().filter_map(|flow| flow.slots.last()).map(|slot| slot.cut_ns);
        cuts.max().map_or(Duration::ZERO, Duration::from_nanos)
    }

    pub(super) fn upload(
        &self,
        flow: &Flow<'_>,
        half: TcpSenderHalf,
    ) -> Result<TcpReport, join::JoinError> {
        let timing = &self.trial.timing;
        let Half::TcpSender(half) = Half::TcpSender(half).by_slots(timing, &flow.spec.load) else {
            return Err(join::JoinError::OtherLoad(flow.place));
        };
        let watched = self.flows.iter().find(|watched| watched.place == flow.place);
        let received = Half::TcpReceiver(watched.map(Watched::received).unwrap_or_default());
        let received = match self.is_transfer {
            true => received.by_slots(timing, &flow.spec.load),
            // Its slots are those of the grid already.
            false => received,
        };
        let Half::TcpReceiver(received) = received else {
            return Err(join::JoinError::OtherLoad(flow.place));
        };
        join::tcp_report(flow.place, flow.load, timing, half, received)
    }
}

impl Watched {
    fn begin(&mut self) {
        for (stream, marks) in self.streams.iter().zip(&mut self.marks) {
            *marks = [Mark::of(stream).unwrap_or(marks[0]); 4];
        }
    }

    fn cut(&mut self, slot: Slot, cut: Duration, begins_steady: bool) -> Sample {
        let (mut last, mut now) = (Mark::default(), Mark::default());
        let mut rtts = Vec::new();
        for (stream, marks) in self.streams.iter().zip(&mut self.marks) {
            // A connection that has closed counts no more.
            let mark = Mark::of(stream).unwrap_or(marks[3]);
            last = last.and(&marks[3]);
            now = now.and(&mark);
            rtts.extend(mark.rtt);
            marks[3] = mark;
            if begins_steady {
                (marks[1], marks[2]) = (mark, mark);
            }
            if slot.steady {
                marks[2] = mark;
            }
        }
        let acknowledged = now.acknowledged_bytes.saturating_sub(last.acknowledged_bytes);
        let received = now.received_bytes.saturating_sub(last.received_bytes);
        self.slots.push(ReceiverSlot {
            cut_ns: cut.as_nanos() as u64,
            received_bytes: acknowledged,
            active_connections: None,
        });
        let count = u32::try_from(rtts.len()).unwrap_or(u32::MAX);
        match self.direction {
            Direction::Upload => Sample {
                sent_bytes: Some(now.sent_bytes.saturating_sub(last.sent_bytes)),
                received_bytes: Some(acknowledged),
                retransmitted_bytes: Some(
                    now.retransmitted_bytes.saturating_sub(last.retransmitted_bytes),
                ),
                rtt: rtts.iter().sum::<Duration>().checked_div(count),
                cwnd_bytes: Some(now.cwnd_bytes),
                ..Sample::default()
            },
            Direction::Download => Sample { received_bytes: Some(received), ..Sample::default() },
        }
    }

    /// The far half of an upload, as this end's kernel knows it.
    fn received(&self) -> TcpReceiverHalf {
        let of = |to: &Mark, from: &Mark| to.acknowledged_bytes - from.acknowledged_bytes;
        let last = self.slots.iter().rev().find(|slot| slot.received_bytes > 0);
        TcpReceiverHalf {
            slots: self.slots.clone(),
            beats_per_slot: 1,
            good_bytes: self.marks.iter().map(|[_, from, to, _]| of(to, from)).collect(),
            received_segments: vec![None; self.marks.len()],
            dscp_received: vec![None; self.marks.len()],
            whole_good_bytes: self.marks.iter().map(|[start, .., last]| of(last, start)).sum(),
            whole_until_ns: last.map_or(0, |slot| slot.cut_ns),
            dropped_frames: 0,
        }
    }
}

impl Mark {
    fn and(&self, other: &Self) -> Self {
        Self {
            sent_bytes: self.sent_bytes + other.sent_bytes,
            retransmitted_bytes: self.retransmitted_bytes + other.retransmitted_bytes,
            acknowledged_bytes: self.acknowledged_bytes + other.acknowledged_bytes,
            received_bytes: self.received_bytes + other.received_bytes,
            retransmitted_segments: self.retransmitted_segments + other.retransmitted_segments,
            rtt: None,
            cwnd_bytes: self.cwnd_bytes + other.cwnd_bytes,
        }
    }
}
