//! Queues and schedulers: bursts that fill the queues, each as often as the line can empty one.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Abort, BurstSpacing, BurstsLoad, BurstsReport, Direction, Dscp, Rate};

use super::bursts::{Offer, Outcome, arrivals, interval};
use super::policer::{first, whole_prefix_of};
use super::stateful::{self, Room};
use super::{Class, ClassStep, Hunt, QueuePlan, QueueStep, Run, Scheduler, SchedulerStep, Step};

/// So many bursts at least show the shares of classes: those of the first and after the last do not
/// count.
const SCHEDULED_BURSTS_MIN: u32 = 10;

pub(super) fn test(
    run: &mut Run<'_>,
    direction: Direction,
    queue: &QueuePlan,
) -> Result<(), Abort> {
    let test = Test { direction, queue, bandwidth_l2: run.plan.at_l2(queue.bandwidth) };
    match &queue.scheduler {
        Scheduler::Fifo => test.one_queue(run),
        Scheduler::Strict { classes } => test.queues(run, classes, &strict_shares),
        Scheduler::Wfq { classes } => test.queues(run, classes, &weighted_shares),
    }
}

/// What each class gets of the line where each asks for the same share.
type Shares = dyn Fn(&[Class], f64) -> Vec<f64>;

struct Test<'a> {
    direction: Direction,
    queue: &'a QueuePlan,
    bandwidth_l2: Rate,
}

impl Test<'_> {
    //= rfc7640 6.2.1.1
    /// A burst fills the queue, and the next one comes when it is empty again.
    fn one_queue(&self, run: &mut Run<'_>) -> Result<(), Abort> {
        let dscp = run.plan.dscp;
        let frames = self.whole_frames(run);
        let offer = self.offer(run, &[dscp], frames, self.bursts(run));
        let (stateless, outcomes) = run.offer_often(&offer)?;
        let stateless = first(stateless);
        let hunt = if stateless.is_lossless() {
            Hunt { bsa_bytes: Some(stateless.burst_bytes), ..Hunt::default() }
        } else {
            let prefix = whole_prefix_of(&outcomes);
            run.hunt(0, frames, prefix, |run, frames| {
                self.offer(run, &[dscp], frames, self.bursts(run))
            })?
        };
        let stateful = stateful::patterns(run, self.direction, &[dscp], &self.room())?;
        run.report.steps.push(Step::Queue(QueueStep {
            direction: self.direction,
            frame_bytes: run.plan.frame_bytes,
            queue_bytes: self.queue.queue_bytes,
            bandwidth_l2: self.bandwidth_l2,
            stateless,
            hunt,
            stateful,
        }));
        Ok(())
    }

    //= rfc7640 6.2.1.1
    //= rfc7640 6.2.2
    /// The same for every class at once: together they offer as many times the line as there are
    /// classes, and every queue but those that are served first stays full.
    fn queues(
        &self,
        run: &mut Run<'_>,
        classes: &[Class],
        shares_of: &Shares,
    ) -> Result<(), Abort> {
        let dscps: Vec<Dscp> = classes.iter().map(|class| class.dscp).collect();
        let bursts = self.bursts(run).max(SCHEDULED_BURSTS_MIN);
        let offer = self.offer(run, &dscps, self.whole_frames(run), bursts);
        let (stateless, outcomes) = run.offer_often(&offer)?;
        let expected = shares_of(classes, self.offered_share(&offer));
        let shares = shares(&outcomes, &offer.load, classes.len());
        let steps = classes.iter().zip(stateless).zip(expected.iter().zip(shares));
        let classes = steps.map(|((class, stateless), (expected, share))| ClassStep {
            dscp: class.dscp,
            weight: class.weight,
            stateless,
            share_percent: share,
            expected_share_percent: 100.0 * expected,
        });
        let classes = classes.collect();
        let stateful = stateful::patterns(run, self.direction, &dscps, &self.room())?;
        run.report.steps.push(Step::Scheduler(SchedulerStep {
            direction: self.direction,
            scheduler: self.queue.scheduler.name(),
            frame_bytes: run.plan.frame_bytes,
            queue_bytes: self.queue.queue_bytes,
            bandwidth_l2: self.bandwidth_l2,
            classes,
            stateful,
        }));
        Ok(())
    }

    fn whole_frames(&self, run: &Run<'_>) -> u32 {
        let frames = self.queue.queue_bytes / u64::from(run.plan.frame_bytes);
        frames.min(u32::MAX.into()) as u32
    }

    //= rfc7640 6.2.1.1
    /// Ti = QL·8/BB, and how late a burst may be. Under strict priority a frame of another class may
    /// just have begun to leave.
    fn interval(&self, run: &Run<'_>) -> (Duration, Duration) {
        let others = u64::from(!self.queue.scheduler.classes().is_empty());
        let bytes = self.queue.queue_bytes + others * u64::from(run.plan.frame_bytes);
        interval(self.bandwidth_l2.time_for(bytes))
    }

    fn bursts(&self, run: &Run<'_>) -> u32 {
        let (period, _) = self.interval(run);
        (run.plan.trial.as_nanos() / period.as_nanos()).clamp(1, u32::MAX.into()) as u32
    }

    /// What one class offers, as a share of the line.
    fn offered_share(&self, offer: &Offer) -> f64 {
        let leaves_in = self.bandwidth_l2.time_for(offer.burst_bytes());
        leaves_in.as_secs_f64() / offer.load.period.as_secs_f64()
    }

    fn offer(&self, run: &Run<'_>, classes: &[Dscp], frames: u32, bursts: u32) -> Offer {
        let scheduler = self.queue.scheduler.name();
        let (period, late_max) = self.interval(run);
        Offer {
            name: format!("{scheduler} queue, {}: bursts of {frames} frames", self.direction),
            direction: self.direction,
            classes: classes.to_vec(),
            load: BurstsLoad {
                frame_bytes: run.plan.frame_bytes,
                frames_per_burst: frames,
                bursts,
                period,
                rate_l1: run.plan.line_rate_l1,
                spacing: BurstSpacing::OnSchedule,
            },
            late_max,
            idle: period,
            drain: period * (classes.len() as u32 + 1),
            trains: None,
        }
    }

    /// What TCP is to fill: the path and the queue, whichever is the larger.
    fn room(&self) -> Room {
        Room {
            rate_l2: self.bandwidth_l2,
            window_bytes_min: self.queue.queue_bytes,
            factors: &[1.0],
            ends_at: ends_at(&self.queue.scheduler),
        }
    }
}

/// The first class gets what it asks for, the next what is left.
fn strict_shares(classes: &[Class], asked: f64) -> Vec<f64> {
    let shares = classes.iter().scan(1.0_f64, |left, _| {
        let share = asked.min(*left);
        *left -= share;
        Some(share)
    });
    shares.collect()
}

/// By weight, except that no class gets more than it asks for: the others share that.
fn weighted_shares(classes: &[Class], asked: f64) -> Vec<f64> {
    let mut shares = vec![None; classes.len()];
    loop {
        let taken: f64 = shares.iter().flatten().sum();
        let open = || classes.iter().zip(&shares).filter(|(_, share)| share.is_none());
        let weights: f64 = open().map(|(class, _)| f64::from(class.weight)).sum();
        let fair = |class: &Class| (1.0 - taken) * f64::from(class.weight) / weights;
        let content = classes
            .iter()
            .zip(&shares)
            .position(|(class, share)| share.is_none() && fair(class) > asked);
        match content {
            Some(place) => shares[place] = Some(asked),
            None => {
                let each = classes.iter().zip(&shares);
                return each.map(|(class, share)| share.unwrap_or_else(|| fair(class))).collect();
            }
        }
    }
}

/// When each class has left that had as much waiting as the others, as a share of the time until
/// all have.
fn ends_at(scheduler: &Scheduler) -> Vec<f64> {
    let classes = scheduler.classes();
    let count = classes.len() as f64;
    match scheduler {
        Scheduler::Fifo => vec![1.0],
        Scheduler::Strict { .. } => {
            (1..=classes.len()).map(|served| served as f64 / count).collect()
        }
        Scheduler::Wfq { .. } => {
            let end = |class: &Class| {
                // Each class has left so much when this one is done; those before it all they had.
                let left = |other: &Class| f64::from(other.weight) / f64::from(class.weight);
                classes.iter().map(|other| left(other).min(1.0)).sum::<f64>() / count
            };
            classes.iter().map(end).collect()
        }
    }
}

/// The share of each class, in percent, of the frames that arrived from the second burst to the
/// last: before, queues fill, and afterwards they empty.
fn shares(outcomes: &[Outcome], load: &BurstsLoad, classes: usize) -> Vec<Option<f64>> {
    let arrived: Vec<u64> = (0..classes)
        .map(|class| {
            outcomes.iter().map(|outcome| in_the_midst(&outcome.reports, class, load)).sum()
        })
        .collect();
    let all: u64 = arrived.iter().sum();
    arrived.iter().map(|frames| (all > 0).then(|| 100.0 * *frames as f64 / all as f64)).collect()
}

/// Frames of a class that arrived in the midst of a trial. The frames that the network delays are
/// counted by when the first of the trial arrived.
fn in_the_midst(reports: &[BurstsReport], class: usize, load: &BurstsLoad) -> u64 {
    let all = reports.iter().flat_map(|report| arrival_times(report, load));
    let Some(first) = all.min() else { return 0 };
    let (from, until) = (first + load.period, first + load.period * (load.bursts - 1));
    let is_within = |at: &Duration| (from..until).contains(at);
    arrival_times(&reports[class], load).filter(is_within).count() as u64
}

/// Since the first burst was due.
fn arrival_times(report: &BurstsReport, load: &BurstsLoad) -> impl Iterator<Item = Duration> {
    let period = load.period;
    report.bursts.iter().flat_map(move |burst| {
        let due = period * burst.burst;
        arrivals(burst).map(move |(_, at)| due + at)
    })
}

pub(super) fn named(direction: Direction, scheduler: &str) -> String {
    format!("{scheduler} queue, {direction}")
}

#[cfg(test)]
mod tests {
    use fp_model::{ArrivedRun, BurstReport};

    use super::*;

    fn class(weight: u32) -> Class {
        Class { dscp: Dscp::BEST_EFFORT, weight }
    }

    //= rfc7640 6.2.1.1
    #[test]
    fn weights_are_shares_and_strict_priority_gives_all_to_the_first() {
        let classes = vec![class(3), class(1)];
        assert_eq!(weighted_shares(&classes, 1.0), [0.75, 0.25]);
        assert_eq!(strict_shares(&classes, 0.875), [0.875, 0.125]);
        assert_eq!(strict_shares(&[classes[0]; 3], 1.0), [1.0, 0.0, 0.0]);
    }

    /// Half of the line is all that the first asks for; the rest is shared 1 to 3.
    #[test]
    fn what_a_class_does_not_ask_for_is_shared_by_the_others() {
        let classes = vec![class(12), class(1), class(3)];
        assert_eq!(weighted_shares(&classes, 0.5), [0.5, 0.125, 0.375]);
    }

    /// With weights 4, 1, 1 the first has all of its third when the others have a quarter of theirs.
    #[test]
    fn a_class_that_is_served_more_ends_before_the_others() {
        let ends = |scheduler| ends_at(&scheduler);
        assert_eq!(ends(Scheduler::Fifo), [1.0]);
        assert_eq!(ends(Scheduler::Strict { classes: vec![class(1); 4] }), [0.25, 0.5, 0.75, 1.0]);
        let classes = vec![class(4), class(1), class(1)];
        assert_eq!(ends(Scheduler::Wfq { classes }), [0.5, 1.0, 1.0]);
    }

    /// Four bursts, 10 ms apart. Frames of the first burst's time and after the last do not count.
    #[test]
    fn shares_are_those_while_every_class_has_something_waiting() {
        let load = BurstsLoad {
            frame_bytes: 1000,
            frames_per_burst: 10,
            bursts: 4,
            period: Duration::from_millis(10),
            rate_l1: None,
            spacing: BurstSpacing::OnSchedule,
        };
        let burst = |burst, frames, from_ms| BurstReport {
            burst,
            arrived: vec![ArrivedRun {
                first: 0,
                frames,
                dscp: None,
                from: Duration::from_millis(from_ms),
                until: Duration::from_millis(from_ms),
            }],
            ..BurstReport::default()
        };
        // The path delays by 5 ms: what counts arrives from 15 to 35 ms.
        let gold = vec![burst(0, 9, 5), burst(1, 6, 6), burst(2, 3, 5), burst(3, 8, 6)];
        let base = vec![burst(0, 2, 10), burst(1, 1, 24), burst(3, 5, 6)];
        let report = |bursts| BurstsReport { bursts, ..BurstsReport::default() };
        let reports = [report(gold), report(base)];
        assert_eq!(in_the_midst(&reports, 0, &load), 9);
        // The first two arrive at 10 ms, the next at 34 ms, the last at 36 ms.
        assert_eq!(in_the_midst(&reports, 1, &load), 1);
    }
}
