//! Both ends of connections of our own, one processor each, and what a run of them took.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, anyhow, ensure};
use fp_engine::frame_io::FrameIo;
use fp_engine::os::clock;
use fp_engine::swarm::Driver;
use fp_model::ConnectionsLoad;
use fp_net::checksum::Peer;
use fp_net::packet::{Link, MacAddress, VlanTags};
use fp_net::swarm::{Counters, Role, Shard};
use rustix::time::{ClockId, clock_gettime};

use super::super::pair::pin;
use super::setting;

/// What both ends have counted when the client's end has counted enough.
pub(super) struct Outcome {
    pub(super) client: Counters,
    pub(super) server: Counters,
    /// From the first question for a connection on; the memory has been taken before.
    pub(super) took: Duration,
    /// Of both ends in the same time, by users and system.
    pub(super) processor_time: Duration,
    /// By which the process has grown.
    pub(super) resident_bytes: u64,
}

pub(super) fn run_until<P: FrameIo + Send>(
    [near, far]: [P; 2],
    load: &ConnectionsLoad,
    is_enough: impl Fn(&Counters) -> bool,
) -> anyhow::Result<Outcome> {
    let (near_mac, far_mac) = (near.mac(), far.mac());
    let shard =
        |role, from, to| Shard::new(setting(role, load.clone(), link(from, to), Peer::Network));
    let resident_before = resident_bytes()?;
    let mut client = Driver::new(near, shard(Role::Client, near_mac, far_mac)?);
    let mut server = Driver::new(far, shard(Role::Server, far_mac, near_mac)?);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let serving = scope.spawn(|| -> anyhow::Result<Counters> {
            pin(1)?;
            while !is_over.load(Ordering::Relaxed) {
                server.step(clock::now() + Duration::from_millis(10))?;
            }
            Ok(*server.shard().counters())
        });
        let (began, processor_before) = (clock::now(), processor_time());
        let client = drive(&mut client, load, is_enough);
        let took = clock::now().since(began);
        let processor_time = processor_time().saturating_sub(processor_before);
        is_over.store(true, Ordering::Relaxed);
        let server = serving.join().map_err(|_| anyhow!("the server's end panicked"))??;
        let resident_bytes = resident_bytes()?.saturating_sub(resident_before);
        Ok(Outcome { client: client?, server, took, processor_time, resident_bytes })
    })
}

/// Begins, and goes on until it is enough.
pub(super) fn drive<P: FrameIo>(
    client: &mut Driver<P>,
    load: &ConnectionsLoad,
    is_enough: impl Fn(&Counters) -> bool,
) -> anyhow::Result<Counters> {
    pin(0)?;
    let began = clock::now();
    let deadline = began + patience(load);
    client.begin_at(began);
    while !is_enough(client.shard().counters()) {
        ensure!(clock::now() < deadline, "not enough in time: {:?}", client.shard().counters());
        client.step(clock::now() + Duration::from_millis(10))?;
    }
    Ok(*client.shard().counters())
}

/// Nobody opens as few in a second.
fn patience(load: &ConnectionsLoad) -> Duration {
    const SLOWEST: u32 = 20_000;
    Duration::from_secs(30) + Duration::from_secs(1) * (load.connections_peak() / SLOWEST)
}

pub(super) const fn link(source: [u8; 6], destination: [u8; 6]) -> Link {
    Link { source: MacAddress(source), destination: MacAddress(destination), tags: VlanTags::NONE }
}

pub(super) fn resident_bytes() -> anyhow::Result<u64> {
    let text = fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kib: u64 = line.split_whitespace().next().context("no number")?.parse()?;
    Ok(kib * 1024)
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}
