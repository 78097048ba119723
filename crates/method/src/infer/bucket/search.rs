//! The search for the rate and the depth with which a bucket explains a train best.

use alloc::vec::Vec;

use super::{Bucket, CLOCKS_APART, Fate, Fates, Knee, Lost};
use crate::formula::bounds::Bounds;

/// Values that are tried between the two ends of an interval.
const TRIED: usize = 24;
/// An interval is resolved when at least this number of the values tried cost the least.
const RESOLVED: usize = 8;
/// With fewer frames before the first refused one, the cost has several minima within one frame of depth.
const FEW_FRAMES: usize = 14;
/// How often rate and depth are each searched with the other one held.
const TURNS: usize = 4;
/// What a frame that arrived without tokens costs, beside 1 for a lost one: only an error of times explains it.
const IMPOSSIBLE: f64 = 4.0;
/// A frame more or less in all of a train is the finest that tells two rates apart, but for where it falls in its slot.
const FINEST: f64 = 0.02;
/// Ways that cost no more than this apart cost the same: what computing with fractions makes of it.
const SAME_COST: f64 = 1e-6;

/// A train whose bucket has a rate within these bounds.
#[derive(Debug)]
pub(super) struct Search<'a> {
    fates: &'a Fates,
    runs: Vec<Run>,
    knee: Knee,
    rates: Bounds,
    lost: Lost,
    slack: f64,
    /// The share of a rate to which it is searched.
    finest: f64,
}

/// Frames that arrived, so close that a bucket wins less between two of them than either takes; or one frame.
#[derive(Clone, Copy, Debug)]
struct Run {
    frames: u32,
    /// Tokens that they take, in frames: none where it is missing.
    taken: f64,
    /// Seconds from the first frame of the train to the first and to the last of these.
    at: f64,
    until: f64,
    /// Seconds by which it may have left later, if it is one.
    late: f64,
}

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

impl Run {
    /// Tokens that a bucket of this rate lacks more behind these frames than in front of them, in frames. While they
    /// come it lacks more and more, so that it lacks the most behind them.
    fn takes(&self, frames_s: f64) -> f64 {
        self.taken - frames_s * (self.until - self.at)
    }
}

impl<'a> Search<'a> {
    pub(super) fn of(fates: &'a Fates, knee: Knee, rates: Bounds, lost: Lost) -> Self {
        // The search goes no further than this beyond the bounds of the rate.
        let fastest = rates.at_most + 2.0 * (rates.at_most - rates.at_least);
        let finest = FINEST / fates.of.len().max(1) as f64;
        Self { fates, runs: runs(fates, fastest), knee, rates, lost, slack: 0.0, finest }
    }

    /// The bucket that explains the train best with this slack.
    pub(super) fn best(&mut self, slack: f64) -> Option<Bucket> {
        self.slack = slack;
        if let Some(bucket) = self.without_loss() {
            return Some(bucket);
        }
        let begins = self.begins();
        // A run of frames lost by chance may look like the knee; what comes long after it tells.
        let by_line = self.fates.intercept(self.rates.estimate).max(1.0) - begins.0;
        let beginnings: &[f64] = match by_line.abs() > begins.1 {
            _ if self.knee.frame < FEW_FRAMES => &[0.0, 0.33, 0.67, -0.33],
            true => &[0.0, by_line],
            false => &[0.0],
        };
        let fits = beginnings.iter().map(|by| self.from(*by));
        fits.min_by(|one, other| one.lost.total_cmp(&other.lost))
    }

    /// What a bucket of `b` frames that refills with `frames_s` frames per second makes of the train, which
    /// ends where it costs more than `most`.
    ///
    /// Where each lost frame has taken its tokens or not, these are all deficits that there may be: a lost frame makes
    /// the greatest one greater and leaves the least as it is, one that arrives had tokens with all that are left, and
    /// one that was refused had none with all that are left.
    fn pass(&self, frames_s: f64, b: f64, most: f64) -> Way {
        let (slack, mut greatest) = (self.slack, 0.0_f64);
        let mut way = Way { owed: 0.0, least: 0.0, below: f64::INFINITY, lost: 0, granted: 0 };
        self.refill(frames_s, 0.0, |deficit, run, won| {
            greatest = (greatest - won).max(*deficit);
            if run.taken > 0.0 {
                let takes = run.takes(frames_s);
                (*deficit, greatest) = (*deficit + takes, greatest + takes);
                way.granted += run.frames;
                let deepest = b + slack + frames_s * run.late;
                way.owed += (*deficit - deepest).max(0.0);
                (*deficit, greatest) = (deficit.min(deepest), greatest.min(deepest));
                way.least = way.least.max(*deficit - deepest + b);
            } else if greatest + 1.0 > b - slack {
                way.below = way.below.min(greatest + 1.0 + slack);
                *deficit = deficit.max((b - slack - 1.0).min(greatest));
            } else {
                (way.lost, way.granted) = (way.lost + 1, way.granted + 1);
                if self.lost != Lost::Before {
                    greatest += 1.0;
                }
                if self.lost == Lost::Behind {
                    *deficit = greatest;
                    way.least = way.least.max(*deficit - slack);
                }
            }
            way.costs() <= most
        });
        way
    }

    /// Shows `meets` each run of frames with what a bucket of this rate lacks of being full when it begins, and what it
    /// won since the run before: what frames take is added to that, and it falls from one run to the next. When
    /// it is full it lacks `full`: nothing, or minus infinity if it goes on winning as though it never were. It ends
    /// where `meets` says that the rest does not matter.
    fn refill(&self, frames_s: f64, full: f64, mut meets: impl FnMut(&mut f64, &Run, f64) -> bool) {
        let (mut deficit, mut before) = (0.0_f64, 0.0);
        for run in &self.runs {
            let won = frames_s * (run.at - before);
            deficit = (deficit - won).max(full);
            before = run.until;
            if !meets(&mut deficit, run, won) {
                break;
            }
        }
    }

    /// The bucket that refused every missing frame, if there is one.
    ///
    /// Then the deficits alone say with which depths a rate fits: from the greatest that an arrived frame met, itself
    /// included, to the least that a missing one would have met. Rates fit between which there are such depths.
    fn without_loss(&self) -> Option<Bucket> {
        let (rates, slack) = (self.rates, self.slack);
        let lacks = |frames_s: f64, full: f64, most: f64| {
            let (least, below) = self.depths(frames_s, full, most);
            least - below - 2.0 * slack
        };
        let short = |frames_s: f64| lacks(frames_s, 0.0, 0.0);
        let finest = self.finest * rates.estimate;
        let fitting = |full: f64| {
            let costs = |rate: f64, most: f64| lacks(rate, full, most).max(0.0);
            let (from, to) = best(rates.at_least, rates.at_most, finest, costs);
            tried(from, to).filter(|rate| short(*rate) <= 0.0)
        };
        // As a function of the rate, what a bucket lacks that is never full again has one minimum, and
        // rates that fit are around it, while one that is full now and then has several, too narrow to be
        // found by trying.
        let mut fits: Vec<f64> = fitting(f64::NEG_INFINITY).collect();
        if fits.is_empty() || self.knee.frame < FEW_FRAMES {
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
        let middle = self.depths(frames_s, 0.0, f64::INFINITY);
        let mut frames = Bounds {
            estimate: (middle.0 + middle.1) / 2.0,
            at_least: f64::INFINITY,
            at_most: f64::NEG_INFINITY,
        };
        for rate in tried(band.0, band.1).filter(|rate| short(*rate) <= 0.0) {
            let (least, below) = self.depths(rate, 0.0, f64::INFINITY);
            (frames.at_least, frames.at_most) =
                (frames.at_least.min(least), frames.at_most.max(below));
        }
        let granted = self.fates.passed(0);
        let way = Way {
            owed: 0.0,
            least: frames.at_least,
            below: frames.at_most,
            lost: 0,
            granted: granted as u32,
        };
        Some(self.bucket(&way, [frames_s, 0.0], band, frames))
    }

    /// The depths that a bucket of this rate may have which refused every missing frame: at least the
    /// first, less than the second. There is none where the first is greater, and none of a frame or more
    /// that refuses one while it is full. The train ends where that lacks more than `most`.
    fn depths(&self, frames_s: f64, full: f64, most: f64) -> (f64, f64) {
        let slack = self.slack;
        let (mut least, mut below) = (0.0_f64, f64::INFINITY);
        self.refill(frames_s, full, |deficit, run, _| {
            if run.taken > 0.0 {
                *deficit += run.takes(frames_s);
                least = least.max(*deficit - frames_s * run.late);
            } else {
                let is_full = *deficit + slack <= full;
                below = below.min(if is_full { 0.0 } else { *deficit + 1.0 });
            }
            least - below - 2.0 * slack <= most
        });
        (least, below)
    }

    /// The depth that a knee shows, and within what the search for a better one begins.
    fn begins(&self) -> (f64, f64) {
        let Knee { frame, passed, missing } = self.knee;
        let (at, rates) = (self.fates.at(frame), self.rates);
        let taken = passed + if self.lost == Lost::Behind { missing } else { 0.0 };
        let b = (taken - rates.estimate * at).max(1.0);
        (b, 3.0 + 0.02 * b + (rates.at_most - rates.at_least) * at + missing)
    }

    /// The best bucket near the depth that the knee shows and a number of frames more.
    fn from(&self, by: f64) -> Bucket {
        let (begins, mut off) = self.begins();
        let mut b = (begins + by).max(1.0);
        let Bounds { estimate: mut frames_s, at_least, at_most } = self.rates;
        let wide = (at_most - at_least) / 2.0;
        let middle = (at_least + at_most) / 2.0;
        let finest = self.finest * middle;
        let mut rate_off = wide;
        let (mut band, mut depths) = ((0.0, 0.0), (b, b));
        for turn in 0..TURNS {
            let around = if turn == 0 { middle } else { frames_s };
            band = best(around - rate_off, around + rate_off, finest, |rate, most| {
                self.pass(rate, b, most).costs()
            });
            frames_s = (band.0 + band.1) / 2.0;
            depths = best((b - off).max(1.0), b + off, 1e-4, |b, most| {
                self.pass(frames_s, b, most).costs()
            });
            b = (depths.0 + depths.1) / 2.0;
            off = (off / 4.0).clamp(1.0, 2.0);
            rate_off = (rate_off / 4.0).max(2.0 * (band.1 - band.0));
        }
        let way = self.pass(frames_s, b, f64::INFINITY);
        let (wider, mut frames) = self.as_good(&way, [frames_s, b], [wide, finest]);
        band = (band.0.min(wider.0), band.1.max(wider.1));
        if self.lost == Lost::Either {
            // What one way leaves of the deficits is less than all ways together leave.
            let (at_least, at_most) = (frames.at_least.min(depths.0), frames.at_most.max(depths.1));
            frames = Bounds::between(at_least, at_most);
        } else if way.owed == 0.0 && way.below.is_finite() {
            frames.estimate = (way.least + way.below) / 2.0;
        }
        // Frames lost by chance leave open when a bucket has won one: to the distance of two that are sent.
        let slot = frames_s / self.behind_knee();
        self.bucket(&way, [frames_s, slot], band, frames)
    }

    /// Frames behind the knee, at least one.
    fn behind_knee(&self) -> f64 {
        (self.fates.of.len() - self.knee.frame).max(1) as f64
    }

    /// With what is not known of times: a rate to twice what the bucket wins while frames come unevenly,
    /// with the slack, in all the time behind the knee, and as two clocks are apart; a depth to that once,
    /// to what such a rate makes of it, and to what the bucket wins while its sender does not know when the
    /// first frame left.
    fn bucket(
        &self,
        way: &Way,
        [frames_s, rate_off]: [f64; 2],
        band: (f64, f64),
        frames: Bounds,
    ) -> Bucket {
        let (fates, slack) = (self.fates, self.slack);
        let spacing = fates.spacing();
        let behind = spacing * self.behind_knee();
        let room = frames_s * fates.uneven.min(spacing) + slack;
        let rate_off = rate_off + frames_s * CLOCKS_APART + 2.0 * room / behind;
        let off = room + way.owed + rate_off * fates.at(self.knee.frame) + frames_s * fates.unsure;
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
    ) -> ((f64, f64), Bounds) {
        let knee_at = self.fates.at(self.knee.frame);
        let last = self.fates.at(self.fates.left.len().saturating_sub(1));
        let at_rate = |rate: f64, most: f64| {
            let depth = |pivot: f64| (b - (rate - frames_s) * pivot).max(1.0);
            let pivots = [knee_at, (knee_at + last) / 2.0, last];
            let ways = pivots.map(|pivot| self.pass(rate, depth(pivot), most));
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
}

/// The frames of a train for buckets up to a rate. One that this bucket was not asked for is in none: it wins the same
/// with it and without.
fn runs(fates: &Fates, fastest: f64) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for ((fate, at), late) in fates.of.iter().zip(&fates.left).zip(&fates.late) {
        let (fate, at, late, taken) = (*fate, *at, *late, fate.passed());
        let goes_on = |run: &&mut Run| {
            let both_take = taken > 0.0 && run.taken > 0.0;
            both_take && late.max(run.late) == 0.0 && (at - run.until) * fastest <= 1.0
        };
        match runs.last_mut().filter(goes_on) {
            Some(run) => {
                run.frames += 1;
                run.taken += taken;
                run.until = at;
            }
            None if fate == Fate::Elsewhere => {}
            None => runs.push(Run { frames: 1, taken, at, until: at, late }),
        }
    }
    runs
}

/// Values between two, with both of them.
fn tried(from: f64, to: f64) -> impl Iterator<Item = f64> {
    (0..=TRIED).map(move |place| from + (to - from) * place as f64 / TRIED as f64)
}

/// The values between two that cost least, to `finest`. What costs more than it is asked for may say less.
fn best(from: f64, to: f64, finest: f64, costs: impl Fn(f64, f64) -> f64) -> (f64, f64) {
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn frames_taken_together_cost_what_they_cost_one_by_one(
            frames in prop::collection::vec((0_u8..6, 0.2_f64..2.5), 1..60),
            (frames_s, b, slack) in (0.5_f64..1.5, 1.0_f64..9.0, 0.0_f64..0.6),
        ) {
            let fate = |drawn: u8| match drawn {
                0 => Fate::Missing,
                1 => Fate::Elsewhere,
                2 => Fate::Twice,
                _ => Fate::Arrived,
            };
            let left = frames.iter().scan(0.0, |at, (_, gap)| {
                let now = *at;
                *at += gap;
                Some(now)
            });
            let fates = Fates {
                of: frames.iter().map(|(drawn, _)| fate(*drawn)).collect(),
                left: left.collect(),
                late: frames.iter().map(|(drawn, gap)| if *drawn == 5 { gap / 9.0 } else { 0.0 }).collect(),
                unsure: 0.0,
                uneven: 0.0,
            };
            let knee = Knee { frame: 0, passed: 0.0, missing: 0.0 };
            let rates = Bounds { estimate: 1.0, at_least: 0.5, at_most: 1.5 };
            for lost in [Lost::Before, Lost::Behind, Lost::Either] {
                let new = || Search { slack, ..Search::of(&fates, knee, rates, lost) };
                let together = new();
                let runs = runs(&fates, f64::INFINITY);
                prop_assert!(together.runs.len() <= runs.len());
                let apart = Search { runs, ..new() };
                let [one, other] = [together, apart].map(|search| {
                    (search.pass(frames_s, b, f64::INFINITY), search.depths(frames_s, 0.0, f64::INFINITY))
                });
                let of = |(way, depths): (Way, (f64, f64))| {
                    [way.owed, way.least, way.below, f64::from(way.lost), f64::from(way.granted), depths.0, depths.1]
                };
                for (one, other) in of(one).into_iter().zip(of(other)) {
                    prop_assert!(one == other || (one - other).abs() < 1e-9, "{one} {other}, {lost:?}");
                }
            }
        }
    }
}
