//! The figures of one flow, from what both ends saw of it.

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{
    ConnectionReport, DscpCount, FlowReport, FlowSpec, FramesReport, Layer, LayeredRate, Load,
    PacketLayout, Rate, Sample, Sender, TcpLoad, TcpReport,
};

use super::plan::{Plan, PlannedFlow};
use super::steps::{Arrived, Carried, Connection, FlowStep, Part, RateByLayer, Transport};

const TCP_OPTIONS_BYTES_MAX: u32 = 40;

/// `None` where the report is of another kind of load.
pub(super) fn of(plan: &Plan, flow: &PlannedFlow, seen: &FlowReport) -> Option<FlowStep> {
    match (&flow.spec.load, seen) {
        (Load::Frames(_), FlowReport::Frames(report)) => Some(udp(plan, flow, report)),
        (Load::Tcp(load), FlowReport::Tcp(report)) => Some(tcp(plan, flow, load, report)),
        _ => None,
    }
}

/// What is not known of the flow yet.
fn blank(flow: &PlannedFlow, transport: Transport) -> FlowStep {
    FlowStep {
        name: flow.name.clone(),
        part: Part::Flow,
        class: flow.class.clone(),
        transport: Some(transport),
        engine: None,
        family: Some(flow.spec.family),
        direction: flow.spec.direction,
        streams: flow.streams(),
        begins: flow.spec.begins,
        dscp_sent: Some(flow.spec.dscp),
        dscp_received: Vec::new(),
        ecn_sent: Some(flow.spec.ecn).filter(|_| transport == Transport::Udp),
        ecn_received: Vec::new(),
        sent: None,
        received: Carried::default(),
        arrived: None,
        unsent: None,
        lost: None,
        out_of_order: None,
        duplicates: None,
        corrupt: None,
        retransmitted_bytes: None,
        jitter: None,
        delay: None,
        rtt_mean: None,
        rtt_min: None,
        link_usage_l2_percent: None,
        link_usage_l1_percent: None,
        series: Vec::new(),
        drained: None,
        connections: Vec::new(),
        conserved: true,
    }
}

fn udp(plan: &Plan, flow: &PlannedFlow, report: &FramesReport) -> FlowStep {
    let spec = &flow.spec;
    let sent = Counted { frames: report.sent_frames, l2_bytes: report.sent_bytes };
    let received = Counted { frames: report.received_frames, l2_bytes: report.received_bytes };
    let lost_in_seconds = report
        .lossy_seconds
        .as_ref()
        .map(|seconds| seconds.iter().map(|second| second.lost_frames).sum::<u64>());
    let lost = report.sent_frames.saturating_sub(report.received_frames);
    let payload = [sent.payload_bytes(spec), received.payload_bytes(spec)];
    // A queue drains for longer than was sent; what comes only at the end came of all that time.
    let received_in = report.received_in.unwrap_or_default().max(report.sent_in);
    let received = received.carried(spec, received_in);
    FlowStep {
        sent: Some(sent.carried(spec, report.sent_in)),
        received,
        arrived: report
            .first_arrived
            .zip(report.received_in)
            .map(|(from, lasts)| Arrived { from, until: from + lasts }),
        dscp_received: report.dscp_received.clone(),
        ecn_received: report.ecn_received.clone(),
        unsent: Some(report.planned_frames.saturating_sub(report.sent_frames)),
        lost: Some(lost),
        out_of_order: report.out_of_order_frames,
        duplicates: report.duplicate_frames,
        corrupt: report.corrupt_frames,
        jitter: report.jitter,
        delay: report.delay,
        series: payload_series(&report.series, payload),
        conserved: report.received_frames + lost_in_seconds.unwrap_or(lost) == report.sent_frames,
        ..with_usage(blank(flow, Transport::Udp), plan, &received.rates)
    }
}

/// Frames that one end counted.
#[derive(Clone, Copy)]
struct Counted {
    frames: u64,
    l2_bytes: u64,
}

impl Counted {
    fn less(self, bytes_each: u32) -> u64 {
        self.l2_bytes.saturating_sub(self.frames.saturating_mul(bytes_each.into()))
    }

    fn payload_bytes(self, spec: &FlowSpec) -> u64 {
        self.less(PacketLayout::udp_headers_bytes(spec.family, spec.vlan_tags))
    }

    fn carried(self, spec: &FlowSpec, lasts: Duration) -> Carried {
        let tags = PacketLayout::VLAN_TAG_BYTES * u32::from(spec.vlan_tags);
        let gaps = self.frames * u64::from(PacketLayout::ETHERNET_L1_OVERHEAD);
        let payload_bytes = self.payload_bytes(spec);
        let rate = |bytes| Rate::over(bytes, lasts);
        Carried {
            payload_bytes,
            packets: Some(self.frames),
            lasts,
            rates: RateByLayer {
                l1: rate(self.l2_bytes + gaps),
                l2: rate(self.l2_bytes),
                l3: rate(self.less(PacketLayout::ETHERNET_L2_OVERHEAD + tags)),
                l4: rate(payload_bytes),
            },
        }
    }
}

fn tcp(plan: &Plan, flow: &PlannedFlow, load: &TcpLoad, report: &TcpReport) -> FlowStep {
    let steady: Vec<Sample> = report.series.iter().filter(|slot| slot.steady).copied().collect();
    let sum = |of: fn(&Sample) -> Option<u64>| steady.iter().map(of).sum::<Option<u64>>();
    let whole = |of: fn(&Sample) -> Option<u64>| report.series.iter().map(of).sum::<Option<u64>>();
    let all = |of: fn(&ConnectionReport) -> Option<u64>| {
        report.connections.iter().map(of).sum::<Option<u64>>()
    };
    let sent_bytes = sum(|slot| slot.sent_bytes).or(all(|each| each.transmitted_bytes));
    let received_bytes = sum(|slot| slot.received_bytes).or(all(|each| Some(each.good_bytes)));
    let layout = layout(&flow.spec, load, report);
    let steady_time: Duration = steady.iter().map(|slot| slot.lasts).sum();
    let begins = flow.spec.begins.saturating_sub(plan.timing.warm_up);
    let lasts = match load.sender {
        Sender::MicroBurst(_) | Sender::Transfer { .. }
            if report.whole_until > flow.spec.begins =>
        {
            report.whole_until - flow.spec.begins
        }
        Sender::MicroBurst(_) | Sender::Transfer { .. } | Sender::Bulk | Sender::Burst => {
            steady_time.saturating_sub(begins)
        }
    };
    let carried = |payload_bytes, packets| Carried {
        payload_bytes,
        packets,
        lasts,
        rates: by_layer(&layout, Rate::over(payload_bytes, lasts)),
    };
    let known = || report.connections.iter();
    let received = carried(
        received_bytes.unwrap_or_default(),
        known().map(|each| each.received_segments).sum(),
    );
    let connection = |report: &ConnectionReport| Connection {
        throughput_l4: Rate::over(report.good_bytes, lasts),
        report: report.clone(),
    };
    FlowStep {
        engine: Some(load.engine),
        sent: sent_bytes.map(|bytes| carried(bytes, all(|each| each.sent_segments))),
        received,
        dscp_received: dscps(&report.connections),
        retransmitted_bytes: sum(|slot| slot.retransmitted_bytes)
            .or(all(|each| each.retransmitted_bytes)),
        rtt_mean: mean(known().filter_map(|each| each.rtt_mean)),
        rtt_min: known().filter_map(|each| each.rtt_min).min(),
        drained: report.series.last().filter(|slot| !slot.steady).copied(),
        series: steady,
        connections: known().map(connection).collect(),
        conserved: whole(|slot| slot.sent_bytes)
            .is_none_or(|sent| whole(|slot| slot.received_bytes) <= Some(sent)),
        ..with_usage(blank(flow, Transport::Tcp), plan, &received.rates)
    }
}

/// A connection's packets arrive with the code point of the first.
fn dscps(connections: &[ConnectionReport]) -> Vec<DscpCount> {
    let known = connections.iter().filter_map(|each| {
        each.dscp_received.map(|dscp| (dscp, each.received_segments.unwrap_or(0)))
    });
    let mut counts: Vec<DscpCount> = Vec::new();
    for (dscp, frames) in known {
        match counts.iter_mut().find(|count| count.dscp == Some(dscp)) {
            Some(count) => count.frames += frames,
            None => counts.push(DscpCount { dscp: Some(dscp), frames }),
        }
    }
    counts
}

/// A full segment with the options that it really carries.
fn layout(spec: &FlowSpec, load: &TcpLoad, report: &TcpReport) -> PacketLayout {
    let segments = report.connections.iter().filter_map(|each| each.segment_bytes);
    let fallback = load.mss_bytes.saturating_sub(PacketLayout::TCP_TIMESTAMPS_BYTES);
    let segment = segments.min().unwrap_or(fallback).max(1);
    // A path that takes shorter packets has cut the segment, not made the options longer.
    let options = load.mss_bytes.checked_sub(segment).filter(|left| *left <= TCP_OPTIONS_BYTES_MAX);
    let headers =
        PacketLayout::TCP_HEADER_BYTES + options.unwrap_or(PacketLayout::TCP_TIMESTAMPS_BYTES);
    PacketLayout::ethernet(segment + headers + spec.family.ip_header_bytes(), segment)
}

fn by_layer(layout: &PacketLayout, l4: Rate) -> RateByLayer {
    let payload = LayeredRate { rate: l4, layer: Layer::L4 };
    let at = |layer| layout.convert(payload, layer);
    RateByLayer { l1: at(Layer::L1), l2: at(Layer::L2), l3: at(Layer::L3), l4 }
}

pub(super) fn mean(times: impl Iterator<Item = Duration>) -> Option<Duration> {
    let known: Vec<Duration> = times.collect();
    let count = u32::try_from(known.len()).ok().filter(|count| *count > 0)?;
    Some(known.iter().sum::<Duration>() / count)
}

/// The share of its line that a stream takes, by the bytes of its frames and by those on the line.
pub(super) fn with_usage(step: FlowStep, plan: &Plan, rates: &RateByLayer) -> FlowStep {
    let line = plan.lines.towards(step.direction).filter(|line| *line > Rate::ZERO);
    let share = |rate: Rate| line.map(|line| 100.0 * rate.as_bps() as f64 / line.as_bps() as f64);
    let (l2, l1) = (share(rates.l2), share(rates.l1));
    FlowStep { link_usage_l2_percent: l2, link_usage_l1_percent: l1, ..step }
}

/// A series of frames as one of the payload in them, whose sums are these totals: bytes sent and
/// bytes received.
///
/// Frames of the steady time arrive until the very end; what the warm-up sent is left out.
fn payload_series(frames: &[Sample], [sent, received]: [u64; 2]) -> Vec<Sample> {
    let counted: Vec<Sample> = frames.iter().skip_while(|slot| !slot.steady).copied().collect();
    let sent = shares(&counted, sent, |slot| slot.sent_bytes);
    let received = shares(&counted, received, |slot| slot.received_bytes);
    let both = counted.iter().zip(sent.into_iter().zip(received));
    both.map(|(slot, (sent_bytes, received_bytes))| Sample { sent_bytes, received_bytes, ..*slot })
        .collect()
}

/// What each slot has of a total, as it has of the sum of all; unknown of all where it is of one.
fn shares(slots: &[Sample], total: u64, of: fn(&Sample) -> Option<u64>) -> Vec<Option<u64>> {
    let Some(sum) = slots.iter().map(of).sum::<Option<u64>>() else {
        return alloc::vec![None; slots.len()];
    };
    let (mut to_here, mut share_to_here) = (0, 0);
    let share_of_slot = |slot| {
        to_here += of(slot).unwrap_or_default();
        let until = share(total, to_here, sum);
        Some(until - core::mem::replace(&mut share_to_here, until))
    };
    slots.iter().map(share_of_slot).collect()
}

/// `part` of `whole`, of `total`.
fn share(total: u64, part: u64, whole: u64) -> u64 {
    let share = (u128::from(total) * u128::from(part)).checked_div(whole.into());
    share.map_or(0, |share| share as u64)
}
