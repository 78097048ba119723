//! How much a figure differs without anything having changed.

use fp_model::figure::{Info, Known, Spread};

use crate::chart::slots::{self, Slot};
use crate::stored::fields::Fields;

/// Fewer other runs say little of how much runs differ.
const REPEATS_MIN: usize = 3;
/// A course is cut into so many parts; neighbouring slots are not independent, these parts nearly are.
const BATCHES: usize = 10;
const BATCHES_MIN: usize = 5;
/// Kernels report the RTT in whole microseconds.
const RTT_RESOLUTION_MS: f64 = 1e-3;

/// What is known of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Noise {
    pub(super) ground: Ground,
    /// A difference that is larger is none of chance, with 99 % confidence.
    margin: f64,
}

/// From what it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ground {
    /// So many other runs.
    Repeats(usize),
    /// The bounds of the figures themselves.
    Bounds,
    /// Repetitions inside the runs.
    Repetitions,
    /// How the figure wavers in the course of the runs.
    Course,
}

impl Noise {
    pub(super) fn is_beyond(&self, first: f64, second: f64) -> bool {
        (second - first).abs() > self.margin
    }

    fn larger(self, other: Self) -> Self {
        if other.margin > self.margin { other } else { self }
    }

    /// The largest difference that may be chance; `None` where an interval has no end.
    pub(super) fn margin(&self) -> Option<f64> {
        Some(self.margin).filter(|margin| margin.is_finite())
    }
}

/// What both runs say of a figure: the steps and their values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Both<'a> {
    pub(super) steps: [Fields<'a>; 2],
    pub(super) values: [Known<f64>; 2],
}

/// `None` where nothing is known. The figures' own intervals come first; what a lost segment costs is
/// chance that they do not know of, so then the larger of both counts.
pub(super) fn of(figure: &Info, both: Both<'_>, repeats: &[f64]) -> Option<Noise> {
    let Both { steps, values: [first, second] } = both;
    let own = apart(first, second).map(|margin| Noise { ground: Ground::Bounds, margin });
    let retransmitted = |step: &Fields<'_>| step.number("retransmitted_bytes") > Some(0.0);
    let has_lost = figure.spread == Spread::Throughput && steps.iter().any(retransmitted);
    match own {
        Some(own) if !has_lost => Some(own),
        Some(own) => Some(varied(figure, steps, repeats).map_or(own, |other| own.larger(other))),
        None => varied(figure, steps, repeats),
    }
}

/// By how much the figure varies, from run to run or inside the runs.
fn varied(figure: &Info, steps: [Fields<'_>; 2], repeats: &[f64]) -> Option<Noise> {
    if repeats.len() >= REPEATS_MIN {
        let deviation = deviation(repeats)?;
        // Of the difference of two runs.
        let margin = confidence(repeats.len() - 1) * deviation * std::f64::consts::SQRT_2;
        return Some(Noise { ground: Ground::Repeats(repeats.len()), margin });
    }
    match figure.spread {
        Spread::Throughput => course(steps, |slot| Some(slot.bps)),
        Spread::Rtt => {
            let noise = course(steps, |slot| slot.rtt_us.map(|rtt| rtt / 1e3))?;
            Some(Noise { margin: noise.margin.max(RTT_RESOLUTION_MS), ..noise })
        }
        Spread::Means(field) => {
            let of = |step: Fields<'_>| Estimate::of(&numbers(step, field));
            margin(steps.map(of), Ground::Repetitions)
        }
        Spread::Deviation(field) => {
            let of = |step: Fields<'_>| {
                let count = step.count("repetitions").filter(|count| *count > 1)? as usize;
                let error = step.number(field)? / (count as f64).sqrt();
                Some(Estimate { error, count })
            };
            margin(steps.map(of), Ground::Repetitions)
        }
        Spread::Nowhere => None,
    }
}

/// By how much two figures differ where their intervals just touch: the upper end of the smaller one
/// and the lower end of the larger one meet. `None` where one of them has no interval.
fn apart(first: Known<f64>, second: Known<f64>) -> Option<f64> {
    let has_interval = |one: Known<f64>| one.at_least.is_some() || one.at_most.is_some();
    if !(has_interval(first) && has_interval(second)) {
        return None;
    }
    let (lower, upper) = if second.value > first.value { (first, second) } else { (second, first) };
    let above = lower.at_most.map_or(f64::INFINITY, |most| most - lower.value);
    let below = upper.at_least.map_or(f64::INFINITY, |least| upper.value - least);
    Some(above + below)
}

fn numbers(step: Fields<'_>, field: &str) -> Vec<f64> {
    step.each(field).filter_map(|number| number.0.as_f64()).collect()
}

/// The standard error of a mean of so many.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    error: f64,
    count: usize,
}

impl Estimate {
    fn of(values: &[f64]) -> Option<Self> {
        let count = values.len();
        Some(Self { error: deviation(values)? / (count as f64).sqrt(), count })
    }
}

fn margin(both: [Option<Estimate>; 2], ground: Ground) -> Option<Noise> {
    let [one, other] = [both[0]?, both[1]?];
    let error = one.error.hypot(other.error);
    // As careful as the smaller of both asks for.
    let margin = confidence(one.count.min(other.count) - 1) * error;
    Some(Noise { ground, margin })
}

fn course(both: [Fields<'_>; 2], of: impl Fn(&Slot) -> Option<f64>) -> Option<Noise> {
    margin(both.map(|step| Estimate::of(&batches(&slots::of(step), &of)?)), Ground::Course)
}

/// The means of parts of a course, each of as many slots.
fn batches(slots: &[Slot], of: impl Fn(&Slot) -> Option<f64>) -> Option<Vec<f64>> {
    let each = (slots.len() / BATCHES).max(2);
    let mean = |batch: &[Slot]| -> Option<f64> {
        let seconds: f64 = batch.iter().map(|slot| slot.lasts_s).sum();
        let weighed: Option<f64> = batch.iter().map(|slot| Some(of(slot)? * slot.lasts_s)).sum();
        Some(weighed? / seconds)
    };
    let means: Vec<f64> = slots.chunks_exact(each).filter_map(mean).collect();
    (means.len() >= BATCHES_MIN).then_some(means)
}

/// The standard deviation of a sample; `None` of fewer than two.
fn deviation(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    if count < 2.0 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (count - 1.0)).sqrt())
}

/// Student's t for 99 %, both sides, by degrees of freedom: tables of it are in every book of
/// statistics.
fn confidence(freedom: usize) -> f64 {
    const T: [f64; 30] = [
        63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169, 3.106, 3.055, 3.012,
        2.977, 2.947, 2.921, 2.898, 2.878, 2.861, 2.845, 2.831, 2.819, 2.807, 2.797, 2.787, 2.779,
        2.771, 2.763, 2.756, 2.750,
    ];
    T.get(freedom.saturating_sub(1)).copied().unwrap_or(2.576)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deviation_of_a_sample_divides_by_one_less_than_it_has() {
        // Deviations of 2, 0 and -2 from 4: 8 / 2 is 4, its root 2.
        assert_eq!(deviation(&[2.0, 4.0, 6.0]), Some(2.0));
        assert_eq!(deviation(&[2.0]), None);
    }

    #[test]
    fn intervals_that_overlap_are_no_change_and_others_are() {
        let known = |at_least, value, at_most| Known { value, at_least, at_most };
        let (low, middle) = (known(Some(1.0), 2.0, Some(3.0)), known(Some(2.0), 3.0, Some(4.0)));
        let high = known(Some(3.5), 3.8, Some(4.0));
        let is_beyond = |first: Known<f64>, second: Known<f64>| {
            let noise = Noise { ground: Ground::Bounds, margin: apart(first, second).unwrap() };
            noise.is_beyond(first.value, second.value)
        };
        assert!(!is_beyond(low, middle) && !is_beyond(middle, low));
        assert!(is_beyond(low, high) && is_beyond(high, low));
        // If only the lower end of a figure is known, a higher value is no change and a lower one is.
        let open = known(Some(3.5), 3.5, None);
        assert!(is_beyond(open, low) && !is_beyond(open, known(Some(8.0), 9.0, Some(9.5))));
        assert_eq!(apart(low, known(None, 9.0, None)), None);
    }

    #[test]
    fn a_course_is_cut_into_parts_and_a_short_one_says_nothing() {
        let slot = |bps: f64| Slot { lasts_s: 0.1, bps, ..Slot::default() };
        let slots: Vec<Slot> = (0..40).map(|place| slot(f64::from(place % 4))).collect();
        let means = batches(&slots, |slot| Some(slot.bps)).unwrap();
        assert_eq!(means.len(), 10);
        assert!(means.iter().all(|mean| (mean - 1.5).abs() < 1e-9));
        assert_eq!(batches(&slots[..8], |slot| Some(slot.bps)), None);
    }
}
