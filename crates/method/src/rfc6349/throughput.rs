//! Step 3 of RFC 6349: window walk and TCP throughput, with the three metrics.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{
    Abort, ConnectionReport, Direction, Emulation, FlowSpec, Layer, LayeredRate, Load, Pace,
    PacketLayout, Rate, Sample, Sender, TcpEngine, TcpLoad, TcpReport, Testbed as _, Timing, Trial,
};

use super::verdict::asked_percent;
use super::{
    Bottleneck, Connection, Late, LimitKind, Limits, Plan, Role, Run, Step, TcpStep, Windows,
    settle, tcp,
};
use crate::Bytes;
use crate::bdp::bdp;
use crate::metrics;

const TCP_HEADER_BYTES: u32 = 20;
/// Timestamps, which Linux uses by default.
const TCP_OPTION_BYTES: u32 = 12;
/// The smallest frame, FCS included.
const MIN_FRAME_BYTES: u32 = 64;
/// Data segments for each acknowledgement, RFC 1122 section 4.2.3.2.
const SEGMENTS_PER_ACK: u64 = 2;
const WALK_STEADY: Duration = Duration::from_millis(1000);
const THROUGHPUT_STEADY: Duration = Duration::from_millis(2500);
/// With fewer segments in a window, delayed acknowledgements decide rather than the path.
const MIN_WINDOW_SEGMENTS: u64 = 8;
/// What any TCP has without window scaling, RFC 7323 section 2.2. On a path so short that less would
/// fill it, less would measure the hosts.
const UNSCALED_WINDOW_BYTES: u64 = 65_535;
/// More connections than this are no answer to small windows.
const MAX_CONNECTIONS: u64 = 1000;
/// Windows that fill a queue leave so much of it free, so that nothing is lost.
const QUEUE_SHARE: f64 = 0.8;
/// Bursts over a line get windows of twice the bandwidth-delay product: while one connection waits
/// for its acknowledgement, the others keep the line busy.
const BURST_FRACTION: f64 = 2.0;
/// A queue is worth a trial of its own when it holds a quarter of the windows, ...
const DEEP_QUEUE_FRACTION: f64 = 1.25;
/// ... and windows beyond this are none that a transfer would have.
const WINDOW_FRACTION_MAX: f64 = 16.0;

/// The windows of one direction in one trial.
#[derive(Clone, Copy, Debug)]
struct Fill {
    direction: Direction,
    connections: u32,
    window_bytes: u64,
}

impl Fill {
    fn widened(self, fraction: f64) -> Self {
        Self { window_bytes: (self.window_bytes as f64 * fraction) as u64, ..self }
    }
}

/// A trial that an emulated network may have spoilt is repeated so often at most.
const LATE_REPEATS_MAX: u32 = 2;

/// What one trial offers.
#[derive(Clone, Debug)]
struct Offer {
    /// A trial may be the last of the walk and a throughput trial at once.
    roles: &'static [Role],
    sender: Sender,
    /// Of the windows that fill the path.
    fraction: f64,
    fills: Vec<Fill>,
    steady: Duration,
    /// The round trip to reckon with before the trial is steady.
    loaded_rtt: Duration,
}

/// The path as the steps before have found it.
pub(super) struct Path<'a> {
    pub(super) mtu_bytes: u32,
    pub(super) baseline_rtt: Duration,
    pub(super) limits: &'a Limits,
}

/// Runs 1 … n connections of one window in each direction: throughput must grow with the windows.
/// All n are what the throughput step runs too, so that trial stands for both.
pub(super) fn walk_the_window(run: &mut Run<'_>, path: &Path<'_>) -> Result<(), Abort> {
    for direction in [Direction::Download, Direction::Upload] {
        let full = path.fill(run.plan, direction);
        for connections in walk_steps(full.connections) {
            let whole = connections == full.connections;
            let offer = Offer {
                roles: if whole { &[Role::Walk, Role::Throughput] } else { &[Role::Walk] },
                sender: run.plan.senders.list()[0],
                fraction: f64::from(connections) / f64::from(full.connections),
                fills: vec![Fill { connections, ..full }],
                steady: if whole { THROUGHPUT_STEADY } else { WALK_STEADY },
                loaded_rtt: path.baseline_rtt,
            };
            measure(run, path, &offer)?;
        }
    }
    Ok(())
}

/// A quarter, half, three quarters and all of the connections.
fn walk_steps(connections: u32) -> Vec<u32> {
    let quarters = (1..=4).map(|quarter| (connections * quarter).div_ceil(4));
    let mut steps: Vec<u32> = quarters.collect();
    steps.dedup();
    steps
}

//= rfc6349 3.3
/// Both directions at once, then each alone with the other senders that were asked for, then with
/// windows that fill a queue, where the overload has shown one.
pub(super) fn throughput(run: &mut Run<'_>, path: &Path<'_>) -> Result<(), Abort> {
    let full =
        [Direction::Download, Direction::Upload].map(|direction| path.fill(run.plan, direction));
    let senders = run.plan.senders.list();
    both_at_once(run, path, full)?;
    for &sender in &senders[1..] {
        for fill in full {
            alone(run, path, sender, fill)?;
        }
    }
    full.into_iter().try_for_each(|fill| fill_the_queue(run, path, fill))
}

/// One direction alone. A burst waits for its last acknowledgement: over a line, windows that just
/// fill the path would leave it idle meanwhile.
fn alone(run: &mut Run<'_>, path: &Path<'_>, sender: Sender, full: Fill) -> Result<(), Abort> {
    let fraction = match sender {
        Sender::Bulk | Sender::MicroBurst(_) | Sender::Transfer { .. } => 1.0,
        Sender::Burst => path.deep_fraction(full).min(BURST_FRACTION),
    };
    let offer = Offer {
        roles: &[Role::Throughput],
        sender,
        fraction,
        fills: vec![full.widened(fraction)],
        steady: THROUGHPUT_STEADY,
        loaded_rtt: path.baseline_rtt.mul_f64(fraction),
    };
    measure(run, path, &offer)
}

fn both_at_once(run: &mut Run<'_>, path: &Path<'_>, full: [Fill; 2]) -> Result<(), Abort> {
    let fraction = full.map(|fill| path.deep_fraction(fill)).into_iter().fold(1.0, f64::max);
    let offer = Offer {
        roles: &[Role::Throughput],
        sender: run.plan.senders.list()[0],
        fraction,
        fills: full.map(|fill| path.with_both(run.plan, fill)).into(),
        steady: THROUGHPUT_STEADY,
        loaded_rtt: path.baseline_rtt.mul_f64(fraction),
    };
    measure(run, path, &offer)
}

/// Windows of the bandwidth-delay product leave a queue empty; those of a real transfer may not.
fn fill_the_queue(run: &mut Run<'_>, path: &Path<'_>, full: Fill) -> Result<(), Abort> {
    let fraction = path.deep_fraction(full);
    if fraction < DEEP_QUEUE_FRACTION {
        return Ok(());
    }
    let offer = Offer {
        roles: &[Role::Throughput],
        sender: Sender::Bulk,
        fraction,
        fills: vec![full.widened(fraction)],
        steady: THROUGHPUT_STEADY,
        loaded_rtt: path.baseline_rtt.mul_f64(fraction),
    };
    measure(run, path, &offer)
}

impl Path<'_> {
    //= rfc6349 3.3.1
    /// The windows that fill one direction and, where nothing queues, do not overfill it.
    fn fill(&self, plan: &Plan, direction: Direction) -> Fill {
        let segment = u64::from(self.segment(plan));
        let full = self.full_window(plan, direction);
        let (connections, window_bytes) = match plan.windows {
            Windows::Both { connections, window_bytes } => (connections, window_bytes),
            Windows::Window { window_bytes } => {
                (full.div_ceil(window_bytes).clamp(1, MAX_CONNECTIONS) as u32, window_bytes)
            }
            Windows::Connections { connections } => {
                let smallest = MIN_WINDOW_SEGMENTS * segment;
                let most = (full / smallest).clamp(1, u64::from(connections));
                let window_bytes = full.div_ceil(most).max(smallest);
                (most as u32, self.enough(plan, direction, most, window_bytes))
            }
        };
        Fill { direction, connections, window_bytes }
    }

    /// A sender fills its window with whole segments, and one that is not acknowledged with another
    /// waits for the next window: where those of a small window would not fill a line, some more.
    fn enough(&self, plan: &Plan, direction: Direction, connections: u64, window: u64) -> u64 {
        let limit = self.limits.of(direction);
        let together = self.acknowledged_together(plan);
        let needed = self.max_tcp(plan, direction).bytes_in(self.baseline_rtt) + together;
        if queues(limit) && connections * (window / together * together) < needed {
            window.next_multiple_of(together)
        } else {
            window
        }
    }

    /// The bandwidth-delay product. A policer has no queue to hold the difference between payload
    /// and line bytes, so behind one it is that of the payload, in whole segments.
    fn full_window(&self, plan: &Plan, direction: Direction) -> u64 {
        let limit = self.limits.of(direction);
        if queues(limit) {
            return self.bdp_bytes(direction).max(UNSCALED_WINDOW_BYTES);
        }
        let payload = self.max_tcp(plan, direction).bytes_in(self.baseline_rtt);
        match plan.windows {
            Windows::Connections { connections } => {
                let together = self.acknowledged_together(plan);
                let each = payload / u64::from(connections) / together * together;
                if each == 0 { payload } else { each * u64::from(connections) }
            }
            Windows::Window { .. } | Windows::Both { .. } => payload,
        }
    }

    /// The windows for both directions at once. In a queue, acknowledgements wait behind data of
    /// the other direction, as long as the queue is deep: that takes windows to match. A policer
    /// drops what the acknowledgements leave no room for: that takes smaller windows.
    fn with_both(&self, plan: &Plan, full: Fill) -> Fill {
        let limit = self.limits.of(full.direction);
        if queues(limit) {
            return full.widened(self.deep_fraction(full));
        }
        let segment = self.segment(plan);
        let data = self.max_tcp(plan, full.direction);
        let acks = acknowledgements(plan, data, segment, limit.limit.layer);
        let left = 1.0 - acks.as_bps() as f64 / limit.limit.rate.as_bps() as f64;
        let together = self.acknowledged_together(plan);
        let acknowledged = full.window_bytes as f64 * left / together as f64;
        let window_bytes = together * (acknowledged as u64).max(1);
        Fill { window_bytes, ..full }
    }

    /// The windows that fill the path and most of its queue, as a multiple of those that fill the
    /// path alone.
    fn deep_fraction(&self, full: Fill) -> f64 {
        let limit = self.limits.of(full.direction);
        match (limit.kind, limit.overload_delay) {
            (LimitKind::Queue, Some(queue)) => {
                let queued = limit.rate_at(Layer::L1).bytes_in(queue.mul_f64(QUEUE_SHARE));
                let windows = full.window_bytes * u64::from(full.connections);
                let deep = self.bdp_bytes(full.direction) + queued;
                (deep as f64 / windows as f64).clamp(1.0, WINDOW_FRACTION_MAX)
            }
            (LimitKind::Queue, None)
            | (LimitKind::Policer | LimitKind::NotReached | LimitKind::Unknown, _) => 1.0,
        }
    }

    fn bdp_bytes(&self, direction: Direction) -> u64 {
        let rate_l1 = self.limits.of(direction).rate_at(Layer::L1);
        let bytes = bdp(rate_l1.into(), self.baseline_rtt.into()).ceil().to_u64();
        // No path holds 18 exabytes.
        bytes.unwrap_or(u64::MAX)
    }

    //= rfc6349 4.1.1
    /// Payload that full segments carry at the bottleneck, with the options that are in use.
    fn max_tcp(&self, plan: &Plan, direction: Direction) -> Rate {
        self.carried(self.limits.of(direction).limit, self.segment(plan))
    }

    fn acknowledged_together(&self, plan: &Plan) -> u64 {
        SEGMENTS_PER_ACK * u64::from(self.segment(plan))
    }

    fn segment(&self, plan: &Plan) -> u32 {
        self.mss(plan) - TCP_OPTION_BYTES
    }

    fn mss(&self, plan: &Plan) -> u32 {
        self.mtu_bytes - plan.family.ip_header_bytes() - TCP_HEADER_BYTES
    }

    const fn packet(&self, payload_bytes: u32) -> PacketLayout {
        PacketLayout::ethernet(self.mtu_bytes, payload_bytes)
    }

    /// What the windows, the bottleneck and the way of writing allow, with segments of `segment`
    /// bytes.
    fn ideal(&self, plan: &Plan, offer: &Offer, fill: Fill, segment: u32) -> Rate {
        let limit = self.limits.of(fill.direction).limit;
        let others = offer.fills.iter().filter(|other| other.direction != fill.direction);
        let acks = others.map(|other| {
            let data = self.carried(self.limits.of(other.direction).limit, segment);
            acknowledgements(plan, data, segment, limit.layer).as_bps()
        });
        let left = Rate::bps(limit.rate.as_bps().saturating_sub(acks.sum()));
        let max = self.carried(LayeredRate { rate: left, layer: limit.layer }, segment);
        max.min(self.window_limit(offer, fill)).min(pacing_limit(plan, fill))
    }

    /// Payload that full segments of `segment` bytes carry at a rate.
    fn carried(&self, limit: LayeredRate, segment: u32) -> Rate {
        self.packet(segment).convert(limit, Layer::L4)
    }

    /// A window for each round trip, which a line makes longer than a small probe's: by the segments
    /// that are acknowledged together, and for a burst, which waits for its last acknowledgement,
    /// by all of the window.
    fn window_limit(&self, offer: &Offer, fill: Fill) -> Rate {
        let limit = self.limits.of(fill.direction);
        let on_the_line = match offer.sender {
            Sender::Bulk | Sender::MicroBurst(_) | Sender::Transfer { .. } => {
                SEGMENTS_PER_ACK * u64::from(limit.packet.frame_bytes)
            }
            Sender::Burst => fill.window_bytes,
        };
        let serialised = limit.rate_at(Layer::L2).time_for(on_the_line);
        let cycle = self.baseline_rtt + if queues(limit) { serialised } else { Duration::ZERO };
        Rate::over(u64::from(fill.connections) * fill.window_bytes, cycle)
    }
}

/// What all connections of a direction may send.
fn pacing_limit(plan: &Plan, fill: Fill) -> Rate {
    let each = plan.pacing.map_or(u64::MAX, Rate::as_bps);
    Rate::bps(each.saturating_mul(fill.connections.into()))
}

/// Whether what exceeds the limit waits rather than being dropped. Of a rate that was given, the
/// layer tells: lines are sold at layer 1, policed services at layer 2 or 3.
pub(super) fn queues(limit: &Bottleneck) -> bool {
    match limit.kind {
        LimitKind::Queue | LimitKind::NotReached => true,
        LimitKind::Policer => false,
        LimitKind::Unknown => limit.limit.layer == Layer::L1,
    }
}

/// The rate of the acknowledgements for a transfer in the other direction.
fn acknowledgements(plan: &Plan, data_l4: Rate, segment: u32, layer: Layer) -> Rate {
    let packet_bytes = plan.family.ip_header_bytes() + TCP_HEADER_BYTES + TCP_OPTION_BYTES;
    let mut ack = PacketLayout::ethernet(packet_bytes, 0);
    ack.frame_bytes = ack.frame_bytes.max(MIN_FRAME_BYTES);
    let acked_bytes = f64::from(segment) * SEGMENTS_PER_ACK as f64;
    data_l4.scaled(f64::from(ack.bytes_at(layer)) / acked_bytes)
}

/// Runs one trial and adds a step for each of its directions. What an emulated network may have
/// spoilt is repeated.
fn measure(run: &mut Run<'_>, path: &Path<'_>, offer: &Offer) -> Result<(), Abort> {
    let trial = trial(run.plan, path, offer);
    let mut repeats = 0;
    let (steps, late) = loop {
        let seen = run.run(&trial)?;
        let steps: Vec<TcpStep> = tcp(&trial, &seen)?
            .into_iter()
            .enumerate()
            .flat_map(|each| offer.roles.iter().map(move |&role| (role, each)))
            .map(|(role, each)| step(run.plan, path, offer, role, each))
            .collect();
        let late = seen.emulation.and_then(|emulation| {
            steps.iter().find_map(|step| explained_by(emulation, run.plan, path, step))
        });
        if late.is_none() || repeats == LATE_REPEATS_MAX {
            break (steps, late);
        }
        repeats += 1;
    };
    if let Some(late) = late {
        run.health.add_late(late);
    }
    run.report.steps.extend(steps.into_iter().map(Step::Tcp));
    Ok(())
}

/// Whether what is missing to the throughput asked for may be the lateness of an emulated network.
///
/// A window is carried once in a round trip, which is two crossings longer: were all packets as late
/// as the latest of a hundred, so much would be missing.
fn explained_by(
    emulation: Emulation,
    plan: &Plan,
    path: &Path<'_>,
    step: &TcpStep,
) -> Option<Late> {
    if step.role != Role::Throughput {
        return None;
    }
    let asked = asked_percent(plan, step, Some(path.limits.of(step.direction)));
    let missing = (asked - step.share_percent()) / 100.0;
    let rtt = step.rtt_mean.unwrap_or(path.baseline_rtt).max(path.baseline_rtt);
    let limit = rtt.mul_f64(missing.max(0.0) / 2.0);
    (missing > 0.0 && emulation.late_p99 > limit).then_some(Late { p99: emulation.late_p99, limit })
}

fn trial(plan: &Plan, path: &Path<'_>, offer: &Offer) -> Trial {
    let flow = |fill: &Fill| {
        let load = TcpLoad {
            connections: fill.connections,
            window_bytes: fill.window_bytes,
            mss_bytes: path.mss(plan),
            sender: offer.sender,
            congestion_control: plan.congestion_control,
            pacing: plan.pacing,
            pace: Pace::Unlimited,
            write_bytes: None,
            engine: TcpEngine::Kernel,
        };
        FlowSpec::new(fill.direction, plan.family, plan.dscp, Load::Tcp(load))
    };
    let timing = Timing {
        // Slow start doubles: ten round trips open any window below 15 MB and repair a loss.
        warm_up: (offer.loaded_rtt * 10).max(Duration::from_millis(500)),
        steady: plan.trial.unwrap_or_else(|| whole_round_trips(offer.steady, path.baseline_rtt)),
        settle: settle(offer.loaded_rtt),
    };
    Trial { name: trial_name(offer), flows: offer.fills.iter().map(flow).collect(), timing }
}

/// A window comes once in a round trip: part of one would count a window too many or too few.
fn whole_round_trips(time: Duration, rtt: Duration) -> Duration {
    let trips = time.as_nanos().div_ceil(rtt.as_nanos().max(1));
    rtt * u32::try_from(trips).unwrap_or(u32::MAX)
}

fn trial_name(offer: &Offer) -> String {
    let role = match offer.roles {
        [Role::Walk] => "window walk",
        _ => "TCP throughput",
    };
    let direction = match offer.fills.as_slice() {
        [fill] => format!("{}", fill.direction),
        _ => String::from("bidirectional"),
    };
    format!("{role}, {direction}, {:.0} % of the window, {}", 100.0 * offer.fraction, offer.sender)
}

fn step(
    plan: &Plan,
    path: &Path<'_>,
    offer: &Offer,
    role: Role,
    (place, report): (usize, &TcpReport),
) -> TcpStep {
    let fill = offer.fills[place];
    let series: Vec<Sample> = report.series.iter().filter(|slot| slot.steady).copied().collect();
    let sum = |of: fn(&Sample) -> Option<u64>| series.iter().map(of).sum::<Option<u64>>();
    let all = |of: fn(&ConnectionReport) -> Option<u64>| {
        report.connections.iter().map(of).sum::<Option<u64>>()
    };
    let transfer: Duration = series.iter().map(|slot| slot.lasts).sum();
    let segment = segment_bytes(report).unwrap_or_else(|| path.segment(plan));
    let good_bytes = sum(|slot| slot.received_bytes).unwrap_or_default();
    // Of a sender at the other end that tells totals alone.
    let transmitted = sum(|slot| slot.sent_bytes).or(all(|each| each.transmitted_bytes));
    let retransmitted =
        sum(|slot| slot.retransmitted_bytes).or(all(|each| each.retransmitted_bytes));
    let throughput_l4 = Rate::over(good_bytes, transfer);
    let exact = path.ideal(plan, offer, fill, segment);
    let strict = path.ideal(plan, offer, fill, path.mss(plan));
    let ideal_l4 = if plan.strict_headers { strict } else { exact };
    let rtt_mean = mean_rtt(&report.connections);
    let flow = |report: &ConnectionReport| {
        connection(report, transfer, ideal_l4, fill.connections, path.baseline_rtt)
    };
    TcpStep {
        direction: fill.direction,
        bidirectional: offer.fills.len() > 1,
        role,
        window_fraction: offer.fraction,
        connections: fill.connections,
        window_bytes: fill.window_bytes,
        bdp_bytes: path.bdp_bytes(fill.direction),
        sender: offer.sender,
        congestion_control: congestion_control(report),
        mss_bytes: segment,
        good_bytes,
        transmitted_bytes: transmitted,
        retransmitted_bytes: retransmitted,
        transfer,
        throughput_l4,
        ideal_l4,
        ideal_strict_l4: strict,
        transfer_time_ratio: transfer_time_ratio(ideal_l4, throughput_l4),
        efficiency_percent: efficiency(transmitted, retransmitted),
        buffer_delay_percent: buffer_delay(rtt_mean, path.baseline_rtt),
        rtt_mean,
        series,
        flows: report.connections.iter().map(flow).collect(),
    }
}

//= rfc6349 5.1
/// The metrics of one connection, whose ideal is an even share.
fn connection(
    report: &ConnectionReport,
    transfer: Duration,
    ideal_l4: Rate,
    connections: u32,
    baseline_rtt: Duration,
) -> Connection {
    let throughput_l4 = Rate::over(report.good_bytes, transfer);
    let share_l4 = ideal_l4.scaled(1.0 / f64::from(connections));
    let (sent, resent) = (report.transmitted_bytes, report.retransmitted_bytes);
    Connection {
        throughput_l4,
        transfer_time_ratio: transfer_time_ratio(share_l4, throughput_l4),
        efficiency_percent: efficiency(sent, resent),
        buffer_delay_percent: buffer_delay(report.rtt_mean, baseline_rtt),
        report: report.clone(),
    }
}

fn transfer_time_ratio(ideal_l4: Rate, throughput_l4: Rate) -> Option<f64> {
    metrics::transfer_time_ratio_of_rates(throughput_l4.into(), ideal_l4.into()).to_f64()
}

fn efficiency(transmitted_bytes: Option<u64>, retransmitted_bytes: Option<u64>) -> Option<f64> {
    let (sent, resent) = (Bytes::whole(transmitted_bytes?), Bytes::whole(retransmitted_bytes?));
    metrics::tcp_efficiency_percent(sent, resent).to_f64()
}

fn buffer_delay(rtt_mean: Option<Duration>, baseline_rtt: Duration) -> Option<f64> {
    metrics::buffer_delay_percent(rtt_mean?.into(), baseline_rtt.into()).to_f64()
}

/// The mean over the connections; each has been sampled as often as the others.
fn mean_rtt(connections: &[ConnectionReport]) -> Option<Duration> {
    let known: Vec<Duration> = connections.iter().filter_map(|flow| flow.rtt_mean).collect();
    let count = u32::try_from(known.len()).ok().filter(|count| *count > 0)?;
    Some(known.iter().sum::<Duration>() / count)
}

fn segment_bytes(report: &TcpReport) -> Option<u32> {
    report.connections.iter().filter_map(|flow| flow.segment_bytes).min()
}

fn congestion_control(report: &TcpReport) -> String {
    report.connections.first().map(|flow| flow.congestion_control.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
