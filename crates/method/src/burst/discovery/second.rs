//! Two buckets that leave no mark on what they pass, told apart by how deep they look together.
//!
//! A frame takes its tokens from the excess bucket only where the committed one has none left. While
//! that is being emptied, the excess bucket is full and wins nothing. So a burst that comes by `x`
//! faster than both refill sees a depth (what passed, less both refills since it began) of
//! `EBS + CBS · x / (x + EIR)`: at line rate nearly that of both, a little above their rates hardly
//! more than the excess bucket's. One bucket alone looks equally deep at every rate.
//!
//! Not all that can be configured can be told apart by what passes. Coupled buckets without an EIR of
//! their own refill as one of both their sizes does, and are one.

use alloc::vec::Vec;
use core::time::Duration;

use crate::burst::estimate::Refill;
use crate::burst::passage::Passage;
use crate::burst::waiting::ARRIVAL_S;
use crate::burst::{Bounds, median};

/// Of the depths that frames show, the one that nearly all of them exceed: a frame that passed had at
/// least its own tokens.
const SHOWN: f64 = 0.9;
/// What frames show of a depth is as exact as that, in frames, for they pass whole.
const WHOLE_FRAMES: f64 = 1.5;
/// What the tester's own messages take out of the buckets at most.
const OWN_BYTES_S: f64 = 1500.0;
/// Bursts are as even as the most even one if they slipped no more than this beyond it.
const EVENLY_FRAMES: f64 = 1.0;
/// What is seen of bursts that slipped by more than this says nothing: they may have slipped again and
/// again, and nobody tells how often.
const SLIPPED_FRAMES_MAX: f64 = 3.0;
/// Excess rates that are tried, as shares of both.
const LEAST_SHARE: f64 = 0.01;
const MOST_SHARE: f64 = 0.99;
const STEPS: u32 = 200;
/// Shares of the EIR in both rates for which is told how shallow a bucket would have shown.
const SHOWN_SHARES: [f64; 2] = [0.05, 0.95];

/// How deep all buckets together look to bursts of one rate, in frames.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    /// By how many frames in a second the bursts came faster than all buckets refill.
    pub(super) faster_frames_s: f64,
    pub(super) depth_frames: f64,
    /// By how much that may be wrong.
    pub(super) off_frames: f64,
    /// That part of it which a sender makes that is behind the rate for a while: meanwhile the buckets
    /// overflow, or frames are later than their numbers say.
    pub(super) slipped_frames: f64,
}

/// Both buckets, in frames and frames per second, or in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct TwoBuckets {
    pub(super) cir: Bounds,
    pub(super) eir: Bounds,
    pub(super) cbs: Bounds,
    pub(super) ebs: Bounds,
}

impl Look {
    /// At bursts that began with full buckets; the middle one of those that were sent most evenly. A
    /// frame costs `charged_bytes`.
    pub(super) fn at(bursts: &[Passage], refill: Refill, charged_bytes: f64) -> Option<Self> {
        let slipped = |burst: &Passage| refill.bytes_s * burst.behind;
        let slipped_frames = bursts.iter().map(slipped).fold(f64::MAX, f64::min);
        let is_even = |burst: &&Passage| slipped(burst) <= slipped_frames + EVENLY_FRAMES;
        let bursts: Vec<&Passage> = bursts.iter().filter(is_even).collect();
        let of_bursts = |of: fn(&Passage, Refill) -> Option<f64>| {
            median(bursts.iter().filter_map(|burst| of(burst, refill)).collect())
        };
        let offered = of_bursts(|burst, _| Some(1.0 / burst.sent_spacing()))?;
        let lasted = of_bursts(|burst, _| Some(burst.admissions().first()?.0))?;
        let off_refill = refill.bytes_s * (ARRIVAL_S + refill.uncertainty * lasted);
        let depths: Vec<f64> = bursts.iter().filter_map(|burst| depth(burst, refill)).collect();
        let slipped_frames = bursts.iter().map(|burst| slipped(burst)).fold(0.0, f64::max);
        let least = depths.iter().copied().fold(f64::MAX, f64::min);
        let most = depths.iter().copied().fold(f64::MIN, f64::max);
        Some(Self {
            faster_frames_s: offered - refill.bytes_s,
            depth_frames: median(depths)?,
            off_frames: WHOLE_FRAMES
                + OWN_BYTES_S * lasted / charged_bytes
                + off_refill
                + slipped_frames
                + (most - least) / 2.0,
            slipped_frames,
        })
    }

    /// Whether the bursts were sent evenly enough to tell.
    pub(super) fn is_even(&self) -> bool {
        self.slipped_frames <= SLIPPED_FRAMES_MAX
    }
}

impl TwoBuckets {
    /// How deep both look to a burst that comes so much faster than they refill.
    pub(super) fn depth_frames(&self, faster_frames_s: f64) -> f64 {
        let seen = faster_frames_s / (faster_frames_s + self.eir.estimate);
        self.ebs.estimate + self.cbs.estimate * seen
    }

    /// How long both take to be full.
    pub(super) fn filled_after(&self) -> Duration {
        let committed = self.cbs.estimate / self.cir.estimate;
        let excess = self.ebs.estimate / self.eir.estimate;
        Duration::from_secs_f64(committed.max(excess).clamp(0.0, 3600.0))
    }

    pub(super) fn in_bytes(self, charged_bytes: f64) -> Self {
        let [cir, eir, cbs, ebs] =
            [self.cir, self.eir, self.cbs, self.ebs].map(|bounds| bounds.scaled(charged_bytes));
        Self { cir, eir, cbs, ebs }
    }
}

/// What nearly all frames of a burst show at least, that passed when tokens had just come.
pub(super) fn depth(burst: &Passage, refill: Refill) -> Option<f64> {
    let admissions = burst.admissions();
    let mut shown: Vec<f64> =
        admissions.iter().map(|(at, passed)| passed - refill.bytes_s * at).collect();
    shown.sort_by(f64::total_cmp);
    shown.get((shown.len() as f64 * SHOWN) as usize).copied()
}

/// Whether one bucket explains all looks.
pub(super) fn is_one(looks: &[Look]) -> bool {
    let least =
        looks.iter().map(|look| look.depth_frames - look.off_frames).fold(f64::MIN, f64::max);
    let most =
        looks.iter().map(|look| look.depth_frames + look.off_frames).fold(f64::MAX, f64::min);
    least <= most
}

/// The two buckets that explain all looks, refilled at `both_frames_s` together; `None` if none do.
pub(super) fn fit(looks: &[Look], both_frames_s: f64) -> Option<TwoBuckets> {
    let factor = libm::pow(MOST_SHARE / LEAST_SHARE, 1.0 / f64::from(STEPS));
    let shares = (0..=STEPS).map(|step| LEAST_SHARE * libm::pow(factor, f64::from(step)));
    let fits: Vec<Fit> =
        shares.filter_map(|share| Fit::at(looks, share * both_frames_s, factor)).collect();
    let possible: Vec<&Fit> = fits.iter().filter(|fit| fit.worst <= 1.0).collect();
    let likeliest = possible.iter().min_by(|one, other| one.worst.total_cmp(&other.worst))?;
    let most = MOST_SHARE * both_frames_s;
    let likeliest = Fit::nearest(looks, likeliest.eir.estimate, factor, most)?;
    let bounds = |of: fn(&Fit) -> Bounds| {
        let least = possible.iter().map(|fit| of(fit).at_least).reduce(f64::min)?;
        let most = possible.iter().map(|fit| of(fit).at_most).reduce(f64::max)?;
        Some(Bounds { estimate: of(&likeliest).estimate, at_least: least.max(0.0), at_most: most })
    };
    let eir = bounds(|fit| fit.eir)?;
    let cir = Bounds {
        estimate: both_frames_s - eir.estimate,
        at_least: (both_frames_s - eir.at_most).max(0.0),
        at_most: both_frames_s - eir.at_least,
    };
    Some(TwoBuckets { cir, eir, cbs: bounds(|fit| fit.cbs)?, ebs: bounds(|fit| fit.ebs)? })
}

/// How deep a committed bucket, in frames, would have shown beside an excess bucket.
pub(super) fn shown_from(looks: &[Look], both_frames_s: f64) -> f64 {
    let off = looks.iter().map(|look| look.off_frames).fold(0.0, f64::max);
    let contrast = |share: f64| {
        let seen = looks.iter().map(|look| seen_of_committed(look, share * both_frames_s));
        let (least, most) = seen.fold((1.0, 0.0), |(a, b): (f64, f64), c| (a.min(c), b.max(c)));
        most - least
    };
    let contrast = SHOWN_SHARES.map(contrast).into_iter().fold(1.0, f64::min);
    2.0 * off / contrast.max(1e-9)
}

/// The share of the committed bucket that a look sees.
fn seen_of_committed(look: &Look, eir: f64) -> f64 {
    look.faster_frames_s / (look.faster_frames_s + eir)
}

/// The bucket sizes that suit an EIR best.
struct Fit {
    eir: Bounds,
    cbs: Bounds,
    ebs: Bounds,
    /// The farthest that a look is off, 1 being as far as it may be.
    worst: f64,
}

impl Fit {
    /// The best one with an EIR within `factor` of this, and no higher than `most`.
    fn nearest(looks: &[Look], eir: f64, factor: f64, most: f64) -> Option<Self> {
        const THIRDS: u32 = 30;
        let worst = |eir: f64| Self::at(looks, eir, factor).map_or(f64::INFINITY, |fit| fit.worst);
        let (mut least, mut most) = (eir / factor, most.min(eir * factor));
        for _ in 0..THIRDS {
            let third = (most - least) / 3.0;
            if worst(least + third) < worst(most - third) {
                most -= third;
            } else {
                least += third;
            }
        }
        Self::at(looks, (least + most) / 2.0, factor)
    }

    /// With the EIR known to a `factor`: a straight line through the depths over the share of the committed bucket that each sees.
    fn at(looks: &[Look], eir: f64, factor: f64) -> Option<Self> {
        let points: Vec<(f64, &Look)> =
            looks.iter().map(|look| (seen_of_committed(look, eir), look)).collect();
        let count = points.len() as f64;
        let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
        let mean_y = points.iter().map(|(_, look)| look.depth_frames).sum::<f64>() / count;
        let spread = points.iter().map(|(x, _)| (x - mean_x) * (x - mean_x)).sum::<f64>();
        let product =
            points.iter().map(|(x, look)| (x - mean_x) * (look.depth_frames - mean_y)).sum::<f64>();
        let cbs = product / spread;
        let ebs = mean_y - cbs * mean_x;
        let worst = points
            .iter()
            .map(|(x, look)| (ebs + cbs * x - look.depth_frames).abs() / look.off_frames)
            .fold(0.0, f64::max);
        let off = points.iter().map(|(_, look)| look.off_frames).sum::<f64>() / count;
        // What of that is left in a line through so many points.
        let (off_cbs, off_ebs) =
            (off / libm::sqrt(spread), off / libm::sqrt(count) + off * mean_x / libm::sqrt(spread));
        let around = |value: f64, off: f64| Bounds {
            estimate: value,
            at_least: value - off,
            at_most: value + off,
        };
        (cbs.is_finite() && cbs > 0.0 && ebs > 0.0).then_some(Self {
            eir: around(eir, eir * (factor - 1.0)),
            cbs: around(cbs, off_cbs),
            ebs: around(ebs, off_ebs),
            worst,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::burst::passage::Span;

    /// Frames per second: a CIR of 3000, an EIR of 1000; 50 and 80 frames deep.
    fn looks() -> [Look; 4] {
        [400.0, 1000.0, 4000.0, 16_000.0].map(|faster_frames_s| Look {
            faster_frames_s,
            // 94.3, 105, 120, 127.1.
            depth_frames: 80.0 + 50.0 * faster_frames_s / (faster_frames_s + 1000.0),
            off_frames: 0.5,
            slipped_frames: 0.0,
        })
    }

    #[test]
    fn two_buckets_are_told_apart_by_the_depths_that_bursts_of_four_rates_see() {
        let looks = looks();
        assert!(!is_one(&looks));
        let found = fit(&looks, 4000.0).unwrap();
        for (found, truth) in [(found.eir, 1000.0), (found.cbs, 50.0), (found.ebs, 80.0)] {
            assert!((found.estimate / truth - 1.0).abs() < 0.001, "{found:?}");
            assert!(found.at_least <= truth && truth <= found.at_most, "{found:?}");
        }
    }

    /// 30 frames a second pass; one burst was sent evenly, one stood still for a second in which its
    /// bucket ran over.
    #[test]
    fn of_several_bursts_those_that_were_sent_evenly_tell_the_depth() {
        let burst = |behind: f64, passed: u32| Passage {
            spans: (0..passed)
                .map(|frame| Span {
                    first: frame * 2,
                    last: frame * 2,
                    frames: 1,
                    from: f64::from(frame) / 30.0,
                    until: f64::from(frame) / 30.0,
                })
                .collect(),
            frames: 2 * passed,
            sent_in: f64::from(2 * passed - 1) / 60.0,
            behind,
            curve: Vec::new(),
        };
        let refill = Refill { bytes_s: 30.0, uncertainty: 0.0 };
        let even = Look::at(&[burst(0.0, 60)], refill, 100.0).unwrap();
        let mixed = Look::at(&[burst(1.0, 30), burst(0.0, 60)], refill, 100.0).unwrap();
        assert_eq!(mixed.depth_frames, even.depth_frames);
        assert!(even.is_even() && mixed.is_even());
        let uneven = Look::at(&[burst(1.0, 30)], refill, 100.0).unwrap();
        assert_eq!(uneven.slipped_frames, 30.0);
        assert!(!uneven.is_even() && uneven.off_frames >= even.off_frames + 30.0);
    }

    #[test]
    fn one_bucket_looks_as_deep_at_every_rate() {
        let looks = looks().map(|look| Look { depth_frames: 120.0, ..look });
        assert!(is_one(&looks));
        // With an EIR of a twentieth of 4000 the looks see from 400/600 to 16000/16200 of a bucket,
        // with one of nineteen twentieths from 400/4200 to 16000/19800: at least a share of 0.321,
        // of which twice half a frame are 3.1 frames.
        assert!((shown_from(&looks, 4000.0) - 1.0 / 0.321).abs() < 0.01);
    }
}
