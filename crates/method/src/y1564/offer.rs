//! What a step offers to the network: its flows, each with what it is for.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{
    BurstSpacing, BurstsLoad, CongestionControl, Direction, Dscp, FlowSpec, FramesLoad, Layer,
    LayeredRate, Load, Pace, PacketLayout, Rate, Sender, TcpEngine, TcpLoad, Timing, Trial,
};

use super::plan::{Colours, Configuration, Frames, Plan, Service, Tcp, Traffic};
use super::rates::{Profile, policing_rate};
use super::steps::Offered;
use crate::path::settle;

/// For a bucket whose size is not known: as much as its rate brings in this time.
const BUCKET: Duration = Duration::from_millis(200);
/// Nothing waits longer than this for a bucket to drain or to fill.
const BUCKET_MAX: Duration = Duration::from_secs(10);
/// Slow start is over by then.
const TCP_WARM_UP: Duration = Duration::from_secs(2);
/// Two segments: below that TCP waits for timers.
const WINDOW_SEGMENTS_MIN: u64 = 2;
/// No tester's windows are smaller than this together.
const WINDOWS_BYTES_MIN: u64 = 64 * 1024;
/// A burst that comes exactly as often as the bucket fills meets a creeping deficit where the two
/// clocks differ.
const PERIOD_PERMILLE: u32 = 1001;

/// What one flow of a trial is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Place among the plan's services.
    pub(super) service: usize,
    pub(super) direction: Direction,
    pub(super) role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// What the step is judged by: green frames, or all where colours do not count, yellow ones in
    /// the EBS step; or TCP.
    Judged,
    /// Yellow frames beside green ones.
    Yellow,
}

/// A trial whose flows are told apart.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    pub(super) trial: Trial,
    pub(super) parts: Vec<Part>,
}

/// The rates of one service in a step, layer 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rates {
    /// Of green frames, or of all where colours do not count.
    green_l2: Rate,
    yellow_l2: Rate,
}

impl Rates {
    const fn total_l2(self) -> Rate {
        Rate::bps(self.green_l2.as_bps() + self.yellow_l2.as_bps())
    }
}

/// What a step of the configuration test sends of a service with frames.
pub(super) fn rates(
    service: &Service,
    frames: &Frames,
    configuration: &Configuration,
    offered: Offered,
) -> Rates {
    let (cir, eir) = (service.cir_l2, frames.eir_l2);
    let sum = |a: Rate, b: Rate| Rate::bps(a.as_bps() + b.as_bps());
    let only_green = |green_l2| Rates { green_l2, yellow_l2: Rate::ZERO };
    match (offered, frames.colours) {
        (Offered::Cir { percent }, _) => only_green(cir.scaled(f64::from(percent) / 100.0)),
        (Offered::Cbs | Offered::Ebs, _) => only_green(cir),
        (Offered::Eir, Colours::Blind) => only_green(sum(cir, eir)),
        (Offered::Eir, Colours::Aware { .. }) => Rates { green_l2: cir, yellow_l2: eir },
        (Offered::Policing, colours) => {
            let total = policed(cir, eir, configuration.policing_percent);
            match colours {
                Colours::Aware { .. } if eir > Rate::ZERO => {
                    let beyond = total.as_bps().saturating_sub(cir.as_bps());
                    Rates { green_l2: cir, yellow_l2: Rate::bps(beyond) }
                }
                Colours::Aware { .. } | Colours::Blind => only_green(total),
            }
        }
    }
}

fn policed(cir: Rate, eir: Rate, percent: Option<f64>) -> Rate {
    let sum = Rate::bps(cir.as_bps() + eir.as_bps());
    match percent {
        Some(percent) => sum.scaled(percent / 100.0),
        None => {
            let profile = Profile { cir_l2: cir.into(), eir_l2: eir.into() };
            // The sum of two rates and a quarter of one: only rates beyond all lines do not fit.
            policing_rate(profile).to_rate().unwrap_or(sum)
        }
    }
}

/// A step of the configuration test with a stream of frames in each of the service's directions.
pub(super) fn stream(
    plan: &Plan,
    place: usize,
    (frames, rates): (&Frames, Rates),
    step: Duration,
    rtt: Duration,
) -> Offer {
    let service = &plan.services[place];
    let mut flows = Vec::new();
    for direction in service.directions.list() {
        add_frames(&mut flows, plan, (place, *direction), frames, rates);
    }
    let buckets = Buckets::of(service, frames);
    let warm_up = rtt + Duration::from_millis(200) + buckets.drained_by(rates.total_l2());
    let timing = Timing { warm_up, steady: step, settle: settle(rtt) + buckets.filled_in() };
    offer(flows, timing)
}

/// All services at once, each at its CIR.
pub(super) fn all_services(plan: &Plan, lasts: Duration, rtt: Duration) -> Offer {
    let mut flows = Vec::new();
    let mut warm_up = rtt + Duration::from_secs(1);
    for (place, service) in plan.services.iter().enumerate() {
        for direction in service.directions.list() {
            match &service.traffic {
                Traffic::Frames(frames) => {
                    let rates = Rates { green_l2: service.cir_l2, yellow_l2: Rate::ZERO };
                    add_frames(&mut flows, plan, (place, *direction), frames, rates);
                }
                Traffic::Tcp(tcp) => {
                    warm_up = warm_up.max(TCP_WARM_UP + rtt * 20);
                    flows.push(tcp_flow(plan, (place, *direction), *tcp, rtt));
                }
            }
        }
    }
    offer(flows, Timing { warm_up, steady: lasts, settle: settle(rtt) })
}

/// The connections of a TCP service by themselves.
pub(super) fn connections(
    plan: &Plan,
    place: usize,
    tcp: Tcp,
    step: Duration,
    rtt: Duration,
) -> Offer {
    let service = &plan.services[place];
    let directions = service.directions.list().iter();
    let flows = directions.map(|way| tcp_flow(plan, (place, *way), tcp, rtt)).collect();
    let warm_up = TCP_WARM_UP + rtt * 20;
    offer(flows, Timing { warm_up, steady: step, settle: settle(rtt) })
}

fn offer(flows: Vec<(Part, FlowSpec)>, timing: Timing) -> Offer {
    let (parts, flows) = flows.into_iter().unzip();
    Offer { trial: Trial { name: String::new(), flows, timing }, parts }
}

fn add_frames(
    flows: &mut Vec<(Part, FlowSpec)>,
    plan: &Plan,
    (place, direction): (usize, Direction),
    frames: &Frames,
    rates: Rates,
) {
    let service = &plan.services[place];
    let load = |rate| Load::Frames(FramesLoad::new(frames.sizes.clone(), Pace::Constant { rate }));
    let part = |role| Part { service: place, direction, role };
    let green = load(rates.green_l2);
    flows.push((part(Role::Judged), flow(plan, service, direction, service.dscp, green)));
    if let Colours::Aware { yellow_dscp } = frames.colours
        && rates.yellow_l2 > Rate::ZERO
    {
        let yellow = load(rates.yellow_l2);
        flows.push((part(Role::Yellow), flow(plan, service, direction, yellow_dscp, yellow)));
    }
}

fn flow(plan: &Plan, service: &Service, direction: Direction, dscp: Dscp, load: Load) -> FlowSpec {
    FlowSpec { vlan_tags: service.vlan_tags, ..FlowSpec::new(direction, plan.family, dscp, load) }
}

fn tcp_flow(
    plan: &Plan,
    (place, direction): (usize, Direction),
    tcp: Tcp,
    rtt: Duration,
) -> (Part, FlowSpec) {
    let service = &plan.services[place];
    let load = Load::Tcp(TcpLoad {
        connections: tcp.connections,
        window_bytes: window_bytes(plan, service, tcp, rtt),
        mss_bytes: mss_bytes(plan),
        sender: Sender::Bulk,
        congestion_control: CongestionControl::Cubic,
        pacing: None,
        pace: Pace::Unlimited,
        write_bytes: None,
        engine: TcpEngine::Kernel,
    });
    let part = Part { service: place, direction, role: Role::Judged };
    (part, flow(plan, service, direction, service.dscp, load))
}

/// The packets of a TCP service.
fn segments(plan: &Plan, service: &Service) -> PacketLayout {
    let packet_bytes = plan.interface_mtu_bytes;
    let tags_bytes = PacketLayout::VLAN_TAG_BYTES * u32::from(service.vlan_tags);
    PacketLayout {
        payload_bytes: mss_bytes(plan).saturating_sub(PacketLayout::TCP_TIMESTAMPS_BYTES),
        packet_bytes,
        frame_bytes: packet_bytes + PacketLayout::ETHERNET_L2_OVERHEAD + tags_bytes,
    }
}

const fn mss_bytes(plan: &Plan) -> u32 {
    plan.interface_mtu_bytes - plan.family.ip_header_bytes() - PacketLayout::TCP_HEADER_BYTES
}

/// What the CIR carries of TCP payload.
pub(super) fn payload_of_cir(plan: &Plan, service: &Service) -> Rate {
    let cir = LayeredRate { rate: service.cir_l2, layer: Layer::L2 };
    segments(plan, service).convert(cir, Layer::L4)
}

pub(super) fn window_bytes(plan: &Plan, service: &Service, tcp: Tcp, rtt: Duration) -> u64 {
    let on_the_way = payload_of_cir(plan, service).bytes_in(rtt).max(WINDOWS_BYTES_MIN);
    let least = WINDOW_SEGMENTS_MIN * u64::from(mss_bytes(plan));
    let share = on_the_way.div_ceil(u64::from(tcp.connections.max(1)));
    tcp.window_bytes.unwrap_or(share.max(least))
}

/// Bursts of whole frames, as large as a bucket and as often as it fills.
pub(super) fn bursts(
    plan: &Plan,
    place: usize,
    (frames, offered): (&Frames, Offered),
    step: Duration,
    rtt: Duration,
) -> Offer {
    let service = &plan.services[place];
    let frame_bytes = frames.sizes.longest();
    let fit = |bucket: Option<u64>| bucket.unwrap_or_default() / u64::from(frame_bytes);
    let (committed, excess) = (fit(frames.cbs_bytes), fit(frames.ebs_bytes));
    let buckets = Buckets::of(service, frames);
    let (count, filled_in, dscp) = match (offered, frames.colours) {
        (Offered::Ebs, Colours::Aware { yellow_dscp }) => {
            (excess, buckets.excess.filled_in(), yellow_dscp)
        }
        (Offered::Ebs, Colours::Blind) => (committed + excess, buckets.filled_in(), service.dscp),
        _ => (committed, buckets.committed.filled_in(), service.dscp),
    };
    let period = filled_in * PERIOD_PERMILLE / 1000;
    let load = BurstsLoad {
        frame_bytes,
        frames_per_burst: u32::try_from(count).unwrap_or(u32::MAX),
        bursts: (step.as_nanos() / period.as_nanos().max(1)).clamp(1, 1_000_000) as u32,
        period,
        rate_l1: None,
        spacing: BurstSpacing::Apart,
    };
    let flows = service.directions.list().iter().map(|direction| {
        let part = Part { service: place, direction: *direction, role: Role::Judged };
        (part, flow(plan, service, *direction, dscp, Load::Bursts(load)))
    });
    let timing = Timing {
        warm_up: rtt + Duration::from_millis(200),
        steady: load.lasts(),
        settle: settle(rtt) + buckets.filled_in(),
    };
    offer(flows.collect(), timing)
}

/// The token buckets that a service is said to have.
#[derive(Clone, Copy, Debug)]
struct Buckets {
    committed: Bucket,
    excess: Bucket,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    rate_l2: Rate,
    bytes: u64,
}

impl Bucket {
    fn new(rate_l2: Rate, bytes: Option<u64>) -> Self {
        Self { rate_l2, bytes: bytes.unwrap_or_else(|| rate_l2.bytes_in(BUCKET)) }
    }

    fn filled_in(self) -> Duration {
        time_at(self.rate_l2, self.bytes)
    }
}

impl Buckets {
    fn of(service: &Service, frames: &Frames) -> Self {
        Self {
            committed: Bucket::new(service.cir_l2, frames.cbs_bytes),
            excess: Bucket::new(frames.eir_l2, frames.ebs_bytes),
        }
    }

    fn filled_in(self) -> Duration {
        self.committed.filled_in().max(self.excess.filled_in())
    }

    /// How long a rate takes to empty both; no time where it never does.
    fn drained_by(self, offered_l2: Rate) -> Duration {
        let filling = self.committed.rate_l2.as_bps() + self.excess.rate_l2.as_bps();
        let beyond = Rate::bps(offered_l2.as_bps().saturating_sub(filling));
        time_at(beyond, self.committed.bytes + self.excess.bytes)
    }
}

/// At a rate of zero nothing is waited for.
fn time_at(rate: Rate, bytes: u64) -> Duration {
    if rate == Rate::ZERO { Duration::ZERO } else { rate.time_for(bytes).min(BUCKET_MAX) }
}
