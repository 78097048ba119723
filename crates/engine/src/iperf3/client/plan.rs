//! What a user asks of a client.

use std::time::Duration;

use fp_model::{Family, Rate};

use crate::control::FarAddress;
use crate::iperf3::auth::{AuthError, Credentials};
use crate::iperf3::wire::{Counter, End, Parameters, Transport, Way};
use crate::os::clock;

/// A test as its client has it in mind.
#[derive(Clone, Debug)]
pub struct ClientPlan {
    pub far: FarAddress,
    /// `None` takes whichever the far end's name gives first.
    pub family: Option<Family>,
    pub transport: Transport,
    pub way: Way,
    /// In each direction: `-P`.
    pub streams: u32,
    pub end: End,
    /// `-O`, in whole seconds.
    pub omit: Duration,
    /// Between two reports of what goes on.
    pub interval: Duration,
    /// Length of a write or of a datagram's payload, `-l`; `None` is 128 KiB, or as much as fits a
    /// packet.
    pub block_bytes: Option<u32>,
    /// Payload of each stream, `-b`; `None` is as much as goes.
    pub rate: Option<Rate>,
    /// Blocks that are sent together: what follows the slash in `-b 10M/8`. Zero is one by one.
    pub burst_blocks: u32,
    /// Pacing of each stream by the kernel: `--fq-rate`.
    pub pacing: Option<Rate>,
    /// `-w`
    pub window_bytes: Option<u32>,
    /// `-M`
    pub mss_bytes: Option<u32>,
    /// `-N`
    pub no_delay: bool,
    /// `-S`
    pub tos: u8,
    /// `-C`
    pub congestion: Option<String>,
    /// `-T`
    pub title: Option<String>,
    /// `--get-server-output`
    pub wants_server_output: bool,
    pub counter: Counter,
    pub credentials: Option<Credentials>,
}

impl ClientPlan {
    /// iperf3's defaults: 10 s on one stream to the far end, UDP at 1 Mbit/s.
    pub fn new(far: FarAddress, transport: Transport) -> Self {
        /// 2^20 bit/s.
        const UDP_RATE: Rate = Rate::bps(1 << 20);
        Self {
            far,
            family: None,
            transport,
            way: Way::Forward,
            streams: 1,
            end: End::After(Duration::from_secs(10)),
            omit: Duration::ZERO,
            interval: Duration::from_secs(1),
            block_bytes: None,
            rate: match transport {
                Transport::Tcp => None,
                Transport::Udp => Some(UDP_RATE),
            },
            burst_blocks: 0,
            pacing: None,
            window_bytes: None,
            mss_bytes: None,
            no_delay: false,
            tos: 0,
            congestion: None,
            title: None,
            wants_server_output: false,
            counter: Counter::Bits32,
            credentials: None,
        }
    }

    /// As the server is asked; `segment_bytes` fit a packet of the control connection.
    pub(super) fn parameters(&self, segment_bytes: u32) -> Result<Parameters, AuthError> {
        /// What the kernel moves at once with the fewest calls, and iperf3's default.
        const TCP_BLOCK_BYTES: u32 = 128 << 10;
        const UDP_BLOCK_BYTES: std::ops::RangeInclusive<u32> = 16..=65_507;
        let fitting = match self.transport {
            Transport::Tcp => TCP_BLOCK_BYTES,
            Transport::Udp => segment_bytes.clamp(*UDP_BLOCK_BYTES.start(), *UDP_BLOCK_BYTES.end()),
        };
        let block_bytes = self.block_bytes.unwrap_or(fitting);
        let token = |credentials: &Credentials| credentials.token(clock::wall());
        Ok(Parameters {
            transport: self.transport,
            way: self.way,
            streams: self.streams,
            end: self.end_for(block_bytes),
            omit: self.omit,
            block_bytes,
            rate: self.rate,
            burst_blocks: self.burst_blocks,
            pacing: self.pacing,
            window_bytes: self.window_bytes,
            mss_bytes: self.mss_bytes,
            no_delay: self.no_delay,
            tos: self.tos,
            congestion: self.congestion.clone(),
            title: self.title.clone(),
            wants_server_output: self.wants_server_output,
            counter: self.counter,
            authtoken: self.credentials.as_ref().map(token).transpose()?,
            client_version: Some(format!("fullpipe {}", env!("CARGO_PKG_VERSION"))),
        })
    }

    /// A server takes for a block of TCP whatever it could write at once: bytes are the same
    /// everywhere.
    const fn end_for(&self, block_bytes: u32) -> End {
        match (self.end, self.transport) {
            (End::Blocks(blocks), Transport::Tcp) => {
                End::Bytes(blocks.saturating_mul(block_bytes as u64))
            }
            (end, _) => end,
        }
    }
}
