//! TCP trials: this end's kernel connections, with a stock iperf3 server behind the other ends.

use std::net::TcpStream;
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use fp_model::{
    ConnectionReport, Direction, FlowReport, FlowSpec, Load, Observation, Sample, TcpLoad,
    TcpReport, TesterHealth, Time, Timing, Trial,
};

use super::ask::{Ask, authorised};
use super::session::{Session, host};
use super::watch::Watch;
use super::{Iperf3Testbed, in_order, probes};
use crate::half::{Half, SenderSlot, TcpReceiverHalf, TcpSenderConnection, TcpSenderHalf};
use crate::iperf3::client::ClientError;
use crate::iperf3::wire::{Parameters, Results, stream_ids};
use crate::kernel_tcp::options::{
    CONGESTION_CONTROL_OF_LAST_RESORT, hold_window_clamp, window_clamp,
};
use crate::kernel_tcp::{self, TcpError};
use crate::near::join;
use crate::os::clock;
use crate::os::schedule::Promptly;
use crate::os::tcp;
use crate::os::thread_usage::ThreadUsage;
use crate::os::wake::{Interest, wait};
use crate::{Lease, Marking};

pub(super) const LOOK_UP: Duration = Duration::from_millis(20);
/// Options that every Linux uses: timestamps.
const OPTIONS_BYTES: u32 = 12;

/// One flow of the trial with its streams.
pub(super) struct Flow<'a> {
    pub(super) place: usize,
    pub(super) spec: &'a FlowSpec,
    pub(super) load: &'a TcpLoad,
    pub(super) streams: Vec<TcpStream>,
    /// The numbers of its streams.
    pub(super) ids: Vec<u32>,
}

/// What a flow's thread comes back with.
struct Ended {
    half: TcpHalf,
    usage: ThreadUsage,
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
        near.longest_stall = near.longest_stall.max(ended.usage.longest_stall());
        near.busiest_thread = near.busiest_thread.max(ended.usage.processor_share());
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
        flow.streams.push(probes::open(session, bed, load, Marking::of(spec), index)?);
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
        let mut usage = ThreadUsage::begin();
        let half = match self.spec.direction {
            Direction::Upload => {
                // A window that is kept from here is as late as this thread.
                let _promptly = Promptly::run();
                let mut look = |_, _| usage.look();
                let begins = self.spec.begins;
                let half = kernel_tcp::send_within_windows(
                    streams, self.load, begins, timing, start, lease, &mut look,
                )?;
                TcpHalf::Sender(half)
            }
            Direction::Download => {
                let lease = lease.for_receiver();
                let mut look = |_, _| usage.look();
                let half =
                    kernel_tcp::receive(streams, self.load, timing, start, &lease, &mut look)?;
                TcpHalf::Receiver(half)
            }
        };
        Ok(Ended { half, usage })
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
        dropped_frames: 0,
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
