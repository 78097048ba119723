//! The screen of an RFC 6349 run: steps, a window-walk bar chart, a table of the throughput trials.

use fp_method::path::{BASELINE_RTT, PATH_MTU};
use fp_method::rfc6349::{
    Bottleneck, LimitKind, Plan, Report, Role, Source, Step, TcpStep, is_met,
};
use fp_method::{Bounds, rounded};
use fp_model::{Direction, Layer, LayeredRate, Rate};

use super::path::fact;
use super::{amount, beside, between, duration, grouped, line, mark, rate, rate_within, unknown};

/// With it a row fits 80 columns.
const BAR_CELLS: usize = 13;

pub(super) fn body(out: &mut String, plan: &Plan, report: &Report) {
    path(out, &report.steps);
    window_walk(out, &report.steps);
    throughput(out, plan, &report.steps);
}

fn path(out: &mut String, steps: &[Step]) {
    for step in steps {
        match step {
            Step::PathMtu(mtu) => line(out, &fact(&PATH_MTU.row(mtu))),
            Step::BaselineRtt(baseline) => line(out, &fact(&BASELINE_RTT.row(baseline))),
            Step::Bottleneck(limit) => line(out, &bottleneck(limit)),
            Step::Tcp(_) => {}
        }
    }
}

fn bottleneck(limit: &Bottleneck) -> String {
    let found = match (limit.source, limit.kind) {
        (Source::Given, _) => String::from("given"),
        (Source::Measured, LimitKind::Policer) => String::from("a policer, drops the excess"),
        (Source::Measured, LimitKind::Queue) => {
            let queue = limit.overload_delay.map(duration).unwrap_or_default();
            match limit.overload_drops {
                true => format!("a queue of {queue}"),
                false => format!("a queue of more than {queue}"),
            }
        }
        (Source::Measured, LimitKind::NotReached) => String::from("all that the tester sent"),
        (Source::Measured, LimitKind::Unknown) => String::from("a policer or a queue"),
    };
    let passes = passes(limit.burst_bytes.as_ref(), limit.carried_bytes);
    let LayeredRate { rate: measured, layer } = limit.limit;
    let other = if layer == Layer::L1 { Layer::L2 } else { Layer::L1 };
    // Of a limit without an upper end both layers show the lower one.
    let shown = if limit.at_most.is_some() { measured } else { limit.at_least };
    let loss = limit.base_loss.map(|loss| loss.percent());
    let loss = base_loss(loss.map_or(0.0, |loss| loss.estimate), loss);
    format!(
        "bottleneck      {:<9} {} {layer} ({} {other}); {found}{passes}{}",
        limit.direction,
        rate_within(measured, Some(limit.at_least), limit.at_most),
        rate(limit.packet.convert(LayeredRate { rate: shown, layer }, other)),
        if loss.is_empty() { loss } else { format!("\n{:<26}{loss}", "") }
    )
}

/// The longest burst that passes at once, with the least and the most, and what a line was seen to carry
/// without a break.
pub(crate) fn passes(burst_bytes: Option<&Bounds>, carried_bytes: Option<u64>) -> String {
    let shown = |bytes: f64| amount(bytes.round() as u64);
    let burst = burst_bytes.filter(|bytes| bytes.estimate > 0.0);
    let burst = burst.map(|bytes| format!("; passes a burst of {}", between(bytes, shown)));
    burst.into_iter().chain([carried(carried_bytes)]).collect()
}

/// What a queue was seen to carry without a break: a policer whose bucket holds as much would not have shown.
pub(crate) fn carried(bytes: Option<u64>) -> String {
    bytes.map_or_else(String::new, |bytes| format!("; seen to carry {}", amount(bytes)))
}

/// The loss that does not depend on the rate, with the interval that it is known in, if there is any.
pub(crate) fn base_loss(percent: f64, within: Option<Bounds>) -> String {
    if percent <= 0.0 {
        return String::new();
    }
    let within = within.map_or_else(String::new, |Bounds { at_least, at_most, .. }| {
        format!(" ({} … {} %)", rounded(at_least, 2), rounded(at_most, 2))
    });
    format!("{} % lost at any rate{within}", rounded(percent, 2))
}

/// The trials of a role, with their places among the steps.
fn tcp_steps(steps: &[Step], role: Role) -> impl Iterator<Item = (usize, &TcpStep)> {
    steps.iter().enumerate().filter_map(move |(place, step)| match step {
        Step::Tcp(tcp) if tcp.role == role => Some((place, tcp)),
        Step::Tcp(_) | Step::PathMtu(_) | Step::BaselineRtt(_) | Step::Bottleneck(_) => None,
    })
}

fn window_walk(out: &mut String, steps: &[Step]) {
    let walk: Vec<&TcpStep> = tcp_steps(steps, Role::Walk).map(|(_, step)| step).collect();
    let Some(first) = walk.first() else { return };
    line(out, "");
    line(
        out,
        &format!(
            "window walk, {} sender, {} (│ marks the ideal)",
            first.sender, first.congestion_control
        ),
    );
    let most = walk.iter().map(|step| step.ideal_l4.max(step.throughput_l4)).max();
    for step in &walk {
        let row = format!(
            "  {:<9} {:>3.0} %  {:>2} × {:>9} B  {} {:>24} {:>6.1} %",
            step.direction,
            100.0 * step.window_fraction,
            step.connections,
            grouped(step.window_bytes),
            bar(step, most.unwrap_or(Rate::ZERO)),
            beside(&rate(step.throughput_l4), step.measure_l4()),
            step.share_percent()
        );
        line(out, &row);
    }
}

/// The throughput as filled cells on a scale that ends at `most`; a line stands at the ideal.
fn bar(step: &TcpStep, most: Rate) -> String {
    let cells = |rate: Rate| {
        let share = rate.as_bps() as f64 / most.as_bps().max(1) as f64;
        (share * BAR_CELLS as f64).round() as usize
    };
    let (filled, ideal) = (cells(step.throughput_l4), cells(step.measure_l4()));
    let cell = |at: usize| match at {
        at if at == ideal => '│',
        at if at < filled => '█',
        _ => ' ',
    };
    (0..=BAR_CELLS).map(cell).collect()
}

fn throughput(out: &mut String, plan: &Plan, steps: &[Step]) {
    let trials: Vec<(usize, &TcpStep)> = tcp_steps(steps, Role::Throughput).collect();
    if trials.is_empty() {
        return;
    }
    line(out, "");
    let implementations: Vec<&str> =
        trials.iter().map(|(_, step)| step.congestion_control.as_str()).collect();
    let one = implementations.windows(2).all(|pair| pair[0] == pair[1]);
    let used = if one { implementations.first().copied().unwrap_or_default() } else { "" };
    line(out, &format!("TCP throughput, {used}"));
    line(
        out,
        &format!(
            "{:<4} {:<10} {:<6}{:>12} {:>31} {:>7} {:>6} {:>8} {:>9}",
            "", "", "sender", "windows", "throughput of ideal", "share", "TTR", "effic.", "queue"
        ),
    );
    for (place, step) in &trials {
        line(out, &throughput_row(step, is_met(plan, steps, *place)));
    }
    both(out, &trials);
}

/// What a transfer in each direction could have had beside the other.
fn both(out: &mut String, trials: &[(usize, &TcpStep)]) {
    let of = |direction| {
        let is_of = |step: &TcpStep| step.bidirectional && step.direction == direction;
        trials.iter().find(|(_, step)| is_of(step))?.1.judged.even_l4
    };
    let (Some(down), Some(up)) = (of(Direction::Download), of(Direction::Upload)) else { return };
    let text = format!(
        "  both: the share is that of the fuller link; an even share is {} down, {} up",
        rate(down),
        rate(up)
    );
    line(out, &text);
}

fn throughput_row(step: &TcpStep, is_met: Option<bool>) -> String {
    let arrow = match (step.bidirectional, step.direction) {
        (true, Direction::Download) => "both: down",
        (true, Direction::Upload) => "both: up",
        (false, Direction::Download) => "download",
        (false, Direction::Upload) => "upload",
    };
    let connections = format!("{} × {}", step.connections, grouped(step.window_bytes));
    let [least, most] = step.judged.throughput_l4_bounds.map_or([None; 2], |both| both.map(Some));
    format!(
        "{:<4} {arrow:<10} {:<6}{connections:>12} {:>31} {:>5.1} % {:>6} {:>8} {:>9}",
        mark(is_met, "?"),
        step.sender,
        beside(&rate_within(step.throughput_l4, least, most), step.ideal_l4),
        step.share_percent(),
        step.transfer_time_ratio.map_or_else(unknown, |ratio| format!("{ratio:.3}")),
        step.efficiency_percent.map_or_else(unknown, |percent| format!("{percent:.2} %")),
        step.buffer_delay().map_or_else(unknown, duration),
    )
}
