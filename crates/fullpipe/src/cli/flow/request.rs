//! From the options of `fullpipe flow` to a plan.

use std::time::Duration;

use anyhow::anyhow;
use fp_method::flow::{Criteria, Lines, Path, PathAsk, Plan};
use fp_model::{Direction, Dscp, Ecn, Layer, LayeredRate, Pace, Rate, Timing};
#[cfg(feature = "ui")]
use fp_server::web::OfferedLoad;

use super::super::cost::Cost;
use super::super::measure::Ends;
use super::options::{CongestionOption, EcnOption, MethodArgs};
use super::profile::Shape;
use super::values::BitRate;
use super::{classes, profile};
use crate::exit::Failure;
use crate::flows;
use crate::flows::wanted::{
    Between, CONNECTIONS_MAX, Engine, FLOWS_MAX, Offered, Payloads, Tcp, Traffic, Udp, Wanted,
};

/// As iperf3 does.
const TIME: Duration = Duration::from_secs(10);
const UDP_RATE: Rate = Rate::bps(1_000_000);
const TCP_WRITE_BYTES: u64 = 131_072;
/// What ends by count may take where no time is given: it is watched five times a second for so long.
const TRANSFER_TIME_MAX: Duration = Duration::from_secs(5 * 3600);
/// For late packets.
const SETTLE: Duration = Duration::from_secs(1);
/// Of a transfer.
const BYTES_MAX: u64 = 1 << 50;

/// What is wanted, as far as it can be known without the ends.
#[derive(Debug)]
pub(crate) struct Request {
    wanted: Vec<Wanted>,
    shape: Option<Shape>,
    time: Duration,
    omit: Duration,
    count: Option<Count>,
    line: Option<Rate>,
    criteria: Criteria,
}

/// What ends UDP streams before the time does, all of them together.
#[derive(Clone, Copy, Debug)]
enum Count {
    Packets(u64),
    Bytes(u64),
}

impl MethodArgs {
    /// # Errors
    /// Bad input: what in these words makes no sense together, and what would.
    pub(crate) fn request(&self) -> Result<Request, Failure> {
        self.understood().map_err(Failure::bad_input)
    }

    fn understood(&self) -> anyhow::Result<Request> {
        let shape = self.profile.as_deref().map(|text| profile::parse(text, self.profile_seed));
        let shape = shape.transpose()?;
        let wanted = self.wanted()?;
        let by_default = if wanted.iter().all(is_transfer) { TRANSFER_TIME_MAX } else { TIME };
        let time = self.time.or_else(|| shape.as_ref().map(Shape::lasts)).unwrap_or(by_default);
        let request = Request {
            wanted,
            shape,
            time,
            omit: self.omit.unwrap_or_default(),
            count: self.count(),
            line: self.line,
            criteria: Criteria { rate_min_l4: self.min_rate, loss_max_percent: self.max_loss },
        };
        request.check()?;
        Ok(request)
    }

    fn wanted(&self) -> anyhow::Result<Vec<Wanted>> {
        match (&self.flows, self.classes) {
            (Some(file), _) => flows::load(file),
            (None, Some(set)) => {
                classes::wanted(set, &self.directions(), |shares| self.traffic(shares))
            }
            (None, None) => Ok(vec![self.single()?]),
        }
    }

    fn count(&self) -> Option<Count> {
        if !self.udp {
            return None;
        }
        self.blockcount.map(Count::Packets).or(self.bytes.map(Count::Bytes))
    }

    fn directions(&self) -> Vec<Direction> {
        match (self.reverse, self.bidir) {
            (_, true) => vec![Direction::Upload, Direction::Download],
            (true, false) => vec![Direction::Download],
            (false, false) => vec![Direction::Upload],
        }
    }

    fn single(&self) -> anyhow::Result<Wanted> {
        let (dscp, _) = self.marking();
        Ok(Wanted {
            name: if self.udp { "udp" } else { "tcp" }.into(),
            class: None,
            directions: self.directions(),
            family: None,
            dscp,
            near_port: self.cport,
            begins: Duration::ZERO,
            traffic: self.traffic(1)?,
            place: None,
        })
    }

    fn marking(&self) -> (Dscp, Ecn) {
        match self.tos {
            Some(tos) => (Dscp::of_traffic_class(tos), Ecn::of_traffic_class(tos)),
            None => (
                self.dscp.unwrap_or(Dscp::BEST_EFFORT),
                self.ecn.map_or(Ecn::NotEct, EcnOption::field),
            ),
        }
    }

    /// What each of `shares` classes has of the traffic.
    fn traffic(&self, shares: u32) -> anyhow::Result<Traffic> {
        if self.udp { self.udp(shares).map(Traffic::Udp) } else { self.tcp().map(Traffic::Tcp) }
    }

    fn udp(&self, shares: u32) -> anyhow::Result<Udp> {
        for (given, option, instead) in [
            (self.engine.is_some(), "--engine", "it chooses whose TCP it is: leave out -u"),
            (self.window.is_some(), "-w", "a window belongs to TCP: leave out -u"),
            (self.set_mss.is_some(), "-M", "with UDP it is -l that sets the length"),
            (
                self.fq_rate.is_some(),
                "--fq-rate",
                "UDP packets are sent one by one at the rate of -b",
            ),
        ] {
            if given {
                return Err(anyhow!("{option} makes no difference to UDP: {instead}"));
            }
        }
        let by_default = LayeredRate { rate: UDP_RATE, layer: Layer::L4 };
        let offered = match (self.pps, self.bitrate) {
            (Some(packets), _) => Offered::PacketsPerSecond((packets / u64::from(shares)).max(1)),
            (None, None) => Offered::Rate(by_default),
            (None, Some(BitRate::Limited(LayeredRate { rate, layer }))) => {
                let rate = Rate::bps((rate.as_bps() / u64::from(shares)).max(1));
                Offered::Rate(LayeredRate { rate, layer })
            }
            (None, Some(BitRate::Unlimited)) => {
                return Err(anyhow!(
                    "-b 0: UDP packets always have a rate here, so that a loss can be told from a \
                     sender that could do no more: give the rate of the line, such as -b 1G@l1"
                ));
            }
        };
        Ok(Udp {
            streams: self.parallel,
            payloads: match (&self.imix, &self.length) {
                (Some(name), _) if name == "simple" => Payloads::SimpleImix,
                (Some(letters), _) => Payloads::Imix(letters.clone()),
                (None, Some(lengths)) => Payloads::Lengths(lengths.0.clone()),
                (None, None) => Payloads::Longest,
            },
            offered,
            ecn: self.marking().1,
        })
    }

    fn tcp(&self) -> anyhow::Result<Tcp> {
        for (given, option) in [(self.pps.is_some(), "--pps"), (self.imix.is_some(), "--imix")] {
            if given {
                return Err(anyhow!("{option} is of UDP packets: add -u, or set segments by -M"));
            }
        }
        if self.marking().1 != Ecn::NotEct {
            return Err(anyhow!(
                "ECN is set on UDP packets only: TCP negotiates it where both hosts are set to \
                 (sysctl net.ipv4.tcp_ecn); add -u or leave it out"
            ));
        }
        let pace = match self.bitrate {
            None | Some(BitRate::Unlimited) => Pace::Unlimited,
            Some(BitRate::Limited(LayeredRate { rate, layer: Layer::L4 })) => {
                Pace::Constant { rate }
            }
            Some(BitRate::Limited(_)) => {
                return Err(anyhow!("TCP writes payload: its -b is at @l4, such as -b 40M"));
            }
        };
        let write_bytes = match self.length.as_ref().map(|lengths| lengths.0.as_slice()) {
            None => None,
            // A length is at most 1 MiB.
            Some([bytes]) => Some(*bytes as u32),
            Some(_) => {
                return Err(anyhow!(
                    "a list of lengths is of UDP packets: TCP writes one length (-l 16K), or add -u"
                ));
            }
        };
        let block_bytes = write_bytes.map_or(TCP_WRITE_BYTES, u64::from);
        let by_blocks = self.blockcount.map(|blocks| blocks.saturating_mul(block_bytes));
        let bytes = self.bytes.or(by_blocks);
        if let Some(bytes) = bytes.filter(|bytes| *bytes > BYTES_MAX) {
            return Err(anyhow!("-k: {bytes} bytes are too many: at most 2^50"));
        }
        if bytes.is_some() && self.omit.is_some_and(|omit| !omit.is_zero()) {
            return Err(anyhow!(
                "-O leaves out a time, and -n and -k count from the first byte of TCP: leave out one \
                 of them"
            ));
        }
        Ok(Tcp {
            engine: self.engine.unwrap_or_default(),
            connections: self.parallel,
            window_bytes: self.window,
            mss_bytes: self.set_mss,
            congestion_control: self.congestion.map(CongestionOption::algorithm),
            pacing: self.fq_rate,
            pace,
            bytes,
            write_bytes,
        })
    }
}

/// Whether it ends by count.
fn is_transfer(wanted: &Wanted) -> bool {
    matches!(wanted.traffic, Traffic::Tcp(Tcp { bytes: Some(_), .. }))
}

impl Request {
    /// Its time, and what of its rates and counts is known.
    pub(crate) fn cost(&self) -> Cost {
        let ends = Ends::unknown();
        let (family, interface_mtu_bytes) = (ends.family, ends.interface_mtu_bytes);
        let path = Path::default();
        let between = Between {
            family,
            interface_mtu_bytes,
            is_iperf3: false,
            is_translated: false,
            path: &path,
        };
        let steady = self.steady(&between).unwrap_or_default();
        let at_least = match self.wanted.iter().all(is_transfer) {
            true => Duration::ZERO,
            false => self.omit + steady,
        };
        let bytes = self.wanted.iter().map(|wanted| self.bytes_of(wanted, self.omit + steady));
        Cost { at_least, at_most_bytes: bytes.sum() }
    }

    /// The rates at which flows are offered; none of those that the network decides.
    #[cfg(feature = "ui")]
    pub(super) fn offered(&self) -> Vec<OfferedLoad> {
        let lasts = self.omit + self.time;
        let course = |wanted: &Wanted| {
            let points = match &self.shape {
                Some(shape) => shape.course(lasts),
                None => {
                    let rate = wanted.rate()?.as_bps() as f64 * f64::from(wanted.streams());
                    [wanted.begins, lasts].map(|at| (at.as_secs_f64(), rate)).to_vec()
                }
            };
            let course = |direction: &Direction| OfferedLoad {
                flow: format!("{}, {direction}", wanted.name),
                points: points.clone(),
            };
            Some(wanted.directions.iter().map(course).collect::<Vec<_>>())
        };
        self.wanted
            .iter()
            .filter(|wanted| !is_transfer(wanted))
            .filter_map(course)
            .flatten()
            .collect()
    }

    /// What is sent of it in this time; `None` where the network decides.
    fn bytes_of(&self, wanted: &Wanted, lasts: Duration) -> Option<u64> {
        let ways = wanted.directions.len() as u64;
        let streams = u64::from(wanted.streams());
        let rate = match (&wanted.traffic, &self.shape) {
            (Traffic::Tcp(Tcp { bytes: Some(bytes), .. }), _) => {
                return Some(bytes.saturating_mul(ways));
            }
            // All streams of a direction share it.
            (_, Some(shape)) => return Some(shape.bytes_in(lasts).saturating_mul(ways)),
            (Traffic::Udp(_) | Traffic::Tcp(_), None) => wanted.rate()?,
        };
        let all = Rate::bps(rate.as_bps().saturating_mul(streams));
        Some(all.bytes_in(lasts).saturating_mul(ways))
    }

    fn check(&self) -> anyhow::Result<()> {
        let is_tcp = |wanted: &Wanted| matches!(wanted.traffic, Traffic::Tcp(_));
        if self.criteria.loss_max_percent.is_some() && self.wanted.iter().all(is_tcp) {
            return Err(anyhow!(
                "--max-loss is of UDP packets: TCP sends again what was lost and does not tell how \
                 much that was; add -u, or leave it out"
            ));
        }
        let (mut flows, mut connections) = (0, 0);
        for wanted in &self.wanted {
            let ways = wanted.directions.len();
            match &wanted.traffic {
                Traffic::Tcp(tcp) => {
                    self.expect_engine(wanted, tcp)?;
                    flows += ways;
                    connections += u64::from(tcp.connections) * ways as u64;
                }
                Traffic::Udp(udp) => flows += udp.streams as usize * ways,
            }
        }
        if flows > FLOWS_MAX {
            return Err(anyhow!(
                "{flows} flows are too many: at most {FLOWS_MAX} in one trial, each with a thread \
                 at both ends (TCP connections alike count as one flow)"
            ));
        }
        if connections > u64::from(CONNECTIONS_MAX) {
            return Err(anyhow!(
                "{connections} TCP connections are too many: at most {CONNECTIONS_MAX} in one trial"
            ));
        }
        if let Some(shape) = &self.shape {
            shape.check(self.time)?;
        }
        Ok(())
    }

    fn expect_engine(&self, wanted: &Wanted, tcp: &Tcp) -> anyhow::Result<()> {
        let has_profile = self.shape.is_some() && tcp.engine == Engine::User;
        let expected = match has_profile {
            true => Err(anyhow!(
                "--profile is followed by the kernel's TCP alone: leave it out, or leave out the \
                 engine user"
            )),
            false => tcp.expect_carried(),
        };
        match &wanted.place {
            Some(place) => expected.map_err(|error| anyhow!("{place}: {error:#}")),
            None => expected,
        }
    }

    /// What is to be asked of the path between these ends, each once.
    pub(crate) fn path_asks(&self, ends: &Ends) -> Vec<PathAsk> {
        let mut asks: Vec<PathAsk> = Vec::new();
        let wanted = self.wanted.iter();
        for ask in wanted.flat_map(|each| each.path_asks(ends.family, ends.interface_mtu_bytes)) {
            let is_same =
                |known: &PathAsk| (known.family, known.direction) == (ask.family, ask.direction);
            if !asks.iter().any(is_same) {
                asks.push(ask);
            }
        }
        asks
    }

    /// The plan between these ends, over this path.
    ///
    /// # Errors
    /// Bad input: what cannot be sent between them, and what can.
    pub(crate) fn plan(self, ends: &Ends, path: &Path) -> Result<Plan, Failure> {
        self.between(ends, path).map_err(Failure::bad_input)
    }

    fn between(self, ends: &Ends, path: &Path) -> anyhow::Result<Plan> {
        let asks = self.path_asks(ends);
        let mut flows = Vec::new();
        let (family, interface_mtu_bytes) = (ends.family, ends.interface_mtu_bytes);
        let Ends { is_iperf3, is_translated, .. } = *ends;
        let between = Between { family, interface_mtu_bytes, is_iperf3, is_translated, path };
        for wanted in &self.wanted {
            flows.extend(wanted.flows(&between, flows.len())?);
        }
        let steady = self.steady(&between)?;
        let line = |known: Option<Rate>| self.line.or(known);
        let plan = Plan {
            path: asks,
            flows,
            timing: Timing { warm_up: self.omit, steady, settle: SETTLE },
            lines: Lines { download: line(ends.lines.download), upload: line(ends.lines.upload) },
            profile: None,
            criteria: self.criteria,
        };
        Ok(match self.shape {
            Some(shape) => plan.following(shape.shared(steady)),
            None => plan,
        })
    }

    /// The time of -t, or what the packets asked for take.
    fn steady(&self, ends: &Between<'_>) -> anyhow::Result<Duration> {
        let Some(count) = self.count else { return Ok(self.time) };
        let streams: u32 = self.wanted.iter().map(Wanted::streams).sum();
        let mut longest = Duration::ZERO;
        for wanted in &self.wanted {
            let Traffic::Udp(udp) = &wanted.traffic else { continue };
            let between = (ends, wanted.family.unwrap_or(ends.family));
            for direction in &wanted.directions {
                let packets = match count {
                    Count::Packets(packets) => packets,
                    Count::Bytes(bytes) => udp.packets_for(bytes, between, *direction)?,
                };
                let each = packets.div_ceil(streams.into());
                longest = longest.max(udp.time_for(each, between, *direction)?);
            }
        }
        if longest > Duration::from_secs(86_400) {
            return Err(anyhow!("-n or -k would take more than a day at this rate: raise -b"));
        }
        Ok(longest)
    }
}
