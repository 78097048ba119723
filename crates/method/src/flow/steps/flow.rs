//! What became of a flow, or of several in sum.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use fp_model::figure::{
    Better, Block, Cell, Chart, Column, Course, Info, Kind, Row, SLOT, Spread, Steps, Unit, and,
    infos,
};
use fp_model::{
    ConnectionReport, DelaySummary, Direction, Dscp, DscpCount, Ecn, EcnCount, Family, Jitter,
    Layer, Rate, Sample, TcpEngine,
};

use super::tables::{BOTH, BY_LAYER, TCP, TCP_MORE, UDP, UDP_MORE};
use crate::definition::IsShown;
use crate::{connection, metric};

/// How a flow fared, or several in sum.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowStep {
    pub name: String,
    pub part: Part,
    pub class: Option<String>,
    /// `None` of a sum of both transports.
    pub transport: Option<Transport>,
    /// The TCP implementation; `None` of UDP, and of a sum of both transports.
    pub engine: Option<TcpEngine>,
    pub family: Option<Family>,
    pub direction: Direction,
    /// Connections, or streams of packets.
    pub streams: u32,
    /// Start of the flow, after the start of the trial.
    pub begins: Duration,
    pub dscp_sent: Option<Dscp>,
    /// Packets received by code point; empty where the receiver cannot see it.
    pub dscp_received: Vec<DscpCount>,
    /// `None` of TCP, whose ECN the host chooses.
    pub ecn_sent: Option<Ecn>,
    pub ecn_received: Vec<EcnCount>,
    /// `None` where the sender does not tell.
    pub sent: Option<Carried>,
    pub received: Carried,
    /// From the first packet that arrived to the end of the last one's share, by the receiver's
    /// clock; `None` where it does not tell.
    pub arrived: Option<Arrived>,
    /// Packets due that the tester itself failed to send.
    pub unsent: Option<u64>,
    pub lost: Option<u64>,
    pub out_of_order: Option<u64>,
    pub duplicates: Option<u64>,
    pub corrupt: Option<u64>,
    pub retransmitted_bytes: Option<u64>,
    pub jitter: Option<Jitter>,
    pub delay: Option<DelaySummary>,
    pub rtt_mean: Option<Duration>,
    pub rtt_min: Option<Duration>,
    /// Rate received in percent of the line rate, at layer 2 as link usage is commonly given, and at layer 1, which
    /// is 100 % of a full line.
    pub link_usage_l2_percent: Option<f64>,
    pub link_usage_l1_percent: Option<f64>,
    /// Slots of payload; their sums are the payload sent and received.
    pub series: Vec<Sample>,
    /// What TCP sent and received after the steady time, which no total contains.
    pub drained: Option<Sample>,
    pub connections: Vec<Connection>,
    /// Whether packets sent are packets received and packets lost together.
    pub conserved: bool,
}

impl FlowStep {
    /// Packets lost in percent of those sent; `None` of TCP, which does not tell.
    pub fn loss_percent(&self) -> Option<f64> {
        self.transport.filter(|transport| *transport == Transport::Udp)?;
        let sent = self.sent?.packets.filter(|sent| *sent > 0)?;
        Some(100.0 * self.lost? as f64 / sent as f64)
    }

    /// Packets received per second, over the time that the received rates are of.
    fn packets_per_second(&self) -> Option<f64> {
        let Carried { payload_bytes, packets, rates, .. } = &self.received;
        let bits_each = *payload_bytes as f64 * 8.0 / (*packets)? as f64;
        (bits_each > 0.0).then(|| rates.l4.as_bps() as f64 / bits_each)
    }

    /// The code point with which most packets arrived.
    fn main_dscp(&self) -> Option<Dscp> {
        self.dscp_received.iter().max_by_key(|count| count.frames)?.dscp
    }

    /// The rate that the receive windows of all connections allow: their sum per mean round trip.
    pub fn window_limit_l4(&self) -> Option<Rate> {
        let windows = self.connections.iter().map(|each| each.report.window_effective_bytes);
        let window_bytes: u64 = windows.sum::<Option<u64>>()?;
        let rtt = self.rtt_mean.filter(|rtt| !rtt.is_zero())?;
        (window_bytes > 0).then(|| Rate::over(window_bytes, rtt))
    }
}

/// What the figures are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Flow,
    Class,
    /// All flows of a direction.
    Sum,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Flow => "flow",
            Self::Class => "class",
            Self::Sum => "sum",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Tcp,
    Udp,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        })
    }
}

/// What one end counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    pub payload_bytes: u64,
    /// `None` where neither end counts packets.
    pub packets: Option<u64>,
    /// Time over which the rates are averaged.
    pub lasts: Duration,
    pub rates: RateByLayer,
}

/// From when until when, since the start of the trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    pub from: Duration,
    pub until: Duration,
}

/// One stream of packets, counted at each layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateByLayer {
    pub l1: Rate,
    pub l2: Rate,
    pub l3: Rate,
    pub l4: Rate,
}

impl RateByLayer {
    pub const fn at(&self, layer: Layer) -> Rate {
        match layer {
            Layer::L1 => self.l1,
            Layer::L2 => self.l2,
            Layer::L3 => self.l3,
            Layer::L4 => self.l4,
        }
    }
}

/// One connection of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    pub throughput_l4: Rate,
    pub report: ConnectionReport,
}

pub static FLOW: Steps<FlowStep> = Steps {
    kind: Kind {
        name: "flow",
        title: "flow",
        is_judged: true,
        main: &["rate_bps"],
        columns: &infos(COLUMNS),
        facts: |_| Vec::new(),
        blocks: &[
            Block::Table(&TCP),
            Block::Table(&UDP),
            Block::Table(&BOTH),
            Block::Table(&TCP_MORE),
            Block::Table(&UDP_MORE),
            Block::Table(&BY_LAYER),
            Block::Chart(Chart::Course(COURSE)),
        ],
    },
    columns: COLUMNS,
};

const COURSE: Course = Course {
    name: |row| Some(format!("{}, {}", row.word("flow"), row.word("direction"))),
    most: 6,
    layer: |_| "l4",
    ideal: |_| None,
    baseline_us: |_| None,
};

/// Classes in place of their flows; of more than `most` flows only classes and sums.
pub(in crate::flow) fn shown(steps: &[Row], most: usize) -> IsShown {
    let are_few = steps.iter().filter(|step| is_part(step, "flow")).count() <= most;
    match (are_few, steps.iter().any(|step| is_part(step, "class"))) {
        (true, false) => |_| true,
        (true, true) => |step| !is_part(step, "flow") || step.word("class").is_empty(),
        (false, _) => |step| !is_part(step, "flow"),
    }
}

fn is_part(step: &Row, part: &str) -> bool {
    FLOW.kind.is_of(step) && step.word("part") == part
}

const COLUMNS: &[Column<FlowStep>; 39] = &[
    Info::new("flow", "flow", Unit::Word).of(|flow| flow.name.clone().into()),
    Info::new("part", "part", Unit::Word).of(|flow| flow.part.to_string().into()),
    Info::new("class", "class", Unit::Word).of(|flow| flow.class.clone().into()),
    Info::new("transport", "transport", Unit::Word)
        .of(|flow| flow.transport.map(|transport| transport.to_string()).into()),
    Info::new("engine", "TCP", Unit::Word)
        .of(|flow| flow.engine.map(|engine| engine.name()).into()),
    Info::new("family", "family", Unit::Word).of(|flow| flow.family.map(Family::name).into()),
    Info::new("direction", "direction", Unit::Word).of(|flow| flow.direction.name().into()),
    Info::new("streams", "connections", Unit::Count).of(|flow| flow.streams.into()),
    Info::new("dscp_sent", "DSCP sent", Unit::Count).of(|flow| flow.dscp_sent.into()),
    Info::new("dscp_received", "DSCP arrived", Unit::Count).of(|flow| flow.main_dscp().into()),
    Info::new("dscp_received_packets", "DSCP arrived", Unit::Parts(DSCPS))
        .of(|flow| Cell::parts(DSCPS, DSCP, &flow.dscp_received)),
    Info::new("ecn_sent", "ECN sent", Unit::Word).of(|flow| flow.ecn_sent.map(Ecn::name).into()),
    Info::new("ecn_received_packets", "ECN arrived", Unit::Parts(ECNS))
        .of(|flow| Cell::parts(ECNS, ECN, &flow.ecn_received)),
    Info::new("payload_bytes", "received", Unit::Amount)
        .of(|flow| flow.received.payload_bytes.into()),
    Info::new("sent_payload_bytes", "sent", Unit::Amount)
        .of(|flow| flow.sent.map(|sent| sent.payload_bytes).into()),
    Info::new("rate_bps", "rate received (l4)", Unit::Rate)
        .better(Better::Higher)
        .spread(Spread::Throughput)
        .metric(metric::RATE_L4)
        .of(|flow| flow.received.rates.l4.into()),
    Info::new("layer", "layer", Unit::Word).of(|_| "l4".into()),
    Info::new("received_rates", "rates received", Unit::Part(RATES))
        .of(|flow| rates(&flow.received.rates)),
    Info::new("sent_rates", "rates sent", Unit::Part(RATES))
        .of(|flow| flow.sent.map(|sent| rates(&sent.rates)).into()),
    Info::new("packets", "packets received", Unit::Count).of(|flow| flow.received.packets.into()),
    Info::new("sent_packets", "packets sent", Unit::Count)
        .of(|flow| flow.sent.and_then(|sent| sent.packets).into()),
    Info::new("pps", "packets a second", Unit::Number(0))
        .of(|flow| flow.packets_per_second().into()),
    Info::new("unsent", "not sent", Unit::Count).of(|flow| flow.unsent.into()),
    Info::new("lost", "lost", Unit::Count).of(|flow| flow.lost.into()),
    Info::new("loss_percent", "lost", Unit::Percent(3))
        .better(Better::Lower)
        .metric(metric::LOSS)
        .of(|flow| flow.loss_percent().into()),
    Info::new("out_of_order", "out of order", Unit::Count).of(|flow| flow.out_of_order.into()),
    Info::new("duplicates", "twice", Unit::Count).of(|flow| flow.duplicates.into()),
    Info::new("corrupt", "corrupt", Unit::Count).of(|flow| flow.corrupt.into()),
    Info::new("conserved", "conserved", Unit::Flag).of(|flow| flow.conserved.into()),
    Info::new("jitter_us", "jitter", Unit::Microseconds)
        .better(Better::Lower)
        .metric(metric::JITTER)
        .of(|flow| flow.jitter.map(|jitter| Cell::us(jitter.rfc3550)).into()),
    Info::new("jitter_mean_us", "mean jitter", Unit::Microseconds)
        .of(|flow| flow.jitter.and_then(|jitter| jitter.mean).map(Cell::us).into()),
    Info::new("one_way_delay", "delay one way", Unit::Part(DELAYS))
        .of(|flow| flow.delay.map(|delay| Cell::part(DELAYS, DELAY, &delay)).into()),
    Info::new("retransmitted_bytes", "retransmitted", Unit::Amount)
        .metric(metric::RETRANSMITTED)
        .of(|flow| flow.retransmitted_bytes.into()),
    Info::new("rtt_mean_ms", "RTT", Unit::Milliseconds)
        .better(Better::Lower)
        .spread(Spread::Rtt)
        .metric(metric::RTT_MEAN)
        .of(|flow| flow.rtt_mean.map(Cell::ms).into()),
    Info::new("rtt_min_ms", "smallest RTT", Unit::Milliseconds)
        .of(|flow| flow.rtt_min.map(Cell::ms).into()),
    Info::new("link_usage_percent", "usage by frames", Unit::Percent(2))
        .of(|flow| flow.link_usage_l2_percent.into()),
    Info::new("link_usage_l1_percent", "usage of the line", Unit::Percent(2))
        .of(|flow| flow.link_usage_l1_percent.into()),
    Info::new("series", "course", Unit::Series(SLOT)).of(|flow| flow.series.as_slice().into()),
    Info::new("connections", "connections", Unit::Parts(CONNECTIONS)).of(|flow| {
        let part =
            |each: &Connection| connection::part(CONNECTIONS, &each.report, (CONNECTION, each));
        Cell::Parts(flow.connections.iter().map(part).collect())
    }),
];

static DSCPS: &[Info] = &infos(DSCP);
const DSCP: &[Column<DscpCount>; 2] = &[
    Info::new("dscp", "DSCP", Unit::Count).of(|count| count.dscp.into()),
    Info::new("packets", "packets", Unit::Count).of(|count| count.frames.into()),
];

static ECNS: &[Info] = &infos(ECN);
const ECN: &[Column<EcnCount>; 2] = &[
    Info::new("ecn", "ECN", Unit::Word).of(|count| count.ecn.map(Ecn::name).into()),
    Info::new("packets", "packets", Unit::Count).of(|count| count.frames.into()),
];

static RATES: &[Info] = &infos(RATE);
const RATE: &[Column<RateByLayer>; 4] = &[
    Info::new("l1_bps", "line (l1)", Unit::Rate).of(|rates| rates.l1.into()),
    Info::new("l2_bps", "frames (l2)", Unit::Rate).of(|rates| rates.l2.into()),
    Info::new("l3_bps", "IP packets (l3)", Unit::Rate).of(|rates| rates.l3.into()),
    Info::new("l4_bps", "payload (l4)", Unit::Rate).of(|rates| rates.l4.into()),
];

fn rates(rates: &RateByLayer) -> Cell {
    Cell::part(RATES, RATE, rates)
}

static DELAYS: &[Info] = &infos(DELAY);
const DELAY: &[Column<DelaySummary>; 8] = &[
    Info::new("min_us", "smallest", Unit::Microseconds).of(|delay| Cell::us(delay.min)),
    Info::new("mean_us", "mean", Unit::Microseconds)
        .better(Better::Lower)
        .of(|delay| Cell::us(delay.mean)),
    Info::new("p50_us", "median", Unit::Microseconds).of(|delay| Cell::us(delay.p50)),
    Info::new("p99_us", "99th percentile", Unit::Microseconds).of(|delay| Cell::us(delay.p99)),
    Info::new("p99_9_us", "99.9th percentile", Unit::Microseconds)
        .of(|delay| Cell::us(delay.p99_9)),
    Info::new("max_us", "largest", Unit::Microseconds).of(|delay| Cell::us(delay.max)),
    Info::new("error_us", "error", Unit::Microseconds).of(|delay| Cell::us(delay.error)),
    Info::new("samples", "packets", Unit::Count).of(|delay| delay.samples.into()),
];

static CONNECTIONS: &[Info] = &and::<_, _, 4, 15>(connection::INFOS, &infos(CONNECTION));
const CONNECTION: &[Column<Connection>; 4] = &[
    Info::new("throughput_bps", "throughput (l4)", Unit::Rate).of(|each| each.throughput_l4.into()),
    Info::new("sent_segments", "segments sent", Unit::Count)
        .of(|each| each.report.sent_segments.into()),
    Info::new("received_segments", "segments received", Unit::Count)
        .of(|each| each.report.received_segments.into()),
    Info::new("dscp_received", "DSCP arrived", Unit::Count)
        .of(|each| each.report.dscp_received.into()),
];
