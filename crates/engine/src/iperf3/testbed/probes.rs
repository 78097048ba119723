//! Path MTU and round trip towards a far end that answers no probes: by what TCP shows of them.
//!
//! The far end's kernel answers the handshake of a connection at once, so that each handshake is a
//! round trip. A connection whose segments fill packets of one size shows whether these pass: they
//! are acknowledged, or they come.

use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::time::Duration;

use fp_model::{
    CongestionControl, Direction, FlowReport, FlowSpec, Load, Observation, Pace, PacketLayout,
    ProbedBy, ProbesLoad, ProbesReport, Rate, RttSummary, Sender, TcpEngine, TcpLoad, Trial,
};
use rustix::net::RecvFlags;

use super::Iperf3Testbed;
use super::ask::{authorised, blank};
use super::session::{Session, host};
use crate::Marking;
use crate::control::socket::connect;
use crate::iperf3::client::ClientError;
use crate::iperf3::control::PATIENCE;
use crate::iperf3::wire::{Cookie, End, StreamResult, Transport, Way, stream_ids};
use crate::kernel_tcp::options::data_socket;
use crate::kernel_tcp::payload::Payload;
use crate::os::clock;
use crate::os::tcp::{self, TcpInfo};
use crate::os::wake::{Interest, wait};

/// Up to here a packet is no larger than those of a handshake and its answer.
const HANDSHAKE_BYTES_MAX: u32 = 128;
/// Each takes a round trip, one after the other.
const HANDSHAKES_MAX: u32 = 20;
/// Of each stream while segments of the far end are looked for: a hundred packets a second.
const DOWNLOAD_RATE: Rate = Rate::mbps(2);
/// What the first repetition of a segment may take beyond the round trips.
const REPETITION: Duration = Duration::from_millis(300);
const LOOK_UP: Duration = Duration::from_millis(2);
/// The kernel counts the handshake for one byte.
const ACKNOWLEDGED_BEFORE: u64 = Cookie::BYTES as u64 + 1;

pub(super) fn run(bed: &Iperf3Testbed, trial: &Trial) -> Result<Observation, ClientError> {
    let probed: Vec<(&FlowSpec, ProbesLoad)> = trial
        .flows
        .iter()
        .filter_map(|flow| match flow.load {
            Load::Probes(load) => Some((flow, load)),
            Load::Frames(_) | Load::Bursts(_) | Load::Tcp(_) | Load::Connections(_) => None,
        })
        .collect();
    let mut session = bed.session()?;
    let reports = match probed.as_slice() {
        [(_, load)] if load.packet_bytes <= HANDSHAKE_BYTES_MAX => {
            vec![handshakes(bed, &mut session, load.count)?]
        }
        sizes => {
            let timing = &trial.timing;
            segments(bed, &mut session, sizes, timing.steady + timing.settle + REPETITION)?
        }
    };
    let flows = reports.into_iter().map(FlowReport::Probes).collect();
    Ok(Observation { flows, ..Observation::default() })
}

/// A test of so many connections that carry nothing.
pub(super) fn handshakes(
    bed: &Iperf3Testbed,
    session: &mut Session,
    count: u32,
) -> Result<ProbesReport, ClientError> {
    let streams = count.clamp(1, HANDSHAKES_MAX);
    let end = End::After(Duration::from_secs(1));
    let asked = crate::iperf3::wire::Parameters { streams, end, ..blank(Transport::Tcp) };
    session.ask(&authorised(asked, bed.credentials.as_ref())?)?;
    let load = of_segments(u32::from(u16::MAX));
    let any = Marking::default();
    let open = (0..streams).map(|_| open(session, bed, &load, any, 0));
    let open = open.collect::<Result<Vec<_>, _>>()?;
    let rtt = |stream: &TcpStream| {
        let info = tcp::info(stream).ok().filter(|info| info.min_rtt_us < u32::MAX)?;
        Some(Duration::from_micros(info.min_rtt_us.into()))
    };
    let rtts: Vec<Duration> = open.iter().filter_map(rtt).collect();
    session.begin()?;
    session.say_end()?;
    session.exchange(results(open.len()))?;
    let answered = rtts.len() as u64;
    Ok(ProbesReport {
        sent: streams.into(),
        arrived: answered,
        answered,
        rtt: RttSummary::of(rtts),
        by: ProbedBy::Tcp,
        ..ProbesReport::default()
    })
}

/// One connection for each size of packets.
struct Sized {
    stream: TcpStream,
    /// Payload of a segment that fills a packet of the size.
    segment_bytes: u32,
    tries: u32,
}

fn segments(
    bed: &Iperf3Testbed,
    session: &mut Session,
    sizes: &[(&FlowSpec, ProbesLoad)],
    patience: Duration,
) -> Result<Vec<ProbesReport>, ClientError> {
    let direction = sizes.first().map_or(Direction::Upload, |(flow, _)| flow.direction);
    let headers = bed.family.ip_header_bytes() + PacketLayout::TCP_HEADER_BYTES;
    let longest = sizes.iter().map(|(_, load)| load.packet_bytes).max().unwrap_or(headers);
    let asked = crate::iperf3::wire::Parameters {
        way: match direction {
            Direction::Upload => Way::Forward,
            Direction::Download => Way::Reverse,
        },
        streams: sizes.len() as u32,
        rate: (direction == Direction::Download).then_some(DOWNLOAD_RATE),
        block_bytes: longest.saturating_sub(headers + PacketLayout::TCP_TIMESTAMPS_BYTES).max(1),
        end: End::After(Duration::from_secs(1)),
        ..blank(Transport::Tcp)
    };
    session.ask(&authorised(asked, bed.credentials.as_ref())?)?;
    let sized = sizes.iter().map(|(flow, load)| {
        let mss_bytes = load.packet_bytes.saturating_sub(headers);
        let marking = Marking { near_port: None, ..Marking::of(flow) };
        let stream = open(session, bed, &of_segments(mss_bytes), marking, 0)?;
        let info = info(&stream)?;
        let options = if info.has_timestamps() { PacketLayout::TCP_TIMESTAMPS_BYTES } else { 0 };
        let segment_bytes = mss_bytes.saturating_sub(options);
        Ok(Sized { stream, segment_bytes, tries: load.count })
    });
    let sized = sized.collect::<Result<Vec<_>, ClientError>>()?;
    session.begin()?;
    if direction == Direction::Upload {
        for size in &sized {
            let bytes = size.segment_bytes.saturating_mul(size.tries) as usize;
            let sent = Payload::new().write(&size.stream, bytes);
            sent.map_err(|source| host("send probes", source))?;
        }
    }
    let deadline = clock::now() + patience;
    let reports = loop {
        session.listen()?;
        let looked = sized.iter().map(|size| size.report(direction)).collect::<Result<Vec<_>, _>>();
        let reports = looked?;
        if clock::now() >= deadline || reports.iter().all(|report| report.answered > 0) {
            break reports;
        }
        wait(&[(session.control.as_fd(), Interest::Read)], LOOK_UP)
            .map_err(|source| host("wait for probes", source))?;
    };
    session.say_end()?;
    session.exchange(results(sized.len()))?;
    Ok(reports)
}

impl Sized {
    /// So far.
    fn report(&self, direction: Direction) -> Result<ProbesReport, ClientError> {
        if direction == Direction::Download {
            discard(&self.stream);
        }
        let info = info(&self.stream)?;
        let (passed, is_cut) = match direction {
            Direction::Upload => self.sent(&info),
            Direction::Download => self.received(&info),
        };
        let passed = u64::from(passed.min(self.tries));
        Ok(ProbesReport {
            sent: self.tries.into(),
            arrived: passed,
            answered: passed,
            // A kernel that cuts segments shorter has been told to, or has no longer packets.
            too_big_answers: is_cut.into(),
            by: ProbedBy::Tcp,
            ..ProbesReport::default()
        })
    }

    fn sent(&self, info: &TcpInfo) -> (u32, bool) {
        let is_cut = info.snd_mss_bytes < self.segment_bytes;
        let acknowledged = info.acked_bytes.saturating_sub(ACKNOWLEDGED_BEFORE);
        (if is_cut { 0 } else { self.full(acknowledged) }, is_cut)
    }

    fn received(&self, info: &TcpInfo) -> (u32, bool) {
        let is_full = info.rcv_mss_bytes >= self.segment_bytes;
        let has_come = info.received_bytes >= u64::from(self.segment_bytes);
        (if is_full { self.full(info.received_bytes) } else { 0 }, has_come && !is_full)
    }

    fn full(&self, bytes: u64) -> u32 {
        let segments = bytes.checked_div(self.segment_bytes.into()).unwrap_or(0);
        u32::try_from(segments).unwrap_or(u32::MAX)
    }
}

/// Nothing of it is wanted; one that broke shows in what it counts.
pub(super) fn discard(stream: &TcpStream) {
    const ROOM: usize = 1 << 20;
    let _ = rustix::net::recv(stream, &mut vec![0; ROOM][..], RecvFlags::TRUNC);
}

fn info(stream: &TcpStream) -> Result<TcpInfo, ClientError> {
    tcp::info(stream).map_err(|source| host("read what the kernel counts", source))
}

const fn of_segments(mss_bytes: u32) -> TcpLoad {
    TcpLoad {
        connections: 1,
        window_bytes: u16::MAX as u64,
        mss_bytes,
        sender: Sender::Bulk,
        congestion_control: CongestionControl::Cubic,
        pacing: None,
        pace: Pace::Unlimited,
        write_bytes: None,
        engine: TcpEngine::Kernel,
    }
}

/// A stream of the test, with its window and its segments; of a flow the one of this index.
pub(super) fn open(
    session: &Session,
    bed: &Iperf3Testbed,
    load: &TcpLoad,
    marking: Marking,
    index: usize,
) -> Result<TcpStream, ClientError> {
    let opened = || {
        let far: SocketAddr = session.control.peer()?;
        let socket = data_socket(far.ip(), load, marking.traffic_class)?;
        marking.bind(&socket, index, far.ip())?;
        let deadline = clock::now() + PATIENCE;
        let stream = connect(socket, far, deadline, &bed.options.stop)?;
        // The first bytes of a connection always fit its buffer.
        std::io::Write::write_all(&mut &stream, session.cookie.as_bytes())?;
        Ok(stream)
    };
    opened().map_err(|source: std::io::Error| match source.kind() {
        std::io::ErrorKind::Interrupted => ClientError::Stopped,
        _ => ClientError::Stream { transport: "TCP", source },
    })
}

/// Of so many streams that say nothing of what they carried.
fn results(streams: usize) -> Vec<StreamResult> {
    let blank =
        |id: u32| StreamResult { id: id.into(), retransmits: -1, ..StreamResult::default() };
    stream_ids().take(streams).map(blank).collect()
}
