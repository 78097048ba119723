//! TCP trials: this end's kernel connections, with a stock iperf3 server behind the other ends.

use std::net::TcpStream;
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use fp_model::{
    ConnectionReport, Direction, FlowReport, FlowSpec, Load, Observation, Sample, Slot, TcpLoad,
    TcpReport, TesterHealth, Time, Timing, Trial,
};

use super::ask::{Ask, authorised};
use super::session::{Session, host};
use super::{Iperf3Testbed, in_order, probes};
use crate::half::{
    Half, ReceiverSlot, SenderSlot, TcpReceiverHalf, TcpSenderConnection, TcpSenderHalf,
};
use crate::iperf3::client::ClientError;
use crate::iperf3::wire::{Parameters, Results, StreamResult, stream_ids};
use crate::kernel_tcp::options::{
    CONGESTION_CONTROL_OF_LAST_RESORT, hold_window_clamp, window_clamp,
};
use crate::kernel_tcp::{self, TcpError};
use crate::near::join;
use crate::os::clock;
use crate::os::effort::Effort;
use crate::os::schedule::Promptly;
use crate::os::tcp::{self, TcpInfo};
use crate::os::wake::{Interest, wait};
use crate::{Bearing, Lease};

const LOOK_UP: Duration = Duration::from_millis(20);
/// Options that every Linux uses: timestamps.
const OPTIONS_BYTES: u32 = 12;

/// One flow of the trial with its streams.
struct Flow<'a> {
    place: usize,
    spec: &'a FlowSpec,
    load: &'a TcpLoad,
    streams: Vec<TcpStream>,
    /// The numbers of its streams.
    ids: Vec<u32>,
}

/// What a flow's thread comes back with.
struct Ended {
    half: TcpHalf,
    effort: Effort,
}

enum TcpHalf {
    Sender(TcpSenderHalf),
    Receiver(TcpReceiverHalf),
}

pub(super) fn run(
    bed: &mut Iperf3Testbed,
    trial: &Trial,
    ask: &Ask,
) -> Result<Observation, ClientError> {
    let (mut session, flows) = begun(bed, trial, ask)?;
    let start = clock::now() + ask.lead;
    let lease = Lease::new(clock::now());
    let mut watch = Watch::new(&flows, trial, start);
    let is_broken = AtomicBool::new(false);
    let ended = thread::scope(|scope| {
        let threads = flows.iter().map(|flow| {
            let (timing, lease, is_broken) = (&trial.timing, &lease, &is_broken);
            let half = move || {
                let broke = |_: &TcpError| is_broken.store(true, Ordering::Relaxed);
                flow.run(timing, start, lease).inspect_err(broke)
            };
            thread::Builder::new().name(format!("flow {}", flow.place)).spawn_scoped(scope, half)
        });
        let threads = threads.collect::<Result<Vec<_>, _>>();
        let watched = match &threads {
            Ok(threads) => watch.until_over(bed, &mut session, &lease, threads, &is_broken),
            Err(_) => Ok(()),
        };
        lease.stop();
        let threads = threads.map_err(|source| host("start a thread", source))?;
        let ended: Vec<_> = threads.into_iter().map(ScopedJoinHandle::join).collect();
        watched.map(|()| ended)
    })?;
    watch.say_end_once(&mut session)?;
    let results = session.exchange(watch.results())?;
    let mut near = TesterHealth::default();
    let mut reports = Vec::with_capacity(flows.len());
    for (flow, ended) in flows.iter().zip(ended) {
        let ended = ended.unwrap_or(Err(TcpError::PeerSilent)).map_err(|error| {
            ClientError::Server { far: bed.far.to_string(), why: error.to_string() }
        })?;
        near.longest_stall = near.longest_stall.max(ended.effort.longest_stall());
        near.busiest_thread = near.busiest_thread.max(ended.effort.processor_share());
        let report = match ended.half {
            TcpHalf::Sender(half) => watch.upload(flow, half),
            TcpHalf::Receiver(half) => {
                let asked = flow.load.congestion_control.name();
                let asked = asked.filter(|_| !bed.takes_last_resort);
                download(flow, half, &trial.timing, &results, asked)
            }
        };
        let report = report.map_err(|error| session.untold(&error.to_string()))?;
        reports.push((flow.place, FlowReport::Tcp(report)));
    }
    Ok(Observation { flows: in_order(reports), near, ..Observation::default() })
}

/// A test that the server has begun. One whose host does not allow its user the congestion control
/// that is asked for closes the connection without a word, and keeps the name for tests that do not
/// ask for any: it is asked for one that every host allows.
fn begun<'a>(
    bed: &mut Iperf3Testbed,
    trial: &'a Trial,
    ask: &Ask,
) -> Result<(Session, Vec<Flow<'a>>), ClientError> {
    let begin = |bed: &Iperf3Testbed, asked: &Parameters| {
        let mut session = bed.session()?;
        session.ask(asked)?;
        let flows = open(bed, &session, trial, ask)?;
        session.begin()?;
        Ok((session, flows))
    };
    let asked = &ask.parameters;
    let by_last_resort = || {
        let congestion = Some(CONGESTION_CONTROL_OF_LAST_RESORT.to_owned());
        authorised(Parameters { congestion, ..asked.clone() }, bed.credentials.as_ref())
    };
    match (asked.congestion.is_some(), bed.takes_last_resort) {
        (false, _) => begin(bed, asked),
        (true, true) => begin(bed, &by_last_resort()?),
        (true, false) => match begin(bed, asked) {
            Err(error @ (ClientError::Server { .. } | ClientError::Stream { .. })) => {
                let begun = begin(bed, &by_last_resort()?).map_err(|_| error)?;
                bed.takes_last_resort = true;
                Ok(begun)
            }
            outcome => outcome,
        },
    }
}

/// All streams, those of uploads first, each before the next: the server numbers them as they come.
fn open<'a>(
    bed: &Iperf3Testbed,
    session: &Session,
    trial: &'a Trial,
    ask: &Ask,
) -> Result<Vec<Flow<'a>>, ClientError> {
    let mut flows: Vec<Flow<'_>> = Vec::new();
    for (&place, id) in ask.flows.iter().zip(stream_ids()) {
        let spec = &trial.flows[place];
        let Load::Tcp(load) = &spec.load else { continue };
        if flows.last().is_none_or(|flow| flow.place != place) {
            let (streams, ids) = (Vec::new(), Vec::new());
            flows.push(Flow { place, spec, load, streams, ids });
        }
        let Some(flow) = flows.last_mut() else { continue };
        let index = flow.streams.len();
        flow.streams.push(probes::open(session, bed, load, Bearing::of(spec), index)?);
        flow.ids.push(id);
    }
    Ok(flows)
}

impl Flow<'_> {
    /// This end's half of it. The streams stay open beyond it: a server that finds one reset before
    /// the end of the test gives the test up.
    fn run(&self, timing: &Timing, start: Time, lease: &Lease) -> Result<Ended, TcpError> {
        let streams = self.streams.iter().map(TcpStream::try_clone).collect::<Result<Vec<_>, _>>();
        let streams = streams.map_err(TcpError::Watch)?;
        if self.spec.direction == Direction::Download {
            self.discard_until(start, lease)?;
        }
        let mut effort = Effort::begin();
        let half = match self.spec.direction {
            Direction::Upload => {
                // A window that is kept from here is as late as this thread.
                let _promptly = Promptly::run();
                let mut look = |_, _| effort.look();
                let begins = self.spec.begins;
                let half = kernel_tcp::send_within_windows(
                    streams, self.load, begins, timing, start, lease, &mut look,
                )?;
                TcpHalf::Sender(half)
            }
            Direction::Download => {
                let lease = lease.for_receiver();
                let mut look = |_, _| effort.look();
                let half =
                    kernel_tcp::receive(streams, self.load, timing, start, &lease, &mut look)?;
                TcpHalf::Receiver(half)
            }
        };
        Ok(Ended { half, effort })
    }

    /// The server sends as soon as the test begins, which may be before the trial.
    fn discard_until(&self, start: Time, lease: &Lease) -> Result<(), TcpError> {
        let clamp = window_clamp(self.load);
        let sources: Vec<_> =
            self.streams.iter().map(|stream| (stream.as_fd(), Interest::Read)).collect();
        while clock::now() < start && lease.is_live(clock::now()) {
            let left = start.since(clock::now());
            wait(&sources, left.min(LOOK_UP)).map_err(TcpError::Watch)?;
            for (index, stream) in self.streams.iter().enumerate() {
                probes::discard(stream);
                hold_window_clamp(stream, clamp)
                    .map_err(|source| TcpError::Broken { index, source })?;
            }
        }
        Ok(())
    }
}

/// What this end's kernel knows of all connections, slot by slot: of uploads, what the far end's
/// has acknowledged is what it received.
struct Watch<'a> {
    trial: &'a Trial,
    grid: Vec<Slot>,
    /// It may be over before its time.
    is_transfer: bool,
    start: Time,
    cut: usize,
    flows: Vec<Watched>,
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
    fn new(flows: &[Flow<'_>], trial: &'a Trial, start: Time) -> Self {
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
            has_ended: false,
        }
    }

    /// Until all flows are over, which is after the steady time.
    fn until_over<T>(
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
            let due = self.grid.get(self.cut).map(|slot| self.start + slot.end);
            let left = due.map_or(LOOK_UP, |due| due.since(now)).min(LOOK_UP);
            let control = [(session.control.as_fd(), Interest::Read)];
            // What it says after the end is for later.
            let sources = if self.has_ended { &[][..] } else { &control[..] };
            wait(sources, left).map_err(|source| host("wait for the iperf3 server", source))?;
        }
    }

    fn say_end_once(&mut self, session: &mut Session) -> Result<(), ClientError> {
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
    fn results(&self) -> Vec<StreamResult> {
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

    fn upload(&self, flow: &Flow<'_>, half: TcpSenderHalf) -> Result<TcpReport, join::JoinError> {
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
        self.slots
            .push(ReceiverSlot { cut_ns: cut.as_nanos() as u64, received_bytes: acknowledged });
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

/// The server tells which segments it sent again, and nothing by time.
fn download(
    flow: &Flow<'_>,
    half: TcpReceiverHalf,
    timing: &Timing,
    results: &Results,
    asked: Option<&str>,
) -> Result<TcpReport, join::JoinError> {
    // A server that says nothing of it has what it was asked for.
    let congestion_control = results.congestion_used.as_deref().or(asked).unwrap_or_default();
    let Half::TcpReceiver(half) = Half::TcpReceiver(half).by_slots(timing, &flow.spec.load) else {
        return Err(join::JoinError::OtherLoad(flow.place));
    };
    let unknown = TcpSenderHalf {
        slots: vec![SenderSlot::default(); half.slots.len()],
        beats_per_slot: half.beats_per_slot,
        connections: vec![TcpSenderConnection::default(); half.good_bytes.len()],
    };
    let joined = join::tcp_report(flow.place, flow.load, timing, unknown, half.clone())?;
    let unsaid = |sample| Sample { sent_bytes: None, retransmitted_bytes: None, ..sample };
    let connections =
        flow.streams.iter().zip(&flow.ids).enumerate().map(|(index, (stream, id))| {
            let good_bytes = half.good_bytes[index];
            let segment_bytes = tcp::info(stream).ok().map(|info| info.rcv_mss_bytes);
            let full = segment_bytes.unwrap_or(flow.load.mss_bytes.saturating_sub(OPTIONS_BYTES));
            let again = results.stream(*id).and_then(|told| u64::try_from(told.retransmits).ok());
            let retransmitted_bytes = again.map(|segments| segments * u64::from(full));
            ConnectionReport {
                good_bytes,
                transmitted_bytes: retransmitted_bytes.map(|again| again + good_bytes),
                retransmitted_bytes,
                segment_bytes,
                congestion_control: congestion_control.to_owned(),
                received_segments: half.received_segments[index],
                dscp_received: half.dscp_received[index],
                ..ConnectionReport::default()
            }
        });
    Ok(TcpReport {
        connections: connections.collect(),
        series: joined.series.into_iter().map(unsaid).collect(),
        ..joined
    })
}
