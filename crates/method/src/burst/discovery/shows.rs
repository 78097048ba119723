//! What one burst shows: a policer, frames that wait, or too little to tell.

use alloc::vec::Vec;

use super::buckets::Buckets;
use super::{Search, Seen};
use crate::burst::estimate::{Depth, Refill};
use crate::burst::overload;
use crate::burst::passage::Passage;
use crate::burst::waiting::{STALL_MAX_S, waited};

/// Frames that came one by one out of an empty bucket, so that a refill can be seen.
const ADMISSIONS_MIN: usize = 12;
/// What one burst shows.
pub(super) enum Shows {
    /// Too little to tell.
    Nothing,
    Policer(Buckets),
    /// Everything was held back, frame by frame.
    Waiting,
    /// For longer than any stall of the tester.
    LongWaiting,
}

impl Search<'_, '_> {
    pub(super) fn shows(&self, seen: &Seen) -> Shows {
        let slot_s = self.slot_s();
        let Some(burst) = seen.report.bursts.first() else { return Shows::Nothing };
        if let Some(waited_s) = waited(&Passage::of(burst, |_| true), slot_s) {
            return if waited_s > STALL_MAX_S { Shows::LongWaiting } else { Shows::Waiting };
        }
        let conforming = Passage::of_all(seen);
        let enough = conforming.iter().all(|burst| burst.admissions().len() >= ADMISSIONS_MIN);
        let Some((refill, depth)) = overload::bucket(&conforming, slot_s, 1.0) else {
            return Shows::Nothing;
        };
        match Buckets::of(seen, slot_s) {
            Some(buckets) if enough && is_policed(&conforming, depth, refill, slot_s) => {
                Shows::Policer(buckets)
            }
            Some(_) | None => Shows::Nothing,
        }
    }
}

/// Whether drops begin where a bucket ends, and frames pass as its refill has it.
fn is_policed(bursts: &[Passage], depth: Option<Depth>, refill: Refill, slot_s: f64) -> bool {
    let refused = 1.0 - refill.bytes_s * slot_s;
    let regular = depth.is_some_and(|depth| depth.is_of_a_bucket())
        || bursts.iter().all(|burst| is_regular(burst, slot_s))
        || bursts.iter().all(|burst| is_even(burst, refill));
    regular && refused > 0.002
}

/// Tokens come evenly, so frames pass in about the same time after each other, however the sender
/// stalled now and then; what is lost by chance leaves gaps of any length.
fn is_regular(burst: &Passage, slot_s: f64) -> bool {
    const SLOTS_MIN: f64 = 4.0;
    const SPREAD_MAX: f64 = 0.5;
    let admissions = burst.admissions();
    let mut gaps: Vec<f64> = admissions.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    gaps.sort_by(f64::total_cmp);
    let quartile = |quarters: usize| gaps.get(gaps.len() * quarters / 4).copied().unwrap_or(0.0);
    let middle = quartile(2);
    middle >= SLOTS_MIN * slot_s && quartile(3) - quartile(1) <= SPREAD_MAX * middle
}

/// Two buckets admit frames each at its own beat, but no more and no fewer in any time than both get
/// tokens for: but for a frame of each, and what the slope is off by. What is lost by chance strays by
/// more, the longer it lasts.
fn is_even(burst: &Passage, refill: Refill) -> bool {
    const ADMISSIONS_MIN: usize = 60;
    const FRAMES_MAX: f64 = 4.0;
    let strays = burst.strays(refill.bytes_s).unwrap_or(f64::INFINITY);
    burst.admissions().len() >= ADMISSIONS_MIN && strays <= FRAMES_MAX
}
