//! What a run of flows amounts to: the tester's checks of itself, criteria if there are any, and what
//! is to be said in plain words.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{
    Abort, ConnectionReport, Direction, FlowReport, FlowSpec, FramesReport, Load, Observation,
    PacketLayout, Rate,
};

use super::classes;
use super::path::PathStep;
use super::plan::{Criteria, Plan, PlannedFlow};
use super::steps::{FlowStep, Limit, Part, ProfileStep, Report, Step, Transport};
use super::tester_limits::TesterLimits;
use crate::infer::train::CLOCKS_APART;
use crate::path::PathMtu;
use crate::reason::Code;
use crate::tester::LOST_PERCENT_MAX;
use crate::verdict::{Check, Reason, Status, Verdict};

/// Percentage of the TCP segments that arrived which the tester itself may drop: one in 10,000 halves a window often
/// enough at tens of Mbit/s.
const TESTER_DROPS_OF_TCP_PERCENT_MAX: f64 = 0.01;
/// When the first and the last packet came is known so well on a host that does other things too.
const ARRIVAL_ERROR: Duration = Duration::from_millis(1);
/// Of Ethernet's longest packets, where the sender does not tell.
const LONGEST_SEGMENT_BYTES: u32 = 1460;

/// What the two ends say against themselves, whatever was asked.
pub(super) fn checks(plan: &Plan, report: &Report, seen: &Observation) -> Vec<Check> {
    let has_tcp = seen.flows.iter().any(|flow| matches!(flow, FlowReport::Tcp(_)));
    let frames = || seen.flows.iter().filter_map(FlowReport::frames);
    let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
    let sum = |of: fn(&FramesReport) -> u64| frames().map(of).fold(0, u64::saturating_add);
    let planned = sum(|report| report.planned_frames);
    let unsent = planned.saturating_sub(sum(|report| report.sent_frames));
    let dropped = seen.dropped_packets();
    let received = sum(|report| report.received_frames).saturating_add(segments(seen));
    let drops_max = match has_tcp {
        true => TESTER_DROPS_OF_TCP_PERCENT_MAX,
        false => LOST_PERCENT_MAX,
    };
    let drops = percent(dropped, received.saturating_add(dropped));
    let mut checks = Vec::new();
    if frames().next().is_some() {
        let unsent = percent(unsent, planned);
        checks.push(Check::at_most(Code::FramesUnsent, unsent, LOST_PERCENT_MAX, "percent"));
    }
    checks.push(Check::at_most(Code::TesterDrops, drops, drops_max, "percent"));
    let limits = TesterLimits::of(plan, report, seen);
    if has_tcp {
        let busy = 100.0 * limits.busiest_thread;
        checks.push(Check::at_most(
            Code::BusiestThread,
            busy,
            TesterLimits::BUSY_PERCENT_MAX,
            "percent",
        ));
    }
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    checks.push(Check::at_most(Code::TesterStall, ms(limits.stall), ms(limits.stall_max), "ms"));
    checks.extend(
        limits
            .lateness
            .map(|(late, most)| Check::at_most(Code::EmulationLateness, ms(late), ms(most), "ms")),
    );
    checks
}

/// Segments that arrived, or as many full ones as the payload makes.
fn segments(seen: &Observation) -> u64 {
    let connections =
        seen.flows.iter().filter_map(FlowReport::tcp).flat_map(|report| &report.connections);
    let of = |each: &ConnectionReport| {
        let full = u64::from(each.segment_bytes.unwrap_or(LONGEST_SEGMENT_BYTES)).max(1);
        each.received_segments.unwrap_or(each.good_bytes / full)
    };
    connections.map(of).fold(0, u64::saturating_add)
}

pub(super) fn judge(
    plan: &Plan,
    report: &Report,
    unknown: Option<String>,
    abort: Option<&Abort>,
) -> Verdict {
    let broken = || report.checks.iter().filter(|check| !check.ok);
    let mut reasons: Vec<Reason> = abort.into_iter().map(Reason::of_abort).collect();
    reasons.extend(broken().map(why_invalid));
    let failures = failures(plan, report);
    let has_criteria =
        plan.criteria.rate_min_l4.is_some() || plan.criteria.loss_max_percent.is_some();
    let status = if abort.is_some() {
        Status::Aborted
    } else if broken().next().is_some() {
        Status::Invalid
    } else if !failures.is_empty() {
        Status::Fail
    } else if has_criteria {
        Status::Pass
    } else {
        Status::Info
    };
    reasons.extend(failures);
    let mut planned = plan.flows.iter();
    for (place, step) in report.steps.iter().enumerate() {
        match step {
            Step::Path(path) => reasons.extend(shorter(place, path)),
            Step::Flow(flow) => {
                // Those of the plan come first, then their sums.
                let planned = if flow.part == Part::Flow { planned.next() } else { None };
                reasons.extend(oddities(plan, planned, place, flow));
                let too_long = planned.and_then(|planned| too_long(report, planned));
                reasons.extend(too_long.map(|text| Reason {
                    code: Code::TooLong,
                    text,
                    step: Some(place),
                }));
            }
            Step::Profile(profile) => reasons.push(followed(place, profile)),
        }
    }
    reasons.extend(classes::remarks(report));
    reasons.extend(unknown.map(|text| Reason { code: Code::PathMtuUnknown, text, step: None }));
    Verdict { status, reasons }
}

fn why_invalid(check: &Check) -> Reason {
    check.as_reason(match check.name {
        Code::FramesUnsent => {
            "this host could not send all packets that were due: ask for a lower rate or longer packets"
        }
        Code::BusiestThread => {
            "an end used a processor up, so that the path may carry more: try more connections (-P), or \
             a faster host"
        }
        Code::TesterStall => {
            "a host kept an end from running: the path may carry more, or lose less of what does not \
             come at once"
        }
        Code::EmulationLateness => {
            "the host kept the emulated network from letting packets go in time, so that the round trip \
             was longer and less was carried"
        }
        _ => "the receiving end itself dropped packets: ask for a lower rate or longer packets",
    })
}

/// The sum of each direction, or its only flow.
fn totals(report: &Report) -> impl Iterator<Item = (usize, &FlowStep)> {
    let flows = || {
        report.steps.iter().enumerate().filter_map(|(place, step)| match step {
            Step::Flow(flow) => Some((place, flow)),
            Step::Path(_) | Step::Profile(_) => None,
        })
    };
    let has_sum = move |of: &FlowStep| {
        flows().any(|(_, flow)| flow.part == Part::Sum && flow.direction == of.direction)
    };
    flows().filter(move |(_, flow)| match flow.part {
        Part::Sum => true,
        Part::Flow => !has_sum(flow),
        Part::Class => false,
    })
}

/// Of all UDP packets of a direction; TCP says nothing of what was lost on the way.
fn loss_percent(report: &Report, direction: Direction) -> Option<f64> {
    let (mut sent, mut lost) = (0_u64, 0_u64);
    for step in &report.steps {
        let Step::Flow(flow) = step else { continue };
        let is_mine = flow.part == Part::Flow && flow.direction == direction;
        if is_mine && flow.transport == Some(Transport::Udp) {
            sent += flow.sent?.packets?;
            lost += flow.lost?;
        }
    }
    (sent > 0).then(|| 100.0 * lost as f64 / sent as f64)
}

/// The criteria without a measurement, each a sentence.
pub(super) fn unmeasured(plan: &Plan, report: &Report) -> Vec<String> {
    if plan.criteria.loss_max_percent.is_none() {
        return Vec::new();
    }
    let is_udp = |flow: &&PlannedFlow| matches!(flow.spec.load, Load::Frames(_));
    let directions = [Direction::Download, Direction::Upload];
    let sends = |direction: &&Direction| {
        plan.flows.iter().filter(is_udp).any(|flow| flow.spec.direction == **direction)
    };
    let unknown = directions
        .iter()
        .filter(sends)
        .filter(|direction| loss_percent(report, **direction).is_none());
    let mut all: Vec<String> = unknown
        .map(|direction| format!("{direction}: no UDP packet was sent, so no loss was measured"))
        .collect();
    if !plan.flows.iter().any(|flow| is_udp(&flow)) {
        all.push(String::from(
            "--max-loss: there are no UDP flows, and TCP does not tell what was lost: add -u",
        ));
    }
    all
}

/// Whether the step at `place` meets what was asked of it; `None` where nothing was.
pub(super) fn is_met(plan: &Plan, report: &Report, place: usize) -> Option<bool> {
    let (_, total) = totals(report).find(|(total, _)| *total == place)?;
    let Criteria { rate_min_l4, loss_max_percent } = &plan.criteria;
    let is_loss_asked =
        loss_max_percent.is_some() && loss_percent(report, total.direction).is_some();
    let is_asked = rate_min_l4.is_some() || is_loss_asked;
    is_asked.then(|| failures(plan, report).iter().all(|failure| failure.step != Some(place)))
}

fn failures(plan: &Plan, report: &Report) -> Vec<Reason> {
    let mut failures = Vec::new();
    for (place, total) in totals(report) {
        let direction = total.direction;
        let got = total.received.rates.l4;
        if let Some(least) = plan.criteria.rate_min_l4.filter(|least| got < *least) {
            let text = format!(
                "{direction}: {} of payload arrived, less than the {} asked for",
                mbps(got),
                mbps(least)
            );
            failures.push(Reason { code: Code::RateLow, text, step: Some(place) });
        }
        let lost = loss_percent(report, direction);
        if let (Some(most), Some(lost)) = (plan.criteria.loss_max_percent, lost)
            && lost > most
        {
            let text = format!(
                "{direction}: {lost:.3} % of the packets were lost, more than the {most} % allowed"
            );
            failures.push(Reason { code: Code::LossHigh, text, step: Some(place) });
        }
    }
    failures
}

/// Of a path that takes shorter packets than the interfaces at its ends.
fn shorter(place: usize, path: &PathStep) -> Vec<Reason> {
    let PathMtu { direction, mtu_bytes, black_hole, .. } = path.mtu;
    if mtu_bytes >= path.limit_bytes {
        return Vec::new();
    }
    let how = if black_hole { "do not arrive" } else { "are refused on the way" };
    let text = format!(
        "{direction}, {}: packets of up to {mtu_bytes} bytes pass, longer ones {how}; what was to be \
         as long as fits is no longer than that",
        path.family
    );
    let mut reasons = Vec::from([Reason { code: Code::PathMtu, text, step: Some(place) }]);
    if black_hole {
        let text = format!(
            "{direction}, {}: packets above {mtu_bytes} bytes vanish without an ICMP answer (a black \
             hole)",
            path.family
        );
        reasons.push(Reason { code: Code::MtuBlackHole, text, step: Some(place) });
    }
    reasons
}

/// Of a flow whose packets were given a length that the path does not take.
fn too_long(report: &Report, planned: &PlannedFlow) -> Option<String> {
    let Load::Frames(load) = &planned.spec.load else { return None };
    let longest = load.sizes.longest().saturating_sub(PacketLayout::ETHERNET_L2_OVERHEAD);
    let FlowSpec { direction, family, .. } = planned.spec;
    let mtu_bytes = report.steps.iter().find_map(|step| match step {
        Step::Path(path) if path.family == family && path.mtu.direction == direction => {
            Some(path.mtu.mtu_bytes)
        }
        Step::Path(_) | Step::Flow(_) | Step::Profile(_) => None,
    })?;
    let headers = PacketLayout::udp_headers_bytes(family, 0) - PacketLayout::ETHERNET_L2_OVERHEAD;
    (longest > mtu_bytes).then(|| {
        format!(
            "{}, {direction}: packets of {longest} bytes are longer than the {mtu_bytes} that pass, \
             and are not fragmented: those are lost; a payload of {} fits (-l)",
            planned.name,
            mtu_bytes.saturating_sub(headers)
        )
    })
}

/// What a reader must know of a flow's figures.
fn oddities(
    plan: &Plan,
    planned: Option<&PlannedFlow>,
    place: usize,
    flow: &FlowStep,
) -> Vec<Reason> {
    let named = format!("{}, {}", flow.name, flow.direction);
    let reason = |code, text| Reason { code, text, step: Some(place) };
    let mut found = Vec::new();
    let line = plan.lines.towards(flow.direction);
    let rate = flow.received.rates.l1;
    let ppm = |line: Rate| 1e6 * (rate.as_bps() as f64 / line.as_bps().max(1) as f64 - 1.0);
    let lasts = flow.received.lasts.as_secs_f64().max(1e-9);
    let most = 1e6 * (CLOCKS_APART + ARRIVAL_ERROR.as_secs_f64() / lasts);
    if let Some(line) = line.filter(|line| ppm(*line) > most) {
        let text = format!(
            "{named}: received {} (l1), {:.0} ppm above the line of {}: an error of the tester, or \
             another line",
            mbps(rate),
            ppm(line),
            mbps(line)
        );
        found.push(reason(Code::AboveLine, text));
    }
    if flow.part == Part::Flow && is_remarked(flow) {
        found.push(reason(Code::DscpChanged, remarked(&named, flow)));
    }
    let asked = planned.and_then(asked_bytes);
    if let Some(asked) = asked.filter(|asked| flow.received.payload_bytes < *asked) {
        let got = flow.received.payload_bytes;
        let text = format!(
            "{named}: {got} of {asked} bytes arrived in the time there was: give more (-t)"
        );
        found.push(reason(Code::TransferUnfinished, text));
    }
    found.extend(planned.and_then(|planned| other_control(planned, flow)).map(|used| {
        let text = format!(
            "{named}: its sender ran {used}, not what was asked for: that end's host does not have \
             it or does not allow it to every user (net.ipv4.tcp_allowed_congestion_control there); \
             ask for what it has (-C {used})"
        );
        reason(Code::OtherCongestionControl, text)
    }));
    if flow.part == Part::Flow && flow.received.payload_bytes == 0 {
        let text = match flow.transport {
            Some(Transport::Udp) => format!(
                "{named}: nothing arrived; a path that takes shorter packets may drop these: try a \
                 smaller -l"
            ),
            Some(Transport::Tcp) | None => format!("{named}: nothing arrived"),
        };
        found.push(reason(Code::NothingArrived, text));
    }
    found
}

/// The congestion control of a sender that did not run what the plan asks for.
fn other_control(planned: &PlannedFlow, flow: &FlowStep) -> Option<String> {
    let Load::Tcp(load) = &planned.spec.load else { return None };
    let asked = load.congestion_control.name()?;
    let mut used = flow.connections.iter().map(|each| each.report.congestion_control.as_str());
    used.find(|used| !used.is_empty() && *used != asked).map(String::from)
}

/// What the connections of a flow were to carry and then end.
fn asked_bytes(planned: &PlannedFlow) -> Option<u64> {
    match &planned.spec.load {
        Load::Tcp(load) => load.transfer_bytes(),
        Load::Frames(_) | Load::Probes(_) | Load::Bursts(_) | Load::Connections(_) => None,
    }
}

fn is_remarked(flow: &FlowStep) -> bool {
    let sent = flow.dscp_sent;
    flow.dscp_received.iter().any(|count| count.dscp.is_some() && count.dscp != sent)
}

fn remarked(named: &str, flow: &FlowStep) -> String {
    let most = flow.dscp_received.iter().max_by_key(|count| count.frames);
    let arrived = most.and_then(|count| count.dscp).map_or(0, |dscp| dscp.code_point());
    let sent = flow.dscp_sent.map_or(0, |dscp| dscp.code_point());
    let how = if arrived == 0 { "bleached" } else { "remarked" };
    format!("{named}: sent with DSCP {sent}, most packets arrived with {arrived}: {how} on the way")
}

fn followed(place: usize, step: &ProfileStep) -> Reason {
    let direction = step.direction;
    let error = match step.tracking_error_percent {
        Some(error) => format!("{error:.2} %"),
        None => "unknown".to_string(),
    };
    let why = match step.limit {
        Limit::Followed => "the profile was followed".to_string(),
        Limit::Window { limit_l4 } => format!(
            "the window limited it: window / RTT is {}, with hardly a packet lost; a larger window \
             (-w) would carry more",
            mbps(limit_l4)
        ),
        Limit::RateLimit { from, limit_l4, window_l4 } => {
            let from =
                from.map_or(String::new(), |at| format!(" from {:.1} s on", at.as_secs_f64()));
            let window = window_l4.filter(|window| *window > limit_l4);
            let window = window
                .map_or(String::new(), |window| format!("; window / RTT is {}", mbps(window)));
            format!(
                "a rate limiter dropped packets{from}: where more was asked for, {} came through in \
                 the median{window}",
                mbps(limit_l4)
            )
        }
        Limit::Line { limit_l4 } => format!(
            "about {} came through where more was asked for, with hardly a packet lost: a line, a \
             shaper or a host that can do no more",
            mbps(limit_l4)
        ),
        Limit::Tester => "this host could not send what was due".to_string(),
        Limit::Unknown => "the path did not follow, and the figures do not tell why".to_string(),
    };
    let text = format!("{direction}, {}: tracking error {error} RMS: {why}", step.profile);
    Reason { code: profile_code(&step.limit), text, step: Some(place) }
}

const fn profile_code(limit: &Limit) -> Code {
    match limit {
        Limit::Followed => Code::ProfileFollowed,
        Limit::Window { .. } => Code::ProfileWindowLimited,
        Limit::RateLimit { .. } => Code::ProfileRateLimited,
        Limit::Line { .. } => Code::ProfileLineLimited,
        Limit::Tester => Code::ProfileTesterLimited,
        Limit::Unknown => Code::ProfileNotFollowed,
    }
}

fn mbps(rate: Rate) -> String {
    format!("{:.2} Mbit/s", rate.as_bps() as f64 / 1e6)
}
