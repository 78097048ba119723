//! How fast the kernel's TCP runs over a plain veth pair, beside iperf3 in the same run.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::panic::resume_unwind;
use std::time::Duration;

use anyhow::Context;
use fp_engine::kernel_tcp::{accept, connect, listen, receive, send};
use fp_engine::lab::Privileges;
use fp_engine::os::clock;
use fp_engine::{FlowKey, Lease, Marking, TcpReceiverHalf};
use fp_model::{CongestionControl, Pace, Rate, Sender, TcpEngine, TcpLoad, Timing};

use super::pair::{FAR_IP, NEAR_IP, Pair};
use super::spread::Spread;

const ROUNDS: usize = 5;
const CONNECTIONS: [u32; 3] = [1, 4, 16];
const LOAD: TcpLoad = TcpLoad {
    connections: 1,
    window_bytes: 4_000_000,
    mss_bytes: 1460,
    sender: Sender::Bulk,
    congestion_control: CongestionControl::Cubic,
    pacing: None,
    pace: Pace::Unlimited,
    write_bytes: None,
    engine: TcpEngine::Kernel,
};
const TIMING: Timing = Timing {
    warm_up: Duration::from_millis(500),
    steady: Duration::from_millis(1500),
    settle: Duration::from_millis(500),
};
const KEY: FlowKey = *b"bench of the tcp";

/// Prints the median of five for one connection, for four and for sixteen, ours and iperf3's in turns, so that
/// whatever else the machine does disturbs both alike.
pub(crate) fn run() -> anyhow::Result<()> {
    Privileges::prepare()?;
    let pair = Pair::lay().context("cannot lay a veth pair")?;
    for connections in CONNECTIONS {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            ours.push(pair.transfer(connections)?);
            theirs.push(pair.iperf3(connections)?);
        }
        writeln!(
            std::io::stdout(),
            "{connections} connections: fullpipe {}, iperf3 {} (median, all)",
            Spread(ours),
            Spread(theirs)
        )?;
    }
    Ok(())
}

impl Pair {
    /// Payload received per second of the steady time.
    fn transfer(&self, connections: u32) -> anyhow::Result<Rate> {
        let load = TcpLoad { connections, ..LOAD };
        self.far.enter()?;
        let listener = listen(SocketAddr::new(FAR_IP, 0), &load, 0)?;
        let far = listener.local_addr()?;
        let half = std::thread::scope(|scope| {
            let far_end = scope.spawn(|| self.receive(&listener, &load));
            let near_end = scope.spawn(|| self.send(far, &load));
            near_end.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            far_end.join().unwrap_or_else(|panic| resume_unwind(panic))
        })?;
        Ok(steady_rate(&half))
    }

    fn send(&self, far: SocketAddr, load: &TcpLoad) -> anyhow::Result<()> {
        self.near.enter()?;
        let (lease, now) = (whole_lease(), clock::now());
        let deadline = now + Duration::from_secs(5);
        let streams = connect(far, load, Marking::default(), &KEY, &lease, deadline)?;
        send(streams, load, Duration::ZERO, &TIMING, clock::now(), &lease, &mut |_, _| {})?;
        Ok(())
    }

    fn receive(&self, listener: &TcpListener, load: &TcpLoad) -> anyhow::Result<TcpReceiverHalf> {
        let (lease, now) = (whole_lease(), clock::now());
        let deadline = now + Duration::from_secs(5);
        let streams = accept(listener, load, &KEY, Some(NEAR_IP), &lease, deadline)?;
        Ok(receive(streams, load, &TIMING, clock::now(), &lease, &mut |_, _| {})?)
    }
}

/// For longer than a transfer lasts.
fn whole_lease() -> Lease {
    Lease::new(clock::now() + Duration::from_secs(30))
}

fn steady_rate(half: &TcpReceiverHalf) -> Rate {
    let grid = TIMING.grid();
    let steady = grid.iter().zip(&half.slots).filter(|(slot, _)| slot.steady);
    let cuts: Vec<u64> = steady.map(|(_, cut)| cut.cut_ns).collect();
    // The first cut ends the first steady slot; the slot before it ends where the steady begins.
    let begun = grid.iter().zip(&half.slots).take_while(|(slot, _)| !slot.steady).last();
    let begun_ns = begun.map_or(0, |(_, cut)| cut.cut_ns);
    let lasted_ns = cuts.last().map_or(0, |end_ns| end_ns - begun_ns);
    Rate::over(half.good_bytes.iter().sum(), Duration::from_nanos(lasted_ns))
}
