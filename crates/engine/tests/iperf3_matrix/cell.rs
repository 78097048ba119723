//! A cell of the matrix: who is whose client, over what, which way, and with which option.

use std::fmt;
use std::time::Duration;

use fp_engine::control::{FarAddress, Host};
use fp_engine::iperf3::client::ClientPlan;
use fp_engine::iperf3::wire::{Counter, End, Transport, Way};
use fp_model::Rate;

/// Whose client tests with whose server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Roles {
    OurClient,
    OurServer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extra {
    Plain,
    Rate,
    BurstyRate,
    Bytes,
    Blocks,
    Omit,
    Window,
    Segment,
    Marking,
    Congestion,
    Length,
    NoDelay,
    WideCounter,
    ServerOutput,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) roles: Roles,
    pub(crate) transport: Transport,
    pub(crate) way: Way,
    pub(crate) streams: u32,
    pub is_ipv6: bool,
    pub(crate) extra: Extra,
}

/// So many bytes in a test by bytes; no multiple of a block.
pub(crate) const BYTES: u64 = 3_000_000;
pub(crate) const BLOCKS: u64 = 20;
pub(crate) const LENGTH: u32 = 1000;
pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn all() -> Vec<Cell> {
    let mut cells = Vec::new();
    for roles in [Roles::OurClient, Roles::OurServer] {
        for transport in [Transport::Tcp, Transport::Udp] {
            let plain = |way, streams, is_ipv6| Cell {
                roles,
                transport,
                way,
                streams,
                is_ipv6,
                extra: Extra::Plain,
            };
            for way in [Way::Forward, Way::Reverse, Way::Both] {
                for streams in [1, 3] {
                    cells.extend([false, true].map(|v6| plain(way, streams, v6)));
                }
            }
            let both_ways = [Way::Forward, Way::Reverse];
            for (at, extra) in extras(transport).iter().enumerate() {
                // The families take turns, so that each meets the other ways and options.
                cells.extend(both_ways.map(|way| Cell {
                    extra: *extra,
                    ..plain(way, 1 + 2 * (at as u32 % 2), at % 2 == (way as usize) % 2)
                }));
            }
            cells.push(Cell { extra: Extra::Bytes, ..plain(Way::Both, 3, false) });
        }
    }
    cells
}

const fn extras(transport: Transport) -> &'static [Extra] {
    use Extra::{
        Blocks, BurstyRate, Bytes, Congestion, Length, Marking, NoDelay, Omit, Rate, Segment,
        ServerOutput, WideCounter, Window,
    };
    match transport {
        Transport::Tcp => &[
            Rate,
            Bytes,
            Blocks,
            Omit,
            Window,
            Segment,
            Marking,
            Congestion,
            Length,
            NoDelay,
            ServerOutput,
        ],
        Transport::Udp => {
            &[Rate, BurstyRate, Bytes, Blocks, Omit, Window, Marking, Length, WideCounter]
        }
    }
}

impl Cell {
    pub(crate) const fn host(&self) -> &'static str {
        if self.is_ipv6 { "::1" } else { "127.0.0.1" }
    }

    pub(crate) fn is_udp(&self) -> bool {
        self.transport == Transport::Udp
    }

    /// Payload of each stream in bit/s, where it is limited.
    pub(crate) fn rate_bps(&self) -> Option<u64> {
        match (self.transport, self.extra) {
            (Transport::Tcp, Extra::Rate) => Some(40_000_000),
            (Transport::Tcp, _) => None,
            // What would not end for want of bytes must not take long.
            (Transport::Udp, Extra::Bytes | Extra::Blocks) => Some(20_000_000),
            (Transport::Udp, _) => Some(4_000_000),
        }
    }

    /// For the packaged client.
    pub(crate) fn words(&self, port: u16) -> Vec<String> {
        let family = if self.is_ipv6 { "-6" } else { "-4" };
        let (port, streams) = (port.to_string(), self.streams.to_string());
        let mut words = vec!["-c", self.host(), family, "-p", &port, "-P", &streams, "-J"];
        words.extend(match self.way {
            Way::Forward => None,
            Way::Reverse => Some("-R"),
            Way::Both => Some("--bidir"),
        });
        words.extend(self.is_udp().then_some("-u"));
        let rate = self.rate_bps().map(|bps| match self.extra {
            Extra::BurstyRate => format!("{bps}/8"),
            _ => bps.to_string(),
        });
        if let Some(rate) = &rate {
            words.extend(["-b", rate]);
        }
        let (bytes, blocks, length) = (BYTES.to_string(), BLOCKS.to_string(), LENGTH.to_string());
        match self.extra {
            Extra::Bytes => words.extend(["-n", &bytes]),
            Extra::Blocks => words.extend(["-k", &blocks]),
            Extra::Plain | Extra::Rate | Extra::BurstyRate => words.extend(["-t", "1"]),
            Extra::Omit => words.extend(["-t", "1", "-O", "1"]),
            Extra::Window => words.extend(["-t", "1", "-w", "64K"]),
            Extra::Segment => words.extend(["-t", "1", "-M", "1000"]),
            Extra::Marking => words.extend(["-t", "1", "-S", "184"]),
            Extra::Congestion => words.extend(["-t", "1", "-C", "reno"]),
            Extra::Length => words.extend(["-t", "1", "-l", &length]),
            Extra::NoDelay => words.extend(["-t", "1", "-N"]),
            Extra::WideCounter => words.extend(["-t", "1", "--udp-counters-64bit"]),
            Extra::ServerOutput => words.extend(["-t", "1", "--get-server-output"]),
        }
        words.into_iter().map(str::to_owned).collect()
    }

    /// For our client.
    pub(crate) fn plan(&self, port: u16) -> ClientPlan {
        // The addresses of loopback are well-formed.
        let host = Host::Address(self.host().parse().unwrap());
        let plan = ClientPlan {
            way: self.way,
            streams: self.streams,
            end: End::After(SECOND),
            rate: self.rate_bps().map(Rate::bps),
            ..ClientPlan::new(FarAddress { host, port }, self.transport)
        };
        match self.extra {
            Extra::Plain | Extra::Rate => plan,
            Extra::BurstyRate => ClientPlan { burst_blocks: 8, ..plan },
            Extra::Bytes => ClientPlan { end: End::Bytes(BYTES), ..plan },
            Extra::Blocks => ClientPlan { end: End::Blocks(BLOCKS), ..plan },
            Extra::Omit => ClientPlan { omit: SECOND, ..plan },
            Extra::Window => ClientPlan { window_bytes: Some(64 << 10), ..plan },
            Extra::Segment => ClientPlan { mss_bytes: Some(1000), ..plan },
            Extra::Marking => ClientPlan { tos: 184, ..plan },
            Extra::Congestion => ClientPlan { congestion: Some("reno".into()), ..plan },
            Extra::Length => ClientPlan { block_bytes: Some(LENGTH), ..plan },
            Extra::NoDelay => ClientPlan { no_delay: true, ..plan },
            Extra::WideCounter => ClientPlan { counter: Counter::Bits64, ..plan },
            Extra::ServerOutput => ClientPlan { wants_server_output: true, ..plan },
        }
    }

    pub(crate) fn lasts(&self) -> Option<Duration> {
        match self.extra {
            Extra::Bytes | Extra::Blocks => None,
            _ => Some(SECOND),
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let roles = match self.roles {
            Roles::OurClient => "client",
            Roles::OurServer => "server",
        };
        let transport = if self.is_udp() { "udp" } else { "tcp" };
        let way = match self.way {
            Way::Forward => "forward",
            Way::Reverse => "-R",
            Way::Both => "--bidir",
        };
        let family = if self.is_ipv6 { "-6" } else { "-4" };
        let extra = match self.extra {
            Extra::Plain => "",
            Extra::Rate => "-b",
            Extra::BurstyRate => "-b /8",
            Extra::Bytes => "-n",
            Extra::Blocks => "-k",
            Extra::Omit => "-O",
            Extra::Window => "-w",
            Extra::Segment => "-M",
            Extra::Marking => "-S",
            Extra::Congestion => "-C",
            Extra::Length => "-l",
            Extra::NoDelay => "-N",
            Extra::WideCounter => "64bit",
            Extra::ServerOutput => "output",
        };
        let streams = self.streams;
        write!(f, "{roles:<6} {transport} {way:<7} -P {streams} {family} {extra:<6}")
    }
}
