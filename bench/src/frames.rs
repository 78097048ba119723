//! How exactly frames and bursts leave, and how many a host sends and receives, over a plain pair.

use std::fmt;
use std::io::Write as _;
use std::process::Command;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail, ensure};
use fp_engine::control::{Host, Identity, Pairing};
use fp_engine::far::{Log, Server, ServerOptions};
use fp_engine::lab::Privileges;
use fp_engine::near::{LiveOptions, LiveTestbed};
use fp_engine::os::{NetNs, clock};
use fp_engine::swarm::ConnectionNetworks;
use fp_engine::{DataPorts, StopFlag};
use fp_model::{
    BurstReport, BurstSpacing, BurstsLoad, Deviations, Direction, Dscp, Family, FlowReport,
    FlowSpec, FrameSizes, FramesLoad, FramesReport, Load, Pace, Rate, Receiver, SentBy,
    Testbed as _, Timing, Trial,
};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

use super::pair::{FAR_IP, Iperf3Server, Pair};
use super::{RUNS, median_of};

const GIGABIT: Rate = Rate::mbps(1000);
/// Of the shortest frame, which takes 20 bytes more at layer 1.
const FRAME_BITS: u64 = 64 * 8;
const FRAME_BITS_L1: u64 = 84 * 8;

pub(crate) fn run() -> anyhow::Result<()> {
    Privileges::prepare()?;
    let pair = Pair::lay().context("cannot lay a veth pair")?;
    pair.cut_into_frames()?;
    with_ring(&pair)?;
    with_socket(&pair)?;
    let (sent, received) = iperf3(&pair)?;
    let mut out = std::io::stdout();
    writeln!(out, "iperf3 in the same run: {sent:.2} Mpps sent, {received:.2} Mpps received")?;
    match trafgen(&pair)? {
        Some(mpps) => writeln!(out, "trafgen in the same run: {mpps:.2} Mpps sent")?,
        None => writeln!(out, "trafgen is not installed")?,
    }
    Ok(())
}

/// What is measured across a ring, and what does not depend on how frames are received.
fn with_ring(pair: &Pair) -> anyhow::Result<()> {
    let far_end = FarEnd::start(pair, Receiver::Ring)?;
    let mut bed = far_end.connect(pair)?;
    let mut out = std::io::stdout();
    for (frame_bytes, frames, goal_percent) in [(1518, 42, 2), (64, 1000, 8)] {
        let durations = Durations::of(&mut bed, frame_bytes, frames)?;
        writeln!(out, "{frames} frames of {frame_bytes} bytes at 1 Gbit/s:{durations}")?;
        writeln!(out, "  goal within {goal_percent} %")?;
    }
    let burst = median_of(|| most_sent(&mut bed))?;
    writeln!(out, "sent, 64 bytes: {burst:.2} Mpps in one burst; goal 1 Mpps")?;
    frame_by_frame(&mut bed, SentBy::PacketSocket)?;
    std::thread::scope(|scope| {
        let by_socket = scope.spawn(|| -> anyhow::Result<()> {
            forgo_packet_sockets()?;
            frame_by_frame(&mut far_end.connect(pair)?, SentBy::UdpSocket)
        });
        by_socket.join().map_err(|_| anyhow!("the thread of the near end panicked"))?
    })?;
    let received = median_of(|| most_received(&mut bed, 0.0))?;
    writeln!(out, "received by ring, none lost: {received:.2} Mpps; goal 0.9 Mpps")?;
    Ok(())
}

/// What depends on the way by which frames leave.
fn frame_by_frame(bed: &mut LiveTestbed, by: SentBy) -> anyhow::Result<()> {
    let mut reports = Vec::new();
    for _ in 0..RUNS {
        let report = constant(bed, 100_000)?;
        ensure!(report.sent_by == by, "frames were sent by {:?}, not {by:?}", report.sent_by);
        reports.push(report);
    }
    reports.sort_by_key(|report| report.gaps.gap.p99);
    let Deviations { p50, p99, .. } = reports[RUNS / 2].gaps.gap;
    let mut out = std::io::stdout();
    writeln!(out, "100 kpps by {by:?}: gap wrong by {p50:?} (p50), {p99:?} (p99); goal 5 us")?;
    let (p50, p99) = bare_gaps(100_000);
    writeln!(out, "  a thread that only watches the clock: {p50:?} (p50), {p99:?} (p99)")?;
    let paced = median_of(|| most_paced(bed))?;
    writeln!(out, "sent, 64 bytes by {by:?}: {paced:.2} Mpps frame by frame")?;
    Ok(())
}

/// How wrong the gaps of a second are in which nothing is sent: what this host leaves to any sender.
fn bare_gaps(frames_per_second: u64) -> (Duration, Duration) {
    let gap = Duration::from_secs(1) / frames_per_second as u32;
    let start = clock::now();
    let mut last = start;
    let mut errors: Vec<Duration> = (1..=frames_per_second)
        .map(|frame| {
            let due = start + gap * frame as u32;
            let left = loop {
                let now = clock::now();
                if now >= due {
                    break now;
                }
                std::hint::spin_loop();
            };
            left.since(std::mem::replace(&mut last, left)).abs_diff(gap)
        })
        .collect();
    errors.sort();
    (errors[errors.len() / 2], errors[errors.len() * 99 / 100])
}

fn with_socket(pair: &Pair) -> anyhow::Result<()> {
    let far_end = FarEnd::start(pair, Receiver::Socket)?;
    let mut bed = far_end.connect(pair)?;
    let received = median_of(|| most_received(&mut bed, 0.001))?;
    let mut out = std::io::stdout();
    writeln!(out, "received by socket, 0.1 % lost: {received:.2} Mpps; goal 0.4 Mpps")?;
    Ok(())
}

/// A far end that serves in a thread of its own.
struct FarEnd {
    pairing: Pairing,
    stop: StopFlag,
    serving: Option<JoinHandle<anyhow::Result<()>>>,
}

impl FarEnd {
    fn start(pair: &Pair, receiver: Receiver) -> anyhow::Result<Self> {
        pair.far.enter()?;
        let far = NetNs::current()?;
        let stop = StopFlag::default();
        let stopped = stop.clone();
        let (tell, told) = mpsc::channel();
        let serving = std::thread::spawn(move || {
            far.enter()?;
            if receiver == Receiver::Socket {
                forgo_packet_sockets()?;
            }
            let server = Server::bind(ServerOptions {
                listen: None,
                data_ports: DataPorts::ANY,
                connection_networks: ConnectionNetworks::NONE,
                max_sessions: 2,
                identity: Identity::new()?,
                log: Log::none(),
            })?;
            tell.send(server.pairing(Host::Address(FAR_IP)))?;
            server.serve(&stopped)?;
            Ok(())
        });
        let pairing = told.recv().context("the far end does not serve")?;
        Ok(Self { pairing, stop, serving: Some(serving) })
    }

    fn connect(&self, pair: &Pair) -> anyhow::Result<LiveTestbed> {
        pair.near.enter()?;
        let (events, stop) = (Box::new(|_| ()), StopFlag::default());
        Ok(LiveTestbed::connect(&self.pairing, LiveOptions { family: None, events, stop })?)
    }
}

impl Drop for FarEnd {
    fn drop(&mut self) {
        self.stop.set();
        if let Some(serving) = self.serving.take() {
            // What went wrong there has made a trial fail here.
            let _ = serving.join();
        }
    }
}

/// For the current thread and those that it will make, as for an ordinary user.
fn forgo_packet_sockets() -> anyhow::Result<()> {
    let mut sets = capabilities(None)?;
    sets.effective.remove(CapabilitySet::NET_RAW);
    sets.permitted.remove(CapabilitySet::NET_RAW);
    Ok(set_capabilities(None, sets)?)
}

/// How much longer or shorter than planned bursts were, in percent.
struct Durations {
    sent: Vec<f64>,
    received: Vec<f64>,
}

impl Durations {
    fn of(bed: &mut LiveTestbed, frame_bytes: u32, frames: u32) -> anyhow::Result<Self> {
        const BURSTS: u32 = 100;
        let period = Duration::from_millis(20);
        let load = BurstsLoad {
            frame_bytes,
            frames_per_burst: frames,
            bursts: BURSTS,
            period,
            rate_l1: Some(GIGABIT),
            spacing: BurstSpacing::OnSchedule,
        };
        let bursts = run_bursts(bed, load, period * BURSTS)?;
        // From the first frame to the last one.
        let planned = GIGABIT.time_for(u64::from(frame_bytes + 20) * u64::from(frames - 1));
        let percent = |took: Duration| (took.as_secs_f64() / planned.as_secs_f64() - 1.0) * 100.0;
        let mut sent: Vec<f64> =
            bursts.iter().map(|burst| percent(burst.sent_until - burst.sent_from)).collect();
        let mut received: Vec<f64> = bursts
            .iter()
            .filter(|burst| burst.received_frames == frames)
            .filter_map(|burst| {
                Some(percent(burst.arrived.last()?.until - burst.arrived.first()?.from))
            })
            .collect();
        sent.sort_by(f64::total_cmp);
        received.sort_by(f64::total_cmp);
        if received.is_empty() {
            bail!("no burst arrived whole");
        }
        Ok(Self { sent, received })
    }
}

impl fmt::Display for Durations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, errors) in [("sent", &self.sent), ("received", &self.received)] {
            let of = |share: usize| errors[(errors.len() - 1) * share / 100];
            write!(
                f,
                "\n  {what} {:+.1} % (p10), {:+.1} % (p50), {:+.1} % (p90) of {}",
                of(10),
                of(50),
                of(90),
                errors.len()
            )?;
        }
        Ok(())
    }
}

/// Millions of frames a second in one long burst, as fast as the host sends.
fn most_sent(bed: &mut LiveTestbed) -> anyhow::Result<f64> {
    Ok(mpps(&one_burst(bed, 500_000, None)?))
}

/// Millions of frames a second where each is to leave at its own time.
fn most_paced(bed: &mut LiveTestbed) -> anyhow::Result<f64> {
    let report = constant(bed, 4_000_000)?;
    Ok(report.sent_frames as f64 / report.sent_in.as_secs_f64() / 1e6)
}

/// The highest rate, in millions of frames a second, at which no larger share of half a second's
/// frames is lost: halved in again and again, to 25,000 frames a second.
fn most_received(bed: &mut LiveTestbed, lost_share: f64) -> anyhow::Result<f64> {
    const STEPS: u32 = 6;
    let (mut most_mpps, mut kpps, mut step_kpps) = (0.0_f64, 800, 400);
    for _ in 0..STEPS {
        let rate_l1 = Rate::bps(kpps * 1000 * FRAME_BITS_L1);
        let burst = one_burst(bed, (kpps * 500) as u32, Some(rate_l1))?;
        let lost_frames = burst.sent_frames - burst.received_frames;
        if f64::from(lost_frames) <= lost_share * f64::from(burst.sent_frames) {
            // A busy host may have sent more slowly than it was asked to.
            most_mpps = most_mpps.max(mpps(&burst));
            kpps += step_kpps;
        } else {
            kpps -= step_kpps;
        }
        step_kpps /= 2;
    }
    Ok(most_mpps)
}

fn mpps(burst: &BurstReport) -> f64 {
    f64::from(burst.sent_frames) / (burst.sent_until - burst.sent_from).as_secs_f64() / 1e6
}

fn one_burst(
    bed: &mut LiveTestbed,
    frames_per_burst: u32,
    rate_l1: Option<Rate>,
) -> anyhow::Result<BurstReport> {
    let period = Duration::from_secs(1);
    let load = BurstsLoad {
        frame_bytes: 64,
        frames_per_burst,
        bursts: 1,
        period,
        rate_l1,
        spacing: BurstSpacing::OnSchedule,
    };
    run_bursts(bed, load, period)?.pop().context("the burst was not sent")
}

fn run_bursts(
    bed: &mut LiveTestbed,
    load: BurstsLoad,
    steady: Duration,
) -> anyhow::Result<Vec<BurstReport>> {
    match run_trial(bed, Load::Bursts(load), steady)? {
        FlowReport::Bursts(report) => Ok(report.bursts),
        other => Err(anyhow!("a flow of bursts gave {other:?}")),
    }
}

/// 64-byte frames at a constant rate for a second.
fn constant(bed: &mut LiveTestbed, frames_per_second: u64) -> anyhow::Result<FramesReport> {
    let pace = Pace::Constant { rate: Rate::bps(frames_per_second * FRAME_BITS) };
    let load = Load::Frames(FramesLoad::new(FrameSizes::fixed(64), pace));
    match run_trial(bed, load, Duration::from_secs(1))? {
        FlowReport::Frames(report) => Ok(report),
        other => Err(anyhow!("a flow of frames gave {other:?}")),
    }
}

fn run_trial(bed: &mut LiveTestbed, load: Load, steady: Duration) -> anyhow::Result<FlowReport> {
    let flow = FlowSpec::new(Direction::Upload, Family::Ipv4, Dscp::BEST_EFFORT, load);
    let settle = Duration::from_millis(100);
    let timing = Timing { warm_up: Duration::from_millis(50), steady, settle };
    let trial = Trial { name: "bench".into(), flows: vec![flow], timing };
    let mut observation = bed.run(&trial).map_err(|abort| anyhow!("{abort}"))?;
    observation.flows.pop().context("a trial without a flow")
}

/// Millions of datagrams of 18 bytes a second, sent and received.
fn iperf3(pair: &Pair) -> anyhow::Result<(f64, f64)> {
    pair.far.enter()?;
    let _server = Iperf3Server::start()?;
    pair.near.enter()?;
    let client = Command::new("iperf3")
        .args(["--client", &FAR_IP.to_string(), "--port", Iperf3Server::PORT, "--json"])
        .args(["--udp", "--length", "18", "--bitrate", "0", "--time", "2"])
        .output()
        .context("cannot run iperf3: install it")?;
    let report: serde_json::Value = serde_json::from_slice(&client.stdout)?;
    let sum = &report["end"]["sum"];
    let of = |name: &str| sum[name].as_f64().with_context(|| format!("iperf3 reports no {name}"));
    let (packets, lost, seconds) = (of("packets")?, of("lost_packets")?, of("seconds")?);
    Ok((packets / seconds / 1e6, (packets - lost) / seconds / 1e6))
}

/// Millions of 64-byte frames a second out of one thread; `None` where it is not installed.
fn trafgen(pair: &Pair) -> anyhow::Result<Option<f64>> {
    const FRAMES: u64 = 2_000_000;
    // To a port of the far end on which nobody listens: its host has as much to do as with ours.
    const FRAME: &str =
        "{ eth(da=02:00:00:00:00:02), ipv4(sa=198.18.0.1, da=198.18.0.2), udp(dp=9), fill(0, 18) }";
    pair.near.enter()?;
    let began = clock::now();
    let run = Command::new("trafgen")
        .args(["--dev", "eth0", "--cpus", "1", "--num", &FRAMES.to_string(), FRAME])
        .output();
    match run {
        Ok(output) if output.status.success() => {
            let lasted = clock::now().since(began).as_secs_f64();
            Ok(Some(FRAMES as f64 / lasted / 1e6))
        }
        Ok(output) => bail!("trafgen failed: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}
