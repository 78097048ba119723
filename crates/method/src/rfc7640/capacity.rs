//! Capacity: all policers and shapers of a port at once, each with a class of its own.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Abort, Direction, Rate};

use super::bursts::{Offer, Outcome, interval};
use super::hunt::{BurstHunt, BurstOutcome, HuntStep, frames_per_kilobyte};
use super::policer::{BURST_RATE_SLACK, EXCESS_BYTES, HUNT_BURSTS, burst_rate, whole_prefix_of};
use super::shaper::{self, Shaped};
use super::{
    CapacityClass, CapacityStep, Device, Hunt, HuntTrial, PortClass, Run, Stateless, Step, Trains,
};

/// Where the excess of one class makes that of the others larger, this ends the sum.
const ROUNDS_MAX: usize = 50;

//= rfc7640 6.1.2
//= rfc7640 6.3.2
//= rfc7640 6.4
/// The procedures of single policers and shapers, in all classes of the port at the same time.
pub(super) fn test(
    run: &mut Run<'_>,
    direction: Direction,
    classes: &[PortClass],
) -> Result<(), Abort> {
    let line_l2 = line_rate(run, direction, classes)?;
    let test = Test { direction, classes, line_l2 };
    let frames: Vec<u32> = classes.iter().map(|class| run.frames_in(class.burst_bytes())).collect();
    let compliant = test.offer_often(run, "compliant bursts", &frames)?;
    let excess_frames = test.excess_frames(run, &frames);
    let excess = match &excess_frames {
        Some(frames) => Some((frames, test.offer_often(run, "excess bursts", frames)?)),
        None => None,
    };
    let hunts = test.hunts(run, (&frames, &compliant), excess.as_ref())?;
    let trains = test.trains(run, &compliant)?;
    let mut classes = Vec::new();
    for (place, (class, hunt)) in classes_with(test.classes, hunts) {
        let is_policer = matches!(class.device, Device::Policer(_));
        let in_excess = excess.as_ref().filter(|_| is_policer);
        classes.push(CapacityClass {
            dscp: class.dscp,
            device: class.device,
            compliant: compliant[place].stateless.clone(),
            excess: in_excess.map(|(_, seen)| seen[place].stateless.clone()),
            hunt,
            trains: trains[place],
        });
    }
    let frame_bytes = run.plan.frame_bytes;
    run.report.steps.push(Step::Capacity(CapacityStep { direction, frame_bytes, classes }));
    Ok(())
}

fn classes_with<T>(
    classes: &[PortClass],
    of_each: Vec<T>,
) -> impl Iterator<Item = (usize, (&PortClass, T))> {
    classes.iter().zip(of_each).enumerate()
}

impl PortClass {
    /// What the buckets or the queue are to take at once.
    const fn burst_bytes(&self) -> u64 {
        match &self.device {
            Device::Policer(policer) => policer.depth_bytes(),
            Device::Shaper(shaper) => shaper.burst_bytes,
        }
    }

    /// What leaves the port as it came.
    const fn at_once_bytes(&self) -> u64 {
        match &self.device {
            Device::Policer(policer) => policer.depth_bytes(),
            Device::Shaper(shaper) => shaper.at_once_bytes(),
        }
    }

    /// Until a bucket is full or a queue empty again.
    fn recovery(&self) -> Duration {
        match &self.device {
            Device::Policer(policer) => policer.refill(),
            Device::Shaper(shaper) => shaper.rate_l2.time_for(shaper.burst_bytes),
        }
    }
}

/// Of the line that all classes share, at layer 2, by the largest bursts that pass as they come;
/// `None` where they have a single frame.
fn line_rate(
    run: &mut Run<'_>,
    direction: Direction,
    classes: &[PortClass],
) -> Result<Option<Rate>, Abort> {
    if let Some(rate) = run.plan.line_rate_l2() {
        return Ok(Some(rate));
    }
    let Some(class) = classes.iter().max_by_key(|class| class.at_once_bytes()) else {
        return Ok(None);
    };
    let name = format!("capacity, {direction}: bursts of one class");
    let frames = run.frames_in(class.at_once_bytes());
    let mut offer = run.bursts(name, direction, frames, interval(class.recovery()));
    offer.classes = vec![class.dscp];
    offer.load.bursts = offer.load.bursts.min(HUNT_BURSTS);
    let outcome = run.offer(&offer)?;
    Ok(burst_rate(run, &[outcome]))
}

impl Run<'_> {
    /// How many whole frames these bytes are.
    fn frames_in(&self, bytes: u64) -> u32 {
        (bytes / u64::from(self.plan.frame_bytes)).min(u32::MAX.into()) as u32
    }
}

/// What became of one class.
struct Seen {
    stateless: Stateless,
    outcomes: Vec<Outcome>,
}

struct Test<'a> {
    direction: Direction,
    classes: &'a [PortClass],
    line_l2: Option<Rate>,
}

impl Test<'_> {
    /// How long bursts of all classes take that begin at the same time.
    fn together(&self, run: &Run<'_>, frames: &[u32]) -> Duration {
        let bytes = |frames: &u32| u64::from(*frames) * u64::from(run.plan.frame_bytes);
        let all_bytes = frames.iter().map(bytes).sum();
        let lasts = self.line_l2.map_or(Duration::ZERO, |line| line.time_for(all_bytes));
        lasts.mul_f64(BURST_RATE_SLACK)
    }

    /// Bursts of each class, as often as it recovers. One may wait for those of all others, and the
    /// next one for none: so much farther apart they are, and so late they may be.
    fn offers(&self, run: &Run<'_>, what: &str, frames: &[u32]) -> Vec<Offer> {
        let together = self.together(run, frames);
        let offer = |(class, frames): (&PortClass, &u32)| {
            let (period, late_max) = interval(class.recovery() + together * 2);
            let name = self.named(what);
            let offer = run.bursts(name, self.direction, *frames, (period, late_max + together));
            Offer { classes: vec![class.dscp], drain: class.recovery() + together, ..offer }
        };
        self.classes.iter().zip(frames).map(offer).collect()
    }

    fn named(&self, what: &str) -> String {
        format!("capacity, {}: {what} of {} classes", self.direction, self.classes.len())
    }

    fn offer_often(
        &self,
        run: &mut Run<'_>,
        what: &str,
        frames: &[u32],
    ) -> Result<Vec<Seen>, Abort> {
        let offers = self.offers(run, what, frames);
        let (stateless, outcomes) = run.offer_together_often(&self.named(what), &offers)?;
        let seen = |(stateless, outcomes)| Seen { stateless, outcomes };
        Ok(stateless.into_iter().zip(outcomes).map(seen).collect())
    }

    /// More than each policer lets through while the bursts of all classes last; shapers get what
    /// they hold. `None` where the policers together are as fast as the line.
    fn excess_frames(&self, run: &Run<'_>, compliant: &[u32]) -> Option<Vec<u32>> {
        self.line_l2?;
        let mut frames = compliant.to_vec();
        for _ in 0..ROUNDS_MAX {
            let together = self.together(run, &frames);
            let in_excess = |(class, compliant): (&PortClass, &u32)| match &class.device {
                Device::Shaper(_) => *compliant,
                Device::Policer(policer) => {
                    let back_bytes = policer.rate_l2().bytes_in(together);
                    let bytes = policer.depth_bytes() + back_bytes + EXCESS_BYTES;
                    run.frames_in(bytes).saturating_add(2)
                }
            };
            let next: Vec<u32> = self.classes.iter().zip(compliant).map(in_excess).collect();
            if next == frames {
                return Some(frames);
            }
            frames = next;
        }
        None
    }

    //= rfc7640 5.1.1
    /// The burst hunt of every policer, in the same trials; a class whose hunt is over goes on with
    /// the burst that it found. `None` for shapers.
    fn hunts(
        &self,
        run: &mut Run<'_>,
        (compliant, seen): (&[u32], &[Seen]),
        excess: Option<&(&Vec<u32>, Vec<Seen>)>,
    ) -> Result<Vec<Option<Hunt>>, Abort> {
        let of_class = |place: usize| {
            matches!(self.classes[place].device, Device::Policer(_)).then(|| {
                let excess = excess.map(|(frames, seen)| (frames[place], &seen[place]));
                Hunting::new(run, (compliant[place], &seen[place]), excess)
            })
        };
        let mut hunts: Vec<Option<Hunting>> = (0..self.classes.len()).map(of_class).collect();
        loop {
            let tries: Vec<Option<u32>> =
                hunts.iter_mut().map(|hunt| hunt.as_mut().and_then(Hunting::next_burst)).collect();
            if tries.iter().all(Option::is_none) {
                break;
            }
            let settled = hunts.iter().zip(compliant).map(|(hunt, compliant)| {
                hunt.as_ref().and_then(Hunting::found_frames).unwrap_or(*compliant)
            });
            let frames: Vec<u32> = tries
                .iter()
                .zip(settled)
                .map(|(tried, settled)| tried.unwrap_or(settled))
                .collect();
            let name = self.named("hunt by bursts");
            let mut offers = self.offers(run, "hunt by bursts", &frames);
            for offer in &mut offers {
                offer.load.bursts = offer.load.bursts.min(HUNT_BURSTS);
            }
            let outcomes = run.offer_together(&name, &offers)?;
            for (((hunt, tried), offer), outcome) in
                hunts.iter_mut().zip(&tries).zip(&offers).zip(outcomes)
            {
                if let (Some(hunt), Some(_)) = (hunt, tried) {
                    hunt.judge(offer.burst_bytes(), outcome.lost_frames());
                }
            }
        }
        let frame_bytes = run.plan.frame_bytes;
        Ok(hunts.into_iter().map(|hunt| hunt.map(|hunt| hunt.into_hunt(frame_bytes))).collect())
    }

    /// How each shaper lets frames go while all of them are active; `None` for policers.
    fn trains(&self, run: &mut Run<'_>, compliant: &[Seen]) -> Result<Vec<Option<Trains>>, Abort> {
        let shapers =
            self.classes.iter().zip(compliant).filter_map(|(class, seen)| match &class.device {
                Device::Shaper(plan) => {
                    let quickest = shaper::quickest(&seen.stateless);
                    Some(Shaped { dscp: class.dscp, plan: *plan, quickest })
                }
                Device::Policer(_) => None,
            });
        let shapers: Vec<_> = shapers.collect();
        let mut trains = shaper::trains(run, self.direction, &shapers, self.line_l2)?.into_iter();
        let of_class = |class: &PortClass| match class.device {
            Device::Shaper(_) => trains.next(),
            Device::Policer(_) => None,
        };
        Ok(self.classes.iter().map(of_class).collect())
    }
}

/// The hunt of one class, or what is known without one.
enum Hunting {
    /// Nothing was ever lost: bursts of so many frames pass at least.
    NoLimit(u32),
    UnderWay {
        hunt: BurstHunt,
        trials: Vec<HuntTrial>,
        found: Option<u32>,
    },
}

impl Hunting {
    fn new(run: &Run<'_>, (compliant, seen): (u32, &Seen), excess: Option<(u32, &Seen)>) -> Self {
        let lossy = |seen: &Seen| !seen.stateless.is_lossless();
        let excess_lost = excess.filter(|(_, seen)| lossy(seen));
        let failing = if lossy(seen) { Some((compliant, seen)) } else { excess_lost };
        let Some((failing, of_failing)) = failing else {
            return Self::NoLimit(excess.map_or(compliant, |(frames, _)| frames));
        };
        let passing = if lossy(seen) { 0 } else { compliant };
        let step = frames_per_kilobyte(run.plan.frame_bytes);
        let hint = whole_prefix_of(&of_failing.outcomes);
        let hunt = BurstHunt::new(passing, failing, step, hint);
        Self::UnderWay { hunt, trials: Vec::new(), found: None }
    }

    /// `None` when there is nothing left to try.
    fn next_burst(&mut self) -> Option<u32> {
        let Self::UnderWay { hunt, found, .. } = self else { return None };
        match hunt.next_burst() {
            HuntStep::Try(frames) => Some(frames),
            HuntStep::Found(frames) => {
                *found = Some(frames);
                None
            }
        }
    }

    fn judge(&mut self, burst_bytes: u64, lost_frames: u64) {
        if let Self::UnderWay { hunt, trials, .. } = self {
            trials.push(HuntTrial { burst_bytes, lost_frames });
            hunt.judge(BurstOutcome::of(lost_frames));
        }
    }

    fn found_frames(&self) -> Option<u32> {
        match self {
            Self::NoLimit(frames) => Some(*frames),
            Self::UnderWay { found, .. } => found.filter(|frames| *frames > 0),
        }
    }

    fn into_hunt(self, frame_bytes: u32) -> Hunt {
        let found = self.found_frames().map(|frames| u64::from(frames) * u64::from(frame_bytes));
        match self {
            Self::NoLimit(_) => Hunt { bsa_bytes: found, ..Hunt::default() },
            Self::UnderWay { trials, .. } => Hunt { bsa_bytes: found, is_limit: true, trials },
        }
    }
}

/// What a class is called in the reasons of a verdict.
pub(super) fn named(step: &CapacityStep, class: &CapacityClass) -> String {
    format!("capacity, {}, class {}", step.direction, class.dscp.code_point())
}
