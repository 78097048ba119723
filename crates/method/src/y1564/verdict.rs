//! Which services passed, and in plain words why the others did not.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::Abort;

use super::plan::{PERFORMANCE_DEFAULT, Plan, Service, Traffic};
use super::shortfall::Shortfall;
use super::steps::{Figures, Ftd, Measured, Report, ServiceStep, Step, Tester};
use crate::reason::Code;
use crate::tester::LOST_PERCENT_MAX;
use crate::verdict::{Check, Reason, Status, Verdict};

/// What the tester says against itself: the worst of the steps as they stand.
pub(super) fn checks(steps: &[Step]) -> Vec<Check> {
    let tested = || tested(steps).map(|(_, step)| step);
    let unsent = tested().map(|step| step.tester.unsent_percent).fold(0.0, f64::max);
    let explained = tested().filter(|step| is_explained(step)).count() as f64;
    Vec::from([
        Check::at_most(Code::FramesUnsent, unsent, LOST_PERCENT_MAX, "percent"),
        Check::at_most(Code::StepsSpoiltByTester, explained, 0.0, "steps"),
    ])
}

fn tested(steps: &[Step]) -> impl Iterator<Item = (usize, &ServiceStep)> {
    steps.iter().enumerate().filter_map(|(place, step)| match step {
        Step::Configuration(step) | Step::Performance(step) => Some((place, step)),
        Step::BaselineRtt { .. } => None,
    })
}

/// A service fails with any of its steps; a step that the tester spoilt decides nothing.
pub(super) fn judge(plan: &Plan, report: &Report, abort: Option<&Abort>) -> Verdict {
    let steps = &report.steps;
    let any = |status| tested(steps).any(|(_, step)| step.status == status);
    let mut reasons: Vec<Reason> = abort.into_iter().map(Reason::of_abort).collect();
    let status = if abort.is_some() {
        Status::Aborted
    } else if any(Status::Fail) {
        Status::Fail
    } else if any(Status::Invalid) {
        Status::Invalid
    } else if any(Status::Pass) {
        Status::Pass
    } else {
        Status::Info
    };
    reasons.extend(summary(plan, steps, status));
    for (place, step) in tested(steps) {
        reasons.extend(failures(steps, place, step));
    }
    let services = plan.services.iter();
    reasons.extend(services.flat_map(|service| remarks(service, steps)));
    Verdict { status, reasons }
}

fn summary(plan: &Plan, steps: &[Step], status: Status) -> Option<Reason> {
    let count = plan.services.len();
    match status {
        Status::Pass => {
            let text = match count {
                1 => String::from("the service met its criteria in every step"),
                _ => format!("all {count} services met their criteria in every step"),
            };
            Some(Reason { code: Code::ServicesMet, text, step: None })
        }
        Status::Fail => {
            let failed: Vec<&str> = plan
                .services
                .iter()
                .map(|service| service.name.as_str())
                .filter(|name| has_failed(steps, name))
                .collect();
            let text =
                format!("{} of {count} services failed: {}", failed.len(), failed.join(", "));
            Some(Reason { code: Code::ServicesFailed, text, step: None })
        }
        Status::Findings
        | Status::Inconclusive
        | Status::Invalid
        | Status::Info
        | Status::Aborted => None,
    }
}

fn has_failed(steps: &[Step], service: &str) -> bool {
    tested(steps).any(|(_, step)| step.service == service && step.status == Status::Fail)
}

fn failures(steps: &[Step], place: usize, step: &ServiceStep) -> Vec<Reason> {
    let named = named(steps, place, step);
    let reason = |code, text: String| Reason { code, text, step: Some(place) };
    match step.status {
        Status::Fail => {
            let each = step.shortfalls.iter();
            each.map(|short| reason(short.code(), format!("{named}: {short}"))).collect()
        }
        Status::Invalid => {
            let why = spoilt_by(step);
            let text = match step.tries {
                1 => format!("{named}: {why}; this step says nothing"),
                tries => {
                    format!("{named}: {why} in each of {tries} trials; this step says nothing")
                }
            };
            Vec::from([reason(Code::StepInvalid, text)])
        }
        Status::Pass | Status::Findings | Status::Inconclusive | Status::Info | Status::Aborted => {
            Vec::new()
        }
    }
}

/// Which step it was, as a person would say it.
fn named(steps: &[Step], place: usize, step: &ServiceStep) -> String {
    let test = match &steps[place] {
        Step::Performance(_) => String::from("all services at once"),
        Step::Configuration(_) | Step::BaselineRtt { .. } => step.offered.to_string(),
    };
    format!("{}, {}, {test}", step.service, step.direction)
}

/// Spoilt although enough was sent.
fn is_explained(step: &ServiceStep) -> bool {
    step.status == Status::Invalid && step.tester.unsent_percent <= LOST_PERCENT_MAX
}

fn spoilt_by(step: &ServiceStep) -> String {
    let Tester { unsent_percent, dropped_packets, longest_stall } = step.tester;
    if !is_explained(step) {
        return format!("{unsent_percent:.1} % of the frames could not be sent on time");
    }
    let seen: Vec<String> = step.shortfalls.iter().map(Shortfall::to_string).collect();
    let stall = longest_stall.as_secs_f64() * 1e3;
    format!(
        "{}, but the receiving end itself lost {dropped_packets} packets and the host kept the \
         tester from running for {stall:.1} ms",
        seen.join(", ")
    )
}

/// Criteria of a service that no step of it has a figure for, each a sentence.
pub(super) fn unmeasured(plan: &Plan, steps: &[Step]) -> Vec<String> {
    plan.services.iter().flat_map(|service| unmeasured_of(service, steps)).collect()
}

fn unmeasured_of(service: &Service, steps: &[Step]) -> Vec<String> {
    let Traffic::Frames(frames) = &service.traffic else { return Vec::new() };
    let is_mine = |step: &&ServiceStep| step.service == service.name;
    let mine = || tested(steps).map(|(_, step)| step).filter(is_mine);
    let is_known = |of: fn(&Figures) -> bool| {
        mine().any(|step| match &step.measured {
            Measured::Frames { judged, .. } => of(judged),
            Measured::Tcp(_) => false,
        })
    };
    let criteria = &frames.criteria;
    let all = [
        (true, is_known(|figures| figures.flr.is_some()), "frame loss ratio"),
        (criteria.ftd.is_some(), is_known(|figures| figures.ftd.is_some()), "frame transfer delay"),
        (
            criteria.fdv.is_some(),
            is_known(|figures| figures.fdv.is_some()),
            "frame delay variation",
        ),
        (
            criteria.availability_percent.is_some(),
            is_known(|figures| figures.availability.is_some()),
            "availability",
        ),
        (
            service.dscp_received.is_some(),
            is_known(|figures| !figures.dscp_received.is_empty()),
            "received DSCP",
        ),
    ];
    // Where nothing arrived at all, that is the failure.
    let is_failed = has_failed(steps, &service.name);
    let missing = all.into_iter().filter(|(is_asked, is_known, _)| *is_asked && !is_known);
    let missing = missing.filter(|_| !is_failed);
    missing.map(|(.., what)| format!("{}: its {what} was not measured", service.name)).collect()
}

/// What was not shown although nothing speaks against it.
fn remarks(service: &Service, steps: &[Step]) -> Vec<Reason> {
    let Traffic::Frames(frames) = &service.traffic else { return Vec::new() };
    let name = &service.name;
    let mine = || {
        let mine = tested(steps).filter(|(_, step)| step.service == *name);
        mine.filter_map(|(_, step)| match &step.measured {
            Measured::Frames { judged, .. } => Some(judged),
            Measured::Tcp(_) => None,
        })
    };
    let mut remarks = Vec::new();
    let mut remark = |code, text| remarks.push(Reason { code, text, step: None });
    let most = mine().max_by_key(|judged| judged.sent_frames);
    if let Some(judged) = most
        && let Some(resolution) = judged.flr_resolution
        && judged.flr == Some(0.0)
        && frames.criteria.flr > 0.0
        && frames.criteria.flr < resolution
    {
        let sent = judged.sent_frames;
        remark(
            Code::FlrNotShown,
            format!(
                "{name}: {sent} frames without loss show a frame loss ratio below {:.4} % (95 % \
                 confidence), not the {} % of the criteria: test longer to show it",
                100.0 * resolution,
                100.0 * frames.criteria.flr
            ),
        );
    }
    let vague = |ftd: Ftd, most: Duration| ftd.mean.abs_diff(most) <= ftd.error;
    let (most, mut delays) = (frames.criteria.ftd, mine().filter_map(|judged| judged.ftd));
    if let Some((most, ftd)) =
        most.and_then(|most| Some((most, delays.find(|ftd| vague(*ftd, most))?)))
    {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let text = format!(
            "{name}: the two clocks are known to agree within {:.3} ms only, so a frame transfer \
             delay of {:.3} ms may be above or below the {:.3} ms of the criteria",
            ms(ftd.error),
            ms(ftd.mean),
            ms(most)
        );
        remark(Code::FtdVague, text);
    }
    if service.dscp_received.is_some() && mine().all(|judged| judged.dscp_received.is_empty()) {
        let text = format!("{name}: the receiver cannot see with which DSCP frames arrive");
        remark(Code::DscpUnknown, text);
    }
    remarks
}

/// Where the run departs from what is known of the Recommendation.
pub(super) fn deviations(plan: &Plan) -> Vec<String> {
    let mut all = Vec::from([String::from(
        "Y.1564-style: the Recommendation is not public, so its steps and limits are those that \
         operators and makers of testers describe; not checked against its text are the rate and \
         the margin of the policing step, the CBS and EBS steps, the frame delay variation as the \
         99.9th percentile less the minimum, and the rule of ten seconds",
    )]);
    if plan.configuration.is_none() {
        all.push("the configuration test was left out".into());
    }
    match plan.performance {
        None => all.push("the performance test was left out".into()),
        Some(lasts) if lasts < PERFORMANCE_DEFAULT => all.push(format!(
            "a performance test of {:.0} s (15 minutes, 2 hours and 24 hours are usual)",
            lasts.as_secs_f64()
        )),
        Some(_) => {}
    }
    let is_mix = |service: &Service| match &service.traffic {
        Traffic::Frames(frames) => frames.sizes.lengths().len() > 1 && frames.cbs_bytes.is_some(),
        Traffic::Tcp(_) => false,
    };
    if plan.configuration.as_ref().is_some_and(|steps| steps.bursts)
        && plan.services.iter().any(is_mix)
    {
        all.push("bursts of a service with mixed frames are of its longest frames".into());
    }
    let has_tcp = plan.services.iter().any(|service| matches!(service.traffic, Traffic::Tcp(_)));
    if has_tcp {
        all.push("services of TCP connections, which the Recommendation does not know".into());
    }
    all
}
