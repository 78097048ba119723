//! How many windows of how many bytes fill a path.

use core::time::Duration;

use fp_model::{Direction, Layer, LayeredRate, PacketLayout, Rate, RttSummary, Sender};

use super::ideal::{self, Link, SEGMENTS_PER_ACK};
use super::{Bottleneck, LimitKind, Limits, Plan, Windows};
use crate::formula::bdp::UNSCALED_WINDOW;
use crate::formula::bdp::bdp;
use crate::path::SMALL_PACKET_BYTES;

/// With fewer segments in a window, delayed acknowledgements decide rather than the path.
const MIN_WINDOW_SEGMENTS: u64 = 8;
/// More connections than this are no answer to small windows.
const MAX_CONNECTIONS: u64 = 1000;
/// Windows that fill a queue leave so much of it free, so that nothing is lost.
pub(super) const QUEUE_SHARE: f64 = 0.8;
/// Windows beyond this are none that a transfer would have.
pub(super) const WINDOW_FRACTION_MAX: f64 = 16.0;
/// Windows in whole pairs of segments, or in shorter ones with more headers, may fall short of the path
/// by half of what a trial may, where the default threshold asks for 95 %.
const PAIRS_SHARE_MIN: f64 = 0.975;

/// The windows of one direction in one trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fill {
    pub(super) direction: Direction,
    pub(super) connections: u32,
    pub(super) window_bytes: u64,
    /// With TCP options.
    pub(super) mss_bytes: u32,
    /// Of each connection.
    pub(super) pacing: Option<Rate>,
}

impl Fill {
    pub(super) fn widened(self, fraction: f64) -> Self {
        Self { window_bytes: (self.window_bytes as f64 * fraction) as u64, ..self }
    }

    /// What all connections send at most for their pacing.
    pub(super) fn most(&self) -> Rate {
        let each = self.pacing.map_or(u64::MAX, Rate::as_bps);
        Rate::bps(each.saturating_mul(self.connections.into()))
    }

    pub(super) fn total_bytes(&self) -> f64 {
        f64::from(self.connections) * self.window_bytes as f64
    }
}

/// The path as the steps before have found it.
pub(super) struct Path<'a> {
    pub(super) mtu_bytes: u32,
    pub(super) idle_rtt: RttSummary,
    pub(super) limits: &'a Limits,
    /// How much longer a full packet takes than a probe on all lines of the path, download and upload, where
    /// that matters.
    pub(super) more_times: [Duration; 2],
}

impl Path<'_> {
    pub(super) const fn baseline_rtt(&self) -> Duration {
        self.idle_rtt.min
    }

    /// What a window needs to go round an idle path, in the mean.
    pub(super) fn mean_rtt(&self) -> Duration {
        self.idle_rtt.mean.max(self.idle_rtt.min)
    }

    /// The same without what the probe and its answer take on the lines themselves.
    pub(super) fn empty_rtt(&self) -> Duration {
        let taken = [Direction::Download, Direction::Upload].map(|direction| {
            let limit = self.limits.of(direction);
            let probe = PacketLayout::ethernet(SMALL_PACKET_BYTES, 0);
            if queues(limit) { limit.time_for(&probe) } else { Duration::ZERO }
        });
        self.mean_rtt().saturating_sub(taken[0] + taken[1])
    }

    /// As far above the mean as the least is below it: jitter takes windows from a line that are
    /// measured by the mean.
    fn high_rtt(&self) -> Duration {
        self.mean_rtt() * 2 - self.idle_rtt.min
    }

    //= rfc6349 3.3.1
    /// The windows that fill one direction and, where nothing queues, do not overfill it.
    pub(super) fn fill(&self, plan: &Plan, direction: Direction) -> Fill {
        let full_bytes = if queues(self.limits.of(direction)) {
            self.line_bytes(direction)
        } else {
            self.payload_bytes(plan, direction)
        };
        let fill = |connections, window_bytes| {
            self.of_full_segments(plan, direction, connections, window_bytes)
        };
        match plan.windows {
            Windows::Both { connections, window_bytes } => fill(connections, window_bytes),
            Windows::Window { window_bytes } => {
                let needed = full_bytes.div_ceil(window_bytes).clamp(1, MAX_CONNECTIONS);
                fill(needed as u32, window_bytes)
            }
            Windows::Connections { connections } => {
                let rtt = self.mean_rtt() + self.pair_time(direction);
                self.divided(plan, direction, (full_bytes, rtt), connections)
            }
        }
    }

    /// Windows of segments as long as the path allows.
    fn of_full_segments(
        &self,
        plan: &Plan,
        direction: Direction,
        connections: u32,
        window_bytes: u64,
    ) -> Fill {
        let (mss_bytes, pacing) = (self.mss(plan), plan.pacing);
        Fill { direction, connections, window_bytes, mss_bytes, pacing }
    }

    /// The windows of up to this number of connections that together hold the `bytes` which go round in `rtt`.
    fn divided(
        &self,
        plan: &Plan,
        direction: Direction,
        (bytes, rtt): (u64, Duration),
        connections: u32,
    ) -> Fill {
        let smallest = MIN_WINDOW_SEGMENTS * u64::from(self.segment(plan));
        let most = (bytes / smallest).clamp(1, u64::from(connections));
        let together = self.acknowledged_together(plan);
        let fill = |connections: u64, window_bytes| {
            self.of_full_segments(plan, direction, connections as u32, window_bytes)
        };
        if queues(self.limits.of(direction)) {
            return fill(most, self.enough(plan, direction, most, bytes.div_ceil(most)));
        }
        let pairs = |connections: u64| {
            let window_bytes = bytes / connections / together * together;
            let is_enough = (connections * window_bytes) as f64 >= PAIRS_SHARE_MIN * bytes as f64;
            is_enough.then_some((connections, window_bytes))
        };
        match (1..=most).rev().find_map(pairs) {
            Some((connections, window_bytes)) => fill(connections, window_bytes),
            None => self.shorter(plan, direction, (bytes, rtt)),
        }
    }

    /// One window of whole pairs of segments, each so much shorter than the path allows that it
    /// fills a product of few segments: a pair more would be dropped, a pair less leave a gap. On the
    /// lines in front shorter segments take less, by which less is under way: of n pairs of frames of f
    /// bytes, 2 n f = R (t + 2 T f / L) bytes, where a frame of L bytes takes T.
    fn shorter(&self, plan: &Plan, direction: Direction, (bytes, rtt): (u64, Duration)) -> Fill {
        let segment = self.segment(plan);
        let layout = PacketLayout::ethernet(self.mtu_bytes, segment);
        let layer = self.limits.of(direction).limit.layer;
        let headers = layout.bytes_at(layer) - segment;
        let on_the_link = bytes as f64 * f64::from(segment + headers) / f64::from(segment);
        let bytes_in = |time: Duration| on_the_link * time.as_secs_f64() / rtt.as_secs_f64();
        let full = bytes_in(rtt.saturating_sub(self.pair_time(direction)));
        let share = bytes_in(self.frame_time(direction)) / f64::from(segment + headers);
        // With less than two pairs under way nothing is acknowledged but by a timer.
        let pairs = bytes.div_ceil(self.acknowledged_together(plan)).max(2);
        let each =
            full / (SEGMENTS_PER_ACK as f64 * (pairs as f64 - share.min(1.0))) - f64::from(headers);
        let payload = |segment: f64| segment / (segment + f64::from(headers));
        if each <= 0.0 || payload(each) < PAIRS_SHARE_MIN * payload(segment.into()) {
            return self.paced(plan, direction, Rate::over(bytes, rtt));
        }
        let each = each.min(f64::from(segment)) as u32;
        let window_bytes = SEGMENTS_PER_ACK * pairs * u64::from(each);
        let mss_bytes = each + PacketLayout::TCP_TIMESTAMPS_BYTES;
        Fill { mss_bytes, ..self.of_full_segments(plan, direction, 1, window_bytes) }
    }

    /// Where windows of as few segments overfill a path that queues nothing, it is the sender that keeps
    /// to what the limit surely is, in a window that is no limit.
    fn paced(&self, plan: &Plan, direction: Direction, rate: Rate) -> Fill {
        let limit = self.limits.of(direction);
        let sure = if limit.is_known() { limit.at_least } else { limit.limit.rate };
        let sure = sure.as_bps() as f64 / limit.limit.rate.as_bps().max(1) as f64;
        let window_bytes = MIN_WINDOW_SEGMENTS * u64::from(self.segment(plan));
        let pacing = Some(rate.scaled(sure.min(1.0)).min(plan.pacing.unwrap_or(rate)));
        Fill { pacing, ..self.of_full_segments(plan, direction, 1, window_bytes) }
    }

    /// A sender fills its window with whole segments, and one that is not acknowledged with another
    /// waits for the next window: where those of a small window would not fill a line, some more.
    fn enough(&self, plan: &Plan, direction: Direction, connections: u64, window: u64) -> u64 {
        let together = self.acknowledged_together(plan);
        let needed = self.max_tcp(plan, direction).bytes_in(self.high_rtt()) + together;
        if connections * (window / together * together) < needed {
            window.next_multiple_of(together)
        } else {
            window
        }
    }

    /// The bandwidth-delay product of a line, and where that is less than a window without scaling
    /// such a window, as far as the queue is known to hold it.
    fn line_bytes(&self, direction: Direction) -> u64 {
        let full = self.limits.of(direction).rate_at(Layer::L1).bytes_in(self.high_rtt()) + 1;
        let held = full.saturating_add(self.queued_bytes(direction).unwrap_or(u64::MAX));
        // What any TCP has: on a path so short that less would fill it, less would measure the hosts.
        full.max(UNSCALED_WINDOW.min(held))
    }

    /// A policer has no queue to hold the difference between payload and line bytes: behind one it
    /// is the product of the payload.
    fn payload_bytes(&self, plan: &Plan, direction: Direction) -> u64 {
        self.max_tcp(plan, direction).bytes_in(self.mean_rtt() + self.pair_time(direction))
    }

    /// What full frames that are acknowledged together take on lines in front of a policer. The first
    /// byte of the first goes round with its last of the second: a frame's time on each line, and once
    /// more on the slowest. Of several lines that are all slow this is more than it takes.
    fn pair_time(&self, direction: Direction) -> Duration {
        self.frame_time(direction) * SEGMENTS_PER_ACK as u32
    }

    fn frame_time(&self, direction: Direction) -> Duration {
        if queues(self.limits.of(direction)) {
            return Duration::ZERO;
        }
        let bytes = PacketLayout::ethernet(self.mtu_bytes, 0).bytes_at(Layer::L1);
        self.more_time(direction).mul_f64(f64::from(bytes) / self.more_bytes())
    }

    pub(super) fn more_time(&self, direction: Direction) -> Duration {
        self.more_times[usize::from(direction == Direction::Upload)]
    }

    /// By which a full packet is longer than a probe.
    pub(super) fn more_bytes(&self) -> f64 {
        self.mtu_bytes.saturating_sub(SMALL_PACKET_BYTES).max(1).into()
    }

    /// Whether so few segments are under way that what two of them take on the lines counts: more than
    /// what windows in whole pairs may fall short. Where a queue limits, it does to a sender of bursts alone.
    pub(super) fn is_short(&self, plan: &Plan, direction: Direction) -> bool {
        let (under_way, pair) =
            (self.payload_bytes(plan, direction), self.acknowledged_together(plan));
        let counts =
            !queues(self.limits.of(direction)) || plan.senders.list().contains(&Sender::Burst);
        counts && pair as f64 > (1.0 - PAIRS_SHARE_MIN) * under_way as f64
    }

    /// Windows that a sender writes at once: what a queue of a bandwidth-delay product holds,
    /// headers included.
    pub(super) fn burst(&self, plan: &Plan, direction: Direction) -> Fill {
        let full = self.fill(plan, direction);
        let Windows::Connections { connections } = plan.windows else { return full };
        if !queues(self.limits.of(direction)) {
            return full;
        }
        let payload = self.payload_bytes(plan, direction);
        let held = self.queued_bytes(direction).unwrap_or(u64::MAX);
        let bytes = payload.max(UNSCALED_WINDOW.min(held));
        let together = self.acknowledged_together(plan);
        let most = (bytes / (MIN_WINDOW_SEGMENTS * u64::from(self.segment(plan))))
            .clamp(1, u64::from(connections));
        let window_bytes = (bytes / most / together).max(1) * together;
        Fill { connections: most as u32, window_bytes, ..full }
    }

    /// The windows for both directions at once: in proportion to what each carries alone, so that
    /// both carry the same share, and as many as go round in `rtt`.
    pub(super) fn both(&self, plan: &Plan, rtt: Duration) -> [Fill; 2] {
        let directions = [Direction::Download, Direction::Upload];
        let links = directions.map(|direction| self.link(plan, direction, self.segment(plan)));
        let share = ideal::even_share([&links[0], &links[1]]);
        [0, 1].map(|place| {
            let direction = directions[place];
            let Windows::Connections { connections } = plan.windows else {
                return self.fill(plan, direction);
            };
            let rtt = rtt + self.pair_time(direction);
            let bytes = (share * links[place].alone_bps() * rtt.as_secs_f64() / 8.0) as u64;
            let least = 2 * self.acknowledged_together(plan);
            let is_line = queues(self.limits.of(direction));
            let bytes = if is_line { bytes.max(least) } else { bytes };
            self.divided(plan, direction, (bytes, rtt), connections)
        })
    }

    /// The round trip of windows that fill both directions: that of the idle path, and what the
    /// fuller link's queue holds.
    pub(super) fn both_rtt(&self, plan: &Plan) -> Duration {
        let [here, there] = [Direction::Download, Direction::Upload];
        let links = [here, there].map(|direction| self.link(plan, direction, self.segment(plan)));
        let alone = [links[0].alone_bps(), links[1].alone_bps()];
        let is_here = links[0].fill(alone[0], alone[1]) >= links[1].fill(alone[1], alone[0]);
        let limit = self.limits.of(if is_here { here } else { there });
        if !queues(limit) {
            return self.mean_rtt();
        }
        let rtt = self.high_rtt();
        let queue = queue_delay(limit).unwrap_or_default().mul_f64(QUEUE_SHARE);
        rtt + queue.min(rtt.mul_f64(WINDOW_FRACTION_MAX))
    }

    /// The windows that fill the path and most of its queue, as a multiple of those that fill the
    /// path alone.
    pub(super) fn deep_fraction(&self, full: Fill) -> f64 {
        match self.queued_bytes(full.direction) {
            Some(queued) => {
                let deep = self.bdp_bytes(full.direction) + queued;
                (deep as f64 / full.total_bytes()).clamp(1.0, WINDOW_FRACTION_MAX)
            }
            None => 1.0,
        }
    }

    /// What of a queue windows may fill, where it is known how much it holds.
    fn queued_bytes(&self, direction: Direction) -> Option<u64> {
        let limit = self.limits.of(direction);
        let queue = queue_delay(limit)?.mul_f64(QUEUE_SHARE);
        Some(limit.rate_at(Layer::L1).bytes_in(queue))
    }

    pub(super) fn bdp_bytes(&self, direction: Direction) -> u64 {
        let rate_l1 = self.limits.of(direction).rate_at(Layer::L1);
        let bytes = bdp(rate_l1.into(), self.baseline_rtt().into()).ceil().to_u64();
        // No path holds 18 exabytes.
        bytes.unwrap_or(u64::MAX)
    }

    //= rfc6349 4.1.1
    /// Payload that full segments carry at the bottleneck, with the options that are in use.
    pub(super) fn max_tcp(&self, plan: &Plan, direction: Direction) -> Rate {
        let segment = self.segment(plan);
        let layout = PacketLayout::ethernet(self.mtu_bytes, segment);
        layout.convert(self.limits.of(direction).limit, Layer::L4)
    }

    pub(super) fn link(&self, plan: &Plan, direction: Direction, segment_bytes: u32) -> Link {
        self.link_of(plan, self.limits.of(direction).limit, segment_bytes)
    }

    /// A link of this rate, with the path's packets.
    pub(super) fn link_of(&self, plan: &Plan, limit: LayeredRate, segment_bytes: u32) -> Link {
        let shorter = self.segment(plan).saturating_sub(segment_bytes);
        Link::new(limit, plan.family, self.mtu_bytes - shorter, segment_bytes)
    }

    pub(super) fn acknowledged_together(&self, plan: &Plan) -> u64 {
        SEGMENTS_PER_ACK * u64::from(self.segment(plan))
    }

    pub(super) fn segment(&self, plan: &Plan) -> u32 {
        self.mss(plan) - PacketLayout::TCP_TIMESTAMPS_BYTES
    }

    pub(super) fn mss(&self, plan: &Plan) -> u32 {
        self.mtu_bytes - plan.family.ip_header_bytes() - PacketLayout::TCP_HEADER_BYTES
    }

    /// What windows carry at most, in the mean of an idle round trip, which a line makes
    /// longer than a small probe's by the segments that are acknowledged together.
    pub(super) fn window_limit(&self, plan: &Plan, fill: Fill) -> Rate {
        let limit = self.limits.of(fill.direction);
        let on_the_line = SEGMENTS_PER_ACK * u64::from(limit.packet.frame_bytes);
        let serialised = limit.rate_at(Layer::L2).time_for(on_the_line);
        let waits = if queues(limit) { serialised } else { Duration::ZERO };
        let windows = u64::from(fill.connections) * fill.window_bytes;
        Rate::over(windows, self.cycle(plan, fill) + waits).min(fill.most())
    }

    /// How long a window takes to go round where no queue holds it.
    pub(super) fn cycle(&self, plan: &Plan, fill: Fill) -> Duration {
        let part = f64::from(fill.mss_bytes) / f64::from(self.mss(plan).max(1));
        self.mean_rtt() + self.pair_time(fill.direction).mul_f64(part)
    }
}

/// The longest time that a packet waits in a queue that was seen.
fn queue_delay(limit: &Bottleneck) -> Option<Duration> {
    match limit.kind {
        LimitKind::Queue => limit.overload_delay,
        LimitKind::Policer | LimitKind::NotReached | LimitKind::Unknown => None,
    }
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

#[cfg(test)]
mod tests;
