//! Whether a policer has one bucket or two, by what trains show that come at two rates, or after pauses.
//!
//! Of two buckets that mark nothing, of CIR `c` and EIR `e` with the depths `C` and `E`, the second one
//! wins nothing while it waits, full, for a train to empty the first one. So both together pass what one
//! bucket of the rate `r = c + e` passes whose depth is `b = C + E - e·t`, where `t` is the time in which
//! the train takes `C` frames more than the first bucket wins. No train of one rate tells two buckets from
//! one: the faster a train, the deeper two buckets seem, and one is equally deep at all rates. Of trains at
//! two rates follow, for each CIR, the depths `C` with which they agree on `C + E`.
//!
//! Buckets that both were empty hold `C₀ = min(C, c·p)` and `E₀ = min(E, e·p)` after a pause `p`, and a train
//! that meets them passes what one bucket of the depth `C₀ + min(E₀, E - e·t)` passes. Two that take
//! different times to fill hold less after `p = (C + E)/r`, in which one bucket is just full, and of pauses
//! between the two times follow the rate of the slower one and the depth of the other.

use alloc::vec::Vec;

use super::SURELY_FULL;
use crate::formula::bounds::Bounds;
use crate::infer::bucket::{Fate, Fates};

/// A train that met full buckets, or what they had won since they were empty, and the depth in frames of the
/// single full one that explains it.
#[derive(Clone, Debug)]
pub(super) struct Train {
    pub(super) fates: Fates,
    pub(super) depth: Bounds,
    /// By how many frames it is deeper if what was lost was lost on the other side of it.
    pub(super) other_side: f64,
    /// Its first frame for which no bucket had tokens left.
    pub(super) knee: usize,
    /// No single bucket explains it by itself.
    pub(super) is_two: bool,
    /// Seconds since all buckets had less than a frame; `None` where they were full.
    pub(super) filled_for_s: Option<f64>,
}

/// What one bucket or two are, as far as trains tell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buckets {
    /// Of both, in frames.
    pub(super) depth: Bounds,
    /// There is one alone as far as the trains tell: a committed bucket of more frames than this would have
    /// shown the other one, if the EIR is from 5 to 95 % of both rates.
    pub(super) shown_from: Option<f64>,
    /// Seconds that either of two takes to fill, at most.
    pub(super) fills_s: f64,
    /// Seconds that the one of two takes to fill which fills first, at least.
    pub(super) one_fills_s: f64,
    /// What two are that explain all trains where no single one does.
    pub(super) two: Option<Two>,
}

/// Two buckets, in frames and frames in a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Two {
    pub(super) cir: Bounds,
    pub(super) cbs: Bounds,
    pub(super) eir: Bounds,
    pub(super) ebs: Bounds,
}

/// Shares of both rates that an EIR may have are tried in steps of one in this number: from none, where there
/// is one bucket, to all.
pub(super) const TRIED: u32 = 20;
/// Between a share with which there are two buckets and one with which there are none.
const HALVED: u32 = 7;
/// Frames by which a contradiction changes at once, because buckets are empty before a whole frame.
const AT_ONCE: f64 = 2.0;
/// Shares of what was lost on the other side, too.
const MIXTURES: u32 = 4;

impl Train {
    /// Seconds until a bucket of each whole number of frames is empty that wins `cir` frames in a second: at
    /// least and at most, of the depths that are empty before frames are refused. Frames may have left later
    /// than is known, and lost ones have taken tokens or not.
    fn empties(&self, cir: f64) -> Vec<(f64, f64)> {
        let Fates { of, left, late, .. } = &self.fates;
        let mut found: Vec<(f64, f64)> = Vec::new();
        let (mut early, mut last) = ((0.0, 0.0), (0.0, 0.0));
        let mut reached = 0;
        let takes = |(deficit, before): &mut (f64, f64), frames: f64, at: f64| {
            *deficit = (*deficit - cir * (at - *before).max(0.0)).max(0.0) + frames;
            *before = before.max(at);
            *deficit
        };
        for ((fate, left), late) in of.iter().zip(left).zip(late).take(self.knee + 1) {
            let frames = fate.passed().max(1.0);
            let most = takes(&mut early, frames, *left);
            while (found.len() as f64) < most {
                found.push((*left, f64::INFINITY));
            }
            if *fate == Fate::Missing {
                continue;
            }
            let least = takes(&mut last, frames, left + late);
            while reached < found.len() && (reached as f64) < least {
                found[reached].1 = left + late;
                reached += 1;
            }
        }
        let knee_at = self.fates.at(self.knee) + late.get(self.knee).copied().unwrap_or(0.0);
        found.iter_mut().skip(reached).for_each(|(_, at_most)| *at_most = knee_at);
        found
    }

    /// Frames by which what it says of two buckets differs between an EIR of all of `passes` and of none, at most.
    fn steepest(&self, passes: f64) -> f64 {
        2.0 * passes * self.filled_for_s.unwrap_or_default().max(self.fates.at(self.knee))
    }

    /// Seconds until the knee in which nothing was sent for longer than even frames are apart: a bucket that
    /// is nearly full wins less in such a time than one that both together are.
    fn stood_still(&self) -> f64 {
        let Fates { left, late, .. } = &self.fates;
        let latest = || left.iter().zip(late).map(|(left, late)| left + late);
        let even = 2.0 * self.fates.spacing();
        let gaps = latest().skip(1).zip(latest()).take(self.knee);
        gaps.map(|(next, before)| (next - before - even).max(0.0)).sum()
    }
}

impl Buckets {
    /// `None` where neither one bucket nor two explain all trains, whose buckets win `passes` frames in a
    /// second, and the committed one holds `least` frames.
    pub(super) fn of(trains: &[Train], passes: f64, least: f64) -> Option<Self> {
        // Of what either bucket has left of a frame the other one sees nothing.
        let left = |train: &Train| passes * train.stood_still() + f64::from(u8::from(train.is_two));
        let left: Vec<f64> = trains.iter().map(left).collect();
        let of_one = alloc::vec![0.0; trains.len()];
        let one = tried(trains, passes, (0.0, &of_one), 0.0).ok().map(|one| one.depth);
        let of = |share: f64| tried(trains, passes, (share * passes, &left), least);
        let steepest = trains.iter().map(|train| train.steepest(passes)).fold(1.0, f64::max);
        let shares = shares(of, steepest, one.is_some());
        let found =
            || shares.iter().filter_map(|(share, found)| Some((*share, found.as_ref().ok()?)));
        let depths = found().map(|(_, found)| found.depth).chain(one);
        let all = depths.reduce(Bounds::or)?;
        let of_two = || found().filter(|(share, _)| *share < 1.0).map(|(_, found)| found);
        let hidden = of_two().map(|found| found.cbs.at_most).fold(least, f64::max);
        let fills_s = of_two().map(|found| found.fills_s).fold(0.0, f64::max);
        let one_fills_s = of_two().map(|found| found.one_fills_s).fold(f64::INFINITY, f64::min);
        let middle = one.unwrap_or(all);
        let depth = Bounds { estimate: (middle.at_least + middle.at_most) / 2.0, ..all };
        let is_one = one.is_some() && !trains.iter().any(|train| train.is_two);
        let shown_from = is_one.then_some(hidden);
        let two = found().map(|(share, found)| found.two(passes, share)).reduce(Two::or);
        let two = two
            .filter(|_| one.is_none())
            .map(|two| two.each(|of| Bounds::between(of.at_least, of.at_most)));
        Some(Self { depth, shown_from, fills_s, one_fills_s, two })
    }

    /// Whether there are two and one may not have been full after a pause.
    pub(super) fn may_be_deeper(&self, paused_s: f64) -> bool {
        self.shown_from.is_none() && paused_s < SURELY_FULL * self.fills_s
    }
}

impl Two {
    fn or(self, other: Self) -> Self {
        Self {
            cir: self.cir.or(other.cir),
            cbs: self.cbs.or(other.cbs),
            eir: self.eir.or(other.eir),
            ebs: self.ebs.or(other.ebs),
        }
    }

    pub(super) fn each(self, of: impl Fn(Bounds) -> Bounds) -> Self {
        let Self { cir, cbs, eir, ebs } = self;
        let [cir, cbs, eir, ebs] = [cir, cbs, eir, ebs].map(of);
        Self { cir, cbs, eir, ebs }
    }

    /// Whether each rate and depth is known to a factor of two, and both hold this number of frames at least.
    pub(super) fn is_known(&self, least: f64) -> bool {
        let Self { cir, cbs, eir, ebs } = self;
        let is_known = |of: &&Bounds| of.at_most <= 2.0 * of.at_least;
        [cir, cbs, eir, ebs].iter().all(is_known) && cbs.at_least.min(ebs.at_least) >= least
    }

    /// In bytes and bits in a second, of frames that cost `charged` bytes each.
    pub(super) fn charged(self, charged: f64) -> Self {
        let Self { cir, eir, .. } = self;
        let [cir, eir] = [cir, eir].map(|rate| rate.scaled(8.0 * charged));
        Self { cir, eir, cbs: self.cbs.scaled(charged), ebs: self.ebs.scaled(charged) }
    }
}

/// What buckets of one EIR are that explain all trains.
struct Found {
    /// Of one or both, in frames.
    depth: Bounds,
    /// Frames that the committed one holds.
    cbs: Bounds,
    /// Frames that the other one holds.
    ebs: Bounds,
    /// Seconds that either takes to fill, at most, and the first one that is full, at least.
    fills_s: f64,
    one_fills_s: f64,
}

impl Found {
    fn two(&self, passes: f64, share: f64) -> Two {
        let [cir, eir] = [1.0 - share, share].map(|share| Bounds::exactly(share * passes));
        Two { cir, cbs: self.cbs, eir, ebs: self.ebs }
    }

    fn or(self, other: Self) -> Self {
        Self {
            depth: self.depth.or(other.depth),
            cbs: self.cbs.or(other.cbs),
            ebs: self.ebs.or(other.ebs),
            fills_s: self.fills_s.max(other.fills_s),
            one_fills_s: self.one_fills_s.min(other.one_fills_s),
        }
    }
}

/// What there is with an EIR, or by how many frames trains contradict each other.
type Tried = Result<Found, f64>;

/// Shares that an EIR may have of both rates, with what there is then, the ends of those with which there are two
/// buckets among them. What trains contradict changes by up to `steepest` frames from no share to all.
fn shares(of: impl Fn(f64) -> Tried, steepest: f64, may_be_one: bool) -> Vec<(f64, Tried)> {
    let grid = (1..=TRIED).map(|tried| f64::from(tried) / f64::from(TRIED));
    let mut shares: Vec<(f64, Tried)> = grid.map(|share| (share, of(share))).collect();
    let free = |tried: &Tried| {
        let gap = tried.as_ref().err().filter(|gap| gap.is_finite());
        gap.map(|gap| (gap - AT_ONCE).max(0.0) / steepest)
    };
    let all = shares.iter().map(|(share, tried)| (*share, free(tried)));
    let all: Vec<(f64, Option<f64>)> = all.collect();
    let mut between: Vec<_> = all.windows(2).map(|two| [two[0], two[1]]).collect();
    while let Some([(from, after), (to, before)]) = between.pop() {
        let from_left = from + after.unwrap_or_default();
        let to_left = to - before.unwrap_or_default();
        if to_left - from_left <= AT_ONCE / steepest || after.or(before).is_none() {
            continue;
        }
        let share = (from_left + to_left) / 2.0;
        let tried = of(share);
        let middle = (share, free(&tried));
        shares.push((share, tried));
        between.extend([[(from, after), middle], [middle, (to, before)]]);
    }
    shares.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    // What both hold is greatest and least with the shares at which it ends that there are two.
    let mut ends = Vec::new();
    let mut before = (0.0, may_be_one);
    for (share, tried) in &shares {
        let is_found = tried.is_ok();
        let (mut here, mut there) = (*share, before.0);
        for _ in 0..if before.1 == is_found { 0 } else { HALVED } {
            let middle = (here + there) / 2.0;
            let tried = of(middle);
            *(if tried.is_ok() == is_found { &mut here } else { &mut there }) = middle;
            ends.push((middle, tried));
        }
        before = (*share, is_found);
    }
    shares.extend(ends);
    shares
}

/// What one bucket or two are with this EIR, a committed one of at least `least` frames and up to `left` frames
/// of each train that no bucket sees; else by how much the trains contradict each other at least.
fn tried(trains: &[Train], passes: f64, (eir, left): (f64, &[f64]), least: f64) -> Tried {
    let is_mixed = trains.iter().any(|train| train.other_side != 0.0);
    let mixtures = if is_mixed { MIXTURES } else { 1 };
    let empties: Vec<_> = trains.iter().map(|train| train.empties(passes - eir)).collect();
    let full = trains.iter().zip(&empties).filter(|(train, _)| train.filled_for_s.is_none());
    let cells = full.map(|(_, empties)| empties.len()).min().unwrap_or(0).saturating_sub(1);
    // What one bucket holds does not depend on when it is empty.
    let cells = if eir > 0.0 { least as usize..cells } else { 0..cells.min(1) };
    let (mut found, mut gap) = (None::<Found>, f64::INFINITY);
    for (cbs, mixture) in cells.flat_map(|cbs| (0..mixtures).map(move |one| (cbs, one))) {
        let mixed = [mixture, mixture + 1].map(|one| f64::from(one) / f64::from(mixtures));
        let buckets = Cell { cbs, cir: passes - eir, eir };
        let (mut at_least, mut at_most, mut off) = (0.0_f64, f64::INFINITY, 0.0_f64);
        for ((train, empties), left) in trains.iter().zip(&empties).zip(left) {
            let [from, to] = mixed.map(|share| share * train.other_side);
            let passed =
                (train.depth.at_least + from.min(to), train.depth.at_most + from.max(to) + left);
            let (least, most, by) = buckets.both(passed, train.filled_for_s, empties);
            (at_least, at_most, off) = (at_least.max(least), at_most.min(most), off.max(by));
        }
        let off = off.max(at_least - at_most).max(cbs as f64 - at_most);
        gap = gap.min(off.max(f64::MIN_POSITIVE));
        if off <= 0.0 {
            let one = buckets.found(at_least, at_most);
            found = Some(match found {
                None => one,
                Some(found) => found.or(one),
            });
        }
    }
    found.ok_or(gap)
}

/// Buckets, the committed one of `cbs` frames or up to one more.
#[derive(Clone, Copy)]
struct Cell {
    cbs: usize,
    cir: f64,
    eir: f64,
}

impl Cell {
    /// Frames that both hold, at least and at most, if a train passes what one bucket of `passed` frames does,
    /// at least and at most; and by how many frames no depth explains it.
    fn both(
        &self,
        passed: (f64, f64),
        filled_for_s: Option<f64>,
        empties: &[(f64, f64)],
    ) -> (f64, f64, f64) {
        let Self { cbs, cir, eir } = *self;
        let Some(filled_for_s) = filled_for_s else {
            // A committed bucket of a frame more empties a little later.
            return (passed.0 + eir * empties[cbs].0, passed.1 + eir * empties[cbs + 1].1, 0.0);
        };
        // Buckets that refuse a frame have less than one left.
        let [won, excess_won] =
            [cir, eir].map(|rate| (rate * filled_for_s, rate * filled_for_s + 1.0));
        if eir == 0.0 {
            let is_full = passed.1 < won.0;
            return (passed.0, if is_full { passed.1 } else { f64::INFINITY }, passed.0 - won.1);
        }
        let cbs = (cbs as f64, (cbs + 1) as f64);
        let held = (cbs.0.min(won.0), cbs.1.min(won.1));
        let Some((first, _)) = empties.get(held.0 as usize) else {
            return (0.0, f64::INFINITY, held.0 - empties.len() as f64);
        };
        let last = empties.get(libm::ceil(held.1) as usize).or(empties.last());
        let last = last.map_or(0.0, |(_, last)| *last);
        let excess = (passed.0 - held.1, passed.1 - held.0);
        // A committed bucket that is full holds all that it can, whatever that is.
        let committed = if cbs.1 <= won.0 { (held.1, held.0) } else { cbs };
        let at_least = excess.0 + eir * first + committed.0;
        let at_most = excess.1 + eir * last + committed.1;
        let fills = excess.1 >= excess_won.0;
        let off = excess.0 - excess_won.1;
        (at_least, if fills { f64::INFINITY } else { at_most }, off)
    }

    fn found(&self, at_least: f64, at_most: f64) -> Found {
        let Self { cbs, cir, eir } = *self;
        let cbs = (cbs as f64, (cbs + 1) as f64);
        let ebs = Bounds::between((at_least - cbs.1).max(0.0), (at_most - cbs.0).max(0.0));
        Found {
            depth: Bounds::between(at_least, at_most),
            cbs: Bounds::between(cbs.0, cbs.1),
            ebs,
            fills_s: f64::max(cbs.1 / cir, ebs.at_most / eir),
            one_fills_s: f64::min(cbs.0 / cir, ebs.at_least / eir),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    /// How a train is sent: frames in a second, the frame before which the sender stands still, once, for
    /// some seconds, and how long the buckets have filled, if not for ever.
    #[derive(Clone, Copy)]
    struct Sent {
        frames_s: f64,
        stall: (u32, f64),
        filled_for_s: Option<f64>,
    }

    impl Sent {
        fn at(frames_s: f64) -> Self {
            Self { frames_s, stall: (0, 0.0), filled_for_s: None }
        }

        /// What becomes of it frame by frame, and what the single full bucket is that explains it, to `off`
        /// frames. What was left of a frame before the buckets filled is a third of one in each.
        fn through(&self, [cir, cbs, eir, ebs]: [f64; 4], off: f64) -> Train {
            let Self { frames_s, stall: (from, stall), filled_for_s } = *self;
            let filled = |rate: f64, most: f64| {
                filled_for_s.map_or(most, |filled_s| f64::min(rate * filled_s + 0.33, most))
            };
            let mut tokens = [filled(cir, cbs), filled(eir, ebs)];
            let (mut before, mut passed) = (0.0, 0.0);
            let lasts =
                4.0 * (cbs + ebs) / (frames_s - cir - eir) + 4.0 * (cbs + ebs) / (cir + eir);
            let at =
                |frame: u32| f64::from(frame) / frames_s + if frame < from { 0.0 } else { stall };
            let left: Vec<f64> = (0..(lasts * frames_s) as u32).map(at).collect();
            let fate = |at: &f64| {
                let wins = at - before;
                before = *at;
                tokens = [(tokens[0], cir, cbs), (tokens[1], eir, ebs)]
                    .map(|(tokens, rate, most)| f64::min(tokens + rate * wins, most));
                let Some(bucket) = tokens.iter_mut().find(|tokens| **tokens >= 1.0) else {
                    return Fate::Missing;
                };
                *bucket -= 1.0;
                passed += 1.0;
                Fate::Arrived
            };
            let of: Vec<Fate> = left.iter().map(fate).collect();
            let estimate = passed - (cir + eir) * before;
            let depth = Bounds { estimate, at_least: estimate - off, at_most: estimate + off };
            let knee = of.iter().position(|fate| *fate == Fate::Missing).unwrap();
            let fates = Fates { of, late: vec![0.0; left.len()], left, unsure: 0.0, uneven: 0.0 };
            Train { fates, depth, other_side: 0.0, knee, is_two: false, filled_for_s }
        }
    }

    /// Full ones, at two rates.
    fn full(rates: [f64; 2], buckets: [f64; 4], off: f64) -> [Train; 2] {
        rates.map(|rate| Sent::at(rate).through(buckets, off))
    }

    #[test]
    fn what_two_buckets_hold_is_within_the_bounds_whatever_their_rates() {
        for buckets in [
            [1000.0, 400.0, 500.0, 300.0],
            [100.0, 50.0, 900.0, 900.0],
            [900.0, 800.0, 100.0, 20.0],
            [700.0, 60.0, 700.0, 60.0],
            [889.0, 3000.0, 111.0, 5.0],
        ] {
            let [cir, cbs, eir, ebs] = buckets;
            for times in [[1.5, 3.0], [3.0, 9.0], [1.1, 1.3]] {
                for stall in [(0, 0.0), (20, 0.1)] {
                    let passes = cir + eir;
                    let sent = |times| Sent { stall, ..Sent::at(times * passes) };
                    let trains = times.map(|times| sent(times).through(buckets, 2.0));
                    let found = Buckets::of(&trains, passes, 1.0).unwrap();
                    let depth = found.depth;
                    let truth = cbs + ebs;
                    assert!(depth.at_least <= truth && truth <= depth.at_most, "{depth:?}");
                    assert!(found.shown_from.is_none_or(|from| cbs <= from), "{found:?}");
                }
            }
        }
    }

    #[test]
    fn a_second_bucket_shows_where_trains_find_the_first_one_to_a_frame() {
        let trains = full([3000.0, 9000.0], [500.0, 400.0, 500.0, 300.0], 1.0);
        let found = Buckets::of(&trains, 1000.0, 1.0).unwrap();
        assert!(found.shown_from.is_none());
        assert!(found.depth.at_most - found.depth.at_least < 60.0, "{found:?}");
    }

    #[test]
    fn buckets_that_fill_for_a_while_show_which_of_them_was_full() {
        for buckets in [
            [1000.0, 400.0, 500.0, 300.0],
            [100.0, 50.0, 900.0, 900.0],
            [900.0, 800.0, 100.0, 20.0],
            [500.0, 900.0, 500.0, 90.0],
            [20.0, 90.0, 980.0, 90.0],
        ] {
            let [cir, cbs, eir, ebs] = buckets;
            let passes = cir + eir;
            let fills = [cbs / cir, ebs / eir];
            let mut trains = full([3.0 * passes, 9.0 * passes], buckets, 1.0).to_vec();
            for part in [0.05, 0.35, 0.65, 0.95] {
                let filled_for_s = Some(fills[0] + part * (fills[1] - fills[0]));
                let sent = Sent { filled_for_s, ..Sent::at(3.0 * passes) };
                trains.push(sent.through(buckets, 1.0));
            }
            let found = Buckets::of(&trains, passes, 1.0).unwrap();
            let two = found.two.unwrap();
            for (said, truth) in [(two.cir, cir), (two.cbs, cbs), (two.eir, eir), (two.ebs, ebs)] {
                assert!(said.at_least <= truth && truth <= said.at_most, "{truth} {two:?}");
            }
            // Of what a bucket won between two pauses each train tells some frames.
            let won = (two.cir.at_most - two.cir.at_least) * (fills[1] - fills[0]).abs();
            assert!(won < 25.0, "{two:?}");
            let shortest = f64::min(fills[0], fills[1]);
            assert!(
                found.one_fills_s <= shortest && shortest < 1.3 * found.one_fills_s,
                "{found:?}"
            );
        }
    }

    #[test]
    fn one_bucket_is_found_as_deep_as_it_is() {
        let trains = full([3000.0, 9000.0], [1000.0, 400.0, 0.0, 0.0], 1.0);
        let found = Buckets::of(&trains, 1000.0, 1.0).unwrap();
        assert!((found.depth.estimate - 400.0).abs() < 2.0);
        assert!(found.depth.at_most < 404.0, "{found:?}");
        assert!(found.shown_from.is_some_and(|from| from < 300.0), "{found:?}");
        assert_eq!(found.two, None);
    }

    #[test]
    fn one_bucket_that_fills_for_a_while_is_no_two() {
        let buckets = [1000.0, 400.0, 0.0, 0.0];
        let mut trains = full([3000.0, 3300.0], buckets, 2.0).to_vec();
        let hidden = Buckets::of(&trains, 1000.0, 1.0).unwrap().shown_from.unwrap();
        for filled_for_s in [0.1, 0.4, 0.8] {
            let sent = Sent { filled_for_s: Some(filled_for_s), ..Sent::at(3000.0) };
            trains.push(sent.through(buckets, 2.0));
        }
        let found = Buckets::of(&trains, 1000.0, 1.0).unwrap();
        assert_eq!(found.two, None);
        assert!(found.shown_from.unwrap() < hidden, "{hidden} {found:?}");
    }

    #[test]
    fn trains_that_no_full_buckets_explain_are_said_to_be_so() {
        let trains = [(3000.0, 400.0), (9000.0, 300.0)]
            .map(|(rate, depth)| Sent::at(rate).through([1000.0, depth, 0.0, 0.0], 1.0));
        assert!(Buckets::of(&trains, 1000.0, 1.0).is_none());
    }
}
