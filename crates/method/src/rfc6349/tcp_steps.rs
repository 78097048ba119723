//! A TCP trial's observation as steps: throughput with its bounds, and the three metrics.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{CongestionControl, ConnectionReport, Direction, Rate, Sample, Sender, TcpReport};

use super::ideal::{self, BurstSender, Link, SEGMENTS_PER_ACK};
use super::steady::{self, Mean, Settled, Steady};
use super::throughput::Offer;
use super::windows::{Fill, Path, queues};
use super::{Bottleneck, Connection, Judged, LimitKind, Plan, Role, TcpStep};
use crate::Bytes;
use crate::formula::bounds::Bounds;
use crate::formula::metrics;
use crate::formula::tcp_rules::{cubic_epoch, reno_epoch};

/// A step for each role and direction of a trial.
pub(super) fn steps_of(
    plan: &Plan,
    path: &Path<'_>,
    offer: &Offer,
    reports: &[&TcpReport],
) -> Vec<TcpStep> {
    let seen = Seen::new(plan, path, offer, reports);
    let roles = |place| offer.roles.iter().map(move |&role| (role, place));
    (0..reports.len()).flat_map(roles).map(|(role, place)| seen.step(role, place)).collect()
}

/// One direction of a trial.
struct Flow<'a> {
    fill: Fill,
    report: &'a TcpReport,
    segment: u32,
    link: Link,
    /// The steady slots, without those before the steady part begins.
    series: Vec<Sample>,
    /// Payload in each, in bits per second.
    slots: Vec<f64>,
}

/// A trial with all that its directions have in common.
struct Seen<'a> {
    plan: &'a Plan,
    path: &'a Path<'a>,
    offer: &'a Offer,
    flows: Vec<Flow<'a>>,
    is_missing: bool,
}

impl<'a> Seen<'a> {
    fn new(
        plan: &'a Plan,
        path: &'a Path<'a>,
        offer: &'a Offer,
        reports: &[&'a TcpReport],
    ) -> Self {
        let flow = |(fill, report): (&Fill, &&'a TcpReport)| {
            let segment = segment_bytes(report).unwrap_or_else(|| path.segment(plan));
            let steady = report.series.iter().filter(|slot| slot.steady);
            let series: Vec<Sample> = steady.copied().collect();
            let slots = series.iter().map(bps).collect();
            let link = path.link(plan, fill.direction, segment);
            Flow { fill: *fill, report, segment, link, series, slots }
        };
        let flows = offer.fills.iter().zip(reports).map(flow).collect();
        let mut seen = Self { plan, path, offer, flows, is_missing: false };
        seen.leave_out_the_start();
        seen
    }

    /// The slots before the steady part begins, which is the same for both directions. A burst is a start of its own.
    fn leave_out_the_start(&mut self) {
        if self.offer.sender != Sender::Bulk {
            return;
        }
        let starts = self
            .flows
            .iter()
            .map(|flow| steady::start(&flow.slots, flow.link.alone_bps(), self.piece(flow)));
        let starts: Vec<_> = starts.collect();
        self.is_missing = starts.iter().any(|start| start.is_missing);
        let from = starts.iter().map(|start| start.slot).max().unwrap_or_default();
        for flow in &mut self.flows {
            flow.series.drain(..from.min(flow.series.len()));
            flow.slots.drain(..from.min(flow.slots.len()));
        }
    }

    /// In what a direction's bytes arrive, as bits per second of a slot: where windows do not fill the path, or no
    /// queue spreads them, in windows; else, one frame after the other, in what is acknowledged together.
    fn piece(&self, flow: &Flow<'_>) -> f64 {
        let is_spread = queues(self.path.limits.of(flow.fill.direction))
            && self.offer.sender == Sender::Bulk
            && self.offer.fraction >= 1.0;
        let bytes = if is_spread {
            self.path.acknowledged_together(self.plan) as f64
        } else {
            flow.fill.total_bytes()
        };
        let slot = flow.series.first().map_or(Duration::ZERO, |slot| slot.lasts);
        8.0 * bytes / slot.as_secs_f64().max(1e-9)
    }

    fn step(&self, role: Role, place: usize) -> TcpStep {
        let flow = &self.flows[place];
        let (fill, series, report) = (flow.fill, &flow.series, flow.report);
        let sum = |of: fn(&Sample) -> Option<u64>| series.iter().map(of).sum::<Option<u64>>();
        let all = |of: fn(&ConnectionReport) -> Option<u64>| {
            report.connections.iter().map(of).sum::<Option<u64>>()
        };
        let transfer: Duration = series.iter().map(|slot| slot.lasts).sum();
        let good_bytes = sum(|slot| slot.received_bytes).unwrap_or_default();
        // Of a sender at the other end that tells totals alone.
        let transmitted = sum(|slot| slot.sent_bytes).or(all(|each| each.transmitted_bytes));
        let retransmitted =
            sum(|slot| slot.retransmitted_bytes).or(all(|each| each.retransmitted_bytes));
        let throughput_l4 = Rate::over(good_bytes, transfer);
        // Those of a path's full segments, though these be shorter.
        let exact = self.ideal(place, flow.segment.max(self.path.segment(self.plan)));
        let strict = self.ideal(place, self.path.mss(self.plan));
        let ideal_l4 = if self.plan.strict_headers { strict } else { exact };
        let rtt_mean = mean_rtt(&report.connections);
        TcpStep {
            direction: fill.direction,
            bidirectional: self.flows.len() > 1,
            role,
            window_fraction: self.offer.fraction,
            connections: fill.connections,
            window_bytes: fill.window_bytes,
            bdp_bytes: self.path.bdp_bytes(fill.direction),
            sender: self.offer.sender,
            congestion_control: congestion_control(report),
            mss_bytes: flow.segment,
            pacing: fill.pacing.filter(|_| fill.pacing != self.plan.pacing),
            good_bytes,
            transmitted_bytes: transmitted,
            retransmitted_bytes: retransmitted,
            transfer,
            throughput_l4,
            ideal_l4,
            ideal_strict_l4: strict,
            judged: Box::new(self.judge(role, place, throughput_l4, ideal_l4)),
            transfer_time_ratio: transfer_time_ratio(ideal_l4, throughput_l4),
            efficiency_percent: efficiency(transmitted, retransmitted),
            buffer_delay_percent: self.buffer_delay(rtt_mean),
            rtt_mean,
            series: series.clone(),
            flows: report
                .connections
                .iter()
                .map(|each| self.connection(each, ideal_l4, fill.connections))
                .collect(),
        }
    }

    fn judge(&self, role: Role, place: usize, throughput: Rate, ideal: Rate) -> Judged {
        let flow = &self.flows[place];
        let piece = self.piece(flow);
        let judged = self.judged(place);
        let [windows_l4, assured_l4] = self.windows(place, ideal);
        let bps = throughput.as_bps() as f64;
        let measure = match role {
            Role::Walk => windows_l4,
            Role::Throughput => ideal,
        };
        Judged {
            throughput_l4_bounds: bounds(bps, Mean::of(&flow.slots, piece).spread)
                .map(|bounds| bounds.map(|bps| Rate::bps(bps as u64))),
            windows_l4,
            assured_l4,
            possible_l4: self.carried(place, flow.segment, |burst| burst.at_most).max(ideal),
            ideal_l4_bounds: self.bounds_of(ideal),
            sold_l4: self.sold(place, ideal),
            needed_cbs_bytes: self.needed_cbs(flow),
            even_l4: self.even(place, flow.segment),
            share_percent_bounds: bounds(
                100.0 * bps / measure.as_bps().max(1) as f64,
                Mean::of(&judged, piece).spread,
            ),
            settled: self.settled(place, &judged, piece),
            settles_in: self.epoch(flow) * 2,
        }
    }

    /// What the bottleneck, the way of writing and a pacing limit allow, with segments of `segment` bytes.
    fn ideal(&self, place: usize, segment: u32) -> Rate {
        self.carried(place, segment, |burst| burst.estimate)
    }

    /// The same if as much passes at once as this bound says.
    fn carried(&self, place: usize, segment: u32, lets_go: fn(&Bounds) -> f64) -> Rate {
        let flow = &self.flows[place];
        let link = self.path.link(self.plan, flow.fill.direction, segment);
        let alone = Rate::bps(link.alone_bps() as u64);
        let carried = match self.other(place) {
            None => self.burst(flow, segment, lets_go).map_or(alone, |of| of.rate().min(alone)),
            Some(other) => self.both(flow, other, segment),
        };
        // Pacing that nobody asked for is the tester's way to fill a path, no limit of it.
        carried.min(self.plan.pacing.map_or(Rate::bps(u64::MAX), |_| flow.fill.most()))
    }

    /// The ideal is known no better than the bottlenecks of the directions that are loaded.
    fn bounds_of(&self, ideal: Rate) -> (Rate, Option<Rate>) {
        let limits = || self.flows.iter().map(|flow| self.path.limits.of(flow.fill.direction));
        let part = |of: &Bottleneck, rate: Rate| {
            rate.as_bps() as f64 / of.limit.rate.as_bps().max(1) as f64
        };
        let least = limits().map(|limit| part(limit, limit.at_least)).fold(1.0, f64::min);
        let most = limits().map(|limit| limit.at_most.map(|most| part(limit, most)));
        let most = most.collect::<Option<Vec<f64>>>();
        let most = most.map(|parts| parts.into_iter().fold(1.0, f64::max));
        (ideal.scaled(least), most.map(|part| ideal.scaled(part)))
    }

    fn needed_cbs(&self, flow: &Flow<'_>) -> Option<u64> {
        let limit = self.path.limits.of(flow.fill.direction);
        let windows = u64::from(flow.fill.connections) * flow.fill.window_bytes;
        let overhead = f64::from(limit.packet.frame_bytes) / f64::from(flow.segment.max(1));
        (limit.kind == LimitKind::Policer).then_some((windows as f64 * overhead) as u64)
    }

    /// The ideal of a path whose bottleneck is the rate that was sold. Windows, pacing and the sender
    /// limit it as they limit what is carried.
    fn sold(&self, place: usize, ideal: Rate) -> Option<Rate> {
        let sold = self.plan.sold()?;
        let flow = &self.flows[place];
        let own = &flow.link;
        let of_sold = self.path.link_of(self.plan, sold, flow.segment);
        let part = of_sold.alone_bps() / own.alone_bps().max(1.0);
        let alone = Rate::bps(own.alone_bps() as u64);
        let is_limited = self.other(place).is_none() && ideal < alone.scaled(0.999);
        // Windows and pacing limit the trial at any sold rate above what they allow.
        let sold_l4 = if is_limited { alone.scaled(part).min(ideal) } else { ideal.scaled(part) };
        Some(sold_l4)
    }

    /// The most that both links carry in the proportion in which this trial filled them: the share
    /// of it is how full the fuller link was.
    fn both(&self, flow: &Flow<'_>, other: &Flow<'_>, segment: u32) -> Rate {
        let link = |flow: &Flow<'_>| self.path.link(self.plan, flow.fill.direction, segment);
        let links = [&link(flow), &link(other)];
        let carried = [flow, other].map(|flow| mean(&flow.slots));
        let share = ideal::fuller(links, carried);
        let ideal = if carried[0] > 0.0 {
            carried[0] / share
        } else {
            ideal::even_share(links) * links[0].alone_bps()
        };
        Rate::bps(libm::round(ideal) as u64)
    }

    fn even(&self, place: usize, segment: u32) -> Option<Rate> {
        let (flow, other) = (&self.flows[place], self.other(place)?);
        let link = |flow: &Flow<'_>| self.path.link(self.plan, flow.fill.direction, segment);
        let links = [&link(flow), &link(other)];
        Some(Rate::bps((ideal::even_share(links) * links[0].alone_bps()) as u64))
    }

    fn other(&self, place: usize) -> Option<&Flow<'a>> {
        self.flows.iter().enumerate().find(|(other, _)| *other != place).map(|(_, flow)| flow)
    }

    /// Where a direction's acknowledgements go.
    const fn back(flow: &Flow<'_>) -> Direction {
        match flow.fill.direction {
            Direction::Download => Direction::Upload,
            Direction::Upload => Direction::Download,
        }
    }

    /// What a sender of bursts carries at least that loses nothing: the line in front of a policer is
    /// no slower than that, and where round trips of the idle path differ by more than a frame takes,
    /// frames change places or bunch, and the receiver may keep back the last acknowledgement.
    fn unlost(&self, flow: &Flow<'_>) -> Rate {
        let is_lossy = flow.series.iter().any(|slot| slot.retransmitted_bytes != Some(0));
        let sender = self.burst(flow, flow.segment, |burst| burst.estimate);
        let Some(sender) = sender.filter(|_| !is_lossy) else {
            return Rate::bps(u64::MAX);
        };
        let on_the_line = |bytes: u64| flow.link.time_for(flow.link.load_bytes(bytes as f64, 0.0));
        let varies = self.path.mean_rtt().saturating_sub(self.path.baseline_rtt());
        let kept_back = if varies > on_the_line(flow.segment.into()) {
            ideal::DELAYED_ACK
        } else {
            Duration::ZERO
        };
        let window_time = on_the_line(flow.fill.window_bytes).max(sender.window_time);
        BurstSender { rtt: sender.rtt + kept_back, window_time, ..sender }.rate()
    }

    /// A sender of bursts on an empty path; any other is not held up.
    fn burst(
        &self,
        flow: &Flow<'_>,
        segment_bytes: u32,
        lets_go: fn(&Bounds) -> f64,
    ) -> Option<BurstSender> {
        match self.offer.sender {
            Sender::Bulk | Sender::MicroBurst(_) | Sender::Transfer { .. } => return None,
            Sender::Burst => {}
        }
        // A shaper keeps back what its bucket, full again after a round trip, does not let go at once.
        let kept_back = |direction: Direction, link: &Link, bytes: f64| {
            let limit = self.path.limits.of(direction);
            let lets_go = if queues(limit) { limit.lets_go(lets_go) } else { f64::INFINITY };
            link.time_for((bytes - lets_go).max(0.0))
        };
        let on_the_line = |bytes: u64| {
            kept_back(flow.fill.direction, &flow.link, flow.link.load_bytes(bytes as f64, 0.0))
        };
        let Fill { direction, connections, window_bytes, .. } = flow.fill;
        // Each line waits for the whole of a frame before it sends it on.
        let own = kept_back(direction, &flow.link, self.path.more_bytes());
        let on_other_lines = self.path.more_time(direction).saturating_sub(own);
        let back = Self::back(flow);
        let link = self.path.link(self.plan, back, segment_bytes);
        let acks_of = |bytes: u64| kept_back(back, &link, link.load_bytes(0.0, bytes as f64));
        let last = acks_of(SEGMENTS_PER_ACK * u64::from(segment_bytes));
        Some(BurstSender {
            connections,
            window_bytes,
            segment_bytes,
            rtt: self.path.empty_rtt() + on_other_lines,
            pacing: flow.fill.pacing,
            frame_time: on_the_line(segment_bytes.into()),
            window_time: (on_the_line(window_bytes) + last).max(acks_of(window_bytes)),
        })
    }

    /// What the windows carry on the path as it was found, up to the ideal; with both directions
    /// loaded, at best and at worst.
    fn windows(&self, place: usize, ideal: Rate) -> [Rate; 2] {
        let flow = &self.flows[place];
        let Some(other) = self.other(place) else {
            let most = match self.offer.sender {
                Sender::Burst => ideal,
                Sender::Bulk | Sender::MicroBurst(_) | Sender::Transfer { .. } => {
                    ideal.min(self.path.window_limit(self.plan, flow.fill))
                }
            };
            let back = self.path.link(self.plan, Self::back(flow), flow.segment);
            let back = back.acknowledged_bps();
            let assured = most.min(Rate::bps(back as u64));
            return [most, assured.min(self.unlost(flow))];
        };
        let [best, worst] = self.cycles(flow, other);
        let of_other = self.cycles(other, flow);
        let carried = |cycles: [Duration; 2]| {
            let per_second = |flow: &Flow<'_>, cycle: Duration| {
                8.0 * flow.fill.total_bytes() / cycle.as_secs_f64().max(1e-9)
            };
            let rates = [per_second(flow, cycles[0]), per_second(other, cycles[1])];
            ideal::fuller([&flow.link, &other.link], rates).min(1.0)
        };
        [[best, of_other[0]], [worst, of_other[1]]].map(|cycles| ideal.scaled(carried(cycles)))
    }

    /// The shortest and the longest time in which a window is sent and acknowledged while both directions are
    /// loaded: as long as its link takes to carry it, and longer where its acknowledgements wait in a queue
    /// behind all that the other direction has in flight.
    fn cycles(&self, flow: &Flow<'_>, other: &Flow<'_>) -> [Duration; 2] {
        let (own, others) = (flow.fill.total_bytes(), other.fill.total_bytes());
        let waits = |flow: &Flow<'_>, bytes: f64| {
            let is_line = queues(self.path.limits.of(flow.fill.direction));
            if is_line { flow.link.time_for(bytes) } else { Duration::ZERO }
        };
        let rtt = self.path.cycle(self.plan, flow.fill);
        let through = waits(flow, flow.link.load_bytes(own, others));
        let behind = waits(other, other.link.load_bytes(others, 0.0));
        [rtt.max(through), (rtt + behind).max(through)]
    }

    /// What is judged, slot by slot: the throughput, or of both directions how full the fuller link was.
    fn judged(&self, place: usize) -> Vec<f64> {
        let flow = &self.flows[place];
        let Some(other) = self.other(place) else { return flow.slots.clone() };
        let links = [&flow.link, &other.link];
        let fills =
            |[own, others]: [f64; 2]| [links[0].fill(own, others), links[1].fill(others, own)];
        let [here, there] = fills([mean(&flow.slots), mean(&other.slots)]);
        let slots = flow.slots.iter().zip(&other.slots);
        // In the unit of the slots, as the pieces are.
        let of_fill = links[0].alone_bps();
        slots
            .map(|(own, others)| fills([*own, *others])[usize::from(there > here)] * of_fill)
            .collect()
    }

    fn settled(&self, place: usize, judged: &[f64], piece: f64) -> Settled {
        let flow = &self.flows[place];
        let lost_in = |slot: &Sample| slot.retransmitted_bytes.is_some_and(|bytes| bytes > 0);
        let series = || self.flows.iter().map(|flow| &flow.series);
        let resent = (0..flow.series.len())
            .map(|at| series().any(|series| series.get(at).is_some_and(lost_in)));
        let resent: Vec<bool> = resent.collect();
        let all = self.flows.iter().flat_map(|flow| &flow.report.series);
        let lost_before = all.filter(|slot| !slot.steady).any(lost_in);
        let steady = Steady {
            slots: judged,
            resent: &resent,
            lost_before,
            lasts: flow.series.iter().map(|slot| slot.lasts).sum(),
            rtt: mean_rtt(&flow.report.connections).unwrap_or(self.path.mean_rtt()),
            epoch: self.epoch(flow),
            piece,
            is_missing: self.is_missing,
        };
        steady.settled()
    }

    /// How long a window of this direction takes to come back after a loss.
    fn epoch(&self, flow: &Flow<'_>) -> Duration {
        let Fill { connections, window_bytes, .. } = flow.fill;
        let seen = flow.report.series.iter().filter_map(|slot| slot.cwnd_bytes).max();
        let seen = seen.map_or(f64::INFINITY, |bytes| bytes as f64 / f64::from(connections));
        let segments = seen.min(window_bytes as f64) / f64::from(flow.segment.max(1));
        if CongestionControl::Reno.name() == Some(&*congestion_control(flow.report)) {
            let rtt = mean_rtt(&flow.report.connections).unwrap_or(self.path.mean_rtt());
            reno_epoch(segments, rtt)
        } else {
            cubic_epoch(segments)
        }
    }

    //= rfc6349 4.3
    /// A mean is compared with a mean: what jitter adds to every round trip, idle or loaded, is no buffer.
    fn buffer_delay(&self, rtt_mean: Option<Duration>) -> Option<f64> {
        let baseline = self.path.baseline_rtt();
        let buffered = rtt_mean?.saturating_sub(self.path.mean_rtt());
        metrics::buffer_delay_percent((baseline + buffered).into(), baseline.into()).to_f64()
    }

    //= rfc6349 5.1
    /// The metrics of one connection, whose ideal is an even share.
    fn connection(
        &self,
        report: &ConnectionReport,
        ideal_l4: Rate,
        connections: u32,
    ) -> Connection {
        let steady = |flow: &Flow<'_>| {
            let slots = flow.report.series.iter().filter(|slot| slot.steady);
            slots.map(|slot| slot.lasts).sum::<Duration>()
        };
        let transfer = self.flows.iter().map(steady).max().unwrap_or_default();
        let throughput_l4 = Rate::over(report.good_bytes, transfer);
        let share_l4 = ideal_l4.scaled(1.0 / f64::from(connections));
        let (sent, resent) = (report.transmitted_bytes, report.retransmitted_bytes);
        Connection {
            throughput_l4,
            transfer_time_ratio: transfer_time_ratio(share_l4, throughput_l4),
            efficiency_percent: efficiency(sent, resent),
            buffer_delay_percent: self.buffer_delay(report.rtt_mean),
            report: report.clone(),
        }
    }
}

fn bps(slot: &Sample) -> f64 {
    Rate::over(slot.received_bytes.unwrap_or_default(), slot.lasts).as_bps() as f64
}

fn mean(slots: &[f64]) -> f64 {
    slots.iter().sum::<f64>() / slots.len().max(1) as f64
}

fn bounds(value: f64, spread: Option<f64>) -> Option<[f64; 2]> {
    let spread = spread?;
    Some([value * (1.0 - spread).max(0.0), value * (1.0 + spread)])
}

fn transfer_time_ratio(ideal_l4: Rate, throughput_l4: Rate) -> Option<f64> {
    metrics::transfer_time_ratio_of_rates(throughput_l4.into(), ideal_l4.into()).to_f64()
}

fn efficiency(transmitted_bytes: Option<u64>, retransmitted_bytes: Option<u64>) -> Option<f64> {
    let (sent, resent) = (Bytes::whole(transmitted_bytes?), Bytes::whole(retransmitted_bytes?));
    metrics::tcp_efficiency_percent(sent, resent).to_f64()
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
