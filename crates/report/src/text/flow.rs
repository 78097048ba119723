//! The screen of a run of flows: a table for TCP, one for UDP, the rates at each layer, the profile.

use fp_method::flow::{
    Carried, Connection, FlowStep, Part, Plan, ProfileStep, Report, Step, Transport, is_met,
};
use fp_method::path::PATH_MTU;
use fp_model::{Dscp, DscpCount, Rate, TcpEngine};

use super::path::fact;
use super::{amount, duration, grouped, line, mark, one_way, plot, rate, unknown};

/// More flows than that are shown in sum only; the result has them all.
const ROWS_MAX: usize = 64;

/// A flow with what became of it, and what is added up of flows.
#[derive(Clone, Copy)]
struct Row<'a> {
    flow: &'a FlowStep,
    status: &'static str,
}

pub(super) fn body(out: &mut String, plan: &Plan, report: &Report) {
    of_path(out, report);
    let steps = report.steps.iter().enumerate();
    let flows: Vec<Row<'_>> = steps
        .filter_map(|(place, step)| match step {
            Step::Flow(flow) => Some(Row { flow, status: mark(is_met(plan, report, place), "") }),
            Step::Path(_) | Step::Profile(_) => None,
        })
        .collect();
    let shown = shown(&flows);
    table(out, &shown, Transport::Tcp);
    table(out, &shown, Transport::Udp);
    by_layer(out, &shown);
    for step in &report.steps {
        if let Step::Profile(profile) = step {
            of_profile(out, profile);
        }
    }
}

/// The path MTU in each direction, with its family where there are two of them.
fn of_path(out: &mut String, report: &Report) {
    let known = || {
        report.steps.iter().filter_map(|step| match step {
            Step::Path(path) => Some(path),
            Step::Flow(_) | Step::Profile(_) => None,
        })
    };
    let Some(first) = known().next() else { return };
    let has_both = known().any(|path| path.family != first.family);
    for path in known() {
        let family = if has_both { format!(" {}", path.family) } else { String::new() };
        fact(out, &PATH_MTU.row(&path.mtu), &family);
    }
    line(out, "");
}

/// Classes in place of their flows, sums last.
fn shown<'a>(flows: &[Row<'a>]) -> Vec<Row<'a>> {
    let has_classes = flows.iter().any(|row| row.flow.part == Part::Class);
    let single = flows.iter().filter(|row| row.flow.part == Part::Flow).count();
    let is_row = |flow: &FlowStep| match flow.part {
        Part::Flow => single <= ROWS_MAX && (!has_classes || flow.class.is_none()),
        Part::Class | Part::Sum => true,
    };
    flows.iter().copied().filter(|row| is_row(row.flow)).collect()
}

fn width(flows: &[Row<'_>]) -> usize {
    flows.iter().map(|row| row.flow.name.chars().count()).max().unwrap_or(0).clamp(12, 24)
}

fn table(out: &mut String, flows: &[Row<'_>], transport: Transport) {
    let mine: Vec<Row<'_>> =
        flows.iter().filter(|row| row.flow.transport == Some(transport)).copied().collect();
    if mine.is_empty() {
        return;
    }
    let wide = width(&mine);
    let (first, last) = match transport {
        Transport::Tcp => ("retransmitted", "RTT"),
        Transport::Udp => ("packets", "lost"),
    };
    line(
        out,
        &format!(
            "{:<wide$} direction end      {:>11} {:>14} {first:>11} {last:>9}",
            transport.to_string().to_uppercase(),
            "payload",
            "rate (l4)"
        ),
    );
    for Row { flow, status } in mine {
        let [sender, receiver] = rows(flow, transport, wide);
        line(out, &sender);
        line(out, &format!("{receiver}  {status}"));
        if let Some(more) = details(flow, transport) {
            line(out, &format!("    {more}"));
        }
    }
    line(out, "");
}

/// The sender's row and the receiver's.
fn rows(flow: &FlowStep, transport: Transport, wide: usize) -> [String; 2] {
    let packets = |count: Option<u64>| count.map_or_else(unknown, grouped);
    let ends = match transport {
        Transport::Tcp => [
            [flow.retransmitted_bytes.map_or_else(unknown, amount), String::new()],
            [String::new(), flow.rtt_mean.map_or_else(unknown, duration)],
        ],
        Transport::Udp => [
            [packets(flow.sent.and_then(|sent| sent.packets)), String::new()],
            [packets(flow.received.packets), flow.loss_percent().map_or_else(unknown, percent)],
        ],
    };
    let row =
        |name: &str, direction: &str, end: &str, carried: Option<&Carried>, more: &[String; 2]| {
            let [first, last] = more;
            format!(
                "{name:<wide$} {direction:<9} {end:<8} {:>11} {:>14} {first:>11} {last:>9}",
                carried.map_or_else(unknown, |carried| amount(carried.payload_bytes)),
                carried.map_or_else(unknown, |carried| rate(carried.rates.l4))
            )
        };
    let received = &flow.received;
    let direction = flow.direction.to_string();
    [
        row(&flow.name, &direction, "sender", flow.sent.as_ref(), &ends[0]),
        row("", "", "receiver", Some(received), &ends[1]),
    ]
}

fn details(flow: &FlowStep, transport: Transport) -> Option<String> {
    let parts = match transport {
        Transport::Tcp => of_tcp(flow),
        Transport::Udp => of_udp(flow),
    };
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn of_tcp(flow: &FlowStep) -> Vec<String> {
    let mut parts = Vec::new();
    let rates = || flow.connections.iter().map(|each| each.throughput_l4);
    if let (Some(least), Some(most), true) = (rates().min(), rates().max(), flow.streams > 1) {
        let each = format!("{} connections of {} to {}", flow.streams, rate(least), rate(most));
        parts.push(each);
    }
    if matches!(flow.engine, Some(TcpEngine::User { .. })) {
        parts.push(String::from("fullpipe's own TCP"));
    }
    if flow.part == Part::Flow {
        parts.extend(first_connection(&flow.connections));
    }
    if flow.part != Part::Sum {
        parts.extend(marking(flow.dscp_sent, &flow.dscp_received));
    }
    parts
}

fn first_connection(connections: &[Connection]) -> Option<String> {
    let report = &connections.first()?.report;
    let window = report.window_effective_bytes;
    let window = window.map_or_else(String::new, |bytes| format!(", window {}", amount(bytes)));
    let segment = report.segment_bytes;
    let segment = segment.map_or_else(String::new, |bytes| format!(", segments of {bytes} B"));
    Some(format!("{}{window}{segment}", report.congestion_control))
}

fn of_udp(flow: &FlowStep) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(jitter) = flow.jitter {
        parts.push(format!("jitter {}", duration(jitter.rfc3550)));
    }
    if let Some(delay) = flow.delay {
        let error = duration(delay.error);
        parts.push(match delay.mean < delay.error {
            true => format!("one way {}", one_way(delay.mean, delay.error)),
            false => format!("one way {} ± {error}", duration(delay.mean)),
        });
    }
    let counted = [
        (flow.out_of_order, "out of order"),
        (flow.duplicates, "twice"),
        (flow.corrupt, "spoilt"),
        (flow.unsent, "not sent"),
    ];
    let seen =
        counted.into_iter().filter_map(|(count, what)| Some((count.filter(|n| *n > 0)?, what)));
    parts.extend(seen.map(|(count, what)| format!("{} {what}", grouped(count))));
    if flow.part != Part::Sum {
        parts.extend(marking(flow.dscp_sent, &flow.dscp_received));
    }
    parts
}

/// What was sent with and what arrived with how many packets.
fn marking(sent: Option<Dscp>, received: &[DscpCount]) -> Option<String> {
    let sent = sent?.code_point();
    let point =
        |dscp: Option<Dscp>| dscp.map_or_else(|| "?".to_owned(), |d| d.code_point().to_string());
    let arrived = match received {
        [] if sent == 0 => return None,
        [] => String::from("?"),
        [only] => point(only.dscp),
        several => {
            let each = several
                .iter()
                .map(|count| format!("{} ({})", point(count.dscp), grouped(count.frames)));
            each.collect::<Vec<_>>().join(" ")
        }
    };
    Some(format!("DSCP {sent} → {arrived}"))
}

pub(crate) fn percent(percent: f64) -> String {
    match percent {
        0.0 => String::from("0 %"),
        percent if percent < 0.01 => format!("{percent:.4} %"),
        percent => format!("{percent:.2} %"),
    }
}

fn by_layer(out: &mut String, flows: &[Row<'_>]) {
    if flows.is_empty() {
        return;
    }
    let wide = width(flows);
    let has_line = flows.iter().any(|row| row.flow.link_usage_l2_percent.is_some());
    let usage = if has_line { "usage: l2         l1" } else { "" };
    line(
        out,
        &format!(
            "{:<wide$} direction {:>8} {:>8} {:>8} {:>8} {usage}",
            "received", "l1", "l2", "l3", "l4"
        ),
    );
    for Row { flow, .. } in flows {
        let rates = &flow.received.rates;
        let cells = [rates.l1, rates.l2, rates.l3, rates.l4].map(mbps);
        let usage = [flow.link_usage_l2_percent, flow.link_usage_l1_percent];
        let usage =
            usage.map(|share| share.map_or_else(String::new, |share| format!("{share:.2} %")));
        line(
            out,
            &format!(
                "{:<wide$} {:<9} {:>8} {:>8} {:>8} {:>8} {:>9} {:>10}",
                flow.name,
                flow.direction.to_string(),
                cells[0],
                cells[1],
                cells[2],
                cells[3],
                usage[0],
                usage[1]
            ),
        );
    }
    let shares = if has_line { "; usage: their share of the line" } else { "" };
    line(out, &format!("  Mbit/s on the line (l1), of frames, of IP packets, of payload{shares}"));
}

fn mbps(rate: Rate) -> String {
    format!("{:.2}", rate.as_bps() as f64 / 1e6)
}

fn of_profile(out: &mut String, step: &ProfileStep) {
    line(out, "");
    let error =
        |percent: Option<f64>| percent.map_or_else(unknown, |error| format!("{error:.2} %"));
    line(
        out,
        &format!(
            "{}, {}, {} {}: tracking error {} RMS (sent {})",
            step.profile,
            step.direction,
            step.streams,
            if step.streams == 1 { "flow" } else { "flows" },
            error(step.tracking_error_percent),
            error(step.sent_error_percent)
        ),
    );
    plot::profile(out, &step.intervals);
}
