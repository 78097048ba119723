//! Flows as they are wanted, before it is known between which ends.

use std::time::Duration;

use anyhow::anyhow;
use fp_method::flow::{Path, PathAsk, PlannedFlow};
use fp_model::{
    AddressRange, CongestionControl, ConnectionAddresses, Direction, Dscp, Ecn, Family, FlowSpec,
    FrameSizes, FramesLoad, Layer, LayeredRate, Load, Pace, PacketLayout, PortRange, Rate, Sender,
    TcpEngine, TcpLoad,
};

use crate::addresses::Prefix;

/// Faster than any host sends: a stream's packets are numbered and timed one by one.
pub(crate) const PACKETS_PER_SECOND_MAX: u64 = 10_000_000;
pub(crate) const CONNECTIONS_MAX: u32 = 10_000;
pub(crate) const FLOWS_MAX: usize = 256;
/// Of connections that are no host's: the first client's, and that of all servers.
const CLIENT_PORT: u16 = 49_152;
const SERVER_PORT: u16 = 6349;
/// More than any path of today holds at a gigabit.
const WINDOW_BYTES: u64 = 4_000_000;
/// All connections together.
const WINDOWS_BYTES_MAX: u64 = 512_000_000;
/// The frames of the simple IMIX: seven, four and one.
const SIMPLE_IMIX: [u32; 12] = [64, 64, 64, 64, 64, 64, 64, 570, 570, 570, 570, 1518];

/// What is known of the ends that flows are to run between, and of the path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Between<'a> {
    /// Of the session.
    pub(crate) family: Family,
    pub(crate) interface_mtu_bytes: u32,
    /// The far end is a stock iperf3 server.
    pub(crate) is_iperf3: bool,
    /// Between them the near end's addresses become others.
    pub(crate) is_translated: bool,
    pub(crate) path: &'a Path,
}

impl Between<'_> {
    /// The longest packet that passes in this direction, as far as that is known.
    fn mtu_bytes(&self, family: Family, direction: Direction) -> u32 {
        self.path.mtu_bytes(family, direction).unwrap_or(self.interface_mtu_bytes)
    }
}

const BOTH_WAYS: [Direction; 2] = [Direction::Upload, Direction::Download];

/// Streams of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) name: String,
    pub(crate) class: Option<String>,
    pub(crate) directions: Vec<Direction>,
    /// `None`: that of the session.
    pub(crate) family: Option<Family>,
    pub(crate) dscp: Dscp,
    pub(crate) near_port: Option<u16>,
    pub(crate) begins: Duration,
    pub(crate) traffic: Traffic,
    /// Where it stands in a file, as messages show it.
    pub(crate) place: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) enum Traffic {
    Tcp(Tcp),
    Udp(Udp),
}

/// Whose TCP carries a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Engine {
    #[default]
    Kernel,
    User,
}

#[derive(Clone, Debug)]
pub(crate) struct Tcp {
    pub(crate) engine: Engine,
    pub(crate) connections: u32,
    pub(crate) window_bytes: Option<u64>,
    pub(crate) mss_bytes: Option<u32>,
    /// `None`: cubic, where this program sends.
    pub(crate) congestion_control: Option<CongestionControl>,
    pub(crate) pacing: Option<Rate>,
    pub(crate) pace: Pace,
    /// Of all connections together; `None` sends until the end.
    pub(crate) bytes: Option<u64>,
    /// What the application writes at a time.
    pub(crate) write_bytes: Option<u32>,
}

#[derive(Clone, Debug)]
pub(crate) struct Udp {
    pub(crate) streams: u32,
    pub(crate) payloads: Payloads,
    /// Of each stream.
    pub(crate) offered: Offered,
    pub(crate) ecn: Ecn,
}

#[derive(Clone, Debug)]
pub(crate) enum Payloads {
    /// As long as a packet of the path may be.
    Longest,
    Lengths(Vec<u64>),
    SimpleImix,
    /// By the letters of RFC 6985.
    Imix(String),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Offered {
    Rate(LayeredRate),
    PacketsPerSecond(u64),
}

impl Wanted {
    /// Of each stream, where it is given as one.
    pub(crate) const fn rate(&self) -> Option<Rate> {
        match &self.traffic {
            Traffic::Udp(Udp { offered: Offered::Rate(LayeredRate { rate, .. }), .. })
            | Traffic::Tcp(Tcp { pace: Pace::Constant { rate }, .. }) => Some(*rate),
            Traffic::Udp(_) | Traffic::Tcp(_) => None,
        }
    }

    pub(crate) const fn streams(&self) -> u32 {
        match &self.traffic {
            Traffic::Tcp(tcp) => tcp.connections,
            Traffic::Udp(udp) => udp.streams,
        }
    }

    /// What is to be asked of the path, so that packets are as long as it takes: of TCP both ways, as
    /// both of its ends send segments.
    pub(crate) fn path_asks(&self, family: Family, limit_bytes: u32) -> Vec<PathAsk> {
        let directions = match &self.traffic {
            Traffic::Tcp(tcp) if tcp.mss_bytes.is_none() => &BOTH_WAYS[..],
            Traffic::Udp(udp) if udp.payloads.follow_the_path() => &self.directions,
            Traffic::Tcp(_) | Traffic::Udp(_) => &[],
        };
        let family = self.family.unwrap_or(family);
        let ask = |direction: &Direction| PathAsk { family, direction: *direction, limit_bytes };
        directions.iter().map(ask).collect()
    }

    /// The flows of a trial, one for each stream of UDP and one for all connections of TCP.
    ///
    /// So many flows of the trial are planned already.
    ///
    /// # Errors
    /// What cannot be sent between these ends, and what can.
    pub(crate) fn flows(
        &self,
        ends: &Between<'_>,
        planned: usize,
    ) -> anyhow::Result<Vec<PlannedFlow>> {
        let flows = self.planned(ends, planned);
        match &self.place {
            Some(place) => flows.map_err(|error| anyhow!("{place}: {error:#}")),
            None => flows,
        }
    }

    fn planned(&self, ends: &Between<'_>, before: usize) -> anyhow::Result<Vec<PlannedFlow>> {
        let family = self.family.unwrap_or(ends.family);
        let mut flows = Vec::new();
        for (way, direction) in self.directions.iter().enumerate() {
            // Ports are those of this end: no two flows have the same.
            let taken = way as u32 * self.streams();
            match &self.traffic {
                Traffic::Tcp(tcp) => {
                    let mut load = tcp.load(*direction, ends, family)?;
                    if tcp.engine == Engine::User {
                        let place = (before + flows.len()) as u32;
                        let addresses = addresses(family, place, &load, ends.is_translated);
                        load.engine = TcpEngine::User { addresses };
                    }
                    let load = Load::Tcp(load);
                    flows.push(self.flow(self.name.clone(), *direction, family, load, taken)?);
                }
                Traffic::Udp(udp) => {
                    let load = udp.load(ends.mtu_bytes(family, *direction), ends, family)?;
                    for stream in 0..udp.streams {
                        let name = self.name_of(stream, udp.streams);
                        let load = Load::Frames(load.clone());
                        let mut flow = self.flow(name, *direction, family, load, taken + stream)?;
                        flow.spec.ecn = udp.ecn;
                        flows.push(flow);
                    }
                }
            }
        }
        Ok(flows)
    }

    fn name_of(&self, stream: u32, streams: u32) -> String {
        if streams == 1 { self.name.clone() } else { format!("{} {}", self.name, stream + 1) }
    }

    /// The near port after so many that are taken.
    fn port_after(&self, taken: u32, wanted: u32) -> anyhow::Result<Option<u16>> {
        let Some(first) = self.near_port else { return Ok(None) };
        let port = u32::from(first) + taken;
        if port + wanted > u32::from(u16::MAX) + 1 {
            return Err(anyhow!(
                "{}: there are not as many ports from {first} on as it has streams: begin lower",
                self.name
            ));
        }
        Ok(u16::try_from(port).ok())
    }

    fn flow(
        &self,
        name: String,
        direction: Direction,
        family: Family,
        load: Load,
        ports_taken: u32,
    ) -> anyhow::Result<PlannedFlow> {
        let ports = match &load {
            Load::Tcp(load) => load.connections,
            Load::Frames(_) | Load::Probes(_) | Load::Bursts(_) | Load::Connections(_) => 1,
        };
        let spec = FlowSpec {
            near_port: self.port_after(ports_taken, ports)?,
            begins: self.begins,
            ..FlowSpec::new(direction, family, self.dscp, load)
        };
        Ok(PlannedFlow { name, class: self.class.clone(), spec })
    }
}

/// Hosts that no other flow of the trial has: of the networks that are set apart for tests.
fn addresses(family: Family, place: u32, load: &TcpLoad, translated: bool) -> ConnectionAddresses {
    let host = |prefix: Prefix| {
        let range = prefix.hosts(1);
        AddressRange { first: range.first + place, ..range }
    };
    let ports = u16::try_from(load.connections.saturating_sub(1)).unwrap_or(u16::MAX);
    ConnectionAddresses {
        clients: host(Prefix::usual_clients(family)),
        servers: host(Prefix::usual_servers(family)),
        client_ports: PortRange { first: CLIENT_PORT, last: CLIENT_PORT.saturating_add(ports) },
        server_ports: PortRange { first: SERVER_PORT, last: SERVER_PORT },
        translated,
    }
}

impl Tcp {
    /// # Errors
    /// What of it only the hosts' own TCP does.
    pub(crate) fn expect_carried(&self) -> anyhow::Result<()> {
        if self.engine == Engine::Kernel {
            return Ok(());
        }
        let control = match self.congestion_control {
            Some(CongestionControl::Bbr) => Some("bbr"),
            Some(CongestionControl::Host) => Some("the host's choice"),
            Some(CongestionControl::Cubic | CongestionControl::Reno) | None => None,
        };
        if let Some(control) = control {
            return Err(anyhow!(
                "fullpipe's own TCP (engine user) sends by cubic or reno, not by {control}: choose \
                 one of them (-C), or leave out the engine"
            ));
        }
        for (given, what) in [
            (self.pacing.is_some(), "a pacing limit (--fq-rate) is the kernel's"),
            (self.bytes.is_some(), "transfers (-n, -k) are carried by the kernel's TCP"),
            (self.write_bytes.is_some(), "the length of writes (-l) matters to the kernel's TCP"),
        ] {
            if given {
                return Err(anyhow!("{what} alone: leave it out, or leave out the engine user"));
            }
        }
        Ok(())
    }

    fn load(
        &self,
        direction: Direction,
        ends: &Between<'_>,
        family: Family,
    ) -> anyhow::Result<TcpLoad> {
        if ends.is_iperf3 && self.engine == Engine::User {
            return Err(anyhow!(
                "a stock iperf3 server has the TCP of its kernel alone: leave out the engine user, or \
                 have the far end run `fullpipe serve --allow-connections`"
            ));
        }
        let headers = family.ip_header_bytes() + PacketLayout::TCP_HEADER_BYTES;
        let most = ends.interface_mtu_bytes.saturating_sub(headers);
        let passes = BOTH_WAYS.map(|way| ends.mtu_bytes(family, way)).into_iter().min();
        let fitting = passes.map_or(most, |mtu_bytes| mtu_bytes.saturating_sub(headers));
        let mss_bytes = self.mss_bytes.unwrap_or(fitting);
        if mss_bytes > most {
            return Err(anyhow!(
                "segments of {mss_bytes} bytes do not fit the interfaces here: at most {most} (-M)"
            ));
        }
        let by_default =
            WINDOW_BYTES.min(WINDOWS_BYTES_MAX / u64::from(self.connections)).max(65_535);
        Ok(TcpLoad {
            connections: self.connections,
            window_bytes: self.window_bytes.unwrap_or(by_default),
            mss_bytes,
            sender: self.bytes.map_or(Sender::Bulk, |bytes| Sender::Transfer { bytes }),
            congestion_control: self.congestion_control.unwrap_or(match direction {
                // A server goes on with what it was asked for in the tests of others.
                Direction::Download if ends.is_iperf3 => CongestionControl::Host,
                Direction::Download | Direction::Upload => CongestionControl::Cubic,
            }),
            pacing: self.pacing,
            pace: self.pace.clone(),
            write_bytes: self.write_bytes,
            engine: TcpEngine::Kernel,
        })
    }
}

impl Payloads {
    /// Whether some packets are as long as the path takes.
    fn follow_the_path(&self) -> bool {
        match self {
            Self::Longest | Self::SimpleImix => true,
            Self::Lengths(_) => false,
            Self::Imix(letters) => letters.to_ascii_lowercase().contains('z'),
        }
    }
}

impl Udp {
    /// Of packets up to `mtu_bytes` where the path decides.
    fn load(
        &self,
        mtu_bytes: u32,
        ends: &Between<'_>,
        family: Family,
    ) -> anyhow::Result<FramesLoad> {
        let sizes = self.sizes(mtu_bytes, ends, family)?;
        let rate_l2 = self.rate_l2(&sizes, family)?;
        Ok(FramesLoad::new(sizes, Pace::Constant { rate: rate_l2 }))
    }

    fn sizes(
        &self,
        mtu_bytes: u32,
        ends: &Between<'_>,
        family: Family,
    ) -> anyhow::Result<FrameSizes> {
        let headers = PacketLayout::udp_headers_bytes(family, 0);
        let most = ends.interface_mtu_bytes + PacketLayout::ETHERNET_L2_OVERHEAD;
        let fitting = mtu_bytes + PacketLayout::ETHERNET_L2_OVERHEAD;
        let least = FramesLoad::least_frame_bytes(family, 0);
        let lengths = match &self.payloads {
            Payloads::Longest => vec![fitting],
            Payloads::Lengths(lengths) => {
                let range = u64::from(FramesLoad::HEAD_BYTES)..=u64::from(most - headers);
                if let Some(odd) = lengths.iter().find(|length| !range.contains(length)) {
                    return Err(anyhow!(
                        "a UDP payload of {odd} bytes cannot be sent here: from {} bytes (number \
                         and time of each packet) to {} (one unfragmented packet); see -l",
                        range.start(),
                        range.end()
                    ));
                }
                lengths.iter().map(|length| *length as u32 + headers).collect()
            }
            // The shortest of them leaves no room for the headers of IPv6.
            Payloads::SimpleImix => SIMPLE_IMIX.map(|bytes| bytes.clamp(least, fitting)).into(),
            Payloads::Imix(letters) => {
                let bytes = letters.chars().map(|letter| imix_bytes(letter, fitting));
                bytes.collect::<Result<_, _>>()?
            }
        };
        if let Some(odd) = lengths.iter().find(|length| !(least..=most).contains(length)) {
            return Err(anyhow!(
                "frames of {odd} bytes cannot be sent here: from {least} to {most} bytes with \
                 headers and FCS"
            ));
        }
        Ok(FrameSizes::new(lengths)?)
    }

    /// The rate of frames that makes the rate asked for, whatever layer that is of.
    fn rate_l2(&self, sizes: &FrameSizes, family: Family) -> anyhow::Result<Rate> {
        let frames = sizes.lengths().len() as u64;
        let cycle_bytes = sizes.cycle_bytes();
        let at = |layer| match layer {
            Layer::L1 => cycle_bytes + frames * u64::from(PacketLayout::ETHERNET_L1_OVERHEAD),
            Layer::L2 => cycle_bytes,
            Layer::L3 => cycle_bytes - frames * u64::from(PacketLayout::ETHERNET_L2_OVERHEAD),
            Layer::L4 => {
                cycle_bytes - frames * u64::from(PacketLayout::udp_headers_bytes(family, 0))
            }
        };
        let bps = match self.offered {
            Offered::Rate(LayeredRate { rate, layer }) => {
                rate.as_bps() as f64 * cycle_bytes as f64 / at(layer) as f64
            }
            Offered::PacketsPerSecond(packets) => {
                packets as f64 * cycle_bytes as f64 * 8.0 / frames as f64
            }
        };
        let packets = bps * frames as f64 / (cycle_bytes as f64 * 8.0);
        if packets > PACKETS_PER_SECOND_MAX as f64 {
            return Err(anyhow!(
                "this rate is {packets:.0} packets a second, more than {PACKETS_PER_SECOND_MAX}, \
                 the most that packets of this length may be sent at: give longer packets (-l) or \
                 more streams (-P)"
            ));
        }
        Ok(Rate::bps((bps + 0.5) as u64).max(Rate::bps(1)))
    }

    /// How long each stream takes for so many packets, to the nanosecond in which the next one would
    /// be due.
    pub(crate) fn time_for(
        &self,
        packets: u64,
        (ends, family): (&Between<'_>, Family),
        direction: Direction,
    ) -> anyhow::Result<Duration> {
        let load = self.load(ends.mtu_bytes(family, direction), ends, family)?;
        let Pace::Constant { rate } = load.pace else { return Ok(Duration::ZERO) };
        let bit_nanos = load.sizes.bytes_of_first(packets) * 8_000_000_000;
        let nanos = bit_nanos / u128::from(rate.as_bps());
        Ok(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }

    /// The packets that carry so many bytes of payload.
    pub(crate) fn packets_for(
        &self,
        bytes: u64,
        (ends, family): (&Between<'_>, Family),
        direction: Direction,
    ) -> anyhow::Result<u64> {
        let sizes = self.sizes(ends.mtu_bytes(family, direction), ends, family)?;
        let headers = u64::from(PacketLayout::udp_headers_bytes(family, 0));
        let frames = sizes.lengths().len() as u64;
        let payload = sizes.cycle_bytes() - frames * headers;
        Ok((u128::from(bytes) * u128::from(frames)).div_ceil(u128::from(payload)) as u64)
    }
}

fn imix_bytes(letter: char, most: u32) -> anyhow::Result<u32> {
    Ok(match letter.to_ascii_lowercase() {
        'a' => 64,
        'b' => 128,
        'c' => 256,
        'd' => 512,
        'e' => 1024,
        'f' => 1280,
        'g' => 1518,
        'z' => most,
        other => {
            return Err(anyhow!(
                "`{other}` is no letter of an IMIX: a is 64 bytes, b 128, c 256, d 512, e 1024, \
                 f 1280, g 1518, z what fits (--imix)"
            ));
        }
    })
}
