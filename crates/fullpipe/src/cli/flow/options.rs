//! The options of `fullpipe flow`.

use std::path::PathBuf;
use std::time::Duration;

use fp_model::{CongestionControl, Dscp, Ecn, Rate};

use super::values::{
    BitRate, Lengths, bit_rate, connections, dscp, lengths, mss, omitted, per_second, port, time,
    tos, volume,
};
use crate::flows::wanted::Engine;
use crate::values::{any_percent, plain_rate, seed, window};

/// What traffic is wanted.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Traffic")]
pub(crate) struct MethodArgs {
    /// UDP instead of TCP
    #[arg(short, long)]
    pub(super) udp: bool,
    /// Rate of each stream (l4 unless named): UDP 1M if not given; TCP writes at this rate
    #[arg(short, long, visible_alias = "bandwidth", value_name = "RATE[@LAYER]", value_parser = bit_rate)]
    pub(super) bitrate: Option<BitRate>,
    /// Packets per second of each UDP stream, in place of -b: 50k
    #[arg(long, value_name = "N", value_parser = per_second, conflicts_with = "bitrate")]
    pub(super) pps: Option<u64>,
    /// How long to send (default 10 s, or as long as the profile)
    #[arg(short, long, visible_alias = "duration", value_name = "TIME", value_parser = time)]
    pub(super) time: Option<Duration>,
    /// Bytes of payload to send, all streams together: the run ends when TCP has delivered them, or
    /// at -t (5 h if not given)
    #[arg(short = 'n', long, value_name = "SIZE", value_parser = volume)]
    pub(super) bytes: Option<u64>,
    /// UDP packets, or TCP writes of -l (128Ki if not given), to send, all streams together
    #[arg(short = 'k', long, value_name = "N", value_parser = volume, conflicts_with = "bytes")]
    pub(super) blockcount: Option<u64>,
    /// UDP payload, one length or a list that repeats (64,576,1472); default: what fits a packet of
    /// the path. With TCP what the application writes at a time
    #[arg(short, long, visible_alias = "len", value_name = "BYTES,…", value_parser = lengths)]
    pub(super) length: Option<Lengths>,
    /// UDP frames of several lengths, of an IPv4 packet's usual 7:4:1 or by the letters of RFC 6985
    /// (aaaaeg; a 64, b 128, c 256, d 512, e 1024, f 1280, g 1518, z what fits)
    #[arg(
        long,
        value_name = "LETTERS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "simple",
        conflicts_with = "length"
    )]
    pub(super) imix: Option<String>,
    /// Connections or UDP streams
    #[arg(short = 'P', long, value_name = "N", value_parser = connections, default_value_t = 1)]
    pub(super) parallel: u32,
    /// From the far end to here
    #[arg(short = 'R', long, conflicts_with = "bidir")]
    pub(super) reverse: bool,
    /// Both ways at once
    #[arg(long)]
    pub(super) bidir: bool,
    /// Receive window of each TCP connection (default 4M): exactly this, not a hint
    #[arg(short, long, value_name = "SIZE", value_parser = window)]
    pub(super) window: Option<u64>,
    /// Largest TCP segment
    #[arg(short = 'M', long, value_name = "BYTES", value_parser = mss)]
    pub(super) set_mss: Option<u32>,
    /// Congestion control of the senders; `host` is whichever their hosts take by default
    ///
    /// [default: cubic; what a stock iperf3 server sends is its host's choice]
    #[arg(short = 'C', long, visible_alias = "cc", value_enum)]
    pub(super) congestion: Option<CongestionOption>,
    /// Whose TCP it is: that of both hosts' kernels, or fullpipe's own, which sends and takes frames
    /// at addresses of its own (198.18.128.0/17 here, 198.19.0.0/16 at the far end, 2001:2::/48)
    /// and checks every byte; needs CAP_NET_RAW, and `serve --allow-connections` [default: kernel]
    #[arg(long, value_enum)]
    pub(super) engine: Option<Engine>,
    /// Kernel's pacing limit of each TCP connection (l4)
    #[arg(long, value_name = "RATE", value_parser = plain_rate)]
    pub(super) fq_rate: Option<Rate>,
    /// DSCP from the first packet on, by number or name: 46, ef, af41
    #[arg(long, value_name = "DSCP", value_parser = dscp)]
    pub(super) dscp: Option<Dscp>,
    /// The type-of-service byte in place of --dscp: 184, 0xb8; its last two bits are ECN
    #[arg(short = 'S', long, value_name = "N", value_parser = tos, conflicts_with_all = ["dscp", "ecn"])]
    pub(super) tos: Option<u8>,
    /// ECN of UDP packets; with TCP the host decides
    #[arg(long, value_enum)]
    pub(super) ecn: Option<EcnOption>,
    /// Port of this end; more streams take the ports after it (default: any)
    #[arg(long, value_name = "PORT", value_parser = port)]
    pub(super) cport: Option<u16>,
    /// Leave the first TIME out of the figures
    #[arg(short = 'O', long, value_name = "TIME", value_parser = omitted, conflicts_with = "profile")]
    pub(super) omit: Option<Duration>,
    /// A rate over time that all streams follow together: triangle:peak=300M,period=20s; sawtooth,
    /// sine, square; steps:10M/5s,50M/5s; poisson:rate=10M; on-off:rate=10M,on=1s,off=2s;
    /// csv:FILE of time,rate
    #[arg(long, value_name = "SHAPE", conflicts_with_all = ["bitrate", "pps", "bytes", "blockcount"])]
    pub(super) profile: Option<String>,
    /// Seed of what a profile draws by chance
    #[arg(long, value_name = "N", value_parser = seed, default_value_t = 1)]
    pub(super) profile_seed: u64,
    /// Several classes at once: `five` (EF, AF41, AF31, AF21, BE) or `note` (46, 10, 12, 14, 0 from
    /// ports 49152 to 49156). With -u they share -b evenly
    #[arg(long, value_enum, conflicts_with_all = ["dscp", "tos", "cport"])]
    pub(super) classes: Option<ClassesOption>,
    /// Flows of different kinds, from a file in YAML (examples/flows.yaml)
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "udp", "bitrate", "pps", "bytes", "blockcount", "length", "imix", "parallel", "reverse",
            "bidir", "window", "set_mss", "engine", "fq_rate", "dscp", "tos", "ecn", "cport", "classes",
        ]
    )]
    pub(super) flows: Option<PathBuf>,
    /// Rate of the line (l1), for link usage; of an emulated network it is known
    #[arg(long, value_name = "RATE", value_parser = plain_rate)]
    pub(super) line: Option<Rate>,
    /// Pass only if at least this much payload arrives in each direction
    #[arg(long, value_name = "RATE", value_parser = plain_rate)]
    pub(super) min_rate: Option<Rate>,
    /// Pass only if at most this share of the UDP packets is lost in each direction
    #[arg(long, value_name = "PERCENT", value_parser = any_percent)]
    pub(super) max_loss: Option<f64>,
    /// TCP sends at once what it has: always so
    #[arg(short = 'N', long, hide = true)]
    no_delay: bool,
    /// Both ends always report
    #[arg(long, hide = true)]
    get_server_output: bool,
    /// Packets are never fragmented
    #[arg(long, hide = true)]
    dont_fragment: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum CongestionOption {
    Cubic,
    Reno,
    Bbr,
    Host,
}

impl CongestionOption {
    pub(super) const fn algorithm(self) -> CongestionControl {
        match self {
            Self::Cubic => CongestionControl::Cubic,
            Self::Reno => CongestionControl::Reno,
            Self::Bbr => CongestionControl::Bbr,
            Self::Host => CongestionControl::Host,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum EcnOption {
    Ect0,
    Ect1,
}

impl EcnOption {
    pub(super) const fn field(self) -> Ecn {
        match self {
            Self::Ect0 => Ecn::Ect0,
            Self::Ect1 => Ecn::Ect1,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ClassesOption {
    Five,
    Note,
}
