//! What the steps of a burst test amount to: self-checks, verdict and reasons in plain words.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Abort, Direction, Rate};

use super::{
    CbsStep, Discovered, Flaw, Goal, Health, Plan, PolicingStep, RateStep, SecondBucket, Step,
};
use crate::reason::Code;
use crate::verdict::{Check, Reason, Status, Verdict};
use crate::{grouped, signed};

/// Of the frames that arrived, dropped in the tester itself.
const TESTER_LOSS_PERCENT_MAX: f64 = 0.1;

pub(super) fn checks(steps: &[Step], health: &Health) -> Vec<Check> {
    let arrived = health.arrived_frames + health.dropped_frames;
    let drops = 100.0 * health.dropped_frames as f64 / arrived.max(1) as f64;
    let flawed = steps.iter().filter(|step| flaw(step).is_some()).count() as f64;
    Vec::from([
        Check::at_most(Code::TesterDrops, drops, TESTER_LOSS_PERCENT_MAX, "percent"),
        Check::at_most(Code::TrialsNotAsPlanned, flawed, 0.0, "trials"),
    ])
}

const fn flaw(step: &Step) -> Option<Flaw> {
    match step {
        Step::Cbs(step) => step.flaw,
        Step::Policing(step) => step.flaw,
        Step::Rate(_) | Step::PathMtu(_) | Step::Line(_) | Step::Discovery(_) => None,
    }
}

/// Weighs the steps; a run that was broken off has no verdict, a failure outweighs a trial that says
/// nothing.
pub(super) fn judge(
    plan: &Plan,
    steps: &[Step],
    checks: &[Check],
    abort: Option<&Abort>,
) -> Verdict {
    let mut reasons: Vec<Reason> = abort.into_iter().map(Reason::of_abort).collect();
    let said = steps.iter().enumerate().filter_map(|(place, step)| reason(plan, place, step));
    reasons.extend(said);
    let outcomes: Vec<Option<bool>> = steps.iter().filter_map(outcome).collect();
    let failed = outcomes.contains(&Some(false));
    let passed = outcomes.contains(&Some(true));
    let invalid = checks.iter().any(|check| !check.ok);
    let status = match abort {
        Some(_) => Status::Aborted,
        None if failed => Status::Fail,
        None if invalid => Status::Invalid,
        None if passed => Status::Pass,
        None => Status::Info,
    };
    if status == Status::Pass && reasons.is_empty() {
        reasons.push(all_as_configured(plan));
    }
    Verdict { status, reasons }
}

/// `None` for steps that judge nothing.
const fn outcome(step: &Step) -> Option<Option<bool>> {
    match step {
        Step::Cbs(step) => Some(step.pass),
        Step::Policing(step) => Some(step.pass),
        Step::Rate(step) => Some(step.pass),
        Step::PathMtu(_) | Step::Line(_) | Step::Discovery(_) => None,
    }
}

fn all_as_configured(plan: &Plan) -> Reason {
    let text = match plan.goal {
        Goal::Verify { cir, cbs_bytes } => format!(
            "bursts of {} bytes pass without loss at {}, and larger ones are cut to them",
            grouped(cbs_bytes),
            mbps(cir.rate)
        ),
        Goal::Discover => String::from("the path was explored"),
    };
    Reason { code: Code::PolicerAsConfigured, text, step: None }
}

fn reason(plan: &Plan, place: usize, step: &Step) -> Option<Reason> {
    let (code, text) = match step {
        Step::Cbs(step) => cbs(step)?,
        Step::Rate(step) => rate(plan, step)?,
        Step::Policing(step) => policing(plan, step)?,
        Step::Discovery(step) => discovery(step.direction, &step.found),
        Step::PathMtu(_) | Step::Line(_) => return None,
    };
    Some(Reason { code, text, step: Some(place) })
}

fn cbs(step: &CbsStep) -> Option<(Code, String)> {
    let named = format!("CBS, {}, {} bytes", step.direction, step.frame_bytes);
    match (step.flaw, step.pass) {
        (Some(flaw), _) => {
            Some((Code::TrialNotAsPlanned, not_as_planned(&named, flaw, step.trials)))
        }
        (None, Some(false)) => {
            let text = format!(
                "{named}: {} of {} frames were lost in {} bursts of {} bytes",
                step.frames_lost(),
                step.frames_sent,
                step.bursts,
                grouped(step.tx_burst_bytes)
            );
            Some((Code::BurstLost, text))
        }
        (None, Some(true)) if step.frames_lost() > 0 => {
            let text = format!(
                "{named}: {} of {} frames were lost, no more than of frames at any rate",
                step.frames_lost(),
                step.frames_sent
            );
            Some((Code::RandomLoss, text))
        }
        (None, Some(true) | None) => None,
    }
}

fn rate(plan: &Plan, step: &RateStep) -> Option<(Code, String)> {
    if !step.is_known {
        let rate = step.measured.map_or_else(String::new, |rate| format!(" of {}", mbps(rate)));
        let text = format!(
            "{}: whether there is a policer{rate} cannot be told: what frames met was not that of any \
             single bucket or queue",
            step.direction
        );
        return Some((Code::LimitUnknown, text));
    }
    if let (Some(waited), Some(measured)) = (step.waited, step.measured) {
        return Some((Code::NoPolicer, shaped(step, measured, waited)));
    }
    if step.pass == Some(true) {
        return None;
    }
    let Some(measured) = step.measured else {
        let text = format!(
            "{}: nothing was dropped of a long overload: there is no policer of {}",
            step.direction,
            mbps(step.cir.rate)
        );
        return Some((Code::NoPolicer, text));
    };
    let found = format!(
        "{}: the bucket refills at {}, {} % from the CIR of {}",
        step.direction,
        mbps(measured),
        signed(step.deviation_percent.unwrap_or_default(), 2),
        mbps(step.cir.rate)
    );
    let tolerance = plan.tolerance_percent;
    Some(match (step.pass, step.within) {
        (None, [Some(least), most]) => {
            let between = match most {
                Some(most) => format!("between {} and {}", mbps(least), mbps(most)),
                None => format!("at least {}", mbps(least)),
            };
            (
                Code::CirInconclusive,
                format!("{found}, {between}: too uncertain to judge by {tolerance} %"),
            )
        }
        _ => (Code::CirOutsideTolerance, format!("{found} ({tolerance} % tolerated)")),
    })
}

fn shaped(step: &RateStep, measured: Rate, waited: Duration) -> String {
    let than_sold = match step.pass {
        Some(_) if measured < step.cir.rate => ", less than the CIR",
        Some(_) => ", more than the CIR",
        None => "",
    };
    format!(
        "{}: no policer here: a shaper or a line of {} ({}){than_sold}; what exceeds it waits, up to \
         {:.1} ms, so a committed burst size does not show",
        step.direction,
        mbps(measured),
        step.cir.layer,
        waited.as_secs_f64() * 1e3
    )
}

fn policing(plan: &Plan, step: &PolicingStep) -> Option<(Code, String)> {
    let named = format!("policing, {}, {} bytes", step.direction, step.frame_bytes);
    if let Some(flaw) = step.flaw {
        return Some((Code::TrialNotAsPlanned, not_as_planned(&named, flaw, step.trials)));
    }
    let Some(bounds) = step.estimate else {
        let all = grouped(step.tx_burst_bytes);
        return Some(match step.pass {
            Some(_) => {
                (Code::BurstNotPoliced, format!("{named}: all of {all} bytes passed at once"))
            }
            None => {
                let text = format!(
                    "{named}: {} of {all} bytes passed, and how many of them a bucket let through \
                     cannot be told",
                    whole(step.rx_burst_bytes_mean)
                );
                (Code::CbsInconclusive, text)
            }
        });
    };
    let found = format!(
        "the CBS is {} bytes, between {} and {}, {} % from {}",
        whole(bounds.estimate),
        whole(bounds.at_least),
        whole(bounds.at_most),
        signed(step.deviation_percent.unwrap_or_default(), 2),
        grouped(step.configured_burst_bytes)
    );
    let tolerance = plan.tolerance_percent;
    match step.pass {
        Some(true) => None,
        Some(false) => {
            let text = format!("{named}: {found} ({tolerance} % tolerated)");
            Some((Code::CbsOutsideTolerance, text))
        }
        None => {
            let text = format!("{named}: {found}: too uncertain to judge by {tolerance} %");
            Some((Code::CbsInconclusive, text))
        }
    }
}

/// A number of bytes that was computed.
fn whole(bytes: f64) -> String {
    grouped(libm::round(bytes.max(0.0)) as u64)
}

fn not_as_planned(named: &str, flaw: Flaw, trials: u32) -> String {
    format!("{named}: {flaw} in any of {trials} trials, so they say nothing of the network")
}

fn discovery(direction: Direction, found: &Discovered) -> (Code, String) {
    match found {
        Discovered::NoPolicer { sent_bytes, loss } => {
            let loss = if loss.share.estimate > 0.0 {
                format!("; {:.2} % are lost at any rate", 100.0 * loss.share.estimate)
            } else {
                String::new()
            };
            let text = format!(
                "{direction}: no policer found: {} bytes passed at line rate{loss}",
                grouped(*sent_bytes)
            );
            (Code::NoPolicerFound, text)
        }
        Discovered::Policer { cir_bps, cbs_bytes, excess, .. } => {
            let text = format!(
                "{direction}: a policer of {} with a bucket of {} bytes{}",
                mbps(Rate::bps(cir_bps.estimate as u64)),
                whole(cbs_bytes.estimate),
                excess.as_ref().map_or_else(String::new, second)
            );
            (Code::PolicerFound, text)
        }
        Discovered::Shaper { rate_bps, .. } => {
            let text = format!(
                "{direction}: no policer but a shaper or a slow line of {}: what exceeds it waits",
                mbps(Rate::bps(rate_bps.estimate as u64))
            );
            (Code::ShaperFound, text)
        }
        Discovered::Unknown { contradiction: Some(loads), .. } => {
            let [one, other] = loads.map(|load| {
                let [passed, offered] = [load.passed_bps.estimate, load.offered_bps];
                let [passed, offered] = [passed, offered].map(|bps| mbps(Rate::bps(bps as u64)));
                format!("{passed} of {offered} as {} bytes", load.frame_bytes)
            });
            let text = format!(
                "{direction}: {one} passed, and {other}: neither a policer nor a queue does that; \
                 others' traffic may share it"
            );
            (Code::LimitContradictory, text)
        }
        Discovered::Unknown { rate_bps, contradiction: None } => {
            let text = format!(
                "{direction}: something limits to about {}, and whether it drops or holds back what \
                 exceeds it cannot be told",
                mbps(Rate::bps(rate_bps.estimate as u64))
            );
            (Code::LimitUnknown, text)
        }
    }
}

/// What is said of a second bucket after the first.
fn second(bucket: &SecondBucket) -> String {
    match (&bucket.rate_bps, &bucket.depth_bytes) {
        (None, _) => String::from("; what exceeds it passes with another mark"),
        (Some(rate), depth) => {
            let rate = mbps(Rate::bps(rate.estimate as u64));
            let depth = depth.map_or_else(String::new, |depth| {
                format!(" with a bucket of {} bytes", whole(depth.estimate))
            });
            format!("; a second one of {rate}{depth} beside it")
        }
    }
}

fn mbps(rate: Rate) -> String {
    format!("{:.3} Mbit/s", rate.as_bps() as f64 / 1e6)
}

/// Whether an interval around an estimate lies within the tolerance; `None` where it does not say.
pub(super) fn within([least, most]: [f64; 2], estimate: f64, tolerance: f64) -> Option<bool> {
    if least > tolerance || most < -tolerance {
        return Some(false);
    }
    (estimate.abs() <= tolerance && least >= -tolerance && most <= tolerance).then_some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_touches_the_tolerance_is_inconclusive() {
        assert_eq!(within([-0.5, 0.4], -0.1, 2.0), Some(true));
        assert_eq!(within([-7.0, -6.0], -6.5, 2.0), Some(false));
        assert_eq!(within([-2.5, -1.0], -1.7, 2.0), None);
    }
}
