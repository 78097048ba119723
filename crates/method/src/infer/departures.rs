//! When the frames of a burst left, as its sender tells it.

use alloc::vec;
use alloc::vec::Vec;

use fp_model::{BurstReport, Departure};

/// Times of departure are told to the nanosecond.
const STAMP: f64 = 1e-9;

/// When each frame of a burst left, in seconds since the first one did: evenly where its sender does not tell.
pub(crate) fn departures(report: &BurstReport) -> Vec<f64> {
    let from = report.sent_from;
    let ends = |frame, at| Departure { frame, at };
    let even = [ends(0, from), ends(report.sent_frames.saturating_sub(1), report.sent_until)];
    let curve = if report.departures.is_empty() { &even } else { report.departures.as_slice() };
    let mut left = Vec::with_capacity(report.sent_frames as usize);
    for (one, next) in curve.iter().zip(curve.iter().skip(1)) {
        let [at, until] = [one, next].map(|knot| knot.at.as_secs_f64() - from.as_secs_f64());
        let slot = (until - at) / f64::from((next.frame - one.frame).max(1));
        left.extend((one.frame..next.frame).map(|frame| at + slot * f64::from(frame - one.frame)));
    }
    let last = curve.last().map_or(0.0, |knot| knot.at.saturating_sub(from).as_secs_f64());
    left.resize(report.sent_frames as usize, last);
    left
}

/// By how many seconds later than its departure each frame of a burst may have left the host, and the line
/// behind it that sends them `slot` seconds apart.
pub(crate) fn lateness(report: &BurstReport, left: &[f64], slot: f64) -> Vec<f64> {
    let mut late = vec![0.0; left.len()];
    for call in &report.slow_calls {
        let until = call.until.saturating_sub(report.sent_from).as_secs_f64();
        let frames = late.iter_mut().zip(left).skip(call.first as usize);
        for (late, left) in frames.take(call.frames as usize) {
            *late = (until - left).max(0.0);
        }
    }
    let mut free = f64::NEG_INFINITY;
    for (late, left) in late.iter_mut().zip(left) {
        if free > left + *late + STAMP {
            *late = free - left;
        }
        free = left + *late + slot;
    }
    late
}

/// How far from its curve of departures a frame may have left, in seconds.
pub(crate) fn unsure(report: &BurstReport) -> f64 {
    let known = !report.departures.is_empty();
    let most = if known { report.departures_within } else { report.behind };
    most.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use fp_model::SlowCall;

    use super::*;

    #[test]
    fn departures_are_read_from_their_curve_and_are_even_without_one() {
        let micros = Duration::from_micros;
        let report = BurstReport {
            sent_frames: 5,
            sent_from: micros(10),
            sent_until: micros(50),
            ..BurstReport::default()
        };
        let in_micros = |report: &BurstReport| -> Vec<u64> {
            departures(report).iter().map(|at| libm::round(at * 1e6) as u64).collect()
        };
        assert_eq!(in_micros(&report), [0, 10, 20, 30, 40]);
        let knots = [(0, 10), (1, 40), (4, 52)];
        let knots = knots.into_iter().map(|(frame, at)| Departure { frame, at: micros(at) });
        let curved = BurstReport { departures: knots.collect(), ..report.clone() };
        assert_eq!(in_micros(&curved), [0, 30, 34, 38, 42]);
        let slow_calls = vec![SlowCall { first: 1, frames: 2, until: micros(50) }];
        let late =
            lateness(&BurstReport { slow_calls, ..curved.clone() }, &departures(&curved), 0.0);
        let late: Vec<u64> = late.iter().map(|at| libm::round(at * 1e6) as u64).collect();
        assert_eq!(late, [0, 10, 6, 2, 0]);
        // A line that takes 6 µs for each sends the last four from 30 µs on.
        let late = lateness(&curved, &departures(&curved), 6e-6);
        let late: Vec<u64> = late.iter().map(|at| libm::round(at * 1e6) as u64).collect();
        assert_eq!(late, [0, 0, 2, 4, 6]);
        assert_eq!(
            in_micros(&BurstReport { sent_frames: 1, sent_until: micros(10), ..report }),
            [0]
        );
        assert_eq!(in_micros(&BurstReport::default()), []);
    }
}
