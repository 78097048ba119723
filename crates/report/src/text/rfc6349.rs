//! The screen of an RFC 6349 run: steps, a window-walk bar chart, a table of the throughput trials.

use fp_method::rfc6349::{Plan, Report, Role, Step, TcpStep, is_met};
use fp_model::{Direction, Rate};

use super::path::fact;
use super::{beside, duration, grouped, line, mark, rate, rate_within, unknown};

/// With it a row fits 80 columns.
const BAR_CELLS: usize = 13;

pub(crate) fn body(out: &mut String, plan: &Plan, report: &Report) {
    path(out, &report.steps);
    window_walk(out, &report.steps);
    throughput(out, plan, &report.steps);
}

fn path(out: &mut String, steps: &[Step]) {
    steps.iter().for_each(|step| fact(out, &step.row(), ""));
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
