//! What a far end is willing to run: whatever a near end asks for is checked here, once.

use std::ops::RangeInclusive;
use std::time::Duration;

use fp_model::{
    BurstsLoad, ConnectionAddresses, ConnectionsLoad, Ecn, FlowSpec, FramesLoad, Load, Pace,
    ProbesLoad, Rate, Sender, TcpEngine, TcpLoad, Timing, Trial,
};
use fp_net::stream::{PACE_SEGMENTS_MAX, Schedule};

use crate::frame_io::Prefix;
use crate::frames::Head;
use crate::swarm::{ConnectionNetworks, NotCarried, algorithm_of, covering};

/// Why a trial is not run: a sentence for whoever asked for it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("a trial has 1 to {FLOWS_MAX} flows, not {0}")]
    Flows(usize),
    #[error("a trial lasts up to {} h", LASTS_MAX.as_secs() / 3600)]
    TooLong,
    #[error("a trial's name has up to {NAME_BYTES_MAX} bytes, not {0}")]
    Name(usize),
    #[error("a flow has 1 to {CONNECTIONS_MAX} connections, not {0}")]
    Connections(u32),
    #[error("a window has {least} to {most} bytes, not {bytes}", least = WINDOW_BYTES.start(), most = WINDOW_BYTES.end())]
    Window { bytes: u64 },
    #[error("a transfer has 1 to {TRANSFER_BYTES_MAX} bytes, not {0}")]
    Transfer(u64),
    #[error("a write has 1 to {WRITE_BYTES_MAX} bytes, not {0}")]
    Write(u32),
    #[error("a segment has {least} to {most} bytes, not {bytes}", least = SEGMENT_BYTES.start(), most = SEGMENT_BYTES.end())]
    Segment { bytes: u32 },
    #[error("a frame has {least} to {most} bytes, not {bytes}", least = FRAME_BYTES.start(), most = FRAME_BYTES.end())]
    Frame { bytes: u32 },
    #[error("a flow has up to {} frames: take a lower rate or less time", Head::FRAMES_MAX)]
    Frames,
    #[error("a frame has up to {most} VLAN tags, not {0}", most = FlowSpec::VLAN_TAGS_MAX)]
    VlanTags(u8),
    #[error("a probe has up to {PACKET_BYTES_MAX} bytes, not {0}")]
    Packet(u32),
    #[error("a flow has up to {PROBES_MAX} probes, not {0}")]
    Probes(u32),
    #[error("bursts have 1 to {BURST_FRAMES_MAX} frames together, not {frames}")]
    Bursts { frames: u64 },
    #[error("a trial has up to {BURSTS_MAX} bursts, not {0}")]
    ManyBursts(u64),
    #[error("a pace has 1 to {STEPS_MAX} steps, not {0}")]
    Steps(usize),
    #[error("nothing is ever sent at a rate of zero")]
    NoRate,
    #[error("frames need a pace: as fast as the host can is what bursts are for")]
    NoPace,
    #[error("only a bulk application has a pace of its own")]
    PacedBursts,
    #[error(
        "a sender is on for some time and turns on and off up to {TURNS_MAX} times in a trial: \
         take longer means"
    )]
    Turns,
    #[error("a port is from 1 to 65535, not 0")]
    Port,
    #[error("{ports} ports from {first} on end beyond 65535: begin lower")]
    Ports { first: u16, ports: u32 },
    #[error("TCP negotiates ECN itself: leave it out, and let the hosts' settings decide")]
    EcnOfTcp,
    #[error("congestion is for the network to mark: take ECT(0) or ECT(1)")]
    CongestionExperienced,
    #[error("probes and bursts begin with their trial")]
    BeginsLater,
    #[error("a flow begins before its trial is over")]
    BeginsTooLate,
    #[error("a trial has up to {CONNECTIONS_MAX} connections, not {0}")]
    ManyConnections(u32),
    #[error("a trial with {flows} flows of frames is steady for up to {most} s")]
    ManySeconds { flows: u64, most: u64 },
    #[error(
        "near ends may not open many connections here: take a TCP flow of up to {CONNECTIONS_MAX} \
         connections, or have the far end serve with --allow-connections"
    )]
    ConnectionsNotAllowed,
    #[error(
        "near ends may not have addresses of their own here, which the program's own TCP needs: \
         leave out --engine user, or have the far end serve with --allow-connections"
    )]
    UserEngineNotAllowed,
    #[error("of the program's own TCP: {0}")]
    NotCarried(NotCarried),
    #[error(
        "{0} is in no network in which near ends may have addresses here, which are {1}: have the \
         far end serve with --allow-connections and more networks"
    )]
    Network(Prefix, ConnectionNetworks),
    #[error("many connections have the ports of their plan, not one of their own")]
    PortOfConnections,
    #[error("a rate is at most {most} bit/s, not {0}", most = RATE_MAX.as_bps())]
    Rate(u64),
}

/// A thread each at both ends.
const FLOWS_MAX: usize = 256;
const LASTS_MAX: Duration = Duration::from_secs(48 * 3600);
const NAME_BYTES_MAX: usize = 1024;
const CONNECTIONS_MAX: u32 = 10_000;
/// Each of which may have lost some: what both ends say of them fits a message.
const FRAME_SECONDS_MAX: u64 = 8_000_000;
/// RFC 7323 section 2.2: a window is at most 1 GiB.
const WINDOW_BYTES: RangeInclusive<u64> = 1..=1 << 30;
const SEGMENT_BYTES: RangeInclusive<u32> = 1..=65_535;
const TRANSFER_BYTES_MAX: u64 = 1 << 50;
const WRITE_BYTES_MAX: u32 = 1 << 20;
const FRAME_BYTES: RangeInclusive<u32> = 64..=65_553;
const PACKET_BYTES_MAX: u32 = 65_535;
const PROBES_MAX: u32 = 10_000_000;
const BURST_FRAMES_MAX: u64 = 20_000_000;
/// Of all flows: what both ends say of each fits a message.
const BURSTS_MAX: u64 = 50_000;
const STEPS_MAX: usize = 10_000;
/// A pace that turns as chance will has room for twice as many.
const TURNS_MAX: u128 = PACE_SEGMENTS_MAX as u128 / 4;
/// More than any interface carries.
const RATE_MAX: Rate = Rate::bps(1_000_000_000_000);

/// Whether the far end runs `trial`, in which connections have addresses of these networks alone.
pub(crate) fn admit(trial: &Trial, networks: &ConnectionNetworks) -> Result<(), Refusal> {
    if trial.name.len() > NAME_BYTES_MAX {
        return Err(Refusal::Name(trial.name.len()));
    }
    if !(1..=FLOWS_MAX).contains(&trial.flows.len()) {
        return Err(Refusal::Flows(trial.flows.len()));
    }
    let timing = &trial.timing;
    // Each part is below 2^64 ns, so that their sum fits a Duration.
    if timing.active() + timing.settle > LASTS_MAX {
        return Err(Refusal::TooLong);
    }
    for flow in &trial.flows {
        if flow.vlan_tags > FlowSpec::VLAN_TAGS_MAX {
            return Err(Refusal::VlanTags(flow.vlan_tags));
        }
        admit_bearing(flow)?;
        admit_beginning(flow, timing)?;
        match &flow.load {
            Load::Probes(load) => admit_probes(load)?,
            Load::Frames(load) => admit_frames(load, timing)?,
            Load::Bursts(load) => admit_bursts(load)?,
            Load::Tcp(load) => admit_tcp(load, timing, networks)?,
            Load::Connections(load) => admit_connections(flow, load, networks)?,
        }
    }
    admit_number_of_connections(trial)?;
    admit_number_of_seconds(trial)?;
    admit_number_of_bursts(trial)
}

fn admit_bearing(flow: &FlowSpec) -> Result<(), Refusal> {
    let ports = match &flow.load {
        Load::Tcp(load) => load.connections,
        Load::Probes(_) | Load::Frames(_) | Load::Bursts(_) | Load::Connections(_) => 1,
    };
    match flow.near_port {
        Some(0) => return Err(Refusal::Port),
        Some(first) if u32::from(first).saturating_add(ports) > 1 << 16 => {
            return Err(Refusal::Ports { first, ports });
        }
        Some(_) | None => {}
    }
    match (flow.ecn, &flow.load) {
        (Ecn::NotEct, _) => Ok(()),
        (_, Load::Tcp(_) | Load::Connections(_)) => Err(Refusal::EcnOfTcp),
        (Ecn::Ce, _) => Err(Refusal::CongestionExperienced),
        (Ecn::Ect0 | Ecn::Ect1, _) => Ok(()),
    }
}

fn admit_beginning(flow: &FlowSpec, timing: &Timing) -> Result<(), Refusal> {
    match &flow.load {
        _ if flow.begins.is_zero() => Ok(()),
        Load::Probes(_) | Load::Bursts(_) => Err(Refusal::BeginsLater),
        _ if flow.begins >= timing.active() => Err(Refusal::BeginsTooLate),
        Load::Frames(_) | Load::Tcp(_) | Load::Connections(_) => Ok(()),
    }
}

fn admit_number_of_connections(trial: &Trial) -> Result<(), Refusal> {
    let of = |flow: &FlowSpec| match &flow.load {
        Load::Tcp(load) => load.connections,
        Load::Probes(_) | Load::Frames(_) | Load::Bursts(_) | Load::Connections(_) => 0,
    };
    // Each flow has no more than the trial may have.
    match trial.flows.iter().map(of).sum() {
        0..=CONNECTIONS_MAX => Ok(()),
        connections => Err(Refusal::ManyConnections(connections)),
    }
}

fn admit_number_of_seconds(trial: &Trial) -> Result<(), Refusal> {
    let of_frames = trial.flows.iter().filter(|flow| matches!(flow.load, Load::Frames(_)));
    let (flows, seconds) = (of_frames.count() as u64, trial.timing.steady.as_secs());
    if flows * seconds > FRAME_SECONDS_MAX {
        return Err(Refusal::ManySeconds { flows, most: FRAME_SECONDS_MAX / flows });
    }
    Ok(())
}

/// What else cannot be is told by whoever makes the connections.
fn admit_connections(
    flow: &FlowSpec,
    load: &ConnectionsLoad,
    networks: &ConnectionNetworks,
) -> Result<(), Refusal> {
    if networks.is_empty() {
        return Err(Refusal::ConnectionsNotAllowed);
    }
    if flow.near_port.is_some() {
        return Err(Refusal::PortOfConnections);
    }
    if load.stages.len() > STEPS_MAX {
        return Err(Refusal::Steps(load.stages.len()));
    }
    admit_addresses(&load.addresses, networks)
}

/// This end answers for its own and sends to the others.
fn admit_addresses(
    addresses: &ConnectionAddresses,
    networks: &ConnectionNetworks,
) -> Result<(), Refusal> {
    let ranges = [addresses.clients, addresses.servers];
    match ranges.iter().find(|range| !networks.hold(range)) {
        Some(range) => Err(Refusal::Network(covering(range), networks.clone())),
        None => Ok(()),
    }
}

fn admit_probes(load: &ProbesLoad) -> Result<(), Refusal> {
    let larger = load.packet_bytes.max(load.answer_bytes);
    if larger > PACKET_BYTES_MAX {
        return Err(Refusal::Packet(larger));
    }
    if load.count > PROBES_MAX {
        return Err(Refusal::Probes(load.count));
    }
    if load.interval * load.count > LASTS_MAX {
        return Err(Refusal::TooLong);
    }
    Ok(())
}

fn admit_frames(load: &FramesLoad, timing: &Timing) -> Result<(), Refusal> {
    if let Some(bytes) = load.sizes.lengths().iter().find(|bytes| !FRAME_BYTES.contains(bytes)) {
        return Err(Refusal::Frame { bytes: *bytes });
    }
    if load.pace.is_unlimited() {
        return Err(Refusal::NoPace);
    }
    admit_pace(&load.pace, timing)?;
    match Schedule::new(load, timing).frames_due() {
        0..=Head::FRAMES_MAX => Ok(()),
        _ => Err(Refusal::Frames),
    }
}

fn admit_pace(pace: &Pace, timing: &Timing) -> Result<(), Refusal> {
    match pace {
        Pace::Unlimited => Ok(()),
        Pace::Constant { rate } | Pace::Poisson { rate, .. } => admit_rate(*rate),
        Pace::OnOff { rate, on_mean, off_mean, .. } => {
            let active = timing.active().as_nanos();
            let turn = on_mean.as_nanos() + off_mean.as_nanos();
            if on_mean.is_zero() || active / turn.max(1) > TURNS_MAX {
                return Err(Refusal::Turns);
            }
            admit_rate(*rate)
        }
        Pace::Steps { steps } if !(1..=STEPS_MAX).contains(&steps.len()) => {
            Err(Refusal::Steps(steps.len()))
        }
        // A step may pause; a pace that never sends would wait for its first frame for ever.
        Pace::Steps { steps } if steps.iter().all(|step| step.rate.as_bps() == 0) => {
            Err(Refusal::NoRate)
        }
        Pace::Steps { steps } => {
            steps.iter().filter(|step| step.rate != Rate::ZERO).try_for_each(|s| admit_rate(s.rate))
        }
    }
}

fn admit_number_of_bursts(trial: &Trial) -> Result<(), Refusal> {
    let of = |load: &Load| match load {
        Load::Bursts(load) => u64::from(load.bursts),
        Load::Probes(_) | Load::Frames(_) | Load::Tcp(_) | Load::Connections(_) => 0,
    };
    let bursts = trial.flows.iter().map(|flow| of(&flow.load)).sum();
    if bursts > BURSTS_MAX { Err(Refusal::ManyBursts(bursts)) } else { Ok(()) }
}

fn admit_bursts(load: &BurstsLoad) -> Result<(), Refusal> {
    if !FRAME_BYTES.contains(&load.frame_bytes) {
        return Err(Refusal::Frame { bytes: load.frame_bytes });
    }
    let frames = u64::from(load.frames_per_burst) * u64::from(load.bursts);
    if load.frames_per_burst == 0 || load.bursts == 0 || frames > BURST_FRAMES_MAX {
        return Err(Refusal::Bursts { frames });
    }
    load.rate_l1.map_or(Ok(()), admit_rate)
}

fn admit_rate(rate: Rate) -> Result<(), Refusal> {
    match rate {
        Rate::ZERO => Err(Refusal::NoRate),
        rate if rate > RATE_MAX => Err(Refusal::Rate(rate.as_bps())),
        _ => Ok(()),
    }
}

fn admit_tcp(
    load: &TcpLoad,
    timing: &Timing,
    networks: &ConnectionNetworks,
) -> Result<(), Refusal> {
    if let TcpEngine::User { addresses } = &load.engine {
        if networks.is_empty() {
            return Err(Refusal::UserEngineNotAllowed);
        }
        algorithm_of(load).map_err(Refusal::NotCarried)?;
        admit_addresses(addresses, networks)?;
    }
    if !(1..=CONNECTIONS_MAX).contains(&load.connections) {
        return Err(Refusal::Connections(load.connections));
    }
    if !WINDOW_BYTES.contains(&load.window_bytes) {
        return Err(Refusal::Window { bytes: load.window_bytes });
    }
    if !SEGMENT_BYTES.contains(&load.mss_bytes) {
        return Err(Refusal::Segment { bytes: load.mss_bytes });
    }
    match load.sender {
        Sender::Transfer { bytes } if !(1..=TRANSFER_BYTES_MAX).contains(&bytes) => {
            return Err(Refusal::Transfer(bytes));
        }
        Sender::Bulk | Sender::Transfer { .. } => {}
        Sender::Burst | Sender::MicroBurst(_) if load.pace.is_unlimited() => {}
        Sender::Burst | Sender::MicroBurst(_) => return Err(Refusal::PacedBursts),
    }
    match load.write_bytes {
        Some(bytes) if !(1..=WRITE_BYTES_MAX).contains(&bytes) => {
            return Err(Refusal::Write(bytes));
        }
        Some(_) | None => {}
    }
    admit_pace(&load.pace, timing)?;
    load.pacing.map_or(Ok(()), admit_rate)
}

#[cfg(test)]
mod tests {
    use fp_model::{
        AddressRange, BurstSpacing, Close, CongestionControl, ConnectionAddresses, Direction, Dscp,
        Family, FramePorts, FrameSizes, PortRange, Step,
    };

    use super::*;

    fn admitted(pace: Pace) -> Result<(), Refusal> {
        let load = Load::Frames(FramesLoad::new(FrameSizes::fixed(64), pace));
        let (direction, family, dscp) = (Direction::Download, Family::Ipv4, Dscp::BEST_EFFORT);
        let flow = FlowSpec::new(direction, family, dscp, load);
        admitted_all(vec![flow], timing())
    }

    fn timing() -> Timing {
        let second = Duration::from_secs(1);
        Timing { warm_up: second, steady: second, settle: second }
    }

    #[test]
    fn rates_that_no_host_sends_at_are_refused() {
        let terabit = 1_000_000_000_000;
        let constant = |bps| Pace::Constant { rate: Rate::bps(bps) };
        let steps = |rates: &[u64]| {
            let step = |bps: &u64| Step { rate: Rate::bps(*bps), lasts: Duration::from_secs(1) };
            Pace::Steps { steps: rates.iter().map(step).collect() }
        };
        assert_eq!(admitted(constant(terabit)), Ok(()));
        assert_eq!(admitted(constant(terabit + 1)), Err(Refusal::Rate(terabit + 1)));
        assert_eq!(admitted(constant(0)), Err(Refusal::NoRate));
        assert_eq!(admitted(steps(&[0, terabit])), Ok(()));
        assert_eq!(admitted(steps(&[1, u64::MAX])), Err(Refusal::Rate(u64::MAX)));
        assert_eq!(admitted(steps(&[0])), Err(Refusal::NoRate));
        // 10^12 / 512 frames a second reach 2^40 after 563 s.
        let for_ten_minutes = Timing { steady: Duration::from_secs(600), ..timing() };
        let load = FramesLoad::new(FrameSizes::fixed(64), constant(terabit));
        assert_eq!(admit_frames(&load, &timing()), Ok(()));
        assert_eq!(admit_frames(&load, &for_ten_minutes), Err(Refusal::Frames));
    }

    #[test]
    fn more_bursts_than_a_message_tells_of_are_refused_however_they_are_shared_out() {
        let bursts = |bursts, frames_per_burst| {
            let period = Duration::from_millis(1);
            let rate_l1 = None;
            let load = BurstsLoad {
                frame_bytes: 64,
                frames_per_burst,
                bursts,
                period,
                rate_l1,
                spacing: BurstSpacing::OnSchedule,
            };
            let (direction, family, dscp) = (Direction::Upload, Family::Ipv4, Dscp::BEST_EFFORT);
            FlowSpec::new(direction, family, dscp, Load::Bursts(load))
        };
        let second = Duration::from_secs(1);
        let timing = Timing { warm_up: second, steady: second, settle: second };
        let admitted = |flows| admitted_all(flows, timing);
        assert_eq!(admitted(vec![bursts(50_000, 1)]), Ok(()));
        let halves = vec![bursts(25_000, 1), bursts(25_001, 1)];
        assert_eq!(admitted(halves), Err(Refusal::ManyBursts(50_001)));
        let frames = 1_000 * 20_001;
        assert_eq!(admitted(vec![bursts(1_000, 20_001)]), Err(Refusal::Bursts { frames }));
        assert_eq!(admitted(vec![bursts(0, 1)]), Err(Refusal::Bursts { frames: 0 }));
    }

    fn tcp(connections: u32, sender: Sender, pace: Pace) -> FlowSpec {
        let load = TcpLoad {
            connections,
            window_bytes: 65_535,
            mss_bytes: 1460,
            sender,
            congestion_control: CongestionControl::Cubic,
            pacing: None,
            pace,
            write_bytes: None,
            engine: TcpEngine::Kernel,
        };
        FlowSpec::new(Direction::Upload, Family::Ipv4, Dscp::BEST_EFFORT, Load::Tcp(load))
    }

    fn bulk(connections: u32) -> FlowSpec {
        tcp(connections, Sender::Bulk, Pace::Unlimited)
    }

    fn frames() -> FlowSpec {
        let pace = Pace::Constant { rate: Rate::mbps(1) };
        let load = Load::Frames(FramesLoad::new(FrameSizes::fixed(64), pace));
        FlowSpec::new(Direction::Download, Family::Ipv6, Dscp::BEST_EFFORT, load)
    }

    fn admitted_all(flows: Vec<FlowSpec>, timing: Timing) -> Result<(), Refusal> {
        let networks = ConnectionNetworks::for_benchmarks();
        admit(&Trial { name: "test".into(), flows, timing }, &networks)
    }

    #[test]
    fn a_trial_has_256_flows_and_10_000_connections_at_most() {
        let admitted = |flows| admitted_all(flows, timing());
        assert_eq!(admitted(vec![bulk(1); 256]), Ok(()));
        assert_eq!(admitted(vec![bulk(1); 257]), Err(Refusal::Flows(257)));
        assert_eq!(admitted(vec![bulk(5_000); 2]), Ok(()));
        assert_eq!(admitted(vec![bulk(5_000), bulk(5_001)]), Err(Refusal::ManyConnections(10_001)));
        assert_eq!(admitted(vec![bulk(10_001)]), Err(Refusal::Connections(10_001)));
        // 8,000,000 seconds of 256 flows are 31,250 each.
        let day = |hours: u64| Timing { steady: Duration::from_secs(3600 * hours), ..timing() };
        assert_eq!(admitted_all(vec![frames(); 256], day(8)), Ok(()));
        let refused = admitted_all(vec![frames(); 256], day(9));
        assert_eq!(refused, Err(Refusal::ManySeconds { flows: 256, most: 31_250 }));
    }

    #[test]
    fn ports_markings_and_beginnings_that_cannot_be_are_refused() {
        let admitted = |flow| admitted_all(vec![flow], timing());
        let at = |near_port, flow| FlowSpec { near_port: Some(near_port), ..flow };
        assert_eq!(admitted(at(65_535, frames())), Ok(()));
        assert_eq!(admitted(at(0, frames())), Err(Refusal::Port));
        assert_eq!(admitted(at(65_532, bulk(4))), Ok(()));
        let beyond = Refusal::Ports { first: 65_533, ports: 4 };
        assert_eq!(admitted(at(65_533, bulk(4))), Err(beyond));
        let marked = |ecn, flow| FlowSpec { ecn, ..flow };
        assert_eq!(admitted(marked(Ecn::Ect1, frames())), Ok(()));
        assert_eq!(admitted(marked(Ecn::Ce, frames())), Err(Refusal::CongestionExperienced));
        assert_eq!(admitted(marked(Ecn::Ect0, bulk(1))), Err(Refusal::EcnOfTcp));
        let after = |millis, flow| FlowSpec { begins: Duration::from_millis(millis), ..flow };
        assert_eq!(admitted(after(1999, bulk(1))), Ok(()));
        assert_eq!(admitted(after(2000, frames())), Err(Refusal::BeginsTooLate));
    }

    #[test]
    fn connections_are_admitted_where_the_far_end_lets_them_be() {
        let range = |network: &str, count| AddressRange {
            network: network.parse().unwrap(),
            prefix_bits: 16,
            first: 1,
            count,
        };
        let connections = |clients: AddressRange| {
            let load = ConnectionsLoad {
                stages: Vec::new(),
                setup_rate_max: None,
                mix: Vec::new(),
                lifetime: None,
                close: Close::Fin,
                addresses: ConnectionAddresses {
                    clients,
                    servers: range("198.19.0.0", 1),
                    client_ports: PortRange { first: 1024, last: 65_535 },
                    server_ports: PortRange { first: 80, last: 80 },
                    translated: false,
                },
                mss_bytes: 1400,
                window_bytes: 65_535,
                retransmissions_max: ConnectionsLoad::RETRANSMISSIONS_MAX,
                syn_retransmissions_max: ConnectionsLoad::SYN_RETRANSMISSIONS_MAX,
                ports: FramePorts::PacketSockets,
            };
            let load = Load::Connections(load);
            FlowSpec::new(Direction::Upload, Family::Ipv4, Dscp::BEST_EFFORT, load)
        };
        let usual = connections(range("198.18.0.0", 100));
        let trial = Trial { name: "test".into(), flows: vec![usual.clone()], timing: timing() };
        assert_eq!(admit(&trial, &ConnectionNetworks::for_benchmarks()), Ok(()));
        let refused = admit(&trial, &ConnectionNetworks::NONE);
        assert_eq!(refused, Err(Refusal::ConnectionsNotAllowed));
        let strangers = admitted_all(vec![connections(range("10.0.0.0", 100))], timing());
        assert!(matches!(strangers, Err(Refusal::Network(..))), "{strangers:?}");
        let at_a_port = FlowSpec { near_port: Some(1), ..usual };
        assert_eq!(admitted_all(vec![at_a_port], timing()), Err(Refusal::PortOfConnections));
    }

    #[test]
    fn tcp_of_our_own_is_admitted_where_it_may_have_addresses() {
        let range = |network: &str| AddressRange {
            network: network.parse().unwrap(),
            prefix_bits: 16,
            first: 1,
            count: 1,
        };
        let flow = |clients: &str, sender, congestion_control| {
            let mut flow = tcp(2, sender, Pace::Unlimited);
            let Load::Tcp(load) = &mut flow.load else { panic!("another load") };
            load.congestion_control = congestion_control;
            let addresses = ConnectionAddresses {
                clients: range(clients),
                servers: range("198.19.0.0"),
                client_ports: PortRange { first: 49_152, last: 49_153 },
                server_ports: PortRange { first: 80, last: 80 },
                translated: false,
            };
            load.engine = TcpEngine::User { addresses };
            Trial { name: "test".into(), flows: vec![flow], timing: timing() }
        };
        let networks = ConnectionNetworks::for_benchmarks();
        let reno = CongestionControl::Reno;
        let usual = flow("198.18.0.0", Sender::Bulk, reno);
        assert_eq!(admit(&usual, &networks), Ok(()));
        assert_eq!(admit(&usual, &ConnectionNetworks::NONE), Err(Refusal::UserEngineNotAllowed));
        let strangers = admit(&flow("10.0.0.0", Sender::Bulk, reno), &networks);
        assert!(matches!(strangers, Err(Refusal::Network(..))), "{strangers:?}");
        let bbr = CongestionControl::Bbr;
        assert_eq!(
            admit(&flow("198.18.0.0", Sender::Bulk, bbr), &networks),
            Err(Refusal::NotCarried(NotCarried::CongestionControl(bbr)))
        );
        let transfer = Sender::Transfer { bytes: 1 };
        assert_eq!(
            admit(&flow("198.18.0.0", transfer, reno), &networks),
            Err(Refusal::NotCarried(NotCarried::Application))
        );
    }

    #[test]
    fn paces_that_a_sender_cannot_keep_are_refused() {
        let admitted = |sender, pace| admitted_all(vec![tcp(1, sender, pace)], timing());
        let rate = Rate::mbps(1);
        assert_eq!(admitted(Sender::Bulk, Pace::Poisson { rate, seed: 1 }), Ok(()));
        let constant = Pace::Constant { rate };
        assert_eq!(admitted(Sender::Burst, constant.clone()), Err(Refusal::PacedBursts));
        assert_eq!(admitted(Sender::Transfer { bytes: 1 }, constant), Ok(()));
        let nothing = Sender::Transfer { bytes: 0 };
        assert_eq!(admitted(nothing, Pace::Unlimited), Err(Refusal::Transfer(0)));
        let turns = |on_us, off_us| {
            let [on_mean, off_mean] = [on_us, off_us].map(Duration::from_micros);
            admitted(Sender::Bulk, Pace::OnOff { rate, on_mean, off_mean, seed: 1 })
        };
        // 5,000 turns in 2 s are 400 µs each.
        assert_eq!(turns(200, 200), Ok(()));
        assert_eq!(turns(200, 199), Err(Refusal::Turns));
        assert_eq!(turns(0, 1_000_000), Err(Refusal::Turns));
        assert_eq!(self::admitted(Pace::Unlimited), Err(Refusal::NoPace));
    }
}
