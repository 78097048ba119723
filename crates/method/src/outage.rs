//! Times in which nothing of a stream arrived although it was being sent: the path was down.

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{
    Behaviour, ConnectionsLoad, ConnectionsReport, ConnectionsSample, Direction, FlowReport,
    FlowSpec, FramesReport, Load, Observation, Pace, Sample, Sender, TcpLoad, TcpReport, Timing,
    Trial,
};

/// From this length on we call it an outage: four slots of a series.
const SHORTEST: Duration = Duration::from_millis(200);
/// Linux retransmits at the earliest 200 ms after the last acknowledgement, and 400 ms after that: TCP
/// that is silent for longer has lost two transmissions in succession on every connection. Less one
/// slot, by which a series resolves.
const TWO_TIMEOUTS: Duration = Duration::from_millis(550);
/// A path that drops frames by chance or by a policer passes some of them in any longer time. If it
/// passed frames at the rate of the rest of the trial, and independently, no arrival where this many
/// are expected has a chance of e^-20, 2 in a billion.
const EXPECTED_FRAMES: f64 = 20.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outage {
    /// From the start of the trial; `None` where the series is too coarse to say.
    pub(crate) at: Option<Duration>,
    pub(crate) lasts: Duration,
}

/// The longest outage of a trial, if there was one: a time in which nothing arrived on any of the flows
/// of a direction, since one flow alone may be starved by the others. A host that stood still for as
/// long explains arrivals that pause.
pub(crate) fn longest(trial: &Trial, seen: &Observation) -> Option<Outage> {
    let all = || trial.flows.iter().zip(&seen.flows);
    let directions = [Direction::Download, Direction::Upload];
    let outages = directions.into_iter().filter_map(|direction| {
        let mut flows = all().filter(|(spec, _)| spec.direction == direction);
        let first = flows.next()?;
        let mut outage = of_flow(first, &trial.timing)?;
        for flow in flows {
            let other = of_flow(flow, &trial.timing)?;
            outage = outage.and(other)?;
        }
        Some(outage)
    });
    let outage = outages.max_by_key(|outage| outage.lasts)?;
    (outage.lasts > seen.longest_stall()).then_some(outage)
}

impl Outage {
    /// What both have in common, as far as it is known when they were.
    fn and(self, other: Self) -> Option<Self> {
        let (one, two) = (self.at?, other.at?);
        let at = one.max(two);
        let lasts = (one + self.lasts).min(two + other.lasts).checked_sub(at)?;
        (lasts >= SHORTEST).then_some(Self { at: Some(at), lasts })
    }
}

fn of_flow((spec, report): (&FlowSpec, &FlowReport), timing: &Timing) -> Option<Outage> {
    match (report, &spec.load) {
        (FlowReport::Frames(report), Load::Frames(load)) => {
            let is_even = matches!(load.pace, Pace::Constant { .. });
            of_frames(report, is_even.then_some(timing.steady))
        }
        (FlowReport::Tcp(report), Load::Tcp(load)) => of_tcp(report, load),
        (FlowReport::Connections(report), Load::Connections(load)) => of_connections(report, load),
        _ => None,
    }
}

/// `even` is the steady time of a stream of constant rate.
fn of_frames(report: &FramesReport, even: Option<Duration>) -> Option<Outage> {
    let frame_bytes = report.sent_bytes as f64 / report.sent_frames.max(1) as f64;
    let lost = report.sent_frames.saturating_sub(report.received_frames) as f64;
    let delay = report.delay.map_or(Duration::MAX, |delay| delay.min);
    let is_sent = |slot: &Sample| slot.sent_bytes.unwrap_or_default() > 0;
    let in_slots = longest_pause(&report.series, is_sent, delay);
    let in_run = even.and_then(|steady| longest_run(report, steady));
    // Slots say when it was; a run of lost frames is known however long they are.
    let in_slots = in_slots.filter(|outage| outage.lasts >= SHORTEST);
    let outage = in_slots.or(in_run)?;
    let expected = expected_bytes(&report.series, outage.lasts) / frame_bytes;
    // Frames of an outage are lost; those that wait for a host arrive later.
    let is_lost = lost >= expected / 2.0;
    let is_outage = outage.lasts >= SHORTEST && expected >= EXPECTED_FRAMES && is_lost;
    is_outage.then_some(outage)
}

/// Of connections that always have more to send.
fn of_tcp(report: &TcpReport, load: &TcpLoad) -> Option<Outage> {
    let is_busy = load.pace.is_unlimited() && matches!(load.sender, Sender::Bulk | Sender::Burst);
    let rtt = report.connections.iter().filter_map(|connection| connection.rtt_mean).max();
    let rtt = rtt.filter(|_| is_busy)?;
    let active = report.series.iter().rposition(|slot| slot.steady)? + 1;
    let series = &report.series[..active];
    let outage = longest_pause(series, |_| true, Duration::MAX)?;
    let expected = expected_bytes(series, outage.lasts) / f64::from(load.mss_bytes.max(1));
    let is_outage = outage.lasts >= TWO_TIMEOUTS + 2 * rtt && expected >= EXPECTED_FRAMES;
    is_outage.then_some(outage)
}

/// Of connections that speak independently: the longest time in which none was opened and none got an
/// answer, though some were asked for, or were open and had no more to think about: those that were
/// opened within a short time ask within a short time again, and think meanwhile.
fn of_connections(report: &ConnectionsReport, load: &ConnectionsLoad) -> Option<Outage> {
    let thinks = load.mix.iter().filter_map(|share| match share.behaviour {
        Behaviour::Transaction { think, .. } => Some(think),
        Behaviour::Hold
        | Behaviour::Download { .. }
        | Behaviour::Upload { .. }
        | Behaviour::Both { .. } => None,
    });
    let asked_for = silence(report, |slot| slot.pending > 0, Duration::ZERO);
    // Within its thinking and one transaction every connection that is open is answered once.
    let answer = report.transaction.as_ref().map_or(Duration::ZERO, |times| times.p50);
    let open =
        thinks.max().and_then(|think| silence(report, |slot| slot.active > 0, think + answer));
    asked_for.into_iter().chain(open).max_by_key(|outage| outage.lasts)
}

/// The longest time without an event while `waits` was so, where it is longer than without an outage.
fn silence(
    report: &ConnectionsReport,
    waits: impl Fn(&ConnectionsSample) -> bool,
    without_outage: Duration,
) -> Option<Outage> {
    let happened = |slot: &ConnectionsSample| slot.established + slot.transactions;
    let series: Vec<Sample> = report
        .series
        .iter()
        .map(|slot| Sample {
            at: slot.at,
            lasts: slot.lasts,
            sent_bytes: Some(waits(slot).into()),
            received_bytes: Some(happened(slot)),
            ..Sample::default()
        })
        .collect();
    let is_open = |slot: &Sample| slot.sent_bytes.unwrap_or_default() > 0;
    // A pause that goes on to the end may be that of connections that only wait to be closed.
    let last = series.iter().rposition(|slot| slot.received_bytes > Some(0))?;
    let outage = longest_pause(&series[..=last], is_open, Duration::MAX)?;
    let is_outage = outage.lasts >= SHORTEST.max(without_outage)
        && expected_bytes(&series[..=last], outage.lasts) >= EXPECTED_FRAMES;
    is_outage.then_some(outage)
}

/// What arrives in this time at the rate outside of an outage as long.
fn expected_bytes(series: &[Sample], outage: Duration) -> f64 {
    let active = series.iter().filter(|slot| slot.sent_bytes.unwrap_or_default() > 0);
    let (mut lasts, mut bytes) = (Duration::ZERO, 0_u64);
    for slot in active {
        lasts += slot.lasts;
        bytes = bytes.saturating_add(slot.received_bytes.unwrap_or_default());
    }
    let other = lasts.saturating_sub(outage).as_secs_f64().max(1e-3);
    bytes as f64 * outage.as_secs_f64() / other
}

/// The longest run of slots in which something was sent and nothing arrived. Slots before the first
/// arrival count only beyond the delay of the path.
fn longest_pause(
    series: &[Sample],
    is_sent: impl Fn(&Sample) -> bool,
    delay: Duration,
) -> Option<Outage> {
    let arrives = |slot: &Sample| slot.received_bytes.unwrap_or_default() > 0;
    let first = series.iter().position(arrives)?;
    let mut longest: Option<Outage> = None;
    let mut pause: Option<(Duration, Duration)> = None;
    for (place, slot) in series.iter().enumerate() {
        if arrives(slot) || !is_sent(slot) {
            pause = None;
            continue;
        }
        let (at, lasted) = pause.unwrap_or((slot.at, Duration::ZERO));
        pause = Some((at, lasted + slot.lasts));
        let waits = if place < first { delay } else { Duration::ZERO };
        let lasts = (lasted + slot.lasts).saturating_sub(waits);
        if longest.is_none_or(|longest| longest.lasts < lasts) {
            longest = Some(Outage { at: Some(at), lasts });
        }
    }
    longest
}

/// The longest run of lost frames of a constant rate, which is known however long the slots are.
fn longest_run(report: &FramesReport, steady: Duration) -> Option<Outage> {
    let share = report.longest_loss_run? as f64 / report.planned_frames.max(1) as f64;
    Some(Outage { at: None, lasts: steady.mul_f64(share.min(1.0)) })
}
