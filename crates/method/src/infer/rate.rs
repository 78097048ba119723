//! The rate of a bottleneck from trains of frames.
//!
//! Whatever forgives too much for a while, a bucket or a queue of `B` bits: of frames offered at a
//! rate `S` above its own rate `R` it has let `min(S·t, R·t + B)` pass by the time `t`. Behind the
//! knee the slope is `R`, whoever forgave. A train is offered in three parts: one that fills or
//! empties what forgives, one well above the rate and one just above it. What the delay does in the
//! last part, where a queue in front of the bottleneck has drained, tells a policer from a queue.
//!
//! Times are means over many frames, so that jitter and a host that stands still hardly enter.

use alloc::vec::Vec;
use core::ops::Range;
use core::time::Duration;

use fp_model::Rate;

use super::train::{CERTAIN, CLOCK_STEP, CLOCKS_APART, Mean, Slice, Through, Train, scatter};
use crate::formula::bounds::{Bounds, Loss};

/// The second part of a train, relative to the rate.
pub(crate) const OVER: f64 = 1.4;
/// The third: above the error of a first look, which 60 frames give to 3 %, and below any faster
/// line in front of the bottleneck, so that its queue drains.
pub(crate) const FINE: f64 = 1.08;
/// A bucket of fewer frames earns nothing from when it is full to the next frame, which a line in front of
/// it may space.
const EARNS: f64 = 2.0;
/// Two standard errors hold the truth in 95 of 100 cases.
const COVERS: f64 = 2.0;
/// A frame more or less at each end of a count.
const COUNTED: f64 = 2.0;
/// A loss by few frames is never known to a share of itself that matters, so that all that guards its interval
/// is its width in standard errors: one of a thousand is outside by chance.
const LOSS_COVERS: f64 = 3.3;
/// A link that lost more of its frames than this would carry hardly any TCP: by the formula of
/// Mathis et al. (1997), 1.22 / √0.1, fewer than four segments in a round trip.
pub(crate) const LINK_LOSES_MOST: f64 = 0.1;
/// An interval is sought for this number of ways to share what makes it less likely among number and length,
const SHARES: u32 = 32;
/// up to a factor of e to this power,
const REACHES: f64 = 16.0;
/// and to less than a part in 30,000.
const HALVINGS: u32 = 20;

/// What is lost and delayed at a rate that is not the cause of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quiet {
    pub(crate) bps: f64,
    pub(crate) frames: f64,
    pub(crate) lost: f64,
    loss_events: f64,
    pub(super) delay: Mean,
    /// Standard deviation of the delays of its slices.
    scatter: f64,
    /// From the shortest delay to the longest.
    pub(crate) range: f64,
    /// From the shortest delay to the mean of all.
    longer: f64,
    reordered: bool,
    /// Frames wait for those before them, but for a few.
    keeps_order: bool,
}

/// What limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Policer,
    Queue,
    Unknown,
}

/// What a train says of the bottleneck.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    pub(crate) kind: Kind,
    /// Layer 2, with its interval.
    pub(crate) bps: f64,
    pub(crate) at_least: f64,
    pub(crate) at_most: f64,
    /// By how much the delay had grown.
    pub(crate) delay: Duration,
    /// By how much it exceeds that of a quiet time just above the rate, and the error of that, in seconds.
    pub(crate) waits: (f64, f64),
    /// More was dropped than at any rate: what forgives was at its end.
    pub(crate) drops: bool,
    /// Frames that what forgives held, at least, as far as it was seen.
    pub(crate) held: f64,
    /// The third part came through more slowly than the second: something was still emptying.
    pub(crate) draining: bool,
    /// The third part was no overload.
    pub(crate) too_slow: bool,
    /// A queue was emptying while the train told what kind it is: nearer to the rate it would not.
    pub(crate) falling: bool,
    /// A line in front of the bottleneck, which is faster and queued what was offered beyond this rate.
    pub(crate) in_front: Option<f64>,
    /// Bounds of the rate by loss alone: what arrived of the train's last part, behind an overload, and the lowest rate
    /// offered that lost more than a quiet time explains. A bucket that is full before the next frame comes may pass
    /// less of an overload than its rate; these bounds hold it nevertheless.
    pub(crate) between: Option<[f64; 2]>,
}

impl Train {
    /// The rate of a range that certainly came at less, as each of its halves seems to: a burst of losses takes
    /// from one.
    pub(crate) fn fell(&self, of: Range<usize>, found: &Estimate, quiet: &Quiet) -> Option<f64> {
        let seems = |half: Range<usize>| self.is_slower(1.0, half, found, quiet);
        let fell = halves(&of).into_iter().all(seems) && self.came_slower(of.clone(), found, quiet);
        fell.then(|| self.through(of).bps)
    }

    /// Whether a range certainly came at less than what was found.
    pub(crate) fn came_slower(&self, of: Range<usize>, found: &Estimate, quiet: &Quiet) -> bool {
        self.is_slower(CERTAIN, of, found, quiet)
    }

    /// The same by this number of standard errors.
    fn is_slower(&self, by: f64, of: Range<usize>, found: &Estimate, quiet: &Quiet) -> bool {
        let (through, uneven) = (self.through(of.clone()), self.uneven(of));
        let resolution = (by * libm::hypot(quiet.error_of(&through), uneven)).max(0.006);
        through.bps < found.at_least * (1.0 - resolution)
    }

    /// What something in front of a queue lets pass of a range behind an overload, the first part of a train. In
    /// both halves frames are lost while the queue empties: one that is full loses them, and does not empty. Active
    /// queue management does both, and let another rate pass of the overload.
    pub(crate) fn passes_in_front(&self, of: Range<usize>, quiet: &Quiet) -> Option<f64> {
        let loses = |half: Range<usize>| !self.loses_as(quiet, half);
        if !halves(&of).into_iter().all(loses) || !self.empties(of.clone()) {
            return None;
        }
        let passes = |of: &Range<usize>| {
            let by_chance = libm::sqrt(self.frames(of.clone()) * quiet.loss() * quiet.spread());
            let off = COUNTED + CERTAIN * by_chance;
            let [least, bits, most] =
                [-off, 0.0, off].map(|off| (self.arrived(of.clone()) + off) * self.frame_bits);
            Bounds { estimate: bits, at_least: least, at_most: most }
                .scaled(1.0 / self.lasts(of.clone()))
        };
        let (overload, rate) = (self.refused(self.step(0), quiet), passes(&of));
        let is_the_same = overload.is_none_or(|overload| {
            let then = passes(&overload);
            then.at_least <= rate.at_most && rate.at_least <= then.at_most
        });
        is_the_same.then_some(rate.estimate)
    }

    /// The rest of a range from where more is missing of it than is lost at any rate.
    fn refused(&self, of: Range<usize>, quiet: &Quiet) -> Option<Range<usize>> {
        let is_refused = |at: &usize| !self.loses_as(quiet, of.start..at + 1);
        let first = of.clone().find(is_refused)?;
        Some(first..of.end)
    }

    /// Whether no more of a range was lost than is lost at any rate.
    pub(crate) fn loses_as(&self, quiet: &Quiet, of: Range<usize>) -> bool {
        quiet.explains(self.lost(of.clone()), self.frames(of))
    }

    /// Whether two ranges came at rates that are certainly not the same.
    pub(crate) fn differ(&self, one: Range<usize>, other: Range<usize>, quiet: &Quiet) -> bool {
        let (one, other) = (self.through(one), self.through(other));
        let error = libm::hypot(quiet.error_of(&one), quiet.error_of(&other));
        libm::fabs(one.bps / other.bps.max(1.0) - 1.0) > (CERTAIN * error).max(0.006)
    }

    /// Whether frames wait for those before them. Of frames that come `s` apart, delayed one by one within a range
    /// `R`, evenly distributed, `(1 - s/R)² / 2` come behind the next one. Where they are certainly fewer, something
    /// lets a few overtake the others, which keep their order.
    fn keeps_order(&self, bps: f64) -> bool {
        let closer = (1.0 - self.frame_bits / bps / self.range.max(f64::MIN_POSITIVE)).max(0.0);
        let expected = self.arrived(self.whole()) * closer * closer / 2.0;
        self.out_of_order <= (expected - CERTAIN * libm::sqrt(expected)).max(0.0)
    }

    /// By how much the delay of a range exceeds that of a quiet time.
    pub(crate) fn waits(&self, of: Range<usize>, quiet: &Quiet) -> Duration {
        let grown = self.delay(of).map_or(0.0, |delay| delay.mean - quiet.delay.mean);
        Duration::from_secs_f64(grown.max(0.0))
    }
}

fn halves(of: &Range<usize>) -> [Range<usize>; 2] {
    let middle = usize::midpoint(of.start, of.end);
    [of.start..middle, middle..of.end]
}

impl Quiet {
    /// Of a train of one rate; `None` where nothing arrived.
    pub(crate) fn of(train: &Train, bps: f64) -> Option<Self> {
        let whole = train.whole();
        let delay = train.delay(whole.clone())?;
        let slices: Vec<&Slice> = train.that_arrived(whole.clone()).collect();
        Some(Self {
            bps,
            frames: train.frames(whole.clone()),
            lost: train.lost(whole),
            loss_events: train.loss_events,
            delay,
            scatter: scatter(&slices, delay.mean),
            range: train.range,
            longer: train.longer,
            reordered: train.out_of_order > 0.0,
            keeps_order: train.keeps_order(bps),
        })
    }

    /// With the counts of another trial at the same rate.
    #[must_use]
    pub(crate) fn and(self, other: &Self) -> Self {
        Self {
            frames: self.frames + other.frames,
            lost: self.lost + other.lost,
            loss_events: self.loss_events + other.loss_events,
            reordered: self.reordered || other.reordered,
            keeps_order: self.keeps_order && other.keeps_order,
            ..self
        }
    }

    pub(crate) fn loss(&self) -> f64 {
        self.lost / self.frames.max(1.0)
    }

    /// Whether a link may lose this for reasons of its own. Where it is more, a bucket or a queue drops it
    /// that others keep empty or full, and nothing can be told of either.
    pub(crate) fn is_of_a_link(&self) -> bool {
        self.loss() <= LINK_LOSES_MOST
    }

    /// Whether what is lost at any rate explains this loss of these frames, within four standard errors:
    /// what `N` frames let expect of `n` has `1 + n / N` times the variance of a count.
    pub(crate) fn explains(&self, lost: f64, frames: f64) -> bool {
        let expected = frames * self.loss_at_most().max((self.lost + 1.0) / (self.frames + 2.0));
        let counted = 1.0 + frames / self.frames.max(1.0);
        lost <= expected + CERTAIN * libm::sqrt(expected * self.spread() * counted)
    }

    /// The most frames that are lost where this number is expected, but for chance.
    pub(crate) fn by_chance(&self, expected: f64) -> f64 {
        expected + CERTAIN * libm::sqrt(expected * self.spread())
    }

    /// The variance of a count of lost frames, relative to that of independent ones: of runs of a
    /// mean length `b` that is distributed geometrically, `2·b − 1`.
    pub(crate) fn spread(&self) -> f64 {
        (2.0 * self.lost / self.loss_events.max(1.0) - 1.0).max(1.0)
    }

    /// How long frames are under way, in seconds.
    pub(crate) const fn delay(&self) -> f64 {
        self.delay.mean
    }

    /// Standard deviation of the delay of a frame, at most: of one that is spread evenly.
    pub(crate) fn scatter(&self) -> f64 {
        self.range / libm::sqrt(12.0)
    }

    /// How many of `frames_s` frames in a second are on their way at once for longer than the shortest delay,
    /// at most. Where they overtake each other each is delayed by itself, and what Little's law gives in the mean
    /// is a Poisson count; where they keep their order the slowest of all holds up what is behind it.
    pub(crate) fn delayed(&self, frames_s: f64) -> f64 {
        let all = frames_s * self.range;
        let mean = frames_s * self.longer;
        let by_chance = mean + CERTAIN * libm::sqrt(mean) + 1.0;
        if self.reordered { by_chance.min(all) } else { all }
    }

    /// By how much sooner the first frames of a dense train come than later ones, in seconds, in the mean: jitter
    /// that keeps the order delays the k-th frame within its range of 2 J by J (k - 1) / (k + 1), as long as the
    /// slowest of them, the first n by J less the mean of 2 J / (k + 1), and all later ones by J.
    pub(crate) fn sooner(&self, first: f64) -> f64 {
        let sum: f64 = (0..first as u32).map(|before| 1.0 / f64::from(before + 2)).sum();
        if self.reordered { 0.0 } else { self.range * sum / first }
    }

    /// The loss with its interval.
    pub(crate) fn loss_within(&self) -> Loss {
        loss(self.frames, self.lost, self.loss_events)
    }

    /// The standard error of the loss.
    fn loss_error(&self) -> f64 {
        libm::sqrt(self.lost.max(0.5) * self.spread()) / self.frames.max(1.0)
    }

    /// The most that may be lost at this rate: of `n` frames without a loss, three in `n`.
    pub(crate) fn loss_at_most(&self) -> f64 {
        match self.lost > 0.0 {
            true => self.loss(),
            false => 3.0 / self.frames.max(3.0),
        }
    }

    /// The relative standard error of what came through. It has three parts: one frame that was or was
    /// not counted, the chance of losses, and jitter in the times of the first and the last sixth.
    pub(super) fn error_of(&self, through: &Through) -> f64 {
        let frames = through.frames.max(1.0);
        let counted = 1.0 / frames;
        let chance = libm::sqrt(self.loss() * self.spread() / frames);
        let jitter = self.scatter * libm::sqrt(2.0 / through.slices.max(1.0));
        // A sixth's times are spread evenly, which a mean of few slices knows half as well again.
        let timed = 1.5 * jitter / through.span.max(CLOCK_STEP);
        libm::sqrt(counted * counted + chance * chance + timed * timed)
    }
}

/// The share of frames that is lost at any rate, with its interval, by how many of them were lost in a number
/// of runs. Runs of lost frames come as by Poisson's law, and each lost frame ends its run with one chance.
/// The interval is that of the profile likelihood (Wilks 1938): shares are in it with which a number of runs
/// and a length, their product, make what was seen no less likely than errors of that number do.
pub(crate) fn loss(frames: f64, lost: f64, runs: f64) -> Loss {
    let estimate = lost / frames.max(1.0);
    if lost <= 0.0 {
        let share = Bounds { estimate, at_least: 0.0, at_most: f64::INFINITY };
        return Loss { share, frames };
    }
    let lost = lost.max(1.0);
    let runs = runs.clamp(1.0, lost);
    // By how much less likely another number of runs is, and another mean length; both as logarithms.
    let of_number = |by: f64| runs * (libm::exp(by) - 1.0 - by);
    let likely = |end: f64| {
        let goes_on = lost - runs;
        let of_others = if goes_on > 0.0 { goes_on * libm::log((1.0 - end).max(0.0)) } else { 0.0 };
        if end > 1.0 { f64::NEG_INFINITY } else { runs * libm::log(end) + of_others }
    };
    let of_length = |by: f64| likely(runs / lost) - likely(libm::exp(-by) * runs / lost);
    let all = LOSS_COVERS * LOSS_COVERS / 2.0;
    let furthest = |end: f64| {
        let by = |share: f64| {
            reaches(end, share * all, of_number) + reaches(end, (1.0 - share) * all, of_length)
        };
        let shares = (0..=SHARES).map(|share| by(f64::from(share) / f64::from(SHARES)));
        shares.fold(0.0, |most: f64, by| if by.abs() > most.abs() { by } else { most })
    };
    let [at_least, at_most] = [-1.0, 1.0].map(|end| estimate * libm::exp(furthest(end)));
    Loss { share: Bounds { estimate, at_least, at_most: at_most.min(1.0) }, frames }
}

/// The last value in the direction of `end` with which a function that rises from zero is no more than `most`.
fn reaches(end: f64, most: f64, of: impl Fn(f64) -> f64) -> f64 {
    let (mut near, mut far) = (0.0, REACHES * end);
    for _ in 0..HALVINGS {
        let middle = (near + far) / 2.0;
        *(if of(middle) <= most { &mut near } else { &mut far }) = middle;
    }
    near
}

#[cfg(test)]
impl Quiet {
    /// With this number of frames sent and this number of them lost, each by itself.
    pub(crate) const fn that_lost(frames: f64, lost: f64) -> Self {
        let delay = Mean { mean: 0.01, error: 0.0 };
        let (scatter, range, longer) = (0.0, 0.0, 0.0);
        let (bps, loss_events, reordered, keeps_order) = (1e6, lost, false, true);
        Self {
            bps,
            frames,
            lost,
            loss_events,
            delay,
            scatter,
            range,
            longer,
            reordered,
            keeps_order,
        }
    }
}

/// The last two steps of `train` are [`OVER`] and [`FINE`] times `expected_bps`.
pub(crate) fn estimate(train: &Train, expected_bps: f64, quiet: &Quiet) -> Estimate {
    let look = Look::at(train, quiet);
    let waits = look.waits();
    let Slope { bps, error, busy, draining } = look.slope(&waits);
    let held = look.held(bps, error);
    let drops = look.drops();
    let (kind, falling) = look.kind(&waits, bps, &held, [drops, busy]);
    let (kind, line) = look.holes(kind).unwrap_or((kind, 0.0));
    // So far above the rate, queues fill wherever there are some.
    let falling = falling || FINE * expected_bps > 1.25 * bps;
    let kind = if falling && kind == Kind::Queue { Kind::Unknown } else { kind };

    // Loss in front of the bottleneck takes nothing of what it lets pass, loss behind it does: what
    // is delivered is known, what is let through only as well as that.
    let let_through = |loss: f64| bps / (1.0 - loss.min(0.9));
    let of_loss = if quiet.lost > 0.0 { quiet.loss_error() } else { 0.0 };
    // Rates are given in whole bits a second, clocks are apart by some parts in a million.
    let error = COVERS * libm::hypot(error, of_loss) + CLOCKS_APART;
    let at_most = line.max(let_through(quiet.loss_at_most())) * (1.0 + error);
    Estimate {
        kind,
        bps: let_through(quiet.loss()),
        at_least: bps * (1.0 - error),
        at_most,
        delay: Duration::from_secs_f64(waits.end.mean.max(waits.over).max(0.0)),
        waits: (waits.end.mean, if busy { waits.error() } else { f64::INFINITY }),
        drops,
        held: (held.mean - held.error).max(0.0) / train.frame_bits,
        draining,
        too_slow: !busy,
        falling,
        in_front: look.in_front(at_most),
        between: (drops && !draining).then(|| look.between()),
    }
}

/// The last two parts of a train beside a quiet time.
struct Look<'a> {
    train: &'a Train,
    quiet: &'a Quiet,
    /// The part well above the rate, and that of it which is even.
    over: Range<usize>,
    settled: Range<usize>,
    /// The part just above the rate.
    fine: Range<usize>,
    /// What came through of both, with the errors.
    fast: (Through, f64),
    slow: (Through, f64),
    frame_time: f64,
}

/// By how much the delay exceeds that of a quiet time, in seconds.
struct Waits {
    /// At the end of the part well above the rate.
    over: f64,
    /// At the beginning of the part just above the rate, and at its end.
    begin: f64,
    end: Mean,
    /// How much of it at most is jitter that keeps the order.
    jitter: f64,
}

/// The rate behind the knee, with its relative error.
struct Slope {
    bps: f64,
    error: f64,
    /// The third part was an overload.
    busy: bool,
    draining: bool,
}

impl Waits {
    /// With what jitter adds as if it were an error.
    const fn error(&self) -> f64 {
        self.end.error + self.jitter
    }

    /// What is no jitter for certain, in seconds.
    const fn at_least(&self) -> f64 {
        self.end.mean - self.jitter - CERTAIN * self.end.error
    }
}

impl<'a> Look<'a> {
    fn at(train: &'a Train, quiet: &'a Quiet) -> Self {
        let last = train.steps() - 1;
        let (over, fine, settled) =
            (train.step(last - 1), train.step(last), train.settled(last - 1));
        // The part before it may still be queued.
        let fine_settled = fine.start + fine.len() / 10..fine.end;
        let through = |of: Range<usize>| {
            let through = train.through(of);
            (through, quiet.error_of(&through))
        };
        let (fast, slow) = (through(settled.clone()), through(fine_settled));
        let frame_time = train.frame_bits / slow.0.bps.max(1.0);
        Self { train, quiet, over, settled, fine, fast, slow, frame_time }
    }

    /// The bounds of the rate by loss alone, in bits a second.
    fn between(&self) -> [f64; 2] {
        let (through, error) = &self.slow;
        let came = through.bps * (1.0 - COVERS * error - CLOCKS_APART);
        let offered = &self.train.offered[self.train.steps() - 2..];
        let parts = [&self.settled, &self.fine].into_iter().zip(offered);
        let dropped = parts.filter(|(part, _)| !self.train.loses_as(self.quiet, (*part).clone()));
        [came, dropped.map(|(_, offered)| *offered).fold(f64::INFINITY, f64::min)]
    }

    fn waits(&self) -> Waits {
        let Self { quiet, over, fine, .. } = self;
        let grown = |of: Range<usize>| {
            let delay = self.train.delay(of).unwrap_or(quiet.delay);
            let error = libm::hypot(delay.error, quiet.delay.error) + CLOCK_STEP / 10.0;
            Mean { mean: delay.mean - quiet.delay.mean, error }
        };
        // Jitter that keeps the order delays the more the closer the frames are: of n frames within
        // its range of 2 J, evenly distributed, the slowest holds up the others, J (n - 1) / (n + 1)
        // in the mean. Just above the rate there are 2.16 times as many as in a quiet time, which
        // makes 0.37 J at most. A few that are held for longer are delayed by less than J in the mean.
        let range = quiet.range.min(2.0 * quiet.longer);
        let keeps_order = quiet.keeps_order && range > self.frame_time;
        Waits {
            over: grown(over.start + over.len() / 2..over.end).mean,
            begin: grown(fine.start..fine.start + fine.len() / 5).mean,
            end: grown(fine.start + fine.len() * 6 / 10..fine.end),
            jitter: if keeps_order { 0.19 * range } else { 0.0 },
        }
    }

    /// A queue that grows by `s` seconds in each second is in front of a line of 1 / (1 + s) of the rate that is
    /// offered. Where less comes than such a line sends, something behind it takes the rest, and more than the line
    /// sends never gets there. The queue of the bottleneck itself grows no more once it drops, and not before a
    /// bucket is empty: what grows all the while, in each quarter as in the others, is none of it.
    fn in_front(&self, at_most: f64) -> Option<f64> {
        let Self { train, over, .. } = self;
        let quarter = over.len() / 4;
        let slopes = (0..4).map(|place| {
            let first = over.start + place * quarter;
            let growing = first..first + quarter;
            let growth = train.growth(growing.clone());
            // Between the centres of the first and the last third, in whole slices.
            let between = train.lasts(growing) * (quarter - quarter / 3) as f64 / quarter as f64;
            Mean { mean: growth.mean / between, error: growth.error / between }
        });
        let slopes: Vec<Mean> = slopes.collect();
        let most =
            slopes.iter().map(|slope| slope.mean + CERTAIN * slope.error).fold(0.0, f64::max);
        let offered = train.offered[train.steps() - 2];
        let least = offered / (1.0 + most);
        let is_steady = slopes.iter().all(|slope| slope.mean > most / 2.0);
        (train.fills(over.clone()) && is_steady && least > at_most).then_some(least)
    }

    fn slope(&self, waits: &Waits) -> Slope {
        let ((fast, fast_error), (slow, slow_error)) = (self.fast, self.slow);
        // What comes of the third part is less than what was offered, and is lost at any rate, or
        // waits.
        let offered = self.train.offered.last().copied().unwrap_or(0.0);
        let short = 1.0 - slow.bps / (offered * (1.0 - self.quiet.loss()));
        let is_short = short > (3.0 * libm::hypot(slow_error, self.quiet.loss_error())).max(0.01);
        let busy = is_short || self.is_a_queue(waits.end.mean, waits.error());
        let resolution = CERTAIN * libm::hypot(fast_error, slow_error);
        let draining = busy && slow.bps < fast.bps * (1.0 - resolution.max(0.006));
        let (bps, error) = if draining {
            (slow.bps, slow_error)
        } else if !busy {
            // What passed of the third part the bottleneck lets pass at least.
            let passed = slow.bps * (1.0 - COVERS * slow_error) / fast.bps.max(1.0);
            (fast.bps, fast_error.max((1.0 - passed) / COVERS))
        } else {
            // Both parts are overloads: the better known counts more, and what they differ by is
            // error.
            let weights = [fast_error, slow_error].map(|error| 1.0 / (error * error).max(1e-18));
            let sum = weights[0] + weights[1];
            let mean = (fast.bps * weights[0] + slow.bps * weights[1]) / sum;
            let apart = libm::fabs(fast.bps / slow.bps - 1.0) / 2.0;
            (mean, (1.0 / libm::sqrt(sum)).max(apart))
        };
        Slope { bps, error, busy, draining }
    }

    /// Whether frames wait for two others, certainly.
    fn is_a_queue(&self, mean: f64, error: f64) -> bool {
        mean > (CERTAIN * error).max(2.0 * self.frame_time)
    }

    /// What forgives holds the most that came through beyond the rate, early in the train; in bits.
    fn held(&self, bps: f64, error: f64) -> Mean {
        let Self { train, quiet, settled, .. } = self;
        let (held, at) = most_forgiven(train, bps, settled.start + settled.len() / 2);
        let counted = libm::sqrt((quiet.loss() * quiet.spread() * (at.frames + 1.0)).max(0.0));
        // Known to a frame, and to a slice of them.
        let error = train.frame_bits * (train.each + counted) + error * bps * at.due;
        Mean { mean: held, error }
    }

    /// Whether more is lost well above the rate than at any.
    fn drops(&self) -> bool {
        let frames = self.train.frames(self.settled.clone()).max(1.0);
        let loss = self.train.loss(self.settled.clone());
        let chance = libm::sqrt(loss.max(1e-4) * self.quiet.spread() / frames);
        loss - self.quiet.loss() > (3.0 * chance).max(0.03)
    }

    /// And whether a queue was emptying, so that nothing can be told. Below its rate nothing waits for a line either.
    fn kind(&self, waits: &Waits, bps: f64, held: &Mean, [drops, busy]: [bool; 2]) -> (Kind, bool) {
        let (full, full_error) = (held.mean / bps, held.error / bps);
        let Waits { over, begin, end, .. } = waits;
        let emptied = begin - end.mean > (1.5 * CERTAIN * waits.error()).max(0.15 * begin);
        // In front of a line that is busy a frame waits for half of another one at least, in the mean.
        let least = 0.25 * self.frame_time;
        let is_certain = waits.at_least() > 0.0;
        let still = is_certain && end.mean > least;
        let at_most = end.mean + 3.0 * end.error;
        let falling = drops && emptied && at_most >= least && self.slow.0.bps < 0.995 * FINE * bps;
        let is_even = self.train.out_of_order == 0.0 && self.quiet.range < 0.1 * self.frame_time;
        let kind = if !drops
            && (self.train.fills(self.over.clone()) || self.is_a_queue(*over, waits.error()))
        {
            Kind::Queue
        } else if falling || !(busy || still) {
            Kind::Unknown
        } else if still && (is_even || end.mean > 0.2 * (full - 3.0 * full_error)) {
            Kind::Queue
        } else if at_most < least || !is_certain && at_most < 0.35 * (full - 2.0 * full_error) {
            Kind::Policer
        } else {
            Kind::Unknown
        };
        (kind, falling)
    }

    /// A line that is always busy sends one frame right after the other: where what comes has holes
    /// that no loss at any rate explains and no frame that came twice, something behind the queue drops. It does
    /// in each half of both parts, as a run of losses does not. Jitter shortens a gap by its range at most; where
    /// it does not, it is in front of the line, and a queue of few frames may be empty now and then, too. Says
    /// what limits then, and what the line sends at most.
    fn holes(&self, kind: Kind) -> Option<(Kind, f64)> {
        let Self { train, quiet, .. } = self;
        let (gap, is_steady) = train.gap(self.settled.start..self.fine.end)?;
        let is_jitter = train.out_of_order > 0.0 || quiet.range > self.frame_time;
        let told = if is_jitter { is_steady && kind != Kind::Policer } else { kind == Kind::Queue };
        // Where in the train they came is not told.
        let twice = train.duplicates / self.slow.0.frames.max(1.0);
        let taken = gap + if is_jitter { 0.0 } else { quiet.range };
        let mut parts = [&self.settled, &self.fine].into_iter().flat_map(halves);
        let has_holes = told
            && parts.all(|part| {
                let through = train.through(part);
                let holes = 1.0 - taken * through.bps / train.frame_bits - twice;
                holes > 0.01 && !quiet.explains(holes * through.frames, through.frames)
            });
        has_holes.then(|| match is_jitter {
            true => (Kind::Unknown, train.frame_bits / gap),
            false => (Kind::Policer, 0.0),
        })
    }
}

impl Estimate {
    /// Nothing is known.
    pub(crate) const UNKNOWN: Self = Self {
        kind: Kind::Unknown,
        bps: 0.0,
        at_least: 0.0,
        at_most: f64::INFINITY,
        delay: Duration::ZERO,
        waits: (0.0, f64::INFINITY),
        drops: true,
        held: 0.0,
        draining: false,
        too_slow: false,
        falling: false,
        in_front: None,
        between: None,
    };

    /// With its bounds narrowed by those of an earlier train.
    #[must_use]
    pub(crate) fn and(self, before: &Self) -> Self {
        let both = [self.between, before.between].into_iter().flatten();
        let between = both.reduce(|[least, most], other| [least.max(other[0]), most.min(other[1])]);
        Self { between, ..self }
    }

    /// If a train delivered more than the estimate allows, the rate lies between the bounds of all trains; where these
    /// exclude each other, as where others share the path, anything from the estimate to them.
    #[must_use]
    pub(crate) fn bounded(self) -> Self {
        match self.between {
            Some([least, most]) if self.kind != Kind::Queue && self.at_most < least => {
                match most < least {
                    true => Self { kind: Kind::Unknown, at_most: least, ..self },
                    false => Self { bps: least, at_least: least, at_most: most, ..self },
                }
            }
            _ => self,
        }
    }

    /// Whether more came through, certainly.
    pub(crate) fn is_less_than(&self, through: &Through, quiet: &Quiet) -> bool {
        through.bps * (1.0 - interval(through, quiet)) > self.bps
    }

    /// With what came through of denser frames, where that is more. Says whether it certainly was.
    pub(crate) fn raise(&mut self, through: &Through, quiet: &Quiet) -> bool {
        let error = interval(through, quiet);
        let is_more = self.is_less_than(through, quiet);
        let bps = self.bps.max(through.bps / (1.0 - quiet.loss()));
        // Where every k-th frame passes, the bucket's rate is from 1/k to 1/(k - 1) of the line's rate, and
        // k is at least two.
        let unearned = if self.held < EARNS || is_more { 2.0 } else { 1.0 };
        let at_most = bps / (1.0 - quiet.loss_at_most()) * (1.0 + error) * unearned;
        self.bps = bps;
        self.at_least = self.at_least.max(through.bps * (1.0 - error));
        self.at_most = self.at_most.max(at_most);
        is_more
    }
}

/// Half of the interval of what came through, relative to it.
fn interval(through: &Through, quiet: &Quiet) -> f64 {
    COVERS * quiet.error_of(through) + CLOCKS_APART
}

/// Where the most had come through beyond a rate.
struct Place {
    frames: f64,
    due: f64,
}

fn most_forgiven(train: &Train, bps: f64, before: usize) -> (f64, Place) {
    let (mut passed, mut frames) = (0.0, 0.0);
    let mut most = (0.0, Place { frames: 0.0, due: 0.0 });
    for (slice, next) in train.slices[..before].iter().zip(&train.slices[1..]) {
        passed += slice.arrived * train.frame_bits;
        frames += slice.frames;
        let beyond = passed - bps * next.due;
        if beyond > most.0 {
            most = (beyond, Place { frames, due: next.due });
        }
    }
    most
}

/// A rate of whole bits a second.
pub(crate) fn whole(bps: f64) -> Rate {
    Rate::bps(bps.max(1.0) as u64)
}

#[cfg(test)]
mod tests;
