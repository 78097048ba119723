//! The test patterns that run over TCP: how long they take, and at what cost.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{
    Abort, ConnectionReport, Direction, Dscp, FlowReport, FlowSpec, Layer, LayeredRate, Load,
    MicroBursts, Pace, PacketLayout, Rate, Sender, TcpEngine, TcpLoad, TcpReport, Testbed as _,
    Timing, Trial,
};

use super::{Pattern, Run, Stateful, TcpPlan, Ttpet};
use crate::Bytes;
use crate::formula::metrics;
use crate::path::settle;
use crate::tester::reports;

/// Segments are as long as the frames of the stateless tests, but no shorter than any path carries.
const PACKET_BYTES_MIN: u32 = 1280;
/// With fewer segments in a window, delayed acknowledgements decide rather than the path.
const SEGMENTS_MIN: u64 = 8;
const CONNECTIONS_MAX: u64 = 100;
/// Micro bursts take this share of the rate.
const MICRO_BURST_SHARE: f64 = 0.8;

/// What TCP finds between the ends.
#[derive(Clone, Debug)]
pub(super) struct Room {
    pub(super) rate_l2: Rate,
    /// The windows together are at least so large.
    pub(super) window_bytes_min: u64,
    /// The windows together, as multiples of the bandwidth-delay product.
    pub(super) factors: &'static [f64],
    /// When each class has what all of them ask for, as a share of the time until the last one has.
    pub(super) ends_at: Vec<f64>,
}

//= rfc7640 B
/// Both patterns with each size of windows, every class at once.
pub(super) fn patterns(
    run: &mut Run<'_>,
    direction: Direction,
    classes: &[Dscp],
    room: &Room,
) -> Result<Vec<Stateful>, Abort> {
    let Some(tcp) = run.plan.tcp else { return Ok(Vec::new()) };
    let mut steps = Vec::new();
    for &factor in room.factors {
        for pattern in [Pattern::Bulk, Pattern::MicroBurst] {
            let offer = Offer::new(run, &tcp, room, factor, pattern, classes.len() as u64);
            steps.extend(offer.measure(run, direction, (classes, &room.ends_at), &tcp)?);
        }
    }
    Ok(steps)
}

/// What each class offers.
#[derive(Clone, Copy, Debug)]
struct Offer {
    pattern: Pattern,
    bdp_bytes: u64,
    connections: u32,
    window_bytes: u64,
    mss_bytes: u32,
    writes: MicroBursts,
    last_begins: Duration,
    /// What one burst of all connections of all classes takes at the full rate.
    all_at_once: Duration,
}

impl Offer {
    fn new(
        run: &Run<'_>,
        tcp: &TcpPlan,
        room: &Room,
        factor: f64,
        pattern: Pattern,
        classes: u64,
    ) -> Self {
        let packet_bytes = packet_bytes(run);
        let mss_bytes =
            packet_bytes - run.plan.family.ip_header_bytes() - PacketLayout::TCP_HEADER_BYTES;
        let segment_bytes = mss_bytes - PacketLayout::TCP_TIMESTAMPS_BYTES;
        let rate_l4 = PacketLayout::ethernet(packet_bytes, segment_bytes)
            .convert(LayeredRate { rate: room.rate_l2, layer: Layer::L2 }, Layer::L4);
        let bdp_bytes = room.rate_l2.bytes_in(run.baseline_rtt).max(1);
        let all = ((bdp_bytes as f64 * factor) as u64).max(room.window_bytes_min);
        let (connections, window_bytes) = windows(all, tcp.window_bytes, segment_bytes);
        let together = u64::from(connections) * classes;
        let writes = match pattern {
            Pattern::Bulk => MicroBursts {
                burst_bytes: (rate_l4.bytes_in(run.plan.trial) / together).max(1),
                bursts: 1,
                interval: Duration::ZERO,
            },
            Pattern::MicroBurst => {
                let burst_bytes = tcp.micro_burst_bytes.unwrap_or(window_bytes);
                let full = rate_l4.time_for(burst_bytes.saturating_mul(together));
                let eased = full.mul_f64(1.0 / MICRO_BURST_SHARE).max(run.baseline_rtt);
                let interval = tcp.micro_burst_interval.unwrap_or(eased);
                let bursts = run.plan.trial.as_nanos().div_ceil(interval.as_nanos().max(1));
                MicroBursts { burst_bytes, bursts: bursts.clamp(1, 1 << 20) as u32, interval }
            }
        };
        let all_at_once = rate_l4.time_for(writes.burst_bytes.saturating_mul(together));
        let last_begins = writes.interval * (writes.bursts - 1);
        Self {
            pattern,
            bdp_bytes,
            connections,
            window_bytes,
            mss_bytes,
            writes,
            last_begins,
            all_at_once,
        }
    }

    //= rfc7640 4.2
    fn measure(
        &self,
        run: &mut Run<'_>,
        direction: Direction,
        (classes, ends_at): (&[Dscp], &[f64]),
        tcp: &TcpPlan,
    ) -> Result<Vec<Stateful>, Abort> {
        let trial = self.trial(run, direction, classes, tcp);
        let mut seen = Vec::new();
        for _ in 0..run.plan.runs {
            let observation = run.run(&trial)?;
            run.health.add(&observation);
            let of_classes = reports(&trial, &observation, FlowReport::tcp)?;
            seen.push(of_classes.into_iter().cloned().collect::<Vec<_>>());
        }
        let of_class = |(class, dscp): (usize, &Dscp)| {
            let runs: Vec<&TcpReport> = seen.iter().map(|reports| &reports[class]).collect();
            self.judge(*dscp, &runs, run.baseline_rtt, ends_at[class])
        };
        Ok(classes.iter().enumerate().map(of_class).collect())
    }

    fn trial(&self, run: &Run<'_>, direction: Direction, classes: &[Dscp], tcp: &TcpPlan) -> Trial {
        let load = TcpLoad {
            connections: self.connections,
            window_bytes: self.window_bytes,
            mss_bytes: self.mss_bytes,
            sender: Sender::MicroBurst(self.writes),
            congestion_control: tcp.congestion_control,
            pacing: None,
            pace: Pace::Unlimited,
            write_bytes: None,
            engine: TcpEngine::Kernel,
        };
        let flow =
            |dscp: &Dscp| FlowSpec::new(direction, run.plan.family, *dscp, Load::Tcp(load.clone()));
        let timing = Timing {
            warm_up: Duration::ZERO,
            steady: self.ideal(1.0) * 2 + run.baseline_rtt * 20 + Duration::from_millis(500),
            settle: settle(run.baseline_rtt),
        };
        let windows = format!("{} × {} bytes", self.connections, self.window_bytes);
        let name = format!("TCP {} pattern, {direction}: {windows}", self.pattern.name());
        Trial { name, flows: classes.iter().map(flow).collect(), timing }
    }

    /// A class that is served first, or more often, ends before the others.
    fn ideal(&self, ends_at: f64) -> Duration {
        self.last_begins + self.all_at_once.mul_f64(ends_at)
    }

    fn judge(
        &self,
        dscp: Dscp,
        runs: &[&TcpReport],
        baseline_rtt: Duration,
        ends_at: f64,
    ) -> Stateful {
        let pattern_bytes = self.writes.bytes().saturating_mul(self.connections.into());
        let times = runs.iter().filter(|run| run.whole_good_bytes >= pattern_bytes);
        let times: Vec<Duration> = times.map(|run| run.whole_until).collect();
        let connections = || runs.iter().flat_map(|run| &run.connections);
        let sum = |bytes: fn(&ConnectionReport) -> Option<u64>| connections().map(bytes).sum();
        let transmitted_bytes: Option<u64> = sum(|connection| connection.transmitted_bytes);
        let retransmitted_bytes: Option<u64> = sum(|connection| connection.retransmitted_bytes);
        let rtts: Vec<Duration> = connections().filter_map(|one| one.rtt_mean).collect();
        let rtt = mean(&rtts);
        let sent = transmitted_bytes.zip(retransmitted_bytes);
        let efficiency = sent.and_then(|(sent, resent)| {
            metrics::tcp_efficiency_percent(Bytes::whole(sent), Bytes::whole(resent)).to_f64()
        });
        let delay = rtt.map(|rtt| metrics::buffer_delay_percent(rtt.into(), baseline_rtt.into()));
        let all_windows = u64::from(self.connections) * self.window_bytes;
        Stateful {
            pattern: self.pattern,
            dscp,
            connections: self.connections,
            window_bytes: self.window_bytes,
            bdp_bytes: self.bdp_bytes,
            window_factor: all_windows as f64 / self.bdp_bytes as f64,
            burst_bytes: self.writes.burst_bytes,
            bursts: self.writes.bursts,
            interval: self.writes.interval,
            pattern_bytes,
            runs: runs.len() as u32,
            unfinished_runs: (runs.len() - times.len()) as u32,
            ttpet: ttpet(&times),
            ideal_ttpet: self.ideal(ends_at),
            transmitted_bytes,
            retransmitted_bytes,
            efficiency_percent: efficiency,
            buffer_delay_percent: delay.and_then(|delay| delay.to_f64()),
            congestion_control: connections()
                .next()
                .map_or_else(String::new, |connection| connection.congestion_control.clone()),
        }
    }
}

fn packet_bytes(run: &Run<'_>) -> u32 {
    let of_frames = run.plan.frame_bytes - PacketLayout::ETHERNET_L2_OVERHEAD;
    of_frames.max(PACKET_BYTES_MIN).min(run.plan.interface_mtu_bytes)
}

//= rfc7640 6.3.1.2
/// As many windows of the given size as it takes, and that much for each.
fn windows(all_bytes: u64, window_bytes: u64, segment_bytes: u32) -> (u32, u64) {
    let connections = all_bytes.div_ceil(window_bytes).clamp(1, CONNECTIONS_MAX);
    let each = all_bytes.div_ceil(connections).max(SEGMENTS_MIN * u64::from(segment_bytes));
    (connections as u32, each)
}

fn ttpet(times: &[Duration]) -> Option<Ttpet> {
    let (min, max) = (*times.iter().min()?, *times.iter().max()?);
    Some(Ttpet { mean: mean(times)?, min, max })
}

fn mean(times: &[Duration]) -> Option<Duration> {
    times.iter().sum::<Duration>().checked_div(times.len() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    //= rfc7640 6.3.1.2
    /// 256 KB are filled by four windows of 64 KB; 1.5 times as much takes six.
    #[test]
    fn windows_of_64_kb_fill_the_product_of_the_rfcs_example() {
        assert_eq!(windows(256_000, 64_000, 1448), (4, 64_000));
        assert_eq!(windows(384_000, 64_000, 1448), (6, 64_000));
        assert_eq!(windows(281_600, 64_000, 1448), (5, 56_320));
        assert_eq!(windows(1000, 64_000, 1448), (1, 11_584));
    }

    //= rfc7640 4.2
    #[test]
    fn execution_times_are_shown_by_mean_least_and_most() {
        let ms = Duration::from_millis;
        let of = ttpet(&[ms(10), ms(30), ms(11)]).unwrap();
        assert_eq!((of.mean, of.min, of.max), (ms(17), ms(10), ms(30)));
        assert_eq!(ttpet(&[]), None);
    }
}
