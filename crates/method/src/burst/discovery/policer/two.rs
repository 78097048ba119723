//! Trains that tell whether a policer has one bucket or two.

use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{BurstReport, BurstsReport};

use super::super::{Abort, Burst, Look, Quiet, SHORT_FRAMES_S, seconds};
use super::aim::{Aim, EMPTIES, FASTER, FILLS, FRAMES_MAX, PAUSE_LEAST_S};
use super::buckets::{Buckets, TRIED, Train, Two};
use super::seen::{fates, marked};
use super::{
    BELOW_THE_LINE, BUDGET, FASTER_LEAST, Measured, PAUSE_MAX, SURELY_FULL, TRIES, at_most, better,
};
use crate::burst::Alone;
use crate::formula::bounds::Bounds;
use crate::infer::bucket::Fate;

/// Of two buckets one may take longer to fill than both together would.
pub(crate) const PAUSE_OF_TWO_S: f64 = 1.0;
/// Trains after pauses: each but the first one halves, by ratio, the time in which one of two buckets may be full.
const PARTLY_MOST: usize = 7;
/// The next pause is the geometric mean of one before and a time that differs by no more than this.
const PART: f64 = 16.0;
/// Trains after pauses that two buckets have to explain: as many as these have unknowns, which are a share of
/// a known rate and two depths.
const PARTLY_LEAST: usize = 3;
/// Others who send across the path take tokens in a pause and in a train, which looks like a second bucket of
/// one of the longest frames or two.
const HOLD_LEAST: f64 = 2.0;

/// What trains of one length tell of buckets that mark nothing, in bytes.
pub(super) struct Told {
    /// That the bucket holds, or both if there may be two.
    pub(super) depth: Bounds,
    /// What excludes a second one.
    pub(super) alone: Option<Alone>,
    /// The two that there are, where each of their rates and depths is known to a factor of two.
    pub(super) two: Option<Two>,
}

impl Look<'_> {
    /// A train of the same frames at another rate, which meets full buckets as well, and such after pauses:
    /// what tells one bucket from two. `None` where no other rate says anything. Where there may be two, what
    /// was to meet full ones is sent again after a pause that fills either of them.
    pub(super) fn of_two(
        &mut self,
        one: &mut Measured,
        quiet: &Quiet,
    ) -> Result<Option<Measured>, Abort> {
        if !one.was_full || one.likely().is_empty() || !marked(&one.seen).is_empty() {
            return Ok(None);
        }
        let (offered, sent) = (one.another_rate(), 1.0 / one.fates.spacing());
        let mut pause_s = one.pause_s.max(PAUSE_OF_TWO_S);
        let other = match offered {
            Some(offered) => self.again(one, offered, pause_s, quiet)?,
            None => None,
        };
        let Some((offered, mut other)) = offered.zip(other) else {
            self.partly_filled(one, None, quiet)?;
            return Ok(None);
        };
        for _ in 0..TRIES {
            let fills_s = match self.partly_filled(one, Some(&other), quiet)? {
                Some(Buckets { shown_from: Some(_), .. }) => break,
                Some(buckets) => buckets.fills_s,
                // Either wins a share of the rate that is tried, at least.
                None => (2.0 * pause_s)
                    .min(f64::from(TRIED) * one.depth().estimate / one.rate().estimate),
            };
            let paused_s = one.pause_s.min(other.pause_s);
            if paused_s >= SURELY_FULL * fills_s || pause_s >= PAUSE_MAX.as_secs_f64() {
                break;
            }
            pause_s = (FILLS * fills_s).max(pause_s).min(PAUSE_MAX.as_secs_f64());
            let slow = self.again(one, sent, pause_s, quiet)?;
            let Some((slow, fast)) = slow.zip(self.again(one, offered, pause_s, quiet)?) else {
                break;
            };
            let fast = core::mem::replace(&mut other, Measured { shorter: None, ..fast });
            let partly = core::mem::take(&mut one.partly);
            let slow = core::mem::replace(one, Measured { shorter: None, partly, ..slow });
            one.replaced.extend([slow, fast]);
        }
        Ok(Some(other))
    }

    /// A train of the same frames that meets full buckets, with this number of frames in a second.
    fn again(
        &mut self,
        one: &Measured,
        frames_s: f64,
        pause_s: f64,
        quiet: &Quiet,
    ) -> Result<Option<Measured>, Abort> {
        let held = at_most(one.depth().estimate);
        let aim = self.aim([one.rate().estimate, held, one.line], true, quiet);
        let aim = Aim { offered: Some(frames_s), pause_s, ..aim };
        let again = self.measure(one.frame_bytes, aim, true, quiet)?;
        Ok(again.filter(|again| again.was_full && !again.likely().is_empty()))
    }

    /// Trains of the same frames that meet what buckets have won in a pause since they were empty, where one
    /// bucket may be two: first one that a single bucket has just filled in, and then others that tell when
    /// either of two is full. What all trains together then tell.
    fn partly_filled(
        &mut self,
        one: &mut Measured,
        other: Option<&Measured>,
        quiet: &Quiet,
    ) -> Result<Option<Buckets>, Abort> {
        let (longest, began) = (f64::from(self.search.frame_bytes), self.sending);
        loop {
            let Some(buckets) = one.buckets(other, longest) else { return Ok(None) };
            let is_told = buckets.shown_from.is_some() || one.partly.len() >= PARTLY_MOST;
            let pause_s = one.next_pause(&buckets);
            let pause_s = pause_s.filter(|_| !is_told && self.sending - began < BUDGET);
            let train = match pause_s {
                Some(pause_s) => self.after(one, pause_s, quiet)?,
                None => None,
            };
            let Some(train) = train else { return Ok(Some(buckets)) };
            one.partly.push(train);
        }
    }

    /// A train like another one that meets buckets which it emptied itself, this number of seconds before.
    fn after(
        &mut self,
        one: &Measured,
        pause_s: f64,
        quiet: &Quiet,
    ) -> Result<Option<Train>, Abort> {
        let (frames, frames_s) = (one.fates.of.len() as u32, 1.0 / one.fates.spacing());
        let burst = Burst {
            frame_bytes: one.frame_bytes,
            frames,
            frames_s: Some(frames_s),
            pause: seconds(PAUSE_LEAST_S),
            queued: Duration::ZERO,
        };
        let period = burst.lasts() + seconds(pause_s);
        let BurstsReport { bursts, .. } = self.bursts(burst, 2, period)?;
        let Ok([before, train]) = <[BurstReport; 2]>::try_from(bursts) else { return Ok(None) };
        let is_whole = |burst: &BurstReport| burst.sent_frames == frames;
        let slot = self.slot(one.frame_bytes);
        let emptied = fates(&before, self.granted, slot, quiet);
        let refused = emptied.of.iter().rposition(|fate| *fate == Fate::Missing);
        let Some(refused) = refused.filter(|_| is_whole(&before) && is_whole(&train)) else {
            return Ok(None);
        };
        let filled_for_s =
            (period + train.sent_from).as_secs_f64() - before.sent_until.as_secs_f64();
        let aim = Aim { pause_s, ..self.aim([one.rate().estimate, 0.0, one.line], false, quiet) };
        let fates = fates(&train, self.granted, slot, quiet);
        let seen = BurstsReport { bursts: vec![train], ..one.seen.clone() };
        let measured = Measured::of(one.frame_bytes, seen, fates, &aim, quiet);
        Ok((!measured.likely().is_empty()).then(|| {
            // What the buckets won behind the frame that they refused last is on top of less than one frame.
            let won = (emptied.of.len() - 1 - refused) as f64 * one.rate().estimate / frames_s;
            let Bounds { estimate, at_least, at_most } = one.rate();
            let off = filled_for_s * (at_most - estimate).max(estimate - at_least);
            let depth = measured.depth_of_fits();
            let depth = Bounds {
                at_least: depth.at_least - won - off,
                at_most: depth.at_most + off,
                ..depth
            };
            Train { depth, filled_for_s: Some(filled_for_s), ..measured.train() }
        }))
    }
}

impl Measured {
    /// Of two rates at which a train of the same frames tells one bucket from two the one that leaves less
    /// open of what two hold. `None` where it would say nothing, or the line leaves no room for it.
    fn another_rate(&self) -> Option<f64> {
        let (rate, sent) = (self.rate().estimate, 1.0 / self.fates.spacing());
        let faster = (BELOW_THE_LINE * self.line).min(FASTER * sent).min(SHORT_FRAMES_S);
        let held = at_most(self.depth().estimate);
        let empties = rate / (1.0 - EMPTIES * held / FRAMES_MAX).max(0.0);
        let slower = (rate + (sent - rate) / FASTER).max(empties);
        // The share of a difference that two buckets may hold beyond it.
        let open = |slow: f64, fast: f64| slow / (fast - slow).max(0.0);
        let offered = if open(sent, faster) < open(slower, sent) { faster } else { slower };
        (FASTER_LEAST * rate <= offered && offered < self.line).then_some(offered)
    }

    /// Seconds in which buckets that are empty are to fill next; `None` where it is known when either of two is full.
    fn next_pause(&self, buckets: &Buckets) -> Option<f64> {
        let filled = || self.partly.iter().filter_map(|train| train.filled_for_s);
        let (Some(first), Some(last)) = (filled().reduce(f64::min), filled().reduce(f64::max))
        else {
            return Some(self.depth().estimate / self.rate().estimate);
        };
        let sooner = (first / buckets.one_fills_s).min(PART);
        let later = (buckets.fills_s.min(PAUSE_MAX.as_secs_f64()) / last).min(PART);
        let pause_s =
            if sooner > later { first / libm::sqrt(sooner) } else { last * libm::sqrt(later) };
        (sooner.max(later) >= SURELY_FULL).then_some(pause_s)
    }

    pub(super) fn train(&self) -> Train {
        Train {
            fates: self.fates.clone(),
            depth: self.depth_of_fits(),
            other_side: self.on_the_other_side(),
            knee: self.knee.frame,
            is_two: self.is_two,
            filled_for_s: None,
        }
    }

    /// What one bucket or two that mark nothing may be by this train and another one of the same frames.
    fn buckets(&self, other: Option<&Self>, longest: f64) -> Option<Buckets> {
        let other = self.of_the_same(other);
        let rate = other.map_or(self.rate(), |other| better(self.rate(), other.rate()));
        let measured = core::iter::once(self).chain(other);
        let full = measured.flat_map(|one| [Some(one.train()), one.shorter.clone()]).flatten();
        let trains: Vec<Train> = full.chain(self.partly.iter().cloned()).collect();
        // A committed bucket holds the longest frame at least: MEF 10.2 §7.11.
        let buckets = Buckets::of(&trains, rate.estimate, longest / f64::from(self.frame_bytes))?;
        Some(match other {
            // One of two may not have been full.
            Some(other) if buckets.may_be_deeper(self.pause_s.min(other.pause_s)) => {
                let depth = Bounds { at_most: f64::INFINITY, ..buckets.depth };
                Buckets { depth, ..buckets }
            }
            _ => buckets,
        })
    }

    /// Whether two buckets explain what no single one does.
    pub(super) fn is_of_two(&self, other: Option<&Self>, longest: f64) -> bool {
        let buckets = || self.buckets(other, longest);
        !self.partly.is_empty() && buckets().is_some_and(|buckets| buckets.two.is_some())
    }

    /// The other train, if its frames are as long.
    fn of_the_same<'a>(&self, other: Option<&'a Self>) -> Option<&'a Self> {
        other.filter(|other| other.frame_bytes == self.frame_bytes)
    }

    /// What these trains tell of buckets that mark nothing, of frames that cost `charged` bytes each.
    pub(super) fn told(&self, other: Option<&Self>, longest: f64, charged: f64) -> Told {
        let is_clear = !self.likely().is_empty() && self.rate_with_room().is_some();
        let (alone, two) = (None, None);
        if !marked(&self.seen).is_empty() || !is_clear {
            return Told { depth: self.depth().scaled(charged), alone, two };
        }
        let Some(buckets) = self.buckets(other, longest) else {
            let depth = Bounds { at_most: f64::INFINITY, ..self.depth() };
            return Told { depth: depth.scaled(charged), alone, two };
        };
        let Buckets { depth, shown_from, .. } = buckets;
        let shown_from = shown_from.filter(|from| *from < depth.estimate);
        let alone = self.of_the_same(other).zip(shown_from).map(|(other, from)| Alone {
            shown_from_bytes: from * charged,
            filled_within: seconds(self.pause_s.min(other.pause_s)),
        });
        let least = HOLD_LEAST * longest / f64::from(self.frame_bytes);
        let two =
            buckets.two.filter(|two| two.is_known(least) && self.partly.len() >= PARTLY_LEAST);
        let two = two.map(|two| two.charged(charged));
        Told { depth: depth.scaled(charged), alone, two }
    }
}
