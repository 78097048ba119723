//! Whether a policer has one bucket or two, by trains that come at two rates.
//!
//! Of two buckets that mark nothing, of CIR `c` and EIR `e` with the depths `C` and `E`, the second one
//! wins nothing while it waits, full, for a train to empty the first one. So both together pass what one
//! bucket of the rate `r = c + e` passes whose depth is `b = C + E - e·t`, where `t` is the time in which
//! the train takes `C` frames more than the first bucket wins. No train of one rate tells two buckets from
//! one: the faster a train, the deeper two buckets seem, and one is equally deep at all rates. Of trains at
//! two rates follow, for each CIR, the depths `C` with which they agree on `C + E`.

use alloc::vec::Vec;

use super::super::{Abort, Look, Quiet, SHORT_FRAMES_S, seconds};
use super::seen::marked;
use super::{
    Aim, BELOW_THE_LINE, EMPTIES, FASTER, FASTER_LEAST, FILLS, FRAMES_MAX, Measured, PAUSE_MAX,
    SURELY_FULL, TRIES, at_most, better,
};
use crate::bounds::Bounds;
use crate::burst::Alone;
use crate::infer::bucket::{Fate, Fates};

/// Of two buckets one may take longer to fill than both together would.
pub(crate) const PAUSE_OF_TWO_S: f64 = 1.0;

/// A train that met full buckets, and the depth in frames of the single one that explains it.
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
}

/// Shares of both rates that an EIR may have are tried in steps of one in this number: from none, where there
/// is one bucket, to all.
const TRIED: u32 = 20;
/// Between a share with which there are two buckets and one with which there are none.
const HALVED: u32 = 7;
/// Shares of what was lost on the other side, too.
const MIXTURES: u32 = 4;

impl Look<'_> {
    /// A train of the same frames, at another rate: at the one of two that leaves less open of what two
    /// buckets hold. `None` where it would say nothing, or the line leaves no room for it. Where there are two,
    /// both trains are sent again after a pause that fills either of them.
    pub(super) fn at_another_rate(
        &mut self,
        one: &mut Measured,
        quiet: &Quiet,
    ) -> Result<Option<Measured>, Abort> {
        if !one.was_full || one.likely().is_empty() || !marked(&one.seen).is_empty() {
            return Ok(None);
        }
        let (rate, sent) = (one.rate().estimate, 1.0 / one.fates.spacing());
        let faster = (BELOW_THE_LINE * one.line).min(FASTER * sent).min(SHORT_FRAMES_S);
        let held = at_most(one.depth().estimate);
        let empties = rate / (1.0 - EMPTIES * held / FRAMES_MAX).max(0.0);
        let slower = (rate + (sent - rate) / FASTER).max(empties);
        // The share of a difference that two buckets may hold beyond it.
        let open = |slow: f64, fast: f64| slow / (fast - slow).max(0.0);
        let offered = if open(sent, faster) < open(slower, sent) { faster } else { slower };
        if offered < FASTER_LEAST * rate || offered >= one.line {
            return Ok(None);
        }
        let (frame_bytes, longest) = (one.frame_bytes, f64::from(self.search.frame_bytes));
        let line = one.line;
        let mut again = |offered, pause_s| {
            let aim = self.aim([rate, held, line], true, quiet);
            let aim = Aim { offered: Some(offered), pause_s, ..aim };
            let other = self.measure(frame_bytes, aim, true, quiet)?;
            Ok(other.filter(|other| other.was_full && !other.likely().is_empty()))
        };
        let mut pause_s = one.pause_s.max(PAUSE_OF_TWO_S);
        let Some(mut other) = again(offered, pause_s)? else { return Ok(None) };
        for _ in 0..TRIES {
            let buckets = one.buckets(Some(&other), longest);
            let fills_s = match buckets {
                Some(Buckets { shown_from: Some(_), .. }) => break,
                Some(buckets) => buckets.fills_s,
                // Either wins a share of the rate that is tried, at least.
                None => (2.0 * pause_s).min(f64::from(TRIED) * one.depth().estimate / rate),
            };
            let paused_s = one.pause_s.min(other.pause_s);
            if paused_s >= SURELY_FULL * fills_s || pause_s >= PAUSE_MAX.as_secs_f64() {
                break;
            }
            pause_s = (FILLS * fills_s).max(pause_s).min(PAUSE_MAX.as_secs_f64());
            let both = again(sent, pause_s)?.zip(again(offered, pause_s)?);
            let Some((slow, fast)) = both else { break };
            let fast = core::mem::replace(&mut other, Measured { shorter: None, ..fast });
            let slow = core::mem::replace(one, Measured { shorter: None, ..slow });
            one.replaced.extend([slow, fast]);
        }
        Ok(Some(other))
    }
}

impl Measured {
    pub(super) fn train(&self) -> Train {
        let knee = self.knee.frame;
        let (depth, other_side) = (self.depth_of_fits(), self.on_the_other_side());
        Train { fates: self.fates.clone(), depth, other_side, knee, is_two: self.is_two }
    }

    /// What one bucket or two that mark nothing may be by this train and another one of the same frames.
    fn buckets(&self, other: Option<&Self>, longest: f64) -> Option<Buckets> {
        let rate = other.map_or(self.rate(), |other| better(self.rate(), other.rate()));
        let measured = core::iter::once(self).chain(other);
        let trains: Vec<Train> =
            measured.flat_map(|one| [Some(one.train()), one.shorter.clone()]).flatten().collect();
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

    /// Bytes that the bucket holds, or both buckets if there may be two that mark nothing, of frames that cost
    /// `charged` bytes each; and what excludes a second one.
    pub(super) fn held(
        &self,
        other: Option<&Self>,
        longest: f64,
        charged: f64,
    ) -> (Bounds, Option<Alone>) {
        let is_clear = !self.likely().is_empty() && self.rate_with_room().is_some();
        if !marked(&self.seen).is_empty() || !is_clear {
            return (self.depth().scaled(charged), None);
        }
        let other = other.filter(|other| other.frame_bytes == self.frame_bytes);
        let Some(buckets) = self.buckets(other, longest) else {
            return (Bounds { at_most: f64::INFINITY, ..self.depth() }.scaled(charged), None);
        };
        let Buckets { depth, shown_from, .. } = buckets;
        let alone = other.zip(shown_from.filter(|from| *from < depth.estimate));
        let alone = alone.map(|(other, from)| Alone {
            shown_from_bytes: from * charged,
            filled_within: seconds(self.pause_s.min(other.pause_s)),
        });
        (depth.scaled(charged), alone)
    }
}

impl Train {
    /// Seconds until a bucket of each whole number of frames is empty that wins `cir` frames in a second: at
    /// least and at most, of the depths that are empty before frames are refused. Frames may have left later
    /// than is known, and lost ones have taken tokens or not.
    fn empties(&self, cir: f64) -> Vec<(f64, f64)> {
        let Fates { of, left, late, .. } = &self.fates;
        let mut found: Vec<(f64, f64)> = Vec::new();
        let (mut early, mut last) = ((0.0, 0.0), (0.0, 0.0));
        let mut reached = 0;
        let takes = |(deficit, before): &mut (f64, f64), at: f64| {
            *deficit = (*deficit - cir * (at - *before).max(0.0)).max(0.0) + 1.0;
            *before = before.max(at);
            *deficit
        };
        for ((fate, left), late) in of.iter().zip(left).zip(late).take(self.knee + 1) {
            let most = takes(&mut early, *left);
            while (found.len() as f64) < most {
                found.push((*left, f64::INFINITY));
            }
            if *fate == Fate::Missing {
                continue;
            }
            let least = takes(&mut last, left + late);
            while reached < found.len() && (reached as f64) < least {
                found[reached].1 = left + late;
                reached += 1;
            }
        }
        let knee_at = self.fates.at(self.knee) + late.get(self.knee).copied().unwrap_or(0.0);
        found.iter_mut().skip(reached).for_each(|(_, at_most)| *at_most = knee_at);
        found
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
        let one = found(trains, passes, (0.0, &of_one), 0.0).map(|one| one.depth);
        let (mut all, mut hidden) = (one, least);
        let mut fills_s = 0.0_f64;
        let mut add = |share: f64| {
            let found = found(trains, passes, (share * passes, &left), least);
            if let Some(Found { depth, cbs, fills_s: one_s }) = found {
                all = Some(all.map_or(depth, |all| all.or(depth)));
                if share < 1.0 {
                    (hidden, fills_s) = (hidden.max(cbs), fills_s.max(one_s));
                }
            }
            found.is_some()
        };
        let mut before = (0.0, one.is_some());
        for tried in 1..=TRIED {
            let share = f64::from(tried) / f64::from(TRIED);
            let is_found = add(share);
            // What both hold is greatest and least with the shares at which it ends that there are two.
            let (mut here, mut there) = (share, before.0);
            for _ in 0..if before.1 == is_found { 0 } else { HALVED } {
                let middle = (here + there) / 2.0;
                *(if add(middle) == is_found { &mut here } else { &mut there }) = middle;
            }
            before = (share, is_found);
        }
        let all = all?;
        let middle = one.unwrap_or(all);
        let depth = Bounds { estimate: (middle.at_least + middle.at_most) / 2.0, ..all };
        let is_one = one.is_some() && !trains.iter().any(|train| train.is_two);
        Some(Self { depth, shown_from: is_one.then_some(hidden), fills_s })
    }

    /// Whether there are two and one may not have been full after a pause.
    fn may_be_deeper(&self, paused_s: f64) -> bool {
        self.shown_from.is_none() && paused_s < SURELY_FULL * self.fills_s
    }
}

/// What buckets of one EIR are that explain all trains.
struct Found {
    /// Of one or both, in frames.
    depth: Bounds,
    /// Frames that the deepest committed one holds.
    cbs: f64,
    /// Seconds that either takes to fill, at most.
    fills_s: f64,
}

/// What one bucket or two are with this EIR, a committed one of at least `least` frames and up to `left` frames
/// of each train that no bucket sees; `None` where no such buckets explain all trains.
fn found(trains: &[Train], passes: f64, (eir, left): (f64, &[f64]), least: f64) -> Option<Found> {
    let is_mixed = trains.iter().any(|train| train.other_side != 0.0);
    let mixtures = if is_mixed { MIXTURES } else { 1 };
    let empties: Vec<_> = trains.iter().map(|train| train.empties(passes - eir)).collect();
    let cells = empties.iter().map(Vec::len).min().unwrap_or(0).saturating_sub(1);
    // What one bucket holds does not depend on when it is empty.
    let cells = if eir > 0.0 { least as usize..cells } else { 0..cells.min(1) };
    let mut found = None::<Found>;
    for (cbs, mixture) in cells.flat_map(|cbs| (0..mixtures).map(move |one| (cbs, one))) {
        let mixed = [mixture, mixture + 1].map(|one| f64::from(one) / f64::from(mixtures));
        let (mut at_least, mut at_most) = (0.0_f64, f64::INFINITY);
        for ((train, empties), left) in trains.iter().zip(&empties).zip(left) {
            let [from, to] = mixed.map(|share| share * train.other_side);
            // A committed bucket of a frame more empties a little later.
            let (first, last) = (empties[cbs].0, empties[cbs + 1].1);
            at_least = at_least.max(train.depth.at_least + from.min(to) + eir * first);
            at_most = at_most.min(train.depth.at_most + from.max(to) + eir * last + left);
        }
        if at_least <= at_most && cbs as f64 <= at_most {
            let depth = Bounds { estimate: at_least, at_least, at_most };
            let cbs = (cbs + 1) as f64;
            let fills_s = f64::max(cbs / (passes - eir), (at_most - cbs).max(0.0) / eir);
            let before =
                found.map_or((depth, 0.0), |before| (before.depth.or(depth), before.fills_s));
            found = Some(Found { depth: before.0, cbs, fills_s: before.1.max(fills_s) });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    /// What becomes of a train, frame by frame, and what the single bucket is that explains it, to `off`
    /// frames. The sender stands still, once, for `stall` seconds after `from` frames.
    fn sent(
        frames_s: f64,
        [cir, cbs, eir, ebs]: [f64; 4],
        (from, stall): (u32, f64),
        off: f64,
    ) -> (Fates, Bounds) {
        let (mut tokens, mut before, mut passed) = ([cbs, ebs], 0.0, 0.0);
        let lasts = 4.0 * (cbs + ebs) / (frames_s - cir - eir) + 4.0 * (cbs + ebs) / (cir + eir);
        let at = |frame: u32| f64::from(frame) / frames_s + if frame < from { 0.0 } else { stall };
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
        (Fates { of, late: vec![0.0; left.len()], left, uneven: 0.0 }, depth)
    }

    fn knee(fates: &Fates) -> usize {
        fates.of.iter().position(|fate| *fate == Fate::Missing).unwrap()
    }

    fn found(sent: &[(Fates, Bounds)], passes: f64) -> Option<Buckets> {
        let trains: Vec<_> = sent
            .iter()
            .map(|(fates, depth)| Train {
                fates: fates.clone(),
                depth: *depth,
                other_side: 0.0,
                knee: knee(fates),
                is_two: false,
            })
            .collect();
        Buckets::of(&trains, passes, 1.0)
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
                    let trains = times.map(|times| sent(times * passes, buckets, stall, 2.0));
                    let found = found(&trains, passes).unwrap();
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
        let trains =
            [3000.0, 9000.0].map(|rate| sent(rate, [500.0, 400.0, 500.0, 300.0], (0, 0.0), 1.0));
        assert!(found(&trains, 1000.0).unwrap().shown_from.is_none());
        let depth = found(&trains, 1000.0).unwrap().depth;
        assert!(depth.at_most - depth.at_least < 60.0, "{depth:?}");
    }

    #[test]
    fn one_bucket_is_found_as_deep_as_it_is() {
        let trains =
            [3000.0, 9000.0].map(|rate| sent(rate, [1000.0, 400.0, 0.0, 0.0], (0, 0.0), 1.0));
        let found = found(&trains, 1000.0).unwrap();
        assert!((found.depth.estimate - 400.0).abs() < 2.0);
        assert!(found.depth.at_most < 404.0, "{found:?}");
        assert!(found.shown_from.is_some_and(|from| from < 300.0), "{found:?}");
    }

    #[test]
    fn trains_that_no_full_buckets_explain_are_said_to_be_so() {
        let trains = [(3000.0, 400.0), (9000.0, 300.0)]
            .map(|(rate, depth)| sent(rate, [1000.0, depth, 0.0, 0.0], (0, 0.0), 1.0));
        assert!(found(&trains, 1000.0).is_none());
    }
}
