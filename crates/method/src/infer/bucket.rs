//! A token bucket from what became of each frame of a train.
//!
//! A bucket of `b` frames that is full when a train begins, and wins `f` frames in a second, lacks at any time as
//! many of them as it let pass less what it won: its deficit `D`, never below zero. A frame that arrived had `D ≤ b`
//! with itself; one that the bucket refused would have had `D > b`; what is missing although it fits was lost
//! elsewhere. With a rate or a depth that is too low, frames arrive for which there are no tokens, the more the
//! longer; with one that is too high, more and more of the refused ones seem to have fitted. What costs least is the
//! bucket, and all that costs no more is its interval.
//!
//! Only times of departure enter: what respaces frames behind the bucket changes nothing, and where the sender was
//! not as even as planned its own times say when. Where a forwarder in front of the bucket is not even, or the times
//! of the sender are not known exactly, a frame meets the bucket up to a time `e` earlier or later, and with a
//! deficit that is up to `f·e` frames off. The slack `f·e` is the smallest with which the bucket explains the train,
//! and no more than the delays of the path and those times leave room for; the depth is known no better than to it.

mod explained;
mod search;

use alloc::vec::Vec;

pub(crate) use explained::Explained;

use self::search::Search;
use super::rate::Quiet;
use super::train::CLOCKS_APART;
use crate::formula::bounds::Bounds;

/// What became of a frame, as one bucket sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Arrived,
    /// As two frames: the network had doubled it before it met the bucket.
    Twice,
    Missing,
    /// Another bucket let it pass, and this one was not asked.
    Elsewhere,
}

/// A train of frames which begins with a bucket that is full.
#[derive(Clone, Debug)]
pub(crate) struct Fates {
    pub(crate) of: Vec<Fate>,
    /// Seconds since the first frame left,
    pub(crate) left: Vec<f64>,
    /// and by how many of them later each of them may have left.
    pub(crate) late: Vec<f64>,
    /// Seconds by which its sender does not know when a frame left, the first one among them, from which all others
    /// are counted,
    pub(crate) unsure: f64,
    /// and by which frames may have met the bucket earlier or later than that, with this.
    pub(crate) uneven: f64,
}

/// Where frames are lost that the bucket has tokens for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// They take no tokens.
    Before,
    /// They have taken theirs.
    Behind,
    /// Each of them has taken its tokens or not.
    Either,
}

/// A bucket that explains what became of a train.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    pub(crate) frames_s: Bounds,
    pub(crate) frames: Bounds,
    /// Frames for which there were tokens, and those of them that are missing.
    pub(crate) granted: f64,
    pub(crate) lost: f64,
    /// Frames by which the deficit that a frame met may be off.
    pub(crate) slack: f64,
}

/// Of what is behind a knee, one part of this number is asked first whether any bucket explains it.
const BEGINNING: usize = 16;
/// The first slack that is tried, in frames: a tenth of the least distance of two frames that are sent
/// at three times the rate.
const SLACK_LEAST: f64 = 1.0 / 30.0;

/// The first frame of those that are refused, how many a bucket let pass before it, and how many are missing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Knee {
    pub(crate) frame: usize,
    pub(crate) passed: f64,
    pub(crate) missing: f64,
}

impl Fate {
    pub(crate) fn passed(self) -> f64 {
        match self {
            Self::Arrived => 1.0,
            Self::Twice => 2.0,
            Self::Missing | Self::Elsewhere => 0.0,
        }
    }
}

impl Quiet {
    /// The most losses that a bucket needs which granted this number of frames, if it is a likely one.
    fn needed_at_most(&self, granted: f64) -> f64 {
        self.by_chance(granted * self.loss_at_most()) + 2.0
    }
}

impl Fates {
    /// Seconds from one frame to the next, in the mean.
    pub(crate) fn spacing(&self) -> f64 {
        self.at(self.left.len().saturating_sub(1)) / (self.left.len().max(2) - 1) as f64
    }

    /// Whether a bucket holds a frame and what it wins from one to the next: it has less than a frame when it passes
    /// none.
    pub(crate) fn find_room_in(&self, frames: Bounds, frames_s: Bounds) -> bool {
        frames.at_least >= 1.0 + frames_s.estimate * self.spacing()
    }

    /// When a frame left.
    pub(crate) fn at(&self, frame: usize) -> f64 {
        self.left.get(frame).copied().unwrap_or(0.0)
    }

    fn missing(&self) -> f64 {
        self.of.iter().filter(|fate| **fate == Fate::Missing).count() as f64
    }

    /// Frames that the bucket let pass from one on.
    pub(crate) fn passed(&self, from: usize) -> f64 {
        self.of.iter().skip(from).map(|fate| fate.passed()).sum()
    }

    /// The same if frames were doubled behind the bucket; `None` where none came twice.
    pub(crate) fn doubled_behind(&self) -> Option<Self> {
        let once = |fate: &Fate| if *fate == Fate::Twice { Fate::Arrived } else { *fate };
        let of = || self.of.iter().map(once).collect();
        self.of.contains(&Fate::Twice).then(|| Self { of: of(), ..self.clone() })
    }

    /// The frame from which on more is missing than before, by likelihood.
    pub(crate) fn knee(&self, quiet: &Quiet) -> Knee {
        let p = ((quiet.lost + 1.0) / (quiet.frames + 2.0)).min(0.5);
        let entropy = |missing: f64, of: f64| match missing > 0.0 && missing < of {
            true => {
                missing * libm::log(missing / of) + (of - missing) * libm::log(1.0 - missing / of)
            }
            false => 0.0,
        };
        let (all, all_missing) = (self.of.len() as f64, self.missing());
        let (mut missing, mut passed, mut place) = (0.0, 0.0, 0.0);
        let (mut best, mut knee) = (f64::NEG_INFINITY, Knee { frame: 0, passed, missing });
        for fate in &self.of {
            let before = missing * libm::log(p) + (place - missing) * libm::log(1.0 - p);
            let likely = before + entropy(all_missing - missing, all - place);
            if likely > best {
                (best, knee) = (likely, Knee { frame: place as usize, passed, missing });
            }
            place += 1.0;
            missing += f64::from(u8::from(*fate == Fate::Missing));
            passed += fate.passed();
        }
        knee
    }

    /// What passes in a second behind the knee, and how well that is known: to two frames and three
    /// standard errors of the losses.
    pub(crate) fn passes(&self, quiet: &Quiet) -> Bounds {
        let knee = self.knee(quiet).frame;
        let from = knee + (self.of.len() - knee) / 8;
        let passed = self.passed(from);
        let lasts = self.at(self.left.len().saturating_sub(1)) - self.at(from) + self.spacing();
        let off = 2.0 + 3.0 * libm::sqrt(passed * quiet.loss_at_most() * quiet.spread());
        let middle = passed / lasts;
        Bounds {
            estimate: middle,
            at_least: (middle - off / lasts).max(middle / 2.0),
            at_most: (passed + off) / lasts / (1.0 - quiet.loss_at_most()),
        }
    }

    /// The bucket with the smallest slack that explains the train, up to the deficit won while frames come unevenly.
    pub(crate) fn explained(&self, rates: Bounds, quiet: &Quiet, lost: Lost) -> Option<Bucket> {
        let knee = self.knee(quiet);
        let beginning = self.beginning(knee.frame);
        let mut of_beginning = Search::of(&beginning, beginning.knee(quiet), rates, lost);
        let mut of_all = Search::of(self, knee, rates, lost);
        let mut fit = |slack: f64| {
            let costs = of_beginning.best(slack)?.lost;
            if costs > quiet.needed_at_most(self.of.len() as f64) {
                return None;
            }
            of_all.best(slack).filter(|fit| fit.is_likely(quiet))
        };
        let most = rates.estimate * self.uneven;
        let doubled = core::iter::successors(Some(SLACK_LEAST), |slack| Some(2.0 * slack));
        let slacks: Vec<f64> = doubled.take_while(|slack| *slack < most).collect();
        if let Some(without) = fit(0.0) {
            return Some(without);
        }
        // With more slack every bucket explains more: if not with the most, then with none.
        let mut found = fit(*slacks.last()?)?;
        let (mut least, mut enough) = (0, slacks.len() - 1);
        while least < enough {
            let middle = (least + enough) / 2;
            match fit(slacks[middle]) {
                Some(fit) => (found, enough) = (fit, middle),
                None => least = middle + 1,
            }
        }
        Some(found)
    }

    /// The train to a part of what is behind its knee, which costs no more by itself than all of it.
    fn beginning(&self, knee: usize) -> Self {
        let frames = knee + (self.of.len() - knee) / BEGINNING;
        let late = self.late.iter().take(frames).copied().collect();
        Self { of: self.of[..frames].to_vec(), left: self.left[..frames].to_vec(), late, ..*self }
    }

    /// The bucket with a rate within `rates` that explains the train best.
    pub(crate) fn fit(
        &self,
        rates: Bounds,
        quiet: &Quiet,
        lost: Lost,
        slack: f64,
    ) -> Option<Bucket> {
        Search::of(self, self.knee(quiet), rates, lost).best(slack)
    }

    /// Where a straight line through what passed begins, of a train in whose second half the bucket
    /// is empty, in frames: what it held less what was lost of it.
    pub(crate) fn intercept(&self, frames_s: f64) -> f64 {
        let (mut passed, mut sum, mut count) = (0.0, 0.0, 0.0);
        for ((place, fate), at) in self.of.iter().enumerate().zip(&self.left) {
            passed += fate.passed();
            if place >= self.of.len() / 2 {
                sum += passed - frames_s * at;
                count += 1.0;
            }
        }
        sum / f64::max(count, 1.0) + 0.5
    }

    /// Whether more is missing than is lost at any rate.
    pub(crate) fn is_refused(&self, quiet: &Quiet) -> bool {
        let frames = self.of.len() as f64;
        let expected = frames * quiet.loss_at_most();
        self.missing() > quiet.by_chance(expected) + 3.0
    }
}

impl Bucket {
    /// This bucket or another one, where either explains a train.
    pub(crate) fn or(self, other: Self) -> Self {
        let frames_s = self.frames_s.or(other.frames_s);
        Self { frames_s, frames: self.frames.or(other.frames), ..self }
    }

    /// Whether its losses are no more than those at any rate.
    pub(crate) fn is_likely(&self, quiet: &Quiet) -> bool {
        self.lost <= quiet.needed_at_most(self.granted)
    }

    /// The logarithm of the likelihood of the losses that this bucket needs.
    pub(crate) fn log_likelihood(&self, quiet: &Quiet) -> f64 {
        let p = ((quiet.lost + 1.0) / (quiet.frames + 2.0)).min(0.5);
        (self.lost * libm::log(p) + (self.granted - self.lost) * libm::log(1.0 - p))
            / quiet.spread()
    }
}

#[cfg(test)]
mod tests;
