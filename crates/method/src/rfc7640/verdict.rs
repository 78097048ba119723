//! What the tests of an RFC 7640 run amount to: self-checks, verdict, reasons, deviations.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use fp_model::{Abort, Rate};

use super::{
    CapacityClass, CapacityStep, Device, Health, Hunt, Plan, PolicerStep, PortClass, QueueStep,
    SchedulerStep, ShaperStep, Stateless, Step, Trains, capacity, policer, queue, shaper,
};
use crate::formula::bounds::Bounds;
use crate::reason::Code;
use crate::verdict::{Check, Reason, Status, Verdict};
use crate::{grouped, signed};

/// Of the frames of a run, lost in the tester itself.
const TESTER_LOSS_PERCENT_MAX: f64 = 0.0;
/// A bucket that is too large lets every burst through; a sender that is held up within a burst lets
/// the bucket fill meanwhile, which no more than one burst in so many may show.
const WHOLE_EXCESS_ONE_IN: u64 = 10;

pub(super) fn checks(health: &Health) -> Vec<Check> {
    let arrived = health.received_frames + health.dropped_packets;
    let dropped = 100.0 * health.dropped_packets as f64 / arrived.max(1) as f64;
    let spoilt = f64::from(health.spoilt_trials);
    Vec::from([
        Check::at_most(Code::TesterDrops, dropped, TESTER_LOSS_PERCENT_MAX, "percent"),
        Check::at_most(Code::SpoiltTrials, spoilt, 0.0, "trials"),
    ])
}

/// Weighs every test; a run that was broken off has no verdict.
pub(super) fn judge(
    plan: &Plan,
    steps: &[Step],
    checks: &[Check],
    abort: Option<&Abort>,
) -> Verdict {
    let finished = abort.is_none();
    let mut reasons: Vec<Reason> = abort.into_iter().map(Reason::of_abort).collect();
    reasons.extend(checks.iter().filter(|check| !check.ok).map(broken));
    let invalid = checks.iter().any(|check| !check.ok);
    let before = reasons.len();
    for (place, step) in steps.iter().enumerate() {
        let of_step = failures(plan, step);
        reasons.extend(of_step.into_iter().map(|(code, text)| Reason {
            code,
            text,
            step: Some(place),
        }));
    }
    let failed = reasons.len() > before;
    if finished && !failed {
        reasons.extend(steps.iter().enumerate().filter_map(passed));
    }
    let status = match (finished, invalid, failed) {
        (false, ..) => Status::Aborted,
        (true, true, _) => Status::Invalid,
        (true, false, true) => Status::Fail,
        (true, false, false) => Status::Pass,
    };
    Verdict { status, reasons }
}

/// Tests of whose bursts nothing was sent, or of whose trains too little came to tell how much a
/// shaper lets go at once: each a sentence.
pub(super) fn unmeasured(steps: &[Step]) -> Vec<String> {
    steps.iter().flat_map(unmeasured_of).collect()
}

fn unmeasured_of(step: &Step) -> Vec<String> {
    let unsent = |name: String, bursts: &Stateless| {
        (bursts.sent_frames == 0)
            .then(|| format!("{name}: no burst was sent, so nothing is judged"))
    };
    let no_excess = |name: String, excess: &Option<Stateless>| {
        excess.is_none().then(|| {
            format!(
                "{name}: bursts come no faster than CIR and EIR, so nothing can be in excess: test \
                 over a faster line"
            )
        })
    };
    let untold = |name: String, trains: &Trains| {
        let is_untold = trains.rate_l2.is_some() && trains.bucket_least_bytes.is_none();
        is_untold.then(|| format!("{name}: too little came to tell what leaves at once"))
    };
    match step {
        Step::BaselineRtt(_) => Vec::new(),
        Step::Policer(step) => {
            let all = [Some(&step.compliant), step.excess.as_ref()].into_iter().flatten();
            all.filter_map(|bursts| unsent(policer::named(step), bursts))
                .chain(no_excess(policer::named(step), &step.excess))
                .collect()
        }
        Step::Queue(step) => {
            unsent(queue::named(step.direction, "fifo"), &step.stateless).into_iter().collect()
        }
        Step::Scheduler(step) => {
            let name = || queue::named(step.direction, step.scheduler);
            let classes = step.classes.iter();
            classes.filter_map(|class| unsent(name(), &class.stateless)).collect()
        }
        Step::Shaper(step) => {
            let name = || shaper::named(step.direction);
            let all = [unsent(name(), &step.stateless), untold(name(), &step.trains)];
            all.into_iter().flatten().collect()
        }
        Step::Capacity(step) => {
            let of_class = |class: &CapacityClass| {
                let name = || capacity::named(step, class);
                let unsent = unsent(name(), &class.compliant);
                unsent.or_else(|| match (&class.device, &class.trains) {
                    (Device::Policer(_), _) => no_excess(name(), &class.excess),
                    (Device::Shaper(_), trains) => untold(name(), trains.as_ref()?),
                })
            };
            step.classes.iter().filter_map(of_class).collect()
        }
    }
}

fn broken(check: &Check) -> Reason {
    let what = match check.name {
        Code::TesterDrops => "the tester itself dropped packets",
        _ => {
            "bursts were not sent as planned, or what came first of them came all at once, which no \
             shaper does but a host that stood still, although they were tried again"
        }
    };
    check.as_reason(what)
}

/// What failed: the code of each failure and its sentence.
type Failures = Vec<(Code, String)>;

/// Whether the step at `place` meets what was asked of it; `None` where nothing was.
pub(super) fn is_met(plan: &Plan, steps: &[Step], place: usize) -> Option<bool> {
    let step = steps.get(place)?;
    match step {
        Step::BaselineRtt(_) => None,
        Step::Policer(_)
        | Step::Queue(_)
        | Step::Scheduler(_)
        | Step::Shaper(_)
        | Step::Capacity(_) => {
            let has_failed = !failures(plan, step).is_empty();
            (has_failed || unmeasured_of(step).is_empty()).then_some(!has_failed)
        }
    }
}

fn failures(plan: &Plan, step: &Step) -> Failures {
    match step {
        Step::BaselineRtt(_) => Failures::new(),
        Step::Policer(step) => of_policer(plan, step),
        Step::Queue(step) => of_queue(step),
        Step::Scheduler(step) => of_scheduler(plan, step),
        Step::Shaper(step) => of_shaper(plan, step),
        Step::Capacity(step) => of_capacity(plan, step),
    }
}

//= rfc7640 6.1.1
fn of_policer(plan: &Plan, step: &PolicerStep) -> Failures {
    let depth_bytes = step.cbs_bytes + step.ebs_bytes;
    let name = policer::named(step);
    let mut failures = policed(&name, depth_bytes, &step.compliant, &step.excess, &step.hunt);
    // A pause is longer by how late a burst may be, so that a small bucket is full with a lower CIR, too.
    if let Some(rate) = &step.rate {
        let what = if step.ebs_bytes > 0 { "CIR and EIR are together" } else { "the CIR is" };
        let asked = Rate::bps(step.cir_l2.as_bps() + step.eir_l2.as_bps());
        let wrong = wrong_rate(plan, &format!("{name}: {what}"), rate, asked);
        failures.extend(wrong.map(|text| (Code::PolicerRateWrong, text)));
    }
    failures
}

fn policed(
    name: &str,
    depth_bytes: u64,
    compliant: &Stateless,
    excess: &Option<Stateless>,
    hunt: &Hunt,
) -> Failures {
    let mut failures = Failures::new();
    let allowed = grouped(depth_bytes);
    if !compliant.is_lossless() {
        let largest = largest(hunt.bsa_bytes);
        let text = format!(
            "{name}: {} of {} frames were lost of bursts that CBS and EBS of {allowed} bytes \
             allow; {largest}",
            compliant.lost_frames, compliant.sent_frames
        );
        failures.push((Code::CompliantBurstLost, text));
    }
    let is_whole = |excess: &&Stateless| excess.whole_bursts * WHOLE_EXCESS_ONE_IN > excess.bursts;
    if let Some(excess) = excess.as_ref().filter(is_whole) {
        let text = format!(
            "{name}: {} of {} bursts of {} bytes came through whole, more than CBS and EBS of \
             {allowed} bytes allow",
            excess.whole_bursts,
            excess.bursts,
            grouped(excess.burst_bytes)
        );
        failures.push((Code::ExcessBurstPassed, text));
    }
    failures
}

fn largest(bsa_bytes: Option<u64>) -> String {
    match bsa_bytes {
        Some(bytes) => format!("bursts of {} bytes lose nothing", grouped(bytes)),
        None => String::from("bursts of any size lose something"),
    }
}

//= rfc7640 6.2.1.1
fn of_queue(step: &QueueStep) -> Failures {
    let name = queue::named(step.direction, "fifo");
    let mut failures = Failures::new();
    if !step.stateless.is_lossless() {
        let text = format!(
            "{name}: {} of {} frames were lost of bursts that a queue of {} bytes holds; {}",
            step.stateless.lost_frames,
            step.stateless.sent_frames,
            grouped(step.queue_bytes),
            largest(step.hunt.bsa_bytes)
        );
        failures.push((Code::QueueTooShort, text));
    }
    failures.extend(out_of_order(&name, step.stateless.out_of_order_frames));
    failures
}

//= rfc7640 6.2.1.1
fn of_scheduler(plan: &Plan, step: &SchedulerStep) -> Failures {
    let name = queue::named(step.direction, step.scheduler);
    let mut failures = Failures::new();
    for (place, class) in step.classes.iter().enumerate() {
        let class_name = format!("{name}, class {}", class.dscp.code_point());
        let first_of_strict = step.scheduler == "strict" && place == 0;
        if first_of_strict && !class.stateless.is_lossless() {
            let text = format!(
                "{class_name}: {} of {} frames of the class that is served first were lost",
                class.stateless.lost_frames, class.stateless.sent_frames
            );
            failures.push((Code::FirstClassLost, text));
        }
        let share = class.share_percent.unwrap_or(0.0);
        if (share - class.expected_share_percent).abs() > plan.tolerance_percent {
            let text = format!(
                "{class_name}: {share:.1} % of what left, {:.1} % expected (within {} points)",
                class.expected_share_percent, plan.tolerance_percent
            );
            failures.push((Code::ShareWrong, text));
        }
        failures.extend(out_of_order(&class_name, class.stateless.out_of_order_frames));
    }
    failures
}

//= rfc7640 6.3.1.1
fn of_shaper(plan: &Plan, step: &ShaperStep) -> Failures {
    let asked = Asked {
        name: shaper::named(step.direction),
        rate_l2: step.rate_l2,
        at_once_bytes: step.bc_bytes + step.be_bytes,
        frame_bytes: step.frame_bytes,
    };
    asked.shaped(plan, &step.stateless, &step.trains)
}

/// What a shaper is to do.
struct Asked {
    name: String,
    rate_l2: Rate,
    at_once_bytes: u64,
    frame_bytes: u32,
}

impl Asked {
    fn shaped(&self, plan: &Plan, stateless: &Stateless, trains: &Trains) -> Failures {
        let Self { name, at_once_bytes, .. } = self;
        let mut failures = Failures::new();
        if !stateless.is_lossless() {
            let text = format!(
                "{name}: {} of {} frames were lost of bursts of {} bytes",
                stateless.lost_frames,
                stateless.sent_frames,
                grouped(stateless.burst_bytes)
            );
            failures.push((Code::ShaperLost, text));
        }
        match trains.rate_l2 {
            None => {
                let burst_bytes = grouped(stateless.burst_bytes);
                let text =
                    format!("{name}: bursts of {burst_bytes} bytes came out as they went in");
                failures.push((Code::NotShaped, text));
            }
            Some(rate) => {
                let rate = Bounds::exactly(rate.as_bps() as f64);
                let wrong = wrong_rate(plan, &format!("{name}: shaped to"), &rate, self.rate_l2);
                failures.extend(wrong.map(|text| (Code::ShaperRateWrong, text)));
            }
        }
        let limit_bytes = *at_once_bytes as f64 * (1.0 + plan.tolerance_percent / 100.0);
        // Whatever is late makes a bucket look deeper.
        if let Some(bytes) = trains.bucket_least_bytes
            && bytes as f64 > limit_bytes + f64::from(self.frame_bytes)
        {
            let text = format!(
                "{name}: {} bytes left at once in every run, Bc and Be allow {}",
                grouped(bytes),
                grouped(*at_once_bytes)
            );
            failures.push((Code::ShaperBurstLarge, text));
        }
        failures.extend(out_of_order(name, stateless.out_of_order_frames));
        failures
    }
}

/// What a rate is that is off what was configured for certain.
fn wrong_rate(plan: &Plan, what: &str, rate: &Bounds, asked: Rate) -> Option<String> {
    let asked_bps = asked.as_bps() as f64;
    let percent = |bps: f64| 100.0 * (bps / asked_bps - 1.0);
    let tolerated = plan.tolerance_percent;
    let is_wrong = percent(rate.at_least) > tolerated || percent(rate.at_most) < -tolerated;
    is_wrong.then(|| {
        let percent = signed(percent(rate.estimate), 1);
        let [rate, asked] = [rate.estimate, asked_bps].map(|bps| bps / 1e6);
        format!("{what} {rate:.2} Mbit/s at layer 2, {percent} % from {asked:.2}")
    })
}

//= rfc7640 6.1.2
//= rfc7640 6.3.2
fn of_capacity(plan: &Plan, step: &CapacityStep) -> Failures {
    let of_class = |class: &CapacityClass| {
        let name = capacity::named(step, class);
        match &class.device {
            Device::Policer(policer) => {
                let hunt = class.hunt.clone().unwrap_or_default();
                policed(&name, policer.depth_bytes(), &class.compliant, &class.excess, &hunt)
            }
            Device::Shaper(shaper) => {
                let asked = Asked {
                    name,
                    rate_l2: shaper.rate_l2,
                    at_once_bytes: shaper.at_once_bytes(),
                    frame_bytes: step.frame_bytes,
                };
                asked.shaped(plan, &class.compliant, &class.trains.unwrap_or_default())
            }
        }
    };
    step.classes.iter().flat_map(of_class).collect()
}

fn out_of_order(name: &str, frames: u64) -> Option<(Code, String)> {
    let text = || format!("{name}: {frames} frames came out of order");
    (frames > 0).then(|| (Code::OutOfOrder, text()))
}

fn passed((place, step): (usize, &Step)) -> Option<Reason> {
    let text = match step {
        Step::BaselineRtt(_) => return None,
        Step::Policer(step) => format!(
            "{}: bursts of {} bytes pass whole, larger ones do not",
            policer::named(step),
            grouped(step.hunt.bsa_bytes.unwrap_or_default())
        ),
        Step::Queue(step) => format!(
            "{}: bursts of {} bytes pass whole",
            queue::named(step.direction, "fifo"),
            grouped(step.stateless.burst_bytes)
        ),
        Step::Scheduler(step) => {
            format!("{}: every class got its share", queue::named(step.direction, step.scheduler))
        }
        Step::Shaper(step) => format!(
            "{}: bursts of {} bytes pass whole and in shape",
            shaper::named(step.direction),
            grouped(step.stateless.burst_bytes)
        ),
        Step::Capacity(step) => format!(
            "capacity, {}: {} classes at once pass their bursts, and no more",
            step.direction,
            step.classes.len()
        ),
    };
    Some(Reason { code: Code::AsConfigured, text, step: Some(place) })
}

//= rfc7640 6
/// Where the run departs from the RFC.
pub(super) fn deviations(plan: &Plan, steps: &[Step]) -> Vec<String> {
    let mut deviations = Vec::new();
    if plan.runs < Plan::RUNS_MIN {
        deviations.push(format!(
            "section 6 asks for {} runs of each test, this run had {}",
            Plan::RUNS_MIN,
            plan.runs
        ));
    }
    let polices = |class: &PortClass| matches!(class.device, Device::Policer(_));
    let policers = plan.policer.is_some() || plan.capacity.iter().any(polices);
    let least = if policers { Plan::POLICER_TRIAL_MIN } else { Plan::TRIAL_MIN };
    if plan.trial < least {
        deviations.push(format!(
            "section 6 asks for runs of {} s, these lasted {:.1} s",
            least.as_secs(),
            plan.trial.as_secs_f64()
        ));
    }
    deviations.push(
        "intervals between bursts are longer than section 6 has them by what a sender may be late"
            .to_string(),
    );
    let hunts = steps.iter().any(|step| match step {
        Step::Policer(step) => !step.hunt.trials.is_empty(),
        Step::Queue(step) => !step.hunt.trials.is_empty(),
        Step::Capacity(step) => {
            let mut hunts = step.classes.iter().filter_map(|class| class.hunt.as_ref());
            hunts.any(|hunt| !hunt.trials.is_empty())
        }
        Step::BaselineRtt(_) | Step::Scheduler(_) | Step::Shaper(_) => false,
    });
    if hunts {
        deviations.push(
            "a hunt halves the distance to the burst that failed before it counts up by the 1 KB of \
             section 5.1.1"
                .to_string(),
        );
    }
    if steps.iter().any(|step| matches!(step, Step::Policer(_) | Step::Capacity(_))) {
        deviations.push(
            "the excess burst of section 6.1.1 is larger by the tokens that come back while it lasts"
                .to_string(),
        );
    }
    deviations.extend(short_round_trip(plan, steps));
    deviations.push(
        "a device is tested on one port, by one flow in each class: the capacity tests of sections \
         6.1.2, 6.2.2, 6.3.2 and 6.4 ask for all ports too"
            .to_string(),
    );
    if plan.tcp.is_some() {
        deviations.push(
            "of the TCP patterns of appendix B, bulk transfer and micro burst are run".to_string(),
        );
    } else if plan.queue.is_some() || plan.shaper.is_some() {
        deviations.push("the stateful tests of section 6 were left out".to_string());
    }
    deviations
}

//= rfc7640 6.2.1.2
/// The bandwidth-delay product should be that of the queue at least.
fn short_round_trip(plan: &Plan, steps: &[Step]) -> Option<String> {
    let queue = plan.queue.as_ref().filter(|_| plan.tcp.is_some())?;
    let rtt = steps.iter().find_map(|step| match step {
        Step::BaselineRtt(baseline) => Some(baseline.rtt.min),
        Step::Policer(_)
        | Step::Queue(_)
        | Step::Scheduler(_)
        | Step::Shaper(_)
        | Step::Capacity(_) => None,
    })?;
    let least = plan.at_l2(queue.bandwidth).time_for(queue.queue_bytes);
    (rtt < least).then(|| {
        format!(
            "section 6.2.1.2 asks for a round trip of {:.2} ms at least, that of the path is {:.2} ms: \
             windows are as large as the queue instead",
            least.as_secs_f64() * 1e3,
            rtt.as_secs_f64() * 1e3
        )
    })
}

#[cfg(test)]
mod tests;
