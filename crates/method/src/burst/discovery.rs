//! Discovery of what stands in an unknown path: a policer, a shaper, or nothing but a line.
//!
//! One burst that is longer than the bucket shows everything at once: the frames that pass before
//! the first drop are the bucket, those that pass afterwards come at the CIR, and a second frame
//! length tells what of a frame is counted. A shaper lets the same burst through and makes it wait.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Abort, BurstReport, BurstsLoad, Direction, Dscp, Layer, PacketLayout, Rate};

use super::estimate::{self, Depth, Refill, spread};
use super::overload::{self, Port};
use super::passage::{Passage, Point, slope};
use super::policing;
use super::second::{self, Look, TwoBuckets};
use super::{
    Alone, Bounds, Charge, Discovered, Discovery, Lengths, Offer, Run, SecondBucket, Seen, Step,
    arrived_frames, median,
};

/// Bursts of these lengths, until one has emptied the bucket.
const LASTS: [Duration; 4] = [
    Duration::from_millis(25),
    Duration::from_millis(100),
    Duration::from_millis(400),
    Duration::from_millis(1600),
];
/// For a bucket of which nothing is known to be full.
const UNKNOWN_IDLE: Duration = Duration::from_millis(300);
/// A bucket of which a first idea is known is given so much of the time that it takes to fill.
const REFILLED: f64 = 1.6;
/// Waited at most for a bucket to be full again.
const IDLE_MAX: Duration = Duration::from_secs(30);
/// Frames that came one by one out of an empty bucket, so that a refill can be seen.
const ADMISSIONS_MIN: usize = 12;
/// A burst in which frames wait so much of its duration is not policed but held back.
const WAITING_SHARE: f64 = 0.005;
const WAITING_MIN_S: f64 = 0.001;
/// What a policer passes is under way as long as the first frame, but for stalls of the ends, which
/// last for a part of a burst: the wait that nine in ten late frames exceed is the path's.
const WAITING_FRAMES: f64 = 0.1;
/// And for so many times the gap between two frames that arrive.
const WAITING_GAPS: f64 = 3.0;
/// A gap of so many times the usual is a stall of the sender, or of the path's host.
const STALL_GAPS: f64 = 4.0;
const STALL_MIN_S: f64 = 0.000_3;
/// No stall of a receiver lasts as long.
const STALL_MAX_S: f64 = 0.06;
/// No queue is waited for longer.
const QUEUED_S_MAX: f64 = 20.0;
/// A burst of which fewer frames arrive in time is sent again after such a pause.
const ARRIVED_MIN: u64 = 3;
const SLOW_QUEUE: Duration = Duration::from_secs(3);
/// The first frames of a burst, and by how much they come faster than the rest out of a shaper's
/// bucket.
const FIRST_FRAMES: u32 = 16;
const FASTER: f64 = 0.7;
const FASTER_S: f64 = 100e-6;
/// A path that takes this much longer than its sender holds frames back.
const HELD_BACK: f64 = 1.005;
/// A line counts 20 bytes of a frame that a shaper may not count, a shaper of IP packets 38: frames
/// of a third of the length then pass by up to 5 % faster.
const FASTER_PACE: f64 = 1.1;
/// Bursts in which the bucket is measured.
const REFINE_BURSTS: u32 = 5;
const REFINE_LAST_S: f64 = 1.0;
/// Bursts that show the depth of the bucket.
const SHORT_BURSTS_LAST: Duration = Duration::from_millis(1200);
const SHORT_BURSTS_MIN: u32 = 1;
const SHORT_BURSTS_MAX: u32 = 40;
/// A bucket that was not full is given three times as long.
const REFINEMENTS: u32 = 4;
/// The second frame length, with which small frames are still sent in time.
const SHORT_FRAMES_S: f64 = 150_000.0;
const SHORT_FRAME_MIN: u32 = 128;
const SHORT_FRAMES_LAST_S: f64 = 0.04;
/// Looks at what may be two buckets: offered at least and at most so much beyond what they refill.
const LOOK_SLOWER: f64 = 0.1;
const LOOK_FASTER: f64 = 5.0;
const LOOK_LINE_SHARE: f64 = 0.95;
const LOOKS_BETWEEN: [f64; 3] = [0.25, 0.5, 0.75];
/// Frames that show the depth in a burst.
const LOOK_ADMISSIONS: f64 = 30.0;
const LOOK_FRAMES_MAX: f64 = 200_000.0;
const LOOK_BURSTS: u32 = 3;
const LOOK_LONG: Duration = Duration::from_millis(150);
const LOOK_LASTS_MAX_S: f64 = 0.5;
const LOOK_IDLE_MIN_S: f64 = 0.005;
const LOOK_IDLE_S: f64 = 0.3;
const LOOK_LONGER: f64 = 5.0;
const LOOK_DEEPER: f64 = 1.5;
const LOOK_IDLE_MAX: Duration = Duration::from_millis(700);
/// The pause before a burst was so much longer than both buckets take to fill.
const LOOK_SURELY: f64 = 1.15;
/// Buckets that had been deeper after a longer pause were not full.
const DEEPER: f64 = 1.03;
/// A charge that is none of the known ones is measured again so often.
const CHARGE_REPEATS: u32 = 4;
/// How far the rates of a pair of lengths may be off a known way of counting.
const OFFSET_TOLERANCE: f64 = 1.5;

/// Finds out what stands in one direction.
pub(super) fn discover(
    run: &mut Run<'_>,
    direction: Direction,
    lengths: &Lengths,
) -> Result<(), Abort> {
    let frame_bytes = lengths.longest;
    let ports = overload::find_lines(run, &[direction], frame_bytes)?;
    let Some((slowest, seen)) = ports.into_iter().next() else { return Ok(()) };
    let port = before_a_shaper(&seen, slowest, frame_bytes);
    let mut search = Search { run, port, frame_bytes, trials: 1, sending: Duration::ZERO };
    // What the first bursts may have left in a queue goes first.
    let idle = UNKNOWN_IDLE + overload::lines_last(slowest.slot_s(frame_bytes));
    let found = search.search(lengths, idle)?;
    let Search { trials, sending, .. } = search;
    let line_l1 = port.line(frame_bytes).rate_l1;
    let step = Discovery { direction, line_l1, found, trials, sending };
    run.report.steps.push(Step::Discovery(step));
    Ok(())
}

struct Search<'a, 'b> {
    run: &'a mut Run<'b>,
    port: Port,
    /// The longest.
    frame_bytes: u32,
    trials: u32,
    sending: Duration,
}

/// What one burst shows.
enum Shows {
    /// Too little to tell.
    Nothing,
    Policer {
        refill: Refill,
        frames: f64,
    },
    /// Everything was held back, frame by frame.
    Waiting,
    /// For longer than any stall of the tester.
    LongWaiting,
}

impl Search<'_, '_> {
    fn search(&mut self, lengths: &Lengths, mut idle: Duration) -> Result<Discovered, Abort> {
        let (mut last, mut waited) = (None, false);
        for lasts in LASTS {
            let seen = self.burst(self.frame_bytes, lasts, 1, idle)?;
            match self.shows(&seen) {
                Shows::Policer { refill, frames } => {
                    return self.policer(lengths, refill, frames);
                }
                // Once may have been a stall of the receiver.
                Shows::Waiting if waited => return self.shaper(lengths, &seen),
                Shows::LongWaiting => return self.shaper(lengths, &seen),
                Shows::Waiting => waited = true,
                Shows::Nothing => waited = false,
            }
            idle = UNKNOWN_IDLE
                + match waited {
                    true => self.queued(&seen),
                    // Behind a queue that earlier bursts filled.
                    false if arrived_frames(&seen.report) < ARRIVED_MIN => SLOW_QUEUE,
                    false => Duration::ZERO,
                };
            last = Some(seen);
        }
        match last {
            Some(seen) => self.line_or_shaper(lengths, &seen),
            None => Ok(Discovered::NoPolicer { sent_bytes: 0, loss_percent: 0.0 }),
        }
    }

    /// Nothing but a line, unless it counts its bytes otherwise than a line does.
    fn line_or_shaper(&mut self, lengths: &Lengths, seen: &Seen) -> Result<Discovered, Abort> {
        let Some(burst) = seen.report.bursts.first() else { return Ok(self.no_policer(seen)) };
        let passage = Passage::of(burst, |_| true);
        let ends = passage.spans.first().zip(passage.spans.last());
        let took = ends.map_or(0.0, |(first, last)| last.until - first.from);
        if took <= passage.sent_in * HELD_BACK {
            return Ok(self.no_policer(seen));
        }
        let found = self.shaper(lengths, seen)?;
        match &found {
            Discovered::Shaper { charge: Charge { layer: Some((layer, _)), .. }, .. }
                if *layer != Layer::L1 =>
            {
                Ok(found)
            }
            _ => Ok(self.no_policer(seen)),
        }
    }

    /// Bursts of about `lasts`, as fast as the line takes them, apart by as much time as `idle`.
    fn burst(
        &mut self,
        frame_bytes: u32,
        lasts: Duration,
        bursts: u32,
        idle: Duration,
    ) -> Result<Seen, Abort> {
        let mut load = self.port.load(frame_bytes, lasts);
        load.bursts = bursts;
        load.period += if bursts > 1 { idle } else { Duration::ZERO };
        self.trial(&format!("bursts of {:.1} ms", lasts.as_secs_f64() * 1e3), load, idle)
    }

    /// One burst faster than a line that was taken for one by longer frames: should it be a shaper
    /// that counts fewer bytes of a frame than a line does, it carries more of these.
    fn burst_faster(
        &mut self,
        frame_bytes: u32,
        lasts: Duration,
        idle: Duration,
    ) -> Result<Seen, Abort> {
        let load = self.port.load(frame_bytes, lasts);
        let rate_l1 = load.rate_l1.map(|_| Rate::bps((self.port.line_bps * FASTER_PACE) as u64));
        self.trial(&format!("frames of {frame_bytes} bytes"), BurstsLoad { rate_l1, ..load }, idle)
    }

    /// One trial of bursts after `idle`.
    fn trial(&mut self, of: &str, load: BurstsLoad, idle: Duration) -> Result<Seen, Abort> {
        let direction = self.port.direction;
        self.trials += 1;
        self.sending += load.period * load.bursts + idle;
        let name = format!("discovery, {direction}: {of}");
        let seen = self.run.bursts(name, &[Offer { direction, load }], idle)?;
        seen.into_iter().next().ok_or_else(|| {
            Abort::Testbed(format!("{direction}: a trial of bursts brought no observation"))
        })
    }

    fn slot_s(&self) -> f64 {
        self.port.slot_s(self.frame_bytes)
    }

    fn shows(&self, seen: &Seen) -> Shows {
        let slot_s = self.slot_s();
        let Some(burst) = seen.report.bursts.first() else { return Shows::Nothing };
        if let Some(waited_s) = self.waited(burst) {
            return if waited_s > STALL_MAX_S { Shows::LongWaiting } else { Shows::Waiting };
        }
        let conforming = Passage::of_all(seen);
        let enough = conforming.iter().all(|burst| burst.admissions().len() >= ADMISSIONS_MIN);
        let Some((refill, depth)) = overload::bucket(&conforming, slot_s, 1.0) else {
            return Shows::Nothing;
        };
        match frames_deep(&conforming, depth, refill) {
            Some(frames)
                if enough && is_policed(&conforming, depth, refill, slot_s) && frames >= 1.0 =>
            {
                Shows::Policer { refill, frames }
            }
            Some(_) | None => Shows::Nothing,
        }
    }

    /// For how long the later frames of a burst were under way longer than its first one: nearly all
    /// of them, not only those that met a stall of the receiver. `None` if hardly at all.
    ///
    /// Frames come no earlier than the line lets them, and no faster than the sender sends them. What
    /// had been taken for the line may be slower than it: then it drops what would wait too long, and
    /// the numbers of the late frames grow faster than a line's.
    fn waited(&self, burst: &BurstReport) -> Option<f64> {
        let passage = Passage::of(burst, |_| true);
        let (first, last) = passage.curve.first().zip(passage.curve.last())?;
        let half = passage.curve.len() / 2;
        let late = &passage.curve[half..];
        let numbers: Vec<_> = late.iter().map(|late| (f64::from(late.frame), late.at)).collect();
        let slot_s = self.slot_s().max(passage.sent_spacing());
        let slot_s = slope(&numbers).map_or(slot_s, |late_slot_s| late_slot_s.min(slot_s));
        let gap_s = gap(late);
        let stalled = stalled(&passage.curve, slot_s, STALL_MIN_S.max(STALL_GAPS * gap_s));
        let waited = late
            .iter()
            .zip(&stalled[half..])
            .map(|(late, stalled)| late.at - stalled - first.at - f64::from(late.frame) * slot_s);
        let mut waited: Vec<f64> = waited.collect();
        waited.sort_by(f64::total_cmp);
        let nearly_all = waited.get((waited.len() as f64 * WAITING_FRAMES) as usize).copied();
        let long = WAITING_MIN_S.max(WAITING_SHARE * (last.at - first.at));
        nearly_all.filter(|waited| *waited > long.max(WAITING_GAPS * gap_s))
    }

    /// For how long the frames of a burst may still be on their way behind it.
    fn queued(&self, seen: &Seen) -> Duration {
        let burst = seen.report.bursts.first().map(|burst| Passage::of(burst, |_| true));
        let lasts = burst.and_then(|burst| {
            let held = held_back(&burst, self.slot_s())?;
            Some(f64::from(burst.frames) / held.refill.bytes_s)
        });
        Duration::from_secs_f64(lasts.unwrap_or(0.0).clamp(0.0, QUEUED_S_MAX))
    }

    fn no_policer(&self, seen: &Seen) -> Discovered {
        let sum = |frames: fn(&BurstReport) -> u32| -> u64 {
            seen.report.bursts.iter().map(|burst| u64::from(frames(burst))).sum()
        };
        let (sent, received) = (sum(|burst| burst.sent_frames), sum(|burst| burst.received_frames));
        let lost = sent.saturating_sub(received);
        Discovered::NoPolicer {
            sent_bytes: sent * u64::from(self.frame_bytes),
            loss_percent: 100.0 * lost as f64 / sent.max(1) as f64,
        }
    }

    /// Refines what one burst has shown of a policer; here in frames.
    fn policer(
        &mut self,
        lengths: &Lengths,
        refill: Refill,
        frames: f64,
    ) -> Result<Discovered, Abort> {
        let mut buckets = Buckets { refill, frames, excess: None };
        let mut seen = None;
        for _ in 0..REFINEMENTS {
            let idle = buckets.refilled_after().mul_f64(REFILLED).min(IDLE_MAX);
            let lasts = buckets.emptied_after(self.slot_s());
            let bursts = (REFINE_LAST_S / (idle + lasts).as_secs_f64()) as u32;
            let bursts = bursts.clamp(1, REFINE_BURSTS);
            let refined = self.burst(self.frame_bytes, lasts, bursts, idle)?;
            let Some(found) = Buckets::of(&refined, self.slot_s()) else { break };
            buckets = found;
            seen = Some(refined);
            // Less than what the pause could have filled: the buckets were full.
            if buckets.refilled_after() < idle.mul_f64(0.9) {
                break;
            }
        }
        let Some(seen) = seen else { return self.nothing_to_refine() };
        let (charge, short_frames) = self.charge(lengths, buckets.refill)?;
        let apart = match short_frames.filter(|_| marked(&seen).is_empty()) {
            Some(short_frames) => {
                self.second_bucket(Looking::new(self, short_frames, &charge, &buckets, frames))?
            }
            None => Apart::NotLooked,
        };
        if let Apart::Two(two) = apart {
            return Ok(as_two_buckets(&two, charge));
        }
        let short = self.short_bursts(&buckets)?;
        let alone = match apart {
            Apart::One(alone) => Some(alone),
            Apart::NotLooked | Apart::Two(_) => None,
        };
        Ok(self.as_policer([&seen, &short], charge, buckets.refill, alone))
    }

    /// Whether what looks like one bucket is two that leave no mark: by how deep it looks to bursts
    /// that come a little faster than it refills, and as fast as the host sends small frames.
    fn second_bucket(&mut self, looking: Option<Looking>) -> Result<Apart, Abort> {
        let Some(mut looking) = looking else { return Ok(Apart::NotLooked) };
        loop {
            let [slow, fast] = looking.faster_frames_s;
            let mut looks = self.looks(&looking, [slow, fast])?;
            if looks.len() == 2 && second::is_one(&looks) {
                return Ok(Apart::One(looking.alone(&looks)));
            }
            let between = LOOKS_BETWEEN.map(|share| slow * libm::pow(fast / slow, share));
            looks.extend(self.looks(&looking, between)?);
            let found = second::fit(&looks, looking.refill.bytes_s);
            if let Some(found) = found.filter(|found| looking.met_full(found)) {
                return Ok(Apart::Two(found.in_bytes(looking.charged_bytes)));
            }
            if looking.again || looking.idle >= LOOK_IDLE_MAX {
                return Ok(Apart::NotLooked);
            }
            looking.longer(found.map_or(Duration::ZERO, |found| found.filled_after()));
        }
    }

    fn looks<const N: usize>(
        &mut self,
        at: &Looking,
        faster_frames_s: [f64; N],
    ) -> Result<Vec<Look>, Abort> {
        let mut looks = Vec::new();
        for faster_frames_s in faster_frames_s {
            looks.extend(self.look(at, faster_frames_s)?);
        }
        Ok(looks)
    }

    /// How deep the buckets look to bursts that come so much faster than they refill.
    fn look(&mut self, at: &Looking, faster_frames_s: f64) -> Result<Option<Look>, Abort> {
        let frames_s = at.refill.bytes_s + faster_frames_s;
        let admitted_s = faster_frames_s.min(at.refill.bytes_s);
        let lasts = 1.15 * at.depth_frames / faster_frames_s + LOOK_ADMISSIONS / admitted_s;
        let frames = (lasts * frames_s).min(LOOK_FRAMES_MAX);
        let lasts = Duration::from_secs_f64(lasts);
        let bursts = if lasts + at.idle > LOOK_LONG { 1 } else { LOOK_BURSTS };
        let on_the_line = f64::from(at.frame_bytes + PacketLayout::ETHERNET_L1_OVERHEAD) * 8.0;
        let load = BurstsLoad {
            frame_bytes: at.frame_bytes,
            frames_per_burst: frames as u32,
            bursts,
            period: if bursts > 1 { lasts + at.idle } else { lasts },
            rate_l1: Some(Rate::bps((frames_s * on_the_line) as u64)),
        };
        let of = format!("{:.2} times both rates", frames_s / at.refill.bytes_s);
        let seen = self.trial(&of, load, at.idle)?;
        Ok(Look::at(&Passage::of_all(&seen), at.refill))
    }

    /// Bursts that hardly more than empty the committed bucket, as fast as the sender can: they show
    /// its depth best, and many of them what stalls of the sender hide in one.
    fn short_bursts(&mut self, buckets: &Buckets) -> Result<Seen, Abort> {
        let slot_s = self.slot_s();
        let frames_s = buckets.refill.bytes_s;
        let frames = policing::frames_per_burst(buckets.frames, 1.0, frames_s * slot_s);
        let idle = buckets.refilled_after().mul_f64(1.3).min(IDLE_MAX);
        let lasts = Duration::from_secs_f64(f64::from(frames) * slot_s);
        let bursts = (SHORT_BURSTS_LAST.as_secs_f64() / (idle + lasts).as_secs_f64()) as u32;
        let bursts = bursts.clamp(SHORT_BURSTS_MIN, SHORT_BURSTS_MAX);
        let load = BurstsLoad {
            frame_bytes: self.frame_bytes,
            frames_per_burst: frames,
            bursts,
            period: lasts + idle,
            rate_l1: self.port.pace(frames, self.frame_bytes),
        };
        self.trial(&format!("bursts of {frames} frames"), load, idle)
    }

    fn nothing_to_refine(&self) -> Result<Discovered, Abort> {
        Err(Abort::Testbed(format!(
            "{}: what dropped frames in one burst dropped none in the next: try again",
            self.port.direction
        )))
    }

    /// The same in bytes as they are charged: the rate by long bursts, the depth by short ones.
    fn as_policer(
        &self,
        [long, short]: [&Seen; 2],
        charge: Charge,
        refill: Refill,
        alone: Option<Alone>,
    ) -> Discovered {
        let (slot_s, charged) = (self.slot_s(), self.charged(&charge));
        let unknown = Bounds { estimate: 0.0, at_least: 0.0, at_most: f64::INFINITY };
        let depth = estimate::by_bounds(&Passage::of_all(short), slot_s, 1.0, refill);
        Discovered::Policer {
            cir_bps: rate_bounds(refill).scaled(8.0 * charged),
            cbs_bytes: depth.map_or(unknown, |depth| depth_bounds(&depth).scaled(charged)),
            charge,
            excess: excess(long, slot_s, charged),
            alone,
            marked: marked(long),
        }
    }

    /// What a frame of the longest length costs.
    fn charged(&self, charge: &Charge) -> f64 {
        let offset = charge.layer.map_or(charge.offset_bytes.estimate, |(_, bytes)| bytes.into());
        f64::from(self.frame_bytes) + offset
    }

    /// Compares the frames that pass in a second at two lengths.
    fn charge(
        &mut self,
        lengths: &Lengths,
        long: Refill,
    ) -> Result<(Charge, Option<ShortFrames>), Abort> {
        let long_bytes = f64::from(self.frame_bytes);
        let least_bytes = lengths.tested.iter().copied().min().unwrap_or(SHORT_FRAME_MIN);
        let short_bytes = self.short_frame(least_bytes, 1.5 * long.bytes_s * long_bytes);
        let short_frames_s = long.bytes_s * long_bytes / f64::from(short_bytes);
        let lasts = Duration::from_secs_f64((60.0 / short_frames_s).max(SHORT_FRAMES_LAST_S));
        let lengths_bytes = [f64::from(short_bytes), long_bytes];
        let framing_bytes = self.run.plan.framing_bytes();
        let mut trials = 0;
        // A sender that stalls lets tokens go to waste, and what a frame costs seems odd.
        loop {
            let short = self.rate_of(short_bytes, lasts, short_frames_s)?;
            let rates = short.map(|short| [short, long]);
            let charge = charge_of(lengths_bytes, rates, framing_bytes);
            trials += 1;
            if charge.layer.is_some() || trials > CHARGE_REPEATS {
                let short = short.map(|refill| ShortFrames { frame_bytes: short_bytes, refill });
                return Ok((charge, short));
            }
        }
    }

    /// The shortest frames, of `least_bytes` at least, of which the host sends so many bytes in a
    /// second in time.
    fn short_frame(&self, least_bytes: u32, bytes_s: f64) -> u32 {
        (libm::ceil(bytes_s / SHORT_FRAMES_S) as u32)
            .clamp(SHORT_FRAME_MIN, self.frame_bytes * 2 / 3)
            .max(least_bytes)
    }

    /// Frames of one length that pass in a second, offered at about twice that.
    fn rate_of(
        &mut self,
        frame_bytes: u32,
        lasts: Duration,
        expected_frames_s: f64,
    ) -> Result<Option<Refill>, Abort> {
        let slot_s = self.port.slot_s(frame_bytes);
        let offered_frames_s = (3.0 * expected_frames_s).max(20_000.0).min(1.0 / slot_s);
        let on_the_line = f64::from(frame_bytes + PacketLayout::ETHERNET_L1_OVERHEAD) * 8.0;
        let mut load = self.port.load(frame_bytes, lasts);
        load.frames_per_burst = (lasts.as_secs_f64() * offered_frames_s) as u32;
        load.rate_l1 = Some(Rate::bps((offered_frames_s * on_the_line) as u64));
        load.bursts = REFINE_BURSTS;
        load.period = lasts.mul_f64(1.3);
        let seen = self.trial(&format!("frames of {frame_bytes} bytes"), load, Duration::ZERO)?;
        let passages = Passage::of_all(&seen);
        let slot_s = 1.0 / offered_frames_s;
        Ok(overload::bucket(&passages, slot_s, 1.0).map(|(refill, _)| refill))
    }

    /// Rate and bucket of what makes frames wait.
    fn shaper(&mut self, lengths: &Lengths, seen: &Seen) -> Result<Discovered, Abort> {
        let long = seen.report.bursts.first().map(|burst| Passage::of(burst, |_| true));
        let (Some(long), frame_bytes) = (long, self.frame_bytes) else {
            return Ok(self.no_policer(seen));
        };
        let Some(held) = held_back(&long, self.slot_s()) else { return Ok(self.no_policer(seen)) };
        let short_bytes = SHORT_FRAME_MIN
            .max(lengths.tested.iter().copied().min().unwrap_or(SHORT_FRAME_MIN))
            .max(frame_bytes / 3);
        let idle = UNKNOWN_IDLE + self.queued(seen);
        let short_seen = self.burst_faster(short_bytes, LASTS[1], idle)?;
        let short_burst =
            short_seen.report.bursts.first().map(|burst| Passage::of(burst, |_| true));
        let short_slot = self.port.slot_s(short_bytes);
        let short = short_burst.and_then(|burst| held_back(&burst, short_slot));
        let rates = short.map(|short| [short.refill, held.refill]);
        let charge = charge_of(
            [f64::from(short_bytes), f64::from(frame_bytes)],
            rates,
            self.run.plan.framing_bytes(),
        );
        let charged = self.charged(&charge);
        let lost = long.frames.saturating_sub(long.passed_frames());
        Ok(Discovered::Shaper {
            rate_bps: rate_bounds(held.refill).scaled(8.0 * charged),
            charge,
            bucket_bytes: held.bucket_frames.scaled(charged),
            delay: Duration::from_secs_f64(held.waited.max(0.0)),
            loss_percent: 100.0 * f64::from(lost) / f64::from(long.frames.max(1)),
        })
    }
}

/// What was found of a second bucket that leaves no mark.
enum Apart {
    /// It takes too long to fill, or the host cannot send fast enough to see it.
    NotLooked,
    One(Alone),
    Two(TwoBuckets),
}

/// How many frames of the second length pass in a second.
#[derive(Clone, Copy)]
struct ShortFrames {
    frame_bytes: u32,
    refill: Refill,
}

/// Bursts that look at the buckets.
struct Looking {
    frame_bytes: u32,
    charged_bytes: f64,
    /// Of all buckets together, in frames.
    refill: Refill,
    depth_frames: f64,
    /// Offered beyond the refill, the least and the most.
    faster_frames_s: [f64; 2],
    /// The same of the bursts of the longest frames.
    line_faster_frames_s: f64,
    rested_frames: f64,
    idle: Duration,
    /// With a longer pause than at first.
    again: bool,
}

impl Looking {
    /// With frames of which `short_frames` in a second pass; the buckets had been `rested_frames` of
    /// the longest deep after a longer pause.
    fn new(
        search: &Search<'_, '_>,
        short_frames: ShortFrames,
        charge: &Charge,
        buckets: &Buckets,
        rested_frames: f64,
    ) -> Option<Self> {
        let charged_bytes = search.charged(charge);
        let offset = charged_bytes - f64::from(search.frame_bytes);
        let refill_bytes_s =
            short_frames.refill.bytes_s * (f64::from(short_frames.frame_bytes) + offset);
        let frame_bytes =
            search.short_frame(short_frames.frame_bytes, LOOK_FASTER * refill_bytes_s);
        let charged_short = f64::from(frame_bytes) + offset;
        // Two buckets admit frames up to one more or less than evenly.
        let uneven = 0.5 / (short_frames.refill.bytes_s * SHORT_FRAMES_LAST_S);
        let uncertainty = short_frames.refill.uncertainty.max(uneven);
        let refill = Refill { bytes_s: refill_bytes_s / charged_short, uncertainty };
        let frames_longest = charged_bytes / charged_short;
        let [depth_frames, rested_frames] = [buckets.frames.max(rested_frames), rested_frames]
            .map(|frames| frames * frames_longest);
        let line_frames_s = 1.0 / search.port.slot_s(frame_bytes);
        let most = (LOOK_LINE_SHARE * line_frames_s).min(SHORT_FRAMES_S) - refill.bytes_s;
        let least = (LOOK_SLOWER * refill.bytes_s).max(depth_frames / LOOK_LASTS_MAX_S);
        let filled_s = buckets.frames * frames_longest / refill.bytes_s;
        let idle_s = (4.0 * filled_s).clamp(LOOK_IDLE_MIN_S, LOOK_IDLE_S.max(1.3 * filled_s));
        let idle = Duration::from_secs_f64(idle_s.min(60.0));
        (least < 0.5 * most && idle <= LOOK_IDLE_MAX).then_some(Self {
            frame_bytes,
            charged_bytes: charged_short,
            refill,
            depth_frames,
            faster_frames_s: [least, most],
            line_faster_frames_s: frames_longest / search.slot_s() - refill.bytes_s,
            rested_frames,
            idle,
            again: false,
        })
    }

    fn alone(&self, looks: &[Look]) -> Alone {
        let frames = second::shown_from(looks, self.refill.bytes_s);
        Alone { shown_from_bytes: frames * self.charged_bytes, filled_within: self.idle }
    }

    /// After longer pauses, for buckets that take so long to be full and are deeper then.
    fn longer(&mut self, fills: Duration) {
        let idle = fills.mul_f64(1.5).max(self.idle.mul_f64(LOOK_LONGER));
        self.idle = idle.min(LOOK_IDLE_MAX);
        self.depth_frames *= LOOK_DEEPER;
        self.again = true;
    }

    /// Whether the bursts that these buckets are found by met them full.
    fn met_full(&self, found: &TwoBuckets) -> bool {
        let rested = found.depth_frames(self.line_faster_frames_s) * DEEPER >= self.rested_frames;
        rested && found.filled_after().mul_f64(LOOK_SURELY) <= self.idle
    }
}

/// Both buckets of a policer that marks nothing.
fn as_two_buckets(two: &TwoBuckets, charge: Charge) -> Discovered {
    let rate_bps = Some(two.eir.scaled(8.0));
    let second = SecondBucket { rate_bps, depth_bytes: Some(two.ebs), dscp: None };
    Discovered::Policer {
        cir_bps: two.cir.scaled(8.0),
        cbs_bytes: two.cbs,
        charge,
        excess: Some(second),
        alone: None,
        marked: Vec::new(),
    }
}

/// Seconds from one frame that arrived to the next, the middle one of the gaps.
fn gap(curve: &[Point]) -> f64 {
    let gaps = curve
        .windows(2)
        .filter(|pair| pair[1].count > pair[0].count)
        .map(|pair| (pair[1].at - pair[0].at) / f64::from(pair[1].count - pair[0].count));
    median(gaps.collect()).unwrap_or(0.0)
}

/// For how long the sender or the path had stopped by each point: gaps above `long_s` beyond what a
/// line takes for the frames in them. Where a queue makes frames wait, it does so little by little.
fn stalled(curve: &[Point], slot_s: f64, long_s: f64) -> Vec<f64> {
    let mut stalled = 0.0;
    let mut by_then = vec![0.0; curve.len().min(1)];
    for pair in curve.windows(2) {
        let (frames, gap) = (f64::from(pair[1].frame - pair[0].frame), pair[1].at - pair[0].at);
        let per_frame = gap / f64::from((pair[1].count - pair[0].count).max(1));
        if per_frame > long_s {
            stalled += (gap - frames * slot_s).max(0.0);
        }
        by_then.push(stalled);
    }
    by_then
}

/// Whether drops begin where a bucket ends, and frames pass as its refill has it.
fn is_policed(bursts: &[Passage], depth: Option<Depth>, refill: Refill, slot_s: f64) -> bool {
    let refused = 1.0 - refill.bytes_s * slot_s;
    let regular = depth.is_some_and(|depth| depth.is_of_a_bucket())
        || bursts.iter().all(|burst| is_regular(burst, slot_s))
        || bursts.iter().all(|burst| is_even(burst, refill));
    regular && refused > 0.002
}

/// Tokens come evenly, so frames pass in about the same time after each other, however the sender
/// stalled now and then; what is lost by chance leaves gaps of any length.
fn is_regular(burst: &Passage, slot_s: f64) -> bool {
    const SLOTS_MIN: f64 = 4.0;
    const SPREAD_MAX: f64 = 0.5;
    let admissions = burst.admissions();
    let mut gaps: Vec<f64> = admissions.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    gaps.sort_by(f64::total_cmp);
    let quartile = |quarters: usize| gaps.get(gaps.len() * quarters / 4).copied().unwrap_or(0.0);
    let middle = quartile(2);
    middle >= SLOTS_MIN * slot_s && quartile(3) - quartile(1) <= SPREAD_MAX * middle
}

/// The depth that the fewest frames contradict; of two buckets none may be, and what nearly all frames
/// show is an idea of it.
fn frames_deep(bursts: &[Passage], depth: Option<Depth>, refill: Refill) -> Option<f64> {
    let shown = || bursts.iter().filter_map(|burst| second::depth(burst, refill)).collect();
    depth.map(|depth| depth.bytes).or_else(|| median(shown()))
}

/// Two buckets admit frames each at its own beat, but no more and no fewer in any time than both get
/// tokens for: but for a frame of each, and what the slope is off by. What is lost by chance strays by
/// more, the longer it lasts.
fn is_even(burst: &Passage, refill: Refill) -> bool {
    const ADMISSIONS_MIN: usize = 60;
    const FRAMES_MAX: f64 = 4.0;
    let admissions = burst.admissions();
    let mut beyond: Vec<f64> =
        admissions.iter().map(|(at, passed)| passed - refill.bytes_s * at).collect();
    beyond.sort_by(f64::total_cmp);
    let twentieth = beyond.len() / 20;
    let inner = beyond.get(twentieth).zip(beyond.get(beyond.len().saturating_sub(twentieth + 1)));
    let strays = inner.map_or(f64::INFINITY, |(least, most)| most - least);
    admissions.len() >= ADMISSIONS_MIN && strays <= FRAMES_MAX
}

/// The line by the first frames of the bursts, where these came much faster than the later ones: out
/// of a shaper's bucket.
fn before_a_shaper(seen: &Seen, port: Port, frame_bytes: u32) -> Port {
    let slot_s = port.slot_s(frame_bytes);
    let first_slot_s = |burst: &BurstReport| {
        let run = burst.arrived.first()?;
        let lasts = run.until.saturating_sub(run.from).as_secs_f64();
        (run.frames >= FIRST_FRAMES).then(|| lasts / f64::from(run.frames - 1))
    };
    let firsts = seen.report.bursts.iter().filter_map(first_slot_s);
    match median(firsts.filter(|slot| *slot > 0.0).collect()) {
        Some(first_s)
            if first_s < FASTER * slot_s
                && (slot_s - first_s) * f64::from(FIRST_FRAMES) > FASTER_S =>
        {
            Port { line_bps: port.line_bps * slot_s / first_s, ..port }
        }
        Some(_) | None => port,
    }
}

/// Frames that were held back and came one after the other, in frames.
struct Held {
    refill: Refill,
    bucket_frames: Bounds,
    /// Seconds.
    waited: f64,
}

/// The rate at which the later half of a burst came, and the bucket that let the frames before it go.
///
/// A bucket of `B` bytes that is full when the first frame comes has let `B` and the refill since
/// then go when it lets a frame go that waited: the straight line through those begins, at the first
/// frame, with `B`.
fn held_back(burst: &Passage, slot_s: f64) -> Option<Held> {
    let begin = burst.curve.first()?.at;
    let late = burst.curve.get(burst.curve.len() / 2..)?;
    let points: Vec<_> =
        late.iter().map(|point| (point.at - begin, f64::from(point.count))).collect();
    let frames_s = slope(&points)?;
    let last = late.last()?;
    let (at, watched) = (last.at - begin, last.at - late.first()?.at);
    // The earlier ones, which the slope's error moves less.
    let early = &points[..points.len().div_ceil(2)];
    let at_once: Vec<f64> = early.iter().map(|(at, count)| count - frames_s * at).collect();
    let off = frames_s * (slot_s + overload::ARRIVAL_S) + spread(at_once.clone());
    let frames = median(at_once)?.max(0.0);
    Some(Held {
        refill: Refill { bytes_s: frames_s, uncertainty: (slot_s + 20e-6) / watched.max(1e-6) },
        bucket_frames: Bounds {
            estimate: frames,
            at_least: (frames - off).max(0.0),
            at_most: frames + off,
        },
        waited: at - f64::from(last.frame) * slot_s.min(burst.sent_spacing()),
    })
}

/// What the rates of two lengths say a frame costs beside its length.
fn charge_of(
    [short_bytes, long_bytes]: [f64; 2],
    rates: Option<[Refill; 2]>,
    framing_bytes: u32,
) -> Charge {
    let Some([short, long]) = rates else {
        let unknown = Bounds { estimate: 0.0, at_least: f64::NEG_INFINITY, at_most: f64::INFINITY };
        return Charge { offset_bytes: unknown, layer: None };
    };
    // Both lengths cost the same bytes in a second: f·(L + offset).
    let offset = |short_s: f64, long_s: f64| {
        (long_s * long_bytes - short_s * short_bytes) / (short_s - long_s)
    };
    let estimate = offset(short.bytes_s, long.bytes_s);
    let [short_off, long_off] = [short, long].map(|refill| refill.bytes_s * refill.uncertainty);
    let ends = [
        offset(short.bytes_s + short_off, long.bytes_s - long_off),
        offset(short.bytes_s - short_off, long.bytes_s + long_off),
    ];
    let at_least = ends[0].min(ends[1]);
    let at_most = ends[0].max(ends[1]);
    let known = [
        (Layer::L2, 0),
        (Layer::L2, -4),
        (Layer::L3, -i64::from(framing_bytes) as i32),
        (Layer::L1, PacketLayout::ETHERNET_L1_OVERHEAD as i32),
    ];
    let nearest = known
        .into_iter()
        .map(|(layer, bytes)| ((estimate - f64::from(bytes)).abs(), layer, bytes))
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(off, ..)| *off <= OFFSET_TOLERANCE)
        .map(|(_, layer, bytes)| (layer, bytes));
    Charge { offset_bytes: Bounds { estimate, at_least, at_most }, layer: nearest }
}

/// The excess bucket: what of the frames beyond the committed one passed nevertheless, marked.
fn excess(seen: &Seen, slot_s: f64, charged_bytes: f64) -> Option<SecondBucket> {
    let dscp = Some(*marked(seen).first()?);
    let Some((refill, depth)) = second(seen, slot_s, charged_bytes) else {
        return Some(SecondBucket { rate_bps: None, depth_bytes: None, dscp });
    };
    let rate_bps = Some(rate_bounds(refill).scaled(8.0));
    Some(SecondBucket { rate_bps, depth_bytes: depth.map(|depth| depth_bounds(&depth)), dscp })
}

fn second(seen: &Seen, slot_s: f64, charged_bytes: f64) -> Option<(Refill, Option<Depth>)> {
    let dscp = *marked(seen).first()?;
    let bursts: Vec<Passage> =
        seen.report.bursts.iter().filter_map(|burst| beyond(burst, dscp)).collect();
    overload::bucket(&bursts, slot_s, charged_bytes)
}

/// Both buckets of a policer, in frames.
struct Buckets {
    refill: Refill,
    frames: f64,
    excess: Option<(f64, f64)>,
}

impl Buckets {
    fn of(seen: &Seen, slot_s: f64) -> Option<Self> {
        let bursts = Passage::of_all(seen);
        let (refill, depth) = overload::bucket(&bursts, slot_s, 1.0)?;
        let excess = second(seen, slot_s, 1.0)
            .and_then(|(refill, depth)| Some((refill.bytes_s, depth?.bytes)));
        let frames = frames_deep(&bursts, depth, refill)?;
        (frames >= 1.0).then_some(Self { refill, frames, excess })
    }

    /// How long both take to be full.
    fn refilled_after(&self) -> Duration {
        let committed = self.frames / self.refill.bytes_s;
        let excess = self.excess.map_or(0.0, |(frames_s, frames)| frames / frames_s);
        Duration::from_secs_f64(committed.max(excess).clamp(0.005, 60.0))
    }

    /// How long a burst empties both and then shows their refill.
    fn emptied_after(&self, slot_s: f64) -> Duration {
        let (excess_frames_s, excess_frames) = self.excess.unwrap_or((0.0, 0.0));
        let spent = 1.0 / slot_s - self.refill.bytes_s - excess_frames_s;
        let drain = (self.frames + excess_frames) / spent.max(0.01 / slot_s);
        let slowest = match self.excess {
            Some((frames_s, _)) => frames_s.min(self.refill.bytes_s),
            None => self.refill.bytes_s,
        };
        Duration::from_secs_f64((1.2 * drain + (40.0 / slowest).max(0.03)).min(60.0))
    }
}

/// The frames of a burst as a second bucket met them, from the first that it was asked for.
fn beyond(burst: &BurstReport, marked: Dscp) -> Option<Passage> {
    let is_marked = |run: &fp_model::ArrivedRun| run.dscp == Some(marked);
    let begin = burst.arrived.iter().find(|run| is_marked(run))?.first;
    Some(Passage::between(burst, begin, is_marked, |run| !is_marked(run)))
}

/// Code points of frames that came marked otherwise than the first of their burst.
fn marked(seen: &Seen) -> Vec<Dscp> {
    let mut found = Vec::new();
    for burst in &seen.report.bursts {
        let plain = burst.arrived.first().and_then(|run| run.dscp);
        for dscp in burst.arrived.iter().filter_map(|run| run.dscp) {
            if Some(dscp) != plain && !found.contains(&dscp) {
                found.push(dscp);
            }
        }
    }
    found
}

fn rate_bounds(refill: Refill) -> Bounds {
    let off = refill.bytes_s * refill.uncertainty;
    let estimate = refill.bytes_s;
    Bounds { estimate, at_least: estimate - off, at_most: estimate + off }
}

const fn depth_bounds(depth: &Depth) -> Bounds {
    Bounds { estimate: depth.bytes, at_least: depth.at_least, at_most: depth.below }
}
