//! Was the number of connections reached and held, were they spoken on, and was it the tester that
//! fell short?

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{
    Abort, Behaviour, ConnectionsReport, FailedConnections, Observation, StoppedConnections,
};

use super::{Plan, Report, Step, StressStep};
use crate::reason::Code;
use crate::verdict::{Check, Reason, Status, Verdict};

/// Of the connections that were to be asked for: as many as may be missing from the number held.
const UNASKED_PERCENT_MAX: f64 = 0.1;
/// A packet that an end drops is one that a connection has to send again.
const TESTER_DROPS_PERCENT_MAX: f64 = 0.1;
/// RFC 6298 section 2.4 has no timeout before a second: an end that stands still for less has its
/// peers send nothing again.
const STALL_MAX: Duration = Duration::from_secs(1);

pub(super) fn checks(plan: &Plan, step: &StressStep, seen: &Observation) -> Vec<Check> {
    let target = u64::from(step.connections_target);
    let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
    let unasked = percent(target.saturating_sub(step.counted.attempted), target);
    let dropped = seen.dropped_packets();
    let corrupt = step.counted.corrupt_payload_bytes as f64;
    let [stall_ms, stall_ms_max] =
        [seen.longest_stall(), STALL_MAX].map(|time| time.as_secs_f64() * 1e3);
    let drops = percent(dropped, packets(plan, &step.counted));
    // Who was stopped had no time to ask for all, and who has found a limit has no more to ask.
    let was_to_ask = step.counted.stopped.is_none() && step.limit.is_none();
    let asked = was_to_ask
        .then(|| Check::at_most(Code::ConnectionsUnasked, unasked, UNASKED_PERCENT_MAX, "percent"));
    let others = [
        Check::at_most(Code::TesterDrops, drops, TESTER_DROPS_PERCENT_MAX, "percent"),
        Check::at_most(Code::TesterStall, stall_ms, stall_ms_max, "ms"),
        Check::at_most(Code::CorruptPayload, corrupt, 0.0, "bytes"),
    ];
    asked.into_iter().chain(others).collect()
}

/// The least that there have been: three for a handshake, as many to close, one for each segment's
/// worth of payload.
fn packets(plan: &Plan, counted: &ConnectionsReport) -> u64 {
    let good_bytes = counted.upload_good_bytes + counted.download_good_bytes;
    let segments = good_bytes / u64::from(plan.load.mss_bytes.max(1));
    counted.attempted + 2 * counted.established + 3 * counted.closed + segments
}

pub(super) fn judge(plan: &Plan, report: &Report, abort: Option<&Abort>) -> Verdict {
    let steps = || report.steps.iter().enumerate().map(|(place, Step::Stress(step))| (place, step));
    let stopped = steps().find_map(|(place, step)| Some(why_stopped(place, step.counted.stopped?)));
    let why_aborted = |abort| stopped.clone().unwrap_or_else(|| Reason::of_abort(abort));
    let mut reasons: Vec<Reason> = abort.into_iter().map(why_aborted).collect();
    let broken = || report.checks.iter().filter(|check| !check.ok);
    reasons.extend(broken().map(why_invalid));
    let failures: Vec<Reason> =
        steps().flat_map(|(place, step)| failures(plan, place, step)).collect();
    let status = if abort.is_some() {
        Status::Aborted
    } else if broken().next().is_some() {
        Status::Invalid
    } else if failures.is_empty() {
        Status::Pass
    } else {
        Status::Fail
    };
    reasons.extend(failures);
    reasons.extend(steps().flat_map(|(place, step)| remarks(place, step)));
    Verdict { status, reasons }
}

fn why_stopped(place: usize, stopped: StoppedConnections) -> Reason {
    let how = if stopped.is_abort { "reset at once" } else { "closed" };
    let text = format!(
        "stopped {:.3} s after the start, with {} connections open: they were {how}, and no more were \
         asked for",
        stopped.at.as_secs_f64(),
        stopped.active
    );
    Reason { code: Code::Stopped, text, step: Some(place) }
}

/// What was asked and no connection showed.
pub(super) fn unmeasured(plan: &Plan, report: &Report) -> Vec<String> {
    let is_asked = plan.criteria.handshake_p99_max.is_some();
    let is_untold = |Step::Stress(step): &Step| step.counted.handshake.is_none();
    let untold = report.steps.iter().filter(|step| is_asked && is_untold(step));
    let sentence = "--max-handshake: no handshake was measured, for no connection was established";
    untold.map(|_| String::from(sentence)).collect()
}

fn why_invalid(check: &Check) -> Reason {
    check.as_reason(match check.name {
        Code::ConnectionsUnasked => {
            "this end did not get to ask for all connections: give the ramp more time, or take a \
             faster host"
        }
        Code::TesterDrops => "an end itself dropped packets: ask for fewer connections in a second",
        Code::TesterStall => "a host kept an end from running for longer than its peers wait",
        _ => "payload arrived that was not sent, though its checksum is right",
    })
}

/// Of what was stopped, only what would have failed whatever came after.
pub(super) fn failures(plan: &Plan, place: usize, step: &StressStep) -> Vec<Reason> {
    let reason = |code, text| Reason { code, text, step: Some(place) };
    let is_stopped = step.counted.stopped.is_some();
    let mut failures = Vec::new();
    if !step.is_reached() && !is_stopped {
        let (peak, target) = (step.counted.active_peak, step.connections_target);
        let text = format!("{peak} of {target} connections were open at once at most");
        failures.push(reason(Code::TargetMissed, text));
    }
    failures.extend(step.limit.map(|limit| reason(Code::LimitFound, format!("{limit}"))));
    failures.extend(not_held(plan, step).map(|text| reason(Code::NotHeld, text)));
    if step.failed_percent() > plan.criteria.failed_max_percent {
        let text = format!(
            "{} of {} connections failed ({:.3} %, {} % allowed): {}",
            step.counted.failed.total(),
            step.counted.attempted,
            step.failed_percent(),
            plan.criteria.failed_max_percent,
            by_cause(&step.counted.failed)
        );
        failures.push(reason(Code::ConnectionsFailed, text));
    }
    if !is_stopped {
        let silent = not_carried(plan, &step.counted);
        failures.extend(silent.map(|text| reason(Code::NotTransferred, text)));
    }
    let slow = too_slow(plan, &step.counted);
    failures.extend(slow.into_iter().map(|(code, text)| reason(code, text)));
    failures
}

/// Of a number that was reached: whether it stayed, to the tolerance and to one connection.
fn not_held(plan: &Plan, step: &StressStep) -> Option<String> {
    let held = step.counted.held?;
    let tolerance = f64::from(held.wanted) * plan.criteria.held_tolerance_percent / 100.0;
    let apart = held.wanted.saturating_sub(held.least).max(held.most.saturating_sub(held.wanted));
    (f64::from(apart) > tolerance.max(1.0)).then(|| {
        format!(
            "{} connections were not held: there were from {} to {}, and {} % more or fewer are \
             allowed",
            held.wanted, held.least, held.most, plan.criteria.held_tolerance_percent
        )
    })
}

fn by_cause(failed: &FailedConnections) -> String {
    let FailedConnections { no_answer, refused, reset, timed_out } = *failed;
    let causes = [
        (no_answer, "not answered"),
        (refused, "refused"),
        (reset, "reset"),
        (timed_out, "timed out"),
    ];
    let known = causes.into_iter().filter(|(count, _)| *count > 0);
    known.map(|(count, cause)| format!("{count} {cause}")).collect::<Vec<_>>().join(", ")
}

/// What connections of the mix are to do and none of them did.
fn not_carried(plan: &Plan, counted: &ConnectionsReport) -> Option<String> {
    if counted.established == 0 {
        return None;
    }
    let shares = plan.load.mix.iter().filter(|share| share.weight > 0);
    let silent = shares.filter_map(|share| match share.behaviour {
        Behaviour::Hold => None,
        Behaviour::Transaction { .. } => {
            (counted.transactions == 0).then_some("no response came back")
        }
        Behaviour::Download { .. } => {
            (counted.download_good_bytes == 0).then_some("no payload came from the servers")
        }
        Behaviour::Upload { .. } => {
            (counted.upload_good_bytes == 0).then_some("no payload came to the servers")
        }
        Behaviour::Both { .. } => (counted.download_good_bytes == 0
            || counted.upload_good_bytes == 0)
            .then_some("payload did not come through both ways"),
    });
    let mut said: Vec<&str> = silent.collect();
    said.dedup();
    (!said.is_empty())
        .then(|| format!("connections were established and carried nothing: {}", said.join(", ")))
}

fn too_slow(plan: &Plan, counted: &ConnectionsReport) -> Vec<(Code, String)> {
    let mut found = Vec::new();
    let peak = counted.setup_rate_peak;
    if let Some(least) =
        plan.criteria.setup_rate_min.filter(|least| peak < *least && counted.stopped.is_none())
    {
        let text = format!("{peak} connections/s were set up at best, less than {least}");
        found.push((Code::SetupRateLow, text));
    }
    let p99 = counted.handshake.map(|handshake| handshake.p99);
    if let (Some(most), Some(p99)) = (plan.criteria.handshake_p99_max, p99)
        && p99 > most
    {
        let [p99, most] = [p99, most].map(|time| time.as_secs_f64() * 1e3);
        let text =
            format!("of 100 handshakes one took {p99:.3} ms or more, longer than {most:.3} ms");
        found.push((Code::HandshakeSlow, text));
    }
    found
}

/// What a reader must know of the figures.
fn remarks(place: usize, step: &StressStep) -> Vec<Reason> {
    let reason = |code, text| Reason { code, text, step: Some(place) };
    let counted = &step.counted;
    let mut found = Vec::new();
    found.extend(counted.first_failure.map(|first| {
        let at = first.at.as_secs_f64();
        let text = format!(
            "the first connection failed {at:.3} s after the start, with {} active; in all: {}",
            first.active,
            by_cause(&counted.failed)
        );
        reason(Code::FirstFailure, text)
    }));
    if counted.bad_checksums > 0 {
        let text = format!(
            "{} packets arrived with wrong checksums and were retransmitted",
            counted.bad_checksums
        );
        found.push(reason(Code::BadChecksums, text));
    }
    found
}
