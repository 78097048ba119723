//! How a pace changes with time: segments of one rate each.

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Pace, Rate};

use crate::link::random::{Purpose, Random};

/// A time of one rate, in nanoseconds from the start of the trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PaceSegment {
    pub(super) from: u64,
    pub(super) until: u64,
    pub(super) rate: Rate,
}

/// No pace by chance has more: the last segment stays.
pub const PACE_SEGMENTS_MAX: usize = 20_000;

/// The segments from `begins` to `until`, without gaps; none of a pace that is no sequence of rates.
pub(super) fn pace_segments(pace: &Pace, begins: u64, until: u64) -> Vec<PaceSegment> {
    match pace {
        Pace::Unlimited | Pace::Poisson { .. } => Vec::new(),
        Pace::Constant { rate } => one_after_the_other([(*rate, Duration::MAX)], begins, until),
        Pace::Steps { steps } => {
            one_after_the_other(steps.iter().map(|step| (step.rate, step.lasts)), begins, until)
        }
        Pace::OnOff { rate, on_mean, off_mean, seed } => {
            let mut random = Random::new(*seed, 0, Purpose::Spells);
            let turns = [(*rate, *on_mean), (Rate::ZERO, *off_mean)].into_iter().cycle();
            let drawn = turns.map(|(rate, mean)| {
                let lasts = mean.as_nanos() as f64 * random.exponential();
                (rate, Duration::from_nanos(lasts as u64))
            });
            one_after_the_other(drawn.take(PACE_SEGMENTS_MAX), begins, until)
        }
    }
}

fn one_after_the_other(
    rates: impl IntoIterator<Item = (Rate, Duration)>,
    begins: u64,
    until: u64,
) -> Vec<PaceSegment> {
    let mut from = begins.min(until);
    let mut segments = Vec::new();
    for (rate, lasts) in rates {
        if from == until && !segments.is_empty() {
            break;
        }
        let left = u128::from(until - from);
        let ends = from + lasts.as_nanos().min(left) as u64;
        segments.push(PaceSegment { from, until: ends, rate });
        from = ends;
    }
    if let Some(last) = segments.last_mut() {
        last.until = until;
    }
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_is_on_and_off_for_times_of_their_means() {
        let pace = Pace::OnOff {
            rate: Rate::mbps(10),
            on_mean: Duration::from_millis(20),
            off_mean: Duration::from_millis(60),
            seed: 7,
        };
        let hundred_seconds = 100_000_000_000;
        let segments = pace_segments(&pace, 0, hundred_seconds);
        assert!(segments.windows(2).all(|pair| pair[0].until == pair[1].from));
        assert!(
            segments
                .windows(2)
                .all(|pair| (pair[0].rate == Rate::ZERO) != (pair[1].rate == Rate::ZERO))
        );
        let on = segments.iter().filter(|segment| segment.rate != Rate::ZERO);
        let on_ns: u64 = on.map(|segment| segment.until - segment.from).sum();
        // 1,250 turns of 80 ms, on for a quarter. One turn's 20 ms deviate by 20 ms, the time off
        // moves a quarter of its 60 ms: √(1250 · (0.75 · 20)² + 1250 · (0.25 · 60)²) ms = 0.75 s.
        let seconds = on_ns as f64 / 1e9;
        assert!((seconds - 25.0).abs() < 5.0 * 0.75, "{seconds}");
    }

    #[test]
    fn a_pace_whose_turns_take_no_time_ends_all_the_same() {
        let pace = Pace::OnOff {
            rate: Rate::mbps(10),
            on_mean: Duration::ZERO,
            off_mean: Duration::ZERO,
            seed: 7,
        };
        assert_eq!(pace_segments(&pace, 0, 1000).len(), PACE_SEGMENTS_MAX);
    }
}
