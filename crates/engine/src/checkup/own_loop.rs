//! What both ends carry when they are on this host, with nothing between them but loopback.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::thread;
use std::time::Duration;

use fp_model::{
    Abort, BurstSpacing, BurstsLoad, Direction, Dscp, Family, FlowReport, FlowSpec, FrameSizes,
    FramesLoad, FramesReport, Load, Pace, PacketLayout, ProbesLoad, Rate, RttSummary, Testbed as _,
    Timing, Trial,
};

use crate::control::{Host, Identity, IdentityError};
use crate::far::{Log, ServeError, Server, ServerOptions};
use crate::near::{ConnectError, LiveOptions, LiveTestbed};
use crate::swarm::ConnectionNetworks;
use crate::{DataPorts, StopFlag};

/// A host that is one end alone does no less.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoopFacts {
    pub rtt: Option<RttSummary>,
    /// For each frame length the highest rate at which every frame left and arrived.
    pub rates: Vec<WholeRate>,
    /// The longest burst that left as fast as the host can and arrived whole.
    pub burst: Option<WholeBurst>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WholeRate {
    pub frame_bytes: u32,
    /// `None` where no rate was low enough.
    pub frames_s: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WholeBurst {
    pub frame_bytes: u32,
    pub frames: u32,
    /// Layer 1, from the first frame's departure to the last one's.
    pub rate_l1_bps: f64,
}

#[derive(Debug, thiserror::Error)]
pub enum LoopTrouble {
    #[error("stopped")]
    Stopped,
    #[error("no far end on this host: {0}")]
    Identity(#[from] IdentityError),
    #[error("no far end on this host: {0}")]
    Serve(#[from] ServeError),
    #[error("no way to this host's own far end: {0}")]
    Connect(#[from] ConnectError),
    #[error("a trial over loopback was broken off: {0}")]
    Trial(String),
}

impl From<Abort> for LoopTrouble {
    fn from(abort: Abort) -> Self {
        match abort {
            Abort::Stopped => Self::Stopped,
            Abort::Lost(why) | Abort::Testbed(why) => Self::Trial(why),
        }
    }
}

/// Takes some seconds.
///
/// # Errors
/// Where this host cannot be both ends, or was told to stop.
pub fn own_loop(stop: &StopFlag) -> Result<LoopFacts, LoopTrouble> {
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let server = Server::bind(ServerOptions {
        listen: Some(SocketAddr::new(address, 0)),
        data_ports: DataPorts::ANY,
        connection_networks: ConnectionNetworks::NONE,
        max_sessions: 1,
        identity: Identity::new()?,
        log: Log::none(),
    })?;
    let pairing = server.pairing(Host::Address(address));
    let served_until = StopFlag::default();
    thread::scope(|scope| {
        let serving = scope.spawn(|| server.serve(&served_until));
        let options = LiveOptions {
            family: Some(Family::Ipv4),
            events: Box::new(|_| ()),
            stop: stop.clone(),
        };
        let found = LiveTestbed::connect(&pairing, options)
            .map_err(LoopTrouble::from)
            .and_then(|mut bed| measured(&mut bed));
        served_until.set();
        let served = serving.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        if stop.is_set() {
            return Err(LoopTrouble::Stopped);
        }
        let found = found?;
        served?;
        Ok(found)
    })
}

/// The shortest frames and the longest of Ethernet.
const FRAME_BYTES: [u32; 2] = [64, 1518];

fn measured(bed: &mut LiveTestbed) -> Result<LoopFacts, LoopTrouble> {
    let rtt = rtt(bed)?;
    let rates = FRAME_BYTES.into_iter().map(|frame_bytes| {
        Ok(WholeRate { frame_bytes, frames_s: frames_per_second(bed, frame_bytes)? })
    });
    let rates = rates.collect::<Result<_, LoopTrouble>>()?;
    Ok(LoopFacts { rtt, rates, burst: burst(bed)? })
}

fn rtt(bed: &mut LiveTestbed) -> Result<Option<RttSummary>, LoopTrouble> {
    let (packet_bytes, interval) = (100, Duration::from_millis(5));
    let load = ProbesLoad { packet_bytes, answer_bytes: packet_bytes, count: 100, interval };
    match run(bed, Load::Probes(load), Duration::from_millis(600))? {
        FlowReport::Probes(report) => Ok(report.rtt),
        _ => Ok(None),
    }
}

/// Offers more than any host sends, then a tenth less than what arrived of it, until all arrives.
fn frames_per_second(bed: &mut LiveTestbed, frame_bytes: u32) -> Result<Option<f64>, LoopTrouble> {
    const STEADY: Duration = Duration::from_millis(300);
    /// The tenth part of an overload's arrivals is offered by then.
    const TRIALS: u32 = 20;
    let frame_bits = 8.0 * f64::from(frame_bytes);
    let mut rate = Rate::mbps(10_000);
    for _ in 0..TRIALS {
        let load = FramesLoad::new(FrameSizes::fixed(frame_bytes), Pace::Constant { rate });
        let FlowReport::Frames(report) = run(bed, Load::Frames(load), STEADY)? else { break };
        let FramesReport { planned_frames, received_frames, .. } = report;
        if planned_frames > 0 && received_frames == planned_frames {
            return Ok(Some(rate.as_bps() as f64 / frame_bits));
        }
        let arrived_bps = received_frames as f64 * frame_bits / STEADY.as_secs_f64();
        rate = Rate::bps((0.9 * arrived_bps.min(rate.as_bps() as f64)) as u64);
        if rate == Rate::ZERO {
            break;
        }
    }
    Ok(None)
}

/// Ten times as long each time, as long as every burst arrives whole.
fn burst(bed: &mut LiveTestbed) -> Result<Option<WholeBurst>, LoopTrouble> {
    const BURSTS: u32 = 5;
    let [_, frame_bytes] = FRAME_BYTES;
    let mut longest = None;
    for frames in [10, 100, 1000, 10_000] {
        let load = BurstsLoad {
            frame_bytes,
            frames_per_burst: frames,
            bursts: BURSTS,
            period: Duration::from_millis(100),
            rate_l1: None,
            spacing: BurstSpacing::OnSchedule,
        };
        let FlowReport::Bursts(report) = run(bed, Load::Bursts(load), load.lasts())? else { break };
        let is_whole = report.bursts.len() == BURSTS as usize
            && report.bursts.iter().all(|burst| burst.received_frames == frames);
        if !is_whole {
            break;
        }
        let lasted = report.bursts.iter().map(|burst| burst.sent_until - burst.sent_from).sum();
        let line_bytes = f64::from(frame_bytes + PacketLayout::ETHERNET_L1_OVERHEAD);
        let line_bits = 8.0 * line_bytes * f64::from(frames * BURSTS);
        let rate_l1_bps = line_bits / Duration::as_secs_f64(&lasted);
        longest = Some(WholeBurst { frame_bytes, frames, rate_l1_bps });
    }
    Ok(longest)
}

fn run(bed: &mut LiveTestbed, load: Load, steady: Duration) -> Result<FlowReport, LoopTrouble> {
    let flow = FlowSpec::new(Direction::Upload, Family::Ipv4, Dscp::BEST_EFFORT, load);
    let (warm_up, settle) = (Duration::from_millis(50), Duration::from_millis(50));
    let timing = Timing { warm_up, steady, settle };
    let trial = Trial { name: "own loop".into(), flows: vec![flow], timing };
    let observation = bed.run(&trial)?;
    let report = observation.flows.into_iter().next();
    report.ok_or_else(|| LoopTrouble::Trial("it has no flow".into()))
}
