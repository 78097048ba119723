//! What the steps of an RFC 6349 run amount to: self-checks, verdict and reasons in plain words.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Abort, Layer, Rate, RttSummary, Sender, Timing};

use super::standing::{
    Standing, asked_percent, least_part, needed_percent, standing, threshold_percent,
};
use super::{Bottleneck, Health, LimitKind, Plan, Role, Source, Step, TcpStep, Thresholds};
use crate::reason::Code;
use crate::rounded;
use crate::tester::LOST_PERCENT_MAX;
use crate::verdict::{Check, Reason, Status, Verdict};

/// A thread kept from running so long has missed what it was to send or to measure.
const STALL_MS_MAX: f64 = 500.0;
/// Above this, what was waited between two looks says nothing of a single stall.
const LOOK_INTERVAL_MAX: Duration = Duration::from_millis(600);
/// Beyond what the searches resolve, a bucket holds and clocks differ by.
const BEYOND_IDEAL_PERCENT_MAX: f64 = 105.0;
/// Up to this time from end to end, ITU-T G.114 sees most applications unaffected.
const ONE_WAY_SOUND: Duration = Duration::from_millis(150);
/// RFC 6349 section 3: with more, a TCP throughput means little.
const LOSS_MAX: f64 = 0.05;
const DURATION_MIN: Duration = Duration::from_secs(30);

pub(super) fn checks(steps: &[Step], health: &Health) -> Vec<Check> {
    let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
    let arrived = health.frames_received + health.frames_dropped;
    let dropped = percent(health.frames_dropped, arrived);
    let unsent = percent(health.frames_unsent, health.frames_planned);
    let mut checks = Vec::from([
        Check::at_most(Code::TesterDrops, dropped, LOST_PERCENT_MAX, "percent"),
        Check::at_most(Code::FramesUnsent, unsent, LOST_PERCENT_MAX, "percent"),
    ]);
    if looks_are_frequent(steps) {
        let stall = health.longest_stall.as_secs_f64() * 1e3;
        checks.push(Check::at_most(Code::TesterStall, stall, STALL_MS_MAX, "ms"));
    }
    checks.extend(baseline_holds(steps));
    checks.extend(health.late.map(|late| {
        let [p99, limit] = [late.p99, late.limit].map(|time| time.as_secs_f64() * 1e3);
        Check::at_most(Code::EmulationLateness, p99, limit, "ms")
    }));
    checks
}

/// A stall is what was waited from one look to the next, one for each beat of a trial: in trials of
/// days beats are long.
fn looks_are_frequent(steps: &[Step]) -> bool {
    let beats = tcp_steps(steps).map(|(_, step)| {
        let steady = step.series.iter().map(|slot| slot.lasts).sum();
        Timing { warm_up: Duration::ZERO, steady, settle: Duration::ZERO }.beat()
    });
    beats.max().unwrap_or_default() <= LOOK_INTERVAL_MAX
}

/// A lower round trip seen later says that the baseline was none.
fn baseline_holds(steps: &[Step]) -> Option<Check> {
    let baseline = baseline(steps)?.min;
    let flows = tcp_steps(steps).flat_map(|(_, step)| &step.flows);
    let lowest = flows.filter_map(|flow| flow.report.rtt_min).min()?;
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    // A segment without payload is up to 54 bytes shorter on the line than a probe of 100.
    let shorter = steps.iter().filter_map(|step| match step {
        Step::Bottleneck(limit) => Some(limit.rate_at(Layer::L1).max(Rate::bps(1)).time_for(54)),
        Step::PathMtu(_) | Step::BaselineRtt(_) | Step::Tcp(_) => None,
    });
    let baseline = baseline.saturating_sub(shorter.sum());
    // Two clocks of 50 microseconds each and a twentieth for what the host adds.
    let limit = ms(baseline) * 0.95 - 0.1;
    Some(Check::at_least(Code::BaselineRttIsLowest, ms(lowest), limit, "ms"))
}

fn tcp_steps(steps: &[Step]) -> impl Iterator<Item = (usize, &TcpStep)> {
    steps.iter().enumerate().filter_map(|(place, step)| match step {
        Step::Tcp(tcp) => Some((place, tcp)),
        Step::PathMtu(_) | Step::BaselineRtt(_) | Step::Bottleneck(_) => None,
    })
}

/// Weighs the throughput steps against the thresholds; a run that was broken off has no verdict.
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
    let judged: Vec<_> = tcp_steps(steps)
        .filter(|(_, step)| step.role == Role::Throughput)
        .filter(|(_, step)| bottleneck(steps, step).is_some_and(Bottleneck::is_known))
        .collect();
    let missed: Vec<Reason> = judged
        .iter()
        .flat_map(|(place, step)| failures(plan, *place, step, bottleneck(steps, step), steps))
        .collect();
    let open: Vec<Reason> = judged
        .iter()
        .filter_map(|(place, step)| {
            beyond(*place, step, steps).or_else(|| undecided(plan, *place, step))
        })
        .collect();
    let (failed, is_open) = (!missed.is_empty(), !open.is_empty());
    reasons.extend(missed);
    if !failed {
        reasons.extend(open);
    }
    if !failed && !is_open && finished {
        reasons.extend(carried(plan, &judged));
    }
    if !failed {
        reasons.extend(walked_short(plan, steps));
    }
    reasons.extend(remarks(steps));
    let status = match (finished, invalid, failed, is_open) {
        (false, ..) => Status::Aborted,
        (true, true, ..) => Status::Invalid,
        (true, false, true, _) => Status::Fail,
        (true, false, false, true) => Status::Inconclusive,
        (true, false, false, false) if judged.is_empty() => Status::Info,
        (true, false, false, false) => Status::Pass,
    };
    Verdict { status, reasons }
}

/// More than the measured bottleneck lets through, for certain, in a steady time: what the shares are
/// of is not what limits. A policer's bucket, which may be full when a trial begins, forgives that.
fn beyond(place: usize, step: &TcpStep, steps: &[Step]) -> Option<Reason> {
    let limit = bottleneck(steps, step)?;
    let [least, _] = step.judged.share_percent_bounds?;
    let is_bound = limit.source == Source::Measured && limit.kind != LimitKind::Policer;
    let most = BEYOND_IDEAL_PERCENT_MAX * step.part_of_ideal(step.judged.possible_l4);
    (is_bound && least > most).then(|| Reason {
        code: Code::ThroughputBeyondIdeal,
        text: format!(
            "{}: {} where the bottleneck that was measured allows {} ({:.1} %): it is not what was \
             measured; test again, or give the rate with --cir",
            named(step),
            mbps(step.throughput_l4),
            mbps(step.ideal_l4),
            step.share_percent()
        ),
        step: Some(place),
    })
}

/// Whether the step at `place` meets what was asked of it; `None` where nothing was.
pub(super) fn is_met(plan: &Plan, steps: &[Step], place: usize) -> Option<bool> {
    let Step::Tcp(step) = steps.get(place)? else { return None };
    let limit = bottleneck(steps, step).filter(|limit| limit.is_known())?;
    if step.role != Role::Throughput {
        return None;
    }
    if !failures(plan, place, step, Some(limit), steps).is_empty() {
        return Some(false);
    }
    (standing(&plan.thresholds, step) == Standing::Met).then_some(true)
}

fn broken(check: &Check) -> Reason {
    let what = match check.name {
        Code::TesterDrops => "the tester itself dropped packets",
        Code::FramesUnsent => "the tester could not send as planned",
        Code::EmulationLateness => {
            "the host kept the emulated network from letting packets go in time, and too little was \
             carried"
        }
        Code::TesterStall => "the host kept the tester from running",
        _ => "a lower round trip was seen under load than on the idle path",
    };
    check.as_reason(what)
}

fn bottleneck<'a>(steps: &'a [Step], of: &TcpStep) -> Option<&'a Bottleneck> {
    steps.iter().find_map(|step| match step {
        Step::Bottleneck(bottleneck) if bottleneck.direction == of.direction => Some(bottleneck),
        Step::PathMtu(_) | Step::BaselineRtt(_) | Step::Bottleneck(_) | Step::Tcp(_) => None,
    })
}

fn failures(
    plan: &Plan,
    place: usize,
    step: &TcpStep,
    limit: Option<&Bottleneck>,
    steps: &[Step],
) -> Vec<Reason> {
    let thresholds = &plan.thresholds;
    let mut reasons = Vec::new();
    if standing(thresholds, step) == Standing::Missed {
        reasons.push(too_slow(thresholds, place, step, limit, steps));
    }
    if let (Some(least), Some(efficiency)) =
        (thresholds.efficiency_percent, step.efficiency_percent)
        && efficiency < least
    {
        let text = format!("{}: TCP efficiency {efficiency:.2} %, {least} % asked", named(step));
        reasons.push(Reason { code: Code::EfficiencyLow, text, step: Some(place) });
    }
    if let (Some(most), Some(delay)) = (thresholds.buffer_delay_percent, step.buffer_delay_percent)
        && delay > most
    {
        let text = format!("{}: buffer delay {delay:.1} %, at most {most} % asked", named(step));
        reasons.push(Reason { code: Code::BufferDelayHigh, text, step: Some(place) });
    }
    reasons
}

/// The rate with which throughput is compared.
fn measure(step: &TcpStep) -> String {
    step.judged
        .sold_l4
        .map_or_else(|| mbps(step.ideal_l4), |sold| format!("{} that were sold", mbps(sold)))
}

/// What was carried of what, with what was asked for.
fn share(thresholds: &Thresholds, step: &TcpStep) -> String {
    let bounds = step.judged.share_percent_bounds.map(|[least, most]| (most - least) / 2.0);
    let of = step.part_sold().max(1e-9);
    let bounds = bounds.map_or_else(String::new, |half| format!(" ± {:.1}", half / of));
    format!(
        "{}: {} of {} ({:.1}{bounds} %, {} % asked)",
        named(step),
        mbps(step.throughput_l4),
        measure(step),
        step.share_percent() / of,
        threshold_percent(thresholds, step)
    )
}

/// Why a trial says neither that the path carries what was asked nor that it does not, and what
/// would.
fn undecided(plan: &Plan, place: usize, step: &TcpStep) -> Option<Reason> {
    let thresholds = &plan.thresholds;
    if standing(thresholds, step) != Standing::Undecided {
        return None;
    }
    let asked = asked_percent(thresholds, step).min(100.0) / 100.0;
    let is_low = |[_, most]: [f64; 2]| most < needed_percent(thresholds, step);
    let (code, why) = if step.judged.share_percent_bounds.is_some_and(is_low)
        && least_part(step) < 1.0
    {
        let least = mbps(step.judged.ideal_l4_bounds.0);
        let why = format!(
            "all that is known of the bottleneck is that it allows {least} at least: give its rate \
             (--cir)"
        );
        (Code::BottleneckUncertain, why)
    } else if step.judged.windows_l4 < step.ideal_l4.scaled(asked) {
        let most = mbps(step.judged.windows_l4);
        let why =
            format!("these windows carry {most} at most: larger ones would decide (--window)");
        (Code::WindowsTooSmall, why)
    } else {
        let longer = step.judged.settles_in.max(step.transfer * 4).as_secs_f64();
        (Code::TrialTooShort, format!("a longer trial would decide (--duration {longer:.0}s)"))
    };
    Some(Reason { code, text: format!("{}: {why}", share(thresholds, step)), step: Some(place) })
}

/// RFC 6349 section 4: which of the two other metrics goes with a bad transfer time ratio.
fn too_slow(
    thresholds: &Thresholds,
    place: usize,
    step: &TcpStep,
    limit: Option<&Bottleneck>,
    steps: &[Step],
) -> Reason {
    let lossy = step.retransmitted_bytes.unwrap_or_default() > 0;
    let waits = limit.is_none_or(|limit| limit.kind != LimitKind::Policer);
    let delayed = waits && waits_beyond(step, steps);
    let (code, cause) = if step.good_bytes == 0 {
        (Code::ThroughputNone, String::from("nothing arrived in the steady time"))
    } else if let Some(limit) = limit.filter(|_| is_less_than_sold(thresholds, step)) {
        (Code::BottleneckBelowSold, below_sold(limit))
    } else if lossy {
        (Code::ThroughputLowRetransmissions, lost(step, limit))
    } else if delayed {
        (Code::ThroughputLowDelay, queued(step))
    } else {
        let text = "nothing was retransmitted, and the round trip is no longer than the windows make \
                    it: look at the hosts and at middleboxes";
        (Code::ThroughputLowUnexplained, text.to_string())
    };
    let text = format!("{}: {cause}", share(thresholds, step));
    Reason { code, text, step: Some(place) }
}

/// Whether even a full bottleneck carries less than the threshold of what was sold.
fn is_less_than_sold(thresholds: &Thresholds, step: &TcpStep) -> bool {
    step.judged.sold_l4.is_some() && needed_percent(thresholds, step) > 100.0
}

fn below_sold(limit: &Bottleneck) -> String {
    let what = match limit.kind {
        LimitKind::Policer => "a policer",
        LimitKind::Queue => "a line or a shaper",
        LimitKind::NotReached | LimitKind::Unknown => "a bottleneck",
    };
    let (rate, layer) = (limit.limit.rate, limit.limit.layer);
    format!("the path is limited by {what} of {} ({layer}), less than was sold", mbps(rate))
}

/// Whether the round trip grew by more than what the windows have under way takes at the bottleneck,
/// and than it varies by itself.
fn waits_beyond(step: &TcpStep, steps: &[Step]) -> bool {
    let (Some(rtt), Some(idle)) = (step.rtt_mean, baseline(steps)) else { return false };
    let windows = u64::from(step.connections) * step.window_bytes;
    let carried = step.ideal_l4.max(Rate::bps(1)).time_for(windows);
    let varies = idle.mean.saturating_sub(idle.min);
    rtt > (idle.mean + varies).max(carried)
}

fn baseline(steps: &[Step]) -> Option<RttSummary> {
    steps.iter().find_map(|step| match step {
        Step::BaselineRtt(baseline) => Some(baseline.rtt),
        Step::PathMtu(_) | Step::Bottleneck(_) | Step::Tcp(_) => None,
    })
}

fn lost(step: &TcpStep, limit: Option<&Bottleneck>) -> String {
    let resent = step.efficiency_percent.map_or_else(
        || String::from("bytes were retransmitted"),
        |efficiency| format!("{} % of the bytes sent were retransmitted", few(100.0 - efficiency)),
    );
    match limit.map(|limit| limit.kind) {
        Some(LimitKind::Policer) => {
            let kilobytes = |bytes: f64| libm::round(bytes / 1000.0);
            let needed = step.judged.needed_cbs_bytes.unwrap_or_default() as f64;
            let holds = limit.and_then(|limit| limit.burst_bytes).map(|burst| burst.estimate);
            match holds.filter(|holds| *holds >= needed) {
                Some(holds) => format!(
                    "{resent}, though the policer that is the limit takes bursts of {} kB and these \
                     windows are no more than {}: look for a queue that is too short for them, in \
                     front of it or behind",
                    kilobytes(holds),
                    kilobytes(needed)
                ),
                None => format!(
                    "{resent}; the limit is a policer, and bursts of these windows need a committed \
                     burst size of up to {} kB, or a paced sender",
                    kilobytes(needed)
                ),
            }
        }
        Some(LimitKind::Queue | LimitKind::NotReached | LimitKind::Unknown) | None => {
            let delay = step.buffer_delay_percent.unwrap_or_default();
            format!("{resent}, and the RTT grew by {} %", rounded(delay, 1))
        }
    }
}

/// A small percentage, never as nothing.
fn few(percent: f64) -> String {
    if percent < 0.01 { String::from("less than 0.01") } else { format!("{percent:.2}") }
}

fn queued(step: &TcpStep) -> String {
    let rtt = step.rtt_mean.unwrap_or_default().as_secs_f64() * 1e3;
    let delay = step.buffer_delay_percent.unwrap_or_default();
    format!(
        "nothing was retransmitted, and the mean RTT of {rtt:.1} ms is {delay:.0} % above the \
         baseline: what the windows have under way waits elsewhere than at the bottleneck"
    )
}

/// The trial of one direction alone that passed with the least margin to its own threshold.
fn carried(plan: &Plan, judged: &[(usize, &TcpStep)]) -> Option<Reason> {
    let thresholds = &plan.thresholds;
    let alone = judged.iter().filter(|(_, step)| !step.bidirectional);
    let margin = |step: &TcpStep| step.share_percent() / needed_percent(thresholds, step);
    let (place, least) = alone.min_by(|(_, a), (_, b)| margin(a).total_cmp(&margin(b)))?;
    let of = least.part_sold().max(1e-9);
    let [asked, needed] =
        [threshold_percent(thresholds, least), needed_percent(thresholds, least) / of];
    let why = match needed < 0.999 * asked {
        true => format!("; {needed:.1} % needed, as acknowledgements take the rest"),
        false => String::new(),
    };
    let text = format!(
        "each direction alone carried what was asked ({} % of {}), with the least margin {}: {} of {} \
         ({:.1} %{why})",
        thresholds.throughput_percent,
        if least.judged.sold_l4.is_some() { "what was sold" } else { "the ideal" },
        named(least),
        mbps(least.throughput_l4),
        measure(least),
        least.share_percent() / of,
    );
    Some(Reason { code: Code::ThroughputMet, text, step: Some(*place) })
}

/// What the user should know whatever the verdict.
fn remarks(steps: &[Step]) -> Vec<Reason> {
    let remark = |(place, step): (usize, &Step)| match step {
        Step::PathMtu(mtu) if mtu.black_hole => Some(Reason {
            code: Code::MtuBlackHole,
            text: format!(
                "{}: packets above {} bytes vanish without an ICMP answer (a black hole)",
                mtu.direction, mtu.mtu_bytes
            ),
            step: Some(place),
        }),
        Step::Bottleneck(limit) if limit.lost_at_any_rate() >= LOSS_MAX => Some(Reason {
            code: Code::LossTooHighForTcp,
            text: format!(
                "{}: {:.1} % of the packets are lost at half the rate; with 5 % and more a TCP \
                 throughput means little",
                limit.direction,
                100.0 * limit.lost_at_any_rate()
            ),
            step: Some(place),
        }),
        Step::Bottleneck(limit) if limit.kind == LimitKind::NotReached => Some(Reason {
            code: Code::BottleneckNotReached,
            text: format!(
                "{}: the tester could not send enough to reach the limit of the path, so throughput \
                 is shown and not judged; give what was sold with --cir",
                limit.direction
            ),
            step: Some(place),
        }),
        Step::Bottleneck(limit) if !limit.is_known() => Some(Reason {
            code: Code::BottleneckUnknown,
            text: format!(
                "{}: the rate of what limits the path could not be told, so throughput is shown and not \
                 judged; test again, or give what was sold with --cir",
                limit.direction
            ),
            step: Some(place),
        }),
        Step::Tcp(tcp) if shows_the_queue(tcp) => deep_queue(place, tcp, steps),
        Step::PathMtu(_) | Step::BaselineRtt(_) | Step::Bottleneck(_) | Step::Tcp(_) => None,
    };
    steps.iter().enumerate().filter_map(remark).collect()
}

/// Steps of the window walk are not judged. Where one of them certainly carries a smaller share of what its
/// windows allow than the full window has to, something kept it from carrying more.
fn walked_short(plan: &Plan, steps: &[Step]) -> Option<Reason> {
    let asked = plan.thresholds.throughput_percent / 100.0;
    let part = |step: &TcpStep| {
        step.throughput_l4.as_bps() as f64 / step.judged.assured_l4.as_bps().max(1) as f64
    };
    let is_short = |step: &TcpStep| {
        let most = step.judged.throughput_l4_bounds.map(|[_, most]| most);
        let needed = step.judged.assured_l4.scaled(asked);
        most.is_some_and(|most| most < needed)
    };
    let walked = || tcp_steps(steps).filter(|(_, step)| step.role == Role::Walk && is_short(step));
    let (place, least) = walked().min_by(|(_, a), (_, b)| part(a).total_cmp(&part(b)))?;
    let others = match walked().count() {
        1 => String::new(),
        count => format!(" (the least of {count} such rows)"),
    };
    let text = format!(
        "window walk, {}, {:.0} % of the window: {} where its windows allow {}{others}; the walk is \
         not judged",
        least.direction,
        100.0 * least.window_fraction,
        mbps(least.throughput_l4),
        mbps(least.judged.assured_l4)
    );
    Some(Reason { code: Code::WalkShort, text, step: Some(place) })
}

fn shows_the_queue(step: &TcpStep) -> bool {
    step.window_fraction > 1.0 && step.sender == Sender::Bulk && !step.bidirectional
}

/// Of a queue that is deeper than a sound one, and was seen to be: a bandwidth-delay product keeps a
/// line busy while a window that lost a segment is halved (RFC 5681 section 3.1), and what makes a
/// path too slow for applications is no help to any.
fn deep_queue(place: usize, step: &TcpStep, steps: &[Step]) -> Option<Reason> {
    let (rtt, delay, idle) = (step.rtt_mean?, step.buffer_delay_percent?, baseline(steps)?);
    let waited = rtt.saturating_sub(idle.mean);
    let is_queue = bottleneck(steps, step).is_some_and(|limit| limit.kind == LimitKind::Queue);
    if !is_queue || waited <= idle.min || idle.min / 2 + waited <= ONE_WAY_SOUND {
        return None;
    }
    let text = format!(
        "{}: windows of {:.0} % of the bandwidth-delay product raise the RTT to {:.1} ms \
         (buffer delay {delay:.0} %, latency under load: grade {}): the queue at the bottleneck is that \
         deep",
        step.direction,
        100.0 * step.window_fraction,
        rtt.as_secs_f64() * 1e3,
        step.buffer_delay_grade()?
    );
    Some(Reason { code: Code::DeepQueue, text, step: Some(place) })
}

/// Which trial it was, as a person would say it.
fn named(step: &TcpStep) -> String {
    let both = if step.bidirectional { " while both directions are loaded" } else { "" };
    format!("{}{both}, {} sender", step.direction, step.sender)
}

fn mbps(rate: Rate) -> String {
    format!("{:.2} Mbit/s", rate.as_bps() as f64 / 1e6)
}

/// Where the run departs from the RFC.
pub(super) fn deviations(plan: &Plan, steps: &[Step]) -> Vec<String> {
    let mut all = Vec::new();
    let short = tcp_steps(steps).any(|(_, step)| step.transfer <= DURATION_MIN);
    //= rfc6349 5
    if plan.trial.is_none() || short {
        all.push(
            "TCP trials of 30 s or less (section 5 asks for more than 30 s; --duration)".into(),
        );
    }
    all.push("probe timers below 1 s, scaled to the round trip (RFC 8899 section 5.1.1)".into());
    all.push("layer 2 and 3 were not tested first (section 1)".into());
    let is_given =
        |step: &Step| matches!(step, Step::Bottleneck(limit) if limit.source == Source::Given);
    let given = steps.iter().any(is_given);
    let other = plan.congestion_control.name().and_then(|asked| {
        let is_other = |step: &TcpStep| step.congestion_control != asked;
        Some((asked, tcp_steps(steps).find(|(_, step)| is_other(step))?.1))
    });
    if let Some((asked, step)) = other {
        let used = &step.congestion_control;
        all.push(format!("{used} was used for congestion control: the host refused {asked}"));
    }
    let paced = tcp_steps(steps).find_map(|(_, step)| Some((step.direction, step.pacing?)));
    if let Some((direction, rate)) = paced {
        all.push(format!(
            "{direction}: so little is under way that no window is small enough; the one connection \
             was paced at {} (section 3.3.1)",
            mbps(rate)
        ));
    }
    if given {
        all.push("the bottleneck bandwidth was given, not measured (section 3.2.2)".into());
    }
    all
}

#[cfg(test)]
mod tests;
