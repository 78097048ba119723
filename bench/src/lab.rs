//! How late the lab releases frames, and how many it forwards on one core.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, anyhow, ensure};
use fp_engine::lab::{Families, Lab, Namespace, Privileges};
use fp_engine::os::clock;
use fp_engine::os::netlink::Netlink;
use fp_engine::os::packet::{PacketReceiver, PacketSender};
use fp_model::{Family, Rate, Time};
use fp_net::path::{LinkSpec, PathSpec, PoliceSpec};
use socket2::{Domain, Protocol, Socket, Type};

/// Each figure is the median of so many runs.
const RUNS: usize = 5;

pub(crate) fn run() -> anyhow::Result<()> {
    let privileges = Privileges::prepare()?;
    let mut out = std::io::stdout();
    writeln!(out, "medians of {RUNS} runs\n")?;
    let timing = repeated(|| timing(privileges))?;
    let late = |percentile: fn(&Timing) -> f64| median(timing.iter().map(percentile));
    writeln!(out, "metro line, 40 Mbit/s, 27 ms each way, 4 TCP flows")?;
    writeln!(out, "  release late, p50       {:8.0} us", late(|run| run.p50_us))?;
    writeln!(out, "  release late, p99       {:8.0} us  (goal 50)", late(|run| run.p99_us))?;
    writeln!(out, "  release late, max       {:8.0} us", late(|run| run.max_us))?;
    writeln!(out, "  round trip beyond 54 ms {:8.0} us  (goal 100)", late(|run| run.beyond_us))?;
    writeln!(out, "  CPU share               {:8.1} %", late(|run| run.cpu_share * 100.0))?;
    for (frame_bytes, goal) in [(64, "0.7 Mpps"), (1518, "8 Gbit/s")] {
        let rates = repeated(|| forwarding(privileges, frame_bytes))?;
        let of = |figure: fn(&Forwarding) -> f64| median(rates.iter().map(figure));
        let (per_second, per_core) = (of(|run| run.per_second), of(|run| run.per_core));
        let gigabits = per_core * f64::from(frame_bytes) * 8.0 / 1e9;
        writeln!(out, "\nforwarding of {frame_bytes}-byte frames (goal {goal} per core)")?;
        writeln!(out, "  forwarded               {:8.2} Mpps", per_second / 1e6)?;
        writeln!(out, "  per core                {:8.2} Mpps", per_core / 1e6)?;
        writeln!(out, "  per core                {gigabits:8.2} Gbit/s at layer 2")?;
        writeln!(out, "  CPU share               {:8.1} %", of(|run| run.cpu_share * 100.0))?;
        writeln!(out, "  offered more by         {:8.1} %", of(|run| run.excess * 100.0))?;
    }
    Ok(())
}

/// How precisely frames were released while TCP was running.
struct Timing {
    p50_us: f64,
    p99_us: f64,
    max_us: f64,
    beyond_us: f64,
    cpu_share: f64,
}

fn timing(privileges: Privileges) -> anyhow::Result<Timing> {
    const FLOWS: usize = 4;
    const LASTS: Duration = Duration::from_secs(3);
    let lab = Lab::start(privileges, &metro(), Families::Both, 1)?;
    let (began_at, cpu_before) = (clock::now(), cpu_of_the_forwarder()?);
    let (sink, source) = (lab.far().clone(), lab.near().clone());
    let listener = in_thread(move || {
        sink.enter()?;
        Ok(TcpListener::bind((sink.address(Family::Ipv4), 0))?)
    })?;
    let far = listener.local_addr()?;
    thread::scope(|scope| {
        for _ in 0..FLOWS {
            scope.spawn(|| receive_all(&listener));
            scope.spawn(|| send_for(&source, far, LASTS));
        }
    });
    let cpu = cpu_of_the_forwarder()?.saturating_sub(cpu_before);
    let cpu_share = cpu.as_secs_f64() / clock::now().since(began_at).as_secs_f64();
    let late = lab.truth()?.near_to_far.lateness;
    let (p50, p99, max) = late
        .p50_us
        .zip(late.p99_us)
        .zip(late.max_us)
        .map(|((p50, p99), max)| (p50, p99, max))
        .context("nothing was released")?;
    let beyond_us = (least_rtt(&lab)?.as_secs_f64() - 0.054) * 1e6;
    Ok(Timing { p50_us: p50 as f64, p99_us: p99 as f64, max_us: max, beyond_us, cpu_share })
}

fn metro() -> PathSpec {
    let police = PoliceSpec::single_bucket(Rate::mbps(40), 64_000);
    let link = LinkSpec {
        line_rate: Some(Rate::mbps(1000)),
        police: Some(police),
        delay: Duration::from_millis(27),
        ..LinkSpec::default()
    };
    path_of(vec![link])
}

fn path_of(links: Vec<LinkSpec>) -> PathSpec {
    PathSpec::symmetric("bench", links)
}

fn receive_all(listener: &TcpListener) -> anyhow::Result<()> {
    let (mut stream, _) = listener.accept()?;
    let mut buffer = vec![0; 1 << 16];
    while stream.read(&mut buffer)? > 0 {}
    Ok(())
}

fn send_for(near: &Namespace, far: SocketAddr, lasts: Duration) -> anyhow::Result<()> {
    near.enter()?;
    let mut stream = TcpStream::connect(far)?;
    let until = clock::now() + lasts;
    let buffer = vec![0; 1 << 16];
    while clock::now() < until {
        stream.write_all(&buffer)?;
    }
    Ok(())
}

/// Of 20 echoes, answered and timestamped by the kernel.
fn least_rtt(lab: &Lab) -> anyhow::Result<Duration> {
    let near = lab.near().clone();
    let far = SocketAddr::from((lab.far().address(Family::Ipv4), 0)).into();
    in_thread(move || {
        near.enter()?;
        let mut replies = PacketReceiver::open(Netlink::open()?.interface("eth0")?.index, 1514)?;
        let ping = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4))?;
        let mut least = Duration::MAX;
        for _ in 0..20 {
            let sent_at = clock::wall();
            // An echo request with nothing in it.
            ping.send_to(&[8, 0, 0xf7, 0xff, 0, 0, 0, 0], &far)?;
            least = least.min(arrival_of_next(&mut replies)?.since(sent_at));
        }
        Ok(least)
    })
}

/// The next echo reply.
fn arrival_of_next(frames: &mut PacketReceiver) -> anyhow::Result<Time> {
    const ICMP: u8 = 1;
    let deadline = clock::now() + Duration::from_secs(5);
    let mut arrived_at = None;
    while arrived_at.is_none() {
        ensure!(clock::now() < deadline, "no echo has come back");
        let took_one = frames.receive(|frame| {
            // The last segments of the TCP flows may still be on their way.
            let is_echo = frame.bytes.get(23) == Some(&ICMP);
            arrived_at = is_echo.then_some(frame.arrived_at_wall);
        });
        if !took_one {
            thread::yield_now();
        }
    }
    arrived_at.context("no echo has come back")
}

/// What one direction of an unlimited path carried.
struct Forwarding {
    per_second: f64,
    /// Per second of the forwarder's own CPU time.
    per_core: f64,
    cpu_share: f64,
    /// What was offered beyond what was forwarded, as a share of this.
    excess: f64,
}

fn forwarding(privileges: Privileges, frame_bytes: u32) -> anyhow::Result<Forwarding> {
    const LASTS: Duration = Duration::from_secs(1);
    let lab = Lab::start(privileges, &path_of(Vec::new()), Families::Both, 1)?;
    let (began_at, cpu_before) = (clock::now(), cpu_of_the_forwarder()?);
    let near = lab.near().clone();
    in_thread(move || {
        near.enter()?;
        let sender = PacketSender::open(Netlink::open()?.interface("eth0")?.index)?;
        let frame = udp_frame(frame_bytes);
        let batch = [frame.as_slice(); PacketSender::BATCH];
        while clock::now().since(began_at) < LASTS {
            // A frame that the interface refuses is one that was not offered.
            let _ = sender.send(&batch);
        }
        Ok(())
    })?;
    let took = clock::now().since(began_at).as_secs_f64();
    let cpu = cpu_of_the_forwarder()?.saturating_sub(cpu_before).as_secs_f64();
    let truth = lab.truth()?.near_to_far;
    let forwarded = truth.links.total.passed.frames as f64;
    ensure!(forwarded > 0.0, "nothing was forwarded");
    Ok(Forwarding {
        per_second: forwarded / took,
        per_core: forwarded / cpu,
        cpu_share: cpu / took,
        excess: truth.lab_overrun_frames as f64 / forwarded,
    })
}

/// UDP from near to far, to a hardware address that nobody has, so that the far end's kernel is
/// done with it at once.
fn udp_frame(frame_bytes: u32) -> Vec<u8> {
    const FCS_BYTES: u32 = 4;
    let mut frame = vec![0; (frame_bytes - FCS_BYTES) as usize];
    let packet_bytes = (frame.len() - 14) as u16;
    frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, 0x99]);
    frame[12..16].copy_from_slice(&[8, 0, 0x45, 0]);
    frame[16..18].copy_from_slice(&packet_bytes.to_be_bytes());
    frame[22..24].copy_from_slice(&[64, 17]);
    frame[26..34].copy_from_slice(&[198, 18, 0, 1, 198, 18, 0, 2]);
    frame
}

/// CPU time of the lab's thread in this process, by its name.
fn cpu_of_the_forwarder() -> anyhow::Result<Duration> {
    for task in fs::read_dir("/proc/self/task")? {
        let task = task?.path();
        if fs::read_to_string(task.join("comm"))?.trim() == "lab" {
            let schedule = fs::read_to_string(task.join("schedstat"))?;
            let nanos = schedule.split(' ').next().context("an empty schedstat")?;
            return Ok(Duration::from_nanos(nanos.parse()?));
        }
    }
    Err(anyhow!("the lab has no thread"))
}

/// In a thread of its own, because it changes its network namespace.
fn in_thread<T: Send>(work: impl FnOnce() -> anyhow::Result<T> + Send) -> anyhow::Result<T> {
    thread::scope(|scope| scope.spawn(work).join())
        .map_err(|_panicked| anyhow!("a thread has panicked"))?
}

fn repeated<T>(mut run: impl FnMut() -> anyhow::Result<T>) -> anyhow::Result<Vec<T>> {
    (0..RUNS).map(|_| run()).collect()
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
