//! An RFC 2544 run on the screen: a table for each test, and the frame rates as bars.

use std::time::Duration;

use fp_method::rfc2544::{
    APPLICABILITY, DelayClock, FrameRate, Latency, Limit, Plan, Report, Step, Throughput, is_met,
};
use fp_model::Layer;

use super::path::fact;
use super::{duration, grouped, line, mark, one_way, rate, unknown};

const BAR_CELLS: usize = 12;
/// Rates of the frame loss test in a line.
const SHARES_OF_A_LINE: usize = 4;

pub(super) fn body(out: &mut String, plan: &Plan, report: &Report) {
    line(out, APPLICABILITY);
    line(out, "");
    report.steps.iter().for_each(|step| fact(out, &step.row(), ""));
    let steps = report.steps.iter().enumerate();
    let judged: Vec<Judged<'_>> =
        steps.map(|(place, step)| (mark(is_met(plan, &report.steps, place), ""), step)).collect();
    throughput(out, &judged);
    latency(out, &judged);
    frame_loss(out, &judged);
    back_to_back(out, &judged);
    recovery(out, &judged);
}

/// A step with the status of its row.
type Judged<'a> = (&'static str, &'a Step);

/// The rows of one test.
fn of<'a, T>(
    steps: &[Judged<'a>],
    row: impl Fn(&'a Step) -> Option<&'a T>,
) -> Vec<(&'static str, &'a T)> {
    steps.iter().filter_map(|(status, step)| Some((*status, row(step)?))).collect()
}

fn heading(out: &mut String, text: &str) {
    line(out, "");
    line(out, text);
}

//= rfc2544 26.1
/// The rate of each length beside the line's, as the RFC's graph has it.
fn throughput(out: &mut String, steps: &[Judged<'_>]) {
    let rows = of(steps, |step| if let Step::Throughput(row) = step { Some(row) } else { None });
    if rows.is_empty() {
        return;
    }
    heading(
        out,
        "throughput         frame   frames/s   possible            l2            l1     line  │: possible",
    );
    for (status, row) in rows {
        line(out, &throughput_row(status, row));
    }
}

fn throughput_row(status: &str, row: &Throughput) -> String {
    let at = format!("{status:<4} {:<13} {:>5}", row.way, row.frame_bytes);
    let frames = |rate: Option<FrameRate>| {
        rate.map_or_else(unknown, |rate| grouped(rate.frames_per_second() as u64))
    };
    let of_layer = |layer| row.found.map_or_else(unknown, |found| rate(found.at(layer)));
    let percent = row.percent_of_line().map_or_else(unknown, |percent| format!("{percent:.2} %"));
    let beside = match row.limit {
        Limit::Tester => String::from("tester limit"),
        Limit::RateCap => String::from("rate cap"),
        Limit::PathMtu => return format!("{at}  does not fit the path"),
        Limit::Network | Limit::Line => bar(row),
    };
    format!(
        "{at} {:>10} {:>10} {:>13} {:>13} {percent:>8}  {beside}",
        frames(row.found),
        frames(row.theoretical),
        of_layer(Layer::L2),
        of_layer(Layer::L1)
    )
}

/// The rate as filled cells; a line stands at the theoretical maximum.
fn bar(row: &Throughput) -> String {
    let Some(percent) = row.percent_of_line() else { return String::new() };
    let filled = (percent / 100.0 * BAR_CELLS as f64).round() as usize;
    let cell = |at: usize| match at {
        BAR_CELLS => '│',
        at if at < filled => '█',
        _ => ' ',
    };
    (0..=BAR_CELLS).map(cell).collect()
}

fn latency(out: &mut String, steps: &[Judged<'_>]) {
    let rows = of(steps, |step| if let Step::Latency(row) = step { Some(row) } else { None });
    let Some((_, first)) = rows.first() else { return };
    let kind = match first.clock {
        DelayClock::BothEnds { error } => format!("one way, clocks agree to {}", duration(error)),
        DelayClock::RoundTrip => String::from("round trip, the other way idle"),
    };
    heading(
        out,
        &format!(
            "latency, store-and-forward, {kind}\n{:<18} frame   frames/s         min        mean         max",
            ""
        ),
    );
    for (status, row) in rows {
        let text = format!(
            "{status:<4} {:<13} {:>5} {:>10}  {:>10}  {:>10}  {:>10}",
            row.way,
            row.rate.frame_bytes,
            grouped(row.rate.frames_per_second() as u64),
            latency_text(row, row.min),
            latency_text(row, row.mean),
            latency_text(row, row.max)
        );
        line(out, &text);
    }
}

fn latency_text(row: &Latency, time: Duration) -> String {
    match row.clock {
        DelayClock::BothEnds { error } => one_way(time, error),
        DelayClock::RoundTrip => duration(time),
    }
}

//= rfc2544 26.3
/// One row for each length, one column for each rate.
fn frame_loss(out: &mut String, steps: &[Judged<'_>]) {
    let rows = of(steps, |step| if let Step::FrameLoss(row) = step { Some(row) } else { None });
    if rows.is_empty() {
        return;
    }
    heading(out, "frame loss         frame   lost at each share of the highest rate");
    for (status, row) in rows {
        let cells: Vec<String> = row
            .trials
            .iter()
            .map(|trial| {
                let share = trial.offered.percent_of(row.highest.rate_l1);
                let limit = if trial.tester_limit { " (tester limit)" } else { "" };
                format!("{share:.0} %: {:.3} %{limit}", trial.loss_percent())
            })
            .collect();
        let mut begin = format!("{status:<4} {:<13} {:>5}   ", row.way, row.frame_bytes);
        for some in cells.chunks(SHARES_OF_A_LINE) {
            line(out, &format!("{begin}{}", some.join("  ")));
            begin = " ".repeat(begin.chars().count());
        }
    }
}

//= rfc9004 6.4
fn back_to_back(out: &mut String, steps: &[Judged<'_>]) {
    let rows = of(steps, |step| if let Step::BackToBack(row) = step { Some(row) } else { None });
    if rows.is_empty() {
        return;
    }
    heading(
        out,
        "back-to-back       frame       average         min         max        SD  trials  corrected buffer",
    );
    for (status, row) in rows {
        let at = format!("{status:<4} {:<13} {:>5}", row.way, row.frame_bytes);
        let text = match (&row.figures, row.skipped) {
            (Some(figures), _) => format!(
                "{at}  {:>12.1}  {:>10}  {:>10}  {:>8.1}  {:>6}  {:>16}",
                figures.average_frames,
                grouped(figures.min_frames),
                grouped(figures.max_frames),
                figures.deviation_frames,
                row.longest_frames.len(),
                if row.is_at_limit() { unknown() } else { duration(figures.corrected_buffer) }
            ),
            (None, Some(reason)) => format!("{at}  not applicable: {reason}"),
            (None, None) => at,
        };
        line(out, &text);
    }
}

fn recovery(out: &mut String, steps: &[Judged<'_>]) {
    let rows = of(steps, |step| if let Step::Recovery(row) = step { Some(row) } else { None });
    if rows.is_empty() {
        return;
    }
    heading(out, "recovery           frame      overload       reduced    recovered after");
    for (status, row) in rows {
        let took = match row.recovery {
            Some(took) => duration(took),
            None => String::from("– (nothing was lost)"),
        };
        let limit = if row.tester_limit { " (tester limit)" } else { "" };
        let frames = |rate: FrameRate| grouped(rate.frames_per_second() as u64);
        let text = format!(
            "{status:<4} {:<13} {:>5}  {:>12}  {:>12}    {took}{limit}",
            row.way,
            row.overload.frame_bytes,
            frames(row.overload),
            frames(row.reduced)
        );
        line(out, &text);
    }
}
