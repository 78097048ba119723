//! Flows in sum: those of a class, and all of a direction.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Direction, DscpCount, EcnCount, Rate, Sample};

use super::figures::{mean, with_usage};
use super::plan::Plan;
use super::resample::{Span, resample};
use super::steps::{Arrived, Carried, FlowStep, Part, RateByLayer, Transport};

/// The classes of each direction in the order of the plan, then a direction's sum where it has more
/// than one flow.
pub(super) fn of(plan: &Plan, flows: &[FlowStep]) -> Vec<FlowStep> {
    let mut sums = Vec::new();
    for direction in [Direction::Download, Direction::Upload] {
        let mine: Vec<&FlowStep> =
            flows.iter().filter(|flow| flow.direction == direction).collect();
        let mut classes: Vec<&str> = Vec::new();
        for class in mine.iter().filter_map(|flow| flow.class.as_deref()) {
            if !classes.contains(&class) {
                classes.push(class);
            }
        }
        for class in classes {
            let of_class: Vec<&FlowStep> =
                mine.iter().filter(|flow| flow.class.as_deref() == Some(class)).copied().collect();
            sums.extend(sum(plan, Part::Class, class.to_string(), &of_class));
        }
        if mine.len() > 1 {
            sums.extend(sum(plan, Part::Sum, format!("all {}", mine.len()), &mine));
        }
    }
    sums
}

fn sum(plan: &Plan, part: Part, name: String, flows: &[&FlowStep]) -> Option<FlowStep> {
    let first = *flows.first()?;
    let arrived = arrived(flows);
    let received = carried(
        flows.iter().map(|flow| (flow.begins, flow.received)),
        // A flow that waited until the others were through may have arrived after all of them.
        arrived.map_or(Duration::ZERO, |arrived| arrived.until.saturating_sub(arrived.from)),
    );
    let sent: Option<Vec<(Duration, Carried)>> =
        flows.iter().map(|flow| Some((flow.begins, flow.sent?))).collect();
    let step = FlowStep {
        name,
        part,
        class: first.class.clone().filter(|_| part == Part::Class),
        transport: common(flows, |flow| flow.transport),
        engine: common(flows, |flow| flow.engine),
        family: common(flows, |flow| flow.family),
        streams: flows.iter().map(|flow| flow.streams).sum(),
        dscp_sent: common(flows, |flow| flow.dscp_sent),
        dscp_received: dscps(flows),
        ecn_sent: common(flows, |flow| flow.ecn_sent),
        ecn_received: ecns(flows),
        begins: flows.iter().map(|flow| flow.begins).min().unwrap_or_default(),
        sent: sent.as_ref().map(|sent| carried(sent.iter().copied(), Duration::ZERO)),
        received,
        arrived,
        unsent: added(flows, |flow| flow.unsent),
        lost: added(flows, |flow| flow.lost),
        out_of_order: added(flows, |flow| flow.out_of_order),
        duplicates: added(flows, |flow| flow.duplicates),
        corrupt: added(flows, |flow| flow.corrupt),
        retransmitted_bytes: added(flows, |flow| flow.retransmitted_bytes),
        // Of several streams there is no one delay and no one variation of it.
        jitter: None,
        delay: None,
        rtt_mean: mean(flows.iter().filter_map(|flow| flow.rtt_mean)),
        rtt_min: flows.iter().filter_map(|flow| flow.rtt_min).min(),
        series: series(plan, flows),
        drained: None,
        connections: flows.iter().flat_map(|flow| flow.connections.clone()).collect(),
        conserved: flows.iter().all(|flow| flow.conserved),
        ..first.clone()
    };
    Some(with_usage(step, plan, &received.rates))
}

/// What all flows agree in.
fn common<T: PartialEq>(flows: &[&FlowStep], of: fn(&FlowStep) -> Option<T>) -> Option<T> {
    let first = of(flows.first()?)?;
    flows.iter().all(|flow| of(flow).as_ref() == Some(&first)).then_some(first)
}

/// `None` where it is known of no flow; those of which it is not known have none.
fn added(flows: &[&FlowStep], of: fn(&FlowStep) -> Option<u64>) -> Option<u64> {
    flows.iter().filter_map(|flow| of(flow)).reduce(|sum, each| sum + each)
}

/// What arrived of those flows of which it is known.
fn arrived(flows: &[&FlowStep]) -> Option<Arrived> {
    let known = flows.iter().filter_map(|flow| flow.arrived);
    known.reduce(|all, each| Arrived {
        from: all.from.min(each.from),
        until: all.until.max(each.until),
    })
}

/// The rates of all together, over the time from the first one's beginning to the last one's end,
/// which is `least` or more.
fn carried(parts: impl Iterator<Item = (Duration, Carried)> + Clone, least: Duration) -> Carried {
    let begins = parts.clone().map(|(begins, _)| begins).min().unwrap_or_default();
    let ends = parts.clone().map(|(begins, part)| begins + part.lasts).max().unwrap_or_default();
    let lasts = ends.saturating_sub(begins).max(least);
    let rate = |of: fn(&RateByLayer) -> Rate| {
        let bits = |part: &Carried| of(&part.rates).as_bps() as f64 * part.lasts.as_secs_f64();
        let bits: f64 = parts.clone().map(|(_, part)| bits(&part)).sum();
        if lasts.is_zero() { Rate::ZERO } else { Rate::bps((bits / lasts.as_secs_f64()) as u64) }
    };
    Carried {
        payload_bytes: parts.clone().map(|(_, part)| part.payload_bytes).sum(),
        packets: parts.clone().map(|(_, part)| part.packets).sum(),
        lasts,
        rates: RateByLayer {
            l1: rate(|rates| rates.l1),
            l2: rate(|rates| rates.l2),
            l3: rate(|rates| rates.l3),
            l4: rate(|rates| rates.l4),
        },
    }
}

fn dscps(flows: &[&FlowStep]) -> Vec<DscpCount> {
    let mut all: Vec<DscpCount> = Vec::new();
    for count in flows.iter().flat_map(|flow| &flow.dscp_received) {
        match all.iter_mut().find(|known| known.dscp == count.dscp) {
            Some(known) => known.frames += count.frames,
            None => all.push(*count),
        }
    }
    all
}

fn ecns(flows: &[&FlowStep]) -> Vec<EcnCount> {
    let mut all: Vec<EcnCount> = Vec::new();
    for count in flows.iter().flat_map(|flow| &flow.ecn_received) {
        match all.iter_mut().find(|known| known.ecn == count.ecn) {
            Some(known) => known.frames += count.frames,
            None => all.push(*count),
        }
    }
    all
}

/// The series of all flows on the slots of the trial, which every one of them keeps to but for what
/// its threads were late.
fn series(plan: &Plan, flows: &[&FlowStep]) -> Vec<Sample> {
    let mut slots = plan.timing.grid();
    slots.retain(|slot| slot.start >= plan.timing.warm_up);
    // A late thread cuts late: the outer slots take what lies beyond them.
    let mut edges: Vec<Duration> = slots.iter().skip(1).map(|slot| slot.start).collect();
    edges.insert(0, Duration::ZERO);
    edges.push(Duration::MAX);
    let mut samples: Vec<Sample> = slots
        .iter()
        .map(|slot| Sample {
            at: slot.start,
            lasts: slot.end - slot.start,
            steady: slot.steady,
            sent_bytes: Some(0),
            received_bytes: Some(0),
            ..Sample::default()
        })
        .collect();
    for flow in flows {
        add(&mut samples, flow, &edges, |slot| slot.sent_bytes, |slot| &mut slot.sent_bytes);
        add(&mut samples, flow, &edges, |slot| slot.received_bytes, |s| &mut s.received_bytes);
    }
    let tcp: Vec<&FlowStep> =
        flows.iter().filter(|flow| flow.transport == Some(Transport::Tcp)).copied().collect();
    let mut counted = tcp.iter().flat_map(|flow| &flow.series);
    let is_active_known = counted.any(|slot| slot.active_connections.is_some());
    for slot in &mut samples {
        slot.retransmitted_bytes = (!tcp.is_empty()).then_some(0);
        slot.active_connections = is_active_known.then_some(0);
    }
    for flow in tcp {
        let resent = |slot: &Sample| slot.retransmitted_bytes;
        add(&mut samples, flow, &edges, resent, |slot| &mut slot.retransmitted_bytes);
        add_active(&mut samples, flow);
    }
    samples
}

/// Adds the connections that one flow had in the middle of each slot; before its first and after its
/// last it has none.
fn add_active(samples: &mut [Sample], flow: &FlowStep) {
    let mut slots = flow.series.iter().peekable();
    for sample in samples {
        let middle = sample.at + sample.lasts / 2;
        while slots.next_if(|slot| slot.at + slot.lasts <= middle).is_some() {}
        let now = slots.peek().filter(|slot| slot.at <= middle);
        let active = now.and_then(|slot| slot.active_connections).unwrap_or(0);
        sample.active_connections = sample.active_connections.map(|sum| sum + active);
    }
}

/// Adds what one flow moved; a sum of which a part is not known is not known.
fn add(
    samples: &mut [Sample],
    flow: &FlowStep,
    edges: &[Duration],
    of: fn(&Sample) -> Option<u64>,
    to: fn(&mut Sample) -> &mut Option<u64>,
) {
    let bytes = spans(&flow.series, of).map(|spans| resample(&spans, edges));
    for (place, sample) in samples.iter_mut().enumerate() {
        let sum = to(sample);
        *sum = sum.zip(bytes.as_ref()).map(|(sum, bytes)| sum + bytes[place]);
    }
}

/// `None` where a slot is not known.
pub(super) fn spans(series: &[Sample], bytes: fn(&Sample) -> Option<u64>) -> Option<Vec<Span>> {
    let span = |slot: &Sample| {
        let bytes = bytes(slot)?;
        Some(Span { at: slot.at, lasts: slot.lasts, bytes })
    };
    series.iter().map(span).collect()
}
