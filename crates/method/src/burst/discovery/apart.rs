//! Whether what looks like one bucket is two that leave no mark, by how deep it looks at several rates.

use alloc::format;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Abort, BurstSpacing, BurstsLoad, PacketLayout, Rate};

use super::Search;
use super::buckets::Buckets;
use super::charge::{SHORT_FRAMES_LAST_S, SHORT_FRAMES_S, ShortFrames};
use super::policer::DEEPER;
use super::second::{self, Look, TwoBuckets};
use crate::burst::estimate::Refill;
use crate::burst::passage::Passage;
use crate::burst::{Alone, Charge, Discovered, SecondBucket};

/// Looks at what may be two buckets: offered at least and at most so much beyond what they refill.
const LOOK_SLOWER: f64 = 0.1;
const LOOK_FASTER: f64 = 5.0;
const LOOK_LINE_SHARE: f64 = 0.95;
/// Where, by ratio, between these two rates more looks are taken: of bursts that take long fewer.
const LOOKS_BETWEEN: &[f64] = &[0.25, 0.5, 0.75];
const LONG_LOOKS_BETWEEN: &[f64] = &[0.5];
/// Frames that show the depth in a burst.
const LOOK_ADMISSIONS: f64 = 30.0;
const LOOK_FRAMES_MAX: f64 = 200_000.0;
const LOOK_BURSTS: u32 = 3;
/// Looks at bursts that were not sent evenly are taken again.
const LOOK_TRIES: u32 = 6;
const LOOK_LONG: Duration = Duration::from_millis(150);
const LOOK_LASTS_MAX_S: f64 = 0.5;
const LOOK_IDLE_MIN_S: f64 = 0.005;
/// One of two buckets may take so many times as long to fill as both together.
const LOOK_IDLE_FILLS: f64 = 10.0;
const LOOK_IDLE_S: f64 = 0.3;
const LOOK_IDLE_SLOWLY: f64 = 1.7;
const LOOK_LONGER: f64 = 2.5;
const LOOK_DEEPER: f64 = 1.5;
const LOOK_IDLE_MAX: Duration = Duration::from_secs(2);
/// The pause before a burst was so much longer than both buckets take to fill.
const LOOK_SURELY: f64 = 1.15;
/// What is found of less than so many frames is no bucket.
const LEAST_FRAMES: f64 = 2.0;

/// What was found of a second bucket that leaves no mark.
pub(super) enum Apart {
    /// It takes too long to fill, or the host cannot send fast or evenly enough to see it.
    NotLooked,
    One(Alone),
    Two(TwoBuckets),
}

impl Search<'_, '_> {
    /// Whether what looks like one bucket is two that leave no mark: by how deep it looks to bursts
    /// that come a little faster than it refills, and as fast as the host sends small frames.
    pub(super) fn second_bucket(&mut self, looking: Option<Looking>) -> Result<Apart, Abort> {
        let Some(mut looking) = looking else { return Ok(Apart::NotLooked) };
        loop {
            let [slow, fast] = looking.faster_frames_s;
            let takes = looking.takes(slow) + looking.takes(fast) + self.settle() * 2;
            if !self.has_time_for(takes) {
                return Ok(Apart::NotLooked);
            }
            let Some(mut looks) = self.looks(&looking, &[slow, fast])? else {
                return Ok(Apart::NotLooked);
            };
            if looks.len() == 2 && second::is_one(&looks) {
                return Ok(Apart::One(looking.alone(&looks)));
            }
            let shares = if looking.is_long(slow) { LONG_LOOKS_BETWEEN } else { LOOKS_BETWEEN };
            let between = shares.iter().map(|share| slow * libm::pow(fast / slow, *share));
            let Some(more) = self.looks(&looking, &between.collect::<Vec<_>>())? else {
                return Ok(Apart::NotLooked);
            };
            looks.extend(more);
            let found = second::fit(&looks, looking.refill.bytes_s);
            if let Some(found) = found.filter(|found| looking.met_full(found)) {
                return Ok(Apart::Two(found.in_bytes(looking.charged_bytes)));
            }
            if looking.again || looking.idle >= LOOK_IDLE_MAX {
                return Ok(Apart::NotLooked);
            }
            looking.longer(found.map_or(Duration::ZERO, |found| found.filled_after()));
        }
    }

    /// `None` as soon as bursts were not sent evenly enough to tell.
    fn looks(&mut self, at: &Looking, faster_frames_s: &[f64]) -> Result<Option<Vec<Look>>, Abort> {
        let mut looks = Vec::new();
        for faster_frames_s in faster_frames_s {
            let look = self.look(at, *faster_frames_s)?;
            if look.is_some_and(|look| !look.is_even()) {
                return Ok(None);
            }
            looks.extend(look);
        }
        Ok(Some(looks))
    }

    /// How deep the buckets look to bursts that come so much faster than they refill.
    fn look(&mut self, at: &Looking, faster_frames_s: f64) -> Result<Option<Look>, Abort> {
        let frames_s = at.refill.bytes_s + faster_frames_s;
        let lasts = at.lasts(faster_frames_s);
        let frames = (lasts.as_secs_f64() * frames_s).min(LOOK_FRAMES_MAX);
        let bursts = if at.is_long(faster_frames_s) { 1 } else { LOOK_BURSTS };
        let on_the_line = f64::from(at.frame_bytes + PacketLayout::ETHERNET_L1_OVERHEAD) * 8.0;
        let load = BurstsLoad {
            frame_bytes: at.frame_bytes,
            frames_per_burst: frames as u32,
            bursts,
            period: if bursts > 1 { lasts + at.idle } else { lasts },
            rate_l1: Some(Rate::bps((frames_s * on_the_line) as u64)),
            spacing: BurstSpacing::Apart,
        };
        let of = format!("{:.2} times both rates", frames_s / at.refill.bytes_s);
        let mut most_even: Option<Look> = None;
        for _ in 0..LOOK_TRIES {
            let seen = self.trial(&of, load, at.idle)?;
            let look = Look::at(&Passage::of_all(&seen), at.refill, at.charged_bytes);
            let both = most_even.into_iter().chain(look);
            most_even =
                both.min_by(|one, other| one.slipped_frames.total_cmp(&other.slipped_frames));
            let takes = at.takes(faster_frames_s) + self.settle();
            if most_even.is_none_or(|look| look.is_even()) || !self.has_time_for(takes) {
                break;
            }
        }
        Ok(most_even)
    }
}

/// Bursts that look at the buckets.
pub(super) struct Looking {
    frame_bytes: u32,
    charged_bytes: f64,
    /// Of all buckets together, in frames.
    refill: Refill,
    depth_frames: f64,
    /// Offered beyond the refill, the least and the most.
    faster_frames_s: [f64; 2],
    /// The same of the bursts of the longest frames.
    line_faster_frames_s: f64,
    rested_frames: f64,
    idle: Duration,
    /// Waited after a trial.
    settled: Duration,
    /// With a longer pause than at first.
    again: bool,
}

impl Looking {
    /// With frames of which `short_frames` in a second pass; the buckets had been `rested_frames` of
    /// the longest deep after a longer pause.
    pub(super) fn new(
        search: &Search<'_, '_>,
        short_frames: ShortFrames,
        charge: &Charge,
        buckets: &Buckets,
        rested_frames: f64,
    ) -> Option<Self> {
        let charged_bytes = search.charged(charge);
        let offset = charged_bytes - f64::from(search.frame_bytes);
        let refill_bytes_s =
            short_frames.refill.bytes_s * (f64::from(short_frames.frame_bytes) + offset);
        let frame_bytes =
            search.short_frame(short_frames.frame_bytes, LOOK_FASTER * refill_bytes_s);
        let charged_short = f64::from(frame_bytes) + offset;
        // Two buckets admit frames up to one more or less than evenly.
        let uneven = 0.5 / (short_frames.refill.bytes_s * SHORT_FRAMES_LAST_S);
        let uncertainty = short_frames.refill.uncertainty.max(uneven);
        let refill = Refill { bytes_s: refill_bytes_s / charged_short, uncertainty };
        let frames_longest = charged_bytes / charged_short;
        let [depth_frames, rested_frames] = [buckets.frames.max(rested_frames), rested_frames]
            .map(|frames| frames * frames_longest);
        let line_frames_s = 1.0 / search.port.slot_s(frame_bytes);
        let most = (LOOK_LINE_SHARE * line_frames_s).min(SHORT_FRAMES_S) - refill.bytes_s;
        let least = (LOOK_SLOWER * refill.bytes_s).max(depth_frames / LOOK_LASTS_MAX_S);
        let filled_s = buckets.frames * frames_longest / refill.bytes_s;
        let idle_s = (LOOK_IDLE_FILLS * filled_s)
            .clamp(LOOK_IDLE_MIN_S, LOOK_IDLE_S.max(LOOK_IDLE_SLOWLY * filled_s));
        let idle = Duration::from_secs_f64(idle_s.min(60.0));
        (least < 0.5 * most && idle <= LOOK_IDLE_MAX).then_some(Self {
            frame_bytes,
            charged_bytes: charged_short,
            refill,
            depth_frames,
            faster_frames_s: [least, most],
            line_faster_frames_s: frames_longest / search.slot_s() - refill.bytes_s,
            rested_frames,
            idle,
            settled: search.settle(),
            again: false,
        })
    }

    /// A burst that comes so much faster than the refill, until it has shown the depth.
    fn lasts(&self, faster_frames_s: f64) -> Duration {
        let admitted_s = faster_frames_s.min(self.refill.bytes_s);
        let empties_s = 1.15 * self.depth_frames / faster_frames_s;
        Duration::from_secs_f64(empties_s + LOOK_ADMISSIONS / admitted_s)
    }

    /// One such burst has to do.
    fn is_long(&self, faster_frames_s: f64) -> bool {
        self.lasts(faster_frames_s) + self.idle > LOOK_LONG
    }

    /// A trial of them with its pauses.
    fn takes(&self, faster_frames_s: f64) -> Duration {
        let each = self.lasts(faster_frames_s) + self.idle;
        if self.is_long(faster_frames_s) { each } else { each * LOOK_BURSTS + self.idle }
    }

    fn alone(&self, looks: &[Look]) -> Alone {
        let frames = second::shown_from(looks, self.refill.bytes_s);
        Alone { shown_from_bytes: frames * self.charged_bytes, filled_within: self.idle }
    }

    /// After longer pauses, for buckets that take so long to be full and are deeper then.
    fn longer(&mut self, fills: Duration) {
        let idle = fills.mul_f64(1.5).max(self.idle.mul_f64(LOOK_LONGER));
        self.idle = idle.min(LOOK_IDLE_MAX);
        self.depth_frames *= LOOK_DEEPER;
        self.again = true;
    }

    /// Whether these are buckets, and the bursts that they are found by met them full: after the pause
    /// and, where there was one burst in a trial, what is waited after each trial.
    fn met_full(&self, found: &TwoBuckets) -> bool {
        if found.cbs.estimate.min(found.ebs.estimate) < LEAST_FRAMES {
            return false;
        }
        let rested = found.depth_frames(self.line_faster_frames_s) * DEEPER >= self.rested_frames;
        let [_, fast] = self.faster_frames_s;
        let settled = if self.is_long(fast) { self.settled } else { Duration::ZERO };
        rested && found.filled_after().mul_f64(LOOK_SURELY) <= self.idle + settled
    }
}

/// Both buckets of a policer that marks nothing.
pub(super) fn as_two_buckets(two: &TwoBuckets, charge: Charge) -> Discovered {
    let rate_bps = Some(two.eir.scaled(8.0));
    let second = SecondBucket { rate_bps, depth_bytes: Some(two.ebs), dscp: None };
    Discovered::Policer {
        cir_bps: two.cir.scaled(8.0),
        cbs_bytes: two.cbs,
        charge,
        excess: Some(second),
        alone: None,
        marked: Vec::new(),
    }
}
