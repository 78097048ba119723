//! The search for the bottleneck of one direction: what limits it, at which rate, and what is lost
//! and delayed below it.

mod dense;
mod held;
mod quiet;
mod terms;

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{
    Abort, FlowReport, FlowSpec, FrameSizes, FramesLoad, Load, Pace, Rate, Step as PaceStep,
    Timing, Trial,
};

use super::offers::{Counts, Offers, Probing, Stream};
use super::rate::{Estimate, FINE, Kind, OVER, Quiet, estimate, loss, whole};
use super::train::Train;
use crate::formula::bounds::Loss;
use crate::path::{come_to_rest, settle};
use crate::tester::{self, reports};
use held::Held;
pub(crate) use terms::{LIMIT_L2, Limits, Precision, Search};

const FIRST_RATE_L2: Rate = Rate::mbps(2);
/// No lower rate is tried: at this one a frame takes a tenth of a second.
const LEAST_RATE_L2: f64 = 1e5;
/// Where nothing arrives, the rate is lowered by this factor: twice the factor by which the last step
/// may have raised it beyond the rate sought.
const LOWER: f64 = 2.0 * GROWTH;
/// Loss and delay of a quiet trial are reused for rates that differ by no more than this factor, in
/// either direction: at half the rate of a bottleneck they change little with the rate, at a small
/// part of it a queue of several frames is never seen.
const ALIKE: f64 = 1.5;
/// A step above the last rate that passed queues no more than three times its own length, which the
/// time after it drains.
const GROWTH: f64 = 4.0;
/// If a rate was sold, at most this many times it is offered: a bottleneck farther above it decides
/// nothing, and the load on the user's network stays bounded.
const ABOVE_SOLD: f64 = GROWTH;
/// A tester that sends less than this often what it sent at a quarter of the rate is at its end.
const SENDS_MORE: f64 = 2.0;
/// It does so time after time: a host may stand still in this many short trials less one.
const SENDS_NO_MORE: u32 = 3;
const RAMP_LEAST: Duration = Duration::from_millis(60);
const RAMP_MOST: Duration = Duration::from_millis(600);
/// Of these, 18 are lost at four times the rate: far more than the threshold of an overload.
const RAMP_FRAMES: f64 = 24.0;
/// The highest rate of all is offered once more, to empty what hides behind it: for this part of the
/// longest time that a bucket is given to empty.
const RAMP_LAST: u32 = 3;
/// What a first look needs to be right within 3 %: the slope of 60 frames.
const LOOK_FRAMES: f64 = 60.0;
/// Frames at least of the two parts of a train, if it does not take too long.
const TRAIN_FRAMES: [f64; 2] = [150.0, 250.0];
/// The same where a few percent suffice: of the first part, three quarters count, which are the frames
/// of a look; of the second, the last four tenths tell the delay, which are as many.
const START_FRAMES: [f64; 2] = [LOOK_FRAMES / 0.75, LOOK_FRAMES / 0.4];
/// Beyond the knee: what forgave is known to be at its end only so well.
pub(crate) const PAST_THE_KNEE: f64 = 1.3;
/// On the path, for one direction; a train that has begun ends.
const BUDGET: Duration = Duration::from_secs(10);
const TRAINS: u32 = 6;

pub(crate) struct Finder<'a> {
    run: &'a mut dyn Offers,
    search: Search,
    pub(crate) trials: u32,
    repeats_left: u32,
    /// Time that was spent sending on the path.
    pub(crate) spent: Duration,
    /// What was offered last, in bits, and how long it was given to leave.
    last: (f64, Duration),
    /// How long the receiver listened after the last trial.
    listened: Duration,
    /// The shortest delay of all trials, and the longest of those that overflowed, in seconds.
    delays: (f64, Option<f64>),
    /// Layer 2: what the plan allows, and no more than the tester was seen to send.
    limit: f64,
    /// What a line in front of the bottleneck carries, of layer 2.
    pub(crate) line: Option<f64>,
    /// The most frames that came of one train before the part that shows whether the rate has fallen.
    pub(crate) carried: f64,
    /// The first rate that is offered: a path carries half of what was sold, and not twice that.
    first: f64,
    /// Frames, those lost of them, and in how many runs, at rates that passed.
    passed: (f64, f64, f64),
    /// No frame arrives, or the far end does not report arrival times.
    pub(crate) is_blind: bool,
}

/// The first rate that was too much. Rates are of layer 2.
#[derive(Clone, Copy, Debug)]
struct Overload {
    offered: f64,
    /// What came through when what forgives was at its end, as far as that was reached.
    rate: f64,
    /// How long until then.
    knee: Duration,
    /// So many frames came after it.
    frames: f64,
    /// Frames of the train that showed it, those lost of them, and in how many runs.
    seen: (f64, f64, f64),
}

/// What is known between two trains.
struct Hunt {
    over: Overload,
    /// How long what forgives is emptied before the next one.
    drain: Duration,
    known: Option<(Estimate, Quiet)>,
    quiet: Option<Quiet>,
    /// A line was overloaded for long.
    has_held: bool,
    /// In the last train a queue emptied.
    fell: bool,
    /// No more is offered than a line in front of the bottleneck seemed to carry.
    knows_line: bool,
    /// The limit and the overload before that.
    beyond_line: Option<(f64, Overload)>,
}

impl From<Overload> for Hunt {
    fn from(over: Overload) -> Self {
        let drain = over.knee.mul_f64(PAST_THE_KNEE);
        let (known, quiet) = (None, None);
        let (has_held, fell, knows_line, beyond_line) = (false, false, false, None);
        Self { over, drain, known, quiet, has_held, fell, knows_line, beyond_line }
    }
}

impl<'a> Finder<'a> {
    pub(crate) fn new(run: &'a mut dyn Offers, search: Search) -> Self {
        let above_sold = search.sold_l2.map_or(f64::INFINITY, |bps| ABOVE_SOLD * bps);
        Self {
            run,
            search,
            trials: 0,
            repeats_left: tester::REPEATS,
            spent: Duration::ZERO,
            last: (0.0, Duration::ZERO),
            listened: Duration::ZERO,
            delays: (f64::INFINITY, None),
            limit: search.limit_l2.min(above_sold),
            line: None,
            carried: 0.0,
            first: search.sold_l2.map_or(FIRST_RATE_L2.as_bps() as f64, |bps| bps / 2.0),
            passed: (0.0, 0.0, 0.0),
            is_blind: false,
        }
    }

    pub(crate) fn find(&mut self) -> Result<Limits, Abort> {
        let (limit, mut passed) = (self.limit, 0.0);
        let over = loop {
            let mut over = match self.ramp(passed)? {
                Ok(over) => over,
                Err(reached) => return Ok(Limits::NotReached(reached, self.loss())),
            };
            if !self.look_closer(&mut over)? {
                break over;
            }
            (self.limit, passed) = (limit, over.offered);
        };
        let mut hunt = Hunt::from(over);
        for _ in 0..TRAINS {
            if hunt.known.is_some() && self.spent > BUDGET {
                break;
            }
            let (train, lasts) = self.train(&hunt.over, hunt.drain)?;
            let Some(at_half) = self.beside(&mut hunt, &train, lasts)? else { continue };
            let before_the_last = 0..train.step(train.steps() - 1).start;
            self.carried = self.carried.max(train.arrived(before_the_last));
            let mut found = estimate(&train, hunt.over.rate, &at_half);
            if let (Some((limit, over)), Some((before, _))) = (hunt.beyond_line.take(), hunt.known)
                && train.loses_as(&at_half, train.whole())
            {
                // Nothing behind the line refuses what that was to let through: it is no line in front.
                (self.limit, self.line, hunt.over) = (limit, None, over);
                found = Estimate { in_front: None, ..before };
            }
            if let Some((before, _)) = &hunt.known {
                found = found.and(before);
            }
            hunt.known = Some((found, at_half));
            if self.is_done(&mut hunt, &found, &at_half, lasts)? {
                break;
            }
        }
        let Hunt { over, known, .. } = hunt;
        let Some((mut found, quiet)) = known else { return Ok(unknown(&over)) };
        found = found.bounded();
        if !quiet.is_of_a_link() {
            let bps = found.bps * (1.0 - quiet.loss());
            let (at_least, at_most) = (bps / OVER, f64::INFINITY);
            let few = (quiet.bps, quiet.bps * (1.0 - quiet.loss()));
            let shared = Some([few, (over.offered, bps)]);
            return Ok(Limits::Unknown { bps, at_least, at_most, shared });
        }
        if found.draining {
            // The more is offered, the more comes, time after time: that is no rate of its own.
            return Ok(unknown(&Overload { rate: found.bps, offered: f64::INFINITY, ..over }));
        }
        // The fit of a bucket sends dense frames anyway.
        if found.kind != Kind::Queue && self.search.precision == Precision::Result {
            self.offer_densely(&mut found, &quiet)?;
        }
        Ok(Limits::Found(found, quiet))
    }

    /// What is lost and delayed at half of what came of a train; `None` where another one has to be offered.
    fn beside(
        &mut self,
        hunt: &mut Hunt,
        train: &Train,
        lasts: Duration,
    ) -> Result<Option<Quiet>, Abort> {
        let Hunt { over, .. } = hunt;
        if !self.is_overload(over, train) {
            // The first look was too low, or what forgives holds more than was taken out of it.
            let offered = (OVER * over.rate).min(self.limit);
            hunt.drain += lasts.mul_f64((offered / over.offered).min(1.0));
            over.offered = over.offered.max(offered);
            over.rate = (1.35 * over.rate).min(over.offered / FINE);
            return Ok(None);
        }
        let came = train.through(train.step(train.steps() - 1)).bps;
        if came == 0.0 {
            // A bucket in front of a queue made the first look too high, so that the queue still held
            // all of the last step when the receiver stopped listening. Half of nothing is no rate to
            // measure loss and delay at; what did arrive gives a lower rate, at which the next train is
            // queued for less time than it is waited for.
            let arrived = train.through(train.whole()).bps;
            over.rate = arrived.min(over.rate / OVER).max(over.rate / LOWER);
            return Ok(None);
        }
        let half = came / 2.0;
        let at_half = match hunt.quiet {
            Some(known) if are_alike(known.bps, half) => hunt.quiet,
            _ => self.quiet(half)?,
        };
        if at_half.is_none() {
            // Half of what came through is too much: a bucket that forgave is empty now.
            let offered = (2.0 * half).max(over.rate);
            *over = Overload { offered, rate: half / OVER, ..*over };
            (hunt.drain, hunt.known) = (self.search.empties, None);
            return Ok(None);
        }
        hunt.quiet = at_half;
        Ok(at_half)
    }

    /// Whether a train said all that another one could say; if not, what the next one is to be.
    fn is_done(
        &mut self,
        hunt: &mut Hunt,
        found: &Estimate,
        quiet: &Quiet,
        lasts: Duration,
    ) -> Result<bool, Abort> {
        let Hunt { over, .. } = hunt;
        if let Some(line) = found.in_front.filter(|_| !hunt.knows_line) {
            (hunt.knows_line, hunt.beyond_line) = (true, Some((self.limit, *over)));
            self.line = Some(line);
            self.limit = self.limit.min(line);
            let (offered, rate) = (over.offered.min(line), found.bps.min(line));
            *over = Overload { offered, rate, ..*over };
            hunt.drain += lasts;
            return Ok(false);
        }
        if found.draining {
            hunt.drain += lasts.mul_f64((OVER * over.rate / over.offered).min(1.0));
        } else if !hunt.has_held && (self.may_hide_a_bucket(found) || hunt.fell && found.falling) {
            // A queue that empties once more though it is offered what came of it may be fed by less.
            hunt.has_held = true;
            match self.hold(found, quiet)? {
                Held::Stood(_) if found.falling => return Ok(false),
                Held::Stood(found) => hunt.known = Some((found, *quiet)),
                Held::Fell { rate } => {
                    // No more comes of what is in front of the bucket, and more would only queue there.
                    self.limit = self.limit.min(found.at_least);
                    *over = Overload { offered: self.limit, rate, ..*over };
                    (hunt.drain, hunt.known, hunt.quiet) = (self.search.empties, None, None);
                    return Ok(false);
                }
                Held::DropsInFront { rate } => {
                    *over = Overload { offered: found.at_most, rate, ..*over };
                    hunt.known = None;
                }
            }
            return Ok(true);
        } else if !found.too_slow && !found.falling || self.is_a_start(found) {
            return Ok(true);
        }
        // Just above the rate, where a queue in front of a policer has emptied.
        hunt.fell = found.falling;
        over.rate = found.bps * if found.falling && !found.draining { 0.97 } else { 1.0 };
        Ok(false)
    }

    /// Whether the second part of a train was more than what forgives and what limits let pass.
    fn is_overload(&self, over: &Overload, train: &Train) -> bool {
        let (second, settled) = (train.step(train.steps() - 2), train.settled(train.steps() - 2));
        let (offered, floor) = ((OVER * over.rate).min(self.limit), self.floor());
        train.loss(settled.clone()) > floor + 0.08
            || train.fills(second)
            || train.through(settled).bps < 0.9 * offered * (1.0 - floor)
            || offered >= self.limit
    }

    /// Whether a later fit can begin with this: nothing waits, and the rate is known though it was
    /// offered far above it.
    fn is_a_start(&self, found: &Estimate) -> bool {
        self.search.precision == Precision::Start && found.kind == Kind::Policer && !found.too_slow
    }

    /// The most that is lost at any rate, as far as rates that passed tell: one more of two more.
    fn floor(&self) -> f64 {
        (self.passed.1 + 1.0) / (self.passed.0 + 2.0)
    }

    /// What is lost at any rate, as far as rates that passed tell.
    fn loss(&self) -> Loss {
        let (frames, lost, runs) = self.passed;
        loss(frames, lost, runs)
    }

    /// Raises the rate until more is lost or delayed than at the rates before, or until the tester
    /// cannot send more: a host that stood still in a short trial sends less than it was asked for,
    /// but at the next rate more than before. Begins above a rate that passed, if there is one.
    fn ramp(&mut self, mut passed: f64) -> Result<Result<Overload, f64>, Abort> {
        let first = if passed > 0.0 { GROWTH * passed } else { self.first };
        let (mut rate, mut most_sent, mut tries) = (self.limit.min(first), 0.0, 1);
        loop {
            let frame_time = self.frame_time(rate);
            let lasts = match passed >= self.limit {
                true => self.search.empties / RAMP_LAST,
                false => frame_time.mul_f64(RAMP_FRAMES).clamp(RAMP_LEAST, RAMP_MOST),
            };
            let steps = vec![PaceStep { rate: whole(rate), lasts }];
            let stream = self.offer(&steps, lasts.mul_f64(GROWTH - 1.0), "order of magnitude")?;
            let train = self.told(&stream, &steps)?;
            self.note_delays(&stream, &train);
            let (arrived, frames) = (train.arrived(train.whole()), train.frames(train.whole()));
            let sent = stream.seen.sent_frames as f64 * self.frame_bits()
                / stream.seen.sent_in.as_secs_f64().max(1e-9);
            let over = train.overload(self.floor());
            let lost = train.lost(train.whole());
            let by_the_ends = stream.dropped_frames as f64 > lost / 2.0;
            // What the first rate loses, the rate may be the cause of: what a lower one loses tells.
            let may_be_over = passed == 0.0 && (train.overload(0.0).loses || over.grows);
            if arrived == 0.0 && rate < LEAST_RATE_L2 {
                // A burst of losses may take all of a few frames, but not time after time.
                if self.repeats_left == 0 {
                    return Err(self.nothing_arrives());
                }
                self.repeats_left -= 1;
                continue;
            }
            if arrived == 0.0 || may_be_over && rate >= LEAST_RATE_L2 {
                rate /= LOWER;
                continue;
            }
            if (over.loses && !by_the_ends) || over.grows {
                let half = train.second_half();
                let by_arrival = train.through(half.clone()).bps;
                let by_departure = rate * (1.0 - train.loss(half.clone()));
                let knee = match over.loses {
                    true => train.lost_by(3.0 + self.floor() * frames).unwrap_or(0.0),
                    false => 0.0,
                };
                self.limit = self.limit.min(sent.max(rate));
                return Ok(Ok(Overload {
                    offered: sent.min(rate),
                    rate: by_arrival.min(by_departure).max(rate / 100.0).max(passed / 2.0),
                    knee: Duration::from_secs_f64(knee),
                    frames: train.arrived(half),
                    seen: (frames, lost, train.loss_events),
                }));
            }
            if passed >= self.limit {
                self.carried = arrived;
                return Ok(Err(train.through(train.whole()).bps));
            }
            self.has_passed((frames, lost, train.loss_events));
            if sent < 0.9 * rate && sent <= most_sent * SENDS_MORE {
                if tries < SENDS_NO_MORE {
                    tries += 1;
                    continue;
                }
                self.limit = sent.max(most_sent);
            }
            (passed, most_sent, tries) = (rate, sent.max(most_sent), 1);
            rate = (rate * GROWTH).min(self.limit);
        }
    }

    /// Counts what was lost by chance of these frames, and in how many runs.
    fn has_passed(&mut self, (frames, lost, runs): (f64, f64, f64)) {
        let (before, lost_before, runs_before) = self.passed;
        self.passed = (before + frames, lost_before + lost, runs_before + runs);
    }

    fn nothing_arrives(&mut self) -> Abort {
        self.is_blind = true;
        Abort::Lost(format!(
            "{}: none of the frames of {} bytes arrived, though single probes did: look for a \
             firewall or a rate limit for UDP, or give the rate with --cir",
            self.search.direction, self.search.frame_bytes
        ))
    }

    /// Until enough frames of an overload came through behind the knee. Whether it was none: at the same rate no more
    /// is lost or delayed than below it, so that a run of losses by chance had looked like it.
    fn look_closer(&mut self, over: &mut Overload) -> Result<bool, Abort> {
        for _ in 0..TRAINS - 1 {
            if over.frames >= LOOK_FRAMES || self.spent > BUDGET {
                break;
            }
            let lasts = self.frame_time(over.rate).mul_f64(2.0 * LOOK_FRAMES);
            let lasts = lasts.max(Duration::from_millis(100));
            let twice = (2.0 * over.rate).min(over.offered);
            let steps = drained(over.offered, over.knee.mul_f64(PAST_THE_KNEE), [(twice, lasts)]);
            let queued = lasts.min(self.overflows_at());
            let stream = self.offer(&steps, queued, "bottleneck, first look")?;
            let train = self.told(&stream, &steps)?;
            self.note_delays(&stream, &train);
            let again = train.overload(self.floor());
            if twice >= over.offered && self.repeats_left > 0 && !again.loses && !again.grows {
                self.repeats_left -= 1;
                let all = train.whole();
                self.has_passed(over.seen);
                self.has_passed((train.frames(all.clone()), train.lost(all), train.loss_events));
                return Ok(true);
            }
            let step = train.step(train.steps() - 1);
            let through = train.through(step.start + step.len() / 5..step.end);
            if through.bps > 0.95 * twice * (1.0 - self.floor()) && twice < over.offered {
                // No overload: the guess was too low.
                (over.rate, over.frames) = (1.1 * twice, 0.0);
            } else {
                // Nothing may have arrived in time.
                (over.rate, over.frames) = (through.bps.max(over.rate / LOWER), through.frames);
            }
        }
        over.rate = over.rate.min(over.offered);
        Ok(false)
    }

    /// An overload that takes what forgives, one well above the rate and one just above it.
    fn train(&mut self, over: &Overload, drain: Duration) -> Result<(Train, Duration), Abort> {
        let part = |least: f64, frames: f64, most: f64| {
            let needed = self.frame_time(over.rate).as_secs_f64() * frames;
            Duration::from_secs_f64(needed.max(least).min(most))
        };
        let asked = self.search.trial.unwrap_or_default().min(BUDGET);
        let [fast_frames, slow_frames] = match self.search.precision {
            Precision::Result => TRAIN_FRAMES,
            Precision::Start => START_FRAMES,
        };
        let (fast, slow) = (part(0.4, fast_frames, 2.0), part(0.6, slow_frames, 2.5).max(asked));
        let rates = [OVER, FINE].map(|times| (times * over.rate).min(self.limit));
        let steps = drained(
            over.offered,
            drain.min(self.search.empties),
            [(rates[0], fast), (rates[1], slow)],
        );
        let queued = drain.mul_f64((over.offered / over.rate - 1.0).max(0.0));
        let queued = queued + fast.mul_f64(OVER - 1.0) + slow.mul_f64(FINE - 1.0);
        let lasts = steps.iter().map(|step| step.lasts).sum();
        let stream = self.sound(&steps, queued.min(MOST).min(self.overflows_at()), "bottleneck")?;
        let train = self.told(&stream, &steps)?;
        self.note_delays(&stream, &train);
        Ok((train, lasts))
    }

    /// Notes how long a queue delays that overflows.
    fn note_delays(&mut self, stream: &Stream, train: &Train) {
        let Some(delay) = stream.seen.delay else { return };
        self.delays.0 = self.delays.0.min(delay.min.as_secs_f64());
        let most = delay.max.as_secs_f64();
        if train.overload(self.floor()).loses && self.has_come(stream) {
            self.delays.1 = Some(self.delays.1.unwrap_or(most).max(most));
        }
    }

    /// Whether no frame was still queued at the end: they look lost, and those before them were under way for
    /// about as long as the receiver listened.
    fn has_come(&self, stream: &Stream) -> bool {
        let most = stream.seen.delay.map_or(0.0, |delay| delay.max.as_secs_f64());
        most - self.delays.0 < 0.8 * self.listened.as_secs_f64()
    }

    /// No queue holds frames for longer than this: one that dropped frames was full, and delayed the
    /// last one that it took by all it holds. Where a policer drops in front of a queue, the queue
    /// may not have been full; a quiet trial in which it still empties is repeated.
    fn overflows_at(&self) -> Duration {
        match (self.search.precision, self.delays) {
            (Precision::Start, (least, Some(most))) => {
                Duration::from_secs_f64((most - least).max(0.0))
            }
            (Precision::Start | Precision::Result, _) => Duration::MAX,
        }
    }

    /// How long what was offered last may still be queued in front of a line of this rate.
    pub(crate) fn queued(&self, line_bps: f64) -> Duration {
        let (bits, given) = self.last;
        let leaves = Duration::from_secs_f64((bits / line_bps.max(1.0)).min(60.0));
        leaves.saturating_sub(given)
    }

    /// Frames at these rates, each for its time; what they queue takes no longer than `queued`.
    pub(crate) fn overload<const N: usize>(
        &mut self,
        parts: [(f64, Duration); N],
        queued: Duration,
    ) -> Result<Train, Abort> {
        let steps = parts.map(|(bps, lasts)| PaceStep { rate: whole(bps), lasts });
        let stream = self.sound(&steps, queued, "queue")?;
        self.told(&stream, &steps)
    }

    /// A trial that was not sent as planned, or that a receiver could not follow, says nothing and
    /// is repeated; the last one is taken as it is.
    fn sound(&mut self, steps: &[PaceStep], queued: Duration, what: &str) -> Result<Stream, Abort> {
        let stream = loop {
            let stream = self.offer(steps, queued, what)?;
            if self.repeats_left == 0
                || stream.is_sound(steps, self.frame_bits(), tester::TOLERATED)
            {
                break stream;
            }
            self.repeats_left -= 1;
        };
        if !self.has_come(&stream) {
            come_to_rest(&mut Probing(self.run), self.search.packets(), self.search.rtt)?;
        }
        self.run.count(Counts {
            planned: stream.seen.planned_frames,
            sent: stream.seen.sent_frames,
            received: stream.seen.received_frames,
            dropped: stream.dropped_frames,
        });
        Ok(stream)
    }

    fn offer(&mut self, steps: &[PaceStep], queued: Duration, what: &str) -> Result<Stream, Abort> {
        let Search { direction, family, dscp, vlan_tags, .. } = self.search;
        let sizes = FrameSizes::fixed(self.search.frame_bytes);
        let load = FramesLoad::new(sizes, Pace::Steps { steps: steps.to_vec() }).traced();
        let flow =
            FlowSpec { vlan_tags, ..FlowSpec::new(direction, family, dscp, Load::Frames(load)) };
        let steady: Duration = steps.iter().map(|step| step.lasts).sum();
        let bits = |step: &PaceStep| step.rate.as_bps() as f64 * step.lasts.as_secs_f64();
        self.last = (steps.iter().map(bits).sum(), steady + queued);
        // What was queued must be gone before the next trial begins.
        let settle = settle(self.search.rtt) + queued;
        self.listened = settle;
        let timing = Timing { warm_up: Duration::ZERO, steady, settle };
        let name = format!("{what}, {direction}");
        let trial = Trial { name, flows: vec![flow], timing };
        loop {
            self.trials += 1;
            self.spent += steady + settle;
            let seen = self.run.offer(&trial)?;
            let report = reports(&trial, &seen, FlowReport::frames)?[0];
            if report.sent_frames > 0 {
                return Ok(Stream { seen: report.clone(), dropped_frames: seen.dropped_packets() });
            }
            // A host may stand still for all of a short trial, but not time after time.
            if self.repeats_left == 0 {
                return Err(Abort::Testbed(format!("no frame could be sent in '{}'", trial.name)));
            }
            self.repeats_left -= 1;
        }
    }

    fn told(&mut self, stream: &Stream, steps: &[PaceStep]) -> Result<Train, Abort> {
        Train::of(&stream.seen, steps, self.search.frame_bytes).ok_or_else(|| {
            self.is_blind = true;
            let text = "the far end does not tell when frames arrive: it is older than this end; \
                        give the rate with --cir, or run the same version there";
            Abort::Testbed(text.into())
        })
    }

    fn frame_bits(&self) -> f64 {
        f64::from(self.search.frame_bytes) * 8.0
    }

    fn frame_time(&self, rate: f64) -> Duration {
        Duration::from_secs_f64(self.frame_bits() / rate.max(1.0))
    }
}

/// Whether what is lost and delayed at one rate is lost and delayed at the other as well.
fn are_alike(one_bps: f64, other_bps: f64) -> bool {
    one_bps <= ALIKE * other_bps && other_bps <= ALIKE * one_bps
}

/// Between what came through at last and what was too much.
fn unknown(over: &Overload) -> Limits {
    let at_least = over.rate.min(over.offered) / OVER;
    Limits::Unknown { bps: over.rate, at_least, at_most: over.offered, shared: None }
}

/// No part of a train that measures is longer, nor the queue behind it.
pub(crate) const MOST: Duration = Duration::from_secs(3);

/// What forgives is taken first, by the rate that was too much; a part that takes no time is left out.
fn drained<const N: usize>(
    offered: f64,
    drain: Duration,
    parts: [(f64, Duration); N],
) -> Vec<PaceStep> {
    let all = [(offered, drain)].into_iter().chain(parts);
    let all = all.filter(|(_, lasts)| !lasts.is_zero());
    all.map(|(rate, lasts)| PaceStep { rate: whole(rate), lasts }).collect()
}
