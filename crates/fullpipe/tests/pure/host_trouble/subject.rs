//! The methods over simulated networks of which is known what each must find.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use fp_method::verdict::{Check, Verdict};
use fp_method::{burst, flow, rfc2544, rfc6349, rfc7640, stress, y1564};
use fp_model::{
    Abort, AddressRange, Behaviour, Close, CongestionControl, ConnectionAddresses, ConnectionsLoad,
    ConnectionsShare, ConnectionsStage, Direction, Dscp, Family, FlowReport, FlowSpec, FramePorts,
    FrameSizes, FramesLoad, Layer, LayeredRate, Load, Observation, Pace, PortRange, Rate, Sender,
    TcpEngine, TcpLoad, Testbed, Timing, Trial,
};
use fp_net::path::{LinkSpec, PathSpec, PoliceSpec, QueueLimit, QueueSpec, ShapeSpec};
use fp_net::sim::{SimTestbed, Trouble};

/// What is run. Every method has one, and more where its trials differ in kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Rfc6349,
    Burst,
    Rfc2544,
    Y1564,
    Rfc7640Policer,
    Rfc7640Queue,
    Rfc7640Shaper,
    FlowOfFrames,
    FlowOfTcp,
    Stress,
}

/// What of a run decides.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) verdict: Verdict,
    pub(crate) checks: Vec<Check>,
    /// What the method found the network to carry, where it measures that: the share of the truth.
    pub(crate) rate_share: Option<f64>,
    pub(crate) end: Result<(), Abort>,
}

/// Of the network under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    /// As it was sold.
    Right,
    /// Clearly less, or more, than was sold.
    Wrong,
}

const CIR: Rate = Rate::mbps(40);
const CBS_BYTES: u64 = 64_000;
const GIGABIT: Rate = Rate::mbps(1000);

impl Subject {
    /// All that are worth their time with every trouble.
    pub(crate) const ALL: [Self; 10] = [
        Self::Rfc6349,
        Self::Burst,
        Self::Rfc2544,
        Self::Y1564,
        Self::Rfc7640Policer,
        Self::Rfc7640Queue,
        Self::Rfc7640Shaper,
        Self::FlowOfFrames,
        Self::FlowOfTcp,
        Self::Stress,
    ];

    /// The folder of the method's sources.
    pub(crate) const fn method(self) -> &'static str {
        match self {
            Self::Rfc6349 => "rfc6349",
            Self::Burst => "burst",
            Self::Rfc2544 => "rfc2544",
            Self::Y1564 => "y1564",
            Self::Rfc7640Policer | Self::Rfc7640Queue | Self::Rfc7640Shaper => "rfc7640",
            Self::FlowOfFrames | Self::FlowOfTcp => "flow",
            Self::Stress => "stress",
        }
    }

    pub(crate) fn run(self, network: Network, trouble: Trouble, seed: u64) -> Outcome {
        let path = self.path(network);
        self.over(&mut SimTestbed::new(&path, seed).with_trouble(trouble), network)
    }

    /// The same where a far end changes what it reports by `lie`.
    pub(crate) fn run_with_liar(self, lie: fn(&mut FlowReport)) -> Outcome {
        let honest = SimTestbed::new(&self.path(Network::Right), 1);
        self.over(&mut Liar { honest, lie }, Network::Right)
    }

    fn over(self, bed: &mut dyn Testbed, network: Network) -> Outcome {
        match self {
            Self::Rfc6349 => of_rfc6349(bed, network),
            Self::Burst => {
                let (report, end) = burst::run(&burst_plan(), bed);
                outcome(report, end, |_| None)
            }
            Self::Rfc2544 => of_rfc2544(bed, network),
            Self::Y1564 => {
                let (report, end) = y1564::run(&y1564_plan(), bed);
                outcome(report, end, |_| None)
            }
            Self::Rfc7640Policer | Self::Rfc7640Queue | Self::Rfc7640Shaper => {
                let plan = self.rfc7640_plan();
                plan.check().unwrap();
                let (report, end) = rfc7640::run(&plan, bed);
                outcome(report, end, |_| None)
            }
            Self::FlowOfFrames | Self::FlowOfTcp => {
                let (report, end) = flow::run(&self.flow_plan(), bed);
                outcome(report, end, |_| None)
            }
            Self::Stress => {
                let (report, end) = stress::run(&stress_plan(), bed);
                outcome(report, end, |_| None)
            }
        }
    }

    fn path(self, network: Network) -> PathSpec {
        let is_right = network == Network::Right;
        let link = match self {
            Self::Rfc6349 | Self::FlowOfTcp | Self::FlowOfFrames => {
                line(if is_right { Rate::mbps(100) } else { Rate::mbps(40) })
            }
            // 10 % less, or half as much again.
            Self::Burst | Self::Y1564 | Self::Rfc7640Policer => match is_right {
                true => policed(CIR, CBS_BYTES),
                false => policed(Rate::mbps(36), CBS_BYTES / 2),
            },
            Self::Rfc2544 => line(if is_right { Rate::mbps(100) } else { Rate::mbps(50) }),
            Self::Rfc7640Queue => {
                let limit = QueueLimit::Bytes(if is_right { 64_000 } else { 32_000 });
                let queue = Some(QueueSpec { limit, ..QueueSpec::default() });
                let slow = Some(Rate::mbps(20));
                return behind_a_gigabit(LinkSpec {
                    line_rate: slow,
                    queue,
                    ..LinkSpec::default()
                });
            }
            Self::Rfc7640Shaper => {
                let queue = QueueSpec { limit: QueueLimit::Bytes(512_000), ..QueueSpec::default() };
                let rate = Rate::mbps(if is_right { 50 } else { 45 });
                let shape = Some(ShapeSpec { rate, burst_bytes: 32_000, queue });
                return behind_a_gigabit(LinkSpec { shape, ..LinkSpec::default() });
            }
            // With room for what an end asks at once when it has stood still: a shorter queue loses of
            // that, and to the method such a network has had enough.
            Self::Stress => LinkSpec {
                queue: policed(CIR, CBS_BYTES).queue,
                // Too slow for the handshakes of so many.
                line_rate: Some(if is_right { GIGABIT } else { Rate::bps(400_000) }),
                delay: Duration::from_micros(100),
                ..line(GIGABIT)
            },
        };
        PathSpec::symmetric("under test", vec![link])
    }

    fn rfc7640_plan(self) -> rfc7640::Plan {
        let plan = rfc7640::Plan {
            directions: rfc7640::Directions::Upload,
            runs: 1,
            trial: Duration::from_millis(200),
            tcp: None,
            ..rfc7640::Plan::new(Family::Ipv4, 1500)
        };
        match self {
            Self::Rfc7640Queue => {
                let bandwidth = LayeredRate { rate: Rate::mbps(20), layer: Layer::L1 };
                let scheduler = rfc7640::Scheduler::Fifo;
                let queue = rfc7640::QueuePlan { queue_bytes: 64_000, bandwidth, scheduler };
                rfc7640::Plan { queue: Some(queue), ..plan }
            }
            Self::Rfc7640Shaper => {
                let shaper = rfc7640::ShaperPlan {
                    rate_l2: Rate::mbps(50),
                    bc_bytes: 32_000,
                    be_bytes: 0,
                    queue_bytes: 512_000,
                    burst_bytes: 512_000,
                };
                rfc7640::Plan { shaper: Some(shaper), ..plan }
            }
            _ => {
                let policer = rfc7640::PolicerPlan {
                    cir_l2: CIR,
                    cbs_bytes: CBS_BYTES,
                    eir_l2: Rate::ZERO,
                    ebs_bytes: 0,
                };
                rfc7640::Plan { policer: Some(policer), ..plan }
            }
        }
    }

    fn flow_plan(self) -> flow::Plan {
        let rate = Rate::mbps(60);
        let (load, criteria) = match self {
            Self::FlowOfTcp => {
                let asked = flow::Criteria { rate_min_l4: Some(rate), loss_max_percent: None };
                (Load::Tcp(bulk()), asked)
            }
            _ => {
                let sizes = FrameSizes::fixed(1000);
                let asked = flow::Criteria { rate_min_l4: None, loss_max_percent: Some(0.5) };
                (Load::Frames(FramesLoad::new(sizes, Pace::Constant { rate })), asked)
            }
        };
        let spec = FlowSpec::new(Direction::Upload, Family::Ipv4, Dscp::BEST_EFFORT, load);
        flow::Plan {
            path: vec![],
            flows: vec![flow::PlannedFlow { name: "flow".into(), class: None, spec }],
            timing: Timing {
                warm_up: Duration::from_secs(1),
                steady: Duration::from_secs(3),
                settle: Duration::from_millis(100),
            },
            lines: flow::Lines { upload: Some(Rate::mbps(100)), download: None },
            profile: None,
            criteria,
        }
    }
}

/// A testbed of which one end reports what cannot be.
struct Liar {
    honest: SimTestbed,
    lie: fn(&mut FlowReport),
}

impl Testbed for Liar {
    fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        let mut seen = self.honest.run(trial)?;
        seen.flows.iter_mut().for_each(self.lie);
        Ok(seen)
    }
}

fn outcome<S>(
    report: fp_method::verdict::Report<S>,
    end: Result<(), Abort>,
    rate_share: impl Fn(&[S]) -> Option<f64>,
) -> Outcome {
    let rate_share = rate_share(&report.steps);
    Outcome { verdict: report.verdict, checks: report.checks, rate_share, end }
}

fn of_rfc6349(bed: &mut dyn Testbed, network: Network) -> Outcome {
    let plan = rfc6349::Plan {
        senders: rfc6349::Senders::Bulk,
        trial: Some(Duration::from_secs(2)),
        ..rfc6349::Plan::new(Family::Ipv4, 1500)
    };
    let (report, end) = rfc6349::run(&plan, bed);
    let line = if network == Network::Right { 100e6 } else { 40e6 };
    // The worst of both directions, if the line was met.
    outcome(report, end, |steps| {
        let shares = steps.iter().filter_map(|step| match step {
            rfc6349::Step::Bottleneck(limit) if limit.kind != rfc6349::LimitKind::NotReached => {
                let l1 = limit.packet.convert(limit.limit, Layer::L1);
                Some(l1.as_bps() as f64 / line)
            }
            _ => None,
        });
        shares.max_by(|one, other| (one - 1.0).abs().total_cmp(&(other - 1.0).abs()))
    })
}

fn of_rfc2544(bed: &mut dyn Testbed, network: Network) -> Outcome {
    let percent_of_line = 99.0;
    let at_least = rfc2544::Threshold::Percent { percent_of_line };
    let plan = rfc2544::Plan {
        frame_lengths_bytes: vec![1518],
        path_mtu_row: false,
        tests: vec![rfc2544::Test::Throughput, rfc2544::Test::FrameLoss],
        ways: vec![rfc2544::Way::Upload],
        line_rate_l1: Some(Rate::mbps(100)),
        criteria: rfc2544::Criteria {
            throughput: vec![rfc2544::LeastThroughput { frame_bytes: None, at_least }],
            ..rfc2544::Criteria::default()
        },
        ..rfc2544::Plan::new(Family::Ipv4, 1500)
    };
    let (report, end) = rfc2544::run(&plan, bed);
    let line = if network == Network::Right { 100e6 } else { 50e6 };
    outcome(report, end, |steps| {
        steps.iter().find_map(|step| match step {
            // What the tester itself could not do says nothing of the network.
            rfc2544::Step::Throughput(found) if found.limit != rfc2544::Limit::Tester => {
                Some(found.found?.rate_l1.as_bps() as f64 / line)
            }
            _ => None,
        })
    })
}

fn burst_plan() -> burst::Plan {
    let cir = LayeredRate { rate: CIR, layer: Layer::L2 };
    let goal = burst::Goal::Verify { cir, cbs_bytes: CBS_BYTES };
    burst::Plan {
        ways: burst::Ways::Upload,
        frame_bytes: vec![1518],
        ..burst::Plan::new(Family::Ipv4, 1500, goal)
    }
}

fn y1564_plan() -> y1564::Plan {
    let criteria = y1564::Criteria {
        flr: 0.001,
        ftd: None,
        fdv: Some(Duration::from_millis(5)),
        availability_percent: None,
    };
    let frames = y1564::Frames {
        sizes: FrameSizes::fixed(1000),
        eir_l2: Rate::ZERO,
        cbs_bytes: Some(CBS_BYTES),
        ebs_bytes: None,
        colours: y1564::Colours::Blind,
        criteria,
    };
    let service = y1564::Service {
        name: "data".into(),
        directions: y1564::Directions::Upload,
        vlan_tags: 0,
        dscp: Dscp::BEST_EFFORT,
        dscp_received: None,
        cir_l2: CIR,
        traffic: y1564::Traffic::Frames(frames),
    };
    let step = Duration::from_secs(1);
    y1564::Plan {
        family: Family::Ipv4,
        interface_mtu_bytes: 1500,
        services: vec![service],
        configuration: Some(y1564::Configuration { step, ..y1564::Configuration::default() }),
        performance: Some(Duration::from_secs(2)),
    }
}

fn bulk() -> TcpLoad {
    TcpLoad {
        connections: 2,
        window_bytes: 200_000,
        mss_bytes: 1460,
        sender: Sender::Bulk,
        congestion_control: CongestionControl::Cubic,
        pacing: None,
        pace: Pace::Unlimited,
        write_bytes: None,
        engine: TcpEngine::Kernel,
    }
}

/// Two thousand within a second, held for two; each asks for 1,000 bytes with 100, and again half a
/// second later.
fn stress_plan() -> stress::Plan {
    let range = |network: [u8; 4], count| AddressRange {
        network: IpAddr::V4(Ipv4Addr::from(network)),
        prefix_bits: 16,
        first: 1,
        count,
    };
    let think = Duration::from_millis(500);
    let behaviour = Behaviour::Transaction { request_bytes: 100, response_bytes: 1000, think };
    let stage = |seconds, connections| ConnectionsStage {
        lasts: Duration::from_secs(seconds),
        connections,
    };
    stress::Plan {
        direction: Direction::Upload,
        family: Family::Ipv4,
        dscp: Dscp::BEST_EFFORT,
        load: ConnectionsLoad {
            stages: vec![stage(1, 2000), stage(2, 2000), stage(1, 0)],
            setup_rate_max: None,
            mix: vec![ConnectionsShare { weight: 1, behaviour }],
            lifetime: None,
            close: Close::Fin,
            addresses: ConnectionAddresses {
                clients: range([198, 18, 0, 0], 4),
                servers: range([198, 19, 0, 0], 1),
                client_ports: PortRange { first: 1024, last: 65_535 },
                server_ports: PortRange { first: 80, last: 80 },
                translated: false,
            },
            mss_bytes: 1460,
            window_bytes: 65_535,
            retransmissions_max: 6,
            syn_retransmissions_max: 3,
            ports: FramePorts::PacketSockets,
        },
        settle: Duration::from_secs(1),
        criteria: stress::Criteria::default(),
    }
}

/// A line with a queue of 100 packets and 5 ms of way.
fn line(rate: Rate) -> LinkSpec {
    let queue = QueueSpec { limit: QueueLimit::Packets(100), ..QueueSpec::default() };
    LinkSpec {
        line_rate: Some(rate),
        queue: Some(queue),
        delay: Duration::from_millis(5),
        ..LinkSpec::default()
    }
}

fn policed(cir: Rate, cbs_bytes: u64) -> LinkSpec {
    let queue = QueueSpec { limit: QueueLimit::Packets(4000), ..QueueSpec::default() };
    LinkSpec {
        police: Some(PoliceSpec::single_bucket(cir, cbs_bytes)),
        queue: Some(queue),
        ..line(GIGABIT)
    }
}

fn behind_a_gigabit(link: LinkSpec) -> PathSpec {
    let port = LinkSpec {
        line_rate: Some(GIGABIT),
        queue: Some(QueueSpec { limit: QueueLimit::Packets(4000), ..QueueSpec::default() }),
        ..LinkSpec::default()
    };
    let link = LinkSpec { delay: Duration::from_millis(1), ..link };
    PathSpec::symmetric("under test", vec![port, link])
}
