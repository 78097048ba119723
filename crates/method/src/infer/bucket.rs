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

use alloc::vec::Vec;

pub(crate) use explained::Explained;

use super::rate::Quiet;
use super::train::CLOCKS_APART;
use crate::bounds::Bounds;

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
    /// Seconds by which they may have met the bucket earlier or later than that.
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

/// Values that are tried between the two ends of an interval.
const TRIED: usize = 24;
/// An interval is resolved when at least this number of the values tried cost the least.
const RESOLVED: usize = 8;
/// Below this number of frames before the first refused one, the cost has several minima within one
/// frame of depth, and the search starts from four depths.
const FEW_FRAMES: usize = 14;
/// How often rate and depth are each searched with the other one held.
const TURNS: usize = 4;
/// What a frame that arrived without tokens costs, beside 1 for a lost frame: it is impossible but for
/// the error of times, so that no loss may be traded for it.
const IMPOSSIBLE: f64 = 4.0;
/// A frame more or less in all of a train is the finest that tells two rates apart, but for where it falls in its slot.
const FINEST: f64 = 0.02;
/// Of what is behind a knee, one part of this number is asked first whether any bucket explains it.
const BEGINNING: usize = 16;
/// Ways that cost no more than this apart cost the same: what computing with fractions makes of it.
const SAME_COST: f64 = 1e-6;
/// The first slack that is tried, in frames: a tenth of the least distance of two frames that are sent
/// at three times the rate.
const SLACK_LEAST: f64 = 1.0 / 30.0;

/// One way through a train, with one rate and one depth.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// Tokens, in frames, without which some could not have arrived.
    owed: f64,
    /// Depths between these do the same.
    least: f64,
    below: f64,
    lost: u32,
    granted: u32,
}

impl Way {
    fn costs(&self) -> f64 {
        f64::from(self.lost) + IMPOSSIBLE * self.owed
    }
}

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
        let beginning = self.beginning(self.knee(quiet).frame);
        let fit = |slack: f64| {
            let costs = beginning.fit(rates, quiet, lost, slack)?.lost;
            if costs > quiet.needed_at_most(self.of.len() as f64) {
                return None;
            }
            self.fit(rates, quiet, lost, slack).filter(|fit| fit.is_likely(quiet))
        };
        let most = rates.estimate * self.uneven;
        let doubled = core::iter::successors(Some(SLACK_LEAST), |slack| Some(2.0 * slack));
        let slacks: Vec<f64> = doubled.take_while(|slack| *slack < most).collect();
        fit(0.0).or_else(|| {
            // With more slack every bucket explains more.
            let smallest = slacks.partition_point(|slack| fit(*slack).is_none());
            slacks.get(smallest).and_then(|slack| fit(*slack))
        })
    }

    /// The train to a part of what is behind its knee, which costs no more by itself than all of it.
    fn beginning(&self, knee: usize) -> Self {
        let frames = knee + (self.of.len() - knee) / BEGINNING;
        let late = self.late.iter().take(frames).copied().collect();
        Self { of: self.of[..frames].to_vec(), left: self.left[..frames].to_vec(), late, ..*self }
    }

    /// What a bucket of `b` frames that refills with `frames_s` frames per second makes of the train, which
    /// ends where it costs more than `most`.
    fn pass(&self, frames_s: f64, b: f64, (lost, slack): (Lost, f64), most: f64) -> Way {
        let mut way = Way { owed: 0.0, least: 0.0, below: f64::INFINITY, lost: 0, granted: 0 };
        if lost == Lost::Either {
            self.pass_either(frames_s, b, slack, most, &mut way);
            return way;
        }
        self.refill(frames_s, 0.0, |deficit, fate, late, _| {
            match fate {
                Fate::Arrived | Fate::Twice => {
                    *deficit += fate.passed();
                    way.granted += 1;
                    let slack = slack + frames_s * late;
                    if *deficit > b + slack {
                        way.owed += *deficit - (b + slack);
                        *deficit = b + slack;
                    }
                    way.least = way.least.max(*deficit - slack);
                }
                Fate::Missing if *deficit + 1.0 <= b - slack => {
                    way.lost += 1;
                    way.granted += 1;
                    if lost == Lost::Behind {
                        *deficit += 1.0;
                        way.least = way.least.max(*deficit - slack);
                    }
                }
                Fate::Missing => way.below = way.below.min(*deficit + 1.0 + slack),
                Fate::Elsewhere => {}
            }
            way.costs() <= most
        });
        way
    }

    /// The same with all deficits that there may be: each lost frame makes the greatest one greater and
    /// leaves the least as it is, each frame that arrives had tokens with all that are left, and each that was
    /// refused had none with all that are left.
    fn pass_either(&self, frames_s: f64, b: f64, slack: f64, most: f64, way: &mut Way) {
        let mut more = 0.0_f64;
        self.refill(frames_s, 0.0, |deficit, fate, late, won| {
            more = (more - won).max(*deficit);
            match fate {
                Fate::Arrived | Fate::Twice => {
                    (*deficit, more) = (*deficit + fate.passed(), more + fate.passed());
                    way.granted += 1;
                    let deepest = b + slack + frames_s * late;
                    way.owed += (*deficit - deepest).max(0.0);
                    *deficit = deficit.min(deepest);
                    more = more.min(deepest);
                    way.least = way.least.max(*deficit - slack);
                }
                Fate::Missing if more + 1.0 <= b - slack => {
                    way.lost += 1;
                    way.granted += 1;
                    more += 1.0;
                }
                Fate::Missing => {
                    way.below = way.below.min(more + 1.0 + slack);
                    *deficit = deficit.max((b - slack - 1.0).min(more));
                }
                Fate::Elsewhere => {}
            }
            way.costs() <= most
        });
    }

    /// Shows `meets` each frame with by how late it came, what a bucket of this rate lacks of being full then,
    /// and what it won since the frame before: what frames take is added to that, and it falls from one to the
    /// next. When it is full it lacks `full`: nothing, or minus infinity if it goes on winning as though it
    /// never were. It ends where `meets` says that the rest does not matter.
    fn refill(
        &self,
        frames_s: f64,
        full: f64,
        mut meets: impl FnMut(&mut f64, Fate, f64, f64) -> bool,
    ) {
        let (mut deficit, mut before) = (0.0_f64, 0.0);
        for ((fate, at), late) in self.of.iter().zip(&self.left).zip(&self.late) {
            let won = frames_s * (at - before);
            deficit = (deficit - won).max(full);
            before = *at;
            if !meets(&mut deficit, *fate, *late, won) {
                break;
            }
        }
    }

    /// The bucket with a rate within `rates` that explains the train best. Between two frames of a
    /// small one there are several that are better than their neighbours.
    pub(crate) fn fit(
        &self,
        rates: Bounds,
        quiet: &Quiet,
        lost: Lost,
        slack: f64,
    ) -> Option<Bucket> {
        let knee = self.knee(quiet);
        if let Some(bucket) = self.without_loss(rates, &knee, slack) {
            return Some(bucket);
        }
        let begins = self.begins(&knee, rates, lost);
        // A run of frames lost by chance may look like the knee; what comes long after it tells.
        let by_line = self.intercept(rates.estimate).max(1.0) - begins.0;
        let beginnings: &[f64] = match by_line.abs() > begins.1 {
            _ if knee.frame < FEW_FRAMES => &[0.0, 0.33, 0.67, -0.33],
            true => &[0.0, by_line],
            false => &[0.0],
        };
        let fits = beginnings.iter().filter_map(|by| self.fit_from(*by, rates, &knee, lost, slack));
        fits.min_by(|one, other| one.lost.total_cmp(&other.lost))
    }

    /// The bucket that refused every missing frame, if there is one.
    ///
    /// Then the deficits alone say with which depths a rate fits: from the greatest that an arrived frame met, itself
    /// included, to the least that a missing one would have met. Rates fit between which there are such depths.
    fn without_loss(&self, rates: Bounds, knee: &Knee, slack: f64) -> Option<Bucket> {
        let lacks = |frames_s: f64, full: f64, most: f64| {
            let (least, below) = self.depths(frames_s, full, slack, most);
            least - below - 2.0 * slack
        };
        let short = |frames_s: f64| lacks(frames_s, 0.0, 0.0);
        let finest = FINEST / self.of.len().max(1) as f64 * rates.estimate;
        let fitting = |full: f64| {
            let costs = |rate: f64, most: f64| lacks(rate, full, most).max(0.0);
            let (from, to) = best(rates.at_least, rates.at_most, finest, costs);
            tried(from, to).filter(|rate| short(*rate) <= 0.0)
        };
        // As a function of the rate, what a bucket lacks that is never full again has one minimum, and
        // rates that fit are around it, while one that is full now and then has several, too narrow to be
        // found by trying.
        let mut fits: Vec<f64> = fitting(f64::NEG_INFINITY).collect();
        if fits.is_empty() || knee.frame < FEW_FRAMES {
            fits.extend(fitting(0.0));
        }
        let first = fits.iter().copied().reduce(f64::min)?;
        let last = fits.iter().copied().reduce(f64::max)?;
        let edge = |inside: f64, outside: f64| {
            let (mut inside, mut outside) = (inside, outside);
            while (inside - outside).abs() > finest {
                let middle = (inside + outside) / 2.0;
                *(if short(middle) <= 0.0 { &mut inside } else { &mut outside }) = middle;
            }
            inside
        };
        let band = (edge(first, rates.at_least), edge(last, rates.at_most));
        let frames_s = (band.0 + band.1) / 2.0;
        let middle = self.depths(frames_s, 0.0, slack, f64::INFINITY);
        let mut frames = Bounds {
            estimate: (middle.0 + middle.1) / 2.0,
            at_least: f64::INFINITY,
            at_most: f64::NEG_INFINITY,
        };
        for rate in tried(band.0, band.1).filter(|rate| short(*rate) <= 0.0) {
            let (least, below) = self.depths(rate, 0.0, slack, f64::INFINITY);
            (frames.at_least, frames.at_most) =
                (frames.at_least.min(least), frames.at_most.max(below));
        }
        let granted = self.passed(0);
        let way = Way {
            owed: 0.0,
            least: frames.at_least,
            below: frames.at_most,
            lost: 0,
            granted: granted as u32,
        };
        Some(self.bucket(&way, [frames_s, 0.0], band, frames, knee, slack))
    }

    /// The depths that a bucket of this rate may have which refused every missing frame: at least the
    /// first, less than the second. There is none where the first is greater, and none of a frame or more
    /// that refuses one while it is full. The train ends where that lacks more than `most`.
    fn depths(&self, frames_s: f64, full: f64, slack: f64, most: f64) -> (f64, f64) {
        let (mut least, mut below) = (0.0_f64, f64::INFINITY);
        self.refill(frames_s, full, |deficit, fate, late, _| {
            match fate {
                Fate::Arrived | Fate::Twice => {
                    *deficit += fate.passed();
                    least = least.max(*deficit - frames_s * late);
                }
                Fate::Missing if *deficit + slack > full => below = below.min(*deficit + 1.0),
                Fate::Missing => below = 0.0,
                Fate::Elsewhere => {}
            }
            least - below - 2.0 * slack <= most
        });
        (least, below)
    }

    /// The depth that a knee shows, and within what the search for a better one begins.
    fn begins(&self, knee: &Knee, rates: Bounds, lost: Lost) -> (f64, f64) {
        let at = self.at(knee.frame);
        let Knee { passed, missing, .. } = *knee;
        let taken = passed + if lost == Lost::Behind { missing } else { 0.0 };
        let b = (taken - rates.estimate * at).max(1.0);
        (b, 3.0 + 0.02 * b + (rates.at_most - rates.at_least) * at + missing)
    }

    fn fit_from(
        &self,
        by: f64,
        rates: Bounds,
        knee: &Knee,
        lost: Lost,
        slack: f64,
    ) -> Option<Bucket> {
        let at = self.at(knee.frame);
        let (begins, mut off) = self.begins(knee, rates, lost);
        let mut b = (begins + by).max(1.0);
        let mut frames_s = rates.estimate;
        let mut rate_off = (rates.at_most - rates.at_least) / 2.0;
        let finest = FINEST / self.of.len().max(1) as f64;
        let middle = (rates.at_least + rates.at_most) / 2.0;
        let (mut band, mut depths) = ((0.0, 0.0), (b, b));
        for turn in 0..TURNS {
            let around = if turn == 0 { middle } else { frames_s };
            band = best(around - rate_off, around + rate_off, finest * middle, |rate, most| {
                self.pass(rate, b, (lost, slack), most).costs()
            });
            frames_s = (band.0 + band.1) / 2.0;
            depths = best((b - off).max(1.0), b + off, 1e-4, |b, most| {
                self.pass(frames_s, b, (lost, slack), most).costs()
            });
            b = (depths.0 + depths.1) / 2.0;
            off = (off / 4.0).clamp(1.0, 2.0);
            rate_off = (rate_off / 4.0).max(2.0 * (band.1 - band.0));
        }
        let way = self.pass(frames_s, b, (lost, slack), f64::INFINITY);
        let wide = (rates.at_most - rates.at_least) / 2.0;
        let (wider, mut frames) =
            self.as_good(&way, [frames_s, b], [wide, finest * middle], at, (lost, slack));
        band = (band.0.min(wider.0), band.1.max(wider.1));
        if lost == Lost::Either {
            // What one way leaves of the deficits is less than all ways together leave.
            let (at_least, at_most) = (frames.at_least.min(depths.0), frames.at_most.max(depths.1));
            frames = Bounds::between(at_least, at_most);
        } else if way.owed == 0.0 && way.below.is_finite() {
            frames.estimate = (way.least + way.below) / 2.0;
        }
        // Frames lost by chance leave open when a bucket has won one: to the distance of two that are sent.
        let slot = frames_s / (self.of.len() - knee.frame).max(1) as f64;
        Some(self.bucket(&way, [frames_s, slot], band, frames, knee, slack))
    }

    /// With what is not known of times: a rate to twice what the bucket wins while frames come unevenly,
    /// with the slack, in all the time behind the knee, and as two clocks are apart; a depth to that once,
    /// and to what such a rate makes of it.
    fn bucket(
        &self,
        way: &Way,
        [frames_s, rate_off]: [f64; 2],
        band: (f64, f64),
        frames: Bounds,
        knee: &Knee,
        slack: f64,
    ) -> Bucket {
        let spacing = self.spacing();
        let behind = spacing * (self.of.len() - knee.frame).max(1) as f64;
        let room = frames_s * self.uneven.min(spacing) + slack;
        let rate_off = rate_off + frames_s * CLOCKS_APART + 2.0 * room / behind;
        let off = room + way.owed + rate_off * self.at(knee.frame);
        let to = if frames.at_most.is_finite() { frames.at_most } else { frames.estimate + 1.0 };
        Bucket {
            frames_s: Bounds {
                estimate: frames_s,
                at_least: band.0 - rate_off,
                at_most: band.1 + rate_off,
            },
            frames: Bounds {
                estimate: frames.estimate,
                at_least: (frames.at_least.min(frames.estimate) - off).max(0.0),
                at_most: to + off,
            },
            granted: f64::from(way.granted),
            lost: way.costs(),
            slack,
        }
    }

    /// All rates that cost no more than one way does, to `finest` and no further off than `wide`, and all
    /// depths with one of them.
    ///
    /// A faster bucket of the same train is less deep, by what it wins until a frame that it only just
    /// passed or refused: one at the knee, in the middle of what is behind it, or at its end.
    fn as_good(
        &self,
        way: &Way,
        [frames_s, b]: [f64; 2],
        [wide, finest]: [f64; 2],
        knee_at: f64,
        lost: (Lost, f64),
    ) -> ((f64, f64), Bounds) {
        let last = self.at(self.left.len().saturating_sub(1));
        let at_rate = |rate: f64, most: f64| {
            let depth = |pivot: f64| (b - (rate - frames_s) * pivot).max(1.0);
            let pivots = [knee_at, (knee_at + last) / 2.0, last];
            let ways = pivots.map(|pivot| self.pass(rate, depth(pivot), lost, most));
            ways.into_iter().min_by(|one, other| one.costs().total_cmp(&other.costs()))
        };
        let most = way.costs() + 0.5;
        let costs = |rate: f64, cheapest: f64| {
            at_rate(rate, cheapest).map_or(f64::INFINITY, |way| way.costs().max(most))
        };
        let band = best(frames_s - wide, frames_s + wide, finest, costs);
        let mut frames = Bounds { estimate: b, at_least: way.least, at_most: way.below };
        for rate in tried(band.0, band.1) {
            if let Some(other) = at_rate(rate, most).filter(|other| other.costs() <= most) {
                frames.at_least = frames.at_least.min(other.least);
                frames.at_most = frames.at_most.max(other.below);
            }
        }
        (band, frames)
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

    /// Of the losses that it needs.
    pub(crate) fn log_likelihood(&self, quiet: &Quiet) -> f64 {
        let p = ((quiet.lost + 1.0) / (quiet.frames + 2.0)).min(0.5);
        (self.lost * libm::log(p) + (self.granted - self.lost) * libm::log(1.0 - p))
            / quiet.spread()
    }
}

/// Values between two, with both of them.
fn tried(from: f64, to: f64) -> impl Iterator<Item = f64> {
    (0..=TRIED).map(move |place| from + (to - from) * place as f64 / TRIED as f64)
}

/// The values between two that cost least, to `finest`. What costs more than it is asked for may say less.
pub(crate) fn best(from: f64, to: f64, finest: f64, costs: impl Fn(f64, f64) -> f64) -> (f64, f64) {
    let (mut from, mut to) = (from, to);
    loop {
        let step = (to - from) / TRIED as f64;
        let (mut all, mut least) = ([f64::INFINITY; TRIED + 1], f64::INFINITY);
        // What is cheap is in the middle, and makes the rest quick.
        let beside = (1..=TRIED / 2).flat_map(|off| [TRIED / 2 - off, TRIED / 2 + off]);
        for place in core::iter::once(TRIED / 2).chain(beside) {
            all[place] = costs(from + step * place as f64, least + SAME_COST);
            least = least.min(all[place]);
        }
        let mut cheapest = (0..=TRIED).filter(|place| all[*place] <= least + SAME_COST);
        let first = cheapest.next().unwrap_or(0);
        let (mut last, mut count) = (first, 1);
        for place in cheapest {
            (last, count) = (place, count + 1);
        }
        let [begins, ends] = [first, last].map(|place| from + step * place as f64);
        let is_apart = ends - begins > (to - from) / 2.0;
        if count >= RESOLVED || step <= finest || is_apart {
            return (begins - step, ends + step);
        }
        (from, to) = (begins - step, ends + step);
    }
}

#[cfg(test)]
mod tests;
