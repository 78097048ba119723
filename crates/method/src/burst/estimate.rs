//! The CBS out of which frames passed and which did not: two estimators, each with its grounds.
//!
//! A bucket that is full when a burst begins has, `t` seconds later and after `n` frames, CBS plus
//! `t` times the CIR less `n` frames. Every frame that passed says that this was at least its own
//! length, every frame that was dropped says that it was less. The tightest of these bounds lie
//! around each drop that is followed by a pass: between them the bucket won no more than the refill
//! of one frame's time on the line, 61 bytes at 40 Mbit/s in a line of a gigabit. Counting bytes
//! received instead leaves up to a whole frame open, 2.4 % of 64 KB.

use alloc::vec::Vec;

use super::median;
use super::passage::{Constraint, Passage};

/// Refill rates tried on each side of the likeliest.
const RATES: i32 = 8;
/// A bucket may be as far off without a frame having been lost elsewhere: timing.
const ROUNDING_SHARE: f64 = 0.02;

/// A refill of the bucket as it is known: bytes per second, and by which share it may be wrong.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refill {
    pub(super) bytes_s: f64,
    pub(super) uncertainty: f64,
}

/// Whether an interval around an estimate lies within the tolerance; `None` where it does not say.
pub(super) fn within([least, most]: [f64; 2], estimate: f64, tolerance: f64) -> Option<bool> {
    if least > tolerance || most < -tolerance {
        return Some(false);
    }
    (estimate.abs() <= tolerance && least >= -tolerance && most <= tolerance).then_some(true)
}

/// What bursts say of a bucket's depth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Depth {
    pub(super) bytes: f64,
    pub(super) at_least: f64,
    pub(super) below: f64,
    /// Frames that no depth explains, and all that were asked.
    pub(super) contradictions: usize,
    pub(super) constraints: usize,
    /// At which the fewest frames contradict, bytes per second.
    pub(super) refill_bytes_s: f64,
}

/// The depths that contradict the fewest frames of all bursts together, and the middle of them.
///
/// Without loss elsewhere and with exact times none is contradicted: this is the intersection of all
/// bounds. With them it is the compromise that the fewest frames object to, which single outliers
/// do not move.
pub(super) fn by_bounds(
    bursts: &[Passage],
    slot_s: f64,
    frame_bytes: f64,
    refill: Refill,
) -> Option<Depth> {
    let bursts = steadiest(bursts, slot_s);
    let constraints: Vec<Constraint> =
        bursts.iter().flat_map(|burst| burst.constraints(slot_s)).collect();
    let alike = likeliest(&constraints, frame_bytes, refill);
    let at_least = alike.iter().map(|depth| depth.at_least).reduce(f64::min)?;
    let below = alike.iter().map(|depth| depth.below).reduce(f64::max)?;
    let bytes = median(alike.iter().map(|depth| depth.bytes).collect())?;
    let refill_bytes_s = median(alike.iter().map(|depth| depth.refill_bytes_s).collect())?;
    if !at_least.is_finite() || !below.is_finite() {
        return None;
    }
    let lasts = constraints.iter().map(|constraint| constraint.at).fold(0.0, f64::max);
    let between_rates = lasts * refill.uncertainty / f64::from(RATES);
    let refill_again = Refill { bytes_s: refill_bytes_s, ..refill };
    let slack = refill_bytes_s * (lag(&bursts, slot_s) / 2.0 + between_rates)
        + spread(last_passed(&bursts, slot_s, frame_bytes, refill_again));
    let elsewhere = lost_elsewhere(&constraints, frame_bytes, refill_bytes_s, bytes);
    let elsewhere = elsewhere as f64 / bursts.len().max(1) as f64;
    let best = alike.first()?;
    Some(Depth {
        bytes,
        at_least: at_least - slack,
        below: below + slack + elsewhere * frame_bytes,
        refill_bytes_s,
        ..*best
    })
}

/// The half of the bursts whose sender kept up best with the line.
fn steadiest(bursts: &[Passage], slot_s: f64) -> Vec<&Passage> {
    let mut sorted: Vec<&Passage> = bursts.iter().collect();
    sorted.sort_by(|a, b| a.behind_the_line(slot_s).total_cmp(&b.behind_the_line(slot_s)));
    sorted.truncate(bursts.len().div_ceil(2));
    sorted
}

/// By how much the sender was behind the line in the middle one of the bursts. Where in the burst it
/// fell behind is not known.
fn lag(bursts: &[&Passage], slot_s: f64) -> f64 {
    median(bursts.iter().map(|burst| burst.behind_the_line(slot_s)).collect()).unwrap_or(0.0)
}

/// The depths, each at another refill rate, that are contradicted least.
fn likeliest(constraints: &[Constraint], frame_bytes: f64, refill: Refill) -> Vec<Depth> {
    let has = |passed| constraints.iter().any(|constraint| constraint.passed == passed);
    if !has(true) || !has(false) {
        return Vec::new();
    }
    let depth = |step: i32| {
        let share = f64::from(step) / f64::from(RATES);
        let refill_bytes_s = refill.bytes_s * (1.0 + refill.uncertainty * share);
        fewest_contradictions(constraints, frame_bytes, refill_bytes_s)
    };
    let mut depths: Vec<Depth> = (-RATES..=RATES).map(depth).collect();
    let fewest = depths.iter().map(|depth| depth.contradictions).min().unwrap_or(0);
    depths.retain(|depth| depth.contradictions == fewest);
    depths
}

/// Drops at which the bucket had tokens for more than two frames. Such a frame was lost elsewhere;
/// behind the policer it took its tokens with it, and nobody can see whether it did.
fn lost_elsewhere(
    constraints: &[Constraint],
    frame_bytes: f64,
    refill_bytes_s: f64,
    depth_bytes: f64,
) -> usize {
    let tokens = |constraint: &Constraint| {
        depth_bytes + refill_bytes_s * constraint.at
            - f64::from(constraint.frames - 1) * frame_bytes
    };
    let is_elsewhere = |constraint: &&Constraint| {
        !constraint.passed && tokens(constraint) > 3.0 * frame_bytes + ROUNDING_SHARE * depth_bytes
    };
    constraints.iter().filter(is_elsewhere).count()
}

/// The stretch of depths that the fewest constraints object to.
fn fewest_contradictions(
    constraints: &[Constraint],
    frame_bytes: f64,
    refill_bytes_s: f64,
) -> Depth {
    let bound = |constraint: &Constraint| {
        f64::from(constraint.frames) * frame_bytes - refill_bytes_s * constraint.at
    };
    let mut edges: Vec<(f64, bool)> =
        constraints.iter().map(|constraint| (bound(constraint), constraint.passed)).collect();
    // At the same depth a pass is satisfied before a drop is contradicted.
    edges.sort_by(|(a, a_passed), (b, b_passed)| a.total_cmp(b).then(b_passed.cmp(a_passed)));
    // A bucket without depth contradicts all that passed.
    let mut contradictions = constraints.iter().filter(|constraint| constraint.passed).count();
    let (mut fewest, mut at_least, mut below) = (contradictions, f64::NEG_INFINITY, f64::INFINITY);
    let mut open = true;
    for (edge, passed) in edges {
        if open {
            (below, open) = (edge, false);
        }
        if passed {
            contradictions -= 1;
        } else {
            contradictions += 1;
        }
        if contradictions < fewest {
            (fewest, at_least, open) = (contradictions, edge, true);
        } else if contradictions == fewest {
            open = true;
        }
    }
    if open {
        below = f64::INFINITY;
    }
    Depth {
        bytes: (at_least + below) / 2.0,
        at_least,
        below,
        contradictions: fewest,
        constraints: constraints.len(),
        refill_bytes_s,
    }
}

/// What had passed with the last frame that did, less the refill until then: low by at most the
/// refill of a frame's time, of which half is added. The median of all bursts.
pub(super) fn by_last_passed(
    bursts: &[Passage],
    slot_s: f64,
    frame_bytes: f64,
    refill: Refill,
) -> Option<f64> {
    median(last_passed(&steadiest(bursts, slot_s), slot_s, frame_bytes, refill))
}

fn last_passed(bursts: &[&Passage], slot_s: f64, frame_bytes: f64, refill: Refill) -> Vec<f64> {
    let of_burst = |burst: &&Passage| {
        let constraints = burst.constraints(slot_s);
        let last = constraints.iter().rev().find(|constraint| constraint.passed)?;
        let passed = f64::from(burst.passed_frames()) * frame_bytes;
        Some(passed - refill.bytes_s * last.at + refill.bytes_s * slot_s / 2.0)
    };
    bursts.iter().filter_map(of_burst).collect()
}

/// Half the distance between the quartiles: what bursts that should be alike differ by.
pub(super) fn spread(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let quartile = |quarters: usize| values.get(values.len() * quarters / 4).copied();
    quartile(3).zip(quartile(1)).map_or(0.0, |(upper, lower)| (upper - lower) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_touches_the_tolerance_is_inconclusive() {
        assert_eq!(within([-0.5, 0.4], -0.1, 2.0), Some(true));
        assert_eq!(within([-7.0, -6.0], -6.5, 2.0), Some(false));
        assert_eq!(within([-2.5, -1.0], -1.7, 2.0), None);
    }
}
