//! Rates as functions of time, and the steps in which a sender follows them.

use alloc::vec::Vec;
use core::f64::consts::TAU;
use core::time::Duration;

use fp_model::{Rate, Step};
use serde::{Deserialize, Serialize};

/// A rate that changes with time. All but `Recorded` begin anew with each period.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "shape", rename_all = "lowercase")]
pub enum Profile {
    Constant {
        rate_bps: Rate,
    },
    /// From `low` up to `peak` in half a period, and down again.
    Triangle(Wave),
    /// From `low` up to `peak` in a whole period, and down at once.
    Sawtooth(Wave),
    /// Begins and ends at `low`, its mean is that of the triangle.
    Sine(Wave),
    /// At `peak` for the first half of a period, then at `low`.
    Square(Wave),
    /// One step after the other, then the first one again.
    Steps {
        steps: Vec<Step>,
    },
    /// Rates as they were noted, each until the time of the next one; the last one stays.
    Recorded {
        points: Vec<Point>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wave {
    pub low_bps: Rate,
    pub peak_bps: Rate,
    pub period_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    pub at_ns: u64,
    pub rate_bps: Rate,
}

impl Profile {
    /// The mean rate of each interval of `lasts`, the last one perhaps shorter: whoever sends at
    /// these rates has sent, by the end of every interval, what the profile asks for.
    ///
    /// # Panics
    /// For an interval of no time, and for a profile whose period or steps last no time.
    pub fn steps(&self, lasts: Duration, interval: Duration) -> Vec<Step> {
        assert!(!interval.is_zero(), "a profile is followed in intervals of some time");
        let (lasts_ns, interval_ns) = (nanos(lasts), nanos(interval));
        let mut steps = Vec::new();
        let mut from_ns = 0;
        while from_ns < lasts_ns {
            let until_ns = lasts_ns.min(from_ns + interval_ns);
            let seconds = (until_ns - from_ns) as f64 / 1e9;
            let bits = self.bits_until(until_ns) - self.bits_until(from_ns);
            let rate = Rate::bps((bits / seconds + 0.5) as u64);
            steps.push(Step { rate, lasts: Duration::from_nanos(until_ns - from_ns) });
            from_ns = until_ns;
        }
        steps
    }

    /// The highest rate that it ever asks for.
    pub fn peak(&self) -> Rate {
        let highest = match self {
            Self::Constant { rate_bps } => Some(*rate_bps),
            Self::Triangle(wave) | Self::Sawtooth(wave) | Self::Sine(wave) | Self::Square(wave) => {
                Some(wave.peak_bps.max(wave.low_bps))
            }
            Self::Steps { steps } => steps.iter().map(|step| step.rate).max(),
            Self::Recorded { points } => points.iter().map(|point| point.rate_bps).max(),
        };
        highest.unwrap_or(Rate::ZERO)
    }

    /// The integral of the rate from the beginning.
    fn bits_until(&self, time_ns: u64) -> f64 {
        match self {
            Self::Constant { rate_bps } => bps(*rate_bps) * time_ns as f64 / 1e9,
            Self::Triangle(wave) => wave.bits_until(time_ns, triangle),
            Self::Sawtooth(wave) => wave.bits_until(time_ns, |phase| phase * phase / 2.0),
            Self::Sine(wave) => wave.bits_until(time_ns, raised_cosine),
            Self::Square(wave) => wave.bits_until(time_ns, |phase| phase.min(0.5)),
            Self::Steps { steps } => bits_of_steps(steps, time_ns),
            Self::Recorded { points } => bits_of_points(points, time_ns),
        }
    }
}

impl Wave {
    /// `shape` is the integral, over a part of the period from 0 to 1, of what the wave adds to
    /// `low` as a share of the way to `peak`.
    fn bits_until(&self, time_ns: u64, shape: impl Fn(f64) -> f64) -> f64 {
        assert!(self.period_ns > 0, "a wave has a period of some time");
        let phase = (time_ns % self.period_ns) as f64 / self.period_ns as f64;
        let periods = (time_ns / self.period_ns) as f64;
        let share = periods * shape(1.0) + shape(phase);
        let (low, way) = (bps(self.low_bps), bps(self.peak_bps) - bps(self.low_bps));
        low * time_ns as f64 / 1e9 + way * share * self.period_ns as f64 / 1e9
    }
}

fn triangle(phase: f64) -> f64 {
    if phase <= 0.5 { phase * phase } else { 0.5 - (1.0 - phase) * (1.0 - phase) }
}

/// Of (1 − cos 2πx) / 2.
fn raised_cosine(phase: f64) -> f64 {
    phase / 2.0 - libm::sin(TAU * phase) / (2.0 * TAU)
}

fn bits_of_steps(steps: &[Step], time_ns: u64) -> f64 {
    let period_ns: u64 = steps.iter().map(|step| nanos(step.lasts)).sum();
    assert!(period_ns > 0, "steps last some time");
    let bits = |step: &Step, ns: u64| bps(step.rate) * ns as f64 / 1e9;
    let whole: f64 = steps.iter().map(|step| bits(step, nanos(step.lasts))).sum();
    let mut left_ns = time_ns % period_ns;
    let mut part = 0.0;
    for step in steps {
        let of_step_ns = left_ns.min(nanos(step.lasts));
        part += bits(step, of_step_ns);
        left_ns -= of_step_ns;
    }
    (time_ns / period_ns) as f64 * whole + part
}

/// Nothing is asked for before the first point.
fn bits_of_points(points: &[Point], time_ns: u64) -> f64 {
    let ends = points.iter().skip(1).map(|point| point.at_ns).chain([u64::MAX]);
    let bits = |(point, end): (&Point, u64)| {
        let lasts_ns = end.min(time_ns).saturating_sub(point.at_ns);
        bps(point.rate_bps) * lasts_ns as f64 / 1e9
    };
    points.iter().zip(ends).map(bits).sum()
}

fn bps(rate: Rate) -> f64 {
    rate.as_bps() as f64
}

fn nanos(time: Duration) -> u64 {
    time.as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn wave(peak_mbps: u64, period_s: u64) -> Wave {
        let (low_bps, peak_bps) = (Rate::ZERO, Rate::mbps(peak_mbps));
        Wave { low_bps, peak_bps, period_ns: period_s * 1_000_000_000 }
    }

    fn rates(profile: &Profile, seconds: u32) -> Vec<u64> {
        profile.steps(SECOND * seconds, SECOND).iter().map(|step| step.rate.as_bps()).collect()
    }

    /// From 0 to 300 Mbit/s and back in 20 s: 30 Mbit/s more each second, 15 in the mean of the first.
    #[test]
    fn a_triangle_goes_up_for_half_a_period_and_down_for_the_other() {
        let profile = Profile::Triangle(wave(300, 20));
        let up: Vec<u64> = (0..10).map(|second| 15_000_000 + 30_000_000 * second).collect();
        let down: Vec<u64> = up.iter().rev().copied().collect();
        assert_eq!(rates(&profile, 20), [up.clone(), down].concat());
        assert_eq!(rates(&profile, 30)[20..], up);
        assert_eq!(profile.peak(), Rate::mbps(300));
    }

    #[test]
    fn a_sawtooth_falls_at_once_and_a_square_jumps() {
        assert_eq!(
            rates(&Profile::Sawtooth(wave(40, 4)), 5),
            [5_000_000, 15_000_000, 25_000_000, 35_000_000, 5_000_000]
        );
        let low_bps = Rate::mbps(10);
        let square = Profile::Square(Wave { low_bps, ..wave(40, 4) });
        assert_eq!(rates(&square, 5), [40, 40, 10, 10, 40].map(|mbps| mbps * 1_000_000));
    }

    /// (1 − cos 2πx) / 2 over the quarters of a period: 1/2 ∓ 1/π, from sin(π/2) / 2π · 4 / 2.
    #[test]
    fn a_sine_begins_and_ends_at_its_lowest() {
        let rates = rates(&Profile::Sine(wave(100, 4)), 4);
        let low = 50e6 - 100e6 / core::f64::consts::PI;
        let high = 50e6 + 100e6 / core::f64::consts::PI;
        for (rate, exact) in rates.iter().zip([low, high, high, low]) {
            assert!((*rate as f64 - exact).abs() <= 1.0, "{rate} for {exact}");
        }
    }

    #[test]
    fn steps_begin_anew_and_what_was_recorded_stays_at_its_last_rate() {
        let step = |mbps, seconds| Step { rate: Rate::mbps(mbps), lasts: SECOND * seconds };
        let steps = Profile::Steps { steps: Vec::from([step(10, 1), step(0, 2)]) };
        assert_eq!(rates(&steps, 5), [10_000_000, 0, 0, 10_000_000, 0]);
        let point =
            |at_ms: u64, mbps| Point { at_ns: at_ms * 1_000_000, rate_bps: Rate::mbps(mbps) };
        let points = Vec::from([point(500, 10), point(2000, 4), point(3000, 6)]);
        let recorded = Profile::Recorded { points };
        assert_eq!(rates(&recorded, 5), [5, 10, 4, 6, 6].map(|mbps| mbps * 1_000_000));
    }

    fn any_profile() -> impl Strategy<Value = Profile> {
        let rate = (0_u64..2_000_000_000).prop_map(Rate::bps);
        let wave = (rate.clone(), rate.clone(), 1_u64..100_000_000_000)
            .prop_map(|(low_bps, peak_bps, period_ns)| Wave { low_bps, peak_bps, period_ns });
        let step = (rate.clone(), 1_u64..10_000_000_000)
            .prop_map(|(rate, ns)| Step { rate, lasts: Duration::from_nanos(ns) });
        prop_oneof![
            rate.prop_map(|rate_bps| Profile::Constant { rate_bps }),
            wave.clone().prop_map(Profile::Triangle),
            wave.clone().prop_map(Profile::Sawtooth),
            wave.clone().prop_map(Profile::Sine),
            wave.prop_map(Profile::Square),
            prop::collection::vec(step, 1..6).prop_map(|steps| Profile::Steps { steps }),
        ]
    }

    proptest! {
        #[test]
        fn steps_of_any_length_ask_for_the_same_bits(
            profile in any_profile(), lasts_ms in 1_u64..60_000, interval_ms in 1_u64..2000,
        ) {
            let lasts = Duration::from_millis(lasts_ms);
            let bits = |interval: Duration| -> f64 {
                let steps = profile.steps(lasts, interval);
                assert_eq!(steps.iter().map(|step| step.lasts).sum::<Duration>(), lasts);
                assert!(steps.iter().all(|step| step.rate <= profile.peak()));
                steps.iter().map(|step| bps(step.rate) * step.lasts.as_secs_f64()).sum()
            };
            let (fine, coarse) = (bits(Duration::from_millis(interval_ms)), bits(lasts));
            // A rate is rounded to the bit per second.
            prop_assert!((fine - coarse).abs() <= lasts.as_secs_f64() + 1.0, "{fine} {coarse}");
        }
    }
}
