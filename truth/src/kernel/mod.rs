//! Networks that the kernel's own router makes, with nothing of the product on the path, in real time:
//! namespaces, veth pairs, `nft`'s `limit` and `numgen`, `tc`'s `tbf` and `htb`.
//!
//! The truth of each network follows from the parameters of its commands:
//!
//! - `nft … limit rate over R bytes/second burst B bytes drop` is a policer that charges IP packets.
//!   The kernel's `nft_limit_init` makes its bucket hold what a second brings, and the burst: R + B
//!   bytes.
//! - `tc … tbf rate R burst B latency T` is a shaper that charges a frame without its FCS. It sends
//!   B bytes at once and queues R·T + B bytes (`tc-tbf(8)`).
//! - `tc … htb rate R burst B`, with the ceiling alike, charges the same. It sends as long as its tokens
//!   are not negative (`htb_class_mode`), where tbf wants enough of them for the whole frame: B bytes
//!   and a frame at once. Its queue is that of the `bfifo` or `pfifo` below it.
//! - `numgen random mod N 0 drop` loses one packet in N by chance, `numgen inc mod N 0 drop` each Nth.
//!
//! How fast the host forwards, and how long that takes, no parameter says: no round trip is judged.

mod networks;
mod script;

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Instant;

use anyhow::{Context as _, anyhow, ensure};
use fp_model::{Direction, Rate};
use fp_net::path::{
    Aqm, Charge, LinkSpec, LossSpec, MtuSpec, PoliceSpec, Probability, QueueLimit, QueueSpec,
    ShapeSpec, TooBigAnswer,
};
use serde_json::Value;

pub(crate) use networks::networks;
pub(crate) use script::of as script;

use crate::facts::Facts;
use crate::method::{Method, RFC2544_FRAMES_BYTES, Ran, Sold, rate_cap};
use crate::network::Network;
use crate::watch::Watch;

/// What a frame's FCS has, which the kernel does not see.
pub(crate) const SHAPERS_CHARGE: Charge = Charge::L2WithoutFcs;

/// The longest frame of the kernel's Ethernet.
const FRAME_BYTES: u64 = 1514;

/// The routers between the two ends.
#[derive(Clone, Debug)]
pub(crate) struct Routers {
    /// From the near to the far end.
    hops: Vec<Hop>,
    segmentation: Segmentation,
}

/// What one router does to what it forwards: its `nft` rules in their order, then its `tc`.
#[derive(Clone, Debug, Default)]
struct Hop {
    to_far: Vec<Rule>,
    to_near: Vec<Rule>,
    /// The MTU of the cable between this router and what follows towards the far end; `None` is 1500 bytes.
    mtu_bytes: Option<u32>,
}

/// Who cuts what TCP and UDP hand over in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Segmentation {
    /// Nobody before it is received: veth claims that it can, as in every container.
    Claimed,
    /// The ends, before it leaves them.
    AtTheEnds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Limit {
        bytes_per_s: u64,
        burst_bytes: u64,
    },
    /// Loses each packet with a chance of `1 / one_in`.
    LoseRandomly {
        one_in: u32,
    },
    LoseEach {
        one_in: u32,
    },
    Tbf {
        kbps: u64,
        burst_bytes: u64,
        latency_ms: u64,
    },
    Htb {
        kbps: u64,
        burst_bytes: u64,
        queue: QueueLimit,
    },
}

impl Rule {
    /// The same as the simulator's links say it.
    fn link(self) -> LinkSpec {
        let fifo = |limit| QueueSpec { limit, aqm: Aqm::Fifo };
        let shaped = |kbps, burst_bytes, limit| {
            let shape = ShapeSpec { rate: Rate::bps(1000 * kbps), burst_bytes, queue: fifo(limit) };
            LinkSpec { shape: Some(shape), ..LinkSpec::default() }
        };
        match self {
            Self::Limit { bytes_per_s, burst_bytes } => {
                let holds_bytes = bytes_per_s + burst_bytes;
                let police = PoliceSpec::single_bucket(Rate::bps(8 * bytes_per_s), holds_bytes);
                let police = PoliceSpec { charge: Charge::L3, ..police };
                LinkSpec { police: Some(police), ..LinkSpec::default() }
            }
            Self::LoseRandomly { one_in } => LinkSpec {
                loss: Probability::new(1.0 / f64::from(one_in)).map(LossSpec::Random),
                ..LinkSpec::default()
            },
            Self::LoseEach { one_in } => {
                LinkSpec { loss: Some(LossSpec::Every(one_in.into())), ..LinkSpec::default() }
            }
            Self::Tbf { kbps, burst_bytes, latency_ms } => {
                let queued_bytes = kbps * latency_ms / 8 + burst_bytes;
                shaped(kbps, burst_bytes, QueueLimit::Bytes(queued_bytes))
            }
            Self::Htb { kbps, burst_bytes, queue } => {
                shaped(kbps, burst_bytes + FRAME_BYTES, queue)
            }
        }
    }
}

impl Routers {
    fn network(self, name: &str, methods: &'static [Method]) -> Network {
        let longest = self.hops.iter().map(|hop| hop.to_far.len().max(hop.to_near.len()) + 1).sum();
        let padded = |mut links: Vec<LinkSpec>| {
            links.resize(longest, LinkSpec::default());
            links
        };
        let upload = self.hops.iter().flat_map(|hop| links(hop, &hop.to_far)).collect();
        let download = self.hops.iter().rev().flat_map(|hop| links(hop, &hop.to_near)).collect();
        let network = Network::new(name.to_owned(), padded(download), padded(upload));
        Network { routers: Some(self), methods, ..network }
    }
}

/// Of one direction; the cable carries packets of both alike.
fn links(hop: &Hop, rules: &[Rule]) -> Vec<LinkSpec> {
    let mtu = hop.mtu_bytes.map(|bytes| MtuSpec { bytes, too_big: TooBigAnswer::Icmp });
    let cable = LinkSpec { mtu, ..LinkSpec::default() };
    rules.iter().map(|rule| rule.link()).chain([cable]).collect()
}

/// Runs the method of the program beside this one across the network.
pub(crate) fn run(
    method: Method,
    network: &Network,
    routers: &Routers,
    facts: &Facts,
    sold: Option<Sold>,
) -> Ran {
    let watch = Watch::start();
    let began = now();
    let outcome = measured(method, network, routers, facts, sold);
    let took = began.elapsed();
    let was_disturbed = watch.end().disturbance().is_some();
    let (document, ended_by) = match outcome {
        Ok(document) => {
            let is_whole = document.pointer("/verdict/status") != Some(&Value::from("aborted"));
            let why = document.pointer("/verdict/reasons").map(Value::to_string);
            (document, why.filter(|_| !is_whole))
        }
        Err(error) => (Value::Null, Some(format!("{error:#}"))),
    };
    Ran { document, ended_by, took, happenings: 0, sold, was_disturbed }
}

fn measured(
    method: Method,
    network: &Network,
    routers: &Routers,
    facts: &Facts,
    sold: Option<Sold>,
) -> anyhow::Result<Value> {
    /// No method takes as long.
    const PATIENCE_S: &str = "900";
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", PATIENCE_S, "unshare", "--net", "--mount"]);
    if !is_root()? {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["sh", "-c", &script(network, routers), "sh"]).arg(program()?);
    command.args(words(method, facts, sold)).args(["--json", "--no-save", "--quiet"]);
    let Output { status, stdout, stderr } = command.output().context("timeout unshare sh")?;
    serde_json::from_slice(&stdout).map_err(|_| {
        let stderr = String::from_utf8_lossy(&stderr);
        anyhow!("{status}, without a document: {}", stderr.trim())
    })
}

/// Of a TCP trial: by itself it would last up to 30 s behind a policer, and a network for four minutes.
const TRIAL_S: u32 = 3;

/// The command line of the method; the far end follows.
fn words(method: Method, facts: &Facts, sold: Option<Sold>) -> Vec<String> {
    let frames =
        |lengths: &[u32]| lengths.iter().map(u32::to_string).collect::<Vec<String>>().join(",");
    let words: Vec<String> = match (method, sold) {
        (Method::Test, _) => vec!["test".into(), format!("--duration={TRIAL_S}s")],
        (Method::Rfc2544, _) => vec![
            "rfc2544".into(),
            "--tests=throughput".into(),
            format!("--frames={}", frames(&RFC2544_FRAMES_BYTES)),
            "--yes-saturate".into(),
            format!("--max-rate={}", rate_cap(facts).as_bps()),
        ],
        (Method::Burst, Some(Sold { cir_bps, cbs_bytes, directions, .. })) => vec![
            "burst".into(),
            format!("--cir={cir_bps}@l3"),
            format!("--cbs={cbs_bytes}"),
            // No host sends shorter ones back to back as fast as veth forwards them.
            "--frames=1518".into(),
            format!(
                "--direction={}",
                if directions == [Direction::Download] { "download" } else { "both" }
            ),
        ],
        (Method::Discover | Method::Burst | Method::Rfc7640 | Method::Y1564, _) => {
            vec!["burst".into(), "--discover".into()]
        }
    };
    words
}

/// As `cargo xtask truth --kernel` builds it: in the folder of this program.
fn program() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?.with_file_name("fullpipe");
    ensure!(program.exists(), "{}: not built, use cargo xtask truth --kernel", program.display());
    Ok(program)
}

fn is_root() -> anyhow::Result<bool> {
    let output = Command::new("id").arg("-u").output().context("id -u")?;
    Ok(output.stdout.trim_ascii() == b"0")
}

#[expect(clippy::disallowed_methods, reason = "a run in real time is timed for people")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests;
