//! How flows followed the profile that they shared, and what kept them from it.

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Direction, Rate, Sample};

use super::plan::{Arrivals, Plan, SharedProfile};
use super::resample::{Span, resample};
use super::steps::{FlowStep, Interval, Limit, ProfileStep};
use super::sums::spans;
use crate::tester::LOST_PERCENT_MAX;

/// Nearer than that to the target, a flow follows it.
const FOLLOWED_PERCENT_MAX: f64 = 5.0;
/// Of what was sent: more than any random loss that TCP bears.
const LOSS_PERCENT_MIN: f64 = 0.05;
/// A plateau so near to the window's limit is the window's.
const WINDOW_SHARES: (f64, f64) = (0.85, 1.1);

/// A step for each direction that has flows.
pub(super) fn steps(plan: &Plan, shared: &SharedProfile, flows: &[FlowStep]) -> Vec<ProfileStep> {
    let directions = [Direction::Download, Direction::Upload].into_iter();
    let step = |direction| {
        let mine: Vec<&FlowStep> =
            flows.iter().filter(|flow| flow.direction == direction).collect();
        (!mine.is_empty()).then(|| step(plan, shared, direction, &mine))
    };
    directions.filter_map(step).collect()
}

fn step(
    plan: &Plan,
    shared: &SharedProfile,
    direction: Direction,
    flows: &[&FlowStep],
) -> ProfileStep {
    let delay = delay(flows);
    let intervals = intervals(plan, shared, flows, delay).unwrap_or_default();
    let is_even = shared.arrivals == Arrivals::Even;
    let error = |of| error_percent(&intervals, of).filter(|_| is_even);
    let mut step = ProfileStep {
        profile: shared.written.clone(),
        direction,
        streams: flows.iter().map(|flow| flow.streams).sum(),
        delay,
        tracking_error_percent: error(|interval| interval.received_l4),
        sent_error_percent: error(|interval| interval.sent_l4),
        intervals,
        limit: Limit::Unknown,
    };
    step.limit = limit(&step, flows);
    step
}

/// How long a packet is on its way: half a round trip where only that is known.
fn delay(flows: &[&FlowStep]) -> Duration {
    let one_way = flows.iter().filter_map(|flow| match flow.delay {
        Some(delay) => Some(delay.p50),
        None => flow.rtt_mean.map(|rtt| rtt / 2),
    });
    one_way.max().unwrap_or_default()
}

/// Target, sent and received on the profile's own grid, the last two cut from the series of both
/// ends; `None` where an end does not tell.
fn intervals(
    plan: &Plan,
    shared: &SharedProfile,
    flows: &[&FlowStep],
    delay: Duration,
) -> Option<Vec<Interval>> {
    let targets = shared.profile.steps(plan.timing.active(), shared.interval);
    let mut edges = Vec::from([Duration::ZERO]);
    for step in &targets {
        edges.push(edges.last().copied().unwrap_or_default() + step.lasts);
    }
    let later: Vec<Duration> = edges.iter().map(|edge| *edge + delay).collect();
    let (mut sent, mut received) = (alloc::vec![0; targets.len()], alloc::vec![0; targets.len()]);
    for flow in flows {
        let sent_then = spans(&flow.series, |slot| slot.sent_bytes)?;
        add(&mut sent, &resample(&sent_then, &edges));
        add(&mut received, &resample(&arrivals(flow, delay)?, &later));
    }
    let both = sent.into_iter().zip(received);
    let all = targets.iter().zip(&edges).zip(both);
    let interval =
        |((target, at), (sent, received)): ((&fp_model::Step, &Duration), (u64, u64))| Interval {
            at: *at,
            lasts: target.lasts,
            target_l4: target.rate,
            sent_l4: Rate::over(sent, target.lasts),
            received_l4: Rate::over(received, target.lasts),
        };
    Some(all.map(interval).collect())
}

fn add(sums: &mut [u64], bytes: &[u64]) {
    sums.iter_mut().zip(bytes).for_each(|(sum, bytes)| *sum += bytes);
}

/// What arrived when. After the steady time comes what was on its way then: it takes the time of a
/// packet, not all of the time that was waited.
fn arrivals(flow: &FlowStep, delay: Duration) -> Option<Vec<Span>> {
    let series: Vec<Sample> = flow.series.iter().chain(&flow.drained).copied().collect();
    let mut spans = spans(&series, |slot| slot.received_bytes)?;
    if let (Some(last), Some(slot)) = (spans.last_mut(), series.last())
        && !slot.steady
    {
        last.lasts = last.lasts.min(delay);
    }
    Some(spans)
}

/// Root of the mean square of what differs from the target, as a share of the mean target.
fn error_percent(intervals: &[Interval], of: fn(&Interval) -> Rate) -> Option<f64> {
    let seconds: f64 = intervals.iter().map(|interval| interval.lasts.as_secs_f64()).sum();
    let weighed = |value: &dyn Fn(&Interval) -> f64| -> f64 {
        intervals.iter().map(|each| value(each) * each.lasts.as_secs_f64()).sum()
    };
    let bps = |rate: Rate| rate.as_bps() as f64;
    let squares = weighed(&|each| {
        let off = bps(of(each)) - bps(each.target_l4);
        off * off
    });
    let target = weighed(&|each| bps(each.target_l4)) / seconds;
    (target > 0.0).then(|| 100.0 * libm::sqrt(squares / seconds) / target)
}

fn limit(step: &ProfileStep, flows: &[&FlowStep]) -> Limit {
    let is_followed = match step.tracking_error_percent {
        Some(error) => error <= FOLLOWED_PERCENT_MAX,
        // What is drawn by chance has come as it was drawn if all of it has come.
        None => missing_percent(step) <= FOLLOWED_PERCENT_MAX,
    };
    if is_followed {
        return Limit::Followed;
    }
    if unsent_percent(flows) > LOST_PERCENT_MAX {
        return Limit::Tester;
    }
    let Some(plateau) = plateau(step) else { return Limit::Unknown };
    let windows = flows.iter().map(|flow| flow.window_limit_l4().map(Rate::as_bps));
    let window = windows.sum::<Option<u64>>().filter(|window| *window > 0);
    if lost_percent(flows) > LOSS_PERCENT_MIN {
        let resent = |slot: &&Sample| slot.retransmitted_bytes.is_some_and(|bytes| bytes > 0);
        let first = flows.iter().filter_map(|flow| flow.series.iter().find(resent));
        return Limit::RateLimit {
            from: first.map(|slot| slot.at).min(),
            limit_l4: plateau,
            window_l4: window.map(Rate::bps),
        };
    }
    let share = window.map(|window| plateau.as_bps() as f64 / window as f64);
    match (window, share) {
        (Some(window), Some(share)) if share >= WINDOW_SHARES.0 && share <= WINDOW_SHARES.1 => {
            Limit::Window { limit_l4: Rate::bps(window) }
        }
        _ => Limit::Line { limit_l4: plateau },
    }
}

fn missing_percent(step: &ProfileStep) -> f64 {
    let bits = |of: fn(&Interval) -> Rate| -> f64 {
        let each = step.intervals.iter();
        each.map(|each| of(each).as_bps() as f64 * each.lasts.as_secs_f64()).sum()
    };
    let sent = bits(|each| each.sent_l4);
    if sent > 0.0 { 100.0 * (1.0 - bits(|each| each.received_l4) / sent) } else { 100.0 }
}

fn unsent_percent(flows: &[&FlowStep]) -> f64 {
    let sum = |of: fn(&FlowStep) -> Option<u64>| -> u64 {
        flows.iter().filter_map(|flow| of(flow)).sum()
    };
    let (unsent, sent) = (sum(|flow| flow.unsent), sum(|flow| flow.sent?.packets));
    100.0 * unsent as f64 / (unsent + sent).max(1) as f64
}

/// Of all bytes or packets: those that had to be sent again or did not arrive.
fn lost_percent(flows: &[&FlowStep]) -> f64 {
    let shares = flows.iter().map(|flow| match flow.retransmitted_bytes.zip(flow.sent) {
        Some((resent, sent)) => 100.0 * resent as f64 / sent.payload_bytes.max(1) as f64,
        None => flow.loss_percent().unwrap_or(0.0),
    });
    shares.fold(0.0, f64::max)
}

/// What came through where more was asked for.
fn held_back(step: &ProfileStep) -> Vec<Interval> {
    let is_held = |each: &&Interval| {
        each.received_l4.as_bps() as f64 <= 0.95 * each.target_l4.as_bps() as f64
    };
    step.intervals.iter().filter(is_held).copied().collect()
}

/// The median of what came through where more was asked for.
fn plateau(step: &ProfileStep) -> Option<Rate> {
    let mut rates: Vec<Rate> = held_back(step).iter().map(|each| each.received_l4).collect();
    rates.sort_unstable();
    rates.get(rates.len() / 2).copied()
}
