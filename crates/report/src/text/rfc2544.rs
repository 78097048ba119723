//! An RFC 2544 run on the screen: a table for each test, and the frame rates as bars.

use std::time::Duration;

use fp_method::rfc2544::{
    APPLICABILITY, BackToBack, DelayClock, FrameLoss, FrameRate, Latency, Limit, LineRate,
    LineSource, Recovery, Report, Step, Throughput,
};
use fp_model::Layer;

use super::path::{baseline_rtt, path_mtu};
use super::{duration, grouped, line, one_way, rate, unknown};

const BAR_CELLS: usize = 24;

pub(super) fn body(out: &mut String, report: &Report) {
    line(out, APPLICABILITY);
    line(out, "");
    for step in &report.steps {
        match step {
            Step::PathMtu(mtu) => line(out, &path_mtu(mtu)),
            Step::BaselineRtt(baseline) => line(out, &baseline_rtt(baseline)),
            Step::LineRate(found) => line(out, &line_rate(found)),
            Step::Throughput(_)
            | Step::Latency(_)
            | Step::FrameLoss(_)
            | Step::BackToBack(_)
            | Step::Recovery(_) => {}
        }
    }
    throughput(out, &report.steps);
    latency(out, &report.steps);
    frame_loss(out, &report.steps);
    back_to_back(out, &report.steps);
    recovery(out, &report.steps);
}

fn line_rate(found: &LineRate) -> String {
    let reached = rate(found.reached.rate_l1);
    let told = match (found.source, found.line_l1) {
        (LineSource::Given, _) => String::from("given"),
        (LineSource::Found, Some(_)) => format!("found: {reached} came through"),
        (LineSource::Found, None) => {
            format!("no Ethernet's: {reached} l1 came through; give it with --line-rate")
        }
        (LineSource::TesterLimit, _) => {
            format!("not known: the tester could send no more than {reached} l1")
        }
        (LineSource::RateCap, _) => format!("not known: the cap of {reached} l1 came through"),
    };
    let known = found.line_l1.map(|line| format!("{} l1; ", rate(line))).unwrap_or_default();
    format!("line rate       {:<9} {known}{told}", found.direction)
}

fn heading(out: &mut String, text: &str) {
    line(out, "");
    line(out, text);
}

//= rfc2544 26.1
/// The rate of each length beside the line's, as the RFC's graph has it.
fn throughput(out: &mut String, steps: &[Step]) {
    let rows: Vec<&Throughput> = steps
        .iter()
        .filter_map(|step| if let Step::Throughput(row) = step { Some(row) } else { None })
        .collect();
    if rows.is_empty() {
        return;
    }
    heading(
        out,
        "throughput      frame      frames/s   of theoretical          l2             l1     line  (│ marks the theoretical maximum)",
    );
    for row in rows {
        line(out, &throughput_row(row));
    }
}

fn throughput_row(row: &Throughput) -> String {
    let frames = |rate: Option<FrameRate>| {
        rate.map_or_else(unknown, |rate| grouped(rate.frames_per_second() as u64))
    };
    let at = |layer| row.found.map_or_else(unknown, |found| rate(found.at(layer)));
    let percent = row.percent_of_line().map_or_else(unknown, |percent| format!("{percent:.2} %"));
    let limit = match row.limit {
        Limit::Tester => " tester limit",
        Limit::RateCap => " rate cap",
        Limit::PathMtu => "does not fit the path",
        Limit::Network | Limit::Line => "",
    };
    format!(
        "  {:<13} {:>5}  {:>12}   {:>14} {:>13}  {:>13}  {:>8}  {}{limit}",
        row.way,
        row.frame_bytes,
        frames(row.found),
        frames(row.theoretical),
        at(Layer::L2),
        at(Layer::L1),
        percent,
        bar(row)
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

fn latency(out: &mut String, steps: &[Step]) {
    let rows: Vec<&Latency> = steps
        .iter()
        .filter_map(|step| if let Step::Latency(row) = step { Some(row) } else { None })
        .collect();
    let Some(first) = rows.first() else { return };
    let kind = match first.clock {
        DelayClock::BothEnds { error } => format!("one way, clocks agree to {}", duration(error)),
        DelayClock::RoundTrip => String::from("round trip, the other way idle"),
    };
    heading(
        out,
        &format!(
            "latency         frame      frames/s         min        mean         max  ({kind}; \
             store-and-forward)"
        ),
    );
    for row in rows {
        let text = format!(
            "  {:<13} {:>5}  {:>12}  {:>10}  {:>10}  {:>10}",
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
fn frame_loss(out: &mut String, steps: &[Step]) {
    let rows: Vec<&FrameLoss> = steps
        .iter()
        .filter_map(|step| if let Step::FrameLoss(row) = step { Some(row) } else { None })
        .collect();
    if rows.is_empty() {
        return;
    }
    heading(out, "frame loss      frame   lost at each share of the highest rate");
    for row in rows {
        let cells: Vec<String> = row
            .trials
            .iter()
            .map(|trial| {
                let share = trial.offered.percent_of(row.highest.rate_l1);
                let limit = if trial.tester_limit { " (tester limit)" } else { "" };
                format!("{share:.0} %: {:.3} %{limit}", trial.loss_percent())
            })
            .collect();
        line(out, &format!("  {:<13} {:>5}   {}", row.way, row.frame_bytes, cells.join("  ")));
    }
}

//= rfc9004 6.4
fn back_to_back(out: &mut String, steps: &[Step]) {
    let rows: Vec<&BackToBack> = steps
        .iter()
        .filter_map(|step| if let Step::BackToBack(row) = step { Some(row) } else { None })
        .collect();
    if rows.is_empty() {
        return;
    }
    heading(
        out,
        "back-to-back    frame       average         min         max        SD  repetitions   corrected buffer",
    );
    for row in rows {
        let at = format!("  {:<13} {:>5}", row.way, row.frame_bytes);
        let text = match (&row.figures, row.skipped) {
            (Some(figures), _) => format!(
                "{at}  {:>12.1}  {:>10}  {:>10}  {:>8.1}  {:>11}   {:>16}",
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

fn recovery(out: &mut String, steps: &[Step]) {
    let rows: Vec<&Recovery> = steps
        .iter()
        .filter_map(|step| if let Step::Recovery(row) = step { Some(row) } else { None })
        .collect();
    if rows.is_empty() {
        return;
    }
    heading(out, "recovery        frame      overload       reduced    recovered after");
    for row in rows {
        let took = match row.recovery {
            Some(took) => duration(took),
            None => String::from("– (nothing was lost)"),
        };
        let limit = if row.tester_limit { " (tester limit)" } else { "" };
        let frames = |rate: FrameRate| grouped(rate.frames_per_second() as u64);
        let text = format!(
            "  {:<13} {:>5}  {:>12}  {:>12}    {took}{limit}",
            row.way,
            row.overload.frame_bytes,
            frames(row.overload),
            frames(row.reduced)
        );
        line(out, &text);
    }
}
