//! What the steps of an RFC 2544 run amount to: criteria, self-checks, deviations.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Abort, LayeredRate, SentBy};

use super::steps::{DelayClock, FrameRate, Limit, Skipped, Throughput};
use super::{Criteria, Health, Plan, Report, SearchKind, Step, Test, Threshold};
use crate::reason::Code;
use crate::verdict::{Check, Reason, Status, Verdict};

/// Codes of the reasons that speak of a throughput.
const THROUGHPUT_LOW: Code = Code::ThroughputLow;
const THROUGHPUT_OPEN: Code = Code::ThroughputOpen;
const MINUTE: Duration = Duration::from_secs(60);

pub(super) fn checks(health: &Health) -> Vec<Check> {
    let spoilt = f64::from(health.spoilt_trials);
    Vec::from([Check::at_most(Code::TrialsSpoiltByTester, spoilt, 0.0, "trials")])
}

pub(super) fn judge(plan: &Plan, report: &Report, abort: Option<&Abort>) -> Verdict {
    let mut reasons: Vec<Reason> = abort.into_iter().map(Reason::of_abort).collect();
    let broken: Vec<&Check> = report.checks.iter().filter(|check| !check.ok).collect();
    reasons.extend(broken.iter().map(|check| Reason {
        code: check.name,
        text: format!(
            "the tester itself spoilt {:.0} trials, however often they were repeated",
            check.value
        ),
        step: None,
    }));
    let failures: Vec<Reason> = report
        .steps
        .iter()
        .enumerate()
        .flat_map(|(place, step)| failures(plan, place, step))
        .collect();
    let failed = !failures.is_empty();
    // What the tester could not offer or receive the network was not asked for.
    let by_tester = |reason: &Reason| {
        reason.step.and_then(|place| report.steps.get(place)).is_some_and(is_limited_by_tester)
    };
    let is_spoilt = failed && failures.iter().all(by_tester);
    let is_open = failed && failures.iter().all(|reason| reason.code == THROUGHPUT_OPEN);
    reasons.extend(failures);
    let remarks = report.steps.iter().enumerate().filter_map(|(place, step)| remark(place, step));
    // Of a length that was asked for, it is a failure already.
    let is_new = |remark: &Reason| {
        reasons.iter().all(|known| (known.code, known.step) != (remark.code, remark.step))
    };
    let remarks: Vec<Reason> = remarks.filter(is_new).collect();
    reasons.extend(remarks);
    let status = match (abort, broken.is_empty() && !is_spoilt, failed) {
        (Some(_), ..) => Status::Aborted,
        (None, false, _) => Status::Invalid,
        (None, true, true) if is_open => Status::Inconclusive,
        (None, true, true) => Status::Fail,
        (None, true, false) if plan.criteria == Criteria::default() => Status::Info,
        (None, true, false) => Status::Pass,
    };
    Verdict { status, reasons }
}

const fn is_limited_by_tester(step: &Step) -> bool {
    matches!(step, Step::Throughput(throughput) if matches!(throughput.limit, Limit::Tester))
}

/// Whether the step at `place` meets what was asked of it; `None` where nothing was.
pub(super) fn is_met(plan: &Plan, steps: &[Step], place: usize) -> Option<bool> {
    let step = steps.get(place)?;
    let criteria = &plan.criteria;
    let is_asked = match step {
        Step::Throughput(found) if found.limit == Limit::PathMtu => {
            asks_of_length(plan, found.frame_bytes)
        }
        Step::Throughput(found) => criteria.asked(found.frame_bytes).is_some(),
        Step::Latency(_) => criteria.latency.is_some(),
        Step::FrameLoss(_) => criteria.loss_percent.is_some(),
        Step::BackToBack(bursts) => criteria.burst_frames.is_some() && bursts.figures.is_some(),
        Step::Recovery(_) => criteria.recovery.is_some(),
        Step::PathMtu(_) | Step::BaselineRtt(_) | Step::LineRate(_) => false,
    };
    let failure = failures(plan, place, step);
    let is_open = failure.as_ref().is_some_and(|reason| reason.code == THROUGHPUT_OPEN);
    (is_asked && !is_open).then_some(failure.is_none())
}

/// Whether anything is asked of frames of this length: by name, or of all lengths that somebody chose.
/// Of Ethernet's own those are tested that fit.
fn asks_of_length(plan: &Plan, frame_bytes: u32) -> bool {
    let by_default = Plan::new(plan.family, plan.interface_mtu_bytes).frame_lengths_bytes;
    let is_chosen = plan.frame_lengths_bytes != by_default;
    let mut named = plan.criteria.throughput.iter().filter_map(|asked| asked.frame_bytes);
    let asks_all = plan.criteria.throughput.iter().any(|asked| asked.frame_bytes.is_none());
    let of_others = Criteria { throughput: Vec::new(), ..plan.criteria.clone() };
    named.any(|bytes| bytes == frame_bytes)
        || (is_chosen && (asks_all || of_others != Criteria::default()))
}

fn too_long(found: &Throughput) -> String {
    format!(
        "{}, {} bytes: frames of this length do not fit the path, so nothing was measured with them; \
         choose others with --frames",
        found.way, found.frame_bytes
    )
}

fn failures(plan: &Plan, place: usize, step: &Step) -> Option<Reason> {
    let criteria = &plan.criteria;
    let reason = |code, text| Some(Reason { code, text, step: Some(place) });
    match step {
        Step::Throughput(found) if found.limit == Limit::PathMtu => {
            let is_asked = asks_of_length(plan, found.frame_bytes);
            is_asked.then(|| too_long(found)).and_then(|text| reason(Code::FrameTooLong, text))
        }
        Step::Throughput(found) => {
            too_low(criteria, found).and_then(|(code, text)| reason(code, text))
        }
        Step::Latency(latency) => {
            let most = criteria.latency.filter(|most| latency.mean > *most)?;
            let (mean, most) = (ms(latency.mean), ms(most));
            let at = format!("{}, {} bytes", latency.way, latency.rate.frame_bytes);
            reason(Code::LatencyHigh, format!("{at}: mean latency {mean}, at most {most} asked"))
        }
        Step::FrameLoss(loss) => {
            let first = loss.trials.first()?;
            let most = criteria.loss_percent.filter(|most| first.loss_percent() > *most)?;
            let at = format!("{}, {} bytes", loss.way, loss.frame_bytes);
            let lost = first.loss_percent();
            reason(Code::LossHigh, format!("{at}: {lost:.3} % lost, at most {most} % asked"))
        }
        Step::BackToBack(bursts) => {
            let asked = criteria.burst_frames?;
            let average = bursts.figures?.average_frames;
            let at = format!("{}, {} bytes", bursts.way, bursts.frame_bytes);
            let text = format!("{at}: bursts of {average:.1} frames, at least {asked} asked");
            (average < asked as f64).then_some(())?;
            reason(Code::BurstShort, text)
        }
        Step::Recovery(recovery) => {
            let most = criteria.recovery?;
            let took = recovery.recovery.filter(|took| *took > most)?;
            let at = format!("{}, {} bytes", recovery.way, recovery.overload.frame_bytes);
            let (took, most) = (ms(took), ms(most));
            reason(
                Code::RecoveryLong,
                format!("{at}: recovered after {took}, at most {most} asked"),
            )
        }
        Step::PathMtu(_) | Step::BaselineRtt(_) | Step::LineRate(_) => None,
    }
}

/// Why a throughput is not what was asked, if it is not, or not certainly.
fn too_low(criteria: &Criteria, throughput: &Throughput) -> Option<(Code, String)> {
    let asked = criteria.asked(throughput.frame_bytes)?;
    let at = format!("{}, {} bytes", throughput.way, throughput.frame_bytes);
    let low = |text| Some((THROUGHPUT_LOW, text));
    let Some(found) = throughput.found else {
        return low(format!("{at}: no rate came through without loss"));
    };
    let line_l1 = throughput.theoretical.map(|line| line.rate_l1);
    let shown = |rate: FrameRate| match asked {
        Threshold::Percent { .. } => {
            format!("{:.2} % of the line", rate.percent_of(line_l1.unwrap_or_default()))
        }
        Threshold::Rate(LayeredRate { layer, .. }) => {
            format!("{:.3} Mbit/s ({layer})", rate.at(layer).as_bps() as f64 / 1e6)
        }
    };
    let Some(least) = asked.least(throughput.frame_bytes, line_l1) else {
        return low(format!(
            "{at}: a share of the line asked, and its rate is not known: give it with --line-rate"
        ));
    };
    if found.rate_l1 >= least.rate_l1 {
        return None;
    }
    match throughput.at_most {
        Some(to) if to.rate_l1 >= least.rate_l1 => Some((
            THROUGHPUT_OPEN,
            format!(
                "{at}: between {} and {}, at least {} asked; longer trials decide (--trial)",
                shown(found),
                shown(to),
                shown(least)
            ),
        )),
        _ => low(format!("{at}: {}, at least {} asked", shown(found), shown(least))),
    }
}

/// By what the tester sent where it fell short.
fn sent_by(throughput: &Throughput) -> &'static str {
    match throughput.trials.iter().rfind(|trial| trial.tester_limit).map(|trial| trial.sent_by) {
        Some(SentBy::UdpSocket) => " (through UDP sockets)",
        Some(SentBy::PacketSocket) => " (through packet sockets)",
        None => "",
    }
}

/// What the user should know whatever the verdict.
fn remark(place: usize, step: &Step) -> Option<Reason> {
    let (code, text) = match step {
        Step::Throughput(throughput) => {
            let at = format!("{}, {} bytes", throughput.way, throughput.frame_bytes);
            match (throughput.limit, throughput.found) {
                (Limit::Tester, _) => (
                    Code::TesterLimit,
                    format!(
                        "{at}: the tester could send{} or receive no more; the network may carry it",
                        sent_by(throughput)
                    ),
                ),
                (Limit::Network, None) => (
                    Code::NoRatePassed,
                    format!(
                        "{at}: frames are lost at any rate; say how much loss is accepted with \
                         --accept-loss"
                    ),
                ),
                (Limit::PathMtu, _) => (Code::FrameTooLong, too_long(throughput)),
                (Limit::Network | Limit::Line | Limit::RateCap, _) => return None,
            }
        }
        Step::BackToBack(bursts) if bursts.skipped == Some(Skipped::TesterLimit) => (
            Code::TesterLimit,
            format!(
                "{}, {} bytes: the tester could not send bursts as fast as the line is",
                bursts.way, bursts.frame_bytes
            ),
        ),
        Step::BackToBack(bursts) if bursts.is_at_limit() => (
            Code::BurstLimit,
            format!(
                "{}, {} bytes: bursts as long as the longest that was tried came through; try \
                 longer ones with --burst-max",
                bursts.way, bursts.frame_bytes
            ),
        ),
        Step::PathMtu(mtu) if mtu.black_hole => (
            Code::MtuBlackHole,
            format!(
                "{}: packets above {} bytes vanish without an ICMP answer (a black hole)",
                mtu.direction, mtu.mtu_bytes
            ),
        ),
        Step::PathMtu(_)
        | Step::BaselineRtt(_)
        | Step::LineRate(_)
        | Step::Latency(_)
        | Step::FrameLoss(_)
        | Step::BackToBack(_)
        | Step::Recovery(_) => return None,
    };
    Some(Reason { code, text, step: Some(place) })
}

//= rfc9004 6.2
/// A burst near the limit says nothing of the buffer but that it is larger.
fn ms(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

/// Where the run departs from the RFCs.
pub(super) fn deviations(plan: &Plan, steps: &[Step]) -> Vec<String> {
    let mut all = Vec::new();
    let durations = &plan.durations;
    //= rfc2544 24
    if durations.trial.max(durations.confirmation.unwrap_or_default()) < MINUTE {
        all.push(
            "trials shorter than 60 s (RFC 2544 section 24; --final 60s, --rfc-durations)".into(),
        );
    }
    if !durations.overload.is_zero() && plan.tests.contains(&Test::Throughput) {
        all.push(
            "more than the rate is offered before a trial, to empty buckets and fill queues that a \
             short trial would not"
                .into(),
        );
    }
    //= rfc2544 23
    if durations.settle < Duration::from_secs(7) {
        all.push("less than 2 s for late frames and 5 s of rest after a trial (section 23)".into());
    }
    if plan.tests.contains(&Test::Latency) {
        latency_deviations(plan, steps, &mut all);
    }
    if plan.tests.contains(&Test::BackToBack) {
        burst_deviations(plan, &mut all);
    }
    if plan.tests.contains(&Test::Recovery) && durations.recovery < MINUTE {
        all.push("an overload shorter than 60 s before the recovery (section 26.5)".into());
    }
    if plan.accepted_loss_ratio > 0.0 {
        all.push(format!(
            "a trial passes with a loss ratio of up to {} (section 26.1 accepts none)",
            plan.accepted_loss_ratio
        ));
    }
    all.push("the reset test needs somebody at the device (section 26.6)".into());
    all
}

fn latency_deviations(plan: &Plan, steps: &[Step], all: &mut Vec<String>) {
    if plan.durations.latency < MINUTE * 2 {
        all.push("latency streams shorter than 120 s (section 26.2)".into());
    }
    if plan.latency_repetitions < 20 {
        all.push(format!(
            "{} repetitions of the latency test instead of 20 (section 26.2)",
            plan.latency_repetitions
        ));
    }
    let by_one_clock = |step: &Step| matches!(step, Step::Latency(latency) if latency.clock == DelayClock::RoundTrip);
    let round_trip = steps.iter().any(by_one_clock);
    if round_trip {
        all.push("latency is the round trip, of which the other way is idle (section 26.2)".into());
    }
}

fn burst_deviations(plan: &Plan, all: &mut Vec<String>) {
    if plan.search == SearchKind::Fast {
        all.push(
            "the search for the longest burst is loss-aware, not binary (RFC 9004 section 6.2)"
                .into(),
        );
    }
    if plan.burst_repetitions < 50 {
        all.push(format!(
            "{} repetitions of the back-to-back test instead of 50 (section 26.4)",
            plan.burst_repetitions
        ));
    }
    if plan.durations.burst_settle < Duration::from_secs(2) {
        all.push("less than 2 s after a burst for what buffers hold (RFC 9004 section 6.2)".into());
    }
}

#[cfg(test)]
mod tests;
