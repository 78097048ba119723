//! A policer's buckets, by what became of each frame of trains that meet them full.

mod aim;
mod buckets;
mod seen;
mod two;

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{BurstReport, BurstsReport, PacketLayout};

use super::{
    Abort, Bounds, Charge, Discovered, Estimate, Look, Quiet, Search, settle, spacing_in_runs,
    unknown,
};
use crate::burst::{SecondBucket, Together};
use crate::infer::bucket::{Bucket, Explained, Fates, Knee, Lost};
use crate::infer::offers::Probing;
use crate::infer::rate::Kind;
use crate::path::{Packets, pause};
use aim::Aim;
pub(crate) use aim::{EMPTIES, FRAMES_MAX};
use buckets::Train;
pub(super) use seen::Granted;
use seen::{excess, fates, marked, waited};
pub(crate) use two::PAUSE_OF_TWO_S;
use two::Told;

/// The intervals narrow with the time for which the empty bucket is watched: it is watched longer, once, for
/// intervals of this share of rate and depth, a quarter of what a test tolerates.
pub(super) const WIDTH: f64 = 0.01;
/// Below a line's rate it queues nothing.
pub(super) const BELOW_THE_LINE: f64 = 0.97;
/// A train is faster than the bucket by this factor at least, or the bucket is never empty.
pub(super) const FASTER_LEAST: f64 = 1.03;
/// A pause that is longer by this factor than a bucket takes to fill has filled it: one that was not full
/// shows what it won in the pause at least.
const SURELY_FULL: f64 = 1.05;
/// What takes longer to fill, or to empty, is known by a bound only.
const PAUSE_MAX: Duration = Duration::from_secs(40);
const TRIES: u32 = 6;
/// A bucket of which nothing shows is looked for no longer than this.
const BUDGET: Duration = Duration::from_secs(20);
/// Deeper buckets, in frames, are measured with the longest frames alone: one frame slot is then half
/// a percent of the depth.
const MANY_FRAMES: f64 = 60.0;
/// One of each three is not one of each four because a count was cut short.
const ROUNDED: f64 = 0.05;
/// When two buckets refuse a frame each of them has less than one left, and both up to two: half a frame more
/// or less than the single bucket that is most like them, and a thirtieth for the clocks.
const OF_TWO: f64 = 0.5 + 1.0 / 30.0;

/// What a train of one length shows.
pub(super) struct Measured {
    pub(super) frame_bytes: u32,
    pub(super) fates: Fates,
    knee: Knee,
    quiet: Quiet,
    seen: BurstsReport,
    /// The likely ones, with losses before the bucket and behind it.
    fits: [Option<Bucket>; 2],
    /// It takes two buckets to explain the train.
    is_two: bool,
    /// It takes losses on both sides of the bucket.
    on_both_sides: bool,
    /// Frames in a second behind the knee.
    pub(super) passes: Bounds,
    /// By how much longer than the first frames the last ones were under way, and three standard
    /// errors of that, in seconds.
    waited: (f64, f64),
    /// Seconds without a frame before the train, and frames per second of the slowest line in front.
    pause_s: f64,
    line: f64,
    /// The bucket was full when the train began.
    was_full: bool,
    /// A shorter train that met a full bucket, too: the longer a bucket is watched, the better its rate is
    /// known, and the more of what comes unevenly is in the interval of its depth.
    shorter: Option<Train>,
    /// A faster train passed more beyond the rate than the bucket holds that explains this one, and no
    /// single bucket explains that: of two, one wins nothing while it waits, full, for the other to empty.
    holds_more: bool,
    /// Trains that may have met buckets that were not full; what passes once they are empty they show as well.
    pub(super) replaced: Vec<Self>,
    /// Trains that met buckets which were filling.
    partly: Vec<Train>,
}

impl Look<'_> {
    pub(super) fn policer(&mut self, found: &Estimate, quiet: &Quiet) -> Result<Discovered, Abort> {
        let long_bytes = f64::from(self.search.frame_bytes);
        let Some(mut long) = self.long(found, quiet, 0.0)? else { return Ok(unknown(found)) };
        let open = |look: &Self| look.denser(found, &long).unwrap_or_else(|| unknown(found));
        match long.shows(found) {
            Kind::Unknown => return Ok(open(self)),
            // What one train shows to be a queue and another not is neither for certain.
            Kind::Queue if self.is_a_queue => return Ok(open(self)),
            Kind::Queue => {
                self.is_a_queue = true;
                let rested = self.rested(&long, found)?;
                return Ok(match self.queue(&rested, quiet)? {
                    said @ (Discovered::Unknown { contradiction: None, .. }
                    | Discovered::NoPolicer { .. }) => self.denser(found, &long).unwrap_or(said),
                    known => known,
                });
            }
            Kind::Policer => {}
        }
        let depth = long.depth();
        let Some(short_bytes) = self.short_frame(1.5 * found.bps / 8.0, long.rate().estimate)
        else {
            let other = self.of_two(&mut long, quiet)?;
            return Ok(self.as_policer(found, &long, [None, other.as_ref()], None));
        };
        // What many frames show of the depth no more of them show better, but for two buckets.
        let full = depth.estimate < MANY_FRAMES || !long.was_full || long.likely().is_empty();
        let aim = self.aim_shorter(&long, short_bytes, full, quiet);
        let mut short = self.measure(short_bytes, aim, full, quiet)?;
        let shows_depth = short.as_mut().filter(|short| short.was_full && full);
        let mut other = self.of_two(shows_depth.unwrap_or(&mut long), quiet)?;
        if !full && long.is_of_two(other.as_ref(), long_bytes) {
            let aim = self.aim_shorter(&long, short_bytes, true, quiet);
            let finer = self.measure(short_bytes, aim, true, quiet)?;
            if let Some(mut finer) = finer.filter(|finer| finer.was_full) {
                let at_another_rate = self.of_two(&mut finer, quiet)?;
                finer.replaced.extend(short.take());
                short = Some(finer);
                long.replaced.extend(core::mem::replace(&mut other, at_another_rate));
            }
        }
        let of = |one: &Measured| (one.frame_bytes, one.rate());
        let charge = short.as_ref().map(|short| {
            self.charged(of(short), of(&long), |look, bytes| {
                if !(short.is_exact() && long.is_exact()) {
                    return Ok(None);
                }
                let aim = look.aim_shorter(&long, bytes, false, quiet);
                let middle = look.measure(bytes, aim, false, quiet)?;
                Ok(middle.filter(Measured::is_exact).map(|middle| middle.rate()))
            })
        });
        let charge = charge.transpose()?;
        Ok(self.as_policer(found, &long, [short.as_ref(), other.as_ref()], charge))
    }

    /// At what shorter frames show of a bucket that long ones found.
    fn aim_shorter(&self, long: &Measured, frame_bytes: u32, full: bool, quiet: &Quiet) -> Aim {
        let times = f64::from(long.frame_bytes) / f64::from(frame_bytes);
        let line = self.line_of_runs() * times * 0.9;
        let held = at_most(long.depth().estimate * times);
        self.aim([long.rate().estimate * times, held, line], full, quiet)
    }

    /// A train of the longest frames, after at least `rest_s` seconds.
    pub(super) fn long(
        &mut self,
        found: &Estimate,
        quiet: &Quiet,
        rest_s: f64,
    ) -> Result<Option<Measured>, Abort> {
        let in_runs = |line: &BurstReport| spacing_in_runs(line, quiet.range);
        self.slot_in_runs = self.line.as_ref().and_then(in_runs);
        let frames_s = found.bps / (8.0 * f64::from(self.search.frame_bytes));
        let held = 1.5 * found.held + 5.0;
        let is_policer = found.kind == Kind::Policer;
        // What may be a queue is waited for: frames in it are not lost.
        let queued = if found.kind == Kind::Unknown { found.delay } else { Duration::ZERO };
        let aim = self.aim([frames_s, held, self.line_of_runs()], true, quiet);
        let aim = Aim { is_policer, queued, pause_s: aim.pause_s.max(rest_s), ..aim };
        self.measure(self.search.frame_bytes, aim, true, quiet)
    }

    /// What a train shows to be a queue, after a pause: what the train filled empties, then what let frames go
    /// at once fills. Together they hold what a bucket would that explains the train.
    pub(super) fn rested(&mut self, long: &Measured, found: &Estimate) -> Result<Estimate, Abort> {
        let Search { family, dscp, rtt, .. } = self.search;
        let fills = super::seconds(SURELY_FULL * long.fills_s());
        pause(&mut Probing(self.run), Packets { family, dscp }, rtt, fills)?;
        Ok(Estimate { kind: Kind::Queue, delay: super::seconds(long.waited.0), ..*found })
    }

    /// The longest frames that the slowest line carries in a second.
    fn line_of_runs(&self) -> f64 {
        self.slot_in_runs.map_or(f64::INFINITY, |slot| 1.0 / slot)
    }

    fn aim(&self, rates: [f64; 3], full: bool, quiet: &Quiet) -> Aim {
        Aim::new(rates, full, settle(self.search.rtt).as_secs_f64(), quiet)
    }

    /// Seconds from one frame of this length to the next on the slowest line; none where that is unknown.
    fn slot(&self, frame_bytes: u32) -> f64 {
        self.slot_in_runs.map_or(0.0, |slot| self.on_a_line(slot, frame_bytes))
    }

    /// Seconds that a frame of this length takes on a line on which the longest ones take `slot` seconds.
    pub(super) fn on_a_line(&self, slot: f64, frame_bytes: u32) -> f64 {
        let on_the_line = |bytes: u32| f64::from(bytes + PacketLayout::ETHERNET_L1_OVERHEAD);
        slot * on_the_line(frame_bytes) / on_the_line(self.search.frame_bytes)
    }

    /// A train of frames that meets a full bucket and empties it; `None` where none could.
    fn measure(
        &mut self,
        frame_bytes: u32,
        mut aim: Aim,
        full: bool,
        quiet: &Quiet,
    ) -> Result<Option<Measured>, Abort> {
        let (mut best, began) = (None::<Measured>, self.sending);
        for _ in 0..TRIES {
            let burst = aim.burst(frame_bytes);
            let seen = self.burst(burst)?;
            let Some(report) = seen.bursts.first() else { return Ok(None) };
            if report.departures.last().is_some_and(|last| last.frame >= report.sent_frames) {
                // Nobody knows which ones were not sent.
                continue;
            }
            let fates = fates(report, self.granted, self.slot(frame_bytes), quiet);
            if aim.meets_a_slower_line(report, &fates) {
                continue;
            }
            // Runs of frames lost by chance are no bucket that this train empties.
            let passes_all = fates.passes(quiet).at_least * fates.spacing() > 1.0 / FASTER_LEAST;
            if !fates.is_refused(quiet) || passes_all {
                if aim.is_longest(burst) || self.sending - began > BUDGET {
                    return Ok(best);
                }
                aim.lengthen();
                continue;
            }
            if aim.shows_too_little(burst, &fates, quiet) {
                continue;
            }
            let measured = Measured::of(frame_bytes, seen, fates, &aim, quiet);
            if aim.has_to_be_repeated(&measured) {
                best = best.or(Some(measured));
                continue;
            }
            let fills_s = measured.fills_s();
            let was_full = aim.pause_s >= SURELY_FULL * fills_s;
            aim.follow(&measured, fills_s);
            let is_last =
                (was_full || !full || burst.pause >= PAUSE_MAX) && !aim.watches_longer(&measured);
            let holds_more = best.as_ref().is_some_and(|best| best.holds_more_than(&measured));
            let shorter = best.filter(|best| best.was_full && !best.likely().is_empty());
            let shorter = shorter.map(|best| best.train());
            best = Some(Measured { was_full, shorter, holds_more, ..measured });
            if is_last {
                break;
            }
        }
        Ok(best)
    }

    fn as_policer(
        &self,
        found: &Estimate,
        long: &Measured,
        [short, other]: [Option<&Measured>; 2],
        charge: Option<Charge>,
    ) -> Discovered {
        // What explains frames of one length and not those of another is no bucket.
        let is_explained = |train: &Measured| !train.was_full || !train.likely().is_empty();
        if long.likely().is_empty() || !short.is_none_or(is_explained) {
            return unknown(found);
        }
        let long_bytes = f64::from(self.search.frame_bytes);
        let mut charge = charge.unwrap_or(Charge::UNKNOWN);
        let charged = charge.charged(f64::from(self.search.frame_bytes));
        let mut cir = long.rate().scaled(8.0 * charged);
        let Told { depth: mut cbs, mut alone, mut two } = long.told(other, long_bytes, charged);
        let mut of_one = long.depth().scaled(charged);
        let mut agree = true;
        if let Some(short) = short {
            let charged = charge.charged(f64::from(short.frame_bytes));
            let told = short.was_full.then(|| short.told(other, long_bytes, charged));
            let is_told = charge.layer.is_some();
            let as_long = if is_told { Bounds::exactly(1.0) } else { short.as_bytes_of(long) };
            let of_short = told.as_ref().and_then(|told| told.two);
            two = of_short.map(|two| two.each(|of| of.times(&as_long))).or(two);
            if is_told {
                cir = better(cir, short.rate().scaled(8.0 * charged));
            }
            if let Some(told) = told.filter(|_| is_told) {
                agree = !cbs.excludes(&told.depth);
                cbs = cbs.and(told.depth);
                of_one = better(of_one, short.depth().scaled(charged));
                alone = alone.or(told.alone);
            }
        }
        if alone.is_some() {
            cbs.estimate = of_one.estimate.clamp(cbs.at_least, cbs.at_most);
        }
        let was_full = long.was_full || short.is_some_and(|short| short.was_full);
        // One bucket does not pass as much of long frames as of short ones where they exclude each other.
        if !(was_full && agree) {
            (cbs.at_most, of_one.at_most) = (f64::INFINITY, f64::INFINITY);
        }
        let marked = marked(&long.seen);
        if marked.is_empty() {
            if let Some(found) = self.contradicted(found, long, [short, other], &charge) {
                return found;
            }
            if let Some(deeper) = self.deeper(long, &charge, [cir, cbs]) {
                (charge, [cir, cbs]) = deeper;
                (of_one, alone, two) = (cbs, None, None);
            }
        }
        let together = Together { rate_bps: cir, depth_bytes: of_one };
        let mut excess = excess(long, &marked, charged);
        if let Some(two) = two {
            (cir, cbs) = (two.cir, two.cbs);
            let (rate_bps, depth_bytes) = (Some(two.eir), Some(two.ebs));
            excess = Some(SecondBucket { rate_bps, depth_bytes, dscp: None });
        }
        Discovered::Policer {
            cir_bps: cir,
            cbs_bytes: cbs,
            together,
            charge,
            excess,
            alone,
            marked,
        }
    }
}

/// What a bucket may hold in which this number of frames was seen.
fn at_most(frames: f64) -> f64 {
    1.1 * frames + 5.0
}

/// The narrower of two intervals, unless they exclude each other: then what holds both.
fn better(one: Bounds, other: Bounds) -> Bounds {
    if one.excludes(&other) {
        return one.or(other);
    }
    if other.width() < one.width() { other } else { one }
}

impl Measured {
    fn of(frame_bytes: u32, seen: BurstsReport, fates: Fates, aim: &Aim, quiet: &Quiet) -> Self {
        let Some(behind) = fates.doubled_behind() else {
            return Self::of_fates(frame_bytes, seen, fates, aim, quiet);
        };
        let mut in_front = Self::of_fates(frame_bytes, seen.clone(), fates, aim, quiet);
        let behind = Self::of_fates(frame_bytes, seen, behind, aim, quiet);
        let both = [in_front.likeliest(), behind.likeliest()];
        match Explained::likely_of(both, quiet).map(|one| one.is_some()) {
            [true, true] => {
                for (one, other) in in_front.fits.iter_mut().zip(behind.fits) {
                    *one = one.take().into_iter().chain(other).reduce(Bucket::or);
                }
                in_front
            }
            [true, false] => in_front,
            [false, _] => behind,
        }
    }

    /// The same where it is known whether a frame that came twice took tokens twice.
    fn of_fates(
        frame_bytes: u32,
        seen: BurstsReport,
        fates: Fates,
        aim: &Aim,
        quiet: &Quiet,
    ) -> Self {
        let passes = fates.passes(quiet);
        let knee = fates.knee(quiet);
        let waited =
            seen.bursts.first().map_or((0.0, 0.0), |report| waited(report, knee.frame, quiet));
        let sides = [Lost::Before, Lost::Behind];
        let mut fits = sides.map(|lost| fates.explained(passes, quiet, lost));
        let is_likely = fits.iter().flatten().any(|fit| fit.is_likely(quiet));
        // Frames that are lost on both sides of one bucket look like two, too.
        let on_both_sides = !is_likely && quiet.lost > 0.0;
        let is_two = !is_likely && quiet.lost == 0.0 && aim.is_policer;
        if on_both_sides {
            fits = [fates.explained(passes, quiet, Lost::Either), None];
        }
        if is_two {
            let slack = OF_TWO + passes.estimate * fates.uneven;
            fits = sides.map(|lost| fates.fit(passes, quiet, lost, slack));
        }
        let both = [0, 1].map(|side| Explained {
            fates: &fates,
            lost: sides[side],
            by: fits[side],
            rates: passes,
        });
        let fits = Explained::likely_of(both, quiet);
        let (quiet, was_full, shorter, holds_more) = (*quiet, true, None, false);
        Self {
            frame_bytes,
            fates,
            knee,
            quiet,
            seen,
            fits,
            passes,
            waited,
            is_two,
            on_both_sides,
            pause_s: aim.pause_s,
            line: aim.line,
            was_full,
            shorter,
            holds_more,
            replaced: Vec::new(),
            partly: Vec::new(),
        }
    }

    /// The likeliest of the buckets that explain the train, if there is one.
    fn likeliest(&self) -> Explained<'_> {
        let sides = [Lost::Before, Lost::Behind];
        let sides = if self.on_both_sides { [Lost::Either; 2] } else { sides };
        let log_likelihood = |fit: &Option<Bucket>| {
            fit.map_or(f64::NEG_INFINITY, |fit| fit.log_likelihood(&self.quiet))
        };
        let [one, other] = &self.fits;
        let side = usize::from(log_likelihood(other) > log_likelihood(one));
        let (fates, lost, by) = (&self.fates, sides[side], self.fits[side]);
        Explained { fates, lost, by, rates: self.passes }
    }

    /// Whether this train shows that the next one, slower, showed too little of the depth.
    fn holds_more_than(&self, slower: &Self) -> bool {
        let is_two = self.likely().is_empty() && !slower.likely().is_empty();
        self.holds_more || is_two && self.depth().estimate > slower.depth().at_most
    }

    /// How long the bucket, or the marked one if that takes longer, takes to fill.
    fn fills_s(&self) -> f64 {
        let excess = excess(self, &marked(&self.seen), 1.0).and_then(|second| {
            let (rate, depth) = (second.rate_bps?, second.depth_bytes?);
            Some(depth.estimate / (rate.estimate / 8.0))
        });
        (self.depth().estimate / self.rate().at_least).max(excess.unwrap_or(0.0))
    }

    /// By how many times as many bytes these frames cost as their own length says where long ones cost theirs.
    fn as_bytes_of(&self, long: &Self) -> Bounds {
        let bytes_s = |of: &Self| of.rate().scaled(f64::from(of.frame_bytes));
        bytes_s(long).times(&bytes_s(self).through(|bytes_s| 1.0 / bytes_s))
    }

    /// The buckets that explain what was seen, each with where frames are lost besides: one where the
    /// odds decide, none where no single bucket does.
    fn likely(&self) -> Vec<Bucket> {
        self.fits.iter().flatten().copied().collect()
    }

    /// Whether a bucket explains the fate of every frame by when it left. Where others share the bucket, short frames
    /// have more of it than long ones, as if they were charged less.
    fn is_exact(&self) -> bool {
        let likely = self.likely();
        !likely.is_empty() && likely.iter().all(|fit| fit.slack == 0.0)
    }

    /// What this train shows that to be which a search found. A queue that the search found is looked at here where
    /// something behind it drops.
    pub(super) fn shows(&self, found: &Estimate) -> Kind {
        match (found.kind, self.waits(found)) {
            (Kind::Policer, Kind::Queue) | (Kind::Unknown, Kind::Unknown) => Kind::Unknown,
            (Kind::Unknown, Kind::Queue) => Kind::Queue,
            (Kind::Policer | Kind::Queue, _) | (Kind::Unknown, Kind::Policer) => Kind::Policer,
        }
    }

    /// A queue as deep as the bucket that was found would delay by the time it takes to empty. It is a
    /// policer where frames waited for less than one as deep as that bucket is at least would delay them. Of two
    /// measurements the one that is known better: of this train, and of one just above the rate beside a quiet
    /// time, which may not have met the queue that this train filled.
    fn waits(&self, found: &Estimate) -> Kind {
        let one = 1.0 / self.rate().estimate;
        // Of what no bucket explains it is not known how much it holds.
        let is_explained = !self.likely().is_empty();
        let holds = if is_explained { self.depth() } else { Bounds::exactly(1.0) };
        let [full, full_at_least] = [holds.estimate * one, holds.at_least / self.rate().at_most];
        let (mut waited, mut off) = self.waited;
        let queued = 0.5 * full;
        let filled_a_queue = waited - off > queued;
        if 3.0 * found.waits.1 < off && !filled_a_queue {
            (waited, off) = (found.waits.0, 3.0 * found.waits.1);
        }
        if waited + off < 0.35 * full_at_least && waited - off <= 0.25 * one {
            Kind::Policer
        } else if waited - off > queued.min(3.0 * one) {
            Kind::Queue
        } else {
            Kind::Unknown
        }
    }

    /// Frames in a second.
    pub(super) fn rate(&self) -> Bounds {
        self.rate_with_room().unwrap_or_else(|| self.rate_without_room())
    }

    /// The same whatever the buckets hold: of two that together have room, one may have none.
    pub(super) fn rate_of_any(&self) -> Bounds {
        if self.is_two { self.rate_without_room() } else { self.rate() }
    }

    /// With room for no more than a frame a bucket wins nothing from one to the next, and passes one of each few
    /// frames at any rate up to that which passes one of one less.
    fn rate_without_room(&self) -> Bounds {
        let rate = self.rate_of_fits();
        let Some(few) = self.passes_one_of() else { return rate };
        let at_least = rate.at_least.min(self.passes.at_least);
        let at_most = rate.at_most.max(1.0 / self.fates.spacing() / (few - 1.0));
        Bounds { at_least, at_most, ..rate }
    }

    /// Of how many frames one passes; `None` where more than one of two do.
    fn passes_one_of(&self) -> Option<f64> {
        let sent = 1.0 / self.fates.spacing();
        let few = libm::ceil(sent / self.rate_of_fits().estimate - ROUNDED);
        (few >= 2.0).then_some(few)
    }

    fn rate_of_fits(&self) -> Bounds {
        let rates = self.likely().into_iter().map(|fit| fit.frames_s);
        rates.reduce(Bounds::or).unwrap_or(self.passes)
    }

    /// The same, if the bucket has room for it.
    pub(super) fn rate_with_room(&self) -> Option<Bounds> {
        let rate = self.rate_of_fits();
        self.fates.find_room_in(self.depth_shown(), rate).then_some(rate)
    }

    /// Frames. Whichever rate passes one of each few frames, the bucket holds the one that it passes, and less than
    /// it wins with each of them beyond that: with more it would pass one of one less.
    pub(super) fn depth(&self) -> Bounds {
        let depth = self.depth_shown();
        if self.rate_with_room().is_some() {
            return depth;
        }
        let most = self.passes_one_of().map_or(0.0, |few| 1.0 + 1.0 / few);
        Bounds { at_least: depth.at_least.min(1.0), at_most: depth.at_most.max(most), ..depth }
    }

    /// The same where it is known: something explains the train, which met a full bucket.
    pub(super) fn holds(&self) -> Option<Bounds> {
        let is_known = self.was_full && !self.likely().is_empty();
        is_known.then(|| self.depth()).filter(|depth| depth.at_most.is_finite())
    }

    fn depth_shown(&self) -> Bounds {
        let depth = self.depth_of_fits().shifted_up_to(self.on_the_other_side());
        let depth = self.shorter.as_ref().map_or(depth, |shorter| {
            better(depth, shorter.depth.shifted_up_to(shorter.other_side))
        });
        let at_most = if self.holds_more { f64::INFINITY } else { depth.at_most };
        Bounds { at_most, ..depth }
    }

    /// The same by this train alone, if all that is lost is lost where the fits say.
    fn depth_of_fits(&self) -> Bounds {
        let depths = self.likely().into_iter().map(|fit| fit.frames);
        depths.reduce(Bounds::or).unwrap_or_else(|| {
            // No single bucket explains it: this is what a straight line begins with.
            let middle = self.fates.intercept(self.passes.estimate).max(1.0);
            Bounds { estimate: middle, at_least: 0.0, at_most: f64::INFINITY }
        })
    }

    /// By how many frames a bucket is deeper if all that was lost until it was empty was lost on the other
    /// side of it than the only likely fit says: some may be lost on one side and some on the other.
    fn on_the_other_side(&self) -> f64 {
        let lost = self.knee.missing;
        match self.fits.map(|fit| fit.is_some()) {
            _ if self.on_both_sides => 0.0,
            [true, false] => lost,
            [false, true] => -lost,
            [true, true] | [false, false] => 0.0,
        }
    }
}
