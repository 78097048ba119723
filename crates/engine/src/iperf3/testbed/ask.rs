//! A trial as a stock iperf3 server can be asked for it, or a sentence on why it cannot.

use std::time::Duration;

use fp_model::{
    Direction, Family, FlowSpec, FramesLoad, Load, Pace, PacketLayout, Rate, Sender, TcpLoad, Trial,
};

use crate::iperf3::auth::{AuthError, Credentials};
use crate::iperf3::wire::{Counter, End, Parameters, STREAMS_MAX, Transport, Way};
use crate::os::clock;

/// What a server is asked for, and which streams belong to which flow.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) kind: Kind,
    pub(super) parameters: Parameters,
    /// The test begins so long before the trial: a server omits whole seconds.
    pub(super) lead: Duration,
    /// The flow of each stream, in the order of the streams: those that this end sends on first.
    pub(super) flows: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Probes,
    Frames,
    Tcp,
}

/// Why a trial cannot be run against a stock iperf3 server.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error(
        "a stock iperf3 server takes no bursts of frames: start `fullpipe serve` at the far end"
    )]
    Bursts,
    #[error(
        "a stock iperf3 server takes up to {STREAMS_MAX} connections and not so many by a TCP of its \
         own: start `fullpipe serve` at the far end"
    )]
    Connections,
    #[error(
        "a stock iperf3 server has either TCP or UDP in a test: leave one out, or start `fullpipe \
         serve` at the far end"
    )]
    Mixed,
    #[error(
        "a stock iperf3 server treats all its streams alike: give all flows the same {0}, or start \
         `fullpipe serve` at the far end"
    )]
    Unlike(&'static str),
    #[error("a stock iperf3 server has up to {STREAMS_MAX} streams, not {0}")]
    Streams(usize),
    #[error(
        "a stock iperf3 server has as many streams in one direction as in the other: ask for that \
         many, or test one direction at a time"
    )]
    Uneven,
    #[error(
        "a stock iperf3 server sends as fast as it can or at one rate: ask for that, or start \
         `fullpipe serve` at the far end"
    )]
    Pace,
    #[error(
        "a stock iperf3 server sends in bulk, not in bursts: ask for that, or start `fullpipe serve` \
         at the far end"
    )]
    Burst,
    #[error(
        "a stock iperf3 server begins all that it sends at once, and UDP streams begin together: let \
         only TCP flows from this end begin later, or start `fullpipe serve` at the far end"
    )]
    Beginning,
    #[error(
        "a stock iperf3 server is spoken to over one IP version: leave out the flows of the other"
    )]
    Family,
    #[error(
        "the frames are too short: a stock iperf3 server needs {LEAST_BLOCK_BYTES} bytes of payload"
    )]
    Short,
    #[error("a stock iperf3 server has up to {SECONDS_MAX} s, {OMITTED_MAX} of them to warm up")]
    Long,
    #[error("{0}")]
    Credentials(#[from] AuthError),
}

const LEAST_BLOCK_BYTES: u32 = 16;
const TCP_BLOCK_BYTES: u32 = 128 << 10;
const SECONDS_MAX: u64 = 86_400;
const OMITTED_MAX: u64 = 600;

impl Ask {
    pub(super) fn of(
        trial: &Trial,
        family: Family,
        credentials: Option<&Credentials>,
    ) -> Result<Self, AskError> {
        let kind = kind(&trial.flows)?;
        if trial.flows.iter().any(|flow| flow.family != family) {
            return Err(AskError::Family);
        }
        let can_begin = |flow: &FlowSpec| {
            flow.begins.is_zero() || (kind == Kind::Tcp && flow.direction == Direction::Upload)
        };
        if !trial.flows.iter().all(can_begin) {
            return Err(AskError::Beginning);
        }
        let (flows, way, streams) = streams(&trial.flows)?;
        let mut parameters = match kind {
            Kind::Probes => blank(Transport::Tcp),
            Kind::Tcp => tcp(&trial.flows)?,
            Kind::Frames => frames(&trial.flows)?,
        };
        let omits = match kind {
            Kind::Probes => false,
            // Only a server that sends counts what is to be omitted.
            Kind::Tcp => way != Way::Forward,
            Kind::Frames => true,
        };
        let omit = if omits { whole_seconds(trial.timing.warm_up) } else { 0 };
        let seconds = whole_seconds(trial.timing.steady).max(1);
        let by_count = transfer_bytes(&trial.flows)?;
        if omit > OMITTED_MAX || (by_count.is_none() && omit + seconds > SECONDS_MAX) {
            return Err(AskError::Long);
        }
        let omit = Duration::from_secs(omit);
        (parameters.way, parameters.streams, parameters.omit) = (way, streams, omit);
        let by_time = End::After(Duration::from_secs(seconds));
        parameters.end = by_count.map_or(by_time, End::Bytes);
        let parameters = authorised(parameters, credentials)?;
        let lead = omit.saturating_sub(trial.timing.warm_up);
        Ok(Self { kind, parameters, lead, flows })
    }
}

/// For a server that wants to know who asks.
pub(super) fn authorised(
    mut parameters: Parameters,
    credentials: Option<&Credentials>,
) -> Result<Parameters, AuthError> {
    let token = |credentials: &Credentials| credentials.token(clock::wall());
    parameters.authtoken = credentials.map(token).transpose()?;
    Ok(parameters)
}

/// What is not asked for.
pub(super) fn blank(transport: Transport) -> Parameters {
    Parameters {
        transport,
        way: Way::Forward,
        streams: 1,
        end: End::Never,
        omit: Duration::ZERO,
        block_bytes: TCP_BLOCK_BYTES,
        rate: None,
        burst_blocks: 0,
        pacing: None,
        window_bytes: None,
        mss_bytes: None,
        no_delay: false,
        tos: 0,
        congestion: None,
        title: None,
        wants_server_output: false,
        counter: Counter::Bits64,
        authtoken: None,
        client_version: Some(format!("fullpipe {}", env!("CARGO_PKG_VERSION"))),
    }
}

fn kind(flows: &[FlowSpec]) -> Result<Kind, AskError> {
    let of = |flow: &FlowSpec| match flow.load {
        Load::Probes(_) => Ok(Kind::Probes),
        Load::Frames(_) => Ok(Kind::Frames),
        Load::Tcp(_) => Ok(Kind::Tcp),
        Load::Bursts(_) => Err(AskError::Bursts),
        Load::Connections(_) => Err(AskError::Connections),
    };
    let first = flows.first().ok_or(AskError::Mixed)?;
    let kind = of(first)?;
    for flow in flows {
        if of(flow)? != kind {
            return Err(AskError::Mixed);
        }
    }
    Ok(kind)
}

/// The flow of each stream, who sends, and how many streams there are in each direction.
fn streams(flows: &[FlowSpec]) -> Result<(Vec<usize>, Way, u32), AskError> {
    let towards = |direction| {
        let mine = flows.iter().enumerate().filter(move |(_, flow)| flow.direction == direction);
        mine.flat_map(|(place, flow)| std::iter::repeat_n(place, connections(flow)))
            .collect::<Vec<_>>()
    };
    let (mut all, downloads) = (towards(Direction::Upload), towards(Direction::Download));
    let (way, streams) = match (all.len(), downloads.len()) {
        (streams, 0) => (Way::Forward, streams),
        (0, streams) => (Way::Reverse, streams),
        (up, down) if up == down => (Way::Both, up),
        _ => return Err(AskError::Uneven),
    };
    all.extend(downloads);
    match u32::try_from(streams) {
        Ok(count) if count <= STREAMS_MAX => Ok((all, way, count)),
        _ => Err(AskError::Streams(streams)),
    }
}

/// Of flows that end by count, what the direction that has more carries.
fn transfer_bytes(flows: &[FlowSpec]) -> Result<Option<u64>, AskError> {
    let bytes = |flow: &FlowSpec| match &flow.load {
        Load::Tcp(load) => load.transfer_bytes(),
        Load::Probes(_) | Load::Frames(_) | Load::Bursts(_) | Load::Connections(_) => None,
    };
    let towards = |direction| {
        let mine = flows.iter().filter(move |flow| flow.direction == direction);
        mine.filter_map(bytes).fold(0, u64::saturating_add)
    };
    match flows.iter().filter(|flow| bytes(flow).is_some()).count() {
        0 => Ok(None),
        all if all == flows.len() => {
            Ok(Some(towards(Direction::Upload).max(towards(Direction::Download))))
        }
        _ => Err(AskError::Unlike("kind of end, by count or by time")),
    }
}

const fn connections(flow: &FlowSpec) -> usize {
    match &flow.load {
        Load::Tcp(load) => load.connections as usize,
        Load::Probes(_) | Load::Frames(_) | Load::Bursts(_) | Load::Connections(_) => 1,
    }
}

/// What the server sends must be alike; what this end sends need not be.
fn tcp(flows: &[FlowSpec]) -> Result<Parameters, AskError> {
    let mut parameters = blank(Transport::Tcp);
    let mut theirs = flows.iter().filter(|flow| flow.direction == Direction::Download);
    let Some(first) = theirs.next() else { return Ok(parameters) };
    let Load::Tcp(load) = &first.load else { return Ok(parameters) };
    for other in theirs {
        if other.traffic_class() != first.traffic_class() {
            return Err(AskError::Unlike("DSCP"));
        }
        let Load::Tcp(other) = &other.load else { continue };
        let sends = |load: &TcpLoad| {
            (load.congestion_control, load.pacing, load.pace.clone(), load.write_bytes)
        };
        if sends(other) != sends(load) {
            return Err(AskError::Unlike("rate, write size and congestion control"));
        }
    }
    if !matches!(load.sender, Sender::Bulk | Sender::Transfer { .. }) {
        return Err(AskError::Burst);
    }
    parameters.rate = match load.pace {
        Pace::Unlimited => None,
        Pace::Constant { rate } => Some(rate),
        Pace::Steps { .. } | Pace::Poisson { .. } | Pace::OnOff { .. } => {
            return Err(AskError::Pace);
        }
    };
    parameters.pacing = load.pacing;
    parameters.block_bytes = load.write_bytes.unwrap_or(parameters.block_bytes);
    parameters.tos = first.traffic_class();
    parameters.congestion = load.congestion_control.name().map(str::to_owned);
    Ok(parameters)
}

fn frames(flows: &[FlowSpec]) -> Result<Parameters, AskError> {
    let mut parameters = blank(Transport::Udp);
    let like = |flow: &FlowSpec| match &flow.load {
        Load::Frames(load) => Some((load.clone(), flow.vlan_tags)),
        Load::Probes(_) | Load::Bursts(_) | Load::Tcp(_) | Load::Connections(_) => None,
    };
    let Some((load, vlan_tags)) = flows.first().and_then(like) else {
        return Err(AskError::Mixed);
    };
    for other in flows.iter().filter_map(like) {
        if (&other.0, other.1) != (&load, vlan_tags) {
            return Err(AskError::Unlike("rate and size"));
        }
    }
    // What this end sends it marks itself.
    let theirs = flows.iter().filter(|flow| flow.direction == Direction::Download);
    let theirs: Vec<u8> = theirs.map(FlowSpec::traffic_class).collect();
    let tos = theirs.first().copied().unwrap_or_default();
    if theirs.iter().any(|other| *other != tos) {
        return Err(AskError::Unlike("DSCP and ECN"));
    }
    let headers = PacketLayout::udp_headers_bytes(flows[0].family, vlan_tags);
    let block_bytes = block_bytes(&load, headers)?;
    let Pace::Constant { rate } = load.pace else { return Err(AskError::Pace) };
    let share = f64::from(block_bytes) / f64::from(block_bytes + headers);
    parameters.rate = Some(rate.scaled(share).max(Rate::bps(1)));
    parameters.block_bytes = block_bytes;
    parameters.tos = tos;
    Ok(parameters)
}

fn block_bytes(load: &FramesLoad, headers: u32) -> Result<u32, AskError> {
    let longest = load.sizes.longest();
    if load.sizes.shortest() != longest {
        return Err(AskError::Unlike("size, one for all frames"));
    }
    match longest.checked_sub(headers) {
        Some(bytes) if bytes >= LEAST_BLOCK_BYTES => Ok(bytes),
        _ => Err(AskError::Short),
    }
}

const fn whole_seconds(time: Duration) -> u64 {
    time.as_secs() + (time.subsec_nanos() > 0) as u64
}
