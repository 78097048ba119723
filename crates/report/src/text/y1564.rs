//! The screen of a service activation test: a table for each service and one for all at once.

use fp_method::y1564::{
    Availability, Figures, IrSpan, Measured, Report, ServiceStep, Step, TcpFigures,
};

use super::{duration, line, mark, one_way, rate, unknown};

pub(super) fn body(out: &mut String, report: &Report) {
    for step in &report.steps {
        if let Step::BaselineRtt { service, baseline } = step {
            let (rtt, mean) = (duration(baseline.rtt.min), duration(baseline.rtt.mean));
            line(out, &format!("round trip      {service:<16} {rtt} (mean {mean})"));
        }
    }
    configuration(out, &report.steps);
    performance(out, &report.steps);
}

fn configuration(out: &mut String, steps: &[Step]) {
    let mut service = None;
    for step in steps {
        let Step::Configuration(step) = step else { continue };
        if service != Some(&step.service) {
            service = Some(&step.service);
            line(out, "");
            line(out, &format!("{}, by itself", step.service));
            line(out, &header("step"));
        }
        line(out, &row(&step.offered.to_string(), step));
        missed(out, step);
        yellow(out, step);
    }
}

fn performance(out: &mut String, steps: &[Step]) {
    let mut rows = steps.iter().filter_map(|step| match step {
        Step::Performance(step) => Some(step),
        Step::Configuration(_) | Step::BaselineRtt { .. } => None,
    });
    let Some(first) = rows.next() else { return };
    line(out, "");
    line(out, "all services at once");
    line(out, &header("service"));
    for step in std::iter::once(first).chain(rows) {
        line(out, &row(&step.service, step));
        missed(out, step);
        line(out, &more(step));
    }
}

fn header(first: &str) -> String {
    format!(
        "     {first:<16} {:<9} {:>13} {:>16} {:>10} {:>10} {:>10}",
        "direction", "offered", "IR (l2)", "FLR", "FTD", "FDV"
    )
}

fn row(first: &str, step: &ServiceStep) -> String {
    let [ir, flr, ftd, fdv] = match &step.measured {
        Measured::Frames { judged, .. } => cells(judged),
        Measured::Tcp(tcp) => cells_of_tcp(tcp),
    };
    format!(
        "{:<4} {first:<16} {:<9} {:>13} {ir:>16} {flr:>10} {ftd:>10} {fdv:>10}",
        mark(step.status.is_met(), "?"),
        step.direction.to_string(),
        rate(step.offered_l2)
    )
}

fn cells(figures: &Figures) -> [String; 4] {
    [
        rate(figures.ir_l2),
        figures.flr.map_or_else(unknown, percent),
        figures.ftd.map_or_else(unknown, |ftd| one_way(ftd.mean, ftd.error)),
        figures.fdv.map_or_else(unknown, duration),
    ]
}

/// What TCP made of it stands in the place of the rate; the rest is not defined for it.
fn cells_of_tcp(tcp: &TcpFigures) -> [String; 4] {
    [format!("{} l4", rate(tcp.throughput_l4)), unknown(), unknown(), unknown()]
}

/// Which criteria a step missed.
fn missed(out: &mut String, step: &ServiceStep) {
    let codes = step.shortfalls.iter().map(|shortfall| shortfall.code().word().replace('_', " "));
    let codes: Vec<_> = codes.collect();
    if !codes.is_empty() {
        line(out, &format!("{:22}{}", "", codes.join(", ")));
    }
}

/// Yellow frames have no criteria; they are shown.
fn yellow(out: &mut String, step: &ServiceStep) {
    let Measured::Frames { yellow: Some(yellow), .. } = &step.measured else { return };
    let [ir, flr, ftd, fdv] = cells(yellow);
    let text = format!(
        "     {:<16} {:<9} {:>13} {ir:>16} {flr:>10} {ftd:>10} {fdv:>10}",
        "  yellow", "", "not judged"
    );
    line(out, &text);
}

/// What else is to be said of a service among all others.
fn more(step: &ServiceStep) -> String {
    match &step.measured {
        Measured::Frames { judged, .. } => {
            let span = judged
                .ir_span_l2
                .map(|IrSpan { min, max }| format!("IR {} … {}", rate(min), rate(max)));
            let longest = judged.ftd.map(|ftd| {
                format!(
                    "FTD {} … {} ± {}",
                    one_way(ftd.min, ftd.error),
                    one_way(ftd.max, ftd.error),
                    duration(ftd.error)
                )
            });
            let available = judged.availability.as_ref().and_then(Availability::percent);
            let available = available.map(|percent| format!("available {percent:.3} %"));
            let line_rate = Some(format!("ULR {}", rate(judged.ulr_l1)));
            let parts = [span, line_rate, longest, available].into_iter().flatten();
            format!("    {}", parts.collect::<Vec<_>>().join(", "))
        }
        Measured::Tcp(tcp) => format!(
            "    {:.1} % of {} (l4) that the CIR can carry, {} connections of {} bytes",
            tcp.share_percent(),
            rate(tcp.ideal_l4),
            tcp.connections,
            tcp.window_bytes
        ),
    }
}

/// A ratio in percent with as many digits as matter.
pub(crate) fn percent(ratio: f64) -> String {
    match 100.0 * ratio {
        0.0 => String::from("0 %"),
        percent if percent < 0.01 => format!("{percent:.5} %"),
        percent => format!("{percent:.3} %"),
    }
}
