//! A queue: in front of a line, or of a shaper that lets some frames go at once after a pause.

use alloc::vec::Vec;
use core::time::Duration;

use super::contradiction::{contradicting, contradiction, tagged};
use super::policer::{BELOW_THE_LINE, FASTER_LEAST};
use super::{Abort, Charge, Discovered, Estimate, Look, Quiet, slope};
use crate::burst::Passed;
use crate::formula::bounds::Bounds;
use crate::infer::rate::{FINE, Kind, OVER};
use crate::infer::train::{BATCHES, CERTAIN, Train};

/// Frames are offered at this multiple of the rate at which they leave the queue.
const FASTER: f64 = 2.0;
const FRAMES_S_MAX: f64 = 250_000.0;
/// The multiple with which a policer behind a line that is hardly faster shows, where emptying its
/// bucket takes no longer than the time below.
const SLOWLY: f64 = 1.06;
const SLOWLY_MAX_S: f64 = 6.0;
/// Frames that leave a queue that is never empty, at least, on a path without loss and with loss, and
/// the least time for them: two errors of the rate are then 1 to 2 %, which is 3 bytes of charge.
const LEAVE: f64 = 150.0;
const LEAVE_LOSSY: f64 = 250.0;
const LEAVE_S: f64 = 0.3;
/// Frames that leave at once, at most, out of a line: one, and half of one for the error of times.
const OF_A_LINE: f64 = 1.5;
/// What lets frames go at once has done so in this share of a train, at the latest.
const SURELY_QUEUED: f64 = 0.25;
/// The longest that a trial waits for what it has queued.
const QUEUED_MAX: Duration = Duration::from_secs(6);

/// What frames of one length show that waited.
pub(super) struct Held {
    frames_s: Bounds,
    /// Frames that left at once, before any waited.
    pub(super) frames: Bounds,
    sent: f64,
    lost: f64,
    offered: f64,
    /// Fewer frames per second arrived in the last quarter than in the third.
    fell: bool,
    /// By how much longer than the first frames the last ones were under way, and how long they could
    /// have been if nothing is dropped; seconds.
    pub(super) waited: f64,
    may_wait: f64,
    /// By how many frames arrivals behind the first quarter differ from those of such a queue, beyond what is
    /// not known of it: others who send for a part of the time make another one of it.
    differs: f64,
}

impl Look<'_> {
    pub(super) fn queue(&mut self, found: &Estimate, quiet: &Quiet) -> Result<Discovered, Abort> {
        let long_bytes = f64::from(self.search.frame_bytes);
        let long_s = found.bps / (8.0 * long_bytes);
        let long = self.hold(self.search.frame_bytes, long_s, 0.0, quiet)?;
        if let Some(long) = long.as_ref().filter(|long| long.is_of_a_policer(found, quiet)) {
            // What waited did so in front of something that drops.
            let bps = found.bps.min(long.frames_s.estimate * 8.0 * long_bytes);
            return self.policer(&Estimate { bps, ..*found }, quiet);
        }
        if long.as_ref().is_some_and(|long| !long.lets_wait(found)) {
            return self.policer(&Estimate { kind: Kind::Unknown, ..*found }, quiet);
        }
        if let Some(held) = long.as_ref().filter(|long| found.drops && long.has_bucket())
            && let Some(slowly) = self.slowly(held, found, quiet)?
        {
            let bps = slowly.frames_s.estimate * 8.0 * long_bytes;
            let kind = Kind::Policer;
            return self.policer(&Estimate { bps, kind, ..*found }, quiet);
        }
        if let Some(long) = &long
            && let Some(limit) = self.passes_in_front(long, found, quiet)?
        {
            return Ok(super::unknown(&limit));
        }
        let Some(short_bytes) = self.short_frame(3.0 * found.bps / 8.0, 0.0) else {
            return Ok(super::unknown(found));
        };
        let times = long_bytes / f64::from(short_bytes);
        let Some(long) = long.filter(|long| long.differs == 0.0) else {
            return Ok(super::unknown(found));
        };
        // The search knows what comes of the long ones as well.
        let (came, least) = (long_s * (1.0 - quiet.loss()), found.at_least / (8.0 * long_bytes));
        let known = Bounds { estimate: came, at_least: least, at_most: 2.0 * came - least };
        let loads = [(long_s * FINE, known), (long.offered, long.frames_s)]
            .map(|(offered, passes)| passed(self.search.frame_bytes, offered, passes));
        if let Some(found) = contradiction(&loads) {
            return Ok(found);
        }
        let at_once = self.at_once_at_least(&long);
        let short = self.hold(short_bytes, times * long_s, at_once, quiet)?;
        let Some(short) = short.filter(|short| short.differs == 0.0) else {
            return Ok(match long.has_bucket() {
                true => self.as_shaper(found, &long, Charge::UNKNOWN),
                false => super::unknown(found),
            });
        };
        let rate = if known.width() < long.frames_s.width() { known } else { long.frames_s };
        let (of_short, of_long) = ((short_bytes, short.frames_s), (self.search.frame_bytes, rate));
        let charge = self.charged(of_short, of_long, |look, bytes| {
            let frames_s = long_s * long_bytes / f64::from(bytes);
            let middle = look.hold(bytes, frames_s, at_once, quiet)?;
            Ok(middle.filter(|middle| middle.differs == 0.0).map(|middle| middle.frames_s))
        })?;
        if !self.is_counted_somehow(&charge, short_bytes) {
            let short = passed(short_bytes, short.offered, short.frames_s);
            return Ok(contradicting(passed(self.search.frame_bytes, long.offered, rate), short));
        }
        Ok(self.line_or_shaper(found, &long, charge, quiet))
    }

    fn line_or_shaper(
        &self,
        found: &Estimate,
        long: &Held,
        charge: Charge,
        quiet: &Quiet,
    ) -> Discovered {
        let counts = |bytes: i32| {
            let offset = charge.offset_bytes;
            (offset.at_least..=offset.at_most).contains(&f64::from(bytes))
        };
        let [shaped @ .., (_, on_the_line)] = self.layers();
        let may_be_a_line = tagged(on_the_line).any(counts);
        let is_of_line = match shaped.into_iter().any(|(_, bytes)| counts(bytes)) {
            _ if long.has_bucket() || !may_be_a_line => Some(false),
            true => None,
            false => Some(true),
        };
        match is_of_line {
            Some(true) => Discovered::NoPolicer {
                sent_bytes: (long.beyond() * f64::from(self.search.frame_bytes)) as u64,
                loss: quiet.loss_within(),
            },
            Some(false) => self.as_shaper(found, long, charge),
            None => super::unknown(found),
        }
    }

    /// A queue as a longer train shows it, and how many of the longest frames leave it at once after a pause,
    /// where that is known; `None` where nothing waits.
    pub(super) fn lets_go(
        &mut self,
        found: &Estimate,
        quiet: &Quiet,
    ) -> Result<Option<(Estimate, Option<Bounds>)>, Abort> {
        let frame_bytes = self.search.frame_bytes;
        let frame_bits = 8.0 * f64::from(frame_bytes);
        let Some(held) = self.hold(frame_bytes, found.bps / frame_bits, 0.0, quiet)? else {
            return Ok(None);
        };
        let came = held.frames_s.scaled(frame_bits);
        if came.at_most < found.at_least && held.differs == 0.0 {
            // Something behind the queue has let more pass until now.
            let Bounds { estimate: bps, at_least, .. } = came;
            return Ok(Some((Estimate { kind: Kind::Unknown, bps, at_least, ..*found }, None)));
        }
        if !held.lets_wait(found) || held.is_of_a_policer(found, quiet) {
            return Ok(None);
        }
        // A line lets nothing go at once, and a shaper may let so little that it looks like one.
        let at_once = match held.has_bucket() {
            true => held.frames,
            false => Bounds { estimate: 0.0, at_least: 0.0, ..held.frames },
        };
        let is_known = !held.fell && held.differs == 0.0;
        Ok(Some((*found, is_known.then_some(at_once))))
    }

    /// Frames that come hardly faster than they leave, where they show a policer: a line that is hardly faster
    /// than one behind it queues what comes faster.
    fn slowly(
        &mut self,
        held: &Held,
        found: &Estimate,
        quiet: &Quiet,
    ) -> Result<Option<Held>, Abort> {
        // What is lost in front of a queue does not fill it.
        let faster = SLOWLY / (1.0 - quiet.loss().min(0.5));
        let excess = SLOWLY - 1.0;
        let lasts = 1.3 * held.frames.estimate / (excess * held.frames_s.estimate) + 1.0;
        if lasts >= SLOWLY_MAX_S {
            return Ok(None);
        }
        let (frame_bytes, frames_s) = (self.search.frame_bytes, held.frames_s.estimate);
        let slowly = self.offer(frame_bytes, frames_s, faster, lasts, quiet)?;
        Ok(slowly.filter(|slowly| slowly.is_of_a_policer(found, quiet)))
    }

    fn as_shaper(&self, found: &Estimate, long: &Held, charge: Charge) -> Discovered {
        let charged = charge.charged(f64::from(self.search.frame_bytes));
        let at_least = if long.has_bucket() { long.frames.at_least } else { 0.0 };
        Discovered::Shaper {
            rate_bps: long.frames_s.scaled(8.0 * charged),
            charge,
            bucket_bytes: Bounds { at_least, ..long.frames }.scaled(charged),
            delay: found.delay,
            carried_bytes: ((long.sent - long.lost) * f64::from(self.search.frame_bytes)) as u64,
            loss_percent: 100.0 * long.lost / long.sent.max(1.0),
        }
    }

    /// Bytes that a shaper lets go at once, at least; 0 for a line.
    fn at_once_at_least(&self, long: &Held) -> f64 {
        let counted = f64::from(self.search.frame_bytes) + self.beside().at_least;
        if long.has_bucket() { long.frames.at_least * counted } else { 0.0 }
    }

    /// Whether fewer bytes went at once, as out of a line in front that is hardly faster than the shaper.
    fn lets_less_go(&self, held: &Held, frame_bytes: u32, at_once: f64) -> bool {
        held.frames.at_most * (f64::from(frame_bytes) + self.beside().at_most) < at_once
    }

    /// What may be counted of a frame beside its length, in bytes.
    fn beside(&self) -> Bounds {
        let beside = self.ways().map(|(_, bytes)| Bounds::exactly(f64::from(bytes)));
        beside.reduce(Bounds::or).unwrap_or(Bounds::exactly(0.0))
    }

    /// Frames that come faster than they leave, until their rate does not fall any more; `None` where fewer bytes
    /// than `at_once` went at once.
    fn hold(
        &mut self,
        frame_bytes: u32,
        frames_s: f64,
        at_once: f64,
        quiet: &Quiet,
    ) -> Result<Option<Held>, Abort> {
        let leave = if quiet.lost > 0.0 { LEAVE_LOSSY } else { LEAVE };
        let mut lasts = (leave / frames_s).max(LEAVE_S);
        let mut last = None;
        for _ in 0..4 {
            let held = self.offer(frame_bytes, frames_s, FASTER, lasts, quiet)?;
            // What forgives is not yet at its end.
            let goes_on = held.as_ref().is_some_and(|held| {
                let passes = 0.97 * held.offered * (1.0 - quiet.loss_at_most());
                let may_fall = held.frames_s.at_most > passes || held.differs > 0.0;
                held.fell || may_fall || self.lets_less_go(held, frame_bytes, at_once)
            });
            last = held.or(last);
            if !goes_on {
                break;
            }
            lasts *= 2.5;
        }
        Ok(last.filter(|held| !self.lets_less_go(held, frame_bytes, at_once)))
    }

    fn offer(
        &mut self,
        frame_bytes: u32,
        frames_s: f64,
        faster: f64,
        lasts: f64,
        quiet: &Quiet,
    ) -> Result<Option<Held>, Abort> {
        let limit = self.search.limit_l2 / (8.0 * f64::from(frame_bytes));
        let offered = (faster * frames_s).min(FRAMES_S_MAX.max(1.5 * frames_s)).min(limit);
        // What a line in front does not carry would wait there, and overflow.
        let line = self.line_slot.map(|slot| BELOW_THE_LINE / self.on_a_line(slot, frame_bytes));
        let line = line.filter(|line| *line >= FASTER_LEAST * frames_s);
        let offered = offered.min(line.unwrap_or(offered));
        let train = self.overload(frame_bytes, [(offered, lasts)], frames_s)?;
        Ok(held(&train, offered, quiet))
    }

    /// Frames of one length at these rates, each of a second and for its seconds, where a queue lets the number of
    /// `leaves` go in a second.
    fn overload<const N: usize>(
        &mut self,
        frame_bytes: u32,
        parts: [(f64, f64); N],
        leaves: f64,
    ) -> Result<Train, Abort> {
        let search = super::Search { frame_bytes, ..self.search };
        let mut finder = super::Finder::new(self.run, search);
        let frame_bits = 8.0 * f64::from(frame_bytes);
        let queued_s =
            parts.iter().map(|(frames_s, lasts)| lasts * (frames_s / leaves - 1.0)).sum();
        let parts = parts.map(|(frames_s, lasts)| (frames_s * frame_bits, super::seconds(lasts)));
        let train = finder.overload(parts, super::seconds(queued_s).min(QUEUED_MAX))?;
        self.trials += finder.trials;
        self.sending += finder.spent;
        Ok(train)
    }

    /// What something lets pass that drops in front of the queue, where what overflowed may have been a bucket:
    /// the same again, and then no more than what leaves, with which a queue that is full stays as it is.
    /// A bucket in front of a line that is hardly faster takes minutes to measure.
    fn passes_in_front(
        &mut self,
        held: &Held,
        found: &Estimate,
        quiet: &Quiet,
    ) -> Result<Option<Estimate>, Abort> {
        if quiet.explains(held.lost, held.sent) {
            return Ok(None);
        }
        let (lasts, leaves) = (held.lasts(), held.frames_s.estimate);
        let parts = [(held.offered, lasts), (leaves, lasts)];
        let train = self.overload(self.search.frame_bytes, parts, leaves)?;
        let passes = train.passes_in_front(train.settled(1), quiet);
        Ok(passes.map(|bps| Estimate { bps, at_least: bps / OVER, ..*found }))
    }
}

impl Held {
    /// Nothing waits longer than for a frame and by jitter, and much less than what was queued before could.
    fn is_of_a_policer(&self, found: &Estimate, quiet: &Quiet) -> bool {
        let nothing = 1.0 / self.frames_s.estimate + quiet.range;
        self.waited < (0.25 * found.delay.as_secs_f64().min(self.may_wait)).min(nothing)
    }

    /// In a queue a frame waits for the one before it: for half as long as that takes, in the mean.
    fn lets_wait(&self, found: &Estimate) -> bool {
        let waited = self.waited.max(found.delay.as_secs_f64());
        waited + waited >= 1.0 / self.frames_s.estimate
    }

    /// Frames that came of the train beyond those that left meanwhile: the bucket of a policer in front, which
    /// refills no faster, would have had to hold them.
    fn beyond(&self) -> f64 {
        (self.sent - self.lost - self.frames_s.estimate * self.lasts()).max(0.0)
    }

    /// For how many seconds frames were offered.
    fn lasts(&self) -> f64 {
        self.sent / self.offered
    }

    /// More goes at once than out of a line, certainly.
    fn has_bucket(&self) -> bool {
        is_of_a_bucket(&self.frames)
    }
}

fn is_of_a_bucket(frames: &Bounds) -> bool {
    2.0 * frames.at_least - frames.estimate > OF_A_LINE
}

/// Of frames in a second.
fn passed(frame_bytes: u32, offered: f64, passes: Bounds) -> Passed {
    let bps = 8.0 * f64::from(frame_bytes);
    Passed { frame_bytes, offered_bps: offered * bps, passed_bps: passes.scaled(bps) }
}

/// A bucket of `b` frames that is full when the first one comes has let `b` and the refill since then
/// go when it lets one go that waited: the straight line through those begins with `b`.
fn held(train: &Train, offered: f64, quiet: &Quiet) -> Option<Held> {
    let mut all = train.curve();
    let slices = train.whole().end;
    let few = (slices / 20).max(2).min(slices);
    let base = train.under_way(0..few)?.min(quiet.delay());
    let waited = train.under_way(slices - few..slices)? - base;
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    let end = all.last()?.0;
    let between = |from: f64, to: f64| -> Vec<(f64, f64)> {
        all.iter().copied().filter(|(at, _)| (from * end..=to * end).contains(at)).collect()
    };
    let points = between(0.5, 1.0);
    if points.len() < 8 {
        return None;
    }
    let (frames_s, error) = rate_of(&points, quiet)?;
    let fell = match (rate_of(&between(0.5, 0.75), quiet), rate_of(&between(0.75, 1.0), quiet)) {
        (Some(third), Some(last)) => last.0 * (1.0 + last.1) < 0.98 * third.0 * (1.0 - third.1),
        _ => false,
    };
    // The first frame comes after it was under way for as long as any.
    let at_once: Vec<f64> =
        points.iter().map(|(at, count)| count - frames_s * (at - base)).collect();
    let middle = crate::burst::median(at_once)?;
    let wanders = wanders(&points, frames_s, base)?;
    let off = (error * frames_s * (end - base) + 1.0).max(CERTAIN * wanders.at_first);
    let error = error.max(CERTAIN * wanders.slope / frames_s);
    let differs = |&(at, count): &(f64, f64)| {
        let chance = CERTAIN * libm::sqrt(quiet.loss_at_most() * quiet.spread() * count);
        let known = off + quiet.range * frames_s + chance + train.each;
        (count - middle - frames_s * (at - base)).abs() - known
    };
    let mut frames =
        Bounds { estimate: middle.max(0.0), at_least: middle - off, at_most: middle + off };
    let rate_at_most = frames_s * (1.0 + error);
    let emptied = empties(train, &mut frames, rate_at_most, quiet);
    // A frame that was doubled in front takes the place of two until the queue is full, which then has none for both.
    frames.at_most += train.duplicates;
    let queued_at = (base + SURELY_QUEUED * (end - base)).min(emptied.unwrap_or(end));
    let differs = all.iter().filter(|point| point.0 >= queued_at).map(differs);
    let differs = differs.fold(0.0, f64::max);
    if frames.at_most < 0.0 {
        // Something waited before the first frame.
        return None;
    }
    let (sent, arrived) = (train.frames(train.whole()), train.arrived(train.whole()));
    Some(Held {
        frames_s: Bounds {
            estimate: frames_s,
            at_least: frames_s * (1.0 - error),
            at_most: rate_at_most * (1.0 + train.duplicates / arrived.max(1.0)),
        },
        frames,
        sent,
        lost: sent - arrived,
        offered,
        fell,
        waited,
        differs,
        may_wait: ((sent - middle) / frames_s - sent / offered).max(0.0),
    })
}

/// When frames wait behind a bucket, at the latest: as soon as more came than it can hold and has won since. What is
/// lost before that may have gone at once, to something that drops of such bursts: the bucket then holds as
/// many frames more, which makes it later.
fn empties(train: &Train, frames: &mut Bounds, rate_at_most: f64, quiet: &Quiet) -> Option<f64> {
    let passed = 1.0 - quiet.loss_at_most();
    let seen = Some(frames.at_most).filter(|_| is_of_a_bucket(frames))?;
    loop {
        let emptied = train.outruns(frames.at_most / passed, rate_at_most / passed)?;
        let at_most = seen + train.lost_before(emptied);
        if at_most <= frames.at_most {
            return Some(emptied);
        }
        frames.at_most = at_most;
    }
}

/// Standard errors of a straight line.
struct Wanders {
    /// Of where it begins, in frames.
    at_first: f64,
    /// In frames a second.
    slope: f64,
}

/// How well a straight line through all of a curve is known by how far parts of it lie beside it: others who
/// send now more and now less make a line wander. Parts of several lengths tell, as neighbours wander together.
/// `None` of less than three points.
fn wanders(points: &[(f64, f64)], frames_s: f64, first: f64) -> Option<Wanders> {
    let least = points.len().div_ceil(BATCHES).max(1);
    let lengths = core::iter::successors(Some(least), |length| Some(2 * length));
    let by_parts = |length: usize| wanders_in_parts(points.chunks(length), frames_s, first);
    lengths.map_while(by_parts).reduce(|one, other| Wanders {
        at_first: one.at_first.max(other.at_first),
        slope: one.slope.max(other.slope),
    })
}

/// The same by these parts; `None` of less than three.
fn wanders_in_parts<'a>(
    parts: impl Iterator<Item = &'a [(f64, f64)]>,
    frames_s: f64,
    first: f64,
) -> Option<Wanders> {
    let mean = |points: &[(f64, f64)]| {
        let sum = points.iter().fold((0.0, 0.0), |(at, left), (one_at, count)| {
            (at + one_at - first, left + count - frames_s * (one_at - first))
        });
        (sum.0 / points.len() as f64, sum.1 / points.len() as f64)
    };
    let parts: Vec<(f64, f64)> = parts.map(mean).collect();
    let count = parts.len() as f64;
    let of = |value: fn(&(f64, f64)) -> f64| {
        let mean = parts.iter().map(value).sum::<f64>() / count;
        (mean, parts.iter().map(|part| (value(part) - mean) * (value(part) - mean)).sum::<f64>())
    };
    let ((middle, apart), (_, beside)) = (of(|part| part.0), of(|part| part.1));
    let error = libm::sqrt(beside / (count - 2.0));
    (parts.len() > 2).then(|| Wanders {
        at_first: error * libm::sqrt(1.0 / count + middle * middle / apart),
        slope: error / libm::sqrt(apart),
    })
}

/// Frames in a second, and by which share that may be wrong.
fn rate_of(points: &[(f64, f64)], quiet: &Quiet) -> Option<(f64, f64)> {
    let frames_s = slope(points)?;
    let (first, last) = points.first().zip(points.last())?;
    let counted = last.1 - first.1;
    // Where none was lost the points would wander that losses put off.
    let chance = match quiet.lost > 0.0 {
        true => libm::sqrt(quiet.loss_at_most() * quiet.spread() * counted + 1.0),
        false => 0.0,
    };
    let jitter = 2.0 * quiet.range * frames_s / libm::sqrt(points.len() as f64);
    Some((frames_s, (0.5 + 2.0 * chance + jitter) / (frames_s * (last.0 - first.0))))
}
